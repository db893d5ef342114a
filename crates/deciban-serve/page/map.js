// The map: two numbers of the case as a plane. Colours and names say what would be decided there under the current
// prior, the costs and the other cells of the case; ellipses hold about 39 % and 86 % of each class (1 and 2 standard
// deviations); the case is a point that can be dragged, or moved by the arrow keys.

import { COLOURS, el, hue, id, markAt, put, svg } from './dom.js';
import { number, ticks } from './format.js';
import { best, logPosterior } from './decide.js';
import { cellText, isNumber, roundTo } from './state.js';

const FRAME = { left: 62, right: 12, top: 12, bottom: 48 };
const [ACROSS, DOWN] = [64, 44];

export class RegionMap {
  constructor(data, backend, change) {
    Object.assign(this, { data, backend, change, asked: 0, last: null });
    this.numbers = data.columns.map((column, j) => j).filter((j) => isNumber(data.columns[j]));
    if (this.numbers.length === 0) return;
    this.selects = [0, 1].map((axis) => this.select(axis));
    this.boxes = [0, 1].map((axis) => this.box(axis));
    this.canvas = el('canvas', { width: ACROSS, height: DOWN, 'aria-hidden': 'true' });
    this.drawing = svg('svg', { role: 'group', 'aria-label': 'Map of two features' });
    this.point = svg('g', { class: 'point', tabindex: 0, role: 'button', 'aria-roledescription': 'movable point', onkeydown: (e) => this.key(e) }, svg('circle', { r: 16, class: 'halo' }), svg('circle', { r: 6.5, class: 'dot' }), svg('circle', { r: 2, class: 'centre' }));
    // The point is never taken out of the drawing, so that it keeps the focus.
    this.layers = svg('g');
    this.drawing.append(this.layers, this.point);
    this.drawing.addEventListener('pointerdown', (e) => this.press(e));
    this.drawing.addEventListener('pointermove', (e) => this.drag(e));
    this.drawing.addEventListener('pointerup', () => (this.dragging = false));
    this.drawing.addEventListener('pointercancel', () => (this.dragging = false));
    this.note = el('p', { class: 'quiet' });
    const control = (axis, name) => el('div', { class: 'axis-control' }, el('label', { for: this.selects[axis].id }, name), this.selects[axis], this.boxes[axis]);
    this.plane = el('div', { class: 'plane' }, this.canvas, this.drawing);
    this.element = el('div', { class: 'map' }, el('div', { class: 'axes' }, control(0, 'across'), control(1, 'up')), this.plane, this.note);
    this.size();
    new ResizeObserver(() => this.size() && this.last && this.update(this.last)).observe(this.plane);
  }

  /** The drawing has the pixels of its place, so that its text has the size of the page's; true if they have changed. */
  size() {
    const width = Math.min(Math.max(this.plane.clientWidth || 600, 260), 860);
    if (width === this.width) return false;
    [this.width, this.height] = [width, Math.round(Math.max(0.66 * width, 280))];
    this.drawing.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    const { style } = this.canvas;
    [style.left, style.top] = [`${FRAME.left}px`, `${FRAME.top}px`];
    style.width = `${this.width - FRAME.left - FRAME.right}px`;
    style.height = `${this.height - FRAME.top - FRAME.bottom}px`;
    return true;
  }

  select(axis) {
    const option = (j) => el('option', { value: j }, this.data.columns[j].name);
    const onchange = (e) => {
      const map = this.last.state.map.slice();
      // The same number on both axes makes no plane: the axes change places.
      if (map[1 - axis] === Number(e.target.value)) map[1 - axis] = map[axis];
      map[axis] = Number(e.target.value);
      this.change({ map });
    };
    return el('select', { id: id('axis'), onchange }, this.numbers.map(option));
  }

  box(axis) {
    const oninput = (e) => this.change({ cells: new Map([[this.last.state.map[axis], e.target.value]]) });
    return el('input', { type: 'number', step: 'any', 'aria-label': axis ? 'The case, up' : 'The case, across', oninput });
  }

  /** The range of an axis: what was seen, and the case itself. */
  range(j, x) {
    const column = this.data.columns[j];
    const [low, high] = column.quantiles ? [column.quantiles[0], column.quantiles[8]] : [x - 1, x + 1];
    const [a, b] = Number.isFinite(x) ? [Math.min(low, x), Math.max(high, x)] : [low, high];
    const margin = 0.06 * (b - a || Math.abs(a) || 1);
    return [a - margin, b + margin];
  }

