#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Guests' own stacks below Xen's, for each Xen: dom0's kernel by name from the system call to the
# hypercall, a PVH and a PV guest's as far as is known, and nobody's who was not asked for.
# Time limit: 12 minutes.
LAB_TEST=lab_guests
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"
# shellcheck source=tests/lab/guests.sh
. "$(dirname "$0")/guests.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-8}
DOM0_LOADS=(hypercall evtchn grants timers pagetables)

# Stacks with INNER, a frame of Xen's, have these frames of dom0's kernel below it, in this order.
comes_from() { # NAME INNER OUTER...
	local name=$1 inner=$2 pattern=''
	shift 2
	for frame; do pattern="$pattern;($frame)(;[^;]*)*"; done
	awk -v inner="(;|#)($inner)(;| )" -v pattern="^Domain-0(;[^;]*)*$pattern" '
		$0 !~ inner || /switched away/ { next }
		{ n = $NF; all += n; if ($0 ~ pattern) good += n; else if (!shown++) print }
		END { if (!all) { print "no frame " inner; exit 1 }
		      printf "%d of %d\n", good, all
		      exit good * 100 < all * 95 }' "$lab_tmp/$name.folded"
}

# Stacks of dom0's with FRAME stand above a process that matches, where one is known: but for one of a hundred: in
# the midst of a switch clocks say whose it is, in the emulator not always rightly (docs/limits.md).
belongs_to() { # NAME FRAME PROCESS
	awk -v frame="$2" -v process="^($3)$" '
		$0 !~ "^Domain-0;" || $0 !~ frame || /^Domain-0;\[unknown process\]/ { next }
		{ n = $NF; all += n; split($0, part, ";"); if (part[2] ~ process) good += n; else if (!shown++) print }
		END { if (!all) { print "no frame " frame; exit 1 }
		      printf "%d of %d\n", good, all
		      exit (all - good) * 100 > all }' "$lab_tmp/$1.folded"
}

# Not where Xen was leaving the vCPU already, and in the middle of dom0's own switches.
processes_are_known() { # NAME
	awk '/^Domain-0;/ { n = $NF; all += n; if ($0 !~ /^Domain-0;\[unknown process\]/) known += n }
		END { printf "%d of %d\n", known, all; exit !all || known * 100 < all * 95 }' "$lab_tmp/$1.folded"
}

no_guest_frames() { # NAME DOMAIN
	if grep "^$2;" "$lab_tmp/$1.folded" | grep -E 'do_syscall_64|\[user\]|kernel\]\+0x|switched away' | head -n 3 | grep .; then
		return 1
	fi
}

test_dom0() {
	each_load start "${DOM0_LOADS[@]}"
	check dom0s-stacks-are-recorded record dom0 "$SECONDS_EACH" -F 500
	each_load stop "${DOM0_LOADS[@]}"
	check dom0-produced-is-delivered-plus-lost books_add_up dom0
	check xens-stacks-are-complete complete_at_least dom0 990
	check dom0s-kernel-stacks-are-whole whole_kernel_stacks dom0 Domain-0 980
	# Linux makes xen_version hypercalls of its own, to be given events that are pending.
	check a-privileged-hypercall-comes-from-the-ioctl-or-from-linux-itself comes_from dom0 do_xen_version \
		'(privcmd_ioctl [[]xen_privcmd[]]|xen_force_evtchn_callback)' 'xen_hypercall_[a-z_]+'
	check an-event-is-sent-for-the-event-device-or-to-another-vcpu comes_from dom0 evtchn_send \
		'(evtchn_[a-z_]+ [[]xen_evtchn[]]|xen_send_IPI_one)' 'xen_hypercall_[a-z_]+'
	check grants-come-from-the-grant-device comes_from dom0 do_grant_table_op \
		'[a-z_]+ [[]xen_gntdev[]]' 'xen_hypercall_[a-z_]+'
	check dom0s-processes-are-known processes_are_known dom0
	check privileged-hypercalls-are-their-programs belongs_to dom0 'privcmd_ioctl [[]xen_privcmd' 'hypercall|xenflame|xl|xen.*'
	check grants-are-their-programs-or-a-workers belongs_to dom0 '[[]xen_gntdev' 'grants|kworker.*'
	check events-are-their-programs belongs_to dom0 'evtchn_ioctl [[]xen_evtchn' 'evtchn|xen.*'
}

test_guests() {
	hide_kernels
	each_load start exits@pvh hypercall
	check guests-stacks-are-recorded record guests "$SECONDS_EACH" -F 500 -g pvh,pv
	each_load stop exits@pvh hypercall
	check the-pvh-guests-kernel-is-shown-as-unknown no_foreign_names guests pvh
	show_kernels
	check dom0-was-not-asked-for no_guest_frames guests Domain-0
	check nobody-is-read-where-nobody-is-asked-for record nobody 2 -g none
	check nobody-has-guests-frames no_guest_frames nobody Domain-0
	check all-are-recorded record all "$SECONDS_EACH" -F 500 -g all
	check all-produced-is-delivered-plus-lost books_add_up all
	check a-domain-that-is-not-there-is-refused is_refused 2 "there are Domain-0 (0), pvh" -g nosuch
}

exec 3>&1
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	test_dom0
	test_guests
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
	check the-host-is-well lab_exec judge --health
done
lab_done
