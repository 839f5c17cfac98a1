#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What goes wrong, and what is left then: exit statuses, messages, signals, other users of Xen's
# trace buffers and live patches; after each case the host is as before. Time limit: 30 minutes.
#
# XENFLAME_LAB_ERRORS    the groups of cases, of those at the end of this file (all)
# XENFLAME_LAB_SEED      of the moments of signals (printed)
# shellcheck disable=SC2317,SC2119,SC2120 # functions that check calls, some with options
# shellcheck disable=SC2016 # shell for dom0
LAB_TEST=lab_errors
XENFLAME_LAB_XEN=${XENFLAME_LAB_XEN:-4.17}
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

ERRORS=$LAB_ROOT/tests/lab/errors
AGENT=xenflame-agent
LAB_TIMEOUT=240
file=$lab_tmp/recording # the last one brought out of dom0

compile() {
	local flags=(-std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror)
	local program
	for program in as_nobody default_signals; do
		gcc "${flags[@]}" -static -o "$lab_tmp/$program" "$ERRORS/$program.c" || return
	done
	gcc "${flags[@]}" -shared -fPIC -o "$lab_tmp/fail.so" "$ERRORS/fail_hypercall.c" -ldl
}

# A host with the tool, and `xf`: the tool with its hypercalls noted in /tmp/calls, see
# errors/fail_hypercall.c.
start_host() { # OPTION of lab_boot...
	rm -f "$lab_tmp/symbols"
	lab_boot --xen "$xen" "$@"
	cat >"$lab_tmp/xf" <<-'END'
		#!/bin/sh
		export LD_PRELOAD=/lab/bin/fail.so XF_CALLS=/tmp/calls
		exec default_signals xenflame "$@"
	END
	chmod +x "$lab_tmp/xf"
	lab_put "$TOOL" /usr/local/bin/
	lab_put "$lab_tmp"/{fail.so,as_nobody,default_signals,xf} "$ERRORS/interrupt.sh" /lab/bin/
	lab_exec chmod +x /lab/bin/interrupt.sh
}

# ---- the host's state, from its own lists and from outside

xen_int() { # SYMBOL: 32 bits of Xen's memory
	local word
	word=$(xen_word "$(xen_symbol "$1")")
	echo "${word:8}"
}

tracing_is_on() {
	local word
	word=$(xen_int tb_init_done) # an int in 4.17, a bool in 4.20
	[ "${word:6}" = 01 ]
}

payloads() {
	lab_exec xen-livepatch list | awk -F '|' 'NR > 2 { gsub(/ /, ""); print $1 "|" $2 }'
}

# What has to be as before: the lowest 12 bits of the mask move while a recording runs.
state() {
	echo "live patches: $(payloads | tr '\n' ' ')"
	echo "NMI callback: $(nmi_callback)"
	echo "tracing: $(! tracing_is_on || echo on) $(xen_int 'common/trace.c#tb_event_mask' | cut -c 1-5)"
}

changes() { # BEFORE AFTER: of the state, on one line; nothing where there are none
	[ "$1" = "$2" ] || diff <(echo "$1") <(echo "$2") | grep '^[<>]' | tr '\n' ';' || true
}

uploaded() {
	lab_exec cat /tmp/calls 2>/dev/null | grep -q '^livepatch:0 ' ||
		tail -n "+$1" "$LAB_DIR/console.log" | grep -q "livepatch: $AGENT"
}

# run COMMAND...: its output in $lab_tmp/out, its status in $status
run() {
	status=0
	"$@" >"$lab_tmp/out" 2>&1 </dev/null || status=$?
}

# verdict NAME WHY: passes when WHY is empty
verdict() {
	if [ -z "$2" ]; then
		ok "$1"
		return 0
	fi
	not_ok "$1" "$2"
	tail -n 30 "$lab_tmp/out" | sed 's/^/# /'
}

