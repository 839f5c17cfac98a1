#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record --sched, for each Xen: with loads that are pinned so that it is known who must wait for whom, and
# against Xen's own account of the CPU time of each vCPU (xl vcpu-list). Time limit: 8 minutes.
# shellcheck disable=SC2317 # functions that check calls
LAB_TEST=lab_sched
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-6}

# A recording with what the scheduler did, as JSON in $lab_tmp/NAME.json, and in $lab_tmp/NAME.err what
# Xen's own account said a second after its beginning and a second before its end. Where the machine under
# the emulator is busy the agent may have stopped for want of the tool's sign of life: once more.
record_sched() { # NAME
	local attempt status
	for attempt in 1 2 3; do
		status=0
		record "$1" 120 --sched -g none -- sh -c "
			account() { echo uptime \$(cut -d ' ' -f 1 /proc/uptime); xl vcpu-list | sed 's/^/account /'; }
			sleep 1; account; sleep $SECONDS_EACH; account; sleep 1" || status=1
		grep -q 'the agent stopped by itself' "$lab_tmp/$1.err" || break
		echo "# attempt $attempt: the tool was held up for longer than its lease"
	done
	[ $status = 0 ] || return 1
	"$TOOL" report -i "$lab_tmp/$1.data" --format json --by vcpu -o "$lab_tmp/$1.json"
}

# How much of the recording a vCPU was in a state, in per mille.
share_in() { # NAME DOMAIN VCPU STATE
	local whole time
	whole=$(sed -n 's/.*"nanoseconds":\([0-9]*\).*/\1/p' "$lab_tmp/$1.json")
	time=$(sed -n "s/^{\"domain\":\"$2\",\"domid\":[0-9]*,\"vcpu\":$3,.*\"$4\":\([0-9]*\)[,}].*/\1/p" "$lab_tmp/$1.json")
	[ -n "$time" ] || { echo "no $4 of $2 vCPU $3" >&2; return 1; }
	echo $((time * 1000 / whole))
}

is_in() { # NAME DOMAIN VCPU STATE LOW HIGH
	between "$5" "$(share_in "$1" "$2" "$3" "$4")" "$6"
}

# All states together are the time of the recording, and nothing of it is unknown where nothing was lost.
all_is_known() { # NAME
	grep -q "Xen's scheduler: [1-9][0-9]* records, 0 gaps, 0 records without" "$lab_tmp/$1.err" || {
		grep "Xen's scheduler" "$lab_tmp/$1.err"
		return 1
	}
	awk -v whole="$(sed -n 's/.*"nanoseconds":\([0-9]*\).*/\1/p' "$lab_tmp/$1.json")" '
		/"running":/ {
			row = $0; sum = 0
			for (n = split("running waiting blocked offline unknown", state, " "); n; n--) {
				match(row, "\"" state[n] "\":[0-9]+")
				time = substr(row, RSTART + length(state[n]) + 3, RLENGTH - length(state[n]) - 3)
				sum += time
				if (state[n] == "unknown" && time != 0) bad = row
			}
			rows++
			if (sum != whole) bad = row
		}
		END { if (bad) print whole ": " bad; exit !rows || bad != "" }' "$lab_tmp/$1.json"
}

# The CPU time that a vCPU got by Xen's own account, in per mille of the time between.
account_of() { # NAME DOMAIN VCPU
	awk -v domain="$2" -v vcpu="$3" '
		$1 == "uptime" { at[++n] = $2 }
		$1 == "account" && $2 == domain && $4 == vcpu { time[n] = $7 }
		END { if (n != 2 || time[1] == "" || time[2] == "") exit 1
		      printf "%d\n", (time[2] - time[1]) * 1000 / (at[2] - at[1]) }' "$lab_tmp/$1.err"
}

# xl counts in tenths of a second, and a command takes its time on an emulated host.
agrees_with_xens_account() { # NAME DOMAIN VCPU
	local ours xens
	ours=$(share_in "$1" "$2" "$3" running) && xens=$(account_of "$1" "$2" "$3") || return 1
	echo "$ours per mille, by Xen's account $xens"
	between $((xens - 60)) "$ours" $((xens + 60))
}

# A guest that has just been made has things to do; soon it has not.
record_idle() {
	for _ in 1 2 3 4; do
		record_sched idle || return 1
		! { is_in idle pv 0 blocked 950 1000 && is_in idle pvh 0 blocked 950 1000; } >/dev/null || return 0
	done
}

test_idle() {
	check an-idle-host-is-recorded record_idle
	check idle-all-is-known-and-adds-up all_is_known idle
	check idle-produced-is-delivered-plus-lost books_add_up idle
	check an-idle-pv-guest-is-blocked is_in idle pv 0 blocked 900 1000
	check an-idle-pvh-guest-is-blocked is_in idle pvh 0 blocked 900 1000
}

# Two guests burn on the second pCPU, which nobody else uses: each has half of it and waits the other half.
test_two() {
	each_load start burn@pvh burn@pv
	check two-on-one-pcpu-are-recorded record_sched two
	check two-all-is-known-and-adds-up all_is_known two
	check two-produced-is-delivered-plus-lost books_add_up two
	for guest in pv pvh; do
		check "two-on-one-pcpu-$guest-runs-half-of-the-time" is_in two $guest 0 running 430 570
		check "two-on-one-pcpu-$guest-waits-half-of-the-time" is_in two $guest 0 waiting 430 570
		check "two-on-one-pcpu-$guest-agrees-with-xens-account" agrees_with_xens_account two $guest 0
	done
}

# With a vCPU of dom0's that burns there as well it is a third for each.
test_three() {
	each_load start burn
	# shellcheck disable=SC2016 # expanded by the shell there
	lab_exec sh -c 'xl vcpu-pin Domain-0 1 1 && taskset -p 2 "$(pidof burn)"' >"$lab_tmp/pin" 2>&1 || cat "$lab_tmp/pin"
	check three-on-one-pcpu-are-recorded record_sched three
	check three-all-is-known-and-adds-up all_is_known three
	check three-produced-is-delivered-plus-lost books_add_up three
	for vcpu in pv:0 pvh:0 Domain-0:1; do
		check "three-on-one-pcpu-${vcpu%:*}-waits-two-thirds" is_in three "${vcpu%:*}" "${vcpu#*:}" waiting 550 780
		check "three-on-one-pcpu-${vcpu%:*}-agrees-with-xens-account" agrees_with_xens_account three "${vcpu%:*}" "${vcpu#*:}"
	done
	each_load stop burn burn@pvh burn@pv
}

is_not_asked() {
	record without 3 -g none || return 1
	! grep "Xen's scheduler" "$lab_tmp/without.err" || return 1
	! "$TOOL" report -i "$lab_tmp/without.data" | grep -i scheduler
}

for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	lab_exec sh -c 'xl vcpu-pin Domain-0 all 0 && xl vcpu-pin pv all 1 && xl vcpu-pin pvh all 1'
	test_idle
	test_two
	test_three
	check without-sched-nothing-is-told-of-it is_not_asked
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
	check the-host-is-well lab_exec judge --health
done
lab_done
