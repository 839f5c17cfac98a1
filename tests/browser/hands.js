#!/usr/bin/env node
/* SPDX-License-Identifier: GPL-2.0-or-later
   A flame graph's page under a real mouse and keyboard (reader.js).

	tests/browser/hands.js CHROMIUM PROFILE-DIRECTORY SCREENSHOT-DIRECTORY PAGE DIFFERENCE

   PAGE is of the made-up recording "mixed", DIFFERENCE of that and "after". Prints "ok NAME" or
   "not ok NAME: WHY". */
"use strict";
const { drive, open, ask, settle, setScheme, setSize, mouse, click, key, type, shot, check, same } =
	require("./reader.js");
const [chromium, profile, shots, page, difference] = process.argv.slice(2);

function picture(name) {
	return shot(shots + "/" + name + ".png");
}

/* The middle of the first box with that name, in the window. */
function placeOf(name) {
	return ask("(() => { const x = xenflame, scene = x.shown.scenes[0]; const area = " +
		"document.getElementById('space').getBoundingClientRect(); for (let box = 0; box < " +
		"scene.boxes.frame.length; box++) if (x.model.names[scene.boxes.frame[box]] === " +
		JSON.stringify(name) + ") { const rect = x.rectOf({ scene, box }); return [area.left + rect.x + " +
		"rect.width / 2, area.top + rect.y + 8]; } })()");
}

function areaOf(id) {
	return ask("(() => { const r = document.getElementById('" + id +
		"').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()");
}

async function useMouse() {
	const web = await placeOf("web-1");
	await mouse("mouseMoved", web[0], web[1]);
	await same("the pointer shows a tip", "document.getElementById('tip-name').textContent", "web-1");
	await click(web[0], web[1]);
	await same("a click zooms", "xenflame.shown.scenes[0].boxes.whole", 933);
	await picture("zoomed");
	await ask("history.back()");
	await settle();
	await same("the browser's Back zooms out", "xenflame.shown.scenes[0].boxes.whole", 4486);
	const heat = await areaOf("heat-area");
	const across = async function (from, to) {
		await mouse("mouseMoved", heat[0] + from * heat[2], heat[1] + 5, { button: "none" });
		await mouse("mousePressed", heat[0] + from * heat[2], heat[1] + 5);
		await mouse("mouseMoved", heat[0] + (from + to) / 2 * heat[2], heat[1] + 5);
		/* Outside of the map the range still follows. */
		await mouse("mouseMoved", heat[0] + to * heat[2], heat[1] + 200);
		await mouse("mouseReleased", heat[0] + to * heat[2], heat[1] + 200);
	};
	await across(0.2, 0.5);
	const range = await ask("xenflame.state.range.join()");
	await same("dragging selects a range", "(() => { const x = xenflame, r = x.state.range; let n = 0; for (let i" +
		" = 0; i < x.model.nrEvents; i++) n += x.model.time[i] >= r[0] && x.model.time[i] < r[1] ?" +
		" x.model.count[i] : 0; return n > 0 && n === x.sums.total[0]; })()", true);
	await picture("range");
	await across(0.5, 1.5);
	check("a new drag makes a new range, up to the end", range !== await ask("xenflame.state.range.join()") &&
		await ask("xenflame.state.range[1] >= xenflame.model.duration"), range);
	await click(heat[0] + 5, heat[1] + 5);
	await same("a click on the map drops the range", "xenflame.state.range", null);
}

/* In mixed, each run of samples begins half a second after the one before, 99 a second: forty in the first
   two columns of 200 ms, all of the guest's kernel on pCPU 0. */
async function chooseTime() {
	const heat = await areaOf("heat-area");
	const xOf = function (seconds) { return heat[0] + seconds / 30 * heat[2]; };
	await mouse("mouseMoved", xOf(0.1), heat[1] + 5, { button: "none" });
	await same("the pointer on the map tells a column's samples", "document.getElementById('tip').innerText" +
		".replace(/\\n+/g, '; ')", "0.00\u20130.20 s, pCPU 0; 100.00% not idle (20 of 20 samples)");
	await mouse("mouseMoved", xOf(0.1), heat[1] + heat[3] - 5, { button: "none" });
	await same("and those of another pCPU below it", "document.getElementById('tip').innerText" +
		".replace(/\\n+/g, '; ')", "0.00\u20130.20 s, pCPU 1; no samples");
	await mouse("mousePressed", xOf(0.05), heat[1] + 5);
	await mouse("mouseMoved", xOf(0.2), heat[1] + 5);
	await mouse("mouseMoved", xOf(0.35), heat[1] + 5);
	await mouse("mouseReleased", xOf(0.35), heat[1] + 5);
	await same("two columns of the map have their forty samples", "xenflame.sums.total[0]", 40);
	await same("they are those that ran then", "xenflame.sums.functionSelf[xenflame.model.names.indexOf(" +
		"'[guest kernel]')]", 40);
	await same("the range is told in seconds", "document.getElementById('heat-range').textContent",
		"0.00\u20130.40 s (0.40 s)");
	await click(xOf(10), heat[1] + 5);
	await same("a click brings all samples back", "xenflame.sums.total[0]", 4486);
}

async function useKeys() {
	await key("/", "/");
	await type("x86_emul");
	await same("/ and letters search", "/x86_emul/.test(document.getElementById('status').textContent)", true);
	await same("letters in the field are no keys", "xenflame.state.view", "stacks");
	await picture("search");
	await key("Enter");
	await key("f", "f");
	await same("f shows the function that matches", "xenflame.model.names[xenflame.state.fn]", "x86_emulate");
	await picture("function");
	await key("2", "2");
	await key("ArrowUp");
	await key("ArrowUp");
	await key("Enter");
	await same("arrows and Enter zoom", "xenflame.state.path.length", 1);
	for (let i = 0; i < 6; i++)
		await key("Escape");
	await same("Escape takes all back", "[xenflame.state.view, xenflame.state.query, xenflame.state.path].join()",
		"stacks,,");
	await key("?", "?");
	await same("? opens the help", "document.getElementById('help').open", true);
	await picture("help");
	await key("Escape");
	await same("Escape closes it", "document.getElementById('help').open", false);
}

async function changeLook() {
	await setScheme("dark");
	await settle();
	await same("the page goes dark with the system", "document.documentElement.hasAttribute('data-dark')", true);
	await picture("dark");
	await setSize(390, 780, { deviceScaleFactor: 2, mobile: true });
	await same("nothing sticks out of a narrow window",
		"document.documentElement.scrollWidth <= innerWidth", true);
	await same("the root is in sight", "(() => { const s = document.getElementById('scroll'); const y = " +
		"xenflame.rectOf({ scene: xenflame.shown.scenes[0], box: 0 }).y; return y >= s.scrollTop && " +
		"y + 19 <= s.scrollTop + s.clientHeight; })()", true);
	await picture("narrow");
	await setSize(1600, 900);
	await same("the graph follows the window", "xenflame.shown.width > 1500", true);
	await picture("wide");
}

/* What a comparison looks like. */
async function openDifference() {
	await open(difference, "!!window.xenflame");
	await setSize(1200, 800);
	await same("a comparison has two sides", "xenflame.model.compare.sides.length", 2);
	await picture("diff-page");
	await setScheme("dark");
	await settle();
	await picture("diff-page-dark");
}

drive(chromium, profile, async function () {
	await open(page, "!!window.xenflame");
	await useMouse();
	await chooseTime();
	await useKeys();
	await changeLook();
	await openDifference();
});
