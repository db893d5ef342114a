// How unusual a case is: where its ln p(x) lies among rows that the model itself would make, under the current prior.
//
//   rank(x) = P(p(X) ≤ p(x)) = Σₖ πₖ · (share of the rows drawn of class k that are no more usual)

import { el, put, svg } from './dom.js';
import { number, percent, ticks } from './format.js';

const [HEIGHT, BINS] = [120, 40];
const FAR_OUT = 0.01;
/** Who describes rows. */
const MAKERS = {
  itself: () => 'the model',
  member: ({ name }) => `the member ${name}`,
  companion: () => 'the companion of the model',
};

/** The rank of a log-density among drawn rows, `each` of every class. */
export function rank(logDensity, drawn, each, prior) {
  const limit = logDensity + 1e-10 * Math.max(1, Math.abs(logDensity));
  return drawn.reduce((sum, x, i) => (x <= limit ? sum + prior[Math.floor(i / each)] / each : sum), 0);
}

export class Usual {
  constructor(data) {
    this.data = data;
    this.warning = el('p', { class: 'warning', role: 'status' });
    this.sentence = el('p', {});
    this.drawing = svg('svg', { class: 'plot', role: 'img', 'aria-label': 'Histogram of ln p(x) of rows of the model, and where this case lies' });
    this.element = el('div', { class: 'usual' }, this.warning, this.sentence, this.drawing);
    new ResizeObserver(() => this.last && this.draw(...this.last)).observe(this.element);
  }

  /** `drawn` is null where the model has no density of rows. */
  update({ logDensity, drawn, prior, known }) {
    put(this.warning);
    if (!drawn) {
      const why = this.data.density ? 'Rows of this model cannot be drawn, so there is nothing to compare with.' : 'This model knows classes given rows, not how probable rows are.';
      put(this.sentence, why);
      this.last = null;
      this.drawing.style.display = 'none';
      return;
    }
    this.drawing.style.display = '';
    if (known === 0) {
      put(this.sentence, 'Nothing is known of this case yet.');
      put(this.drawing);
      return;
    }
    const each = this.data.drawn.each;
    const share = rank(logDensity, drawn, each, prior);
    const least = drawn.every((x) => x > logDensity);
    const maker = MAKERS[this.data.density.by](this.data.density);
    const told = least ? `less usual than all ${drawn.length.toLocaleString('en')} rows drawn from ${maker}` : `${percent(share)} of the rows that ${maker} would make are as unusual as this case, or more`;
    put(this.sentence, `ln p(x) = ${number(logDensity, 5)}: ${told}.`);
    if (share < FAR_OUT) put(this.warning, el('strong', {}, 'Far out. '), 'The model has hardly seen the like: what it says of this case is an extrapolation. Check the cells.');
    this.last = [logDensity, drawn, each, prior, share];
    this.draw(...this.last);
  }

  draw(logDensity, drawn, each, prior, share) {
    const width = Math.min(Math.max(this.element.clientWidth || 480, 240), 620);
    this.drawing.setAttribute('viewBox', `0 0 ${width} ${HEIGHT + 34}`);
    const weight = (i) => prior[Math.floor(i / each)] / each;
    const sorted = drawn.map((x, i) => [x, weight(i)]).filter(([x, w]) => Number.isFinite(x) && w > 0).sort((a, b) => a[0] - b[0]);
    if (!sorted.length) return;
    let [low, high] = [sorted[Math.floor(sorted.length * 0.002)][0], sorted[sorted.length - 1][0]];
    const reach = high - low || 1;
    const isOff = logDensity < low - reach;
    if (Number.isFinite(logDensity) && !isOff) low = Math.min(low, logDensity);
    [low, high] = [low - 0.03 * reach, high + 0.03 * reach];
    const x = (v) => 10 + ((Math.min(Math.max(v, low), high) - low) / (high - low)) * (width - 20);
    const bins = new Array(BINS).fill(0);
    for (const [v, w] of sorted) {
      const bin = Math.floor(((v - low) / (high - low)) * BINS);
      if (bin >= 0) bins[Math.min(bin, BINS - 1)] += w;
    }
    const most = Math.max(...bins);
    const step = (width - 20) / BINS;
    const bars = bins.map((w, i) => svg('rect', { x: 10 + i * step + 0.5, width: step - 1, y: HEIGHT - (w / most) * (HEIGHT - 24), height: (w / most) * (HEIGHT - 24), class: 'track strong' }));
    const at = x(logDensity);
    const anchor = at < width / 4 ? 'start' : at > (3 * width) / 4 ? 'end' : 'middle';
    const label = isOff || logDensity === -Infinity ? '◂ this case, far off the scale' : 'this case';
    put(
      this.drawing,
      bars,
      svg('line', { x1: 10, x2: width - 10, y1: HEIGHT, y2: HEIGHT, class: 'base' }),
      ticks(low, high, width / 80).map((t) => svg('text', { x: x(t), y: HEIGHT + 15, 'text-anchor': 'middle' }, number(t))),
      svg('text', { x: width / 2, y: HEIGHT + 31, 'text-anchor': 'middle' }, 'ln p(x) of rows drawn from the model'),
      svg('line', { x1: at, x2: at, y1: 14, y2: HEIGHT, class: share < FAR_OUT ? 'case alarm' : 'case' }),
      svg('text', { x: at, y: 10, 'text-anchor': anchor, class: 'strong' }, label),
    );
  }
}
