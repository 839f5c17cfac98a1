/* SPDX-License-Identifier: GPL-2.0-or-later
   What is drawn where. Trees answer to root, total(node), frame(node), sides(node) where two recordings
   are compared, and each(node, visit), which visits the children in order; a layout is the boxes of those nodes that are wide enough, row by row
   and each row from the left. */

/* The stacks as they are. */
function stacksTree(model, sums) {
	return {
		root: 0,
		total: function (node) { return sums.total[node]; },
		frame: function (node) { return model.frame[node]; },
		sides: function (node) { return [sums.sides[0].total[node], sums.sides[1].total[node]]; },
		each: function (node, visit) {
			const end = model.end[node];
			for (let child = node + 1; child < end; child = model.end[child]) {
				if (sums.total[child])
					visit(child);
			}
		}
	};
}

/* ---- Merged trees: a node stands for many nodes of the stacks, and is made when it is looked at ---- */

function merged(frame) {
	return { frame: frame, total: 0, nodes: [], weights: [], sides: [0, 0], sideWeights: [], children: null };
}

/* Puts nodes of the stacks together by their frames: for a tree's merged nodes, one after the other. */
function gatherer(model) {
	const place = new Int32Array(model.nrFrames).fill(-1);
	let found = [];
	return {
		/* sides: what the weight is on both sides of a comparison */
		add: function (node, weight, sides) {
			const frame = model.frame[node];
			if (place[frame] < 0)
				place[frame] = found.push(merged(frame)) - 1;
			const into = found[place[frame]];
			into.total += weight;
			into.nodes.push(node);
			into.weights.push(weight);
			if (sides) {
				into.sides[0] += sides[0];
				into.sides[1] += sides[1];
				into.sideWeights.push(sides);
			}
		},
		take: function () {
			const taken = found;
			found = [];
			taken.forEach(function (node) { place[node.frame] = -1; });
			return taken.sort(function (a, b) { return model.rank[a.frame] - model.rank[b.frame]; });
		}
	};
}

/* Towards the callers. No two nodes here have the same one: they would be two nodes of one frame on one
   caller, which the stacks do not have. */
function expandCallers(model, from, gathered) {
	const nodes = from.nodes, weights = from.weights;
	for (let i = 0; i < nodes.length; i++) {
		const caller = model.parent[nodes[i]];
		if (caller)
			gathered.add(caller, weights[i], from.sideWeights[i]);
	}
	return gathered.take();
}

function sidesOf(model, sums, node) {
	return model.compare && [sums.sides[0].total[node], sums.sides[1].total[node]];
}

function expandCallees(model, sums, from, gathered) {
	from.nodes.forEach(function (node) {
		const end = model.end[node];
		for (let child = node + 1; child < end; child = model.end[child]) {
			if (sums.total[child])
				gathered.add(child, sums.total[child], sidesOf(model, sums, child));
		}
	});
	return gathered.take();
}

function mergedTree(model, sums, root, towardsCallers) {
	const gathered = gatherer(model);
	return {
		root: root,
		total: function (node) { return node.total; },
		frame: function (node) { return node.frame; },
		sides: function (node) { return node.sides; },
		each: function (node, visit) {
			if (!node.children)
				node.children = towardsCallers ? expandCallers(model, node, gathered) :
					expandCallees(model, sums, node, gathered);
			node.children.forEach(visit);
		}
	};
}

/* All stacks upside down: the innermost functions at the root. */
function callersTree(model, sums) {
	const innermost = gatherer(model), root = merged(0);
	for (let i = 1; i < model.nrNodes; i++) {
		if (sums.self[i])
			innermost.add(i, sums.self[i], model.compare && [model.sides[0][i], model.sides[1][i]]);
	}
	root.children = innermost.take();
	root.total = sums.total[0];
	root.sides = sidesOf(model, sums, 0);
	return mergedTree(model, sums, root, true);
}

/* One function from its outermost calls on: each sample that it is in counts once. */
function functionTree(model, sums, frame, towardsCallers) {
	const root = merged(frame), gathered = gatherer(model);
	for (let i = 1; i < model.nrNodes; i++) {
		if (model.frame[i] !== frame || !model.outer[i] || !sums.total[i])
			continue;
		gathered.add(i, sums.total[i], sidesOf(model, sums, i));
	}
	return mergedTree(model, sums, gathered.take()[0] || root, towardsCallers);
}

/* ---- Boxes ---- */

/* Return: the node that the frames of @path lead to, and those before it; as far as they are there. */
function follow(tree, path) {
	const nodes = [tree.root];
	for (const frame of path) {
		let next = null;
		tree.each(nodes[nodes.length - 1], function (node) {
			if (tree.frame(node) === frame)
				next = node;
		});
		if (next === null)
			break;
		nodes.push(next);
	}
	return nodes;
}

/* What is narrower, in pixels, is drawn together with its neighbours of that kind, if at all. */
const NARROWEST = 0.5;

/*
 * Return: { start, total, frame, parent, node: arrays, one entry a box; rows: where each row's boxes
 * begin; focus: the first box whose width is its own }. Starts count samples from the left edge. A
 * frame of -1: several that are too narrow.
 */
function layOut(tree, path, width) {
	const boxes = { start: [], total: [], frame: [], parent: [], node: [], rows: [0], focus: 0 };
	const way = follow(tree, path), whole = tree.total(way[way.length - 1]);
	const least = whole * NARROWEST / Math.max(width, 1);
	let at, rest;
	function add(start, total, frame, parent, node) {
		boxes.start.push(start);
		boxes.total.push(total);
		boxes.frame.push(frame);
		boxes.node.push(node);
		return boxes.parent.push(parent) - 1;
	}
	way.forEach(function (node, i) {
		add(0, whole, tree.frame(node), i - 1, node);
		boxes.rows.push(i + 1);
	});
	boxes.focus = way.length - 1;
	for (let row = boxes.focus; boxes.rows[row] < boxes.rows[row + 1]; row++) {
		for (let box = boxes.rows[row]; box < boxes.rows[row + 1]; box++) {
			if (boxes.frame[box] < 0)
				continue;
			at = boxes.start[box];
			rest = -1;
			tree.each(boxes.node[box], function (node) {
				const total = tree.total(node);
				if (total >= least) {
					add(at, total, tree.frame(node), box, node);
					rest = -1;
				} else if (rest >= 0) {
					boxes.total[rest] += total;
				} else {
					rest = add(at, total, -1, box, null);
				}
				at += total;
			});
		}
		boxes.rows.push(boxes.start.length);
	}
	boxes.rows.pop();
	boxes.tree = tree;
	boxes.whole = whole;
	boxes.path = way.slice(1).map(tree.frame);
	return boxes;
}

/* The box at @start in @row; -1 where there is none. */
function boxAt(boxes, row, start) {
	let low = boxes.rows[row], high = (boxes.rows[row + 1] || low) - 1;
	if (row < 0 || row >= boxes.rows.length - 1)
		return -1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (boxes.start[middle] <= start)
			low = middle;
		else
			high = middle - 1;
	}
	return low <= high && start >= boxes.start[low] &&
		start < boxes.start[low] + boxes.total[low] ? low : -1;
}

/* The frames on the way from the root to @box. */
function pathOf(boxes, box) {
	const path = [];
	for (; boxes.parent[box] >= 0; box = boxes.parent[box])
		path.unshift(boxes.frame[box]);
	return path;
}

function rowOf(boxes, box) {
	let row = 0;
	for (; boxes.parent[box] >= 0; box = boxes.parent[box])
		row++;
	return row;
}
