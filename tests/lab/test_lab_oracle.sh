#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The stacks against the truth: an emulator that notes every call and return of Xen's
# (lab/oracle/oracle.c) knows at each NMI who had called whom. For each Xen, under every workload but the
# hostile one, which has a test of its own.
# Time limit: 30 minutes.
#
# XENFLAME_LAB_SAMPLES   how many samples in Xen to compare at least, for each Xen (20000)
LAB_TEST=lab_oracle
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

SAMPLES=${XENFLAME_LAB_SAMPLES:-20000}
FREQUENCY=${XENFLAME_LAB_FREQUENCY:-400}
PLUGIN=$LAB_ROOT/build/lab/liboracle.so
COMPARE=$LAB_ROOT/build/test/compare_with_oracle

start_loads() {
	local name domain _
	while read -r name domain _; do
		each_load start "$name@$domain" || return 1
	done < <(lab_expectations | grep -vE '^(hostile|idle) ')
}

# Recordings until there are samples enough.
record_enough() {
	local have=0 turn
	for turn in $(seq 40); do
		record "$turn" "$SECONDS_EACH" -F "$FREQUENCY" || return 1
		have=$((have + $(sed -nE 's/.* ([0-9]+) Xen, .*/\1/p' "$lab_tmp/$turn.err")))
		turns=$turn
		[ "$have" -lt "$SAMPLES" ] || return 0
	done
	echo "only $have samples in Xen"
	return 1
}

compare_all() {
	local turn status=0
	for turn in $(seq "$turns"); do
		"$COMPARE" "$lab_tmp/$turn.data" "$lab_tmp/oracle" >"$lab_tmp/compared.$turn" || status=1
	done
	cat "$lab_tmp"/compared.*
	return $status
}

equal_at_least() { # PERMYRIAD of the samples have the oracle's chain exactly
	cat "$lab_tmp"/compared.* | awk -v least="$1" '
		/ samples in Xen: / { all += $1; equal += $5; cut += $7; wrong += $9; either += $15 }
		END { printf "%d samples: %d equal (%d to one of two as likely NMIs), %d short, %d wrong\n",
			all, equal, either, cut, wrong
		      exit !(all && equal * 10000 >= all * least) }'
}

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-15}
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp"/{symbols,oracle,compared.*}
	lab_boot --xen "$xen"
	entry=$(address_of entry_NMI nmi)
	lab_boot --xen "$xen" --guests pvh,pv \
		--qemu-args "-plugin $PLUGIN,nmi=$entry,out=$lab_tmp/oracle"
	lab_put "$TOOL" /usr/local/bin/
	check all-workloads-run start_loads
	turns=0
	check samples-are-recorded-under-every-workload record_enough
	lab_stop # its end writes the oracle's log out
	check no-stack-has-a-wrong-frame compare_all
	check 99.9-percent-of-stacks-are-the-oracles equal_at_least 9990
	sed 's/^/# /' "$lab_tmp/check.out"
done
lab_done
