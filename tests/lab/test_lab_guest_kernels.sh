#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kernels of other domains than dom0, for each Xen: found by what xl was given or by the command line,
# proven by the samples; names, whole stacks, and no names where the image is another one's.
# Time limit: 15 minutes.
LAB_TEST=lab_guest_kernels
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"
# shellcheck source=tests/lab/guests.sh
. "$(dirname "$0")/guests.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-8}
LAB_TIMEOUT=300 # images are read by an emulated CPU
LOADS=(timers@pv timers@pvh)

# The image's own symbols against those that the kernel tells when it runs: dom0 runs the same one.
names_are_the_running_kernels() { # NAME
	"$LAB_ROOT/build/test/compare_kernels" "$lab_tmp/$1.data" 0 1
}

test_found() {
	check each-load-starts each_load start "${LOADS[@]}"
	check guests-are-recorded record_some found "$SECONDS_EACH" -F 200 -g pvh,pv
	check_of pv the-pv-guests-kernel-is-found was_told found 'pv runs Linux .* at slide 0:'
	check_of pvh the-pvh-guests-kernel-is-found was_told found 'pvh runs Linux .* at slide 0:'
	for domain in pv pvh; do
		check_of "$domain" "$domain-has-names" all_are_named found "$domain"
		check_of "$domain" "$domain-stacks-are-whole" whole_kernel_stacks found "$domain" 950
		check_of "$domain" "$domain-sleeps-by-a-system-call" guest_comes_from found "$domain" do_nanosleep \
			'entry_SYSCALL_64_after_hwframe' 'do_syscall_64' '__x64_sys_clock_nanosleep' 'hrtimer_nanosleep' 'do_nanosleep'
		check_of "$domain" "$domain-sets-its-timers-by-hypercall" guest_comes_from found "$domain" xen_vcpuop_set_next_event \
			'clockevents_program_(event|min_delta)' 'xen_vcpuop_set_next_event'
		check_of "$domain" "$domain-is-followed-into-xen" is_followed_into_xen found "$domain"
	done
	check the-same-kernel-is-recorded-as-dom0s record_some both 4 -F 99 -g 0,pv --user-stack 0
	check names-are-those-of-the-running-kernel names_are_the_running_kernels both
}

# The same image with its code moved on by a page: another kernel.
make_other_image() {
	local kernel offset size
	kernel=$("$LAB_ROOT/tests/elf/kernel")
	read -r offset size < <(readelf -SW "$kernel" | sed 's/^ *\[ *[0-9]*\]//' |
		awk '$1 == ".text" { print $4, $5 }')
	offset=$((16#$offset / 4096)) size=$((16#$size / 4096))
	lab_exec sh -c "cp /lab/guests/vmlinux /tmp/other-vmlinux &&
		dd if=/lab/guests/vmlinux of=/tmp/other-vmlinux bs=4096 conv=notrunc \
			skip=$offset seek=$((offset + 1)) count=$((size - 1))"
}

test_named() {
	each_load stop "${LOADS[@]}" || true
	check another-load-starts each_load start pagetables@pv
	check a-packed-image-that-is-named-is-taken record_some named "$SECONDS_EACH" -F 200 -g pv \
		--guest-kernel "pv=/boot/$(lab_exec sh -c 'ls /boot | grep vmlinuz')"
	check it-is-found-there was_told named 'pv runs Linux .*/boot/vmlinuz-.* at slide 0:'
	check it-has-names all_are_named named pv
	check pv-forks-by-a-system-call guest_comes_from named pv 'copy_page_range' 'do_syscall_64' 'kernel_clone' 'dup_mmap' 'copy_page_range'
	check another-image-is-made make_other_image
	check another-image-is-recorded-with record_some other "$SECONDS_EACH" -F 200 -g pv --guest-kernel pv=/tmp/other-vmlinux
	check another-image-is-told was_told other 'names .*other-vmlinux.*the image is not what it runs'
	check another-image-gives-no-names no_foreign_names other pv
	check where-no-image-is-known-nothing-is-hidden hide_kernels
	check no-image-is-recorded-with record_some unknown "$SECONDS_EACH" -F 200 -g pv
	check no-image-gives-no-names no_foreign_names unknown pv
	show_kernels
	check a-guest-that-is-not-read-is-refused is_refused 2 'add it to --guests' -g pv --guest-kernel pvh=/lab/guests/vmlinux
	check an-image-that-is-none-is-refused is_refused 2 '/etc/passwd' -g pv --guest-kernel pv=/etc/passwd
}

# The domain that comes in its place has the name and the UUID of the one before, and another number.
# Of each of the two it is told that its kernel is proven, or why not: in a kernel that boots, which patches
# itself, places look astray. Without a proof there are no names.
each_is_told_of() {
	[ "$(grep -cE "xenflame: (pv runs Linux .* at slide 0:|frames of pv's kernel will be without names)" "$lab_tmp/anew.err")" = 2 ] ||
		{ tail -n 5 "$lab_tmp/anew.err" "$lab_tmp/anew.log"; return 1; }
}

names_are_proven() {
	grep -q 'xenflame: pv runs Linux' "$lab_tmp/anew.err" || no_foreign_names anew pv
}

test_started_anew() {
	lab_exec sh -c '(sleep 6; xl destroy pv; xl create /lab/guests/pv.cfg) >/tmp/anew.log 2>&1 &'
	check a-guest-is-started-anew-while-it-is-recorded record_some anew 30 -F 200 -g all
	lab_exec cat /tmp/anew.log >"$lab_tmp/anew.log"
	check of-the-one-before-and-the-one-after-it-is-told each_is_told_of
	check it-has-names-where-they-are-proven-alone names_are_proven
}

exec 3>&1
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests pvh,pv
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	test_found
	test_named
	test_started_anew
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
done
lab_done
