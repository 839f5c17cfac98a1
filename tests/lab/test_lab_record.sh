#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The whole chain on a host with guests, for each Xen: every workload's functions are found, stacks
# are complete, shares are right, the books add up, nothing is left behind. Time limit: 12 minutes.
LAB_TEST=lab_record
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-6}

# One workload from lab/workloads/expect.
workload() { # NAME DOMAIN REGEX...
	local name=$1 domain=$2 regex
	shift 2
	if record_loaded "$name" "$SECONDS_EACH" "$name@$domain" >"$lab_tmp/why" 2>&1; then
		ok "$name-is-recorded"
		for regex; do
			check "$name-shows-${regex%%|*}" has_frame "$name" "$regex"
		done
		check "$name-produced-is-delivered-plus-lost" books_add_up "$name"
	else
		not_ok "$name-is-recorded" "$(tail -n 5 "$lab_tmp/why")"
	fi
}

test_workloads() {
	local name domain regexes
	while read -r name domain regexes; do
		# shellcheck disable=SC2086
		workload "$name" "$domain" $regexes
	done < <(lab_expectations | grep -vE '^(burn|idle) ')
	check grants-are-mapped-by-a-hypercall \
		called_from grants 'do_grant_table_op' 'pv_hypercall|lstar_enter'
	check page-tables-are-updated-by-a-hypercall \
		called_from pagetables 'do_mmu_update|do_mmuext_op' 'pv_hypercall|lstar_enter'
	check exits-are-handled-below-the-exit-code \
		called_from exits 'svm_vmexit_handler' 'svm_asm_do_resume|svm_stgi_label'
}

# All workloads that leave the others their turns, in one recording: for the smoke test.
test_workloads_together() {
	local name domain regexes regex loads=()
	while read -r name domain _; do
		loads+=("$name@$domain")
	done < <(lab_expectations | grep -vE '^(burn|hostile|idle) ')
	check all-workloads-are-recorded record_loaded all $((SECONDS_EACH * 3)) "${loads[@]}"
	check all-produced-is-delivered-plus-lost books_add_up all
	while read -r name domain regexes; do
		for regex in $regexes; do
			check "$name-shows-${regex%%|*}" has_frame all "$regex"
		done
	done < <(lab_expectations | grep -vE '^(burn|hostile|idle) ')
	check hypercalls-come-through-the-entry-code \
		called_from all 'do_grant_table_op|do_mmu_update' 'pv_hypercall|lstar_enter'
}

test_shares() {
	check an-idle-host-is-recorded record idle "$SECONDS_EACH"
	check an-idle-host-shows-idle share_between idle '\[idle\]' 500 1000
	check a-burning-guest-is-recorded record_loaded burn "$SECONDS_EACH" burn@pv
	check one-vcpu-of-two-pcpus-is-about-half share_between burn '^pv;' 400 600
	# Less than all of its share: each tick that interrupts it runs in Xen, slowly under emulation.
	check a-burning-guest-is-in-its-user-mode share_between burn '^pv;\[guest user\]' 200 600
}

test_mixed() {
	check a-mixed-load-is-recorded record_loaded mixed $((SECONDS_EACH * 2)) pagetables hypercall exits@pvh
	check mixed-produced-is-delivered-plus-lost books_add_up mixed
	check at-least-95-percent-of-xens-stacks-are-complete complete_at_least mixed 950
	check record-says-how-many-stacks-are-complete \
		grep -qE 'record.data: [0-9]+ samples .* lost, [0-9.]+ % of Xen.s stacks complete' "$lab_tmp/mixed.err"
	check a-terminal-sees-the-progress progress_is_told
	check guests-and-dom0-have-their-names has_frame mixed 'Domain-0'
	check the-pvh-guest-has-its-name has_frame mixed 'pvh'
	check a-recording-is-read-here-without-xen "$TOOL" report -i "$lab_tmp/mixed.data"
	check its-flame-graph-is-xml sh -c \
		"'$TOOL' flamegraph -i '$lab_tmp/mixed.data' -o '$lab_tmp/mixed.svg' && xmllint --noout '$lab_tmp/mixed.svg'"
	check its-script-counts-what-folded-counts script_counts_as_folded mixed
}

progress_is_told() {
	lab_type 'xenflame record -t 2 -o /tmp/typed.data' >"$lab_tmp/typed"
	grep -qE '^recording [0-9]+ s: [0-9]+ samples, [0-9]+ idle, [0-9]+ lost, 2 pCPUs' "$lab_tmp/typed" || {
		cat "$lab_tmp/typed"
		return 1
	}
}

script_counts_as_folded() {
	local folded script
	folded=$(awk '{ n += $NF } END { print n }' "$lab_tmp/$1.folded")
	script=$("$TOOL" script -i "$lab_tmp/$1.data" | grep -oE ': [0-9]+ cpu-clock:' | awk '{ n += $2 } END { print n }')
	[ "$folded" = "$script" ] || { echo "folded $folded, script $script"; return 1; }
}

for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	before=$(console_lines)
	lab_put "$TOOL" /usr/local/bin/
	check check-says-yes lab_exec xenflame check
	if [ -n "${XENFLAME_LAB_SHORT-}" ]; then test_workloads_together; else test_workloads; fi
	test_shares
	test_mixed
	check nothing-is-left-in-xen nothing_left
	check xens-console-is-calm console_is_calm "$before"
done
lab_done
