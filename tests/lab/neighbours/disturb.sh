#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# In dom0: what an operator and other tools do to Xen, at random moments, until /tmp/disturb.stop is
# there; then everything is put back. Usage: disturb.sh SEED; OTHER is /tmp/other.livepatch, guests are
# pv (may be destroyed) and pvh. Prints one line a deed: SECONDS DEED STATUS, and what was said last where
# it failed.
set -u
seed=$1
other="other-patch"

say() { # DEED STATUS
	read -r now _ </proc/uptime
	echo "$now $1 $2$([ "$2" = 0 ] || sed -n '$s/^/ /p' /tmp/disturb.last)"
}

quietly() {
	"$@" >/tmp/disturb.last 2>&1
}

# Xen's loader is busy at times.
loader() { # WORD...
	n=0
	until quietly xen-livepatch "$@"; do
		grep -q busy /tmp/disturb.last || return 1
		n=$((n + 1))
		[ $n -lt 20 ] || return 1
		usleep 100000
	done
}

# While the agent is above it, Xen lets nobody take it out: the next deed, or the end, tries again.
taken_out() {
	loader revert $other
	loader unload $other
}

patched() { # HOW: it is put above whatever is there, or in place of all that is there
	! xen-livepatch list | grep -q "$other" || taken_out
	loader upload $other /tmp/other.livepatch || return
	case $1 in
	above) loader apply $other --nodeps ;;
	replace) loader replace $other ;;
	esac
	status=$?
	usleep "$pause"
	taken_out && return $status
}

pcpu_off_and_on() { # PCPU
	quietly xen-hptool cpu-offline "$1" || return
	usleep "$pause"
	n=0
	until quietly xen-hptool cpu-online "$1"; do
		n=$((n + 1))
		[ $n -lt 20 ] || return 1
		usleep 100000
	done
}

paused() {
	quietly xl pause "$1" || return
	usleep "$pause"
	quietly xl unpause "$1"
}

created_anew() {
	quietly xl destroy pv
	usleep "$pause"
	quietly xl create /lab/guests/pv.cfg
}

saved_and_restored() {
	quietly timeout 60 xl save pv /tmp/pv.save || return
	usleep "$pause"
	quietly timeout 60 xl restore /tmp/pv.save
	status=$?
	rm -f /tmp/pv.save
	return $status
}

deed() {
	case $1 in
	0) patched above ;;
	1) patched replace ;;
	2) pcpu_off_and_on $((1 + $2 % 2)) ;;
	3) paused pvh ;;
	4) paused pv ;;
	5) created_anew ;;
	6) saved_and_restored ;;
	7) quietly xl vcpu-set Domain-0 $((1 + $2 % 3)) ;;
	8) quietly xl vcpu-pin Domain-0 all all && quietly xl sched-credit2 -d pv -w $((1 + $2 % 500)) ;;
	9) quietly xl debug-keys "$(echo "q r t n" | cut -d ' ' -f $((1 + $2 % 4)))" ;;
	esac
}

names="live-patch-above live-patch-replaces pcpu-off-and-on pvh-paused pv-paused pv-anew pv-saved dom0-vcpus weights debug-keys"
awk -v seed="$seed" 'BEGIN { srand(seed); while (1) print int(rand() * 10), int(rand() * 1000), int(rand() * 700000) }' |
	while read -r which argument pause; do
		[ ! -e /tmp/disturb.stop ] || break
		usleep "$pause"
		deed "$which" "$argument"
		say "$(echo "$names" | cut -d ' ' -f $((which + 1)))" $?
	done
! xen-livepatch list | grep -q "$other" || taken_out
quietly xl vcpu-set Domain-0 3
quietly xl domid pv || quietly xl create /lab/guests/pv.cfg
say end 0
