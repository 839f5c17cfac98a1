/* SPDX-License-Identifier: GPL-2.0-or-later
   Put into a flame graph's page behind its own script: does what a reader does, and leaves the verdicts
   in the root's attribute data-verdicts, "ok NAME" or "not ok NAME: WHY" each, with a U+241E between
   them. What is shown is compared with sums made anew from the samples. */
(function () {
"use strict";
const page = window.xenflame, verdicts = [], errors = window.xenflameErrors || [];
const model = page.model, state = page.state, sums = page.sums;

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

/* A copy of what is on the canvas. Return: the colour at a place of the graph, as #rrggbb. */
function readPixels() {
	const canvas = byId("graph"), ratio = canvas.width / canvas.clientWidth;
	const copy = document.createElement("canvas");
	copy.width = canvas.width;
	copy.height = canvas.height;
	const pen = copy.getContext("2d", { willReadFrequently: true });
	pen.drawImage(canvas, 0, 0);
	return function (x, y) {
		const data = pen.getImageData(Math.floor(x * ratio),
			Math.floor((y - byId("scroll").scrollTop) * ratio), 1, 1).data;
		return "#" + Array.from(data).slice(0, 3).map(function (channel) {
			return channel.toString(16).padStart(2, "0");
		}).join("");
	};
}

function fillOf(frame, dark) {
	/* From the legend's swatches: what the page says a colour means. */
	return { domain: dark ? "#4a5869" : "#c3cedb", idle: dark ? "#3b3e45" : "#dcdad6",
		agent: dark ? "#9c85cf" : "#c7b5ea", unknown: dark ? "#a98793" : "#d8bcc6" }[model.kinds[frame]];
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

function wrongPixels(dark) {
	const wrong = [], pixel = readPixels();
	eachBox(function (found, boxes) {
		const rect = page.rectOf(found), wanted = fillOf(boxes.frame[found.box], dark);
		const top = byId("scroll").scrollTop;
		if (!wanted || rect.width < 6 || rect.y < top || rect.y + 19 > top + byId("scroll").clientHeight ||
			found.box < boxes.focus)
			return;
		const got = pixel(rect.x + 2, rect.y + 3);
		if (got !== wanted)
			wrong.push(model.names[boxes.frame[found.box]] + " is " + got);
	});
	return wrong;
}

/* ---- What holds of every recording ---- */

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
attempt("pixels have the colours of their kinds", function () {
	check("pixels have the colours of their kinds", wrongPixels(false).length === 0, wrongPixels(false));
	press("d");
	press("d");
	check("dark pixels too", wrongPixels(true).length === 0, wrongPixels(true));
	check("the page is dark", getComputedStyle(document.body).backgroundColor === "rgb(23, 24, 27)",
		getComputedStyle(document.body).backgroundColor);
	press("d");
});
attempt("i turns the graph", function () {
	const foot = page.rectOf({ scene: page.shown.scenes[0], box: 0 }).y;
	press("i");
	check("i turns the graph", state.icicle && page.rectOf({ scene: page.shown.scenes[0], box: 0 }).y < foot,
		"the root stays at " + foot);
	byId("scroll").scrollTop = 0;
	check("pixels of the icicle are right", wrongPixels(false).length === 0, wrongPixels(false));
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
	let all = 0;
	page.shown.heat.all.forEach(function (count) { all += count; });
	same("the map of time holds every sample", all, model.about.count);
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
	check("what is no expression is taken as it is", !/100\.00%/.test(byId("status").textContent) ||
		model.names.every(function (name, i) { return !i || name.includes("("); }), "all match");
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
	press("n");
	let drawn = false;
	eachBox(function (found, boxes) { drawn = drawn || boxes.frame[found.box] === frame; });
	check("n goes to a match", !drawn || page.selected() && model.names[page.selected().path.slice(-1)[0]] === name,
		JSON.stringify(page.selected()));
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
		"#__proto__=1&view=constructor&turn=toString"].forEach(function (address) {
		location.hash = address;
		window.dispatchEvent(new PopStateEvent("popstate"));
		page.flush();
	});
	location.hash = "";
	window.dispatchEvent(new PopStateEvent("popstate"));
	page.flush();
	reset();
	same("addresses that make no sense do nothing", sums.total[0], model.about.count);
});
attempt("filters that exclude each other say so", function () {
	state.range = [model.duration + 1, model.duration + 2];
	press("t");
	choose("filter-pcpu", model.pcpus[0]);
	check("an empty selection says why", !byId("nothing").hidden && /filters/.test(byId("nothing").textContent),
		byId("nothing").textContent);
	press("0");
	press("t");
	check("and the graph comes back", byId("nothing").hidden, byId("nothing").textContent);
});
attempt("help", function () {
	press("?");
	check("? shows the keys", byId("help").open && byId("keys").children.length > 10, "no help");
	byId("help").close();
	press("q");
	check("q tells what is missing", byId("quality").open && byId("quality-rows").children.length > 0, "no rows");
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
	if (model.about.host.indexOf("labhost") === 0 && has("web-1") && has("x86_emulate")) {
		state.range = [0, 5e8 / model.about.unit];
		choose("filter-pcpu", 0);
		same("the first half second of pCPU 0 has fifty samples", sums.total[0], 50);
		same("all of them in the guest's kernel", sums.functionSelf[model.names.indexOf("[guest kernel]")], 50);
		reset();
		same("lost, by cause", [model.about.lostSlot, model.about.lostNmi, model.about.lostTrace,
			model.about.skipped].join(), "2,0,1,1234");
		type("^x86_emulate$");
		check("x86_emulate has 82 samples", /\(82\)/.test(byId("status").textContent),
			byId("status").textContent);
		reset();
	}
	if (has("entry;semi")) {
		["a<b&c\"d'e", "]]>x", "<g onload=\"alert(1)\">", "<\/script><\u0021--\u5fae\u8edf e\u0301\ud83d\udd25", "new\\x0aline\\x09tab\\x1b[31mred",
			"bad\\xff\\xc0\\xaf\\xed\\xa0\\x80utf8", "\\u202ertl\\u200b\\ufffe"].forEach(function (name) {
			check("shown as it is: " + JSON.stringify(name), has(name), "not among the names");
		});
	}
});
check("no script error", errors.length === 0, errors.join("; "));
document.documentElement.setAttribute("data-verdicts", verdicts.join("\u241e"));
})();
