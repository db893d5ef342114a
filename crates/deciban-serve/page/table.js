// A table: a CSV file that is dropped or chosen is scored under the current prior and costs. Where it has labels, the
// decisions are judged. The file is read on this machine; only a served page sends its cells, to its own server.

import { cleaned, parse, places, quote } from './csv.js';
import { best, llr, logPosterior } from './decide.js';
import { el, hue, id, mark, put, svg } from './dom.js';
import { evaluate, reliability, roc } from './evaluate.js';
import { number, percent } from './format.js';
import { decibans } from './score/numbers.js';
import { levelKey } from './score/cells.js';

const [PREVIEW, PART, MOST_BYTES] = [12, 2000, 200e6];

export class Table {
  constructor(data, backend, pick) {
    Object.assign(this, { data, backend, pick, scored: null });
    const input = id('file');
    this.file = el('input', { type: 'file', id: input, accept: '.csv,.tsv,.txt,text/csv', onchange: (e) => e.target.files[0] && this.open(e.target.files[0]) });
    this.status = el('p', { role: 'status', class: 'quiet' });
    this.result = el('div', { class: 'result' });
    const drop = el('div', { class: 'drop' }, el('label', { for: input }, 'Drop a CSV file here, or choose one'), this.file, this.status);
    drop.addEventListener('dragover', (e) => {
      e.preventDefault();
      drop.classList.add('over');
    });
    drop.addEventListener('dragleave', () => drop.classList.remove('over'));
    drop.addEventListener('drop', (e) => {
      e.preventDefault();
      drop.classList.remove('over');
      if (e.dataTransfer.files[0]) this.open(e.dataTransfer.files[0]);
    });
    this.element = el('div', { class: 'table' }, drop, this.result);
  }

  async open(file) {
    put(this.result);
    this.scored = null;
    try {
      if (file.size > MOST_BYTES) throw new Error('The file is too large for a browser: use deciban predict.');
      await this.score(await file.text(), file.name);
    } catch (error) {
      put(this.status, error.message);
    }
  }

  async score(text, name) {
    const records = parse(text);
    if (records.length < 2) throw new Error('The file has no rows below its header.');
    const [header, ...rows] = records;
    const at = places(header, this.data);
    const absent = this.data.columns.filter((_, j) => at[j] < 0).map((column) => column.name);
    if (absent.length === at.length) throw new Error(`The header names no column of the model: ${header.slice(0, 8).join(', ')}`);
    const cells = rows.map((row) => at.map((place) => (place < 0 ? '' : cleaned(row[place], this.data))));
    const evidence = [];
    for (let start = 0; start < cells.length; start += PART) {
      put(this.status, `${name}: ${start.toLocaleString('en')} of ${rows.length.toLocaleString('en')} rows`);
      evidence.push(...(await this.part(cells, start)));
      await new Promise((resolve) => setTimeout(resolve));
    }
    const target = header.findIndex((field) => field.trim() === this.data.target);
    const classOf = new Map(this.data.classes.map((label, k) => [levelKey(label), k]));
    const truths = target < 0 ? null : rows.map((row) => classOf.get(levelKey((row[target] ?? '').trim())) ?? -1);
    this.scored = { name, header, rows, cells, evidence, truths, absent };
    const plural = rows.length === 1 ? 'row' : 'rows';
    put(this.status, `${name}: ${rows.length.toLocaleString('en')} ${plural}.${absent.length ? ` Not in the file, so unknown: ${absent.join(', ')}.` : ''}`);
    this.show();
  }

  /** The evidence of some rows; an error names the row. */
  async part(cells, start) {
    const rows = cells.slice(start, start + PART);
    try {
      return await this.backend.score(rows);
    } catch {
      for (let i = 0; i < rows.length; i += 1) {
        try {
          await this.backend.score([rows[i]]);
        } catch (error) {
          throw new Error(`Row ${start + i + 1}: ${error.message}`);
        }
      }
      return this.backend.score(rows);
    }
  }

