/* SPDX-License-Identifier: GPL-2.0-or-later
   Pointer, keys, and the address, which always leads back to what is shown. */

/* ---- The tip ---- */

function showTip(words, place, facts, clientX, clientY) {
	const tip = byId("tip");
	byId("tip-name").textContent = words;
	byId("tip-place").textContent = place;
	byId("tip-facts").textContent = facts;
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(8, Math.min(clientX + 14, window.innerWidth - box.width - 8)) + "px";
	tip.style.top = (clientY + 18 + box.height > window.innerHeight ?
		Math.max(4, clientY - box.height - 12) : clientY + 18) + "px";
}

function hideTip() {
	byId("tip").hidden = true;
	ring("hover", null);
}

function overGraph(event) {
	const found = boxUnder(event.clientX, event.clientY);
	byId("scroll").style.cursor = found && found.scene.boxes.frame[found.box] >= 0 ? "pointer" : "";
	if (!found) {
		hideTip();
		return;
	}
	ring("hover", found);
	showTip(nameOf(found), model.places[found.scene.boxes.frame[found.box]] || "", factsOf(found),
		event.clientX, event.clientY);
}

function clickGraph(event) {
	const found = boxUnder(event.clientX, event.clientY);
	hideTip();
	if (!found || found.scene.boxes.frame[found.box] < 0)
		return;
	const path = pathOf(found.scene.boxes, found.box);
	at = { side: found.scene.side, path: path };
	zoomTo(found.scene.side, path);
}

/* ---- The range ---- */

let drag = null; /* where it began, in units of time */

function timeUnder(event) {
	const area = byId("heat-area").getBoundingClientRect();
	return xToTime(model, event.clientX - area.left, area.width);
}

/* From and to, on the borders of columns. */
function columnsBetween(a, b) {
	const step = shown.heat.step, from = Math.floor(Math.min(a, b) / step) * step;
	return [from, Math.min(Math.ceil(Math.max(a, b) / step) * step, model.duration + 1)];
}

function overHeat(event) {
	const area = byId("heat-area").getBoundingClientRect();
	if (drag !== null) {
		setRange(columnsBetween(drag, timeUnder(event)));
		return;
	}
	const words = heatWords(shown.heat, model, event.clientX - area.left, event.clientY - area.top,
		area.width, !!shown.match);
	showTip(words[0], "", words[1], event.clientX, event.clientY);
}

function startDrag(event) {
	if (event.button)
		return;
	hideTip();
	drag = timeUnder(event);
	if (byId("heat-area").setPointerCapture && event.isTrusted)
		byId("heat-area").setPointerCapture(event.pointerId);
}

function endDrag(event) {
	if (drag !== null && Math.abs(timeUnder(event) - drag) < shown.heat.step / 2)
		setRange(null);
	drag = null;
}

function moveRange(event) {
	const step = shown.heat.step, right = event.key === "ArrowRight" ? step : -step;
	const range = state.range || (right > 0 ? [0, step] : [model.duration - step, model.duration + 1]);
	if (!state.range)
		setRange(range);
	else if (event.shiftKey)
		setRange([range[0], Math.max(range[0] + step, Math.min(range[1] + right,
			model.duration + 1))]);
	else if (range[0] + right >= 0 && range[1] + right <= model.duration + step)
		setRange([range[0] + right, range[1] + right]);
}

/* ---- Walking ---- */

function childOf(found) {
	const boxes = found.scene.boxes, row = rowOf(boxes, found.box) + 1;
	let best = -1;
	for (let box = boxes.rows[row]; box < boxes.rows[row + 1]; box++) {
		if (boxes.parent[box] === found.box && boxes.frame[box] >= 0 &&
			(best < 0 || boxes.total[box] > boxes.total[best]))
			best = box;
	}
	return best < 0 ? null : { scene: found.scene, box: best };
}

function parentOf(found) {
	const parent = found.scene.boxes.parent[found.box];
	if (parent >= 0)
		return { scene: found.scene, box: parent };
	/* From the foot of the one half of a function's view into the other. */
	const other = shown.scenes.find(function (scene) { return scene !== found.scene; });
	return other ? childOf({ scene: other, box: 0 }) : null;
}

