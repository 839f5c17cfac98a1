/* SPDX-License-Identifier: GPL-2.0-or-later
   Sums over the samples that the filters let through. A filter is { domain, vcpu, pcpu, range }:
   domain is a frame's number, "all", or "busy" for all but idle ticks; vcpu and pcpu are numbers, -1
   for all; range is [from, to) in units of time, or null. */

function wantedGroups(model, filter) {
	return Uint8Array.from(model.groups, function (group) {
		return (typeof filter.domain !== "number" || group[0] === filter.domain) &&
			(filter.vcpu < 0 || group[1] === filter.vcpu) &&
			(filter.pcpu < 0 || group[2] === filter.pcpu) ? 1 : 0;
	});
}

/* Where in the order of time @when begins. */
function eventAt(model, when) {
	let low = 0, high = model.nrEvents;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (model.time[middle] < when)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

function newSums(model) {
	return {
		self: new Float64Array(model.nrNodes), total: new Float64Array(model.nrNodes),
		functionSelf: new Float64Array(model.nrFrames),
		functionTotal: new Float64Array(model.nrFrames)
	};
}

function sumUp(model, filter, sums) {
	if (model.compare) {
		sumSides(model, sums);
		return;
	}
	const wanted = wantedGroups(model, filter), busy = filter.domain === "busy";
	const first = filter.range ? eventAt(model, filter.range[0]) : 0;
	const last = filter.range ? eventAt(model, filter.range[1]) : model.nrEvents;
	const self = sums.self.fill(0), total = sums.total;
	for (let i = first; i < last; i++) {
		const node = model.node[i];
		if (wanted[model.group[i]] && !(busy && model.leafIdle[node]))
			self[node] += model.count[i];
	}
	total.set(self);
	sums.functionSelf.fill(0);
	sums.functionTotal.fill(0);
	for (let i = model.nrNodes - 1; i > 0; i--) {
		const all = total[i];
		if (!all)
			continue;
		total[model.parent[i]] += all;
		if (self[i])
			sums.functionSelf[model.frame[i]] += self[i];
		if (model.outer[i])
			sums.functionTotal[model.frame[i]] += all;
	}
}

/* ---- Search ---- */

/* A regular expression; what is none is looked for as it is. */
function pattern(text) {
	const flags = text === text.toLowerCase() ? "i" : "";
	for (const way of [flags + "u", flags]) {
		try {
			return new RegExp(text, way);
		} catch (error) {
			/* What the strict form refuses ("\#"), the other one may take. */
		}
	}
	return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags + "u");
}

/* Which frames' names match, and which nodes have such a frame on their way from the root. */
function search(model, text) {
	if (!text)
		return null;
	const expression = pattern(text);
	const frames = Uint8Array.from(model.names, function (name, i) {
		return i && expression.test(name) ? 1 : 0;
	});
	const nodes = new Uint8Array(model.nrNodes);
	for (let i = 1; i < model.nrNodes; i++)
		nodes[i] = frames[model.frame[i]] | nodes[model.parent[i]];
	return { frames: frames, nodes: nodes };
}

/* The samples at and above @node whose stacks match. */
function countMatched(model, sums, match, node) {
	let matched = 0;
	for (let i = node; i < model.end[node]; i++) {
		if (match.nodes[i])
			matched += sums.self[i];
	}
	return matched;
}

/* ---- Time ---- */

/* A column of time: a handsome number of milliseconds, not less than a few ticks. */
function columnWidth(model, most) {
	const ms = 1e6 / model.about.unit;
	const least = Math.max(model.duration / most,
		model.about.frequency ? 4000 / model.about.frequency * ms : 0, 1);
	for (let ten = 1; ; ten *= 10) {
		for (const step of [1, 2, 5]) {
			if (step * ten * ms >= least)
				return step * ten * ms;
		}
	}
}

/* Of each pCPU, or of all together, and each column: samples that are wanted and not idle (and match,
   where something is searched for), and all samples. The range does not matter here. */
function heatCells(model, filter, match, perPcpu, most) {
	const step = columnWidth(model, most), nr = Math.floor(model.duration / step) + 1;
	const rows = perPcpu ? model.pcpus : [-1];
	const place = new Map(model.pcpus.map(function (pcpu, i) { return [pcpu, i]; }));
	const rowOf = Uint32Array.from(model.groups, function (group) {
		return perPcpu ? place.get(group[2]) : 0;
	});
	const wanted = wantedGroups(model, filter);
	const busy = new Float64Array(rows.length * nr), all = new Float64Array(rows.length * nr);
	for (let i = 0; i < model.nrEvents; i++) {
		const group = model.group[i], node = model.node[i];
		const cell = rowOf[group] * nr + Math.floor(model.time[i] / step);
		all[cell] += model.count[i];
		if (wanted[group] && (match ? match.nodes[node] : !model.leafIdle[node]))
			busy[cell] += model.count[i];
	}
	return { step: step, nr: nr, rows: rows, busy: busy, all: all };
}
