// The case as a request in three languages.

import { el, id, put } from './dom.js';

/** A word of a shell, in quotes where it needs them. */
const shell = (text) => (/^[\w./:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The known cells by name; numbers as numbers. */
export function cellsOf(row, data) {
  const value = (column, text) => (['number', 'count'].includes(column.kind) && text !== '' && Number.isFinite(Number(text)) ? Number(text) : text);
  return Object.fromEntries(data.columns.map((column, j) => [column.name, value(column, row[j])]).filter(([, cell]) => cell !== ''));
}

/** What of the prior, the costs and the reject is not the model's own. */
export function application(state, data) {
  const found = {};
  const round = (p) => Number(p.toPrecision(8));
  if (state.prior.some((p, k) => Math.abs(p - data.prior[k]) > 1e-9)) found.prior = Object.fromEntries(data.classes.map((name, k) => [name, round(state.prior[k])]));
  const costs = data.classes.flatMap((truth, k) => data.classes.map((decided, a) => [`${truth}>${decided}`, state.costs[k][a], a === k ? 0 : 1]));
  const special = costs.filter(([, cost, usual]) => cost !== usual);
  if (special.length) found.costs = Object.fromEntries(special.map(([pair, cost]) => [pair, cost]));
  if (state.reject !== null) found.reject = state.reject;
  return found;
}

/** `A=0.1,B=0.9`, with names in double quotes where they need them. */
const pairs = (of) => Object.entries(of).map(([name, value]) => (/[,"]/.test(name) ? `"${name}"=${value}` : `${name}=${value}`)).join();

export function asCurl(state, data, origin) {
  const body = JSON.stringify({ rows: [cellsOf(state.row, data)], ...application(state, data) });
  return `curl -s ${shell(`${origin}/v1/models/${encodeURIComponent(data.name)}/predict`)} \\\n  -H 'content-type: application/json' \\\n  -d ${shell(body)}`;
}

export function asCommand(state, data) {
  const { prior, costs, reject } = application(state, data);
  const options = [prior && `--prior ${shell(pairs(prior))}`, costs && `--costs ${shell(pairs(costs))}`, reject !== undefined && `--reject ${reject}`].filter((option) => option);
  const row = shell(JSON.stringify(cellsOf(state.row, data)));
  return [`echo ${row} |`, `  deciban predict ${shell(`${data.name}.deciban`)} - --format jsonl ${['--evidence', ...options].join(' ')}`].join('\n');
}

export function asPython(state, data) {
  const text = (value) => (typeof value === 'object' ? `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${text(v)}`).join(', ')}}` : JSON.stringify(value));
  const { costs, ...terms } = application(state, data);
  const given = { ...terms, ...(costs && { costs: pairs(costs) }) };
  const options = Object.entries(given).map(([name, value]) => `, ${name}=${text(value)}`).join('');
  const load = `model = deciban.Classifier.load(${JSON.stringify(`${data.name}.deciban`)})`;
  return ['import deciban', 'import pandas as pd', '', load, `row = pd.DataFrame([${text(cellsOf(state.row, data))}])`, `print(model.decide(row${options}))`].join('\n');
}

export class Copy {
  constructor(data, origin) {
    Object.assign(this, { data, origin, said: el('p', { role: 'status', class: 'quiet' }) });
    this.parts = [
      ['curl', asCurl],
      ['Command line', asCommand],
      ['Python', asPython],
    ].map(([name, make]) => {
      const code = el('pre', { tabindex: 0, id: id('code') });
      const button = el('button', { type: 'button', 'aria-label': `Copy as ${name}`, onclick: () => this.copy(code.textContent, name) }, 'Copy');
      return { name, make, code, element: el('div', { class: 'snippet' }, el('div', { class: 'line' }, el('h3', {}, name), button), code) };
    });
    this.element = el('div', { class: 'copy' }, this.said, this.parts.map(({ element }) => element));
  }

  async copy(text, name) {
    try {
      await navigator.clipboard.writeText(text);
      put(this.said, `Copied as ${name}.`);
    } catch {
      put(this.said, 'The browser does not allow copying here: select the text instead.');
    }
  }

  update(state) {
    this.parts.forEach(({ make, code }) => put(code, make(state, this.data, this.origin)));
  }
}