function besideOf(found, step) {
	const boxes = found.scene.boxes, row = rowOf(boxes, found.box);
	let box = found.box + step;
	while (box >= boxes.rows[row] && box < boxes.rows[row + 1] && boxes.frame[box] < 0)
		box += step;
	return box >= boxes.rows[row] && box < boxes.rows[row + 1] ? { scene: found.scene, box: box } : null;
}

function walk(key) {
	const from = at && boxOf(at);
	if (!shown.scenes.length)
		return;
	if (!from) {
		const scene = shown.scenes[shown.scenes.length - 1];
		select({ scene: scene, box: scene.boxes.focus });
		return;
	}
	const grows = state.view === "function" ? (from.scene.side === "callers" ? "ArrowUp" : "ArrowDown") :
		state.icicle ? "ArrowDown" : "ArrowUp";
	const next = key === "ArrowLeft" ? besideOf(from, -1) : key === "ArrowRight" ? besideOf(from, 1) :
		key === grows ? childOf(from) : parentOf(from);
	if (next)
		select(next);
}

/* The next box, row by row, whose name matches. */
function nextMatch(step) {
	const places = [], from = at && boxOf(at);
	let here = -1;
	if (!shown.match)
		return;
	shown.scenes.forEach(function (scene) {
		for (let box = 0; box < scene.boxes.frame.length; box++) {
			if (from && from.scene === scene && from.box === box)
				here = places.length - (step > 0 ? 1 : 0);
			if (scene.boxes.frame[box] > 0 && shown.match.frames[scene.boxes.frame[box]] &&
				!(from && from.scene === scene && from.box === box))
				places.push({ scene: scene, box: box });
		}
	});
	if (places.length)
		select(places[(here + step + places.length) % places.length]);
}

/* ---- Keys ---- */

/* Takes back one thing, the last first. */
function back() {
	if (byId("quality").open)
		byId("quality").open = false;
	else if (at && !(state.path.length && at.path.length === state.path.length))
		select(null);
	else if (state.query)
		setQuery("");
	else if (state.path.length)
		unzoom();
	else if (isFiltered())
		clearFilters();
	else if (state.view !== "stacks")
		setView("stacks");
	else
		select(null);
}

function unzoom() {
	at = null;
	zoomTo(state.side, []);
}

/* Key, what it does in words and in deed, and whether it is of what a comparison has not. */
const KEYS = [
	["/", "search: a regular expression, without regard to case unless it has capitals",
		function () { byId("search").focus(); byId("search").select(); }],
	["n", "next match (N: the one before)", function () { nextMatch(1); }],
	["N", "", function () { nextMatch(-1); }],
	["1", "stacks from the outermost frame", function () { setView("stacks"); }],
	["2", "callers: innermost functions first", function () { setView("callers"); }],
	["3", "one function (that of the selected frame): who calls it, whom it calls",
		function () { setView("function"); }],
	["f", "the same", function () { setView("function"); }],
	["i", "flame or icicle: callers below or on top", turn],
	["arrow keys", "walk; in the map of time, move the range (with Shift: its end)", null],
	["Enter", "zoom to the selected frame", function () {
		if (at)
			zoomTo(at.side, at.path);
	}],
	["Backspace", "zoom out by one frame", function () {
		zoomTo(state.side, state.path.slice(0, -1));
	}],
	["t", "the map of time in one row, or by pCPU", function () {
		state.perPcpu = !state.perPcpu && mayHaveRows();
		change("heat", "layout");
	}, "time"],
	["r", "to the map of time", function () { byId("heat").focus(); }, "time"],
	["d", "colours as the system, light or dark", nextTheme],
	["q", "what is missing, and why", function () { byId("quality").open = !byId("quality").open; },
		"time"],
	["0", "drop all filters", clearFilters, "time"],
	["Escape", "take back: selection, search, zoom, filters, view", back],
	["?", "this help", function () { byId("help").showModal(); }]
];

function onKey(event) {
	const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName || "");
	if (byId("help").open || event.altKey)
		return;
	if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") {
		event.preventDefault();
		KEYS[0][2]();
		return;
	}
	if (event.ctrlKey || event.metaKey)
		return;
	if (inField) {
		if (event.key === "Escape" || event.key === "Enter" && event.target.id === "search") {
			event.preventDefault();
			if (event.key === "Escape" && event.target.id === "search")
				setQuery("");
			byId("scroll").focus();
		}
		return;
	}
	if (/^Arrow/.test(event.key)) {
		event.preventDefault();
		hideTip();
		if (event.target.id === "heat")
			moveRange(event);
		else
			walk(event.key);
		return;
	}
	if (event.key === "Enter" && /^(BUTTON|SUMMARY)$/.test(event.target.tagName || ""))
		return;
	const entry = KEYS.find(function (key) { return key[0] === event.key; });
	if (entry && entry[2] && !(entry[3] && model.compare)) {
		event.preventDefault();
		hideTip();
		entry[2]();
	}
}

