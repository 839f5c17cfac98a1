#!/usr/bin/env node
/* SPDX-License-Identifier: GPL-2.0-or-later
   A flame graph as SVG under a real mouse and keyboard (reader.js).

	tests/browser/picture_hands.js CHROMIUM PROFILE-DIRECTORY SCREENSHOT-DIRECTORY PICTURE DIFFERENCE

   PICTURE is of the made-up recording "mixed", DIFFERENCE of that and "after". Prints "ok NAME" or
   "not ok NAME: WHY". */
"use strict";
const { drive, open, ask, settle, setScheme, setSize, mouse, click, key, type, shot, check, same } =
	require("./reader.js");
const [chromium, profile, shots, drawing, difference] = process.argv.slice(2);
const IS_THERE = "!!document.querySelector('.button')", STATUS = "document.querySelector('#status').textContent";
const SHOWN = "[...document.querySelectorAll('g.f')].filter(f => f.style.display !== 'none').length";

function picture(name) {
	return shot(shots + "/" + name + ".png");
}

/* The middle of the widest frame of that name, in the window. */
function placeOf(name) {
	return ask("(() => { const all = [...document.querySelectorAll('g.f')].filter(f => f.frame.name === " +
		JSON.stringify(name) + " && f.style.display !== 'none').sort((a, b) => b.frame.count - a.frame.count);" +
		" const r = all[0].querySelector('rect').getBoundingClientRect();" +
		" return [r.left + r.width / 2, r.top + r.height / 2]; })()");
}

function widthOf(name) {
	return "(() => Math.round(Math.max(...[...document.querySelectorAll('g.f')].filter(f => f.frame.name === " +
		JSON.stringify(name) + " && f.style.display !== 'none').map(f => +f.querySelector('rect')" +
		".getAttribute('width')))))()";
}

async function useMouse() {
	const all = await ask(SHOWN), web = await placeOf("web-1");
	await mouse("mouseMoved", web[0], web[1], { button: "none" });
	await same("the pointer shows a tip", "document.querySelector('#tip').textContent",
		"web-1933 samples, 20.80%");
	await click(web[0], web[1]);
	await same("a click zooms", widthOf("web-1"), 1171);
	check("what is elsewhere is gone", await ask(SHOWN) < all, await ask(SHOWN));
	await picture("svg-zoomed");
	const reset = await ask("(() => { const r = document.querySelector('.button[aria-label=Reset]')" +
		".getBoundingClientRect(); return [r.left + 5, r.top + 5]; })()");
	await click(reset[0], reset[1]);
	await same("the button Reset brings all back", SHOWN, all);
}

async function walk() {
	await key("ArrowUp");
	await same("an arrow key selects the root", STATUS, "all: 4,486 samples, 100.00%");
	await key("ArrowUp");
	await same("another one goes to the widest frame on it", STATUS, "Idle: 2,102 samples, 46.86%");
	await key("ArrowRight");
	await key("ArrowLeft");
	await key("ArrowLeft");
	await same("arrow keys walk along a row", STATUS, "build: 422 samples, 9.41%");
	await key("Enter");
	await same("Enter zooms to the selected frame", widthOf("build"), 1171);
	await key("ArrowUp");
	await key("ArrowDown");
	await same("arrow keys come back to it", "/^build: /.test(" + STATUS + ")", true);
	await key("Escape");
	check("Escape takes all back", await ask(widthOf("build")) < 1171 && !await ask(
		"!!document.querySelector('g.at')"), await ask(widthOf("build")));
}

async function find(expression) {
	await key("/", "/");
	await type(expression);
	await key("Enter");
}

async function searchFor() {
	await find("^do_(mmu|mmuext)_");
	await same("a regular expression matches what perl would", STATUS,
		"\u201c^do_(mmu|mmuext)_\u201d: 4.93% of all samples (221), 2 frames");
	await same("the frames that match are marked", "[...document.querySelectorAll('g.m')].map(f => f.frame.name)" +
		".sort().join()", "do_mmu_update,do_mmuext_op");
	await picture("svg-search");
	await key("Escape");
	await find("x86_emulate$|hvmemul");
	await same("stacks with two matches count once", "/: 1\\.83% of all samples \\(82\\), 4 frames/.test(" + STATUS + ")",
		true);
	await key("Escape");
	await find("Vcpu_kick");
	await same("a capital letter makes case matter", "/: 0\\.00% of all samples \\(0\\), 0 frames/.test(" + STATUS + ")",
		true);
	await key("Escape");
	await find("(");
	await same("what is no expression is looked for as it is", "/: 0\\.00% of all samples \\(0\\), 0 frames/.test(" +
		STATUS + ")", true);
	await key("Escape");
	await same("Escape ends the search", "document.querySelectorAll('.searching, g.m').length", 0);
}

