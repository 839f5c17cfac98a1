#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Kernels of other domains that have really slid (KASLR), for each Xen: two of one image at different slides
# at once, one whose image is not given, one that is rebooted under its name, and another domain's with
# the number of one that has gone. What each guest says of its own kernel is the truth: no name is wrong,
# and no sample another domain's.
# Time limit: 20 minutes.
LAB_TEST=lab_slides
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"
# shellcheck source=tests/lab/guests.sh
. "$(dirname "$0")/guests.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-8}
LAB_TIMEOUT=300 # images are read by an emulated CPU
LINKED=ffffffff81000000
IMAGE=/lab/guests/vmlinux

# Where DOMAIN's kernel lies, by its own words.
text_of() { # DOMAIN
	# shellcheck disable=SC2016 # expanded in dom0
	lab_exec sh -c 'xenstore-read "/local/domain/$(xl domid "$1")/data/lab-text"' text "$1"
}

domid_of() { # DOMAIN
	lab_exec xl domid "$1"
}

# The guests' own kernels, so that an address is in one of them alone.
lie_apart() { # TEXT TEXT
	local distance=$((0x${1#ffffffff} - 0x${2#ffffffff}))
	[ ${distance#-} -ge $((64 << 20)) ]
}

start_second() {
	lab_exec sh -c "sed 's/^name = .*/name = \"slid2\"/' /lab/guests/slid.cfg >/lab/guests/slid2.cfg && xl create /lab/guests/slid2.cfg" &&
		lab_exec load start timers slid2
}

# Each boot draws another slide, of some five hundred: until the two lie apart, and not where they are linked for.
start_guests() {
	local try
	lab_exec load start timers slid || return 1
	for try in 1 2 3 4; do
		[ "$try" = 1 ] || lab_exec xl destroy slid2
		start_second || return 1
		first=$(text_of slid) second=$(text_of slid2)
		echo "slid: $first, slid2: $second"
		if lie_apart "$first" "$second" && lie_apart "$first" "$LINKED" && lie_apart "$second" "$LINKED"; then
			return 0
		fi
	done
	return 1
}

# The guest is proven to run the image at the slide that it has: told at the end of the recording.
is_at() { # NAME DOMAIN TEXT
	local slide
	slide=$(printf '%#x' $((0x${3#ffffffff} - 0x${LINKED#ffffffff})))
	was_told "$1" "xenflame: $2 runs Linux .* at slide $slide:"
}

# Frames against the guests' own words: none may be wrong, and of DOMAIN's so many per mille must be right.
judged() { # NAME PERMILLE DOMAIN=TEXT...
	local name=$1 least=$2 status=0
	shift 2
	"$TOOL" script -i "$lab_tmp/$name.data" -o "$lab_tmp/$name.script" || return 1
	"$LAB_ROOT/tests/lab/slides/judge" "$lab_tmp/kallsyms" "$lab_tmp/$name.script" "$@" >"$lab_tmp/judged" || status=1
	sed "s/^/# $LAB_PREFIX$name: /" "$lab_tmp/judged" >&3
	cat "$lab_tmp/judged"
	# NAME/DOMID: ... frames: R right, U unknown, W wrong
	awk -v least="$least" -v wanted="${1%=*}" '
		index($0, wanted ": ") == 1 { sub(/.*frames: /, ""); all = $1 + $3 + $5; exit $1 * 1000 < all * least || !all }' \
		"$lab_tmp/judged" || { echo "too few of the frames of ${1%=*} are right"; return 1; }
	return $status
}

test_two_at_once() {
	check two-guests-kernels-slide start_guests
	first=$(text_of slid) second=$(text_of slid2)
	first_id=$(domid_of slid) second_id=$(domid_of slid2)
	lab_exec cat /proc/kallsyms >"$lab_tmp/kallsyms"
	check two-guests-of-one-image-are-recorded record_some two "$SECONDS_EACH" -F 200 -g slid,slid2 \
		--guest-kernel "slid=$IMAGE" --guest-kernel "slid2=$IMAGE"
	check_of slid the-first-ones-slide-is-right is_at two slid "$first"
	check_of slid2 the-second-ones-slide-is-right is_at two slid2 "$second"
	check_of slid the-first-ones-names-are-right judged two 900 "slid/$first_id=$first" "slid2/$second_id=$second"
	check_of slid2 the-second-ones-names-are-right judged two 900 "slid2/$second_id=$second" "slid/$first_id=$first"
	for domain in slid slid2; do
		check_of "$domain" "$domain-stacks-are-whole" whole_kernel_stacks two "$domain" 950
		check_of "$domain" "$domain-sleeps-by-a-system-call" guest_comes_from two "$domain" do_nanosleep \
			'entry_SYSCALL_64_after_hwframe' 'do_syscall_64' '__x64_sys_clock_nanosleep' 'hrtimer_nanosleep' 'do_nanosleep'
		check_of "$domain" "$domain-is-followed-into-xen" is_followed_into_xen two "$domain"
	done
}

# What xl was given is GRUB, and no kernel's image.
test_not_given() {
	check an-image-for-one-of-two-is-recorded-with record_some one "$SECONDS_EACH" -F 200 -g slid,slid2 --guest-kernel "slid2=$IMAGE"
	check what-xl-was-given-is-no-image was_told one "slid's kernel will be without names: .*/lab/guests/slid"
	check_of slid the-one-without-an-image-has-no-names no_foreign_names one slid
	check_of slid2 the-one-with-an-image-has-right-names judged one 900 "slid2/$second_id=$second" "slid/$first_id=$first"
}

# What is done while it is recorded: some seconds after the agent has been loaded.
WHEN_RECORDED='until xen-livepatch list | grep -q "xenflame.*APPLIED"; do usleep 300000; done; sleep 8'

# put_script NAME TEXT: /tmp/NAME in dom0, which leaves /tmp/NAME.done.
put_script() {
	printf '%s\ntouch /tmp/%s.done\n' "$2" "$1" >"$lab_tmp/$1"
	lab_put "$lab_tmp/$1" /tmp/
}

# Meanwhile: it is to be done while something is recorded.
begin_script() { # NAME
	lab_exec sh -c "sh /tmp/$1 >/tmp/$1.log 2>&1 &"
}

end_script() { # NAME
	lab_exec sh -c "n=0; until [ -f /tmp/$1.done ]; do n=\$((n + 1)); [ \$n -lt 400 ] || exit 1; usleep 300000; done" ||
		{ lab_exec cat "/tmp/$1.log"; return 1; }
}

# Waits until the guest of that name is another domain, and gives it work.
put_reboot() {
	put_script reboot "$WHEN_RECORDED
		xl reboot slid
		until id=\$(xl domid slid 2>/dev/null) && [ \"\$id\" != $first_id ]; do usleep 200000; done
		load start timers slid"
}

test_rebooted() {
	local text id
	put_reboot
	begin_script reboot
	check a-guest-is-rebooted-while-it-is-recorded record_some rebooted 40 -F 200 -g all \
		--guest-kernel "slid=$IMAGE" --guest-kernel "slid2=$IMAGE"
	check it-is-there-again end_script reboot
	text=$(text_of slid) id=$(domid_of slid)
	check it-has-another-number-and-another-slide test "$id $text" != "$first_id $first"
	check_of slid the-slide-before-is-right is_at rebooted slid "$first"
	check_of slid names-before-and-after-are-right judged rebooted 900 "slid/$first_id=$first" "slid/$id=$text" "slid2/$second_id=$second"
	# A kernel that boots patches itself, so that places may look astray: then there are no names.
	grep -E "xenflame: (slid runs|frames of slid's)" "$lab_tmp/rebooted.err" | sed "s/^/# $LAB_PREFIX/" >&3
	first=$text first_id=$id
}

# Xen gives a number anew after 32 thousand domains; what it is asked for it gives at once.
put_successor() {
	gcc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -shared -fPIC -o "$lab_tmp/given_domid.so" \
		"$LAB_ROOT/tests/lab/slides/given_domid.c" -ldl || return 1
	lab_put "$lab_tmp/given_domid.so" /tmp/
	put_script succeed "$WHEN_RECORDED
		xl destroy slid2
		export XF_DOMID=$second_id LIBXL_DOMID_REUSE_TIMEOUT=0 LD_PRELOAD=/tmp/given_domid.so
		until xl create /lab/guests/pv.cfg; do usleep 100000; done
		unset LD_PRELOAD
		load start timers pv"
}

test_number_again() {
	check a-successor-is-made put_successor
	begin_script succeed
	check a-number-is-used-again-while-it-is-recorded record_some again 30 -F 200 -g all \
		--guest-kernel "slid=$IMAGE" --guest-kernel "slid2=$IMAGE"
	check the-successor-is-there end_script succeed
	check the-successor-has-the-number test "$(domid_of pv)" = "$second_id"
	check_of slid2 the-predecessors-slide-is-right is_at again slid2 "$second"
	check names-of-both-are-right judged again 900 "slid2/$second_id=$second" "pv/$second_id=$LINKED" "slid/$first_id=$first"
	grep -E "xenflame: (pv runs|frames of pv's)" "$lab_tmp/again.err" | sed "s/^/# $LAB_PREFIX/" >&3
}

exec 3>&1
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --guests slid
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	test_two_at_once
	test_not_given
	test_rebooted
	test_number_again
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
done
lab_done
