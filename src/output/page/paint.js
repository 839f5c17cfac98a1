/* SPDX-License-Identifier: GPL-2.0-or-later
   Colours, words on boxes, and the drawing of boxes on the canvas. */

const ROW = 19, GAP = 1, PAD = 4;

/* Xen's, and functions of which no more is known. */
const WARM = ["#ef9a7c", "#f1a374", "#f3ac6e", "#f4b56a", "#f4be68", "#f3c76a", "#f0cf70", "#edb48c"];
const WARM_IN_DARK = ["#d8775a", "#da8153", "#dc8b4e", "#dd954a", "#dc9f49", "#daa84b", "#d6b052", "#d3936c"];

/* By what a frame is: [words of the legend, light, dark, dark text on dark]. A list of colours: by name. */
const KINDS = {
	xen: ["Xen", WARM, WARM_IN_DARK],
	/* of another profiler's recording */
	function: ["function", WARM, WARM_IN_DARK],
	agent: ["xenflame itself", ["#c7b5ea"], ["#9c85cf"]],
	kernel: ["functions of a guest's kernel",
		["#8fb4e8", "#91baea", "#92bfe8", "#93c4e6", "#94c9e3", "#96cde0", "#9ab7e2", "#a3bde6"],
		["#5f90d2", "#6196d4", "#629bd2", "#63a0d0", "#64a5cd", "#66a9ca", "#6a93cc", "#7399d0"]],
	process: ["process", ["#b9d8d2"], ["#6fa39b"]],
	guestKernel: ["guest kernel", ["#93bfe6"], ["#639bd0"]],
	guestUser: ["guest user", ["#9fd3a6"], ["#6cb277"]],
	idle: ["idle", ["#dcdad6", "#5f5a54"], ["#3b3e45", "#b3b0ab"]],
	incomplete: ["incomplete stack", ["#f6d3e4", "#6d0f41", "#e48ab8"], ["#5a2543", "#ffd6ea", "#8f3d6b"]],
	unknown: ["no name", ["#d8bcc6"], ["#a98793"]],
	domain: ["domain", ["#c3cedb"], ["#4a5869", "#e8edf3"]],
	vcpu: ["vCPU, pCPU", ["#d8dfe7"], ["#3a4551", "#d5dce4"]],
	root: ["", ["#e9e5de"], ["#2a2c31", "#c4c1bb"]],
	other: ["other", ["#d6cfae"], ["#99905f"]]
};

/* Return: the key in KINDS. */
function styleOf(model, frame) {
	const kind = model.kinds[frame];
	if (kind === "guest")
		return model.names[frame] === "[guest user]" ? "guestUser" : "guestKernel";
	return kind === "pcpu" ? "vcpu" : Object.hasOwn(KINDS, kind) ? kind : "other";
}

function shadeOf(name) {
	let hash = 2166136261;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ (name.charCodeAt(i) & 255), 16777619) >>> 0;
	return ((hash ^ hash >>> 15) >>> 0) % 8;
}

/* Each frame's colours: { fill, text, stripe }. */
function paletteOf(model, dark) {
	return model.names.map(function (name, frame) {
		const style = styleOf(model, frame), colours = KINDS[style][dark ? 2 : 1];
		if (colours.length === 8)
			return { fill: colours[shadeOf(name)], text: dark ? "#1b1510" : "#24201c" };
		return {
			fill: colours[0], text: colours[1] || (dark ? "#1b1510" : "#24201c"),
			stripe: colours[2]
		};
	});
}

/* ---- Words ---- */

function number(count) {
	return Math.round(count).toLocaleString("en-US");
}

function percent(part, whole) {
	return (whole ? 100 * part / whole : 0).toFixed(2) + "%";
}

function samples(count) {
	return number(count) + (count === 1 ? " sample" : " samples");
}

/* What fits of @name into @most columns; a static function's file goes first. */
function fit(name, most, isFunction) {
	let text = "", used = 0;
	if (isFunction && name.length > most && /#./.test(name))
		name = name.slice(name.lastIndexOf("#") + 1);
	for (const letter of name) {
		used += letter.codePointAt(0) >= 0x1100 ? 2 : 1;
		if (used > most)
			return most < 3 ? "" : Array.from(text).slice(0, -1).join("") + "\u2026";
		text += letter;
	}
	return text;
}

/* Text that no letter in it can turn around. */
function straight(text) {
	return "\u202d" + text + "\u202c";
}

/* ---- Boxes ---- */

function stripesOf(context, colours) {
	const tile = document.createElement("canvas"), pen = tile.getContext("2d");
	tile.width = tile.height = 8;
	pen.fillStyle = colours.fill;
	pen.fillRect(0, 0, 8, 8);
	pen.strokeStyle = colours.stripe;
	pen.lineWidth = 2;
	for (let x = -8; x <= 8; x += 8) {
		pen.beginPath();
		pen.moveTo(x, 8);
		pen.lineTo(x + 8, 0);
		pen.stroke();
	}
	return context.createPattern(tile, "repeat");
}

/* Prepares @canvas for its size on the page. Return: its context, in pixels of the page. */
function penOf(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.height = height + "px";
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

function paintBox(context, look, boxes, box, x, y, room) {
	const frame = boxes.frame[box], width = Math.max(room - Math.min(GAP, room * 0.2), 0.4);
	const colours = look.changed ? look.changed(boxes.tree.sides(boxes.node[box])) : look.palette[frame];
	context.fillStyle = colours.stripe ? look.stripes : colours.fill;
	if (width > 8 && context.roundRect) {
		context.beginPath();
		context.roundRect(x, y, width, ROW - GAP, 2);
		context.fill();
	} else {
		context.fillRect(x, y, width, ROW - GAP);
	}
	const columns = Math.floor((room - 2 * PAD) / look.column);
	if (columns < 2)
		return;
	const text = fit(look.names[frame], columns, look.isFunction[frame]);
	if (text) {
		context.fillStyle = colours.text;
		context.fillText(straight(text), x + PAD, y + ROW - 6);
	}
}

/*
 * Paints the rows of a layout that are in sight. @look: { palette, stripes, names, isFunction, column, rest,
 * changed(sides): the colours, where two recordings are compared }; @scene:
 * { boxes, scale: pixels a sample, left, yOf(row), top, bottom: what is in sight, match }.
 */
function paintBoxes(context, look, scene) {
	const boxes = scene.boxes;
	for (let row = 0; row < boxes.rows.length - 1; row++) {
		const y = scene.yOf(row) - scene.top;
		if (y < -ROW || y > scene.bottom - scene.top)
			continue;
		for (let box = boxes.rows[row]; box < boxes.rows[row + 1]; box++) {
			const frame = boxes.frame[box], room = boxes.total[box] * scene.scale;
			const x = scene.left + boxes.start[box] * scene.scale;
			if (frame < 0) {
				if (room < 1)
					continue;
				context.globalAlpha = 1;
				context.fillStyle = look.rest;
				context.fillRect(x, y, room - Math.min(GAP, room * 0.2), ROW - GAP);
				continue;
			}
			context.globalAlpha = scene.match && !scene.match.frames[frame] ? 0.22 :
				row < boxes.focus ? 0.5 : 1;
			paintBox(context, look, boxes, box, x, y, room);
		}
	}
	context.globalAlpha = 1;
}
