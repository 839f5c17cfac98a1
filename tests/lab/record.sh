# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # lab_tmp is of lib.sh
# What the tests of recordings share: record in dom0, look at the recording on this machine, look at
# Xen's memory from outside. Sourced after lib.sh.

TOOL=$LAB_ROOT/build/xenflame

# record NAME SECONDS [OPTION...]: a recording of the host under test, as $lab_tmp/NAME.data; what
# the tool said is in $lab_tmp/NAME.err.
record() {
	local name=$1 seconds=$2
	shift 2
	lab_exec xenflame record -v -t "$seconds" -o /tmp/record.data "$@" >"$lab_tmp/$name.err" 2>&1 || {
		tail -n 20 "$lab_tmp/$name.err"
		return 1
	}
	lab_get /tmp/record.data "$lab_tmp/$name.data"
	"$TOOL" folded -i "$lab_tmp/$name.data" -o "$lab_tmp/$name.folded"
}

# Every pCPU closed its books, and they add up; the file holds what was delivered.
books_add_up() { # NAME
	local line
	grep -q 'pCPU 0: produced' "$lab_tmp/$1.err" || { echo "no books"; return 1; }
	if grep 'not closed' "$lab_tmp/$1.err"; then
		return 1
	fi
	while read -r line; do
		# produced P, delivered D, lost A for want of a slot, B NMIs, C in the trace buffer
		echo "$line" | sed 's/[^0-9 ]/ /g' | awk '
			{ if ($2 != $3 + $4 + $5 + $6) { print "produced " $2 ", but " $3 " + " $4 " + " $5 " + " $6; exit 1 } }' ||
			return 1
	done < <(grep 'xenflame: pCPU [0-9]' "$lab_tmp/$1.err" | sed 's/xenflame: //; s/;.*//')
	awk '/^xenflame: pCPU [0-9]/ { gsub(/[^0-9 ]/, " "); delivered += $3; idle += $7 }
	     / samples \(/ { gsub(/[^0-9 .]/, " "); for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) n[++k] = $i
	     	if (n[1] != delivered + idle) { print "file has " n[1] ", delivered and idle " delivered + idle; exit 1 } }' \
		<(sed 's|^.*record.data: ||' "$lab_tmp/$1.err")
}

# The share of samples in stacks that match the pattern, in per mille of all.
share_of() { # NAME REGEX
	awk -v regex="$2" '{ n = $NF; all += n; if ($0 ~ regex) hit += n }
		END { if (!all) exit 1; printf "%d\n", hit * 1000 / all }' "$lab_tmp/$1.folded"
}

between() { # LOW VALUE HIGH
	[ "$2" -ge "$1" ] && [ "$2" -le "$3" ] || { echo "$2 is not between $1 and $3"; return 1; }
}

share_between() { # NAME REGEX LOW HIGH
	between "$3" "$(share_of "$1" "$2")" "$4"
}

# At least PERMILLE of the samples taken in Xen have a complete stack, by what record says at its end.
complete_at_least() { # NAME PERMILLE
	local permille
	permille=$(sed -nE "s/.*, ([0-9]+)\.([0-9]) % of Xen's stacks complete.*/\1\2/p" "$lab_tmp/$1.err")
	echo "$permille per mille complete"
	[ "${permille:-0}" -ge "$2" ]
}

# Some stack has a frame that matches the expression. Xen names its statics "file.c#name".
has_frame() { # NAME REGEX
	grep -qE "(;|^)([^;]*#)?($2)(;| [0-9]+$)" "$lab_tmp/$1.folded" || {
		echo "no frame $2; the hottest stacks:"
		awk '{ print $NF, $0 }' "$lab_tmp/$1.folded" | sort -rn | cut -c1-200 | head -8
		return 1
	}
}

