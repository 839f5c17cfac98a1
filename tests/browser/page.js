/* SPDX-License-Identifier: GPL-2.0-or-later
   Put into a flame graph's page behind its own script: does what a reader does, and leaves the verdicts
   in the root's attribute data-verdicts, "ok NAME" or "not ok NAME: WHY" each, with a U+241E between
   them. What is shown is compared with sums made anew from the samples, and with what xenflame report says
   of the same recording (window.xenflameKnown). */
(function () {
"use strict";
const page = window.xenflame, verdicts = [], errors = window.xenflameErrors || [];
const model = page.model, state = page.state, sums = page.sums, known = window.xenflameKnown;

function check(name, good, why) {
	verdicts.push((good ? "ok " : "not ok ") + name + (good ? "" : ": " + String(why).slice(0, 300)));
}

function attempt(name, test) {
	try {
		test();
	} catch (error) {
		check(name, false, error.stack || error);
	}
}

function same(name, got, wanted) {
	check(name, got === wanted, got + " instead of " + wanted);
}

function byId(id) {
	return document.getElementById(id);
}

function press(key, more) {
	document.activeElement.blur();
	document.body.dispatchEvent(new KeyboardEvent("keydown",
		Object.assign({ key: key, bubbles: true, cancelable: true }, more)));
	page.flush();
}

function pressIn(id, key, more) {
	byId(id).dispatchEvent(new KeyboardEvent("keydown",
		Object.assign({ key: key, bubbles: true, cancelable: true }, more)));
	page.flush();
}

function choose(id, value) {
	byId(id).value = value;
	byId(id).dispatchEvent(new Event("change", { bubbles: true }));
	page.flush();
}

function type(text) {
	byId("search").value = text;
	byId("search").dispatchEvent(new Event("input", { bubbles: true }));
	page.flush();
}

function reset() {
	press("1");
	press("0");
	type("");
	for (let i = 0; i < 8; i++)
		press("Escape");
	if (state.icicle)
		press("i");
}

/* The samples that pass @wanted(event), counted one by one. */
function countEvents(wanted) {
	let count = 0;
	for (let i = 0; i < model.nrEvents; i++)
		count += wanted(i) ? model.count[i] : 0;
	return count;
}

function stackHas(node, frame) {
	for (; node; node = model.parent[node]) {
		if (model.frame[node] === frame)
			return true;
	}
	return false;
}

function onBox(type, found) {
	const rect = page.rectOf(found), area = byId("space").getBoundingClientRect();
	byId("scroll").dispatchEvent(new MouseEvent(type, { bubbles: true,
		clientX: area.left + rect.x + Math.min(rect.width / 2, 3), clientY: area.top + rect.y + 5 }));
	page.flush();
}

function overHeat(type, share) {
	const area = byId("heat-area").getBoundingClientRect();
	byId("heat-area").dispatchEvent(new PointerEvent(type, { bubbles: true, button: 0,
		clientX: area.left + share * area.width, clientY: area.top + 2 }));
	page.flush();
}

function hexOf(channels) {
	return "#" + Array.from(channels).slice(0, 3).map(function (channel) {
		return (+channel).toString(16).padStart(2, "0");
	}).join("");
}

/* All colours in a value of CSS, as #rrggbb. */
function coloursIn(text) {
	return (text.match(/rgb\([^)]*\)/g) || []).map(function (colour) { return hexOf(colour.match(/\d+/g)); });
}

/* A copy of what is on a canvas. Return: the colour at a place of it, as #rrggbb; "" where nothing is. */
function pixelsOf(id) {
	const canvas = byId(id), ratio = canvas.width / canvas.clientWidth;
	const copy = document.createElement("canvas");
	copy.width = canvas.width;
	copy.height = canvas.height;
	const pen = copy.getContext("2d", { willReadFrequently: true });
	pen.drawImage(canvas, 0, 0);
	return function (x, y) {
		const data = pen.getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data;
		return data[3] ? hexOf(data) : "";
	};
}

/* Of the graph, by places on the sheet that is scrolled. */
function readPixels() {
	const pixel = pixelsOf("graph");
	return function (x, y) { return pixel(x, y - byId("scroll").scrollTop); };
}

/* What the legend is to call a frame. */
function wordsOf(frame) {
	const kind = model.kinds[frame];
	if (kind === "guest")
		return model.names[frame] === "[guest user]" ? "guest user" : "guest kernel";
	return { xen: "Xen", function: "function", agent: "xenflame itself", guestUser: "guest user",
		kernel: "functions of a guest's kernel", vcpu: "vCPU, pCPU", pcpu: "vCPU, pCPU",
		incomplete: "incomplete stack", unknown: "no name" }[kind] || kind;
}

/* Kinds whose frames have different shades, by name. */
const SHADED = ["Xen", "function", "functions of a guest's kernel"];

/* { words: the swatch's colours }, as they are on the page. */
function readLegend() {
	const legend = {};
	byId("legend").querySelectorAll(":scope > span").forEach(function (entry) {
		const style = getComputedStyle(entry.querySelector("i"));
		const stripes = coloursIn(style.backgroundImage);
		legend[entry.querySelector("span").textContent] = stripes.length ? Array.from(new Set(stripes)) :
			coloursIn(style.backgroundColor);
	});
	return legend;
}

function channels(colour) {
	return [1, 3, 5].map(function (at) { return parseInt(colour.slice(at, at + 2), 16); });
}

function isNear(colour, wanted, most) {
	return colour !== "" && channels(colour).every(function (channel, i) {
		return Math.abs(channel - channels(wanted)[i]) <= most;
	});
}

/* Whether a box's colour is what the legend says of its kind. Stripes blend at their edges. */
function isAsLegend(colour, words, swatch) {
	if (!swatch || !colour)
		return false;
	if (swatch.length === 1)
		return isNear(colour, swatch[0], SHADED.includes(words) ? 40 : 0);
	return channels(colour).every(function (channel, i) {
		const ends = swatch.map(function (one) { return channels(one)[i]; });
		return channel >= Math.min.apply(null, ends) - 2 && channel <= Math.max.apply(null, ends) + 2;
	});
}

function goTo(address) {
	location.hash = address;
	window.dispatchEvent(new PopStateEvent("popstate"));
	page.flush();
}

/* Boxes in sight that are wide enough to have a pixel of their own colour. */
function eachBox(visit) {
	page.shown.scenes.forEach(function (scene) {
		for (let box = 0; box < scene.boxes.frame.length; box++) {
			if (scene.boxes.frame[box] >= 0)
				visit({ scene: scene, box: box }, scene.boxes);
		}
	});
}

function wrongPixels() {
	const wrong = [], pixel = readPixels(), legend = readLegend();
	let seen = 0;
	eachBox(function (found, boxes) {
		const frame = boxes.frame[found.box], rect = page.rectOf(found), top = byId("scroll").scrollTop;
		if (!frame || rect.width < 6 || rect.y < top || rect.y + 19 > top + byId("scroll").clientHeight ||
			found.box < boxes.focus)
			return;
		const got = pixel(rect.x + 2, rect.y + 3), words = wordsOf(frame);
		seen++;
		if (!isAsLegend(got, words, legend[words]))
			wrong.push(model.names[frame] + " (" + words + ") is " + got);
	});
	return seen ? wrong : ["no box is in sight"];
}

/* The words for the kinds of all frames that have samples, each with its widest node. */
function kindsThatOccur() {
	const widest = new Map(), total = new Float64Array(model.nrNodes);
	for (let i = 0; i < model.nrEvents; i++)
		total[model.node[i]] += model.count[i];
	for (let node = model.nrNodes - 1; node > 0; node--) {
		const words = wordsOf(model.frame[node]), best = widest.get(words);
		if (!total[node])
			continue;
		total[model.parent[node]] += total[node];
		if (best === undefined || total[node] >= total[best])
			widest.set(words, node);
	}
	return widest;
}

/* The colours of the box of @node, zoomed to, away from its name. */
function coloursOfNode(node) {
	const path = [], seen = new Set();
	for (let at = node; at; at = model.parent[at])
		path.unshift(model.frame[at]);
	goTo("view=stacks&turn=icicle&z=" + path.join("."));
	const found = { scene: page.shown.scenes[0], box: page.shown.scenes[0].boxes.focus };
	byId("scroll").scrollTop = page.rectOf(found).y - 20;
	goTo(location.hash);
	const rect = page.rectOf(found), pixel = readPixels();
	for (let x = 8; x < 32; x++) {
		for (let y = 2; y < 16; y++)
			seen.add(pixel(rect.x + rect.width - x, rect.y + y));
	}
	return Array.from(seen);
}

/* Cells of the map of time that hold other samples than those of their time and pCPU. */
function wrongCells() {
	const map = page.shown.heat, all = new Map(), busy = new Map(), wrong = [];
	for (let i = 0; i < model.nrEvents; i++) {
		const pcpu = model.groups[model.group[i]][2], idle = model.kinds[model.frame[model.node[i]]] === "idle";
		const column = Math.floor(model.time[i] / map.step);
		const cell = (map.rows.length === 1 ? 0 : map.rows.indexOf(pcpu)) * map.nr + column;
		all.set(cell, (all.get(cell) || 0) + model.count[i]);
		busy.set(cell, (busy.get(cell) || 0) + (idle ? 0 : model.count[i]));
	}
	map.all.forEach(function (count, cell) {
		if (count !== (all.get(cell) || 0) || map.busy[cell] !== (busy.get(cell) || 0))
			wrong.push("cell " + cell + ": " + map.busy[cell] + " of " + count + ", not " +
				busy.get(cell) + " of " + all.get(cell));
	});
	all.forEach(function (count, cell) {
		if (!(cell < map.all.length))
			wrong.push("no cell " + cell);
	});
	return wrong;
}

/* Nothing where there is no sample; the palest where all were idle, the darkest where none was. */
function wrongHeatPixels() {
	const map = page.shown.heat, pixel = pixelsOf("heat-canvas"), wrong = [];
	const wide = byId("heat-area").clientWidth, tall = byId("heat-canvas").clientHeight / map.rows.length;
	for (let cell = 0; cell < map.all.length; cell++) {
		const row = Math.floor(cell / map.nr), column = cell % map.nr, share = map.busy[cell] / map.all[cell];
		const middle = (column + 0.5) * map.step / model.duration * wide;
		const got = middle < wide ? pixel(middle, (row + 0.4) * tall) : null;
		const wanted = !map.all[cell] ? "" : share === 1 ? "#de7a42" : share === 0 ? "#eeebe4" : got;
		if (got !== null && got !== wanted || wanted === got && share > 0 && share < 1 &&
			["", "#de7a42", "#eeebe4"].includes(got) && share > 0.02 && share < 0.98)
			wrong.push("row " + row + ", column " + column + " is " + got);
	}
	return wrong;
}

/* ---- What is missing ---- */

function shareOf(count, due) {
	return (due ? 100 * count / due : 0).toFixed(2) + "%";
}

/* What the rows are to be, by xenflame report: [class, words, count]. Losses have their sum only there. */
function wantedQuality() {
	const told = known.report.samples, rows = [];
	rows.push(["whole", "whole stacks, with names", countEvents(function (i) {
		for (let node = model.node[i]; node; node = model.parent[node]) {
			if (["incomplete", "unknown"].includes(model.kinds[model.frame[node]]))
				return false;
		}
		return true;
	})]);
	rows.push(["skipped", "skipped", +told.skipped]);
	known.report.functions.rows.forEach(function (row) {
		if (row.kind === "incomplete")
			rows.push(["incomplete", row.name.slice(1, -1), +row.total]);
	});
	rows.push(["unnamed", "with frames that have no name", +told.unnamed]);
	return rows.filter(function (row) { return row[2] || row[0] === "whole"; });
}

function readQuality() {
	return Array.from(byId("quality-rows").children).map(function (line) {
		const cells = line.children;
		return { kind: cells[0].querySelector("i").className, words: cells[0].querySelector("span").textContent,
			count: +cells[1].textContent.replace(/,/g, ""), share: cells[2].textContent,
			colour: getComputedStyle(cells[0].querySelector("i")).backgroundColor };
	});
}

function checkQuality() {
	const told = known.report.samples, lost = +(told.lost || 0), rows = readQuality();
	const due = +told.all + lost + +told.skipped;
	const isLost = function (row) { return row.kind === "lost"; };
	same("what is missing is what xenflame report says", rows.filter(function (row) { return !isLost(row); })
		.map(function (row) { return [row.kind, row.words, row.count].join(" "); }).sort().join("; "),
	wantedQuality().map(function (row) { return row.join(" "); }).sort().join("; "));
	same("lost by cause adds up to what is lost", rows.filter(isLost).reduce(function (sum, row) {
		return sum + row.count;
	}, 0), lost);
	same("each row's share is of all that was due", rows.map(function (row) { return row.share; }).join(),
		rows.map(function (row) { return shareOf(row.count, due); }).join());
	const words = byId("quality-words").textContent, counted = function (count) {
		return (+count).toLocaleString("en-US");
	};
	check("the line on what is missing says it, too", words.startsWith((told.lost === null ? "lost: not known" :
		"lost " + counted(lost) + (+told.skipped ? ", skipped " + counted(told.skipped) : "")) +
		", incomplete " + counted(told.incomplete) + (+told.incomplete ? " (" +
		shareOf(+told.incomplete, +told.xen) + " of Xen\u2019s)" : "") + ", no name " + counted(told.unnamed)),
	words);
	const parts = Array.from(byId("quality-bar").children), whole = byId("quality-bar").clientWidth;
	check("the bar's parts have the colours of the rows", parts.length === rows.length &&
		rows.every(function (row, i) {
			return getComputedStyle(parts[i]).backgroundColor === row.colour;
		}) && new Set(rows.map(function (row) { return row.kind + row.colour; })).size ===
		new Set(rows.map(function (row) { return row.colour; })).size, parts.length + " parts");
	/* Parts are two pixels wide at least, and a stack with two flaws is drawn once. */
	check("the bar is full, and its first part as wide as its share", Math.abs(parts.reduce(function (sum, part) {
		return sum + part.getBoundingClientRect().width;
	}, 0) - whole) < 1 && Math.abs(parts[0].getBoundingClientRect().width / whole - rows[0].count / due) <
		2 * parts.length / whole, parts[0].getBoundingClientRect().width + " of " + whole);
}

/* ---- What holds of every recording ---- */

attempt("the page opens as it was asked for", function () {
	const root = page.rectOf({ scene: page.shown.scenes[0], box: 0 });
	same("it opens with the view that was asked for", state.view + ", " +
		document.querySelector(".segments [aria-pressed='true']").id, known.view + ", view-" + known.view);
	same("it opens with the root where it was asked for", root.y < 20 ? "icicle" : "flame", known.turn);
	same("it opens with all samples", page.shown.scenes[0].boxes.whole, +known.report.samples.all);
});
reset();
attempt("all samples are shown", function () {
	same("all samples are shown", sums.total[0], model.about.count);
	same("the samples add up to what was counted", countEvents(function () { return true; }),
		model.about.count);
	check("boxes are drawn", page.shown.scenes[0].boxes.frame.length > 1, "there are none");
	let wrong = 0;
	eachBox(function (found, boxes) {
		const parent = boxes.parent[found.box];
		if (parent >= 0 && (boxes.start[found.box] < boxes.start[parent] - 1e-6 ||
			boxes.start[found.box] + boxes.total[found.box] >
				boxes.start[parent] + boxes.total[parent] + 1e-6))
			wrong++;
	});
	same("no box is wider than the one it stands on", wrong, 0);
});
attempt("the legend", function () {
	const kinds = kindsThatOccur(), inDark = new Map();
	same("the legend has an entry for each kind that is there, and no other",
		Object.keys(readLegend()).sort().join(), Array.from(kinds.keys()).sort().join());
	const wrong = wrongPixels();
	check("boxes have the colours that the legend tells", wrong.length === 0, wrong);
	press("d");
	press("d");
	check("the page is dark", getComputedStyle(document.body).backgroundColor === "rgb(23, 24, 27)",
		getComputedStyle(document.body).backgroundColor);
	const wrongInDark = wrongPixels();
	check("dark boxes, too", wrongInDark.length === 0, wrongInDark);
	kinds.forEach(function (node, words) {
		inDark.set(words, { legend: readLegend()[words], seen: coloursOfNode(node) });
	});
	reset();
	press("d");
	kinds.forEach(function (node, words) {
		const bright = { legend: readLegend()[words], seen: coloursOfNode(node) };
		const bad = [bright, inDark.get(words)].filter(function (look) {
			return !look.legend || look.legend.join() === (look === bright ? inDark.get(words) : bright)
				.legend.join() || !look.seen.every(function (colour) {
				return isAsLegend(colour, words, look.legend);
			}) || look.legend.length > 1 && !look.legend.every(function (stripe) {
				return look.seen.some(function (colour) { return isNear(colour, stripe, 16); });
			});
		});
		check("the legend tells the colour of: " + words, bad.length === 0, JSON.stringify(bad));
	});
	reset();
});
attempt("i turns the graph", function () {
	const foot = page.rectOf({ scene: page.shown.scenes[0], box: 0 }).y;
	press("i");
	check("i turns the graph", state.icicle && page.rectOf({ scene: page.shown.scenes[0], box: 0 }).y < foot,
		"the root stays at " + foot);
	byId("scroll").scrollTop = 0;
	const wrong = wrongPixels();
	check("pixels of the icicle are right", wrong.length === 0, wrong);
	press("i");
});
attempt("filters by domain and pCPU give the right totals", function () {
	const wrong = [];
	byId("filter-domain").querySelectorAll("option").forEach(function (option) {
		if (!/^\d+$/.test(option.value))
			return;
		choose("filter-domain", option.value);
		const wanted = countEvents(function (i) { return model.groups[model.group[i]][0] === +option.value; });
		if (sums.total[0] !== wanted || !wanted)
			wrong.push(option.textContent + ": " + sums.total[0] + ", " + wanted);
		byId("filter-vcpu").querySelectorAll("option").forEach(function (vcpu) {
			if (+vcpu.value < 0)
				return;
			choose("filter-vcpu", vcpu.value);
			const few = countEvents(function (i) {
				const group = model.groups[model.group[i]];
				return group[0] === +option.value && group[1] === +vcpu.value;
			});
			if (sums.total[0] !== few || !few)
				wrong.push(option.textContent + "/" + vcpu.value);
		});
		reset();
	});
	check("filters by domain and vCPU give the right totals", wrong.length === 0, wrong);
	const pcpu = model.pcpus[model.pcpus.length - 1];
	choose("filter-pcpu", pcpu);
	same("a filter by pCPU gives the right total", sums.total[0], countEvents(function (i) {
		return model.groups[model.group[i]][2] === pcpu;
	}));
	reset();
	choose("filter-domain", "busy");
	same("all but idle is all but idle", sums.total[0], countEvents(function (i) {
		return model.kinds[model.frame[model.node[i]]] !== "idle";
	}));
	reset();
	same("0 drops the filters", sums.total[0], model.about.count);
});
attempt("dragging over the map of time selects", function () {
	overHeat("pointerdown", 0.1);
	overHeat("pointermove", 0.45);
	overHeat("pointerup", 0.45);
	check("dragging selects a range", state.range && state.range[1] > state.range[0], state.range);
	same("the range filters everything", sums.total[0], countEvents(function (i) {
		return model.time[i] >= state.range[0] && model.time[i] < state.range[1];
	}));
	const inside = sums.total[0], from = state.range[0], to = state.range[1];
	check("the range is told", /s \(.* s\)/.test(byId("heat-range").textContent),
		byId("heat-range").textContent);
	pressIn("heat", "ArrowRight", { shiftKey: true });
	check("keys move the range's end", state.range[0] === from && state.range[1] >= to, state.range);
	press("0");
	check("no range, all samples", inside <= sums.total[0] && sums.total[0] === model.about.count,
		sums.total[0]);
});
attempt("the map of time", function () {
	const wide = byId("heat-area").clientWidth, ms = page.shown.heat.step * model.about.unit / 1e6;
	const digit = ms / Math.pow(10, Math.floor(Math.log10(ms) + 1e-9)), rows = model.pcpus.length;
	const smaller = ms * (Math.abs(digit - 5) < 1e-9 ? 0.4 : 0.5);
	const fits = function (step) {
		return wide * step * 1e6 / model.about.unit / model.duration >= 4 - 1e-9 &&
			(!model.about.frequency || step * model.about.frequency >= 4000 - 1e-6);
	};
	check("a column is 1, 2 or 5 times a power of ten of milliseconds", [1, 2, 5].some(function (good) {
		return Math.abs(digit - good) < 1e-9;
	}), ms + " ms");
	check("a column is as narrow as four pixels and four ticks let it be", fits(ms) &&
		(!fits(smaller) || smaller < 1), ms + " ms on " + wide + " pixels");
	const wrong = wrongCells();
	check("each sample is in its column of the map, and in its pCPU's row", wrong.length === 0, wrong);
	same("the map has a row for each pCPU", page.shown.heat.rows.join(),
		rows > 1 ? model.pcpus.join() : "-1");
	press("t");
	const together = wrongCells();
	check("t puts all pCPUs into one row", together.length === 0 &&
		(rows === 1 || page.shown.heat.rows.join() === "-1"), together);
	press("t");
	const pixels = wrongHeatPixels();
	check("the map's pixels are where its samples are", pixels.length === 0, pixels);
	overHeat("pointermove", 0.001);
	check("the map's tip tells", /sample/.test(byId("tip").textContent), byId("tip").textContent);
});
attempt("search tells the matched share", function () {
	type(".");
	check("search for anything is 100%", /100\.00%/.test(byId("status").textContent),
		byId("status").textContent);
	type("no such function \u2603");
	check("search without a match is 0%", / 0\.00%/.test(byId("status").textContent),
		byId("status").textContent);
	type("\\#|no such function");
	check("an expression with a needless escape is one", page.countMatched(model, sums, page.shown.match, 0) === countEvents(function (i) {
			for (let node = model.node[i]; node; node = model.parent[node]) {
				if (model.names[model.frame[node]].includes("#"))
					return true;
			}
			return false;
		}), byId("status").textContent);
	type("(");
	same("what is no expression is looked for as it is", page.countMatched(model, sums, page.shown.match, 0),
		countEvents(function (i) {
			for (let node = model.node[i]; node; node = model.parent[node]) {
				if (model.names[model.frame[node]].includes("("))
					return true;
			}
			return false;
		}));
	const frame = model.frame[model.nrNodes - 1], name = model.names[frame];
	type("^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$");
	const wanted = countEvents(function (i) {
		for (let node = model.node[i]; node; node = model.parent[node]) {
			if (model.names[model.frame[node]].toLowerCase() === name.toLowerCase())
				return true;
		}
		return false;
	});
	same("search counts each stack once", page.countMatched(model, sums, page.shown.match, 0), wanted);
	reset();
	const times = new Map();
	page.shown.scenes[0].boxes.frame.forEach(function (one) {
		times.set(one, one > 0 ? (times.get(one) || 0) + 1 : 0);
	});
	const drawn = Array.from(times.keys()).reduce(function (best, one) {
		return times.get(one) > times.get(best) ? one : best;
	});
	type("^" + model.names[drawn].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$");
	const places = page.shown.scenes[0].boxes.frame.filter(function (one) {
		return one > 0 && model.names[one].toLowerCase() === model.names[drawn].toLowerCase();
	}).length, been = [];
	for (let i = 0; i <= places; i++) {
		press("n");
		been.push(page.selected() ? page.selected().path.join(".") : "nowhere");
	}
	check("n goes to each match in turn, and begins again", places > 0 && new Set(been).size === places &&
		been[0] === been[places] && been.every(function (path) {
		return model.names[path.split(".").pop()].toLowerCase() === model.names[drawn].toLowerCase();
	}), places + " matches: " + been.join(" "));
	press("N");
	same("N goes back", page.selected().path.join("."), been[(2 * places - 1) % places]);
	reset();
	same("Escape ends the search", state.query, "");
});
attempt("callers first adds up to the same", function () {
	press("2");
	const boxes = page.shown.scenes[0].boxes, wrong = [];
	same("callers first has all samples", boxes.whole, model.about.count);
	for (let box = boxes.rows[1]; box < boxes.rows[2]; box++) {
		if (boxes.frame[box] >= 0 && boxes.total[box] !== sums.functionSelf[boxes.frame[box]])
			wrong.push(model.names[boxes.frame[box]]);
	}
	check("its first row are the functions' own samples", wrong.length === 0, wrong);
	reset();
});
attempt("a function's view has all its samples", function () {
	press("3");
	check("the list of functions is there", byId("function-rows").querySelectorAll("tr").length > 0, "empty");
	const wrong = [];
	Array.from(byId("function-rows").querySelectorAll("tr")).slice(0, 20).forEach(function (row) {
		const frame = +row.dataset.frame, line = byId("function-rows")
			.querySelector("[data-frame='" + frame + "']");
		line.click();
		page.flush();
		const wanted = countEvents(function (i) { return stackHas(model.node[i], frame); });
		page.shown.scenes.forEach(function (scene) {
			if (scene.boxes.whole !== wanted)
				wrong.push(model.names[frame] + ": " + scene.boxes.whole + ", " + wanted);
		});
		if (line.querySelector(".name").textContent !== model.names[frame])
			wrong.push("named " + line.textContent);
	});
	check("a function's view has all its samples, both ways", wrong.length === 0, wrong);
	reset();
});
attempt("places in the source", function () {
	let seen = 0;
	eachBox(function (found, boxes) {
		const frame = boxes.frame[found.box], place = frame > 0 ? model.places[frame] : "";
		if (!/:\d+$/.test(place) || page.rectOf(found).width < 1)
			return;
		onBox("mousemove", found);
		if (!seen++)
			check("the tip of a function tells where it is defined",
				byId("tip-facts").textContent.indexOf("defined in " + place) >= 0,
				byId("tip-facts").textContent);
	});
});
attempt("a click zooms, the address leads back", function () {
	let narrow = null;
	eachBox(function (found, boxes) {
		if (page.rectOf(found).width > 4 && (!narrow || boxes.total[found.box] <=
			boxes.total[narrow.box]))
			narrow = found;
	});
	const frame = narrow.scene.boxes.frame[narrow.box], total = narrow.scene.boxes.total[narrow.box];
	onBox("mousemove", narrow);
	same("the tip names the frame", byId("tip-name").textContent, model.names[frame]);
	check("the tip tells samples and share", /sample.*%/.test(byId("tip-facts").textContent),
		byId("tip-facts").textContent);
	onBox("click", narrow);
	const boxes = page.shown.scenes[0].boxes;
	check("a click zooms", boxes.whole === total && boxes.frame[boxes.focus] === frame,
		boxes.whole + " of " + total);
	type("x");
	page.writeAddress();
	const address = location.hash;
	reset();
	check("Escape goes back", state.path.length === 0 && page.shown.scenes[0].boxes.whole ===
		model.about.count, state.path);
	location.hash = address;
	window.dispatchEvent(new PopStateEvent("popstate"));
	page.flush();
	check("the address leads back to zoom and search", page.shown.scenes[0].boxes.whole === total &&
		state.query === "x", address + ": " + state.query + " " + page.shown.scenes[0].boxes.whole);
	reset();
});
attempt("arrow keys walk", function () {
	press("ArrowUp");
	press("ArrowUp");
	check("arrow keys select a frame", page.selected() && page.selected().path.length === 1 &&
		!byId("at").hidden, JSON.stringify(page.selected()));
	check("the status tells of it", /sample/.test(byId("status").textContent), byId("status").textContent);
	press("Enter");
	same("Enter zooms", state.path.length, 1);
	press("f");
	check("f shows its function", state.view === "function" && state.fn >= 0, state.view);
	reset();
});
attempt("addresses that make no sense do nothing", function () {
	["#t=9-1", "#z=99999.-1.x&zc=7", "#view=<b>&f=1e9&pcpu=77&domain=999999", "#q=%ff%00(((&t=x",
		"#__proto__=1&view=constructor&turn=toString"].forEach(goTo);
	goTo("");
	reset();
	same("addresses that make no sense do nothing", sums.total[0], model.about.count);
});
attempt("filters that exclude each other say so", function () {
	goTo("t=" + (Math.ceil(model.duration) + 1) + "-" + (Math.ceil(model.duration) + 2));
	choose("filter-pcpu", model.pcpus[0]);
	check("an empty selection says why", !byId("nothing").hidden && /filters/.test(byId("nothing").textContent),
		byId("nothing").textContent);
	press("0");
	check("and the graph comes back", byId("nothing").hidden, byId("nothing").textContent);
});
attempt("help", function () {
	press("?");
	check("? shows the keys", byId("help").open && byId("keys").children.length > 10, "no help");
	byId("help").close();
	press("q");
	check("q tells what is missing", byId("quality").open && byId("quality-rows").clientHeight > 0, "no rows");
	checkQuality();
	press("q");
});
attempt("names are text", function () {
	same("names make no elements", document.querySelectorAll("svg, img, g, b:not(#quality-words b), iframe")
		.length, 0);
	same("names make no scripts", document.scripts.length, 4 + window.xenflameScripts);
	check("names hold nothing that turns text around", !model.names.some(function (name) {
		return /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(name);
	}), "one does");
	same("names do not turn what is around them", getComputedStyle(byId("tip-name")).unicodeBidi,
		"isolate-override");
	same("nothing was loaded from elsewhere", performance.getEntriesByType("resource").length, 0);
});

/* ---- What is known of the made-up ones ---- */

attempt("known recordings", function () {
	const has = function (name) { return model.names.includes(name); };
	if (known.recording === "mixed") {
		same("losses are told by cause", readQuality().filter(function (row) { return row.kind === "lost"; })
			.map(function (row) { return row.words + " " + row.count; }).join("; "),
		"lost: eight samples were waiting 2; lost: the trace buffer was full 1");
		const map = page.shown.heat, at = function (seconds, row, cells) {
			return cells[row * map.nr + Math.floor(seconds * 1e9 / model.about.unit / map.step + 0.5)];
		};
		same("columns of mixed are 200 ms", map.step * model.about.unit, 2e8);
		/* Each of its runs begins half a second after the one before, and has 99 samples a second. */
		same("samples of mixed are in the columns and rows of their runs", [at(0, 0, map.all), at(0, 1, map.all),
			at(1, 1, map.all), at(3, 1, map.busy)].join(), "20,0,20,20");
		type("^x86_emulate$");
		check("x86_emulate has 82 samples", /\(82\)/.test(byId("status").textContent),
			byId("status").textContent);
		reset();
	}
	if (known.recording === "hostile") {
		["a<b&c\"d'e", "]]>x", "<g onload=\"alert(1)\">", "<\/script><\u0021--\u5fae\u8edf e\u0301\ud83d\udd25", "new\\x0aline\\x09tab\\x1b[31mred",
			"bad\\xff\\xc0\\xaf\\xed\\xa0\\x80utf8", "\\u202ertl\\u200b\\ufffe"].forEach(function (name) {
			check("shown as it is: " + JSON.stringify(name), has(name), "not among the names");
		});
	}
	if (known.recording === "foreign") {
		["_RNvCs1234_7mycrate3foo", "_RINvNtCs_4core3ptr13drop_in_placeE", "camlFoo__bar_123", "n".repeat(4096),
			"<g onload=\"alert(1)\">", "]]>x&<\u0021--"].forEach(function (name) {
			check("shown as it is: " + JSON.stringify(name.slice(0, 40)), has(name), "not among the names");
		});
		type("^n{4096}$");
		check("4 KiB of a name can be searched", /100\.00%/.test(byId("status").textContent),
			byId("status").textContent);
		reset();
	}
});
check("no script error", errors.length === 0, errors.join("; "));
document.documentElement.setAttribute("data-verdicts", verdicts.join("\u241e"));
})();