# expect [-u] NAME STATUS REGEX COMMAND...: ends so and says so, and the host is as before. -u:
# nothing has been uploaded.
expect() {
	local nothing='' name wanted regex line before after why=''
	[ "$1" != -u ] || { nothing=1; shift; }
	name=$1 wanted=$2 regex=$3
	shift 3
	line=$(($(console_lines) + 1))
	before=$(state)
	lab_exec rm -f /tmp/calls
	run "$@"
	after=$(state)
	[ "$status" = "$wanted" ] || why="status $status, not $wanted; "
	grep -qE -- "$regex" "$lab_tmp/out" || why+="does not say '$regex'; "
	why+=$(changes "$before" "$after")
	if [ -n "$nothing" ] && uploaded "$line"; then
		why+="something was uploaded; "
	fi
	console_is_calm "$line" >"$lab_tmp/calm" || why+="console: $(head -n 1 "$lab_tmp/calm")"
	verdict "$name" "$why"
}

# The recording in dom0 is whole: brought out, it is read to its end mark.
is_whole() { # [FILE]
	lab_get "${1:-/tmp/x.data}" "$file" || return
	"$TOOL" report -i "$file" >"$lab_tmp/report" 2>&1 || { cat "$lab_tmp/report"; return 1; }
	if grep 'cut off' "$lab_tmp/report"; then
		return 1
	fi
}

# What was written can be read, and there are samples in it.
is_readable() { # FILE
	lab_get "$1" "$file" && "$TOOL" report -i "$file" >/dev/null &&
		"$TOOL" folded -i "$file" -o "$file.folded" && grep -qE ' [0-9]+$' "$file.folded"
}

in_dom0() { # a line of shell
	lab_exec sh -c "$1"
}

# in_private LINE: shell with mounts of its own, gone afterwards
in_private() {
	lab_exec unshare -m sh -c "$1"
}

# ---- groups of cases

test_here() {
	local user=(setpriv --reuid 65534 --regid 65534 --clear-groups) command
	cp "$TOOL" "$lab_tmp/tool"
	chmod 755 "$lab_tmp" "$lab_tmp/tool"
	if [ -e /proc/xen ] || [ -e /sys/hypervisor/type ]; then
		skip not-under-xen-is-status-4 "this machine runs under Xen"
	elif [ "$(id -u)" != 0 ]; then
		skip not-under-xen-is-status-4 "only root gets that far"
		user=()
	else
		for command in check record detach; do
			run "$lab_tmp/tool" "$command"
			verdict "not-under-xen-$command-is-status-4" "$([ "$status" = 4 ] || echo "status $status")$(
				grep -q 'not running under Xen' "$lab_tmp/out" || echo " another text")"
		done
	fi
	for command in check record detach; do
		run "${user[@]}" "$lab_tmp/tool" "$command"
		verdict "not-root-$command-is-status-3" "$([ "$status" = 3 ] || echo "status $status")$(
			grep -q 'needs root' "$lab_tmp/out" || echo " another text")"
	done
	for command in '-t 0' '-t x' '-t -1' '-F 0' '-F 100000' '-F x' '--no-such-option' '-o'; do
		# shellcheck disable=SC2086 # words, on purpose
		run "$TOOL" record $command
		verdict "record-${command// /-}-is-status-2" "$([ "$status" = 2 ] || echo "status $status")$(
			[ -s "$lab_tmp/out" ] || echo " no text")"
	done
}

test_access() {
	expect -u not-root-check-is-status-3 3 'needs root' lab_exec as_nobody xf check
	expect -u not-root-record-is-status-3 3 'needs root' lab_exec as_nobody xf record -t 1
	expect -u no-privcmd-is-status-4 4 'no /dev/xen/privcmd.*xen-privcmd' \
		in_private 'umount /proc/xen; mount -t tmpfs none /dev/xen; xf record -t 1 -o /tmp/x.data'
	expect -u no-evtchn-is-status-4 4 '/dev/xen/evtchn.*xen-evtchn' in_private \
		'cp -a /dev/xen/privcmd /run/; mount -t tmpfs none /dev/xen; cp -a /run/privcmd /dev/xen/
		xf record -t 1 -o /tmp/x.data'
	expect -u no-live-patching-is-status-5 5 'CONFIG_LIVEPATCH' \
		lab_exec env XF_FAIL=sysctl:27=ENOSYS xf record -t 1
	expect -u no-trace-buffers-is-status-5 5 'trace buffers.*built without' \
		lab_exec env XF_FAIL=sysctl:2=ENOSYS xf record -t 1
	expect -u not-the-control-domain-is-status-4 4 'not the control domain' \
		lab_exec env XF_FAIL=sysctl:3=EPERM xf record -t 1
	expect -u hidden-symbols-is-status-5 5 'does not give its symbols' \
		lab_exec env XF_FAIL=platform:63=EPERM xf record -t 1
}

