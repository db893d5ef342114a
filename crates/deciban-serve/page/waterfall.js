// The evidence ledger as a waterfall on one axis of decibans: the prior odds, what each feature adds, and the posterior
// odds, with the thresholds that the costs put on that axis. It is a table, with a drawing in each row on a shared scale.

import { byColumn } from './decide.js';
import { el, hue, id, mark, put, svg } from './dom.js';
import { signed, ticks } from './format.js';

const HEIGHT = 26;
const SHOWN = 14;

export class Waterfall {
  constructor(data, change) {
    Object.assign(this, { data, change, all: false, last: null });
    const [of, over] = [id('of'), id('over')];
    const option = (k, text) => el('option', { value: k }, text);
    const classes = data.classes.map((name, k) => option(k, name));
    this.of = el('select', { id: of, onchange: (e) => change({ of: e.target.value === '' ? null : Number(e.target.value) }) }, option('', 'best supported'), classes);
    const rest = data.classes.length > 2 ? [option(-1, 'all others')] : [];
    this.over = el('select', { id: over, onchange: (e) => change({ over: e.target.value === '' ? null : Number(e.target.value) }) }, option('', 'next best supported'), rest, classes.map((o) => o.cloneNode(true)));
    this.body = el('tbody');
    this.axis = el('td', { class: 'chart' });
    this.zones = el('td', { class: 'chart' });
    this.more = el('button', { type: 'button', hidden: true, onclick: () => this.toggle() });
    this.missing = el('p', { class: 'quiet' });
    this.legend = el('p', { class: 'quiet legend' });
    const table = el(
      'table',
      { class: 'waterfall' },
      el('caption', { class: 'away' }, 'Evidence ledger in decibans'),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'feature'), el('th', { scope: 'col', class: 'cell' }, 'cell'), el('th', { scope: 'col', class: 'said' }, 'decibans'), el('th', { scope: 'col', class: 'chart' }, (this.sides = el('span', { class: 'sides' }))))),
      this.body,
      el('tfoot', {}, el('tr', { class: 'axis' }, el('td', { colspan: 3 }), this.axis)),
    );
    const pick = (control, name, text) => el('div', {}, el('label', { for: name }, text), control);
    this.element = el('div', { class: 'ledger' }, el('div', { class: 'between' }, pick(this.of, of, 'Evidence for'), pick(this.over, over, 'over')), table, this.more, this.missing, this.legend);
    new ResizeObserver(() => this.redraw()).observe(table);
  }

  toggle() {
    this.all = !this.all;
    this.redraw();
  }

  update(shown) {
    this.last = shown;
    this.redraw();
  }

  redraw() {
    if (!this.last) return;
    const { ledger, segments, actions, of, over, chosen } = this.last;
    const { classes } = this.data;
    this.of.value = chosen.of ?? '';
    this.over.value = chosen.over ?? '';
    const lines = this.lines(ledger);
    const scale = this.scale(lines, ledger, segments);
    const rival = over === null ? 'all others' : classes[over];
    put(this.sides, el('span', {}, '◂ ', over === null ? '' : mark(over), ` ${rival}`), el('span', {}, mark(of), ` ${classes[of]} ▸`));
    put(this.body, lines.map((line) => this.row(line, scale, of, over)));
    put(this.axis, this.drawAxis(scale, segments, actions));
    put(this.missing, ledger.missing.length ? `unknown, and silent: ${ledger.missing.join(', ')}` : '');
    const thresholds = segments.slice(1).map(({ from }) => signed(from));
    put(this.legend, `10 decibans are odds of 10 to 1. Dashed lines: where the decision changes${thresholds.length ? ` (${thresholds.join(', ')})` : ''}.`);
    this.more.hidden = ledger.features.length <= SHOWN + 1;
    put(this.more, this.all ? 'Show the most telling features' : `Show all ${ledger.features.length} features`);
  }

  /**
   * Prior, the features that say most, the rest in one line, and the posterior; each with where its bar begins. Pairs of
   * columns are shown with their columns where not all features are shown.
   */
  lines({ prior, features, total }) {
    const isLong = !this.all && features.length > SHOWN + 1;
    const grouped = isLong ? byColumn(features, this.data.columns.map(({ name }) => name)) : features;
    const ranked = [...grouped].sort((a, b) => Math.abs(b.decibans) - Math.abs(a.decibans));
    const few = this.all || ranked.length <= SHOWN + 1 ? ranked : ranked.slice(0, SHOWN);
    const rest = ranked.slice(few.length);
    const list = [{ name: 'prior odds', decibans: prior, kind: 'prior' }, ...few];
    if (rest.length) list.push({ name: `${rest.length} other features`, decibans: rest.reduce((sum, line) => sum + line.decibans, 0) });
    let at = 0;
    const placed = list.map((line) => {
      const from = at;
      at += line.decibans;
      return { ...line, from, to: at };
    });
    return [...placed, { name: 'posterior odds', decibans: total, from: 0, to: total, kind: 'total' }];
  }

  /** From decibans to pixels: all running sums fit, the thresholds where they are near. */
  scale(lines, { total }, segments) {
    const finite = lines.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite);
    let [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
    const reach = Math.max(high - low, 20);
    for (const { from } of segments) {
      if (Number.isFinite(from) && from > low - reach && from < high + reach) [low, high] = [Math.min(low, from), Math.max(high, from)];
    }
    const margin = 0.04 * Math.max(high - low, 10);
    [low, high] = [low - margin, high + margin];
    const width = Math.max(this.axis.clientWidth || 400, 120);
    const x = (decibans) => (Math.min(Math.max(decibans, low), high) - low) * (width / (high - low));
    const thresholds = segments.slice(1).map(({ from }) => from).filter((from) => from >= low && from <= high);
    return { low, high, width, x, thresholds, total };
  }

  row(line, scale, of, over) {
    const { x, width } = scale;
    const value = line.value === undefined || line.value === null ? '' : String(line.value);
    const [a, b] = [x(line.from), x(line.to)].sort((p, q) => p - q);
    const owner = line.to >= line.from ? hue(of) : over === null ? 'rest' : hue(over);
    const bar = Number.isNaN(line.to) || Number.isNaN(line.from) ? null : svg('rect', { x: a, width: Math.max(b - a, 1), y: 5, height: HEIGHT - 10, rx: 1.5, class: `fill ${owner}` });
    const end = line.kind === 'total' || !Number.isFinite(line.to) ? null : svg('line', { x1: x(line.to), x2: x(line.to), y1: HEIGHT - 5, y2: HEIGHT + 5, class: 'joint' });
    const drawing = svg(
      'svg',
      { width: '100%', height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: 'none', overflow: 'visible', 'aria-hidden': 'true', focusable: 'false' },
      svg('line', { x1: x(0), x2: x(0), y1: 0, y2: HEIGHT, class: 'even' }),
      scale.thresholds.map((t) => svg('line', { x1: x(t), x2: x(t), y1: 0, y2: HEIGHT, class: 'threshold' })),
      bar,
      end,
    );
    return el(
      'tr',
      { class: line.kind ?? 'feature', 'data-decibans': line.decibans },
      el('th', { scope: 'row', title: line.name }, line.name),
      el('td', { class: 'cell', title: value }, typeof line.value === 'number' ? String(Number(line.value.toPrecision(6))) : value),
      el('td', { class: 'said' }, signed(line.decibans)),
      el('td', { class: 'chart' }, drawing),
    );
  }

  /** Ticks in decibans, and below them what is decided where. */
  drawAxis({ low, high, width, x }, segments, actions) {
    const marks = ticks(low, high, width / 70);
    const nodes = [svg('line', { x1: 0, x2: width, y1: 0.5, y2: 0.5, class: 'base' })];
    for (const t of marks) {
      nodes.push(svg('line', { x1: x(t), x2: x(t), y1: 0, y2: 5, class: 'base' }));
      nodes.push(svg('text', { x: x(t), y: 17, 'text-anchor': 'middle' }, t === 0 ? '0' : signed(t).replace(/\.0$/, '')));
    }
    segments.forEach(({ from, to, action }, i) => {
      const [a, b] = [x(from), x(to)];
      if (b - a < 2) return;
      const owner = action < this.data.classes.length ? hue(action) : 'rest';
      nodes.push(svg('rect', { x: a + (i ? 1 : 0), width: b - a - 1, y: 24, height: 4, class: `fill ${owner}` }));
      if (i) nodes.push(svg('line', { x1: a, x2: a, y1: 0, y2: 28, class: 'threshold' }));
      if (b - a > 7 * actions[action].length) nodes.push(svg('text', { x: (a + b) / 2, y: 41, 'text-anchor': 'middle', class: 'zone' }, actions[action]));
    });
    return svg('svg', { width: '100%', height: 46, viewBox: `0 0 ${width} 46`, preserveAspectRatio: 'none', role: 'img', 'aria-label': describeZones(segments, actions) }, nodes);
  }
}

function describeZones(segments, actions) {
  const zone = ({ from, to, action }) => `${actions[action]} ${from === -Infinity ? '' : `from ${signed(from)} `}${to === Infinity ? '' : `up to ${signed(to)}`}`.trim();
  return `Axis of decibans. Decided: ${segments.map(zone).join('; ')}.`;
}
