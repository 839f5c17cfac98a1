#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dom0's own perf and xenflame look at the same program at the same time: they see the same of its kernel
# and of itself, as far as perf can see it. Needs perf on this machine. Time limit: 10 minutes.
#
# XENFLAME_LAB_SECONDS   of recording, for each Xen (30)
# shellcheck disable=SC2317 # functions that check calls
# shellcheck disable=SC2016 # shell for dom0
LAB_TEST=lab_perf
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lab/record.sh
. "$(dirname "$0")/record.sh"

LONG=${XENFLAME_LAB_SECONDS:-30}
HZ=199

# perf with all of this machine's libraries that it needs: dom0 has others, or none.
pack_perf() {
	local perf
	perf=$(command -v perf) || return 1
	mkdir "$lab_tmp/perf"
	cp -L "$perf" "$lab_tmp/perf/perf"
	ldd "$perf" | awk '/=> \// { print $3 } /ld-linux/ { print $1 }' | xargs -I{} cp -L {} "$lab_tmp/perf/"
	cat >"$lab_tmp/perf/run" <<-'END'
		#!/bin/sh
		exec /tmp/perf/ld-linux-x86-64.so.2 --library-path /tmp/perf /tmp/perf/perf "$@"
	END
	chmod +x "$lab_tmp/perf/run"
	tar -C "$lab_tmp" -czf "$lab_tmp/perf.tar.gz" perf
}

put_perf() {
	lab_put "$lab_tmp/perf.tar.gz" /tmp/
	lab_exec sh -c 'cd /tmp && tar -xzf perf.tar.gz && rm perf.tar.gz'
}

record_both() {
	each_load start syscalls
	LAB_TIMEOUT=$((LONG * 4 + 120)) lab_exec /tmp/perf/run record -a -e cpu-clock -F "$HZ" -g -o /tmp/perf.data -- \
		xenflame record -F "$HZ" -t "$LONG" -o /tmp/both.data || return 1
	each_load stop syscalls
	lab_get /tmp/both.data "$lab_tmp/both.data"
	lab_get /tmp/perf.data "$lab_tmp/perf.data"
	lab_exec cat /proc/kallsyms >"$lab_tmp/kallsyms"
	mkdir -p "$lab_tmp/files/lab/workloads"
	lab_get /lab/workloads/syscalls "$lab_tmp/files/lab/workloads/syscalls"
}

both_see_the_same() {
	perf script -i "$lab_tmp/perf.data" --kallsyms "$lab_tmp/kallsyms" --symfs "$lab_tmp/files" \
		-F comm,ip,sym >"$lab_tmp/perf.txt" 2>/dev/null || return 1
	"$TOOL" script -i "$lab_tmp/both.data" -o "$lab_tmp/both.txt" || return 1
	"$LAB_ROOT/tests/lab/perf/compare" syscalls "$lab_tmp/perf.txt" "$lab_tmp/both.txt" "$lab_tmp/kallsyms" |
		tee >(sed 's/^/# /' >&3)
	return "${PIPESTATUS[0]}"
}

exec 3>&1
if ! pack_perf; then
	skip "what-perf-sees-xenflame-sees" "this machine has no perf (lab/install check)"
	lab_done
fi
for xen in $LAB_XENS; do
	LAB_PREFIX="$xen-"
	lab_boot --xen "$xen"
	lab_put "$TOOL" /usr/local/bin/
	put_perf
	check both-record record_both
	check what-perf-sees-xenflame-sees both_see_the_same
done
LAB_PREFIX=''
lab_done
