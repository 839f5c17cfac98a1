/* SPDX-License-Identifier: GPL-2.0-or-later
   Where the page is of two recordings, A and B: there are no samples in time, but each node's own
   samples on both sides, in model.sides. Sums are of what they are worth on both sides together, and
   sums.sides has each side's. The rules are those of profile/difference.h. */

/* Pale to strong; text on it. */
const CHANGES = {
	light: { less: ["#dde7f5", "#b8ceee", "#8fb2e4", "#6692da"], even: "#e9e5de",
		more: ["#fae2d8", "#f5bda6", "#ee9577", "#e06a4c"], text: ["#24201c", "#24201c"] },
	dark: { less: ["#2b3546", "#385078", "#4467a5", "#6f9ae6"], even: "#303237",
		more: ["#46322c", "#754534", "#9f5339", "#dc7350"], text: ["#ece9e4", "#1b1510"] }
};
/* In hundredths of what there is: where a colour begins. */
const STEPS = [0, 0.25, 1, 3];

function readSides(model) {
	const from = { bytes: bytesOf("sides"), at: 0 };
	model.sides = [new Float64Array(model.nrNodes), new Float64Array(model.nrNodes)];
	for (let i = 1; i < model.nrNodes; i++) {
		model.sides[0][i] = nextNumber(from);
		model.sides[1][i] = nextNumber(from);
	}
}

function worth(model, a, b) {
	return a / model.compare.whole[0] + b / model.compare.whole[1];
}

function sumSides(model, sums) {
	const nr = model.nrNodes, frames = model.nrFrames;
	sums.sides = [0, 1].map(function (side) {
		const made = { total: Float64Array.from(model.sides[side]),
			functionSelf: new Float64Array(frames), functionTotal: new Float64Array(frames) };
		for (let i = nr - 1; i > 0; i--) {
			made.total[model.parent[i]] += made.total[i];
			made.functionSelf[model.frame[i]] += model.sides[side][i];
			if (model.outer[i])
				made.functionTotal[model.frame[i]] += made.total[i];
		}
		return made;
	});
	const a = sums.sides[0], b = sums.sides[1];
	for (let i = 0; i < nr; i++) {
		sums.self[i] = worth(model, model.sides[0][i], model.sides[1][i]);
		sums.total[i] = worth(model, a.total[i], b.total[i]);
	}
	for (let i = 0; i < frames; i++) {
		sums.functionSelf[i] = worth(model, a.functionSelf[i], b.functionSelf[i]);
		sums.functionTotal[i] = worth(model, a.functionTotal[i], b.functionTotal[i]);
	}
}

function changeOf(model, sides) {
	return sides[1] / model.compare.whole[1] - sides[0] / model.compare.whole[0];
}

function isSignificant(model, sides) {
	const whole = model.compare.whole, pooled = (sides[0] + sides[1]) / (whole[0] + whole[1]);
	const change = changeOf(model, sides);
	const variance = pooled * (1 / whole[0] + 1 / whole[1]) * (model.compare.shares ? 1 - pooled : 1);
	return pooled * Math.min(whole[0], whole[1]) >= 5 && variance > 0 && change * change >= 9 * variance;
}

/* { fill, text } by how much more or less it is in B. */
function changeColours(model, sums, sides, dark) {
	const colours = CHANGES[dark ? "dark" : "light"];
	let change = 100 * changeOf(model, sides);
	if (model.compare.absolute)
		change /= Math.max(sums.sides[0].total[0], sums.sides[1].total[0]);
	if (!isSignificant(model, sides))
		return { fill: colours.even, text: colours.text[0] };
	const step = STEPS.filter(function (least) { return Math.abs(change) >= least; }).length - 1;
	return { fill: (change < 0 ? colours.less : colours.more)[step], text: colours.text[step > 2 ? 1 : 0] };
}

function sideWords(model, sides, side) {
	return "AB"[side] + " " + (!sides[side] ? "-" : model.compare.absolute ? number(sides[side]) :
		percent(sides[side], model.compare.whole[side]));
}

function changeWords(model, sides) {
	const change = changeOf(model, sides) * (model.compare.absolute ? 1 : 100);
	const words = model.compare.absolute ? number(change) : change.toFixed(2);
	return /^-?0(\.00)?$/.test(words) ? words.replace("-", "") : (change > 0 ? "+" : "") + words;
}

function comparisonFacts(model, sides) {
	const words = changeWords(model, sides);
	return sideWords(model, sides, 0) + ", " + sideWords(model, sides, 1) + ", " + words +
		(!sides[0] ? ", new" : !sides[1] ? ", gone" : "") +
		(/[1-9]/.test(words) && !isSignificant(model, sides) ? ", may be chance" : "");
}
