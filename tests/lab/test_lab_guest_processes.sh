#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes of a PV and a PVH guest, for each Xen: two workloads at a time in each, and what each does in
# Xen stands above its own name, and its own functions, from the first one on. Time limit: 12 minutes.
#
# XENFLAME_LAB_SECONDS   of each recording (10)
LAB_TEST=lab_guest_processes
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-10}

# Of DOMAIN's samples that have FRAME at most one of a hundred is another process's than PROCESS, and of 95
# it is known whose they are. Kernels do some of it for themselves.
are_of() { # NAME DOMAIN FRAME PROCESS
	awk -v domain="$2" -v frame=";($3)(;| )" -v process="^($4)$" '
		index($0, domain ";") != 1 || $0 !~ frame { next }
		{ n = $NF; all += n; split($0, part, ";")
		  if (part[2] == "[unknown process]") unknown += n
		  else if (part[2] ~ process) good += n
		  else if (!shown++) print }
		END { printf "%d: %d right, %d unknown\n", all, good, unknown
		      exit all < 20 || unknown * 20 > all || (all - good - unknown) * 100 > all }' "$lab_tmp/$1.folded"
}

# Of all that DOMAIN did, in its processes, its kernel and in Xen, but where Xen was leaving its vCPU: then
# nothing can be read any more.
are_known() { # NAME DOMAIN PERCENT
	awk -v domain="$2" -v least="$3" '
		index($0, domain ";") == 1 && !/;\[guest switched away\]/ { n = $NF; all += n; if ($0 !~ /;\[unknown process\]/) known += n }
		END { printf "%d of %d\n", known, all; exit !all || known * 100 < all * least }' "$lab_tmp/$1.folded" && return
	grep "^$2;.*\[unknown process\]" "$lab_tmp/$1.folded" | sort -t ' ' -k 2 | head -n 20
	return 1
}

# Of the samples of DOMAIN's PROCESS with FRAME, one of Xen's, 95 of a hundred are one stack from the program's
# main up to there, by way of its kernel where it is said to be ENTERED.
go_through() { # NAME DOMAIN PROCESS FRAME [ENTERED]
	awk -v process="^$2;($3);" -v frame=";($4)(;| )" -v whole=";_start;(.*;)?main;(.*;)?${5:+($5);(.*;)?}($4)(;| )" '
		$0 !~ process || $0 !~ frame { next }
		{ n = $NF; all += n }
		$0 ~ whole { good += n; next }
		shown++ < 5 { print }
		END { printf "%d of %d from main on\n", good, all
		      exit all < 20 || good * 100 < all * 95 }' "$lab_tmp/$1.folded"
}

# Of all that DOMAIN's PROCESS did, but where Xen was leaving its vCPU, 95 of a hundred reach the program's
# first instruction.
reach_start() { # NAME DOMAIN PROCESS
	awk -v process="^$2;($3);" '
		$0 !~ process || /;\[guest switched away\]/ { next }
		{ n = $NF; all += n }
		/;_start(;| )/ { good += n; next }
		shown++ < 5 { print }
		END { printf "%d of %d reach _start\n", good, all
		      exit all < 20 || good * 100 < all * 95 }' "$lab_tmp/$1.folded"
}

# By process a domain has what it has by domain.
sums_agree() { # NAME
	"$TOOL" report -i "$lab_tmp/$1.data" --format json --by domain,process >"$lab_tmp/sums.json" &&
		python3 - "$lab_tmp/sums.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
def sums(table):
    found = {}
    for row in report[table]["rows"]:
        mine = found.setdefault(row["domain"], [0, 0, 0, 0])
        for i, part in enumerate(("samples", "guest", "xen", "idle")):
            mine[i] += int(row[part])
    return found
print(sums("processes"))
assert sums("processes") == sums("domains"), sums("domains")
PYTHON
}

test_pv() {
	each_load start evtchn@pv pagetables@pv
	check a-pv-guests-processes-are-recorded record pv "$SECONDS_EACH" -F 400 -g pv
	each_load stop evtchn@pv pagetables@pv
	check a-pv-guests-processes-are-known are_known pv pv 95
	check its-events-are-sent-by-the-program-that-does are_of pv pv do_event_channel_op evtchn
	# It runs itself anew as /proc/self/exe.
	check its-events-are-sent-from-main-through-its-kernel go_through pv pv evtchn do_event_channel_op 'entry_SYSCALL_64[^;]*'
	check its-programs-stacks-reach-their-first-instruction reach_start pv pv evtchn
	check its-page-tables-are-changed-by-the-program-that-does are_of pv pv do_mmu_update 'pagetables|exe'
}

# All that DOMAIN's PROCESS did in its own code has the file's name and no function's.
has_no_names() { # NAME DOMAIN PROCESS
	awk -v process="^$2;($3);" '
		$0 !~ process || !/;\[[^;]*\]\+0x/ && !/;main[; ]/ { next }
		/;main[; ]/ { print; wrong++ }
		{ all += $NF }
		END { print all + 0 " samples in its own code"; exit !all || wrong }' "$lab_tmp/$1.folded"
}

# In a PV guest evtchn ends after a while: it is started for each recording, while dom0 has it.
start_apart() {
	each_load start evtchn@pv
	lab_exec sh -c 'mkdir -p /tmp/root/lab/workloads && mv /lab/workloads/evtchn /tmp/root/lab/workloads/'
}

stop_apart() {
	lab_exec mv /tmp/root/lab/workloads/evtchn /lab/workloads/
	each_load stop evtchn@pv
}

# Where dom0 has not the programs' files itself: without them, and by a directory.
test_root() {
	start_apart
	check a-guest-whose-files-are-not-there-is-recorded record bare "$SECONDS_EACH" -F 400 -g pv
	stop_apart
	check its-functions-have-no-names has_no_names bare pv evtchn
	start_apart
	check a-guest-whose-files-are-elsewhere-is-recorded record root "$SECONDS_EACH" -F 400 -g pv --guest-root pv=/tmp/root
	stop_apart
	check its-events-are-sent-from-its-main go_through root pv evtchn do_event_channel_op 'entry_SYSCALL_64[^;]*'
}

test_pvh_calls() {
	each_load start evtchn@pvh
	check a-pvh-guests-calls-are-recorded record calls "$SECONDS_EACH" -F 400 -g pvh
	each_load stop evtchn@pvh
	check its-events-are-sent-from-main-through-its-kernel go_through calls pvh evtchn do_event_channel_op 'entry_SYSCALL_64[^;]*'
}

test_pvh() {
	each_load start exits@pvh syscalls@pvh
	check a-pvh-guests-processes-are-recorded record pvh "$SECONDS_EACH" -F 400 -g pvh
	each_load stop exits@pvh syscalls@pvh
	check a-pvh-guests-processes-are-known are_known pvh pvh 95
	check its-exits-are-the-programs-that-makes-them are_of pvh pvh 'svm_vmexit_do_cpuid|handle_pio|hvm_vmexit_cpuid' exits
	check its-programs-stacks-reach-their-first-instruction reach_start pvh pvh 'exits|syscalls'
	check its-exits-are-made-from-main go_through pvh pvh exits 'svm_vmexit_handler'
	check its-system-calls-are-the-programs-that-makes-them are_of pvh pvh 'read_iter_zero|vfs_statx|write_null' syscalls
}

exec 3>&1
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	test_pv
	test_pvh
	test_pvh_calls
	test_root
	check by-process-a-domain-has-what-it-has-by-domain sums_agree pvh
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
	check the-host-is-well lab_exec judge --health
done
lab_done
