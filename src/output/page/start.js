/* SPDX-License-Identifier: GPL-2.0-or-later
   Puts it all together once the page is there. */

function listen(id, type, action) {
	byId(id).addEventListener(type, action);
}

function listenToControls() {
	["stacks", "callers", "function"].forEach(function (view) {
		listen("view-" + view, "click", function () { setView(view); });
	});
	listen("turn", "click", turn);
	listen("theme", "click", nextTheme);
	listen("help-button", "click", function () { byId("help").showModal(); });
	listen("clear", "click", clearFilters);
	listen("search", "input", function (event) { setQuery(event.target.value); });
	listen("filter-domain", "change", function (event) {
		const value = event.target.value;
		setFilter({ domain: value === "all" || value === "busy" ? value : +value });
	});
	listen("filter-vcpu", "change", function (event) { setFilter({ vcpu: +event.target.value }); });
	listen("filter-pcpu", "change", function (event) { setFilter({ pcpu: +event.target.value }); });
	listen("heat-rows", "click", function () {
		state.perPcpu = !state.perPcpu;
		change("heat", "layout");
	});
	["self", "total"].forEach(function (by) {
		listen("by-" + by, "click", function () {
			state.by = by;
			change("order");
		});
	});
	listen("function-rows", "click", function (event) {
		const line = event.target.closest("tr[data-frame]");
		if (line)
			setView("function", +line.dataset.frame);
	});
}

function listenToGraph() {
	listen("scroll", "mousemove", overGraph);
	listen("scroll", "mouseleave", hideTip);
	listen("scroll", "click", clickGraph);
	listen("scroll", "scroll", function () {
		hideTip();
		requestAnimationFrame(paint);
	});
	listen("heat-area", "pointerdown", startDrag);
	listen("heat-area", "pointermove", overHeat);
	listen("heat-area", "pointerup", endDrag);
	listen("heat-area", "pointerleave", hideTip);
	window.addEventListener("keydown", onKey);
	const sizes = new ResizeObserver(followWindow);
	sizes.observe(byId("scroll"));
	sizes.observe(byId("heat-area"));
	window.addEventListener("popstate", readAddress);
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
		change("theme");
	});
}

showFacts();
showKeys();
fillFilters();
sumSelected();
if (!model.compare)
	showQuality(sums);
listenToControls();
listenToGraph();
readAddress();

/* For tests and the curious. */
window.xenflame = { model: model, state: state, sums: sums, shown: shown, flush: flush, rectOf: rectOf,
	boxOf: boxOf, boxUnder: boxUnder, writeAddress: writeAddress, countMatched: countMatched, selected: function () { return at; } };
