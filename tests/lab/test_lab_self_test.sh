#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `record --self-test` on a host with guests, for each Xen: all is ok where all is well, a fault that is
# forced is told as what it is, and nothing is left behind. Time limit: 15 minutes.
LAB_TEST=lab_self_test
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

report=$lab_tmp/report

self_test() { # RULE OPTION...: the report, and the tool's status; RULE: see errors/fail_hypercall.c
	local rule=$1
	shift
	lab_exec env "XF_FAIL=$rule" LD_PRELOAD=/lab/bin/fail.so xenflame record --self-test "$@" \
		>"$report" 2>"$lab_tmp/said"
}

# All that the report has to say is ok, and there is something.
all_is_ok() {
	self_test '' "$@" || { echo "status $?"; cat "$report" "$lab_tmp/said"; return 1; }
	[ "$(grep -c '^ok  ' "$report")" -ge 17 ] || { cat "$report"; return 1; }
	if grep '^NOT ok' "$report"; then
		return 1
	fi
	grep -q '^All that can be told here is ok' "$report"
}

head_has() { # NAME REGEX
	grep -qE "^  $1 +$2" "$report" || { head -n 40 "$report"; return 1; }
}

# Neither the host's name nor a domain's; no address of Xen's or of a guest's.
report_tells_no_names() {
	if grep -nwE "$(lab_exec uname -n)|Domain-0|$(lab_exec xl list | awk 'NR > 1 { print $1 }' |
		paste -sd '|')" <(grep -vE '^  guests |^  dom0 ' "$report"); then
		return 1
	fi
	if grep -nE '(0x)?ffff8[0-9a-f]{11}' "$report"; then
		return 1
	fi
}

# A fault that is forced: the one promise is broken, and status 10 tells.
tells_of() { # RULE REGEX
	local status=0
	self_test "$1" -t 1 || status=$?
	grep -qE "^NOT ok  $2" "$report" && [ "$status" = 10 ] && return 0
	echo "status $status"
	grep -vE '^  ' "$report"
	cat "$lab_tmp/said"
	return 1
}

# A signal in the middle: no report, status 1, and the host is left as it was.
interrupted_at() { # RULE
	local status=0
	self_test "$1" || status=$?
	[ "$status" = 1 ] && [ ! -s "$report" ] && grep -q 'interrupted' "$lab_tmp/said" && nothing_left &&
		return 0
	echo "status $status"
	cat "$report" "$lab_tmp/said"
	return 1
}

nothing_is_kept() {
	lab_exec sh -c '[ -z "$(ls /tmp)" ] || { ls -l /tmp; exit 1; }'
}

test_faults() {
	check an-agent-that-is-not-unloaded-is-told \
		tells_of livepatch:3:1=EIO@1 'the live patches are as before: xenflame-agent \(checked\), before: none; unloading'
	check an-agent-that-is-not-reverted-is-told \
		tells_of livepatch:3:2=EIO@1 'the live patches are as before: xenflame-agent \(applied\), before: none; reverting'
	# The first mask without a sign of life asks the agent to stop, the second is what was before.
	check an-event-mask-that-stays-is-told \
		tells_of tbuf:2:0=EIO@2 "Xen's trace event mask is as before: 0x0400f"
	check an-agent-that-cannot-be-asked-to-stop-is-told \
		tells_of tbuf:2:0=EIO@1 'asked to stop, every pCPU closed its books: 0 of 2'
	check a-second-agent-that-does-not-start-is-told \
		tells_of livepatch:3:3=EIO@2 'the NMI callback and the softirq were given back: a second agent did not start'
	check a-recording-that-ends-early-is-told \
		tells_of 'tbuf:2=EIO@6' 'the recording goes on until its end: setting'
	check_status a-first-agent-that-does-not-start-has-the-status-of-record 6 self_test livepatch:3:3=EBUSY -t 1
	check and-is-told grep -q '^NOT ok  the agent starts: applying' "$report"
	check a-signal-while-it-records-ends-it interrupted_at tbuf:2=SIGTERM@9
	check a-signal-while-the-second-agent-is-applied-ends-it interrupted_at livepatch:3:3=SIGTERM@2
	check after-all-faults-all-is-ok all_is_ok -t 2
	check no-recording-is-kept-after-faults nothing_is_kept
}

gcc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -shared -fPIC -o "$lab_tmp/fail.so" \
	"$LAB_ROOT/tests/lab/errors/fail_hypercall.c" -ldl || fail "the helper does not compile"
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	before=$(console_lines)
	lab_put "$TOOL" /usr/local/bin/
	lab_put "$lab_tmp/fail.so" /lab/bin/
	check each-load-starts each_load start hypercall exits@pvh
	check all-is-ok-under-load all_is_ok
	check stacks-are-told grep -q '^ok  stacks in Xen are complete: ' "$report"
	check the-report-tells-xens-version head_has version "Xen $xen"
	check the-report-tells-the-processor head_has processor AuthenticAMD
	check the-report-counts-the-guests head_has guests '1 PV, 1 PVH, 0 HVM'
	check the-report-tells-no-names report_tells_no_names
	check no-recording-is-kept nothing_is_kept
	check each-load-stops each_load stop hypercall exits@pvh
	check with-an-output-it-is-kept all_is_ok -t 2 -F 199 -o /root/kept.data
	check and-can-be-read lab_exec sh -c 'xenflame report -i /root/kept.data >/dev/null'
	test_faults
	check nothing-is-left-in-xen nothing_left
	check xens-console-is-calm console_is_calm "$before"
	check check-tells-the-hardware lab_exec sh -c "xenflame check | grep -q 'CET .*shadow stacks off'"
done
lab_done
