"""The places of the boxes of a graph: layers from the inputs down to the result, few crossings, no overlaps.

Layers by longest path from the result (Sugiyama's scheme), order within them by barycentres, places by least squares
under minimal distances (isotonic regression, "pool adjacent violators"). High graphs are folded into columns; edges
that would run far are cut, and begin at a small box that names where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

#: distances in pixels
GAP_X, GAP_Y, GAP_COLUMNS, MARGIN = 18.0, 34.0, 70.0, 16.0
#: the most layers that an edge passes, and that an edge of a leaf passes; longer ones are cut
_LONGEST, _LONGEST_LEAF = 8, 3
#: graphs higher than this are folded into columns
_HIGHEST = 2400.0
#: inputs of a step that would take more room than this side by side stand in rows
_WIDEST = 1800.0
_SWEEPS = 6
#: the room an edge takes in a layer that it passes
_LANE = 8.0
#: the distance between edges at a box, and between those with output numbers beside them
_PORT, NUMBERED = 16.0, 32.0


class Box:
    """A node: its size and, filled in, its centre, column and layer. `of` is the index of the node that a small box stands for, or -1."""

    __slots__ = ("width", "height", "is_leaf", "of", "x", "y", "column", "layer")

    def __init__(self, width: float, height: float, *, is_leaf: bool = False, of: int = -1, column: int = 0, layer: int = 0) -> None:
        self.width = width
        self.height = height
        self.is_leaf = is_leaf
        self.of = of
        self.column = column
        self.layer = layer
        self.x = self.y = 0.0


class Edge:
    """From one box to another. `way`, filled in, are the corners (x, y) of its way, `lanes` its places in layers that it passes."""

    __slots__ = ("start", "end", "number", "lanes", "way")

    def __init__(self, start: Box, end: Box, number: str = "") -> None:
        self.start = start
        self.end = end
        self.number = number
        self.lanes: list[Box] = []
        self.way: list[tuple[float, float]] = []


class Drawing(NamedTuple):
    """Boxes (the given ones first, then small ones that stand for others), edges, and the size of it all."""

    boxes: list[Box]
    edges: list[Edge]
    width: float
    height: float


def arrange(boxes: Sequence[Box], links: Sequence[tuple[int, int, str]], small: Callable[[int], tuple[float, float]]) -> Drawing:
    """Place `boxes`, which come in backward order: `links` go from a later box to an earlier one, with the output's number.

    `small` gives the size of the small box that stands for a box.
    """
    every = list(boxes)
    per_column = _assign_layers(every, links)
    edges: list[Edge] = []
    for start, end, number in links:
        box, user = every[start], every[end]
        far = user.layer - box.layer
        if box.column != user.column or far > (_LONGEST_LEAF if box.is_leaf else _LONGEST):
            box = Box(*small(start), of=start, column=user.column, layer=user.layer - 1)
            every.append(box)
        edges.append(Edge(box, user, number))
    right, bottom = MARGIN, 0.0
    for column in range(max(box.column for box in every) + 1):
        members = [box for box in every if box.column == column]
        inside = [edge for edge in edges if edge.end.column == column]
        right, low = _Column(members, inside, per_column).place(right)
        bottom = max(bottom, low)
        right += GAP_COLUMNS
    return Drawing(every, edges, right - GAP_COLUMNS + MARGIN, bottom + MARGIN)


def _assign_layers(boxes: list[Box], links: Sequence[tuple[int, int, str]]) -> int:
    """Set the column and the layer (from 1) of each box; return the number of layers in a column."""
    depth = [0] * len(boxes)
    inputs: list[list[int]] = [[] for _ in boxes]
    for start, end, _ in links:
        inputs[end].append(start)
    for end, starts in enumerate(inputs):
        for start, row in zip(starts, _in_rows([boxes[start].width for start in starts]), strict=True):
            # a row is two layers high, as it most often has steps below their leaves
            depth[start] = max(depth[start], depth[end] + 1 + 2 * row)
    deepest = max(depth)
    # a leaf stands right above its first use
    ranks = [deepest - own for own in depth]
    heights = [0.0] * (deepest + 1)
    widths = [0.0] * (deepest + 1)
    for box, rank in zip(boxes, ranks, strict=True):
        heights[rank] = max(heights[rank], box.height + GAP_Y)
        widths[rank] += box.width + GAP_X
    columns = 1
    if sum(heights) > _HIGHEST:
        # this many columns make the whole about half as high as wide
        columns = max(1, round(math.sqrt(2 * sum(heights) / (_typical(widths) + GAP_COLUMNS))))
    per_column = math.ceil((deepest + 1) / columns)
    for box, rank in zip(boxes, ranks, strict=True):
        box.column, box.layer = rank // per_column, rank % per_column + 1
    return per_column + 1


def _in_rows(widths: Sequence[float]) -> list[int]:
    """The row of each input of a step, counted from below. There is more than one row where one would be too wide."""
    count = math.ceil((sum(widths) + GAP_X * len(widths)) / _WIDEST)
    return [count - 1 - k * count // len(widths) for k in range(len(widths))]


def _typical(sizes: Sequence[float]) -> float:
    return sorted(sizes)[len(sizes) * 9 // 10]


class _Column:
    """A column of layers. It is placed without regard to the others."""

    def __init__(self, boxes: list[Box], edges: list[Edge], layers: int) -> None:
        self._edges = edges
        self._layers: list[list[Box]] = [[] for _ in range(layers)]
        self._above: dict[Box, list[Box]] = {}
        self._below: dict[Box, list[Box]] = {}
        for box in boxes:
            self._layers[box.layer].append(box)
        for edge in edges:
            before = edge.start
            for layer in range(edge.start.layer + 1, edge.end.layer):
                lane = Box(_LANE, 0.0, layer=layer)
                edge.lanes.append(lane)
                self._layers[layer].append(lane)
                self._join(before, lane)
                before = lane
            self._join(before, edge.end)

    def _join(self, upper: Box, lower: Box) -> None:
        self._below.setdefault(upper, []).append(lower)
        self._above.setdefault(lower, []).append(upper)

    def place(self, left: float) -> tuple[float, float]:
        """Set the places of boxes and edges, from x = `left` on; return the right and the lower end."""
        self._sort()
        for layer in self._layers:
            _spread(layer, [0.0] * len(layer))
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for layer in self._layers if down else reversed(self._layers):
                _spread(layer, [self._wish(box, down) for box in layer])
        used = [box for layer in self._layers for box in layer]
        shift = left - min(box.x - box.width / 2 for box in used)
        for box in used:
            box.x += shift
        rows = self._rows()
        self._route(rows)
        return max(box.x + box.width / 2 for box in used), rows[-1][1]

    def _sort(self) -> None:
        """Order every layer by the middle of its neighbours, down and up."""
        place: dict[Box, float] = {}
        for layer in self._layers:
            place |= {box: float(i) for i, box in enumerate(layer)}
        for sweep in range(_SWEEPS):
            near = self._above if sweep % 2 == 0 else self._below
            for layer in self._layers if sweep % 2 == 0 else reversed(self._layers):
                # the sort is stable, so that boxes without neighbours on that side keep their order
                layer.sort(key=lambda box: sum(place[one] for one in near[box]) / len(near[box]) if box in near else place[box])
                size = max(len(layer) - 1, 1)
                place |= {box: i / size for i, box in enumerate(layer)}

    def _wish(self, box: Box, down: bool) -> float:
        """The best x of a box by its neighbours alone."""
        near = self._above.get(box, []) if down else self._below.get(box, [])
        # leaves and small boxes do not count, if there are others, so that chains of steps are straight
        near = [one for one in near if one.of < 0 and not one.is_leaf] or near or self._below.get(box, []) or self._above.get(box, [])
        return sum(one.x for one in near) / len(near) if near else box.x

    def _rows(self) -> list[tuple[float, float]]:
        """The upper and lower end of each layer; boxes are centred in theirs."""
        rows: list[tuple[float, float]] = []
        top = MARGIN
        for layer in self._layers:
            height = max((box.height for box in layer), default=0.0)
            for box in layer:
                box.y = top + height / 2
            rows.append((top, top + height))
            top += height + (GAP_Y if height else 0.0)
        return rows

    def _route(self, rows: list[tuple[float, float]]) -> None:
        """Set the ways of the edges, which are vertical within rows and bend between them."""
        leaving: dict[Box, list[Edge]] = {}
        arriving: dict[Box, list[Edge]] = {}
        for edge in self._edges:
            leaving.setdefault(edge.start, []).append(edge)
            arriving.setdefault(edge.end, []).append(edge)
        starts: dict[Edge, float] = {}
        ends: dict[Edge, float] = {}
        for box, edges in leaving.items():
            edges.sort(key=lambda edge: (edge.lanes[0] if edge.lanes else edge.end).x)
            starts |= zip(edges, _ports(box, len(edges), _PORT), strict=True)
        for box, edges in arriving.items():
            edges.sort(key=lambda edge: ((edge.lanes[-1] if edge.lanes else edge.start).x, starts[edge]))
            ends |= zip(edges, _ports(box, len(edges), NUMBERED if any(edge.number for edge in edges) else _PORT), strict=True)
        for edge in self._edges:
            way = [(starts[edge], edge.start.y + edge.start.height / 2), (starts[edge], rows[edge.start.layer][1])]
            for lane in edge.lanes:
                way += [(lane.x, rows[lane.layer][0]), (lane.x, rows[lane.layer][1])]
            edge.way = [*way, (ends[edge], rows[edge.end.layer][0]), (ends[edge], edge.end.y - edge.end.height / 2)]


def _ports(box: Box, count: int, step: float) -> list[float]:
    """The x of each of `count` edges at a box, `step` apart or less where the box is narrow."""
    step = min(step, (box.width - 16.0) / count)
    return [box.x + (i - (count - 1) / 2) * step for i in range(count)]


def _weight(box: Box) -> float:
    """The weight of a box in the least squares: boxes on the way of the computation have more than leaves and small boxes."""
    return 0.01 if box.of >= 0 else 0.05 if box.is_leaf else 1.0


def _spread(layer: list[Box], wishes: Sequence[float]) -> None:
    """Place boxes, in their order, as near to the wishes as the gaps between them allow: weighted least squares."""
    offsets = []
    offset = 0.0
    for i, box in enumerate(layer):
        if i:
            offset += layer[i - 1].width / 2 + GAP_X + box.width / 2
        offsets.append(offset)
    # pools of (weighted sum of wishes, weight, how many), each at its mean
    pools: list[tuple[float, float, int]] = []
    for box, wish, offset in zip(layer, wishes, offsets, strict=True):
        weight = _weight(box)
        total, count = (wish - offset) * weight, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / weight:
            before = pools.pop()
            total, weight, count = total + before[0], weight + before[1], count + before[2]
        pools.append((total, weight, count))
    at = 0
    for total, weight, count in pools:
        for i in range(at, at + count):
            layer[i].x = total / weight + offsets[i]
        at += count