  value(j, row) {
    if (row[j] === '') return NaN;
    return this.data.columns[j].kind === 'date' ? Date.parse(row[j]) / 864e5 : Number(row[j]);
  }

  /** Moves the point and fills the boxes at once; the colours follow when they are known. */
  show({ state, costs, actions }) {
    this.last = { state, costs, actions };
    if (!this.element) return;
    const [jx, jy] = state.map;
    this.selects.forEach((select, axis) => (select.value = state.map[axis]));
    this.boxes.forEach((box, axis) => {
      const column = this.data.columns[state.map[axis]];
      box.type = column.kind === 'date' ? 'date' : 'number';
      box.setAttribute('aria-label', `${column.name} of the case`);
      if (document.activeElement !== box) box.value = state.row[state.map[axis]];
    });
    const [x, y] = [this.value(jx, state.row), this.value(jy, state.row)];
    if (!this.dragging) this.ranges = [this.range(jx, x), this.range(jy, y)];
    this.draw(x, y);
    if (this.decided) this.name(this.decided.places, this.decided.actions);
  }

  async update(shown) {
    this.show(shown);
    if (this.element) await this.colour(shown.state, shown.costs, shown.actions);
  }

  x(v) {
    const [low, high] = this.ranges[0];
    return FRAME.left + ((v - low) / (high - low)) * (this.width - FRAME.left - FRAME.right);
  }

  y(v) {
    const [low, high] = this.ranges[1];
    return this.height - FRAME.bottom - ((v - low) / (high - low)) * (this.height - FRAME.top - FRAME.bottom);
  }

  draw(x, y) {
    const { state } = this.last;
    const [jx, jy] = state.map;
    const columns = state.map.map((j) => this.data.columns[j]);
    const shown = (column, t) => (column.kind === 'date' ? cellText(column, t) : number(t));
    const bottom = this.height - FRAME.bottom;
    const across = ticks(...this.ranges[0], columns[0].kind === 'date' ? this.width / 150 : this.width / 85).map((t) => svg('g', {}, svg('line', { x1: this.x(t), x2: this.x(t), y1: bottom, y2: bottom + 5, class: 'base' }), svg('text', { x: this.x(t), y: bottom + 18, 'text-anchor': 'middle' }, shown(columns[0], t))));
    const up = ticks(...this.ranges[1], 6).map((t) => svg('g', {}, svg('line', { x1: FRAME.left - 5, x2: FRAME.left, y1: this.y(t), y2: this.y(t), class: 'base' }), svg('text', { x: FRAME.left - 8, y: this.y(t) + 4, 'text-anchor': 'end' }, shown(columns[1], t))));
    this.names = svg('g', { class: 'regions' });
    const clip = svg('clipPath', { id: 'frame' }, svg('rect', { x: FRAME.left, y: FRAME.top, width: this.width - FRAME.left - FRAME.right, height: bottom - FRAME.top }));
    const isThere = Number.isFinite(x) && Number.isFinite(y);
    const guide = (j) => {
      if (Number.isFinite(x) && j === 0) return svg('line', { x1: this.x(x), x2: this.x(x), y1: FRAME.top, y2: bottom, class: 'guide' });
      if (Number.isFinite(y) && j === 1) return svg('line', { x1: FRAME.left, x2: this.width - FRAME.right, y1: this.y(y), y2: this.y(y), class: 'guide' });
      return null;
    };
    put(
      this.layers,
      svg('defs', {}, clip),
      svg('g', { 'clip-path': 'url(#frame)' }, this.classes(jx, jy), guide(0), guide(1), this.names),
      svg('rect', { x: FRAME.left, y: FRAME.top, width: this.width - FRAME.left - FRAME.right, height: bottom - FRAME.top, class: 'frame' }),
      across,
      up,
      svg('text', { x: (FRAME.left + this.width - FRAME.right) / 2, y: this.height - 8, 'text-anchor': 'middle', class: 'strong' }, columns[0].name),
      svg('text', { x: 14, y: (FRAME.top + bottom) / 2, 'text-anchor': 'middle', transform: `rotate(-90 14 ${(FRAME.top + bottom) / 2})`, class: 'strong' }, columns[1].name),
    );
    this.point.style.display = isThere ? '' : 'none';
    if (isThere) {
      this.point.setAttribute('transform', `translate(${this.x(x)} ${this.y(y)})`);
      this.point.setAttribute('aria-label', `The case: ${columns[0].name} ${state.row[jx]}, ${columns[1].name} ${state.row[jy]}. Arrow keys move it, with Shift by larger steps.`);
    }
    if (isThere && this.wantsFocus) this.point.focus({ preventScroll: true });
    this.wantsFocus = false;
    const unknown = [jx, jy].filter((j) => state.row[j] === '').map((j) => this.data.columns[j].name);
    put(this.note, unknown.length ? `${unknown.join(' and ')}: unknown. Click on the map to place the case.` : this.hasEllipses ? 'Names and shades: the decision there, the other cells of the case being as they are. Ellipses: 1 and 2 standard deviations of each class.' : 'Names and shades: the decision there, the other cells of the case being as they are.');
  }

