# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the lab's tests share. A test sources it, boots with lab_boot, calls `check NAME COMMAND...`
# or ok / not_ok for each case, and ends with lab_done. Output: "ok NAME", "not ok NAME: why",
# "skip NAME: why", and a last line with the counts; status 0 only when nothing failed.
#
# XENFLAME_LAB_XEN       the Xens to test with ("4.17 4.20")
# XENFLAME_LAB_KEEP      when set, a host whose test failed is left running, and its logs are kept
set -euo pipefail

LAB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LAB=$LAB_ROOT/lab/lab
# shellcheck disable=SC2034 # for the tests
LAB_XENS=${XENFLAME_LAB_XEN:-4.17 4.20}
LAB_DIR='' # the host under test
LAB_PREFIX='' # goes before the names of cases, such as "4.17: "
lab_passed=0 lab_failed=0 lab_skipped=0
lab_tmp=$(mktemp -d "${TMPDIR:-/tmp}/xenflame-test.XXXXXX")

lab_cleanup() {
	local status=$?
	trap - EXIT
	if [ -n "${XENFLAME_LAB_KEEP-}" ] && { [ "$lab_failed" -gt 0 ] || [ "$status" != 0 ]; }; then
		echo "# kept: $lab_tmp ${LAB_DIR:+(host: $LAB_DIR)}"
	else
		lab_stop
		rm -rf "$lab_tmp"
	fi
	exit "$status"
}
trap lab_cleanup EXIT
trap 'exit 130' INT TERM

ok() {
	lab_passed=$((lab_passed + 1))
	echo "ok $LAB_PREFIX$1"
}

not_ok() {
	lab_failed=$((lab_failed + 1))
	echo "not ok $LAB_PREFIX$1: ${*:2}"
}

skip() {
	lab_skipped=$((lab_skipped + 1))
	echo "skip $LAB_PREFIX$1: ${*:2}"
}

# End the test: the reason, and what the host said last.
fail() {
	not_ok "${LAB_TEST:-lab}" "$@"
	if [ -n "$LAB_DIR" ] && [ -f "$LAB_DIR/console.log" ]; then
		echo "# the last lines of $LAB_DIR/console.log:"
		tail -n 60 "$LAB_DIR/console.log" | tr -d '\r' | sed 's/^/# /'
	fi
	lab_counts
	exit 1
}

# check NAME COMMAND...: a case that passes when COMMAND does; its output is shown when it fails.
check() {
	local name=$1 status=0
	shift
	"$@" >"$lab_tmp/check.out" 2>&1 </dev/null || status=$?
	if [ "$status" = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "status $status"
		tail -n 30 "$lab_tmp/check.out" | sed 's/^/# /'
	fi
	return 0
}

# check_status NAME WANTED COMMAND...
check_status() {
	local name=$1 wanted=$2 status=0
	shift 2
	"$@" >"$lab_tmp/check.out" 2>&1 </dev/null || status=$?
	if [ "$status" = "$wanted" ]; then
		ok "$name"
	else
		not_ok "$name" "status $status, not $wanted"
		tail -n 30 "$lab_tmp/check.out" | sed 's/^/# /'
	fi
	return 0
}

# lab_boot OPTION...: boot the host under test, in place of the last one.
lab_boot() {
	lab_stop
	LAB_DIR=$(mktemp -d "$lab_tmp/host.XXXXXX")
	"$LAB" boot --dir "$LAB_DIR" "$@" >"$lab_tmp/boot.out" 2>&1 || {
		cat "$lab_tmp/boot.out"
		fail "boot $*"
	}
}

lab_stop() {
	[ -n "$LAB_DIR" ] || return 0
	"$LAB" stop "$LAB_DIR" 2>/dev/null || true
	LAB_DIR=''
}

# A command in dom0, at most two minutes; its output and status.
lab_exec() {
	"$LAB" exec "$LAB_DIR" --timeout "${LAB_TIMEOUT:-120}" -- "$@"
}

# LINE is typed into an interactive shell in dom0, on a terminal; what that shows. The typist's end stays
# open until the shell has ended: its end would be the terminal's.
lab_type() {
	rm -f "$lab_tmp/typist"
	mkfifo "$lab_tmp/typist"
	exec 8<>"$lab_tmp/typist"
	printf '%s\nexit\n' "$1" >&8
	timeout 60 script -qec "'$LAB' shell '$LAB_DIR'" /dev/null <&8 | tr '\r' '\n'
	exec 8>&-
}

lab_put() {
	"$LAB" put "$LAB_DIR" "$@"
}

lab_get() {
	"$LAB" get "$LAB_DIR" "$@"
}

# The known answers: lines "WORKLOAD DOMAIN REGEX..." without the comments.
lab_expectations() {
	grep -vE '^(#|$)' "$LAB_ROOT/lab/workloads/expect"
}

lab_counts() {
	echo "# passed $lab_passed, failed $lab_failed, skipped $lab_skipped"
}

lab_done() {
	lab_counts
	[ "$lab_failed" = 0 ] || exit 1
	exit 0
}
