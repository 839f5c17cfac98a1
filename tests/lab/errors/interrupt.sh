#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In dom0: interrupt.sh SIGNAL MICROSECONDS COMMAND...: runs it, sends it the signal after that
# time, and prints "status S, ended after N ms" (after the signal; negative where it ended before).
signal=$1 wait=$2
shift 2
milliseconds() {
	awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime
}
"$@" &
pid=$!
usleep "$wait"
kill "-$signal" "$pid" 2>/dev/null
begin=$(milliseconds)
wait "$pid"
status=$?
echo "status $status, ended after $(($(milliseconds) - begin)) ms"
