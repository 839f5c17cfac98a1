/* SPDX-License-Identifier: GPL-2.0-or-later
   Put into a flame graph behind its own script: does what a reader does, and leaves the verdicts in
   the root's attribute data-verdicts, one "ok NAME" or "not ok NAME: WHY" a line. */
(function () {
"use strict";
var svg = document.documentElement, verdicts = [], errors = window.xenflameErrors || [];
var frames = Array.from(svg.querySelectorAll("g.f")), status = svg.querySelector("#status");

function check(name, good, why) {
	verdicts.push((good ? "ok " : "not ok ") + name + (good ? "" : ": " + why));
}

function attempt(name, test) {
	try {
		test();
	} catch (error) {
		check(name, false, error);
	}
}

function press(key) {
	window.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true }));
}

function click(node) {
	node.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: 50, clientY: 50 }));
}

function shown() {
	return frames.filter(function (node) { return node.style.display !== "none"; }).length;
}

var all = shown(), widest = 0;
var narrow = frames.filter(function (node) {
	widest = Math.max(widest, +node.dataset.n);
	return +node.dataset.n > 0;
}).reverse().sort(function (a, b) { return a.dataset.n - b.dataset.n; })[0];

attempt("frames are drawn", function () {
	check("frames are drawn", all > 1, all + " frames are shown");
	check("the root spans all samples", frames.some(function (node) {
		return +node.dataset.n === widest && +node.dataset.s === 0;
	}), "no frame of " + widest + " samples starts at 0");
});
attempt("a click zooms and Escape goes back", function () {
	var rect = narrow.querySelector("rect"), before = +rect.getAttribute("width");
	click(narrow);
	/* Where there is one stack only, every frame is as wide as can be. */
	check("a click zooms", /^zoomed to /.test(status.textContent) && (+narrow.dataset.n === widest ||
		+rect.getAttribute("width") > before && shown() < all),
	"width " + before + " then " + rect.getAttribute("width") + ", " + status.textContent);
	press("Escape");
	check("Escape shows all again", shown() === all, shown() + " of " + all + " frames");
});
attempt("the search tells the matched share", function () {
	var input;
	press("/");
	input = svg.querySelector("input");
	input.value = ".";
	input.dispatchEvent(new Event("input", { bubbles: true }));
	check("the search tells the matched share", /100\.00% of (all samples|both)/.test(status.textContent),
		status.textContent);
	input.value = "no such function";
	input.dispatchEvent(new Event("input", { bubbles: true }));
	check("a search without a match tells 0", /0\.00% of (all samples|both)/.test(status.textContent),
		status.textContent);
	input.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
	check("Escape closes the search", !svg.querySelector("input"), "the field is there");
});
attempt("arrow keys walk and the tip tells", function () {
	press("ArrowUp");
	press("ArrowUp");
	check("arrow keys select a frame", frames.some(function (node) {
		return node.classList.contains("at");
	}), "none is selected");
	press("Escape");
	narrow.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: 50, clientY: 50 }));
	check("the tip names frame, samples and share", /sample.*%|A .*, B .*/.test(
		(svg.querySelector("#tip") || narrow).textContent), "no tip");
});
check("no script error", errors.length === 0, errors.join("; "));
svg.setAttribute("data-verdicts", verdicts.join("\n"));
})();
