#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Xen crashes while it is sampled, with a crash kernel loaded: it gets there as ever, and has noted what
# each pCPU was doing. The same after a recording, and after one that was killed. Time limit: 10 minutes.
# shellcheck disable=SC2317 # functions that check calls
LAB_TEST=lab_crash
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

CRASH=$LAB_ROOT/tests/lab/crash
# The crash kernel starts where Xen's command line reserves memory: see crash/crash.h.
RESERVED=crashkernel=16M@64M
TEXT=0x4010000

build_crash_kernel() {
	local flags=(-std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror)
	gcc "${flags[@]}" -ffreestanding -fno-pic -mgeneral-regs-only -mno-red-zone -fno-stack-protector \
		-fcf-protection=none -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-Ttext=$TEXT \
		-o "$lab_tmp/crash_kernel" "$CRASH/kernel.c" &&
		gcc "${flags[@]}" -o "$lab_tmp/crash_load" "$CRASH/load.c" -lxencall
}

start_host() {
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --xen-args "$RESERVED"
	lab_put "$TOOL" "$lab_tmp/crash_kernel" "$lab_tmp/crash_load" /usr/local/bin/
	lab_exec crash_load /usr/local/bin/crash_kernel || fail "the crash kernel was not loaded"
	each_load start hypercall evtchn
}

sampling() {
	lab_exec xenflame record -F 2000 -t 60 -o /tmp/crash.data >"$lab_tmp/crash.err" 2>&1 &
	for _ in $(seq 200); do
		! grep -q 'finished APPLY with rc=0' "$LAB_DIR/console.log" || break
		sleep 0.1
	done
	sleep 2
}

sampled_before() {
	lab_exec xenflame record -F 2000 -t 1 -o /tmp/crash.data
}

killed_before() {
	lab_exec sh -c 'xenflame record -F 2000 -t 60 -o /tmp/crash.data & sleep 3; kill -9 $!'
}

# Xen crashes on its own word; the host ends when the crash kernel resets it.
crash() { # HOW
	"$1" || return 1
	timeout 60 "$LAB" exec "$LAB_DIR" -- xl debug-keys C >/dev/null 2>&1 &
	for _ in $(seq 600); do
		kill -0 "$(cat "$LAB_DIR/qemu.pid")" 2>/dev/null || break
		sleep 0.1
	done
	tr -d '\r' <"$LAB_DIR/console.log" >"$lab_tmp/console"
	grep -q '^crash kernel: ends' "$lab_tmp/console" || { tail -n 40 "$lab_tmp/console"; return 1; }
}

# In Xen's own text, which is where its notes are taken.
each_pcpu_is_noted() {
	local noted
	noted=$(grep -cE '^crash kernel: pCPU [0-9a-f]{16} was at ffff82d[0-9a-f]{9}$' "$lab_tmp/console") || true
	[ "$noted" = 2 ] || { grep '^crash kernel' "$lab_tmp/console"; return 1; }
}

no_fault_on_the_way() {
	! grep -E 'FATAL PAGE FAULT|GENERAL PROTECTION|DOUBLE FAULT|Assertion|Panic on CPU' "$lab_tmp/console"
}

build_crash_kernel || fail "the crash kernel does not build"
for xen in $LAB_XENS; do
	for how in sampling sampled_before killed_before; do
		LAB_PREFIX="$xen-${how//_/-}-"
		start_host
		check the-crash-kernel-runs crash "$how"
		check each-pCPU-is-noted each_pcpu_is_noted
		check no-fault-on-the-way no_fault_on_the_way
	done
done
LAB_PREFIX=''
lab_done
