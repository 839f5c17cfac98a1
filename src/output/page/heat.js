/* SPDX-License-Identifier: GPL-2.0-or-later
   The map above the graph: time from left to right, darker where more of the samples were not idle. */

const HEAT_LIGHT = [[238, 235, 228], [243, 202, 140], [222, 122, 66]];
const HEAT_DARK = [[42, 44, 49], [130, 88, 46], [226, 146, 74]];

function heatColour(share, dark) {
	const stops = dark ? HEAT_DARK : HEAT_LIGHT, at = Math.min(share, 1) * 2;
	const from = stops[Math.min(Math.floor(at), 1)], to = stops[Math.min(Math.floor(at), 1) + 1];
	const part = Math.min(at - Math.min(Math.floor(at), 1), 1);
	return "rgb(" + from.map(function (channel, i) {
		return Math.round(channel + (to[i] - channel) * part);
	}).join(",") + ")";
}

function heatRowHeight(rows) {
	return rows === 1 ? 34 : Math.max(1, Math.min(16, Math.floor(160 / rows)));
}

/* @map: what heatCells returned. Columns without a sample stay empty. */
function paintHeat(canvas, map, model, width, dark, pcpu) {
	const tall = heatRowHeight(map.rows.length);
	const context = penOf(canvas, width, tall * map.rows.length);
	context.clearRect(0, 0, width, tall * map.rows.length);
	for (let row = 0; row < map.rows.length; row++) {
		context.globalAlpha = pcpu < 0 || map.rows[row] < 0 || map.rows[row] === pcpu ? 1 : 0.25;
		for (let column = 0; column < map.nr; column++) {
			const all = map.all[row * map.nr + column];
			/* Whole pixels: no seams between columns. */
			const from = Math.round(timeToX(model, column * map.step, width));
			const to = Math.round(timeToX(model, Math.min((column + 1) * map.step,
				model.duration), width));
			if (!all)
				continue;
			context.fillStyle = heatColour(map.busy[row * map.nr + column] / all, dark);
			context.fillRect(from, row * tall, to - from, tall - (tall > 5 ? 1 : 0));
		}
	}
	context.globalAlpha = 1;
}

function timeToX(model, time, width) {
	return time / model.duration * width;
}

function xToTime(model, x, width) {
	return Math.max(0, Math.min(1, x / width)) * model.duration;
}

function seconds(model, time, digits) {
	return (time * model.about.unit / 1e9).toFixed(digits);
}

/* The words for what lies at x, y. */
function heatWords(map, model, x, y, width, searching) {
	const column = Math.min(map.nr - 1, Math.floor(xToTime(model, x, width) / map.step));
	const row = Math.max(0, Math.min(map.rows.length - 1,
		Math.floor(y / heatRowHeight(map.rows.length))));
	const all = map.all[row * map.nr + column], busy = map.busy[row * map.nr + column];
	return [
		seconds(model, column * map.step, 2) + "\u2013" +
			seconds(model, Math.min((column + 1) * map.step, model.duration), 2) + " s" +
			(map.rows[row] < 0 ? "" : ", pCPU " + map.rows[row]),
		all ? percent(busy, all) + (searching ? " match" : " not idle") + " (" + number(busy) +
			" of " + samples(all) + ")" : "no samples"
	];
}
