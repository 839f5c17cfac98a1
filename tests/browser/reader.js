/* SPDX-License-Identifier: GPL-2.0-or-later
   A reader's hands: chromium is driven through its debugging pipe (Chrome DevTools Protocol), so that events
   are those of a mouse and a keyboard, not made by a script in the document. */
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const waiting = new Map(), told = []; /* told: on the console */
let browser, last = 0, session, failed = false, rest = "";

function receive(bytes) {
	const messages = (rest + bytes).split("\0");
	rest = messages.pop();
	messages.forEach(function (text) {
		const message = JSON.parse(text);
		if (message.id && waiting.has(message.id))
			waiting.get(message.id)(message);
		else if (/consoleAPICalled|exceptionThrown|Log\.entryAdded/.test(message.method))
			told.push(JSON.stringify(message.params).slice(0, 300));
	});
}

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

/* Light or dark, as the system would have it. */
async function setScheme(scheme) {
	await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
}

async function setSize(width, height, more) {
	await send("Emulation.setDeviceMetricsOverride", Object.assign({ width, height, deviceScaleFactor: 1,
		mobile: false }, more));
	await settle();
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

/* Draws the window's contents into @file. */
async function shot(file) {
	const picture = await send("Page.captureScreenshot", { format: "png" });
	fs.writeFileSync(file, Buffer.from(picture.data, "base64"));
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

/* Opens a document in a tab of its own, in the light, and waits until @isThere, an expression, is true.
   @before: a script that runs in it before its own. */
async function open(file, isThere, before) {
	session = undefined;
	const target = await send("Target.createTarget", { url: "about:blank" });
	session = (await send("Target.attachToTarget", { targetId: target.targetId, flatten: true })).sessionId;
	await send("Runtime.enable");
	await send("Log.enable");
	await send("Page.enable");
	await setScheme("light");
	if (before)
		await send("Page.addScriptToEvaluateOnNewDocument", { source: before });
	await send("Page.navigate", { url: "file://" + file });
	for (let i = 0; i < LOOKS && !await ask(isThere); i++)
		await new Promise(function (done) { setTimeout(done, 100); });
	await settle();
}

/* Starts the browser, does @work with it, and ends both. */
async function drive(chromium, profile, work) {
	browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--user-data-dir=" + profile, "--window-size=1200,800", "about:blank"],
	{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
	browser.stdio[4].on("data", receive);
	try {
		await work();
		check("the console is silent", told.length === 0, told);
	} catch (error) {
		check("the document can be driven", false, error.stack);
	}
	browser.kill();
	process.exitCode = failed ? 1 : 0;
}

module.exports = { drive, open, ask, send, settle, setScheme, setSize, mouse, click, key, type, shot, check, same };
