// What the page shows, kept in the fragment of the address: it can be bookmarked and mailed, and no server sees it.

import { isCost, zeroOne } from './decide.js';
import { dateText } from './score/cells.js';

/** The state at the start: a typical row, the model's prior, 1 for every mistake. */
export function initial(data) {
  return {
    row: typicalRow(data),
    prior: data.prior.slice(),
    costs: zeroOne(data.classes.length),
    reject: null,
    of: null,
    over: null,
    map: telling(data),
  };
}

/** The two numbers that tell the classes apart best: by the variance of the class means over that within the classes. */
function telling({ columns, moments, prior }) {
  const numbers = columns.flatMap((column, j) => (isNumber(column) ? [j] : []));
  const ratio = (j) => {
    const place = moments ? moments.columns.indexOf(j) : -1;
    if (place < 0) return 0;
    const d = moments.columns.length;
    const mean = moments.mean.reduce((sum, of, k) => sum + prior[k] * of[place], 0);
    const between = moments.mean.reduce((sum, of, k) => sum + prior[k] * (of[place] - mean) ** 2, 0);
    return between / moments.covariance.reduce((sum, of, k) => sum + prior[k] * of[place * d + place], 0);
  };
  const [first = 0, second = first] = numbers.map((j) => [ratio(j), j]).sort((a, b) => b[0] - a[0]).map(([, j]) => j);
  return [first, second];
}

/** Whether a column is a number line: numbers, counts and dates. */
export const isNumber = (column) => ['number', 'count', 'date'].includes(column.kind);

/** The median of each number and the most frequent level of each category. */
export function typicalRow(data) {
  return data.columns.map((column) => cellText(column, column.quantiles ? roundTo(column.quantiles[4], column) : (column.frequent?.[0]?.[0] ?? '')));
}

/** As many digits as the spread of a column deserves. */
export function roundTo(x, column) {
  if (column.whole || column.kind === 'count') return Math.round(x);
  const [low, high] = column.quantiles ? [column.quantiles[0], column.quantiles[8]] : [x, x];
  const step = 10 ** Math.floor(Math.log10((high - low || Math.abs(x) || 1) / 500));
  return Number((Math.round(x / step) * step).toPrecision(12));
}

/** A cell as text; a date, which is a number of days, in the form year-month-day. */
export function cellText(column, cell) {
  if (cell === null || cell === undefined || cell === '') return '';
  if (column.kind === 'date' && typeof cell === 'number') return dateText(cell);
  return String(cell);
}

/** Calls `visit` with the name in an address of each cost, as in `cost.ill>well`, its true class and its decision. */
function eachCost({ classes }, visit) {
  classes.forEach((truth, k) => classes.forEach((decided, a) => visit(`cost.${truth}>${decided}`, k, a)));
}

/** The state as the fragment of an address: only what differs from the start. */
export function toFragment(state, data) {
  const [start, parts] = [initial(data), new URLSearchParams()];
  state.row.forEach((cell, j) => {
    if (cell !== start.row[j]) parts.append(`x.${data.columns[j].name}`, cell);
  });
  if (String(state.prior) !== String(start.prior)) parts.set('prior', state.prior.map((p) => Number(p.toPrecision(8))).join());
  eachCost(data, (name, truth, decided) => {
    if (state.costs[truth][decided] !== start.costs[truth][decided]) parts.append(name, state.costs[truth][decided]);
  });
  if (state.reject !== null) parts.set('reject', state.reject);
  if (state.of !== null) parts.set('of', data.classes[state.of]);
  if (state.over !== null) parts.set('over', state.over === -1 ? '' : data.classes[state.over]);
  if (String(state.map) !== String(start.map)) parts.set('map', state.map.map((j) => data.columns[j].name).join('\n'));
  return parts.toString();
}

/** The state of a fragment; whatever does not fit the model is left as at the start. */
export function fromFragment(fragment, data) {
  const [state, parts] = [initial(data), new URLSearchParams(fragment.replace(/^#/, ''))];
  data.columns.forEach(({ name }, j) => {
    if (parts.has(`x.${name}`)) state.row[j] = parts.get(`x.${name}`);
  });
  const numbers = (text) => text.split(',').map(Number);
  const isList = (list, test) => list.length === data.classes.length && list.every((x) => Number.isFinite(x) && test(x));
  const prior = numbers(parts.get('prior') ?? '');
  if (isList(prior, (p) => p >= 0)) {
    const total = prior.reduce((a, b) => a + b, 0);
    if (total > 0) state.prior = prior.map((p) => p / total);
  }
  eachCost(data, (name, truth, decided) => {
    const cost = parts.get(name);
    if (cost !== null && cost !== '' && isCost(Number(cost))) state.costs[truth][decided] = Number(cost);
  });
  const reject = parts.get('reject');
  if (reject !== null && reject !== '' && Number(reject) >= 0 && Number.isFinite(Number(reject))) state.reject = Number(reject);
  const place = (name) => (data.classes.includes(name) ? data.classes.indexOf(name) : null);
  state.of = place(parts.get('of'));
  state.over = parts.get('over') === '' ? -1 : place(parts.get('over'));
  if (state.of !== null && state.of === state.over) state.over = null;
  const axes = (parts.get('map') ?? '').split('\n').map((name) => data.columns.findIndex((column) => column.name === name && isNumber(column)));
  if (axes.length === 2 && axes.every((j) => j >= 0)) state.map = axes;
  return state;
}