test_image() {
	local image offset build_id
	build_id=$(lab_exec xl info | sed -n 's/^build_id *: *//p')
	image=$(lab_exec ls /boot | grep '^xen-.*gz$')
	lab_get "/boot/$image" "$lab_tmp/image.gz"
	gzip -dc "$lab_tmp/image.gz" >"$lab_tmp/image"
	# The last byte of the build-id, wherever it is in the image.
	# shellcheck disable=SC2001 # a pattern of two characters
	while read -r offset; do
		printf '\0' | dd of="$lab_tmp/image" bs=1 seek=$((offset + 19)) conv=notrunc 2>/dev/null
	done < <(LC_ALL=C grep -obUaP "$(echo "$build_id" | sed 's/../\\x&/g')" "$lab_tmp/image" | cut -d : -f 1)
	gzip -1 -c "$lab_tmp/image" >"$lab_tmp/$image"
	lab_put "$lab_tmp/$image" /run/
	expect -u another-build-id-in-boot-is-status-5 5 "no file in /boot is the image .*$image .another build-id.*reboot" \
		in_private "mount -t tmpfs none /boot; cp /run/$image /boot/; xf record -t 1"
	expect -u no-image-in-boot-is-status-5 5 'nothing named xen' \
		in_private "mount -t tmpfs none /boot; xf record -t 1"
}

# On a fresh host: Xen allocates the buffers once a boot.
test_memory() {
	expect -u no-memory-for-trace-buffers-is-status-5 5 'no memory for trace buffers' \
		lab_exec env XF_FAIL=tbuf:3=ENOMEM xf record -t 1 -o /tmp/x.data
	expect little-memory-gives-smaller-trace-buffers 0 'samples' \
		lab_exec env XF_FAIL=tbuf:3=ENOMEM@1-2 xf record -t 1 -o /tmp/x.data
	check smaller-trace-buffers-are-used grep -q 'for 16 trace pages' "$LAB_DIR/console.log"
}