function showKeys() {
	KEYS.forEach(function (key) {
		if (!key[1] || key[3] && model.compare)
			return;
		const line = make(byId("keys"), "tr");
		make(make(line, "td"), "kbd", key[0]);
		make(line, "td", key[1]);
	});
}

/* ---- The address ---- */

let step = false; /* the next address is a step that the browser's Back undoes */
let reading = false;

function newStep() {
	step = true;
}

/* Where the address names none. */
function firstView() {
	return about.callers ? "callers" : "stacks";
}

function addressOf() {
	const words = new URLSearchParams();
	if (state.view !== firstView())
		words.set("view", state.view);
	if (state.icicle !== about.icicle)
		words.set("turn", state.icicle ? "icicle" : "flame");
	if (state.view === "function" && state.fn >= 0)
		words.set("f", state.fn);
	if (state.path.length)
		words.set(state.side === "callers" ? "zc" : "z", state.path.join("."));
	if (state.query)
		words.set("q", state.query);
	if (state.range)
		words.set("t", state.range.join("-"));
	if (state.domain !== "all")
		words.set("domain", state.domain);
	if (state.vcpu >= 0)
		words.set("vcpu", state.vcpu);
	if (state.pcpu >= 0)
		words.set("pcpu", state.pcpu);
	return words.toString();
}

/* Browsers refuse addresses that change many times a second, as while a range is dragged. */
const ADDRESS_MS = 200;
let written = -ADDRESS_MS, later = 0;

function keepAddress() {
	clearTimeout(later);
	if (step || performance.now() - written >= ADDRESS_MS)
		writeAddress();
	else
		later = setTimeout(writeAddress, ADDRESS_MS);
}

function writeAddress() {
	const address = addressOf(), isStep = step;
	step = false;
	if (reading || location.hash.slice(1) === address)
		return;
	written = performance.now();
	try {
		history[isStep ? "pushState" : "replaceState"](null, "", "#" + address);
	} catch (error) {
		location.hash = address;
	}
}

function wholeNumber(text, otherwise) {
	return /^\d{1,15}$/.test(text || "") ? +text : otherwise;
}

/* Whatever stands there: what makes no sense is as if it were not there. */
function readAddress() {
	const words = new URLSearchParams(location.hash.slice(1));
	const range = /^(\d{1,15}(?:\.\d+)?)-(\d{1,15}(?:\.\d+)?)$/.exec(words.get("t") || "");
	const path = words.get("zc") || words.get("z"), view = words.get("view");
	const domain = wholeNumber(words.get("domain"), words.get("domain") === "busy" ? "busy" : "all");
	const fn = wholeNumber(words.get("f"), -1);
	Object.assign(state, {
		view: ["stacks", "callers", "function"].includes(view) ? view : firstView(),
		icicle: words.has("turn") ? words.get("turn") === "icicle" : about.icicle,
		fn: fn < model.nrFrames ? fn : -1,
		side: words.has("zc") ? "callers" : "callees",
		path: path ? path.split(".").map(function (part) { return wholeNumber(part, -1); }) : [],
		query: words.get("q") || "",
		range: range && +range[2] > +range[1] && !model.compare ? [+range[1], +range[2]] : null,
		domain: typeof domain === "number" && !model.domains.includes(domain) || model.compare ? "all" :
			domain,
		vcpu: wholeNumber(words.get("vcpu"), -1), pcpu: wholeNumber(words.get("pcpu"), -1)
	});
	if (typeof state.domain !== "number" || !numbersOf(1, state.domain).includes(state.vcpu))
		state.vcpu = -1;
	if (!model.pcpus.includes(state.pcpu))
		state.pcpu = -1;
	at = null;
	byId("search").value = state.query;
	byId("functions").hidden = state.view !== "function";
	reading = true;
	shown.pending = null;
	update(new Set(["theme", "sums", "match", "heat", "filter", "function"]));
	reading = false;
}
