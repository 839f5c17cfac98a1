/* SPDX-License-Identifier: GPL-2.0-or-later
   What is shown, and how it gets onto the page. All that a reader chooses is in @state; change() says
   which parts of it are new, and update() makes what follows from them. */

const model = readModel(), about = model.about, sums = newSums(model), LEFT = 14, TOP = 8;
const state = {
	view: "stacks", icicle: about.icicle, path: [], side: "callees", fn: -1, query: "",
	domain: "all", vcpu: -1, pcpu: -1, range: null, theme: "auto", by: "self",
	perPcpu: model.pcpus.length > 1 && model.pcpus.length <= 32
};
const shown = { selection: "", trees: {}, scenes: [], match: null, heat: null, height: 0, sight: 0, width: 0,
	pending: null };
let at = null; /* the selected box: { side, path } */
let look = null;

function byId(id) {
	return document.getElementById(id);
}

function isDark() {
	return state.theme === "dark" ||
		state.theme === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/* A row is a pixel high at least. */
function mayHaveRows() {
	return model.pcpus.length > 1 && model.pcpus.length <= 256;
}

function isFiltered() {
	return state.domain !== "all" || state.vcpu >= 0 || state.pcpu >= 0 || !!state.range;
}

/* ---- From the state to the picture ---- */

function makeLook() {
	const dark = isDark(), context = byId("graph").getContext("2d");
	document.documentElement.toggleAttribute("data-dark", dark);
	const palette = paletteOf(model, dark);
	const incomplete = palette.find(function (colours) { return colours.stripe; });
	const font = getComputedStyle(document.querySelector("#tip-name")).fontFamily;
	context.font = "12px " + font;
	look = {
		palette: palette, names: model.names, dark: dark,
		isFunction: model.kinds.map(function (kind) { return kind === "xen" || kind === "agent"; }),
		changed: model.compare && function (sides) { return changeColours(model, sums, sides, dark); },
		 font: "12px " + font,
		stripes: incomplete ? stripesOf(context, incomplete) : null,
		column: context.measureText("0").width,
		rest: getComputedStyle(document.documentElement).getPropertyValue("--rest").trim()
	};
}

/* The sums are made anew only where they are of another selection. */
function sumSelected() {
	const selection = JSON.stringify([state.domain, state.vcpu, state.pcpu, state.range]);
	if (selection === shown.selection)
		return;
	shown.selection = selection;
	sumUp(model, state, sums);
	shown.trees = {};
}

function tree(which) {
	if (!shown.trees[which])
		shown.trees[which] = which === "stacks" ? stacksTree(model, sums) :
			which === "all callers" ? callersTree(model, sums) :
			functionTree(model, sums, state.fn, which === "callers");
	return shown.trees[which];
}

function makeScene(side, which, path, width, yOf) {
	const boxes = layOut(tree(which), path, width);
	return { side: side, boxes: boxes, scale: width / (boxes.whole || 1), left: LEFT, yOf: yOf };
}

function rowsOf(scene) {
	return scene.boxes.rows.length - 1;
}

function layOutFunction(width) {
	const paths = { callers: [], callees: [] };
	paths[state.side] = state.path;
	const callers = makeScene("callers", "callers", paths.callers, width, function (row) {
		return TOP + (rowsOf(callers) - 1 - row) * ROW;
	});
	const callees = makeScene("callees", "callees", paths.callees, width, function (row) {
		return TOP + (rowsOf(callers) - 1 + row) * ROW;
	});
	shown.scenes = [callers, callees];
	return (rowsOf(callers) + rowsOf(callees) - 1) * ROW + 2 * TOP;
}

function layOutStacks(width) {
	const which = state.view === "callers" ? "all callers" : "stacks";
	const scene = makeScene("callees", which, state.path, width, function (row) {
		return state.icicle ? TOP + row * ROW : shown.height - TOP - (row + 1) * ROW;
	});
	shown.scenes = [scene];
	return rowsOf(scene) * ROW + 2 * TOP;
}

function widthOfGraph() {
	return Math.max(byId("scroll").clientWidth - 2 * LEFT, 10);
}

/* What stands around graph and map may take more room, too. */
function followWindow() {
	if (heatWidth() !== shown.heatWidth)
		change("heat", "layout");
	else if (widthOfGraph() !== shown.width || byId("scroll").clientHeight !== shown.sight)
		change("layout");
}

function relayout() {
	const scroll = byId("scroll"), below = shown.height - scroll.scrollTop - shown.sight;
	const drawn = sums.total[0] > 0 && (state.view !== "function" ||
		state.fn >= 0 && sums.functionTotal[state.fn] > 0);
	shown.width = widthOfGraph();
	byId("nothing").hidden = drawn;
	byId("nothing").textContent = sums.total[0] > 0 ?
		state.fn < 0 ? "Choose a function from the list, or select a frame and press f." :
			"No selected sample is in " + model.names[state.fn] + "." :
		"No sample is left: the filters exclude each other. Esc or 0 drops them.";
	shown.scenes = [];
	const height = drawn ? state.view === "function" ? layOutFunction(shown.width) :
		layOutStacks(shown.width) : 0;
	shown.sight = scroll.clientHeight;
	shown.height = Math.max(height, shown.sight);
	byId("space").style.height = shown.height + "px";
	if (shown.scenes[0])
		state.path = shown.scenes[state.view === "function" && state.side === "callees" ? 1 : 0]
			.boxes.path;
	/* Flames grow upwards: what stands at their foot stays where it is. */
	if (state.view !== "function" && !state.icicle)
		scroll.scrollTop = shown.height - shown.sight - below;
}

function paint() {
	const scroll = byId("scroll"), height = scroll.clientHeight;
	const context = penOf(byId("graph"), scroll.clientWidth, height);
	context.clearRect(0, 0, scroll.clientWidth, height);
	context.font = look.font;
	shown.scenes.forEach(function (scene) {
		scene.top = scroll.scrollTop;
		scene.bottom = scroll.scrollTop + height;
		scene.match = shown.match;
		paintBoxes(context, look, scene);
	});
	ring("at", at && boxOf(at));
	ring("hover", null);
}

function repaintHeat() {
	if (model.compare)
		return;
	paintHeat(byId("heat-canvas"), shown.heat, model, shown.heatWidth, look.dark, state.pcpu);
	showRange();
}

function heatWidth() {
	return byId("heat-area").clientWidth;
}

/* The parts: theme, sums, match, heat, layout; each brings those that follow from it. */
function update(parts) {
	if (parts.has("theme"))
		makeLook();
	if (parts.has("sums"))
		sumSelected();
	if (parts.has("match"))
		shown.match = search(model, state.query);
	shown.heatWidth = heatWidth();
	if (!model.compare && (parts.has("heat") || parts.has("match") || parts.has("filter")))
		shown.heat = heatCells(model, state, shown.match, state.perPcpu,
			Math.max(20, Math.floor(shown.heatWidth / 4)));
	if (parts.has("function")) {
		delete shown.trees.callers;
		delete shown.trees.callees;
	}
	if (["sums", "layout", "function"].some(function (part) { return parts.has(part); }))
		relayout();
	if (["heat", "match", "filter", "theme"].some(function (part) { return parts.has(part); }))
		repaintHeat();
	else
		showRange();
	paint();
	showControls();
	tell();
	keepAddress();
}

function change() {
	const parts = Array.from(arguments);
	if (!shown.pending) {
		shown.pending = new Set();
		requestAnimationFrame(flush);
	}
	parts.forEach(function (part) { shown.pending.add(part); });
}

function flush() {
	const parts = shown.pending;
	shown.pending = null;
	if (parts)
		update(parts);
}

/* ---- What a reader does ---- */

function setFilter(changes) {
	Object.assign(state, changes);
	if ("domain" in changes && !("vcpu" in changes))
		state.vcpu = -1;
	change("sums", "filter");
}

function setRange(range) {
	state.range = range && range[1] > range[0] ? range : null;
	change("sums");
}

function setQuery(text) {
	state.query = text;
	if (byId("search").value !== text)
		byId("search").value = text;
	change("match");
}

function setView(view, fn) {
	if (view === "function" && fn === undefined && at && at.path.length)
		fn = at.path[at.path.length - 1];
	else if (view === "function" && fn === undefined && state.fn < 0)
		fn = listFunctions()[0];
	if (fn !== undefined)
		state.fn = fn;
	state.view = view;
	state.path = [];
	state.side = "callees";
	at = null;
	byId("functions").hidden = view !== "function";
	change("function");
	newStep();
}

function zoomTo(side, path) {
	state.side = side;
	state.path = path;
	change("layout");
	newStep();
}

function turn() {
	state.icicle = !state.icicle;
	change("layout");
}

function nextTheme() {
	state.theme = { auto: "light", light: "dark", dark: "auto" }[state.theme];
	change("theme");
}

function clearFilters() {
	setFilter({ domain: "all", vcpu: -1, pcpu: -1, range: null });
}

/* ---- Boxes: where they are, what is said of them ---- */

function boxOf(place) {
	const scene = shown.scenes.find(function (each) { return each.side === place.side; }) ||
		shown.scenes[0];
	let box = 0;
	for (let i = 0; scene && i < place.path.length; i++) {
		const parent = box;
		box = -1;
		for (let next = scene.boxes.rows[i + 1]; next < scene.boxes.rows[i + 2]; next++) {
			if (scene.boxes.parent[next] === parent && scene.boxes.frame[next] === place.path[i])
				box = next;
		}
		if (box < 0)
			return null;
	}
	return scene ? { scene: scene, box: box } : null;
}

/* The box at a place in the window. */
function boxUnder(clientX, clientY) {
	const area = byId("space").getBoundingClientRect();
	const x = clientX - area.left, y = clientY - area.top;
	for (const scene of shown.scenes) {
		for (let row = 0; row < rowsOf(scene); row++) {
			if (y < scene.yOf(row) || y >= scene.yOf(row) + ROW)
				continue;
			const box = boxAt(scene.boxes, row, (x - scene.left) / scene.scale);
			if (box >= 0)
				return { scene: scene, box: box };
		}
	}
	return null;
}

function rectOf(found) {
	const scene = found.scene, boxes = scene.boxes;
	return {
		x: scene.left + boxes.start[found.box] * scene.scale,
		y: scene.yOf(rowOf(boxes, found.box)),
		width: boxes.total[found.box] * scene.scale, height: ROW - GAP
	};
}

function ring(id, found) {
	const node = byId(id);
	node.hidden = !found;
	if (!found)
		return;
	const rect = rectOf(found);
	node.style.left = rect.x - 1 + "px";
	node.style.top = rect.y - 1 + "px";
	node.style.width = Math.max(rect.width, 2) + 1 + "px";
	node.style.height = rect.height + 2 + "px";
}

function wholeWord() {
	return model.compare ? " of both" : isFiltered() ? " of the selection" : " of all";
}

function factsOf(found) {
	const boxes = found.scene.boxes, total = boxes.total[found.box], frame = boxes.frame[found.box];
	if (model.compare)
		return frame < 0 ? "" : comparisonFacts(model, boxes.tree.sides(boxes.node[found.box]));
	let facts = samples(total) + ", " + percent(total, sums.total[0]) + wholeWord();
	if (boxes.focus && found.box > boxes.focus)
		facts += ", " + percent(total, boxes.whole) + " of the view";
	if (frame > 0 && state.view !== "callers")
		facts += "\nin all its places: " + percent(sums.functionTotal[frame], sums.total[0]) +
			" total, " + percent(sums.functionSelf[frame], sums.total[0]) + " self";
	if (frame > 0 && model.places[frame] && !model.isKind(frame, "incomplete"))
		facts += "\ndefined in " + model.places[frame];
	return facts;
}

function nameOf(found) {
	const frame = found.scene.boxes.frame[found.box];
	return frame < 0 ? "frames too narrow to draw" : model.names[frame];
}

function select(found) {
	at = found ? { side: found.scene.side, path: pathOf(found.scene.boxes, found.box) } : null;
	if (found) {
		const rect = rectOf(found), scroll = byId("scroll");
		if (rect.y < scroll.scrollTop)
			scroll.scrollTop = rect.y - ROW;
		else if (rect.y + ROW > scroll.scrollTop + scroll.clientHeight)
			scroll.scrollTop = rect.y + 2 * ROW - scroll.clientHeight;
	}
	paint();
	tell();
}

function tell() {
	const words = [], selected = at && boxOf(at);
	if (shown.match) {
		const matched = countMatched(model, sums, shown.match, 0);
		words.push("\u201c" + state.query + "\u201d: " + percent(matched, sums.total[0]) +
			wholeWord() + (model.compare ? "" : " (" + number(matched) + ")"));
		if (state.view === "stacks" && state.path.length) {
			const boxes = shown.scenes[0].boxes;
			words.push(percent(countMatched(model, sums, shown.match, boxes.node[boxes.focus]),
				boxes.whole) + " of the view");
		}
	}
	if (selected)
		words.push(nameOf(selected).slice(0, 160) + ": " + factsOf(selected).split("\n")[0]);
	else if (isFiltered())
		words.push(samples(sums.total[0]) + " selected, " +
			percent(sums.total[0], about.count) + " of all");
	byId("status").textContent = words.join("  \u00b7  ") ||
		"Click a frame to zoom, f shows a function, / searches, ? tells the keys";
}
