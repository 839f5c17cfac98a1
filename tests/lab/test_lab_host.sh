#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The lab itself. Needs: QEMU, the packages of lab/fetch. Time limit: 15 minutes.
# shellcheck disable=SC2317 # functions that check calls
LAB_TEST=lab_host
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

says() { # says TEXT COMMAND...: its output is TEXT
	local wanted=$1 got
	shift
	got=$("$@") || return
	[ "$got" = "$wanted" ] || { echo "got '$got'"; return 1; }
}

output_apart() {
	lab_exec sh -c 'echo out; echo err >&2; exit 3' >"$lab_tmp/out" 2>"$lab_tmp/err" || [ $? = 3 ]
	[ "$(cat "$lab_tmp/out")" = out ] && [ "$(cat "$lab_tmp/err")" = err ]
}

round_trip() {
	head -c "$1" /dev/urandom >"$lab_tmp/there" &&
		lab_put "$lab_tmp/there" /tmp/file &&
		lab_get /tmp/file "$lab_tmp/back" &&
		cmp "$lab_tmp/there" "$lab_tmp/back"
}

two_at_once() {
	lab_exec sh -c 'until [ -e /tmp/second ]; do usleep 50000; done; echo first' >"$lab_tmp/first" &
	local pid=$!
	lab_exec touch /tmp/second && wait "$pid" && [ "$(cat "$lab_tmp/first")" = first ]
}

interrupted() { # SIGINT to the client reaches the command
	local pid status=0
	(
		trap - INT
		exec "$LAB" exec "$LAB_DIR" --timeout 60 -- \
			sh -c 'trap "echo got it; exit 9" INT; echo started; while :; do usleep 100000; done'
	) >"$lab_tmp/int" &
	pid=$!
	for _ in $(seq 200); do
		grep -q started "$lab_tmp/int" && break
		sleep 0.1
	done
	kill -INT "$pid"
	wait "$pid" || status=$?
	[ "$status" = 9 ] && grep -q 'got it' "$lab_tmp/int"
}

shell_is_interactive() {
	# shellcheck disable=SC2016 # expanded in dom0
	lab_type 'tty; echo "$((6 * 7)) is the answer"' >"$lab_tmp/typed"
	grep -q '^/dev/pts/' "$lab_tmp/typed" && grep -q '^42 is the answer' "$lab_tmp/typed" || {
		cat "$lab_tmp/typed"
		return 1
	}
}

# Short commands from several clients, one after the other on the same channels, on a busy host: each
# runs once, and its client hears of its end.
each_runs_once() { # CLIENTS COMMANDS
	local client pids=() failed=0 ran
	lab_exec load start pagetables
	for client in $(seq "$1"); do
		(
			for _ in $(seq "$2"); do
				lab_exec sh -c 'echo ran >>/tmp/ran.$1' ran "$client" || exit 1
			done
		) &
		pids+=($!)
	done
	for client in "${pids[@]}"; do
		wait "$client" || failed=1
	done
	lab_exec load stop pagetables
	ran=$(lab_exec sh -c 'cat /tmp/ran.* | wc -l')
	[ "$failed" = 0 ] && [ "$ran" = $(($1 * $2)) ] || {
		echo "$(($1 * $2)) commands, $ran ran"
		return 1
	}
}

workload() { # workload NAME DOMAIN: starts, runs, stops
	lab_exec load start "$1" "$2" && lab_exec sleep 1 && says "$1" lab_exec load list "$2" &&
		lab_exec load stop "$1" "$2" && says '' lab_exec load list "$2"
}

names_exist() { # each alternative set of the table has a symbol in this Xen
	local name domain regexes regex missing=0
	lab_exec sh -c 'cat /proc/xen/xensyms' | awk '{ sub(/.*#/, "", $3); print $3 }' >"$lab_tmp/syms"
	while read -r name domain regexes; do
		for regex in $regexes; do
			grep -qxE "$regex" "$lab_tmp/syms" || { echo "$name $domain: no $regex"; missing=1; }
		done
	done < <(lab_expectations)
	return "$missing"
}

# fails_fast NAME SECONDS COMMAND...: status 125 and the console's end, within the time
fails_fast() {
	local name=$1 limit=$2 begin=$SECONDS status=0
	shift 2
	"$@" >"$lab_tmp/out" 2>&1 </dev/null || status=$?
	if [ "$status" != 125 ]; then
		not_ok "$name" "status $status"
	elif [ $((SECONDS - begin)) -gt "$limit" ]; then
		not_ok "$name" "took $((SECONDS - begin)) s"
	elif ! grep -q 'last lines of' "$lab_tmp/out" || ! grep -qE 'Panic|panic|crash' "$lab_tmp/out"; then
		not_ok "$name" "the console's end is not shown"
		sed 's/^/# /' "$lab_tmp/out"
	else
		ok "$name"
	fi
}

xen_panics() {
	"$LAB" exec "$LAB_DIR" --timeout 60 -- sleep 50 &
	sleep 1
	"$LAB" nmi "$LAB_DIR"
	wait $!
}


for xen in $LAB_XENS; do
	LAB_PREFIX="$xen: "
	lab_boot --xen "$xen" --guests pvh,pv
	ok "boots with both guests"
	check "runs the Xen asked for" says "$xen" lab_exec sh -c \
		'xl info | sed -n "s/^xen_version *: \([0-9]*\.[0-9]*\).*/\1/p"'
	check "has its image in /boot" lab_exec test -f "/boot/xen-$xen-amd64.gz"
	check_status "exit status of a command" 7 lab_exec sh -c 'exit 7'
	check_status "unknown command" 127 lab_exec no-such-command
	check_status "time-out of a command" 124 "$LAB" exec "$LAB_DIR" --timeout 2 -- sleep 60
	check "stdout and stderr apart" output_apart
	check "two commands at once" two_at_once
	check "SIGINT goes through" interrupted
	check "a shell on a terminal" shell_is_interactive
	check "each command runs once on a busy host" each_runs_once 3 60
	check "put and get of nothing" round_trip 0
	check "put and get of 3 MB" round_trip 3000001
	check "both guests are up" lab_exec sh -c 'xl domid pvh && xl domid pv'
	check "the known answers' names exist" names_exist
	while read -r name domain _; do
		check "workload $name in $domain" workload "$name" "$domain"
	done < <(lab_expectations)
	check "the host is well" lab_exec judge --health
	check "verdict pass" "$LAB" finish "$LAB_DIR" 0
	lab_stop
done

LAB_PREFIX=
check_status "run: a failing command fails" 1 \
	"$LAB" run --dir "$lab_tmp/run" -- sh -c 'exit 4'
check "run: its verdict says so" grep -q '^fail 4' "$lab_tmp/run/verdict"

lab_boot
fails_fast "a panic of dom0's kernel" 15 lab_exec sh -c 'echo c >/proc/sysrq-trigger; sleep 60'
lab_boot --xen-args nmi=fatal
fails_fast "a panic of Xen" 15 xen_panics
check_status "a host that cannot boot fails" 1 \
	"$LAB" boot --dir "$lab_tmp/bad" --linux-args rdinit=/none
lab_done
