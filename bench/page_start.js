#!/usr/bin/env node
/* SPDX-License-Identifier: GPL-2.0-or-later
   How long a reader waits for a flame graph's page: from the start of the navigation to the first painted
   frame, and from a click on a frame to the painted answer, in headless chromium.

	bench/page_start.js CHROMIUM PROFILE-DIRECTORY PAGE TIMES

   Prints the shortest sum of both, and both, in seconds. */
"use strict";
const { drive, open, ask, send, click } = require("../tests/browser/reader.js");
const [chromium, profile, page, times] = process.argv.slice(2);

/* Runs in the page, before its own scripts. A frame is painted when the task after its callback begins. */
const WATCH = "window.painted = () => new Promise(done => requestAnimationFrame(() => {" +
	" const channel = new MessageChannel(); channel.port1.onmessage = () => done(performance.now());" +
	" channel.port2.postMessage(0); }));" +
	" addEventListener('load', async () => { window.firstPaint = await painted(); });" +
	" addEventListener('click', async event => { window.answered = await painted() - event.timeStamp; }, true);";

async function measure() {
	await open(page, "!!window.firstPaint", WATCH);
	const first = await ask("window.firstPaint");
	const place = await ask("(() => { const x = xenflame, scene = x.shown.scenes[0], rect = x.rectOf({ scene, box: 1 });" +
		" const area = document.getElementById('space').getBoundingClientRect();" +
		" return [area.left + rect.x + 3, area.top + rect.y + 8]; })()");
	await click(place[0], place[1]);
	const answer = await ask("window.answered");
	if (await ask("xenflame.state.path.length") !== 1)
		throw new Error("the click zoomed nothing");
	await send("Page.close");
	return [first / 1000, answer / 1000];
}

let best = null;
drive(chromium, profile, async function () {
	for (let i = 0; i < +times; i++) {
		const both = await measure();
		if (!best || both[0] + both[1] < best[0] + best[1])
			best = both;
	}
	console.log((best[0] + best[1]).toFixed(2) + " " + best[0].toFixed(2) + " " + best[1].toFixed(2));
});