  update(terms) {
    this.terms = terms;
    if (this.scored) this.show();
  }

  decisions() {
    const { prior, costs } = this.terms;
    return this.scored.evidence.map((evidence) => {
      const posterior = logPosterior(evidence, prior).map(Math.exp);
      return { evidence, posterior, action: best(costs, posterior).action };
    });
  }

  show() {
    const decided = this.decisions();
    const { actions } = this.terms;
    const counts = actions.map((_, a) => decided.filter(({ action }) => action === a).length);
    const summary = actions.map((name, a) => el('li', {}, a < this.data.classes.length ? mark(a) : null, ` ${name}: `, el('b', {}, counts[a].toLocaleString('en'))));
    const download = el('button', { type: 'button', onclick: () => this.download(decided) }, 'Download with decisions');
    put(this.result, el('ul', { class: 'counts' }, summary), el('div', { class: 'buttons' }, download), this.preview(decided), this.judged(decided));
  }

  preview(decided) {
    const { cells, rows } = this.scored;
    const { actions } = this.terms;
    const head = ['row', 'decision', ...this.data.classes.map((name) => `p(${name})`)].slice(0, 2 + 6);
    const line = ({ posterior, action }, i) =>
      el(
        'tr',
        {},
        el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', onclick: () => this.pick(cells[i]), 'aria-label': `Open row ${i + 1} as the case` }, String(i + 1))),
        el('td', {}, action < this.data.classes.length ? mark(action) : null, ` ${actions[action]}`),
        posterior.slice(0, 6).map((p) => el('td', { class: 'figure' }, percent(p))),
      );
    const more = rows.length > PREVIEW ? el('p', { class: 'quiet' }, `and ${(rows.length - PREVIEW).toLocaleString('en')} more rows`) : null;
    return el(
      'div',
      {},
      el('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'The first rows' }, el('table', {}, el('caption', { class: 'away' }, 'The first rows with their decisions'), el('thead', {}, el('tr', {}, head.map((text) => el('th', { scope: 'col' }, text)))), el('tbody', {}, decided.slice(0, PREVIEW).map(line)))),
      more,
    );
  }

  judged(decided) {
    const { truths } = this.scored;
    if (!truths) return el('p', { class: 'quiet' }, `With a column ${this.data.target} the decisions would be judged.`);
    const rows = decided.map((row, i) => ({ ...row, truth: truths[i] })).filter(({ truth }) => truth >= 0);
    if (!rows.length) return el('p', { class: 'quiet' }, `No row has a known class in ${this.data.target}.`);
    const { costs, actions } = this.terms;
    const { classes } = this.data;
    const figures = evaluate(rows, costs, classes.length);
    const curves = classes.map((_, k) => (classes.length === 2 && k === 0 ? null : roc(rows, k)));
    const area = curves.filter((curve) => curve);
    const lines = [
      ['labelled rows', figures.rows.toLocaleString('en')],
      ['error', percent(figures.error)],
      ...(actions.length > classes.length ? [['rejected', percent(figures.rejected)]] : []),
      ['mean cost', number(figures.cost, 4)],
      ['log loss', `${number(figures.logLoss, 4)} nats`],
      ['Brier score', number(figures.brier, 4)],
      ['Cllr', `${number(figures.cllr, 4)} bits`],
      ...(area.length ? [[classes.length === 2 ? 'AUC' : 'mean AUC', number(area.reduce((sum, curve) => sum + curve.area, 0) / area.length, 4)]] : []),
    ];
    return el(
      'div',
      { class: 'judged' },
      el('h3', {}, 'Judged by the labels'),
      el('dl', { class: 'figures' }, lines.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)))),
      this.confusion(figures.confusion),
      el('div', { class: 'curves' }, rocPlot(curves, classes), reliabilityPlot(reliability(rows, classes.length))),
      el('p', { class: 'quiet' }, 'Rows that the model was fitted on flatter it: judge it by rows that it has not seen.'),
    );
  }

  confusion(confusion) {
    const { actions } = this.terms;
    const { classes } = this.data;
    if (classes.length > 12) return null;
    const row = (name, k) => el('tr', {}, el('th', { scope: 'row' }, mark(k), ` ${name}`), confusion[k].map((count, a) => el('td', { class: `figure ${a === k ? 'right' : ''}` }, count.toLocaleString('en'))));
    return el(
      'div',
      { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Confusions' },
      el('table', { class: 'confusion' }, el('caption', {}, 'Rows by true class (down) and decision (across)'), el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'true \\ decided'), actions.map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, classes.map(row))),
    );
  }

  download(decided) {
    const { header, rows, name } = this.scored;
    const { actions } = this.terms;
    const extra = ['decision', ...this.data.classes.map((label) => `p(${label})`), ...this.data.classes.map((label) => `decibans(${label})`)];
    const line = (row, i) => {
      const { posterior, action, evidence } = decided[i];
      return [...header.map((_, j) => row[j] ?? ''), actions[action], ...posterior.map(String), ...evidence.map((_, k) => decibans(llr(evidence, k)).toFixed(3))].map(quote).join(',');
    };
    const text = [[...header, ...extra].map(quote).join(','), ...rows.map(line)].join('\n') + '\n';
    const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'text/csv' })), download: name.replace(/(\.[a-z]+)?$/i, '-scored.csv') });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