  /** The mean and the covariance of two columns in each class: the model's, or those of drawn rows. */
  spread(jx, jy) {
    const { moments, drawn, classes } = this.data;
    const [a, b] = moments ? [moments.columns.indexOf(jx), moments.columns.indexOf(jy)] : [-1, -1];
    if (a >= 0 && b >= 0) {
      const d = moments.columns.length;
      return moments.mean.map((mean, k) => ({ mean: [mean[a], mean[b]], s: [moments.covariance[k][a * d + a], moments.covariance[k][a * d + b], moments.covariance[k][b * d + b]] }));
    }
    if (!drawn) return [];
    return classes.map((_, k) => {
      const rows = drawn.rows.slice(k * drawn.each, (k + 1) * drawn.each).map((row) => [row[jx], row[jy]]).filter((pair) => pair.every((v) => typeof v === 'number'));
      const mean = [0, 1].map((i) => rows.reduce((sum, pair) => sum + pair[i], 0) / rows.length);
      const s = (i, j) => rows.reduce((sum, pair) => sum + (pair[i] - mean[i]) * (pair[j] - mean[j]), 0) / rows.length;
      return { mean, s: [s(0, 0), s(0, 1), s(1, 1)] };
    });
  }

  classes(jx, jy) {
    if (jx === jy) return [];
    const found = this.spread(jx, jy).filter(({ mean, s }) => [...mean, ...s].every(Number.isFinite));
    this.hasEllipses = found.length > 0;
    if (found.length > COLOURS) return [];
    return found.flatMap(({ mean, s }, k) => [
      ...[1, 2].map((r) => svg('path', { d: this.ellipse(mean, s, r), class: `ellipse ${hue(k)}` })),
      markAt(k, this.x(mean[0]), this.y(mean[1]), 5),
    ]);
  }

  /** r standard deviations around the mean: the image of a circle under the factor of the covariance. */
  ellipse([mx, my], [sxx, sxy, syy], r) {
    const a = Math.sqrt(sxx);
    const b = sxy / a;
    const c = Math.sqrt(Math.max(syy - b * b, 0));
    const at = (i) => {
      const [u, v] = [Math.cos((i * Math.PI) / 36), Math.sin((i * Math.PI) / 36)];
      return `${this.x(mx + r * a * u).toFixed(2)} ${this.y(my + r * (b * u + c * v)).toFixed(2)}`;
    };
    return `M${Array.from({ length: 72 }, (_, i) => at(i)).join('L')}Z`;
  }

  /** Colours the plane by the decisions on a grid, and names the regions. */
  async colour({ row, map, prior }, costs, actions) {
    const asked = (this.asked += 1);
    const [[x0, x1], [y0, y1]] = this.ranges;
    const at = (index) => {
      const [i, j] = [Math.floor(index / ACROSS), index % ACROSS];
      const place = [x0 + ((j + 0.5) / ACROSS) * (x1 - x0), y1 - ((i + 0.5) / DOWN) * (y1 - y0)];
      const cells = row.slice();
      map.forEach((c, axis) => (cells[c] = this.cell(c, place[axis])));
      return cells;
    };
    const key = JSON.stringify([row.map((cell, j) => (map.includes(j) ? 0 : cell)), map, this.ranges]);
    if (key !== this.scored) {
      // A plane of rows takes longer than one: it waits until nobody types.
      if (this.scored) await new Promise((resolve) => setTimeout(resolve, 80));
      if (asked !== this.asked) return;
      let evidence;
      try {
        evidence = await this.backend.score(Array.from({ length: ACROSS * DOWN }, (_, index) => at(index)));
      } catch {
        return;
      }
      if (asked !== this.asked) return;
      [this.scored, this.evidence] = [key, evidence];
    }
    const decided = this.evidence.map((evidence) => {
      const posterior = logPosterior(evidence, prior).map(Math.exp);
      return posterior.some(Number.isNaN) ? -1 : best(costs, posterior).action;
    });
    this.decided = { places: decided, actions };
    this.paint(decided);
    this.name(decided, actions);
  }