# Each step of a session fails: status, text, the rule.
test_steps() {
	local name wanted regex rule
	# A mask that nobody else sets, to see it come back.
	lab_exec xentrace -D -e 0x21f000 -T 1 /tmp/trace >/dev/null 2>&1 || true
	check xentrace-leaves-its-mask test "$(xen_int 'common/trace.c#tb_event_mask')" = 0021f000
	while read -r name wanted rule regex; do
		expect "when-$name-fails-the-host-is-as-before" "$wanted" "$regex" \
			lab_exec env "XF_FAIL=$rule" xf record -t 1 -o /tmp/x.data
	done <<-'END'
		asking-for-a-leftover 1 livepatch:1=EIO@1 asking for a live patch's state
		asking-for-trace-buffers 1 tbuf:0=EIO@2 trace buffers
		switching-tracing-off-first 1 tbuf:5=EIO@1 disabling Xen's trace buffers
		setting-the-mask 1 tbuf:2=EIO@1 trace event mask
		choosing-pcpus 1 tbuf:1=EIO tracing all pCPUs
		switching-tracing-on 1 tbuf:4=EIO enabling Xen's trace buffers
		upload-for-want-of-memory 5 livepatch:0=ENOMEM Xen has no memory for it
		upload-for-a-symbol 5 livepatch:0=ENOENT lacks a symbol
		apply-as-busy 6 livepatch:3:3=EBUSY applying xenflame-agent: Xen says busy
		apply-as-invalid 5 livepatch:3:3=EINVAL build-id or state does not fit
		waiting-for-the-agent 1 tbuf:2=EIO@2 trace event mask
		renewing-in-the-middle 1 tbuf:2=EIO@8-9 trace event mask
		asking-for-the-state-in-the-middle 1 livepatch:1<tbuf:2*2=EIO@1 asking for a live patch's state
	END
	expect apply-that-is-busy-once-is-tried-again 0 'samples' \
		lab_exec env XF_FAIL=livepatch:3:3=EBUSY@1 xf record -t 1 -o /tmp/x.data
	expect revert-that-is-busy-once-is-tried-again 0 'samples' \
		lab_exec env XF_FAIL=livepatch:3:2=EBUSY@1 xf record -t 1 -o /tmp/x.data
	check its-recording-is-whole is_whole
	run lab_exec env XF_FAIL=livepatch:3:2=EBUSY xf record -t 1 -o /tmp/x.data
	verdict revert-that-stays-busy-is-status-6 "$([ "$status" = 6 ] || echo "status $status")$(
		grep -q 'quiet but still there.*detach' "$lab_tmp/out" || echo ' another text')"
	check an-agent-that-stays-is-quiet test "$(nmi_callback)" = 0000000000000000
	check its-softirq-is-xens-again softirq_is_xens
	check the-recording-is-whole-nevertheless is_whole
	expect_detach an-agent-that-stayed-is-detached 'removed an agent'
	check nothing-is-left-in-xen nothing_left
}

# detach takes the agent away, and leaves nothing else.
expect_detach() { # NAME REGEX
	local line why=''
	line=$(($(console_lines) + 1))
	run lab_exec xenflame detach
	[ "$status" = 0 ] || why="status $status; "
	grep -q "$2" "$lab_tmp/out" || why+="does not say '$2'; "
	if payloads | grep -q "$AGENT"; then
		why+="it is still there; "
	fi
	console_is_calm "$line" >/dev/null || why+="the console warns; "
	verdict "$1" "$why"
}

# A recording in the background, until it is under way.
start_recording() { # OPTION...
	local n=0
	lab_exec sh -c 'xf record "$@" >/tmp/background 2>&1 & echo $! >/tmp/pid; wait $!; echo $? >/tmp/status' \
		background -o /tmp/b.data "$@" >/dev/null 2>&1 &
	background=$!
	while [ "$(nmi_callback)" = 0000000000000000 ]; do
		n=$((n + 1))
		[ "$n" -lt 600 ] || fail "no recording begins"
		sleep 0.1
	done
}

end_recording() { # SIGNAL
	in_dom0 "kill -$1 \$(cat /tmp/pid)"
	wait "$background" || true
	lab_exec cat /tmp/background >"$lab_tmp/out" 2>&1 || true
	status=$(lab_exec cat /tmp/status)
}

test_busy() {
	local n=0
	lab_exec sh -c 'xentrace -D -e 0x1f000 /tmp/trace >/dev/null 2>&1 & echo $! >/tmp/xentrace; wait $!' &
	background=$!
	until tracing_is_on; do
		n=$((n + 1))
		[ "$n" -lt 100 ] || fail "xentrace does not begin"
		sleep 0.2
	done
	expect -u beside-xentrace-record-is-status-6 6 'in use by another program' \
		lab_exec xf record -t 1 -o /tmp/x.data
	expect -u beside-xentrace-detach-is-status-6 6 'in use by another program' lab_exec xf detach
	in_dom0 'kill $(cat /tmp/xentrace)'
	wait "$background" || true
	expect after-xentrace-a-record-works 0 'samples' lab_exec xf record -t 1 -o /tmp/x.data
	start_recording -t 100
	expect -u beside-a-record-another-is-status-6 6 'in use by another program' \
		lab_exec xf record -t 1 -o /tmp/x.data
	expect -u beside-a-record-detach-is-status-6 6 'in use by another program' lab_exec xf detach
	end_recording INT
	verdict a-record-is-not-disturbed-by-them "$([ "$status" = 0 ] || echo "status $status")"
	check xentrace-works-after-a-record in_dom0 'rm -f /tmp/trace; xentrace -D -e 0x2f000 -T 1 /tmp/trace
		[ "$(stat -c %s /tmp/trace)" -gt 1000 ]'
}

