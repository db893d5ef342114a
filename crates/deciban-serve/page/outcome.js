// The decision, the probabilities of the classes, and the same as natural frequencies.

import { el, hue, mark, markAt, put, svg } from './dom.js';
import { apportion, frequency, number, percent } from './format.js';

/** With more classes than these only the most probable ones are shown. */
const MOST = 12;

export class Outcome {
  constructor(data) {
    this.data = data;
    this.decision = el('p', { class: 'decision', 'aria-live': 'polite', 'aria-atomic': 'true' });
    this.cost = el('p', { class: 'quiet' });
    this.bars = el('ul', { class: 'posterior' });
    this.icons = svg('svg', { class: 'icons', viewBox: '0 0 200 50', role: 'img' });
    this.sentence = el('p', { class: 'sentence' });
    this.said = '';
    this.glance = el('a', { class: 'glance', href: '#result', onclick: (e) => this.toResult(e) });
    this.element = el(
      'div',
      { class: 'outcome' },
      el('div', {}, this.decision, this.cost, this.bars),
      el('div', { class: 'frequencies' }, this.icons, this.sentence),
      this.glance,
    );
  }

  /** Without a change of the address, whose fragment is the state. */
  toResult(event) {
    event.preventDefault();
    const section = document.getElementById('result');
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  }

  update({ posterior, actions, action, expected }) {
    const { classes } = this.data;
    const isImpossible = posterior.some(Number.isNaN);
    const decided = isImpossible ? 'No class is possible' : actions[action];
    const text = `Decide: ${decided}`;
    if (text !== this.said) {
      const label = action < classes.length && !isImpossible ? [mark(action), ' '] : [];
      put(this.decision, el('span', { class: 'quiet' }, 'Decide '), label, el('strong', {}, decided));
      this.said = text;
    }
    const most = posterior.indexOf(Math.max(...posterior));
    const named = action < classes.length && !isImpossible;
    put(this.glance, named && mark(action), el('strong', {}, decided), el('span', { class: 'value' }, isImpossible ? '' : `${classes[most]} ${percent(posterior[most])}`));
    const others = expected.map((cost, a) => [cost, actions[a]]).filter((_, a) => a !== action);
    const next = others.reduce((least, other) => (other[0] < least[0] ? other : least), others[0]);
    put(this.cost, isImpossible ? 'The prior or the row rules out every class.' : `expected cost ${number(expected[action], 3)}, next best ${next[1]} at ${number(next[0], 3)}`);
    const order = classes.map((_, k) => k);
    const shown = order.length > MOST ? order.sort((i, j) => posterior[j] - posterior[i]).slice(0, MOST) : order;
    put(this.bars, shown.map((k) => this.bar(k, posterior[k])));
    this.drawIcons(posterior, isImpossible);
  }

  bar(k, p) {
    const length = Number.isNaN(p) ? 0 : 100 * p;
    return el(
      'li',
      {},
      el('span', { class: 'who' }, mark(k), el('span', { class: 'name' }, this.data.classes[k])),
      svg('svg', { class: 'bar', 'aria-hidden': 'true', height: 14 }, svg('rect', { class: 'track', width: '100%', height: 14, rx: 2 }), svg('rect', { class: `fill ${hue(k)}`, width: `${length}%`, height: 14, rx: 2 })),
      el('span', { class: 'value' }, percent(p)),
    );
  }

  /** A hundred cases like this one, each with the mark of its class. */
  drawIcons(posterior, isImpossible) {
    const { classes } = this.data;
    if (isImpossible) {
      put(this.icons);
      put(this.sentence);
      return;
    }
    const counts = apportion(posterior, 100);
    const owners = counts.flatMap((count, k) => new Array(count).fill(k));
    put(this.icons, owners.map((k, i) => markAt(k, 5 + 10 * (i % 20), 5 + 10 * Math.floor(i / 20), 3.4)));
    const order = classes.map((_, k) => k).sort((i, j) => posterior[j] - posterior[i]);
    const [first, second] = order;
    const sentence = `Of 100 cases like this, about ${counts[first]} are ${classes[first]}` + (counts[second] > 0 ? ` and ${counts[second]} ${classes[second]}.` : '.');
    const rare = counts[second] === 0 ? ` ${classes[second]}: ${frequency(posterior[second])}.` : '';
    this.icons.setAttribute('aria-label', sentence);
    put(this.sentence, sentence + rare);
  }
}