  /** A cell of the grid: counts are whole, dates days. */
  cell(j, x) {
    const column = this.data.columns[j];
    if (column.kind === 'date') return cellText(column, x);
    return String(column.kind === 'count' ? Math.max(0, Math.round(x)) : x);
  }

  paint(decided) {
    const context = this.canvas.getContext('2d');
    const image = context.createImageData(ACROSS, DOWN);
    const style = getComputedStyle(this.element);
    const shade = (action) => {
      const name = action < this.data.classes.length ? `--hue${action % COLOURS}` : '--rest';
      return style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
    };
    const shades = new Map();
    decided.forEach((action, i) => {
      if (action < 0) return;
      if (!shades.has(action)) shades.set(action, shade(action));
      const [r, g, b] = shades.get(action);
      image.data.set([r, g, b, 64], 4 * i);
    });
    context.putImageData(image, 0, 0);
  }

  /** The name of each region, at the cell of it that is farthest from other regions. */
  name(decided, actions) {
    const found = new Map();
    const isOther = (i, j, action) => i < 0 || j < 0 || i >= DOWN || j >= ACROSS || decided[i * ACROSS + j] !== action;
    const room = (i, j, action) => {
      for (let r = 1; r < 14; r += 1) {
        if (isOther(i - r, j, action) || isOther(i + r, j, action) || isOther(i, j - 2 * r, action) || isOther(i, j + 2 * r, action)) return r;
      }
      return 14;
    };
    decided.forEach((action, index) => {
      if (action < 0) return;
      const [i, j] = [Math.floor(index / ACROSS), index % ACROSS];
      const free = room(i, j, action);
      if (free > (found.get(action)?.free ?? 1)) found.set(action, { free, i, j });
    });
    const [[x0, x1], [y0, y1]] = this.ranges;
    const label = ([action, { i, j }]) => svg('text', { x: this.x(x0 + ((j + 0.5) / ACROSS) * (x1 - x0)), y: this.y(y1 - ((i + 0.5) / DOWN) * (y1 - y0)), 'text-anchor': 'middle' }, actions[action]);
    put(this.names, [...found].map(label));
  }

  /** The place of a pointer in the units of the columns. */
  place(event) {
    const box = this.drawing.getBoundingClientRect();
    const [px, py] = [((event.clientX - box.left) / box.width) * this.width, ((event.clientY - box.top) / box.height) * this.height];
    const [[x0, x1], [y0, y1]] = this.ranges;
    const share = (p, a, b) => Math.min(Math.max((p - a) / (b - a), 0), 1);
    return [x0 + share(px, FRAME.left, this.width - FRAME.right) * (x1 - x0), y1 - share(py, FRAME.top, this.height - FRAME.bottom) * (y1 - y0)];
  }

  press(event) {
    this.dragging = true;
    this.drawing.setPointerCapture(event.pointerId);
    this.wantsFocus = true;
    this.move(this.place(event));
    event.preventDefault();
  }

  drag(event) {
    if (this.dragging) this.move(this.place(event));
  }

  move(place) {
    const { map } = this.last.state;
    this.change({ cells: new Map(map.map((j, axis) => [j, cellText(this.data.columns[j], roundTo(place[axis], this.data.columns[j]))])) });
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const { map, row } = this.last.state;
    const size = event.shiftKey ? 0.1 : 0.01;
    const moved = map.map((j, axis) => {
      const [low, high] = this.ranges[axis];
      const column = this.data.columns[j];
      const least = column.whole || column.kind !== 'number' ? 1 : 0;
      return this.value(j, row) + step[axis] * Math.max(size * (high - low), least);
    });
    this.move(moved);
  }
}
