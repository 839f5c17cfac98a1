#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In dom0: bursts.sh RUN PAUSE &: lets dom0's loads run for RUN microseconds, pauses them for PAUSE, and so
# on; until /run/bursts.stop is there. So two hosts fit on one machine, and each sees both, idle and busy.
signal_loads() {
	for file in /run/load/*.pid; do
		[ -f "$file" ] && kill "-$1" "-$(cat "$file")" 2>/dev/null
	done
}
rm -f /run/bursts.stop
while [ ! -f /run/bursts.stop ]; do
	signal_loads CONT
	usleep "$1"
	signal_loads STOP
	usleep "$2"
done
signal_loads CONT
rm -f /run/bursts.stop
