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