test_output() {
	expect -u no-such-directory-is-status-7 7 'cannot write /no/such/dir/x' \
		lab_exec xf record -t 1 -o /no/such/dir/x
	expect -u output-that-is-a-directory-is-status-7 7 'cannot write /tmp: Is a directory' \
		lab_exec xf record -t 1 -o /tmp
	expect -u read-only-file-system-is-status-7 7 'Read-only file system' \
		in_private 'mkdir -p /mnt; mount -t tmpfs -o ro none /mnt || exit 99; xf record -t 1 -o /mnt/x'
	expect -u device-that-is-full-is-status-7 7 'No space left' lab_exec xf record -t 1 -o /dev/full
	in_dom0 'cd /tmp; rm -f x.data*; echo precious >x.data'
	expect a-failing-start-puts-the-old-recording-back 5 'no memory' \
		lab_exec env XF_FAIL=livepatch:0=ENOMEM xf record -t 1 -o /tmp/x.data
	check the-old-recording-is-there in_dom0 'cd /tmp; [ "$(cat x.data)" = precious ] && [ ! -e x.data.old ]'
	in_dom0 'cd /tmp; rm -f x.data; echo older >x.data.old'
	expect a-failing-start-leaves-an-older-one-alone 5 'no memory' \
		lab_exec env XF_FAIL=livepatch:0=ENOMEM xf record -t 1 -o /tmp/x.data
	check the-older-one-keeps-its-name in_dom0 'cd /tmp; [ "$(cat x.data.old)" = older ] && [ ! -e x.data ]'
	# Room for the directory and one file only.
	in_dom0 'mkdir -p /tmp/few; mount -t tmpfs -o nr_inodes=2 none /tmp/few; echo precious >/tmp/few/x'
	expect -u no-new-file-is-status-7 7 'No space left' lab_exec xf record -t 1 -o /tmp/few/x
	check the-old-recording-is-put-back-then-too in_dom0 '[ "$(cat /tmp/few/x)" = precious ]'
	in_dom0 'umount /tmp/few; cd /tmp; rm -f x.data*; echo precious >x.data'
	expect an-existing-recording-is-kept 0 'samples' lab_exec xf record -t 1 -o /tmp/x.data
	check it-is-kept-as-old in_dom0 'cd /tmp; [ "$(cat x.data.old)" = precious ]'
}

test_disk_full() {
	in_dom0 'mkdir -p /tmp/small; mount -t tmpfs -o size=200k none /tmp/small'
	expect -u full-at-the-first-part-is-status-7 7 'No space left' \
		lab_exec xf record -t 1 -o /tmp/small/x
	check nothing-stays-of-it in_dom0 '[ ! -e /tmp/small/x ]'
	in_dom0 'umount /tmp/small; mount -t tmpfs -o size=4500k none /tmp/small; load start hypercall'
	expect full-while-recording-is-status-7 7 'No space left.*can be read' \
		lab_exec xf record -F 999 -t 100 -o /tmp/small/x
	in_dom0 'load stop all'
	check what-was-written-can-be-read is_readable /tmp/small/x
	in_dom0 'umount /tmp/small'
	expect full-once-the-agent-is-loaded-is-status-7 7 'No space left' \
		lab_exec env XF_FULL=livepatch:3:3=1 xf record -t 2 -o /tmp/x.data
	# Twenty renewals a second: within the second second, which ends with a write.
	expect full-in-the-middle-is-status-7 7 'No space left' \
		lab_exec env XF_FULL=tbuf:2=1@25 xf record -t 4 -o /tmp/x.data
	check what-was-written-before-can-be-read is_readable /tmp/x.data
	# From the moment that the agent is asked to stop; with as many samples as there can be then.
	in_dom0 'load start hypercall'
	expect full-at-the-end-is-status-7 7 'No space left' \
		lab_exec env XF_FULL=tbuf:2:0=1 xf record -F 999 -t 2.9 -o /tmp/x.data
	in_dom0 'load stop all'
	check what-was-written-until-the-end-can-be-read is_readable /tmp/x.data
}

