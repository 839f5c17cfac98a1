# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # lab_tmp is of lib.sh
# What the tests of guests' own stacks share. Sourced after record.sh.

# At least PERMILLE of DOMAIN's samples whose stacks could be read have its kernel's frames whole.
whole_kernel_stacks() { # NAME DOMAIN PERMILLE
	awk -v domain="$2" -v least="$3" '
		index($0, domain ";") != 1 || /\[guest switched away\]/ { next }
		{ n = $NF; all += n; if ($0 !~ /\[kernel incomplete/ && $0 !~ /;\[guest (kernel|user)\]/) whole += n }
		END { if (!all) { print "no sample of " domain; exit 1 }
		      printf "%d of %d\n", whole, all
		      exit whole * 1000 < all * least }' "$lab_tmp/$1.folded"
}

# No frame of DOMAIN's bears a name of a kernel's: all are unknown kernels' addresses, or Xen's.
no_foreign_names() { # NAME DOMAIN
	if grep "^$2;" "$lab_tmp/$1.folded" | grep -E ';(do_syscall_64|entry_SYSCALL_64_after_hwframe|default_idle|asm_[a-z_]+|xen_hypercall_[a-z_]+)[; ]'; then
		return 1
	fi
	grep -q "^$2;.*\[$2 kernel\]+0x" "$lab_tmp/$1.folded" || { echo "no kernel of $2"; return 1; }
}

# Whoever asks libxl what its domains run is told nothing.
hide_kernels() {
	lab_exec sh -c 'mkdir -p /tmp/hidden && mv /var/lib/xen/userdata-d.[1-9]*.libxl-json /tmp/hidden/'
}

show_kernels() {
	lab_exec sh -c 'mv /tmp/hidden/* /var/lib/xen/'
}

is_refused() { # STATUS TEXT OPTION...
	local wanted=$1 text=$2 status=0
	shift 2
	lab_exec xenflame record -t 1 -o /tmp/refused.data "$@" >"$lab_tmp/refused" 2>&1 || status=$?
	[ "$status" = "$wanted" ] && grep -qF "$text" "$lab_tmp/refused" || { echo "status $status"; cat "$lab_tmp/refused"; return 1; }
}

# The emulator sometimes loses its PVH guest (lab/README.md): what is asked of it then is skipped.
is_lost() { # DOMAIN
	lab_exec xl list "$1" 2>&1 | awk -v domain="$1" '$1 == domain { alive = $5 !~ /[cs]/ } END { exit alive }'
}

check_of() { # DOMAIN NAME COMMAND...
	if is_lost "$1"; then
		skip "$2" "the emulator has lost the guest $1"
	else
		check "${@:2}"
	fi
}

# On a busy machine the emulated recorder can be held up for longer than its lease, which ends a recording
# early (status 9): what is proven here is proven by the samples until then, if these are enough.
record_some() { # NAME SECONDS OPTION...
	local name=$1 seconds=$2 status=0
	shift 2
	lab_exec xenflame record -v -t "$seconds" -o /tmp/record.data "$@" >"$lab_tmp/$name.err" 2>&1 || status=$?
	[ $status = 0 ] || [ $status = 9 ] || { echo "status $status"; tail -n 20 "$lab_tmp/$name.err"; return 1; }
	lab_get /tmp/record.data "$lab_tmp/$name.data"
	"$TOOL" folded -i "$lab_tmp/$name.data" -o "$lab_tmp/$name.folded"
}

was_told() { # NAME REGEX
	grep -E "$2" "$lab_tmp/$1.err" || { tail -n 5 "$lab_tmp/$1.err"; return 1; }
}

# Of DOMAIN's samples whose stacks could be read none has an address in place of a name.
all_are_named() { # NAME DOMAIN
	awk -v domain="$2" '
		index($0, domain ";") != 1 || /\[guest switched away\]/ { next }
		{ n = $NF; all += n; if (index($0, "[" domain " kernel]+0x")) { bad += n; if (!shown++) print } }
		END { printf "%d of %d without names\n", bad, all; exit !all || bad * 100 > all }' "$lab_tmp/$1.folded"
}

# Stacks of DOMAIN's with INNER have these frames below it, in this order.
guest_comes_from() { # NAME DOMAIN INNER OUTER...
	local name=$1 domain=$2 inner=$3 pattern=''
	shift 3
	for frame; do pattern="$pattern;($frame)(;[^;]*)*"; done
	awk -v domain="$domain" -v inner=";($inner)[; ]" -v pattern="^$domain(;[^;]*)*$pattern" '
		index($0, domain ";") != 1 || $0 !~ inner || /kernel incomplete|switched away/ { next }
		{ n = $NF; all += n; if ($0 ~ pattern) good += n; else if (!shown++) print }
		END { if (!all) { print "no frame " inner; exit 1 }
		      printf "%d of %d\n", good, all
		      exit good * 100 < all * 95 }' "$lab_tmp/$name.folded"
}

# One stack from the system call to Xen's own function.
is_followed_into_xen() { # NAME DOMAIN
	grep -qE "^$2;(.*;)?do_syscall_64;.*;xen_hypercall_[a-z]+;.*;(pv_hypercall|svm_vmexit_handler)" "$lab_tmp/$1.folded"
}