const SIZE = 220;
const [LEFT, TOP] = [36, 10];
const px = (x) => LEFT + x * SIZE;
const py = (y) => TOP + (1 - y) * SIZE;

/** A square from 0 to 1 both ways. */
function square(title, across, up, ...nodes) {
  const marks = [0, 0.5, 1].flatMap((t) => [svg('text', { x: px(t), y: py(0) + 15, 'text-anchor': 'middle' }, String(t)), svg('text', { x: LEFT - 5, y: py(t) + 4, 'text-anchor': 'end' }, String(t))]);
  return el(
    'figure',
    {},
    el('figcaption', {}, title),
    svg(
      'svg',
      { class: 'plot', viewBox: `0 0 ${LEFT + SIZE + 12} ${TOP + SIZE + 38}`, role: 'img', 'aria-label': title },
      svg('rect', { x: px(0), y: py(1), width: SIZE, height: SIZE, class: 'frame' }),
      svg('line', { x1: px(0), y1: py(0), x2: px(1), y2: py(1), class: 'guide' }),
      marks,
      svg('text', { x: px(0.5), y: py(0) + 32, 'text-anchor': 'middle' }, across),
      svg('text', { x: 9, y: py(0.5), 'text-anchor': 'middle', transform: `rotate(-90 9 ${py(0.5)})` }, up),
      ...nodes,
    ),
  );
}

function rocPlot(curves, classes) {
  const known = curves.map((curve, k) => [curve, k]).filter(([curve]) => curve);
  if (!known.length) return null;
  const path = ([{ points }, k]) => svg('path', { d: `M${points.map(([x, y]) => `${px(x)} ${py(y)}`).join('L')}`, class: `curve ${hue(k)}` });
  const text = known.map(([{ area }, k]) => `${classes[k]} ${number(area, 3)}`).join(', ');
  return square(`ROC against the rest; area: ${text}`, 'false alarms', 'hits', ...known.map(path));
}

function reliabilityPlot(bins) {
  const line = `M${bins.map(({ stated, share }) => `${px(stated)} ${py(share)}`).join('L')}`;
  const dots = bins.map(({ stated, share, count }) => svg('circle', { cx: px(stated), cy: py(share), r: Math.min(2 + Math.sqrt(count) / 8, 7), class: 'dot' }));
  return square('Reliability: how often what was stated was so', 'stated probability', 'observed share', svg('path', { d: line, class: 'curve plain' }), ...dots);
}
