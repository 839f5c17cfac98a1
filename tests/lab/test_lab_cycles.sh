#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings by the hundred under load: no memory of Xen's is lost, Xen says nothing, the last ones take no
# longer than the first (printed, for people to read). Then killed ones: kill -9 at random moments, every
# second of a recording that lasts, every other of one so short that each of its steps, from before the
# upload to after the unloading, is hit; each time the agent falls quiet and the next recording works.
# Nine of ten are without guests' stacks, since the tool then reads no kernel before. Time limit: 20
# minutes with the defaults, hours with 1000 and 200.
#
# XENFLAME_LAB_CYCLES    how many recordings, for each Xen (60)
# XENFLAME_LAB_KILLS     how many killed ones (15)
# XENFLAME_LAB_SEED      of the moments (printed)
# XENFLAME_LAB_BURSTS    "RUN PAUSE" in microseconds: the loads run and pause (they run always)
# shellcheck disable=SC2317 # functions that check calls
# shellcheck disable=SC2016 # shell for dom0
LAB_TEST=lab_cycles
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

CYCLES=${XENFLAME_LAB_CYCLES:-60}
KILLS=${XENFLAME_LAB_KILLS:-15}
seed=${XENFLAME_LAB_SEED:-$RANDOM}
bursts=${XENFLAME_LAB_BURSTS-}

# Memory that is free in Xen, in KiB, by its own word.
free_memory() {
	debug_key m 'Dom heap:' | sed -n 's/.*Dom heap: \([0-9]*\)kB free.*/\1/p'
}

# In dom0, so that only the recordings take time: "STATUS MILLISECONDS" a line.
cycles() { # COUNT
	LAB_TIMEOUT=$(($1 * 20 + 60)) lab_exec sh -c '
		ms() { awk "{ printf \"%d\", \$1 * 1000 }" /proc/uptime; }
		for i in $(seq '"$1"'); do
			stacks=none
			[ $((i % 10)) != 0 ] || stacks=0
			begin=$(ms)
			xenflame record -F 997 -t 0.2 -g "$stacks" -o /tmp/cycle.data >/tmp/cycle.err 2>&1
			status=$?
			echo "$status $(($(ms) - begin))"
			[ $status = 0 ] || { cat /tmp/cycle.err; break; }
			rm -f /tmp/cycle.data*
		done' >"$lab_tmp/cycles"
}

every_cycle_works() {
	cycles "$CYCLES" || return 1
	awk -v wanted="$CYCLES" '$1 == 0 { n++ } $1 != 0 { print } END { print n " of " wanted " worked"; exit n != wanted }' "$lab_tmp/cycles"
}

print_durations() {
	awk '{ ms[NR] = $2 }
		END { tenth = int(NR / 10); if (!tenth) tenth = 1
		      for (i = 1; i <= tenth; i++) { first += ms[i]; last += ms[NR - i + 1] }
		      printf "# a cycle took %d ms in the first tenth, %d ms in the last\n", first / tenth, last / tenth }' "$lab_tmp/cycles"
}

# A few pages come and go with what dom0 does.
nothing_is_lost() { # KIB BEFORE
	local now
	now=$(free_memory)
	echo "# free memory of Xen: $1 KiB, now $now KiB" >&3
	[ "$1" -gt 0 ] && [ "$now" -ge $(($1 - 32)) ]
}

falls_quiet() {
	local callback
	for _ in $(seq 200); do
		callback=$(nmi_callback) || return 1
		[ "$callback" != 0000000000000000 ] || return 0
		sleep 0.1
	done
	echo "Xen's NMI callback is still $callback"
	return 1
}

every_killed_one_falls_quiet() {
	local n moment options
	for n in $(seq "$KILLS"); do
		moment=$((RANDOM * 100)) # up to 3.3 s
		options="-t 5"
		[ $((n % 2)) = 0 ] || options="-t 0.3 -g none"
		# shellcheck disable=SC2086 # words, on purpose
		lab_exec interrupt.sh KILL "$moment" xenflame record -F 500 $options -o /tmp/killed.data >"$lab_tmp/killed" 2>&1
		falls_quiet || { echo "kill $n after $moment us"; cat "$lab_tmp/killed"; return 1; }
		lab_exec xenflame record -F 500 -t 0.3 -g none -o /tmp/next.data >"$lab_tmp/next" 2>&1 || {
			echo "the recording after kill $n, after $moment us:"
			cat "$lab_tmp/next"
			return 1
		}
	done
}

exec 3>&1
RANDOM=$seed
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	echo "# $CYCLES cycles, $KILLS kills, seed $seed (XENFLAME_LAB_SEED)"
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen"
	lab_put "$TOOL" /usr/local/bin/
	lab_put "$LAB_ROOT/tests/lab/errors/interrupt.sh" "$LAB_ROOT/tests/lab/bursts.sh" /lab/bin/
	lab_exec chmod +x /lab/bin/interrupt.sh /lab/bin/bursts.sh
	each_load start hypercall evtchn timers
	[ -z "$bursts" ] || lab_exec sh -c "setsid bursts.sh $bursts </dev/null >/dev/null 2>&1 &"
	cycles 2 # the first allocates the trace buffers
	memory=$(free_memory)
	line=$(($(console_lines) + 1))
	check every-cycle-works every_cycle_works
	print_durations
	check no-memory-of-xens-is-lost nothing_is_lost "$memory"
	check every-killed-recorder-leaves-a-quiet-host-and-the-next-one-works every_killed_one_falls_quiet
	check no-memory-is-lost-by-killing nothing_is_lost "$memory"
	[ -z "$bursts" ] || lab_exec sh -c ': >/run/bursts.stop; while [ -f /run/bursts.stop ]; do sleep 1; done'
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
	check the-host-is-well lab_exec judge --health
done
lab_done
