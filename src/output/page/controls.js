/* SPDX-License-Identifier: GPL-2.0-or-later
   What stands around the graph: facts, quality, filters, functions, legend. Names get in as text. */

function make(parent, name, text, className) {
	const node = document.createElement(name);
	if (text !== undefined)
		node.textContent = text;
	if (className)
		node.className = className;
	parent.appendChild(node);
	return node;
}

/* ---- Quality ---- */

/* The samples by the worst that is to be said of their stacks: whole, unnamed, and of incomplete ones by
   the frame that says why. */
function countFlaws(everything) {
	const counts = { whole: 0, unnamed: 0, byFrame: new Float64Array(model.nrFrames) };
	const isUnnamed = model.framesOf("unknown"), isIncomplete = model.framesOf("incomplete");
	if (!isUnnamed.includes(1) && !isIncomplete.includes(1)) {
		counts.whole = everything.total[0];
		return counts;
	}
	const flaws = new Int32Array(model.nrNodes).fill(-1); /* 0: unnamed */
	for (let node = 0; node < model.nrNodes; node++) {
		const frame = model.frame[node], self = everything.self[node];
		let flaw = node ? flaws[model.parent[node]] : -1;
		if (flaw <= 0 && isIncomplete[frame])
			flaw = frame;
		else if (flaw < 0 && isUnnamed[frame])
			flaw = 0;
		flaws[node] = flaw;
		if (flaw > 0)
			counts.byFrame[flaw] += self;
		else if (flaw === 0)
			counts.unnamed += self;
		else
			counts.whole += self;
	}
	return counts;
}

/* [class, words, samples, what it means, samples of its part of the bar]; of the whole recording, whatever
   is selected. A stack may have two flaws; the bar has it once. */
function qualityRows(everything) {
	const flaws = countFlaws(everything);
	const rows = [
		["whole", "whole stacks, with names", flaws.whole, "All that was there is shown."],
		["lost", "lost: eight samples were waiting", about.lostSlot,
			"Something ran long without a look at softirqs, and is shown too small. Record at a " +
			"lower frequency."],
		["lost", "lost: the NMI did not arrive", about.lostNmi,
			"Not before the next one was due. While Xen patches itself (live patches, microcode) " +
			"it swallows NMIs; a high frequency leaves them little time."],
		["lost", "lost: the trace buffer was full", about.lostTrace,
			"The recorder got no CPU for long, or the buffers are small."],
		["skipped", "skipped", about.skipped,
			"A tick was due while no other pCPU was free to send the NMI. What ran there is shown " +
			"too small."]
	];
	model.names.forEach(function (name, frame) {
		if (model.isKind(frame, "incomplete"))
			rows.push(["incomplete", name.replace(/^\[|\]$/g, ""), everything.functionTotal[frame],
				"Outer frames are missing; what is shown of the stack is right." +
				(model.places[frame] ? " Why: " + model.places[frame] + "." : ""),
			flaws.byFrame[frame]]);
	});
	rows.push(["unnamed", "with frames that have no name", about.unnamed,
		"Code for which the running Xen gave no symbol: shown by its address.", flaws.unnamed]);
	return rows;
}

function showQuality(everything) {
	const lost = about.lostSlot + about.lostNmi + about.lostTrace;
	const due = about.count + lost + about.skipped, rows = qualityRows(everything);
	const words = byId("quality-words"), missing = (lost + about.skipped) / due > 0.05;
	make(words, missing ? "b" : "span", about.lostKnown ? "lost " + number(lost) + (about.skipped ?
		", skipped " + number(about.skipped) : "") : "lost: not known");
	make(words, "span", ", incomplete " + number(about.incomplete) + (about.incomplete ? " (" +
		percent(about.incomplete, about.xen) + " of Xen\u2019s)" : "") + ", no name " +
		number(about.unnamed));
	if (about.notes) {
		make(words, "span", "  \u00b7  ");
		make(words, "b", about.notes);
	}
	rows.forEach(function (row) {
		if (!row[2] && row[0] !== "whole")
			return;
		const part = make(byId("quality-bar"), "span", undefined, row[0]);
		part.style.flexGrow = (row.length > 4 ? row[4] : row[2]) / due;
		const line = make(byId("quality-rows"), "tr"), cause = make(line, "td");
		make(cause, "i", undefined, row[0]);
		make(cause, "span", row[1]);
		make(line, "td", number(row[2]), "count");
		make(line, "td", percent(row[2], due), "count");
		make(line, "td", row[3]);
	});
}

/* ---- Filters ---- */

function fillSelect(id, options) {
	const node = byId(id);
	node.textContent = "";
	options.forEach(function (option) {
		make(node, "option", option[1]).value = option[0];
	});
	node.disabled = options.length < 2;
}

function numbersOf(which, domain) {
	return Array.from(new Set(model.groups.filter(function (group) {
		return typeof domain !== "number" || group[0] === domain;
	}).map(function (group) { return group[which]; }))).sort(function (a, b) { return a - b; });
}

function fillFilters() {
	fillSelect("filter-domain", [["all", "all"], ["busy", "all but idle"]].concat(
		model.domains.map(function (frame) { return [frame, model.names[frame]]; })));
	fillSelect("filter-pcpu", [[-1, "all"]].concat(model.pcpus.map(function (pcpu) {
		return [pcpu, pcpu];
	})));
}

let vcpusOf = null; /* the domain whose vCPUs are listed */