# One recording that a signal ends: in time, whole or absent, the host as before.
interrupted() { # NAME LIMIT-MS COMMAND...
	local name=$1 limit=$2 line before after took why=''
	shift 2
	line=$(($(console_lines) + 1))
	lab_exec rm -f /tmp/x.data /tmp/x.data.old
	before=$(state)
	run "$@"
	after=$(state)
	read -r status took < <(sed -n 's/^status \([0-9]*\), ended after \(-*[0-9]*\) ms/\1 \2/p' "$lab_tmp/out") || true
	why=$(changes "$before" "$after")
	[ "${took:-999999}" -le "$limit" ] || why+="took ${took:-?} ms; "
	case $status in
	0) is_whole >"$lab_tmp/whole" 2>&1 || why+="not whole: $(tail -n 1 "$lab_tmp/whole"); " ;;
	1)
		grep -q interrupted "$lab_tmp/out" || why+="status 1 without 'interrupted'; "
		in_dom0 '[ ! -e /tmp/x.data ]' || why+="a file without a recording; "
		;;
	*) why+="status $status; " ;;
	esac
	! in_dom0 'ps | grep "[s]leep 7777"' || why+="the command still runs; "
	console_is_calm "$line" >"$lab_tmp/calm" || why+="console: $(head -n 1 "$lab_tmp/calm")"
	verdict "$name (status $status, $took ms)" "$why"
}

test_signals() {
	local signals=(INT TERM HUP) calls i signal whole moment begin limit command
	RANDOM=${XENFLAME_LAB_SEED:=$RANDOM}
	echo "# XENFLAME_LAB_SEED=$XENFLAME_LAB_SEED"
	begin=$(date +%s%3N)
	expect an-undisturbed-record 0 'samples' lab_exec xf record -t 2 -o /tmp/x.data
	whole=$(($(date +%s%3N) - begin))
	# Ten seconds, and what looking at the host and at the file takes on emulated CPUs.
	limit=$((whole + 10000))
	echo "# a whole record takes $whole ms"
	for ((i = 0; i < 10; i++)); do
		signal=${signals[RANDOM % 3]}
		moment=$((RANDOM % whole))
		command=()
		[ $((i % 3)) != 0 ] || command=(-- sleep 7777)
		interrupted "SIG$signal-after-$moment-ms${command:+-with-a-command}" "$limit" \
			lab_exec interrupt.sh "$signal" $((moment * 1000)) xf record -t 2 -o /tmp/x.data "${command[@]}"
	done
	calls=(tbuf:0@2 tbuf:5@1 tbuf:2@1 tbuf:4@1 livepatch:0 livepatch:3:3 tbuf:2@2 tbuf:2@9
		tbuf:2:0 livepatch:3:2 livepatch:3:1 tbuf:5@2)
	for i in "${!calls[@]}"; do
		signal=${signals[RANDOM % 3]}
		moment=${calls[i]}
		command=()
		[ $((i % 2)) != 0 ] || command=(-- sleep 7777)
		case $moment in *@*) ;; *) moment+=@1 ;; esac
		interrupted "SIG$signal-at-$moment${command:+-with-a-command}" 999998 \
			lab_exec env "XF_FAIL=${moment/@/=SIG$signal@}" interrupt.sh 0 0 xf record -t 2 -o /tmp/x.data "${command[@]}"
	done
}

