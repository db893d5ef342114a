// The service as the page's back end: the same interface as `local.js`, answered by its routes. The prior and the costs
// are applied here, so that moving them asks nothing of the server.

import { el, id, put } from './dom.js';
import { softplus } from './score/numbers.js';
import { cellsOf } from './copy.js';
import { cellText } from './state.js';
import { logDensity } from './decide.js';

const nats = (x) => (x * Math.LN10) / 10;
/** Infinite numbers are texts in JSON. */
const number = (x) => (x === 'inf' ? Infinity : x === '-inf' ? -Infinity : x === null ? NaN : x);

let secret = null;

async function ask(path, body) {
  const headers = { accept: 'application/json' };
  if (body) headers['content-type'] = 'application/json';
  if (secret) headers.authorization = `Bearer ${secret}`;
  const answer = await fetch(path, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  if (answer.status === 401) throw Object.assign(new Error('This service asks for a token.'), { needsToken: true });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.detail ?? found.title ?? `The service answered ${answer.status}.`), { column: found.column });
  return found;
}

export class Remote {
  /** The model that the address names (`?model=NAME`), or the first one. */
  static async open() {
    const { models } = await ask('/v1/models');
    const names = models.map((model) => model.name ?? model);
    const wanted = new URLSearchParams(location.search).get('model');
    const name = names.includes(wanted) ? wanted : names[0];
    if (name === undefined) throw new Error('The service has no models.');
    if (names.length > 1) choose(names, name);
    const data = await ask(`/v1/models/${encodeURIComponent(name)}/page`);
    return new Remote(data);
  }

  constructor(data) {
    this.data = data;
    this.origin = location.origin;
    this.path = `/v1/models/${encodeURIComponent(data.name)}`;
    this.known = new Map();
  }

  async describe() {
    return this.data;
  }

  rows(rows) {
    return rows.map((row) => cellsOf(row, this.data));
  }

  /**
   * The evidence of each class against the others in decibans gives p under a flat prior, ln p = −ln(1 + (K−1)/LR),
   * which is the evidence up to what all classes share.
   */
  async score(rows) {
    const { predictions } = await ask(`${this.path}/predict`, { rows: this.rows(rows), evidence: true, prior: this.named(this.data.prior) });
    const others = Math.log(this.data.classes.length - 1);
    return predictions.map((told) => this.data.classes.map((name) => -softplus(others - nats(number(told.evidence[name])))));
  }

  async logDensities(rows) {
    const { predictions } = await ask(`${this.path}/rank`, { rows: this.rows(rows), prior: this.named(this.data.prior) });
    return predictions.map((told) => this.data.classes.map((name) => number(told.log_densities[name])));
  }

  named(prior) {
    return Object.fromEntries(this.data.classes.map((name, k) => [name, prior[k]]));
  }

  async ledger(row, a, b, prior) {
    const { classes } = this.data;
    const between = b === null ? [classes[a]] : [classes[a], classes[b]];
    const { predictions } = await ask(`${this.path}/predict`, { rows: this.rows([row]), explain: between, prior: this.named(prior) });
    const { ledger } = predictions[0];
    const features = ledger.features.map((line) => ({ ...line, decibans: number(line.decibans) }));
    const start = number(ledger.prior);
    return { prior: start, features, missing: ledger.missing, total: number(ledger.total) };
  }

  async densities(missing, prior) {
    const { drawn } = this.data;
    if (!drawn) return null;
    const key = missing.join();
    if (!this.known.has(key)) {
      if (this.known.size > 50) this.known.clear();
      const text = (cell, j) => (missing.includes(j) ? '' : cellText(this.data.columns[j], cell));
      this.known.set(key, this.logDensities(drawn.rows.map((row) => row.map((cell, j) => text(cell, j)))));
    }
    return (await this.known.get(key)).map((ofClasses) => logDensity(ofClasses, prior));
  }
}

/** Links to the other models of the service. */
function choose(names, current) {
  const control = id('model');
  const select = el('select', { id: control, onchange: (e) => location.assign(`?model=${encodeURIComponent(e.target.value)}`) }, names.map((name) => el('option', { value: name }, name)));
  select.value = current;
  put(document.getElementById('models'), el('label', { for: control }, 'Model '), select);
}

/** Asks for the token of the service, which is kept as long as the page is open. */
export function token(again) {
  const box = id('token');
  const input = el('input', { type: 'password', id: box, autocomplete: 'off' });
  const enter = (event) => {
    event.preventDefault();
    secret = input.value;
    put(document.getElementById('loading'), 'Loading the model …');
    again().catch((error) => put(document.getElementById('loading'), error.message));
  };
  put(document.getElementById('loading'), el('form', { onsubmit: enter }, el('label', { for: box }, 'Token of the service '), input, ' ', el('button', {}, 'Open')));
  input.focus();
}
