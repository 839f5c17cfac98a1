/* SPDX-License-Identifier: GPL-2.0-or-later
   Put into the page of a comparison behind its own script, as page.js is into that of a recording. */
(function () {
"use strict";
const page = window.xenflame, verdicts = [], errors = window.xenflameErrors || [];
const model = page.model, state = page.state, sums = page.sums, whole = model.compare.whole;

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

function byId(id) {
	return document.getElementById(id);
}

function press(key) {
	document.body.dispatchEvent(new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true }));
	page.flush();
}

function add(numbers) {
	return numbers.reduce(function (sum, number) { return sum + number; }, 0);
}

/* Red where there is more in B, blue where less, grey where neither: by the pixel itself. */
function hueAt(rect) {
	const canvas = byId("graph"), ratio = canvas.width / canvas.clientWidth;
	const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	pen.drawImage(canvas, (rect.x + 2) * ratio, (rect.y + 3 - byId("scroll").scrollTop) * ratio, 1, 1, 0, 0, 1, 1);
	const colour = pen.getImageData(0, 0, 1, 1).data;
	return colour[0] - colour[2] > 12 ? 1 : colour[2] - colour[0] > 12 ? -1 : 0;
}

attempt("both sides add up", function () {
	[0, 1].forEach(function (side) {
		const own = add(model.sides[side]);
		check("side " + "AB"[side] + " adds up", own > 0 && sums.sides[side].total[0] === own &&
			(!model.compare.shares || own === whole[side]), own);
	});
	check("widths are what both are worth", Math.abs(sums.total[0] - add(model.sides[0]) / whole[0] -
		add(model.sides[1]) / whole[1]) < 1e-9, sums.total[0]);
});
attempt("a function counts each stack once", function () {
	const wrong = [];
	for (let frame = 1; frame < model.nrFrames; frame++) {
		const wanted = [0, 0];
		for (let i = 1; i < model.nrNodes; i++) {
			let times = 0;
			for (let node = i; node; node = model.parent[node])
				times += model.frame[node] === frame ? 1 : 0;
			wanted[0] += times ? model.sides[0][i] : 0;
			wanted[1] += times ? model.sides[1][i] : 0;
		}
		if (sums.sides[0].functionTotal[frame] !== wanted[0] ||
			sums.sides[1].functionTotal[frame] !== wanted[1])
			wrong.push(model.names[frame]);
	}
	check("a function counts each stack once", wrong.length === 0, wrong);
});
attempt("red is more, blue is less", function () {
	const scene = page.shown.scenes[0], wrong = [];
	let seen = 0;
	for (let box = 0; box < scene.boxes.frame.length; box++) {
		const rect = page.rectOf({ scene: scene, box: box });
		if (scene.boxes.frame[box] < 0 || rect.width < 6 || rect.y < byId("scroll").scrollTop)
			continue;
		const sides = scene.boxes.tree.sides(scene.boxes.node[box]), hue = hueAt(rect);
		/* Without a hue: the same, or chance. */
		if (hue && hue !== Math.sign(sides[1] / whole[1] - sides[0] / whole[0]))
			wrong.push(model.names[scene.boxes.frame[box]]);
		seen += hue !== 0;
	}
	check("red is more, blue is less", wrong.length === 0 && seen > 0, seen + " " + wrong);
});
attempt("views", function () {
	press("2");
	check("callers first has both sides", page.shown.scenes[0].boxes.tree.sides(
		page.shown.scenes[0].boxes.node[0]).join() === [add(model.sides[0]), add(model.sides[1])].join(),
	"not all");
	let sum = [0, 0];
	const boxes = page.shown.scenes[0].boxes;
	boxes.tree.each(boxes.tree.root, function (node) {
		sum = [sum[0] + node.sides[0], sum[1] + node.sides[1]];
	});
	check("its first row has all", sum.join() === [add(model.sides[0]), add(model.sides[1])].join(), sum);
	press("3");
	check("a function is shown, with its change", state.fn > 0 && /^~?[+-]?\d/.test(byId("function-rows")
		.querySelector(".count").textContent), byId("function-rows").textContent.slice(0, 80));
	page.shown.scenes.forEach(function (scene) {
		check("a function's " + scene.side + " have both sides", scene.boxes.tree.sides(scene.boxes.node[0]).join() ===
			[sums.sides[0].functionTotal[state.fn], sums.sides[1].functionTotal[state.fn]].join(), "no");
	});
	press("1");
});
attempt("words", function () {
	const scene = page.shown.scenes[0], area = byId("space").getBoundingClientRect();
	const rect = page.rectOf({ scene: scene, box: 1 });
	byId("scroll").dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: area.left + rect.x + 3,
		clientY: area.top + rect.y + 4 }));
	check("the tip tells A, B and the change", /^A .*, B .*, [+-]?\d/.test(byId("tip-facts").textContent),
		byId("tip-facts").textContent);
	byId("search").value = ".";
	byId("search").dispatchEvent(new Event("input"));
	page.flush();
	check("search tells the share of both", /100\.00% of both/.test(byId("status").textContent),
		byId("status").textContent);
	location.hash = "#t=1-2&domain=busy&pcpu=0&z=1.2.3";
	window.dispatchEvent(new PopStateEvent("popstate"));
	page.flush();
	check("there is no time to choose", byId("heat").hidden && !state.range && state.domain === "all", state.range);
	check("both recordings are told of", byId("facts").textContent.split("\n").length === 3,
		byId("facts").textContent);
});
check("no script error", errors.length === 0, errors.join("; "));
document.documentElement.setAttribute("data-verdicts", verdicts.join("\u241e"));
})();