function showFilters() {
	if (vcpusOf !== state.domain)
		/* Numbers of vCPUs mean something within a domain only. */
		fillSelect("filter-vcpu", [[-1, "all"]].concat(typeof state.domain !== "number" ? [] :
			numbersOf(1, state.domain).map(function (vcpu) { return [vcpu, vcpu]; })));
	vcpusOf = state.domain;
	byId("filter-domain").value = state.domain;
	byId("filter-vcpu").value = state.vcpu;
	byId("filter-pcpu").value = state.pcpu;
	byId("clear").hidden = !isFiltered();
}

function press(id, pressed) {
	byId(id).setAttribute("aria-pressed", pressed ? "true" : "false");
}

function showControls() {
	["stacks", "callers", "function"].forEach(function (view) {
		press("view-" + view, state.view === view);
	});
	press("turn", state.icicle);
	byId("turn").disabled = state.view === "function";
	byId("theme").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[state.theme];
	byId("heat-rows").textContent = state.perPcpu ? "in one row" : "by pCPU";
	byId("heat-rows").hidden = !mayHaveRows();
	press("by-self", state.by === "self");
	press("by-total", state.by === "total");
	showFilters();
	if (state.view === "function")
		showFunctions();
	showLegend();
}

/* ---- Functions ---- */

const FUNCTIONS_SHOWN = 400;

/* Of two recordings the change. */
function functionSides(which, frame) {
	return [sums.sides[0][which][frame], sums.sides[1][which][frame]];
}

function functionWords(which, frame) {
	if (!model.compare)
		return percent(sums[which][frame], sums.total[0]);
	const sides = functionSides(which, frame), words = changeWords(model, sides);
	return (/[1-9]/.test(words) && !isSignificant(model, sides) ? "~" : "") + words;
}

function sizesOf(which) {
	return model.compare ? model.names.map(function (name, frame) {
		return Math.abs(changeOf(model, functionSides(which, frame)));
	}) : sums[which];
}

function listFunctions() {
	const by = sizesOf(state.by === "self" ? "functionSelf" : "functionTotal");
	const also = sizesOf(state.by === "self" ? "functionTotal" : "functionSelf");
	return model.names.map(function (name, frame) { return frame; }).filter(function (frame) {
		return sums.functionTotal[frame] && model.isFunction[frame] &&
			(!shown.match || shown.match.frames[frame]);
	}).sort(function (a, b) {
		return by[b] - by[a] || also[b] - also[a] || model.rank[a] - model.rank[b];
	});
}

function showFunctions() {
	const rows = byId("function-rows"), all = listFunctions();
	rows.textContent = "";
	all.slice(0, FUNCTIONS_SHOWN).forEach(function (frame) {
		const line = make(rows, "tr");
		line.dataset.frame = frame;
		line.setAttribute("aria-selected", frame === state.fn ? "true" : "false");
		make(line, "td", functionWords("functionSelf", frame), "count");
		make(line, "td", functionWords("functionTotal", frame), "count");
		make(line, "td", model.names[frame], "name");
	});
	if (all.length > FUNCTIONS_SHOWN)
		make(make(rows, "tr"), "td", number(all.length - FUNCTIONS_SHOWN) +
			" more: search to narrow the list").colSpan = 3;
}

/* ---- Legend, facts ---- */

function showChangeLegend() {
	const legend = byId("legend"), colours = CHANGES[look.dark ? "dark" : "light"];
	legend.textContent = "";
	[[colours.less.slice().reverse(), "less in B"], [[colours.even], "may be chance"],
		[colours.more, "more in B"]].forEach(function (part) {
		const entry = make(legend, "span");
		part[0].forEach(function (colour) { make(entry, "i").style.background = colour; });
		make(entry, "span", part[1]);
	});
}

function showLegend() {
	const legend = byId("legend"), seen = new Set();
	if (model.compare) {
		showChangeLegend();
		return;
	}
	for (let frame = 1; frame < model.nrFrames; frame++) {
		if (sums.functionTotal[frame])
			seen.add(styleOf(model, frame));
	}
	legend.textContent = "";
	Object.keys(KINDS).forEach(function (style) {
		if (!seen.has(style))
			return;
		const colours = KINDS[style][look.dark ? 2 : 1], entry = make(legend, "span");
		make(entry, "i").style.background = style === "incomplete" ?
			"repeating-linear-gradient(45deg," + colours[0] + " 0 3px," + colours[2] + " 3px 5px)" :
			colours.length === 8 ? colours[3] : colours[0];
		make(entry, "span", KINDS[style][0]);
	});
}

function showFacts() {
	byId("title").textContent = about.title;
	if (model.compare) {
		["heat", "quality", "filters"].forEach(function (id) { byId(id).hidden = true; });
		byId("facts").textContent = model.compare.sides.join("\n") + "\n" + model.compare.unit;
		return;
	}
	byId("facts").textContent = [about.host, about.recorded, "samples " + about.samples]
		.join("  \u00b7  ");
	byId("heat-from").textContent = "0 s";
	byId("heat-to").textContent = seconds(model, model.duration, 1) + " s";
}

/* ---- The range of time ---- */

function showRange() {
	if (model.compare)
		return;
	const range = state.range, words = range ? seconds(model, range[0], 2) + "\u2013" +
		seconds(model, range[1], 2) + " s (" + seconds(model, range[1] - range[0], 2) + " s)" : "";
	byId("heat-range").textContent = words;
	byId("heat").setAttribute("aria-valuetext", words || "all");
	byId("heat-before").style.width = range ? 100 * range[0] / model.duration + "%" : "0";
	byId("heat-after").style.width = range ? 100 - 100 * range[1] / model.duration + "%" : "0";
	byId("heat-before").hidden = byId("heat-after").hidden = !range;
}
