// The prior as sliders and the costs as a table: what a person plugs in after the evidence is known.

import { el, id, mark, put } from './dom.js';
import { isCost, zeroOne } from './decide.js';

/** Sliders move in decibans of the odds of a class, from 1 in a million to all but one. */
const REACH = 60;
const toOdds = (p) => (10 * Math.log10(p / (1 - p)));
const fromOdds = (decibans) => 1 / (1 + 10 ** (-decibans / 10));

/** The prior with another probability of class k; the others share the rest as before. */
export function withShare(prior, k, p) {
  const rest = 1 - prior[k];
  const others = prior.length - 1;
  return prior.map((q, i) => (i === k ? p : rest > 1e-12 ? (q * (1 - p)) / rest : (1 - p) / others));
}

const percentText = (p) => String(Number((100 * p).toPrecision(p > 0.99 ? 7 : 4)));

export class PriorControls {
  constructor(data, change) {
    this.data = data;
    this.rows = data.classes.map((name, k) => this.row(name, k, change));
    const set = (prior) => () => change({ prior: prior.slice() });
    const uniform = data.classes.map(() => 1 / data.classes.length);
    const same = (a, b) => a.every((p, k) => Math.abs(p - b[k]) < 1e-12);
    this.element = el(
      'div',
      { class: 'prior' },
      el('p', { class: 'quiet' }, 'How common each class is where the decision is made. It moves the decision, never the evidence.'),
      el('div', { class: 'sliders' }, this.rows.map((row) => row.element)),
      el(
        'div',
        { class: 'buttons' },
        el('button', { type: 'button', onclick: set(data.empirical) }, 'As in training'),
        el('button', { type: 'button', onclick: set(uniform) }, 'All alike'),
        !same(data.prior, data.empirical) && el('button', { type: 'button', onclick: set(data.prior) }, "The model's"),
      ),
    );
  }

  row(name, k, change) {
    const [slider, box] = [id('prior'), id('share')];
    const state = { prior: null };
    const move = (p) => change({ prior: withShare(state.prior, k, p) });
    const range = el('input', { type: 'range', id: slider, min: -REACH, max: REACH, step: 0.5, oninput: (e) => move(fromOdds(Number(e.target.value))) });
    const number = el('input', {
      type: 'number',
      id: box,
      min: 0,
      max: 100,
      step: 'any',
      'aria-label': `Prior of ${name} in per cent`,
      oninput: (e) => {
        const p = Number(e.target.value) / 100;
        if (e.target.value !== '' && p >= 0 && p <= 1) move(p);
      },
    });
    const element = el('div', { class: 'slider' }, el('label', { for: slider, class: 'who' }, mark(k), el('span', { class: 'name' }, name)), range, el('span', { class: 'unit' }, number, '%'));
    return { element, range, number, state };
  }

  update(prior) {
    this.rows.forEach(({ range, number, state }, k) => {
      state.prior = prior;
      const odds = Math.min(Math.max(toOdds(prior[k]), -REACH), REACH);
      if (document.activeElement !== range) range.value = odds;
      range.setAttribute('aria-valuetext', `${percentText(prior[k])} per cent`);
      if (document.activeElement !== number) number.value = percentText(prior[k]);
    });
  }
}

export class CostControls {
  constructor(data, change) {
    const { classes } = data;
    Object.assign(this, { data, cells: [] });
    const head = classes.map((name, k) => el('th', { scope: 'col' }, mark(k), ' ', name));
    const row = (name, k) => el('tr', {}, el('th', { scope: 'row' }, mark(k), ' ', name), classes.map((decided, a) => el('td', {}, this.cell(k, a, `Cost of deciding ${decided} where ${name} is true`, change))));
    const [check, box] = [id('reject'), id('reject-cost')];
    this.check = el('input', { type: 'checkbox', id: check, onchange: (e) => change({ reject: e.target.checked ? 0.1 : null }) });
    this.box = el('input', {
      type: 'number',
      id: box,
      min: 0,
      step: 'any',
      'aria-label': 'Cost of a reject',
      oninput: (e) => {
        if (e.target.value !== '' && Number(e.target.value) >= 0) change({ reject: Number(e.target.value) });
      },
    });
    this.element = el(
      'div',
      { class: 'costs' },
      el('p', { class: 'quiet' }, 'What a decision costs, by the true class.'),
      el(
        'div',
        { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Costs' },
        el('table', {}, el('caption', { class: 'away' }, 'Costs of decisions'), el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'true \\ decided'), head)), el('tbody', {}, classes.map(row))),
      ),
      el('div', { class: 'reject' }, this.check, el('label', { for: check }, 'A reject is allowed, at a cost of'), this.box),
      el('div', { class: 'buttons' }, el('button', { type: 'button', onclick: () => change({ costs: zeroOne(classes.length), reject: null }) }, 'Every mistake costs 1')),
    );
  }

  cell(truth, decided, label, change) {
    const input = el('input', {
      type: 'number',
      min: 0,
      step: 'any',
      'aria-label': label,
      oninput: (e) => {
        if (e.target.value === '' || !isCost(Number(e.target.value))) return;
        const costs = this.costs.map((row) => row.slice());
        costs[truth][decided] = Number(e.target.value);
        change({ costs });
      },
    });
    this.cells.push({ input, truth, decided });
    return input;
  }

  update({ costs, reject }) {
    this.costs = costs;
    for (const { input, truth, decided } of this.cells) {
      const text = String(costs[truth][decided]);
      if (document.activeElement !== input) input.value = text;
    }
    this.check.checked = reject !== null;
    this.box.disabled = reject === null;
    if (document.activeElement !== this.box) this.box.value = reject ?? '';
  }
}
