// The page: one state, a case with prior and costs; every change of it is scored and shown again.

import { actionCosts, best, bestAlongOdds, logDensity, logPosterior, twoBest } from './decide.js';
import { el, put } from './dom.js';
import { Copy } from './copy.js';
import { Form } from './form.js';
import { Local } from './local.js';
import { Outcome } from './outcome.js';
import { RegionMap } from './map.js';
import { Remote, token } from './remote.js';
import { fromFragment, toFragment } from './state.js';
import { Table } from './table.js';
import { CostControls, PriorControls } from './terms.js';
import { Usual } from './usual.js';
import { Waterfall } from './waterfall.js';

class Page {
  constructor(data, backend) {
    Object.assign(this, { data, backend, turn: 0 });
    this.state = fromFragment(location.hash, data);
    const change = (changes) => this.change(changes);
    this.form = new Form(data, (cells) => change({ cells }));
    this.outcome = new Outcome(data);
    this.waterfall = new Waterfall(data, change);
    this.prior = new PriorControls(data, change);
    this.costs = new CostControls(data, change);
    this.map = new RegionMap(data, backend, change);
    this.usual = new Usual(data);
    this.table = new Table(data, backend, (row) => {
      change({ cells: new Map(row.map((cell, j) => [j, cell])) });
      document.getElementById('case').scrollIntoView();
    });
    this.copy = new Copy(data, backend.origin ?? 'http://127.0.0.1:8080');
    this.problem = el('p', { class: 'problem', role: 'alert' });
    window.addEventListener('hashchange', () => {
      if (location.hash.slice(1) === this.fragment) return;
      this.state = fromFragment(location.hash, data);
      this.update();
    });
  }

  /** Puts the parts into their places. */
  mount() {
    const places = { form: this.form, outcome: this.outcome, waterfall: this.waterfall, prior: this.prior, costs: this.costs, map: this.map, usual: this.usual, table: this.table, copy: this.copy };
    for (const [name, part] of Object.entries(places)) {
      const section = document.getElementById(name);
      if (part.element) section.append(part.element);
      else section.closest('section').hidden = true;
    }
    document.getElementById('problem').append(this.problem);
    document.getElementById('skip').addEventListener('click', (event) => this.outcome.toResult(event));
    const { data } = this;
    document.title = `${data.name} · deciban`;
    put(document.getElementById('name'), data.name);
    const facts = [`which ${data.target}?`, `${data.classes.length} classes`, `${data.columns.length} column${data.columns.length === 1 ? '' : 's'}`, `learned from ${Math.round(data.rows).toLocaleString('en')} rows`];
    put(document.getElementById('facts'), facts.join(' · '));
    put(document.getElementById('about'), data.about);
    document.getElementById('page').hidden = false;
  }

  change({ cells, ...rest }) {
    delete document.documentElement.dataset.settled;
    if (cells) {
      const row = this.state.row.slice();
      cells.forEach((text, j) => (row[j] = text));
      rest.row = row;
    }
    Object.assign(this.state, rest);
    // A class is not weighed against itself.
    if (this.state.of !== null && this.state.of === this.state.over) this.state[rest.of !== undefined ? 'over' : 'of'] = null;
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.update();
      });
    }
  }

  /** Which classes the ledger is about: those chosen, or those that the evidence supports most. */
  between(evidence) {
    const { of, over } = this.state;
    const order = evidence.map((_, k) => k).sort((i, j) => evidence[j] - evidence[i]);
    const a = of ?? order.find((k) => k !== over) ?? twoBest(evidence)[0];
    const b = over === -1 ? null : (over ?? order.find((k) => k !== a));
    return [a, b];
  }

  async update() {
    const turn = (this.turn += 1);
    const { data, backend, state } = this;
    this.form.update(state.row);
    this.prior.update(state.prior);
    this.costs.update(state);
    this.keep();
    const costs = actionCosts(state);
    const actions = state.reject === null ? data.classes : [...data.classes, 'reject'];
    // What needs no answer of the back end follows at once.
    this.copy.update(state);
    this.table.update({ prior: state.prior, costs, actions });
    this.map.show({ state, costs, actions });
    try {
      const [evidence] = await backend.score([state.row]);
      const [ofClasses] = data.density ? await backend.logDensities([state.row]) : [];
      const [a, b] = this.between(evidence);
      const ledger = await backend.ledger(state.row, a, b, state.prior);
      const missing = data.columns.map((_, j) => j).filter((j) => state.row[j] === '' && data.columns[j].kind !== 'text');
      const drawn = await backend.densities(missing, state.prior);
      if (turn !== this.turn) return;
      put(this.problem);
      this.form.complain(null);
      const posterior = logPosterior(evidence, state.prior).map(Math.exp);
      const { action, expected } = best(costs, posterior);
      this.outcome.update({ posterior, actions, action, expected });
      const segments = posterior.some(Number.isNaN) ? [] : bestAlongOdds(costs, posterior, a, b);
      this.waterfall.update({ ledger, segments, actions, of: a, over: b, chosen: state });
      this.usual.update({ logDensity: ofClasses && logDensity(ofClasses, state.prior), drawn, prior: state.prior, known: data.columns.length - missing.length });
    } catch (error) {
      if (turn !== this.turn) return;
      put(this.problem, error.message);
      if (error.column) this.form.complain(error.column, error.message);
    }
    await this.map.update({ state, costs, actions });
    if (turn === this.turn) document.documentElement.dataset.settled = 'true';
  }

  /** The state goes into the address, a little after the last change: browsers allow only so many changes. */
  keep() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.fragment = toFragment(this.state, this.data);
      history.replaceState(null, '', `#${this.fragment}`);
    }, 250);
  }
}

async function start() {
  const inside = document.getElementById('model');
  const backend = inside ? new Local(JSON.parse(inside.textContent)) : await Remote.open();
  const page = new Page(await backend.describe(), backend);
  page.mount();
  await page.update();
  document.documentElement.dataset.ready = 'true';
}

start().catch((error) => {
  if (error.needsToken) return token(start);
  document.getElementById('loading').textContent = error.message;
});
