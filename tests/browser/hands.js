#!/usr/bin/env node
/* SPDX-License-Identifier: GPL-2.0-or-later
   A flame graph's page under a real mouse and keyboard: chromium is driven through its debugging pipe
   (Chrome DevTools Protocol), so that events are those of a reader, not made by a script in the page.

	tests/browser/hands.js CHROMIUM PROFILE-DIRECTORY PAGE SCREENSHOT-DIRECTORY

   PAGE is of the made-up recording "mixed". Prints "ok NAME" or "not ok NAME: WHY". */
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const [chromium, profile, page, shots] = process.argv.slice(2);
const browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
	"--user-data-dir=" + profile, "--window-size=1200,800", "about:blank"],
{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map(), told = [];
let last = 0, session, failed = false, rest = "";

browser.stdio[4].on("data", function (bytes) {
	const messages = (rest + bytes).split("\0");
	rest = messages.pop();
	messages.forEach(function (text) {
		const message = JSON.parse(text);
		if (message.id && waiting.has(message.id))
			waiting.get(message.id)(message);
		else if (/consoleAPICalled|exceptionThrown|Log\.entryAdded/.test(message.method))
			told.push(JSON.stringify(message.params).slice(0, 300));
	});
});

function send(method, params) {
	const id = ++last;
	browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
	return new Promise(function (resolve, reject) {
		waiting.set(id, function (message) {
			waiting.delete(id);
			if (message.error)
				reject(new Error(method + ": " + message.error.message));
			else
				resolve(message.result);
		});
	});
}

async function ask(expression) {
	const answer = await send("Runtime.evaluate", { expression: expression, returnByValue: true,
		awaitPromise: true });
	if (answer.exceptionDetails)
		throw new Error(expression + ": " + answer.exceptionDetails.exception.description);
	return answer.result.value;
}

/* Until the page has drawn what is new. */
async function settle() {
	await ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

async function mouse(type, x, y, more) {
	await send("Input.dispatchMouseEvent", Object.assign({ type, x, y, button: "left", clickCount: 1 }, more));
	await settle();
}

async function click(x, y) {
	await mouse("mousePressed", x, y);
	await mouse("mouseReleased", x, y);
}

async function key(name, text, code) {
	await send("Input.dispatchKeyEvent", { type: "keyDown", key: name, text, code, windowsVirtualKeyCode:
		{ Enter: 13, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39 }[name] });
	await send("Input.dispatchKeyEvent", { type: "keyUp", key: name, code });
	await settle();
}

async function type(text) {
	for (const letter of text)
		await key(letter, letter);
}

async function shot(name) {
	const picture = await send("Page.captureScreenshot", { format: "png" });
	fs.writeFileSync(shots + "/" + name + ".png", Buffer.from(picture.data, "base64"));
}

function check(name, good, why) {
	console.log(good ? "ok " + name : "not ok " + name + ": " + JSON.stringify(why));
	failed = failed || !good;
}

/* A busy machine draws late: so many looks, a moment apart, before it is not so. */
const LOOKS = 100;

async function same(name, expression, wanted) {
	let got = await ask(expression);

	for (let look = 0; got !== wanted && look < LOOKS; look++) {
		await new Promise(function (done) { setTimeout(done, 50); });
		got = await ask(expression);
	}
	check(name, got === wanted, { got, wanted });
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

async function openPage() {
	const target = await send("Target.createTarget", { url: "about:blank" });
	session = (await send("Target.attachToTarget", { targetId: target.targetId, flatten: true })).sessionId;
	await send("Runtime.enable");
	await send("Log.enable");
	await send("Page.enable");
	await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
	await send("Page.navigate", { url: "file://" + page });
	for (let i = 0; i < 100 && !await ask("!!window.xenflame"); i++)
		await new Promise(function (done) { setTimeout(done, 100); });
	await settle();
}

async function useMouse() {
	const web = await placeOf("web-1");
	await mouse("mouseMoved", web[0], web[1]);
	await same("the pointer shows a tip", "document.getElementById('tip-name').textContent", "web-1");
	await click(web[0], web[1]);
	await same("a click zooms", "xenflame.shown.scenes[0].boxes.whole", 933);
	await shot("zoomed");
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
	await shot("range");
	await across(0.5, 1.5);
	check("a new drag makes a new range, up to the end", range !== await ask("xenflame.state.range.join()") &&
		await ask("xenflame.state.range[1] >= xenflame.model.duration"), range);
	await click(heat[0] + 5, heat[1] + 5);
	await same("a click on the map drops the range", "xenflame.state.range", null);
}

async function useKeys() {
	await key("/", "/");
	await type("x86_emul");
	await same("/ and letters search", "/x86_emul/.test(document.getElementById('status').textContent)", true);
	await same("letters in the field are no keys", "xenflame.state.view", "stacks");
	await shot("search");
	await key("Enter");
	await key("f", "f");
	await same("f shows the function that matches", "xenflame.model.names[xenflame.state.fn]", "x86_emulate");
	await shot("function");
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
	await shot("help");
	await key("Escape");
	await same("Escape closes it", "document.getElementById('help').open", false);
}

async function changeLook() {
	await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
	await settle();
	await same("the page goes dark with the system", "document.documentElement.hasAttribute('data-dark')", true);
	await shot("dark");
	await send("Emulation.setDeviceMetricsOverride", { width: 390, height: 780, deviceScaleFactor: 2,
		mobile: true });
	await settle();
	await same("nothing sticks out of a narrow window",
		"document.documentElement.scrollWidth <= innerWidth", true);
	await same("the root is in sight", "(() => { const s = document.getElementById('scroll'); const y = " +
		"xenflame.rectOf({ scene: xenflame.shown.scenes[0], box: 0 }).y; return y >= s.scrollTop && " +
		"y + 19 <= s.scrollTop + s.clientHeight; })()", true);
	await shot("narrow");
	await send("Emulation.setDeviceMetricsOverride", { width: 1600, height: 900, deviceScaleFactor: 1,
		mobile: false });
	await settle();
	await same("the graph follows the window", "xenflame.shown.width > 1500", true);
	await shot("wide");
}

(async function () {
	await openPage();
	await useMouse();
	await useKeys();
	await changeLook();
	check("the console is silent", told.length === 0, told);
})().catch(function (error) {
	check("the page can be driven", false, error.stack);
}).finally(function () {
	browser.kill();
	process.exitCode = failed ? 1 : 0;
});