async function resize() {
	await setSize(700, 800);
	await same("the picture is as wide as the window", "document.documentElement.viewBox.baseVal.width", 700);
	await same("its root, too", widthOf("all"), 671);
	await same("no name is wider than its frame", "[...document.querySelectorAll('g.f')].filter(f => f.style.display" +
		" !== 'none' && f.querySelector('text') && f.querySelector('text').getComputedTextLength() >" +
		" +f.querySelector('rect').getAttribute('width')).map(f => f.frame.name).join()", "");
	await picture("svg-narrow");
	await setSize(1600, 800);
	await same("it follows a wider window", widthOf("all"), 1571);
	await setSize(1200, 800);
}

/* Each class of frames in the legend with the fill that it has there, and in the picture. */
const COLOURS = "(() => { const fill = r => getComputedStyle(r).fill, seen = {}; document.querySelectorAll(" +
	"'#legend > g').forEach(g => { const c = g.className.baseVal, like = c.startsWith('x') ? '.x3' : '.' + c;" +
	" const frame = document.querySelector('#frames .f' + like + ' rect');" +
	" seen[c] = [fill(g.querySelector('rect')), frame && fill(frame)]; }); return seen; })()";

/* The least contrast of a frame's name to its frame, as of WCAG 2; but for patterns. */
const CONTRAST = "(() => { const light = c => { const l = c.match(/\\d+/g).slice(0, 3).map(v => (v /= 255) <= " +
	"0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };" +
	" return Math.min(...[...document.querySelectorAll('g.f')].filter(f => f.querySelector('text')).map(f => {" +
	" const back = getComputedStyle(f.querySelector('rect')).fill; if (!/^rgb/.test(back)) return 21;" +
	" const two = [light(back), light(getComputedStyle(f.querySelector('text')).fill)].sort((a, b) => b - a);" +
	" return (two[0] + 0.05) / (two[1] + 0.05); })); })()";

function isLegendTrue(colours) {
	return Object.keys(colours).length >= 5 && Object.values(colours).every(function (pair) {
		return pair[0] === pair[1];
	});
}

async function goDark(name) {
	const bright = await ask(COLOURS), least = await ask(CONTRAST);
	check("names can be read on their frames", least >= 4.5, least);
	await picture(name);
	await setScheme("dark");
	await settle();
	await same("the picture goes dark with the system", "[getComputedStyle(document.documentElement)" +
		".backgroundColor, getComputedStyle(document.querySelector('#bg')).fill].join('; ')",
	"rgb(23, 24, 27); rgb(23, 24, 27)");
	await picture(name + "-dark");
	const dark = await ask(COLOURS), leastInDark = await ask(CONTRAST);
	check("names can be read in the dark", leastInDark >= 4.5, leastInDark);
	return [bright, dark];
}

async function changeLook() {
	const [bright, dark] = await goDark("svg");
	check("frames have the legend's colours", isLegendTrue(bright), bright);
	check("dark frames, too", isLegendTrue(dark), dark);
	check("each kind has a darker colour", Object.keys(bright).every(function (kind) {
		return kind === "n" || bright[kind][0] !== dark[kind][0];
	}), dark);
}

drive(chromium, profile, async function () {
	await open(drawing, IS_THERE);
	await useMouse();
	await walk();
	await searchFor();
	await resize();
	await changeLook();
	await open(difference, IS_THERE);
	await same("a comparison's facts end within the picture", "[...document.querySelectorAll('text.s')].filter(" +
		"t => t.getBoundingClientRect().right > innerWidth).map(t => t.textContent).join()", "");
	await picture("svg-diff");
	await setScheme("dark");
	await settle();
	const least = await ask(CONTRAST);
	await picture("svg-diff-dark");
	check("a comparison's names can be read in the dark", least >= 4.5, least);
});
