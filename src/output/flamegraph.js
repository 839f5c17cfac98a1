/* SPDX-License-Identifier: GPL-2.0-or-later
   What the flame graph does when somebody touches it. The picture is whole without this script:
   it reads the frames that are there (each g.f with data-s, where its samples start, and data-n,
   how many they are; the title's first line is the name), lays them out for the window's width,
   and moves them on zoom. Depth 0 is the root, drawn lowest, or on top where data-down is there. */
(function () {
"use strict";
var SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
var svg = document.documentElement;
if (svg.localName !== "svg")
	svg = document.querySelector("svg.xenflame");
var group = svg.querySelector("#frames"), status = svg.querySelector("#status");
var ROW = +svg.dataset.row, PAD = +svg.dataset.pad, CHAR = +svg.dataset.char;
var DOWN = "down" in svg.dataset; /* callees below their callers */
var BOTH = "both" in svg.dataset; /* widths are not numbers of samples */
var BASE = +svg.dataset.base, height = svg.viewBox.baseVal.height;
var restText = "Click a frame to zoom, / to search, arrow keys and Enter to walk, Esc to reset";
var frames = [], rows = [], zoomed = null, at = null, width = svg.viewBox.baseVal.width;
var query = null, tip = null, field = null, buttons = null, hint = "";

function make(name, attributes, parent) {
	var node = document.createElementNS(SVG, name);
	for (var key in attributes)
		node.setAttribute(key, attributes[key]);
	if (parent)
		parent.appendChild(node);
	return node;
}

function number(count) {
	return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

function percent(part, whole) {
	return (whole ? 100 * part / whole : 0).toFixed(2) + "%";
}

/* ---- The frames ---- */

function read() {
	var nodes = group.querySelectorAll("g.f");
	for (var i = 0; i < nodes.length; i++) {
		var node = nodes[i], title = node.querySelector("title");
		var text = title.textContent, cut = text.lastIndexOf("\n");
		var rect = node.querySelector("rect");
		var frame = {
			node: node, rect: rect, text: node.querySelector("text"), index: i,
			name: text.slice(0, cut), facts: text.slice(cut + 1),
			start: +node.dataset.s, count: +node.dataset.n,
			y: +rect.getAttribute("y"), match: false
		};
		frame.depth = Math.round(Math.abs(BASE - frame.y) / ROW);
		frame.isXen = (frame.depth > 1 ? /\b([xt]|more|less)\d|\beven\b/ : /\bx\d/).test(node.getAttribute("class"));
		/* The script's own tip takes the title's place; readers of the page keep the words. */
		node.setAttribute("aria-label", text.replace("\n", ", "));
		node.removeChild(title);
		node.frame = frame;
		frames.push(frame);
		(rows[frame.depth] = rows[frame.depth] || []).push(frame);
	}
	for (var d = 0; d < rows.length; d++)
		(rows[d] || []).sort(function (a, b) { return a.start - b.start; });
}

function label(frame, room) {
	var most = Math.floor((room - 6) / CHAR), name = frame.name, out = "", used = 0;
	if (most < 2)
		return "";
	/* A static function that does not fit with its file: the name alone. */
	if (frame.isXen && name.length > most && /#./.test(name))
		name = name.slice(name.lastIndexOf("#") + 1) || name;
	for (var ch of name) {
		/* Wide characters take two columns; the margin errs on the safe side. */
		used += ch.codePointAt(0) >= 0x1100 ? 2 : 1;
		if (used > most)
			return most < 3 ? "" : trim(out) + "\u2026";
		out += ch;
	}
	return out;
}

function trim(text) {
	var letters = Array.from(text);
	letters.pop();
	return letters.join("");
}

function place(frame, x, room) {
	var text = label(frame, room);
	frame.node.style.display = "";
	frame.rect.setAttribute("x", x.toFixed(2));
	frame.rect.setAttribute("width", Math.max(room - Math.min(0.8, room * 0.2), 0.05).toFixed(2));
	if (!frame.text && text)
		frame.text = make("text", { y: frame.y + ROW - 6 }, frame.node);
	if (frame.text) {
		frame.text.textContent = text;
		frame.text.setAttribute("x", (x + 4).toFixed(2));
	}
}

function layout() {
	var from = zoomed || rows[0][0], scale = (width - 2 * PAD) / from.count;
	for (var i = 0; i < frames.length; i++) {
		var frame = frames[i], x, room, parent = false;
		if (frame.depth < from.depth) {
			parent = frame.start <= from.start &&
				frame.start + frame.count >= from.start + from.count;
			x = 0;
			room = parent ? width - 2 * PAD : 0;
		} else {
			x = (frame.start - from.start) * scale;
			room = frame.start >= from.start &&
				frame.start + frame.count <= from.start + from.count ? frame.count * scale : 0;
		}
		frame.node.classList.toggle("p", parent);
		frame.room = room;
		if (room < 0.1)
			frame.node.style.display = "none";
		else
			place(frame, PAD + x, room);
	}
}

function resize() {
	var room = svg.clientWidth || window.innerWidth;
	if (svg !== document.documentElement)
		room = svg.getBoundingClientRect().width || room;
	width = Math.max(480, Math.round(room));
	svg.setAttribute("viewBox", "0 0 " + width + " " + height);
	svg.querySelectorAll("[data-right]").forEach(function (node) {
		node.setAttribute("x2", width - PAD);
	});
	svg.querySelector("#bg").setAttribute("width", width);
	if (buttons)
		buttons.setAttribute("transform", "translate(" + (width - PAD) + ",14)");
	if (field)
		placeField();
	layout();
	hideTip();
}

/* ---- Zoom and selection ---- */

function zoom(frame) {
	zoomed = frame && frame.depth ? frame : null;
	layout();
	hideTip();
	search(query);
	tell();
}

function select(frame) {
	if (at)
		at.node.classList.remove("at");
	at = frame;
	if (!at)
		return;
	at.node.classList.add("at");
	group.appendChild(at.node); /* its outline above its neighbours */
	if (at.node.scrollIntoView)
		at.node.scrollIntoView({ block: "nearest", inline: "nearest" });
	tell();
}

function isShown(frame) {
	return frame && frame.room >= 0.1;
}

function covers(outer, inner) {
	return outer.start <= inner.start && outer.start + outer.count >= inner.start + inner.count;
}

/* The widest shown frame on @frame's shoulders. */
function above(frame) {
	var best = null;
	(rows[frame.depth + 1] || []).forEach(function (other) {
		if (isShown(other) && covers(frame, other) && (!best || other.count > best.count))
			best = other;
	});
	return best;
}

function below(frame) {
	var row = rows[frame.depth - 1] || [];
	for (var i = 0; i < row.length; i++) {
		if (isShown(row[i]) && covers(row[i], frame))
			return row[i];
	}
	return null;
}

function beside(frame, step) {
	var row = rows[frame.depth], i = row.indexOf(frame) + step;
	while (row[i] && !isShown(row[i]))
		i += step;
	return row[i] || null;
}

/* ---- Search ---- */

function pattern(text) {
	var flags = text === text.toLowerCase() ? "i" : "";
	try {
		return new RegExp(text, flags);
	} catch (error) {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}

function search(text) {
	var from = zoomed || rows[0][0], expression = text ? pattern(text) : null;
	var matched = 0, frameCount = 0, end = -1;
	query = text || null;
	svg.classList.toggle("searching", !!query);
	frames.forEach(function (frame) {
		frame.match = !!expression && frame.depth > 0 && expression.test(frame.name);
		frame.node.classList.toggle("m", frame.match);
	});
	/* Stacks of which any frame matches, each once: widest first where several start together. */
	frames.filter(function (frame) {
		return frame.match && covers(from, frame);
	}).sort(function (a, b) {
		return a.start - b.start || b.count - a.count;
	}).forEach(function (frame) {
		frameCount++;
		if (frame.start >= end) {
			matched += frame.count;
			end = frame.start + frame.count;
		}
	});
	/* A matching frame below the zoomed one is in all of its stacks. */
	if (frames.some(function (frame) {
		return frame.match && frame.depth < from.depth && covers(frame, from);
	}))
		matched = from.count;
	hint = query ? "\u201c" + query + "\u201d: " + percent(matched, from.count) + " of " +
		(zoomed ? "the view" : BOTH ? "both" : "all samples") +
		(BOTH ? ", " : " (" + number(matched) + "), ") + number(frameCount) + " frames" : "";
	tell();
}

function tell() {
	var words = [];
	if (hint)
		words.push(hint);
	if (at)
		words.push(at.name.slice(0, 160) + ": " + at.facts);
	else if (zoomed)
		words.push("zoomed to " + zoomed.name.slice(0, 160) + ": " + zoomed.facts);
	status.textContent = words.join("  \u00b7  ") || restText;
}

function placeField() {
	var room = Math.min(320, width - 2 * PAD);
	field.setAttribute("x", width - PAD - room);
	field.setAttribute("width", room);
}

function openSearch() {
	var input;
	hideTip();
	if (field) {
		field.firstChild.select();
		field.firstChild.focus();
		return;
	}
	field = make("foreignObject", { y: 12, height: 28 }, svg);
	placeField();
	input = document.createElementNS(XHTML, "input");
	input.setAttribute("type", "text");
	input.setAttribute("spellcheck", "false");
	input.setAttribute("aria-label", "Search");
	input.setAttribute("placeholder", "function or regular expression");
	input.value = query || "";
	input.addEventListener("input", function () { search(input.value); });
	input.addEventListener("keydown", function (event) {
		event.stopPropagation();
		if (event.key === "Enter" || event.key === "Escape") {
			event.preventDefault();
			if (event.key === "Escape")
				search("");
			closeSearch();
		} else if (event.key.toLowerCase() === "f" && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			input.select();
		}
	});
	field.appendChild(input);
	input.select();
	input.focus();
}

function closeSearch() {
	if (field) {
		var gone = field;
		field = null;
		gone.remove();
	}
}

function reset() {
	closeSearch();
	select(null);
	query = null;
	zoom(null);
	search("");
}

/* ---- The tip ---- */

function hideTip() {
	if (tip)
		tip.remove();
	tip = null;
}

function wrap(text, columns, most) {
	var letters = Array.from(text), lines = [];
	while (letters.length && lines.length < most)
		lines.push(letters.splice(0, columns).join(""));
	if (letters.length)
		lines[most - 1] = trim(lines[most - 1]) + "\u2026";
	return lines;
}

function showTip(frame, event) {
	var columns = Math.max(20, Math.min(90, Math.floor((width - 60) / CHAR)));
	var lines = wrap(frame.name, columns, 8), box = svg.getBoundingClientRect();
	var scale = width / box.width, x, y, room, tall = 17 * lines.length + 30, facts = frame.facts;
	if (zoomed && frame.depth > zoomed.depth)
		facts += ", " + percent(frame.count, zoomed.count) + " of the view";
	hideTip();
	tip = make("g", { id: "tip" }, svg);
	var back = make("rect", { rx: 5, height: tall }, tip);
	lines.forEach(function (line, i) {
		make("text", { x: 10, y: 19 + 17 * i }, tip).textContent = line;
	});
	make("text", { x: 10, y: tall - 11, "class": "s" }, tip).textContent = facts;
	room = 0;
	tip.querySelectorAll("text").forEach(function (text) {
		room = Math.max(room, text.getComputedTextLength());
	});
	room += 20;
	back.setAttribute("width", room);
	x = (event.clientX - box.left) * scale + 14;
	y = (event.clientY - box.top) * scale + 16;
	if (x + room > width - 4)
		x = Math.max(4, width - 4 - room);
	if (event.clientY + 16 + tall > window.innerHeight || y + tall > height - 4)
		y -= tall + 28;
	tip.setAttribute("transform", "translate(" + x + "," + Math.max(y, 4) + ")");
}

function frameOf(event) {
	var node = event.target.closest && event.target.closest("g.f");
	return node ? node.frame : null;
}

/* ---- Keys and buttons ---- */

function addButton(text, key, right, room, action) {
	var button = make("g", { "class": "button", role: "button", "aria-label": text,
		transform: "translate(" + (-right - room) + ",0)" }, buttons);
	make("rect", { width: room, height: 24, rx: 5 }, button);
	var words = make("text", { x: 10, y: 16, "class": "l" }, button);
	words.textContent = text;
	make("text", { x: room - 10, y: 16, "text-anchor": "end", "class": "l key" },
		button).textContent = key;
	button.addEventListener("click", action);
}

function onKey(event) {
	var next = null, from = at || zoomed || rows[0][0];
	if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f" ||
	    event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey) {
		event.preventDefault();
		openSearch();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	switch (event.key) {
	case "Escape":
		reset();
		break;
	case "Enter":
		if (at)
			zoom(at);
		break;
	case "ArrowUp":
	case "ArrowDown":
		next = !at ? from : (event.key === "ArrowUp") === DOWN ? below(from) : above(from);
		break;
	case "ArrowLeft":
		next = at ? beside(from, -1) : from;
		break;
	case "ArrowRight":
		next = at ? beside(from, 1) : from;
		break;
	default:
		return;
	}
	event.preventDefault();
	hideTip();
	if (next)
		select(next);
}

read();
if (!rows[0])
	return;
buttons = make("g", {}, svg);
addButton("Reset", "Esc", 0, 84, reset);
addButton("Search", "/", 92, 84, openSearch);
group.addEventListener("click", function (event) {
	var frame = frameOf(event);
	if (frame) {
		select(null);
		zoom(frame);
	}
});
group.addEventListener("mousemove", function (event) {
	var frame = frameOf(event);
	if (frame)
		showTip(frame, event);
});
group.addEventListener("mouseleave", hideTip);
window.addEventListener("keydown", onKey);
window.addEventListener("resize", resize);
resize();
tell();
})();
