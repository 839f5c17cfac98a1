#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings one after the other while live patches of others come and go, pCPUs go offline and back, and
# domains are paused, saved, destroyed and made: at random moments, by a seeded driver. Each recording
# ends as documented and its books add up; the host stays well. Time limit: 20 minutes a Xen.
#
# XENFLAME_LAB_SECONDS   how long, for each Xen (120)
# XENFLAME_LAB_SEED      of the driver (printed)
# shellcheck disable=SC2317 # functions that check calls
LAB_TEST=lab_neighbours
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

HERE=$LAB_ROOT/tests/lab
LONG=${XENFLAME_LAB_SECONDS:-120}
seed=${XENFLAME_LAB_SEED:-$RANDOM$RANDOM}

start_host() {
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" --cpus 3 --memory 2816 --guests pvh,pv
	lab_put "$TOOL" /usr/local/bin/
	put_other_patch
	lab_put "$HERE/neighbours/disturb.sh" /lab/bin/
	lab_exec chmod +x /lab/bin/disturb.sh
}

# The statuses that docs/errors.md has for what the driver does: done; only one pCPU; another live patch is
# in the way, or Xen's loader is busy; replaced in the middle.
is_documented() {
	case $1 in
	0 | 5 | 6 | 9) return 0 ;;
	esac
	return 1
}

recordings() {
	local end=$((SECONDS + LONG)) n=0 bad=0 status frequency
	while [ $SECONDS -lt $end ]; do
		n=$((n + 1))
		frequency=$((100 + RANDOM % 3000))
		status=0
		lab_exec xenflame record -v -F $frequency -t "$((1 + RANDOM % 4))" -o /tmp/record.data \
			>"$lab_tmp/n.err" 2>&1 || status=$?
		statuses[status]=$((${statuses[status]-0} + 1))
		if ! is_documented $status; then
			echo "recording $n at $frequency Hz ended with status $status:"
			tail -n 5 "$lab_tmp/n.err"
			bad=$((bad + 1))
		elif [ $status = 0 ] && ! grep -q 'not closed' "$lab_tmp/n.err" && ! books_add_up n; then
			echo "recording $n at $frequency Hz: its books do not add up:"
			grep 'pCPU\|samples' "$lab_tmp/n.err"
			bad=$((bad + 1))
		fi
	done
	[ $n -gt 3 ] && [ "${statuses[0]-0}" -gt 1 ] || { echo "$n recordings, ${statuses[0]-0} good ones"; return 1; }
	[ $bad = 0 ]
}

all_is_over() {
	lab_exec touch /tmp/disturb.stop
	wait "$driver" || true
	tail -n 1 "$lab_tmp/deeds" | grep -q ' end 0' || { tail -n 5 "$lab_tmp/deeds"; return 1; }
	lab_exec xenflame detach || [ $? = 0 ]
}

deeds_were_done() {
	awk '{ all[$2]++; if ($3 == 0) done_[$2]++ }
		END { for (d in all) { printf "# %s: %d of %d\n", d, done_[d], all[d]; if (d ~ /live-patch|pcpu/) n += done_[d] }
		      exit n < 1 }' "$lab_tmp/deeds" | sort >"$lab_tmp/done"
	local status=${PIPESTATUS[0]}
	cat "$lab_tmp/done" >&3
	return "$status"
}

# A pCPU that has been offline has no trace buffer any more.
those_add_up_that_closed() {
	if grep -q ' pcpu-off-and-on 0$' "$lab_tmp/deeds"; then
		grep 'did not close their books.*offline and back' "$lab_tmp/last.err" || {
			tail -n 12 "$lab_tmp/last.err"
			return 1
		}
	else
		books_add_up last
	fi
}

exec 3>&1
RANDOM=$((seed % 32768))
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	echo "# seed $seed (XENFLAME_LAB_SEED), $LONG s"
	start_host
	each_load start evtchn exits@pvh
	statuses=()
	line=$(($(console_lines) + 1))
	LAB_TIMEOUT=$((LONG + 600)) lab_exec disturb.sh "$seed" >"$lab_tmp/deeds" 2>&1 </dev/null &
	driver=$!
	check every-recording-ends-as-documented recordings
	for status in "${!statuses[@]}"; do
		echo "# ${statuses[$status]} recordings with status $status"
	done
	check the-driver-puts-everything-back all_is_over
	check the-driver-has-done-something deeds_were_done
	check nothing-is-left nothing_left
	check the-console-is-calm console_is_calm "$line"
	check the-host-is-well lab_exec judge --health
	check at-last-a-recording-works record last 2
	check its-books-add-up-or-it-says-why those_add_up_that_closed
done
lab_done
