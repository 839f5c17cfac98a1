/* SPDX-License-Identifier: GPL-2.0-or-later
   The page's data, as src/output/page.h describes them. Nodes are numbered callers before their
   callees, so that all that stands on node n is n + 1 up to end[n]; node 0 is the root. */

function bytesOf(id) {
	const text = document.getElementById(id).textContent;
	document.getElementById(id).textContent = "";
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const raw = atob(text), bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	return bytes;
}

function nextNumber(from) {
	const bytes = from.bytes;
	let byte = bytes[from.at++], number = byte & 127, scale = 128;
	while (byte > 127) {
		byte = bytes[from.at++];
		number += (byte & 127) * scale;
		scale *= 128;
	}
	return number;
}

function readNodes(model, nr) {
	const from = { bytes: bytesOf("nodes"), at: 0 };
	const parent = model.parent = new Uint32Array(nr), frame = model.frame = new Uint32Array(nr);
	const end = model.end = new Uint32Array(nr).fill(1);
	for (let i = 1, before = 0; i < nr; before = i++) {
		for (let up = nextNumber(from); up > 0; up--)
			before = parent[before];
		parent[i] = before;
		frame[i] = nextNumber(from);
	}
	for (let i = nr - 1; i > 0; i--) {
		end[parent[i]] += end[i];
		end[i] += i;
	}
}

function readSamples(model, nr) {
	const from = { bytes: bytesOf("samples"), at: 0 };
	const time = model.time = new Float64Array(nr), group = model.group = new Uint32Array(nr);
	const node = model.node = new Uint32Array(nr), count = model.count = new Float64Array(nr);
	let now = 0;
	for (let i = 0; i < nr; i++) {
		now += nextNumber(from);
		time[i] = now;
		group[i] = nextNumber(from);
		const which = nextNumber(from);
		node[i] = Math.floor(which / 2);
		count[i] = which % 2 ? nextNumber(from) : 1;
	}
}

/* Which nodes are not called, however indirectly, by their own function. */
function findOutermost(model) {
	const outer = model.outer = new Uint8Array(model.nrNodes);
	const open = new Uint32Array(model.nrFrames), path = [];
	for (let i = 0; i < model.nrNodes; i++) {
		while (path.length && model.end[path[path.length - 1]] <= i)
			open[model.frame[path.pop()]]--;
		outer[i] = open[model.frame[i]]++ ? 0 : 1;
		path.push(i);
	}
}

/* Each frame's place by name, idle ones last: the order of the call tree's children. */
function rankFrames(model) {
	const order = model.names.map(function (name, i) { return i; });
	const rank = new Uint32Array(model.nrFrames);
	order.sort(function (a, b) {
		const idle = model.isKind(a, "idle") - model.isKind(b, "idle");
		return idle || (model.names[a] < model.names[b] ? -1 : model.names[a] > model.names[b]);
	});
	order.forEach(function (frame, i) { rank[frame] = i; });
	return rank;
}

function readModel() {
	const about = JSON.parse(document.getElementById("about").textContent);
	const model = {
		about: about, groups: about.groups, nrFrames: about.frames.length,
		nrNodes: about.nodes, nrEvents: about.events,
		names: about.frames.map(function (frame) { return frame[1]; }),
		kinds: about.frames.map(function (frame) { return about.kinds[frame[0]]; }),
		/* file:line where it is known, or why a stack is incomplete */
		places: about.frames.map(function (frame) { return frame[2] || ""; })
	};
	model.isKind = function (frame, kind) { return model.kinds[frame] === kind; };
	/* For what asks of each node. */
	model.framesOf = function (kind) {
		return Uint8Array.from(model.kinds, function (other) { return other === kind ? 1 : 0; });
	};
	readNodes(model, about.nodes);
	model.compare = about.compare || null;
	if (model.compare)
		readSides(model);
	else
		readSamples(model, about.events);
	findOutermost(model);
	model.rank = rankFrames(model);
	model.duration = Math.max(about.duration, model.nrEvents ? model.time[model.nrEvents - 1] : 0, 1);
	model.pcpus = Array.from(new Set(model.groups.map(function (group) {
		return group[2];
	}))).sort(function (a, b) { return a - b; });
	model.domains = Array.from(new Set(model.groups.map(function (group) { return group[0]; })));
	const domains = new Set(model.domains);
	/* What a list of functions has: neither whose something was, nor the Idle domain. */
	model.isFunction = model.kinds.map(function (kind, frame) {
		return frame > 0 && !["domain", "vcpu", "pcpu", "root"].includes(kind) && !domains.has(frame);
	});
	model.leafIdle = new Uint8Array(model.nrNodes);
	const isIdle = model.framesOf("idle");
	for (let i = 1; i < model.nrNodes; i++)
		model.leafIdle[i] = isIdle[model.frame[i]];
	return model;
}
