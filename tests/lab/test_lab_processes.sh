#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whose samples are dom0's, for each Xen: of processes that live some milliseconds, with numbers that are used
# again at once, that become other programs, have threads, or whose program has been deleted. Each is
# attributed rightly or not at all: where the process was says which it is (processes/actor.c).
# Time limit: 12 minutes.
LAB_TEST=lab_processes
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"
# shellcheck source=tests/lab/guests.sh
. "$(dirname "$0")/guests.sh"

SECONDS_EACH=${XENFLAME_LAB_SECONDS:-8}
PROCESSES=$LAB_ROOT/tests/lab/processes
ACTORS=/tmp/actors # in dom0

make_actor() {
	gcc -std=gnu17 -O2 -Wall -Wextra -Werror -fomit-frame-pointer -static -pthread \
		-Wl,-Ttext-segment=0x50000000 -o "$lab_tmp/actor" "$PROCESSES/actor.c" || return 1
	nm -S "$lab_tmp/actor" >"$lab_tmp/actor.symbols"
}

put_actors() {
	lab_put "$lab_tmp/actor" /tmp/
	lab_exec sh -c "mkdir -p $ACTORS && cd $ACTORS && for i in 0 1; do for j in 0 1 2 3 4 5 6 7 8 9; do
		[ \$i\$j -ge 16 ] || cp /tmp/actor actor\$i\$j; done; done; cp /tmp/actor spawner"
}

# record_acting NAME COMMAND: recorded while dom0 does that, at less priority: who records must get a turn.
record_acting() {
	local name=$1 status=0
	lab_exec sh -c "renice -n 10 \$\$ >/dev/null; $2" >"$lab_tmp/$name.said" 2>&1 &
	record_some "$name" "$SECONDS_EACH" -F 500 || status=1
	wait $!
	sed "s/^/# $LAB_PREFIX$name: /" "$lab_tmp/$name.said" >&3
	return $status
}

# A recording begins some seconds after it is asked for.
LAST=$((SECONDS_EACH + 8))

none_is_wrong() { # NAME
	local status=0
	"$TOOL" script -i "$lab_tmp/$1.data" -o "$lab_tmp/$1.script" || return 1
	"$PROCESSES/judge" "$lab_tmp/actor.symbols" "$lab_tmp/$1.script" >"$lab_tmp/judged" || status=1
	sed "s/^/# $LAB_PREFIX$1: /" "$lab_tmp/judged" >&3
	cat "$lab_tmp/judged"
	return $status
}

used_again() { # NAME
	awk '/ of one number/ { print; all = $1; again = $3 } END { exit !again || again * 2 < all }' "$lab_tmp/$1.said"
}

each_is_right_or_unknown() { # NAME COMMAND
	check "$1-is-recorded" record_acting "$1" "$2"
	check "$1-is-right-or-unknown" none_is_wrong "$1"
}

exec 3>&1
make_actor || fail "processes/actor.c does not compile"
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen"
	lab_put "$TOOL" /usr/local/bin/
	line=$(($(console_lines) + 1))
	check the-actors-are-there put_actors
	each_is_right_or_unknown of-three-milliseconds "exec $ACTORS/spawner 3 $LAST"
	# As the number of each is the last one's, it is used again as soon as it can be.
	each_is_right_or_unknown with-one-number-for-all "exec $ACTORS/spawner 3 $LAST 20000"
	check one-number-is-all-processes used_again with-one-number-for-all
	each_is_right_or_unknown becoming-another "timeout $LAST $ACTORS/actor00 exec 20 100000 &
		timeout $LAST $ACTORS/actor08 exec 3 100000 & wait"
	each_is_right_or_unknown becoming-another-by-a-thread "timeout $LAST $ACTORS/actor00 thread-exec 20 100000"
	each_is_right_or_unknown in-threads "for i in 01 02 03; do $ACTORS/actor\$i threads $((LAST * 1000)) & done; wait"
	each_is_right_or_unknown of-deleted-programs "for i in 04 05 06; do $ACTORS/actor\$i run $((LAST * 1000)) & done
		sleep 1; rm $ACTORS/actor0[456]; wait"
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
done
lab_done
