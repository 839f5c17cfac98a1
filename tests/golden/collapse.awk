# SPDX-License-Identifier: GPL-2.0-or-later
#
# `perf script`'s text to folded stacks, as its readers take it: a line "COMM PID/TID [CPU] TIME: COUNT
# EVENT:", the frames from the innermost, each "ADDRESS NAME+OFFSET (IMAGE)", an empty line. COMM, which
# is the domain here, becomes the lowest frame.
function flush(    i, stack)
{
	if (comm == "")
		return
	stack = comm
	for (i = nr; i > 0; i--)
		stack = stack ";" frame[i]
	total[stack] += count
	comm = ""
	nr = 0
}

/^$/ {
	flush()
	next
}

/^[^\t ]/ {
	flush()
	match($0, / [0-9-]+\/[0-9-]+ +\[/)
	comm = substr($0, 1, RSTART - 1)
	count = $0
	sub(/ cpu-clock:.*/, "", count)
	sub(/.* /, "", count)
	next
}

{
	sub(/^[ \t]*[0-9a-f]+ /, "")
	sub(/ \([^()]*\)$/, "")
	sub(/\+0x[0-9a-f]+$/, "")
	frame[++nr] = $0
}

END {
	flush()
	for (stack in total)
		print stack, total[stack]
}