# Stacks with the inner frame have the outer one below it, in at least 90 % of samples.
called_from() { # NAME INNER OUTER
	awk -v inner="$2" -v outer="$3" '
		{ n = $NF; sub(/ [0-9]+$/, ""); count = split($0, frame, ";"); below = 0
		  for (i = 1; i <= count; i++) {
			sub(/.*#/, "", frame[i])
			if (frame[i] ~ "^(" outer ")$") below = 1
			if (frame[i] ~ "^(" inner ")$") { all += n; if (below) good += n; break } } }
		END { if (!all) { print "no frame " inner; exit 1 }
		      if (good < all * 0.9) { print good + 0 " of " all " samples in " inner " have " outer " below"; exit 1 } }' \
		"$lab_tmp/$1.folded"
}

# A 64-bit word of Xen's memory, read from outside the host. The emulator translates the address as its
# first CPU does at that moment, and an HVM guest's page tables know nothing of Xen: try until it can.
xen_word() { # ADDRESS
	local word='' attempt
	for attempt in $(seq 100); do
		word=$("$LAB" qmp "$LAB_DIR" "{\"execute\":\"human-monitor-command\",\"arguments\":{\"command-line\":\"x /1gx 0x$1\"}}" |
			grep -oE ': 0x[0-9a-f]{16}' | sed 's/: 0x//') || true
		[ -z "$word" ] || break
		[ "$attempt" -lt 100 ] || return 1
	done
	echo "$word"
}

xen_symbol() { # NAME: its address, of the running Xen
	[ -s "$lab_tmp/symbols" ] || lab_exec cat /proc/xen/xensyms >"$lab_tmp/symbols"
	awk -v name="$1" '$3 == name { print $1; exit }' "$lab_tmp/symbols"
}

# What Xen's console says to a debug key: up to the line that matches, and what follows at once.
debug_key() { # KEY REGEX
	local line
	line=$(($(console_lines) + 1))
	lab_exec xl debug-keys "$1"
	for _ in $(seq 100); do
		! tail -n "+$line" "$LAB_DIR/console.log" | grep -qE "$2" || break
		sleep 0.1
	done
	sleep 0.5
	tail -n "+$line" "$LAB_DIR/console.log" | tr -d '\r'
}

# The address of the first of Xen's symbols that it has; the same at each boot of an image.
address_of() { # NAME...
	local name address=''
	for name; do
		address=$(xen_symbol "$name")
		[ -z "$address" ] || break
	done
	[ -n "$address" ] || fail "Xen $xen has none of the symbols $*"
	echo "$address"
}

# Who takes Xen's NMIs: all zeros while nobody does.
nmi_callback() {
	xen_word "$(xen_symbol 'arch/x86/traps.c#nmi_callback')"
}

softirq_is_xens() {
	local handlers timers i
	handlers=$(xen_symbol 'common/softirq.c#softirq_handlers')
	timers=$(xen_symbol 'common/timer.c#timer_softirq_action')
	for i in $(seq 0 12); do
		[ "$(xen_word "$(printf '%x' $((0x$handlers + i * 8)))")" != "$timers" ] || return 0
	done
	echo "timer_softirq_action is not in Xen's table"
	return 1
}

# Somebody else's live patch, made for the running Xen: /tmp/other.livepatch in dom0.
put_other_patch() {
	local bytes
	bytes=$(lab_exec xl info | sed -n 's/^build_id *: *//p' | sed 's/../0x&,/g; s/,$//')
	gcc -c -DXEN_BUILD_ID="$bytes" -o "$lab_tmp/other.livepatch" "$LAB_ROOT/tests/lab/errors/other_patch.S"
	lab_put "$lab_tmp/other.livepatch" /tmp/
}

# Nothing of the agent is left in Xen: read from outside, and from Xen's own lists.
nothing_left() {
	local nmi
	nmi=$(nmi_callback)
	[ "$nmi" = 0000000000000000 ] || { echo "Xen's NMI callback is still $nmi"; return 1; }
	softirq_is_xens || return 1
	if lab_exec xen-livepatch list | grep -i xenflame; then
		return 1
	fi
	debug_key a 'CPU01:' >"$lab_tmp/timers"
	if grep -E 'timer=.*cb=(xf_|ffff82d0)' "$lab_tmp/timers"; then
		return 1
	fi
}

# What Xen and dom0 said since line $1 of the console holds no warning.
console_is_calm() { # LINE
	if tail -n "+$1" "$LAB_DIR/console.log" |
		grep -nE 'WARN|BUG|Uhhuh|NMI received|Xen call trace|unknown reason|[Pp]anic|Oops'; then
		return 1
	fi
}

# each_load start|stop LOAD[@DOMAIN]...
each_load() {
	local action=$1 load domain
	shift
	for load; do
		domain=dom0
		[ "${load%@*}" = "$load" ] || domain=${load#*@}
		lab_exec load "$action" "${load%@*}" "$domain" || return 1
	done
}

# record_loaded NAME SECONDS LOAD[@DOMAIN]...: starts the load, records, stops the load.
record_loaded() {
	local name=$1 seconds=$2 status=0
	shift 2
	each_load start "$@" && record "$name" "$seconds" || status=1
	each_load stop "$@" || status=1
	return $status
}

console_lines() {
	wc -l <"$LAB_DIR/console.log"
}