test_commands() {
	local n
	expect record-of-true-is-status-0 0 'samples' lab_exec xf record -o /tmp/x.data -- true
	expect the-status-of-the-command-is-not-passed-on 0 'samples' \
		lab_exec xf record -o /tmp/x.data -- sh -c 'exit 3'
	expect a-command-that-is-not-there-is-status-1 1 'cannot run /no/such/command' \
		lab_exec xf record -o /tmp/x.data -- /no/such/command
	# A pipe's end must end whoever writes to it, as under a shell.
	expect the-command-has-the-usual-signals 0 'samples' \
		lab_exec xf record -o /tmp/x.data -- sh -c 'kill -PIPE $$; echo survived >/tmp/survived'
	check sigpipe-ends-the-command in_dom0 '[ ! -e /tmp/survived ]'
	expect a-command-that-ignores-sigterm-holds-nobody-up 0 'samples' \
		"$LAB" exec "$LAB_DIR" --timeout 100 -- xf record -t 1 -o /tmp/x.data -- \
		sh -c 'trap "" TERM; n=0; while [ $n -lt 120 ]; do sleep 1; n=$((n + 1)); done'
	# Sampling must not take the pCPUs from the recorder, though a sample is long under emulation.
	in_dom0 'load start hypercall'
	for n in 1 2; do
		expect "sampling-a-busy-dom0-fast-does-not-stall-the-host-$n" 0 'samples' \
			lab_exec xf record -v -F 4000 -t 2 -o /tmp/x.data
	done
	in_dom0 'load stop all'
	expect a-recorder-held-up-too-long-is-status-9 9 'held up for longer' \
		lab_exec sh -c 'xf record -t 100 -o /tmp/x.data & pid=$!
			until [ "$(grep -c "^tbuf:2" /tmp/calls)" -gt 10 ]; do usleep 100000; done
			kill -STOP $pid; sleep 4; kill -CONT $pid; wait $pid'
	check its-recording-is-whole-up-to-there is_whole
}

# Within two seconds, and one for slow emulation.
quiet_soon() {
	local begin
	begin=$(date +%s%3N)
	while [ "$(nmi_callback)" != 0000000000000000 ]; do
		[ $(($(date +%s%3N) - begin)) -lt 3000 ] || { echo "the NMI callback is still there"; return 1; }
		sleep 0.05
	done
	echo "# quiet after $(($(date +%s%3N) - begin)) ms" >&3
	softirq_is_xens
}

test_kill() {
	local i line
	line=$(($(console_lines) + 1))
	for i in 1 2 3; do
		start_recording -t 100
		sleep "0.$((RANDOM % 1000))"
		[ "$i" = 1 ] || sleep 2 # by then something is in the file
		end_recording KILL
		check "killed-recorder-$i-leaves-a-quiet-agent" quiet_soon
		check "killed-recorder-$i-leaves-a-live-patch-only" sh -c "[ '$(payloads)' = '$AGENT|APPLIED' ]"
		case $i in
		1)
			run lab_exec xf check
			verdict check-tells-of-a-left-agent "$([ "$status" = 0 ] || echo "status $status")$(
				grep -q 'an agent was left behind.*detach' "$lab_tmp/out" || echo ' no word')"
			expect_detach detach-removes-a-left-agent 'removed an agent'
			expect_detach detach-says-that-there-is-none 'no agent is there'
			;;
		2)
			expect_detach detach-removes-the-next-one 'removed an agent'
			check after-detach-tracing-is-off eval '! tracing_is_on'
			check after-detach-the-mask-is-not-the-agents \
				test "$(xen_int 'common/trace.c#tb_event_mask' | cut -c 1-2)" != "$OUR_MASK"
			;;
		3)
			run lab_exec xf record -t 1 -o /tmp/x.data
			verdict record-replaces-a-left-agent "$([ "$status" = 0 ] || echo "status $status")"
			check its-recording-is-whole is_whole
			check after-it-no-agent-is-left nothing_left
			check after-it-the-mask-is-not-the-agents \
				test "$(xen_int 'common/trace.c#tb_event_mask' | cut -c 1-2)" != "$OUR_MASK"
			;;
		esac
	done
	check the-console-is-calm console_is_calm "$line"
	check a-killed-recording-can-be-read is_readable /tmp/b.data
}

