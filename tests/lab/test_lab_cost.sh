#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a sample costs: an emulator that counts what the agent executes (lab/oracle/cost.c) tells for
# every sample the instructions of its NMI and of its share of the softirq, and for each tick its own.
# For each Xen, under every workload; and of some with the stacks of all guests. Time limit: 20 minutes.
#
# XENFLAME_LAB_FREQUENCY   of the recordings (500)
LAB_TEST=lab_cost
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

FREQUENCY=${XENFLAME_LAB_FREQUENCY:-500}
SECONDS_EACH=${XENFLAME_LAB_SECONDS:-5}
PLUGIN=$LAB_ROOT/build/lab/libcost.so
AGENT_OBJECT=$LAB_ROOT/build/agent.o
COST=$LAB_ROOT/build/test/cost_of_samples
USUALLY_BELOW=2000 # instructions of the agent in an NMI, for 95 % of the samples
DEEP='grants exits' # whose stacks in Xen are too deep for that: docs/safety.md says so
NEVER_ABOVE=25000  # as tests/agent/check_binary proves
SAMPLES_LEAST=100  # of a workload, to speak of percentiles; an idle host has few

boot_counting() {
	local nmi irq
	rm -f "$lab_tmp"/{symbols,counted,*.cost}
	lab_boot --xen "$xen"
	nmi=$(address_of entry_NMI nmi)
	irq=$(address_of common_interrupt)
	lab_boot --xen "$xen" --guests pvh,pv \
		--qemu-args "-plugin $PLUGIN,agent=$AGENT_OBJECT,nmi=$nmi,irq=$irq,out=$lab_tmp/counted"
	lab_put "$TOOL" /usr/local/bin/
}

# Whose guests' stacks are deep or shallow, in each sort of guest.
GUESTS='hypercall@dom0 grants@dom0 syscalls@dom0 pagetables@pv exits@pvh'

# A recording and what was counted meanwhile. The agent is quiet before and after. Where the machine
# under the emulator is busy the agent may have stopped for want of the tool's sign of life: once more.
record_counted() { # NAME LOAD@DOMAIN GUESTS
	local before status attempt
	each_load start "$2" || return 1
	for attempt in 1 2 3; do
		status=0
		before=$(wc -l <"$lab_tmp/counted")
		record "$1" "$SECONDS_EACH" -F "$FREQUENCY" -g "$3" || status=1
		grep -q 'the agent stopped by itself' "$lab_tmp/$1.err" || break
		echo "# attempt $attempt: the tool was held up for longer than its lease"
	done
	each_load stop "$2" || status=1
	{
		grep '^agent ' "$lab_tmp/counted" | tail -n 1
		tail -n "+$((before + 1))" "$lab_tmp/counted" | grep -v '^agent '
	} >"$lab_tmp/$1.counted"
	return $status
}

# The cost of each part, as $lab_tmp/NAME.cost; every sample has its NMI and its records, and none
# cost more than its stack allows.
cost_of() { # NAME
	# shellcheck disable=SC2086 # three numbers
	"$COST" "$lab_tmp/$1.data" "$lab_tmp/$1.counted" $bound >"$lab_tmp/$1.cost" || {
		cat "$lab_tmp/$1.cost"
		grep 'xenflame: pCPU' "$lab_tmp/$1.err"
		return 1
	}
}

# figure NAME PART COLUMN: 2 the number of them, 3 median, 4 95th percentile, 5 maximum, 6 sum
figure() {
	awk -v part="$2" -v column="$3" '$1 == part { print $column }' "$lab_tmp/$1.cost"
}

at_most() { # NAME PART COLUMN MOST
	local value
	value=$(figure "$@")
	[ "$value" -le "$4" ] || { echo "$value"; return 1; }
}

# Are 95 % of the NMIs below? Samples are a draw: three standard deviations more may be above.
most_are_below() { # NAME
	awk -v limit="$USUALLY_BELOW" '$1 == "capture" && $5 { n++; above += $4 >= limit }
		END { printf "%d of %d are not, %.1f %%\n", above, n, n ? above * 100 / n : 0
		      exit !(n && above <= 0.05 * n + 3 * sqrt(0.05 * 0.95 * n)) }' "$lab_tmp/$1.counted"
}

usually_below() { # NAME
	local why name="$1-95-percent-of-nmis-are-below-$USUALLY_BELOW-instructions"
	if why=$(most_are_below "$1"); then
		ok "$name"
	elif [[ " $DEEP " == *" $1 "* ]]; then
		skip "$name" "known to be missed: $why"
	else
		not_ok "$name" "$why"
	fi
}

workload() { # NAME DOMAIN
	check "$1-is-counted" record_counted "$1" "$1@$2" none
	check "$1-is-accounted-for-sample-by-sample" cost_of "$1"
	[ -n "$(figure "$1" nmi 2)" ] || return 0
	check "$1-no-nmi-is-above-$NEVER_ABOVE-instructions" at_most "$1" nmi 5 "$NEVER_ABOVE"
	if [ "$(figure "$1" nmi 2)" -ge "$SAMPLES_LEAST" ]; then
		usually_below "$1"
	elif [ "$1" != idle ]; then
		not_ok "$1-has-$SAMPLES_LEAST-samples" "it has $(figure "$1" nmi 2)"
	fi
}

workload_with_guests() { # LOAD@DOMAIN
	local name=guests-${1/@/-}
	check "$name-is-counted" record_counted "$name" "$1" all
	check "$name-is-accounted-for" cost_of "$name"
}

# A row for each workload: median, 95th percentile and maximum of each part.
table() { # NAME...
	local name
	echo "| workload | samples | agent in the NMI | Xen in the NMI | softirq | of it the agent | tick | of it the agent | bytes |"
	echo "|---|---|---|---|---|---|---|---|---|"
	for name; do
		[ -s "$lab_tmp/$name.cost" ] || continue
		awk -v name="$name" '
			{ of[$1] = $3 ", " $4 ", " $5; number[$1] = $2 }
			END { print "| `" name "` | " number["nmi"] " | " of["nmi"] " | " of["nmi-xen"] " | " \
				of["softirq"] " | " of["softirq-agent"] " | " of["tick"] " | " \
				of["tick-agent"] " | " of["bytes"] " |" }' "$lab_tmp/$name.cost"
	done
}

bound=$("$LAB_ROOT/tests/agent/nmi_bound" "$AGENT_OBJECT") || fail "the agent's object has no bound"
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	boot_counting
	while read -r name domain _; do
		workload "$name" "$domain"
	done < <(lab_expectations | grep -v "^hostile ")
	for load in $GUESTS; do
		workload_with_guests "$load"
	done
	check nothing-is-left-in-xen nothing_left
	echo "# Xen $xen, instructions: median, 95th percentile, maximum"
	mapfile -t names < <(lab_expectations | awk '$1 != "hostile" { print $1 }')
	table "${names[@]}" | sed 's/^/# /'
	echo "# with the stacks of all guests"
	read -ra names <<<"${GUESTS//@/-}"
	table "${names[@]/#/guests-}" | sed 's/^/# /'
done
lab_done