OTHER=other-patch
other_patch() { # WORD...: xen-livepatch's words for the other live patch
	local n
	# Emulated pCPUs may not all meet within Xen's 30 ms: "busy".
	for n in $(seq 20); do
		! lab_exec xen-livepatch "$1" "$OTHER" "${@:2}" >/dev/null 2>"$lab_tmp/other" || return 0
		grep -q busy "$lab_tmp/other" || break
		sleep "0.$n"
	done
	fail "xen-livepatch $1: $(cat "$lab_tmp/other")"
}

test_other_patch() {
	local line
	put_other_patch
	line=$(($(console_lines) + 1))

	other_patch upload /tmp/other.livepatch
	other_patch apply
	expect on-top-of-another-live-patch-record-works 0 'samples' lab_exec xf record -t 1 -o /tmp/x.data
	check the-other-live-patch-stays test "$(payloads)" = "$OTHER|APPLIED"
	other_patch revert

	start_recording -t 100
	other_patch apply --nodeps
	end_recording INT
	verdict with-another-live-patch-on-top-record-is-status-6 "$([ "$status" = 6 ] || echo "status $status")$(
		grep -q 'another live patch.*on top.*quiet but still there' "$lab_tmp/out" || echo ' another text')"
	check the-agent-below-it-is-quiet test "$(nmi_callback)" = 0000000000000000
	check its-recording-is-whole is_whole /tmp/b.data
	expect below-another-live-patch-record-is-status-6 6 'another live patch.*on top' \
		lab_exec xf record -t 1 -o /tmp/x.data
	expect below-another-live-patch-detach-is-status-6 6 'another live patch.*on top' lab_exec xf detach
	other_patch revert
	expect_detach once-it-is-reverted-detach-works 'removed an agent'
	check the-other-live-patch-is-there-still test "$(payloads)" = "$OTHER|CHECKED"

	start_recording -t 100
	other_patch replace
	wait "$background" || true
	lab_exec cat /tmp/background >"$lab_tmp/out" 2>&1 || true
	status=$(lab_exec cat /tmp/status)
	verdict replaced-in-the-middle-is-status-9 "$([ "$status" = 9 ] || echo "status $status")$(
		grep -q 'another live patch replaced it' "$lab_tmp/out" || echo ' another text')"
	check a-replaced-agent-is-gone test "$(payloads)" = "$OTHER|APPLIED"
	check a-replaced-agent-has-left-the-nmi-callback test "$(nmi_callback)" = 0000000000000000
	check the-recording-is-whole-up-to-there is_whole /tmp/b.data
	other_patch revert
	other_patch unload
	check nothing-is-left-of-either nothing_left
	check the-console-is-calm-about-other-live-patches console_is_calm "$line"
}

# The end of the host that all of the above has been done to.
test_at_last() {
	expect at-last-a-record-works 0 'samples' lab_exec xf record -t 1 -o /tmp/x.data
	check at-last-nothing-is-left nothing_left
	check at-last-the-host-is-well lab_exec judge --health
}

test_hosts() {
	start_host --cpus 1
	expect -u one-pcpu-check-is-status-5 5 'only one pCPU is online' lab_exec xf check
	expect -u one-pcpu-record-is-status-5 5 'only one pCPU is online' lab_exec xf record -t 1
}

# The event class of the agent, as the mask's first two hexadecimal digits.
OUR_MASK=$(sed -n 's/^#define XF_TRACE_MASK *0x\(..\).*/\1/p' "$LAB_ROOT/include/xenflame/sample.h")
[ -n "$OUR_MASK" ] || fail "no XF_TRACE_MASK in sample.h"
exec 3>&1
compile || fail "the helpers do not compile"
groups=${XENFLAME_LAB_ERRORS:-here memory access image steps busy output disk_full signals commands kill other_patch at_last hosts}
booted=
case " $groups " in *' here '*) test_here ;; esac
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	for group in $groups; do
		case $group in
		here) continue ;;
		hosts) booted='' ;;
		*)
			[ "$booted" = "$xen" ] || start_host
			booted=$xen
			;;
		esac
		begin=$SECONDS
		"test_$group"
		echo "# $group: $((SECONDS - begin)) s"
	done
done
lab_done
