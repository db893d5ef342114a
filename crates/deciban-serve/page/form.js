// The form of a case: a field for each column, made from what the model knows of it.

import { el, id, put, svg } from './dom.js';
import { number } from './format.js';
import { levelKey } from './score/cells.js';
import { cellText, isNumber, typicalRow } from './state.js';
import { readRow } from './csv.js';

/** With more levels than these a field has a search instead of a list. */
const FEW_LEVELS = 8;

/** Where a number lies among those seen in training: whiskers from 1 to 99 %, a box from 25 to 75 %, the median. */
function rail(column) {
  const [least, greatest] = [column.quantiles[0], column.quantiles[8]];
  const place = (x) => (greatest > least ? (100 * (x - least)) / (greatest - least) : 50);
  const [p1, , p25, p50, p75, , p99] = column.quantiles.slice(1).map(place);
  const pointer = svg('path', { class: 'pointer', d: 'M0 0L-4 -6H4Z' });
  const drawing = svg(
    'svg',
    { class: 'rail', 'aria-hidden': 'true', focusable: 'false', height: 14 },
    svg('line', { x1: '0%', x2: '100%', y1: 9, y2: 9, class: 'whole' }),
    svg('line', { x1: `${p1}%`, x2: `${p99}%`, y1: 9, y2: 9, class: 'most' }),
    svg('rect', { x: `${p25}%`, width: `${p75 - p25}%`, y: 6.5, height: 5, class: 'half' }),
    svg('line', { x1: `${p50}%`, x2: `${p50}%`, y1: 4, y2: 14, class: 'median' }),
    svg('svg', { class: 'hold', overflow: 'visible', y: 6 }, pointer),
  );
  const hold = drawing.querySelector('.hold');
  return {
    drawing,
    show(x) {
      hold.setAttribute('visibility', Number.isFinite(x) ? 'visible' : 'hidden');
      if (Number.isFinite(x)) hold.setAttribute('x', `${Math.min(Math.max(place(x), 0), 100)}%`);
    },
  };
}

/** A field: its element, and how it shows a cell. */
function field(column, onCell) {
  const [input, hint] = [id('cell'), id('hint')];
  const note = el('span', { class: 'note', id: hint });
  const described = { id: input, 'aria-describedby': hint };
  const forget = el('button', { type: 'button', class: 'forget', title: `Make ${column.name} unknown`, 'aria-label': `Make ${column.name} unknown`, onclick: () => onCell('') }, '×');
  const told = (event) => onCell(event.target.value);
  const label = el('label', { for: input }, column.name);
  const frame = (control, ...more) => el('div', { class: `field ${column.kind}` }, el('div', { class: 'line' }, label, control, forget), more, note);
  const shared = { note, forget };
  if (column.kind === 'text') return { ...shared, ...textField(el('textarea', { ...described, rows: 4, oninput: told }), frame) };
  if (isNumber(column) || !column.levels?.length) return { ...shared, ...numberField(column, described, told, frame) };
  return { ...shared, ...levelField(column, described, told, frame) };
}

function textField(control, frame) {
  return { control, element: frame(control), remark: () => '' };
}

function numberField(column, described, told, frame) {
  const kind = column.kind === 'date' ? { type: 'date' } : { type: 'number', step: 'any', inputmode: 'decimal' };
  const control = el('input', { ...kind, ...described, autocomplete: 'off', oninput: told });
  if (!column.quantiles) return { control, element: frame(control), remark: () => '' };
  const range = rail(column);
  const value = (text) => (text === '' ? NaN : column.kind === 'date' ? Date.parse(text) / 864e5 : Number(text));
  const [least, greatest] = [column.quantiles[0], column.quantiles[8]];
  const shown = (x) => (column.kind === 'date' ? cellText(column, x) : number(x));
  const scale = el('div', { class: 'scale' }, el('span', {}, shown(least)), el('span', {}, shown(greatest)));
  const remark = (text) => {
    const x = value(text);
    range.show(x);
    if (x < least) return `below all that was seen (${shown(least)} to ${shown(greatest)})`;
    if (x > greatest) return `above all that was seen (${shown(least)} to ${shown(greatest)})`;
    return '';
  };
  control.title = `seen from ${shown(least)} to ${shown(greatest)}, half of them from ${shown(column.quantiles[3])} to ${shown(column.quantiles[5])}`;
  return { control, element: frame(control, range.drawing, scale), remark };
}

function levelField(column, described, told, frame) {
  const frequent = (column.frequent ?? []).map(([level]) => level);
  const levels = [...frequent, ...column.levels.filter((level) => !frequent.includes(level))];
  if (levels.length <= FEW_LEVELS) {
    const options = ['', ...levels].map((level) => el('option', { value: level }, level === '' ? '(unknown)' : level));
    const control = el('select', { ...described, onchange: told }, options);
    // A level from a link or a pasted row that is spelled otherwise, or was never seen, is shown as it is.
    const adopt = (text) => {
      const same = levels.find((level) => levelKey(level) === levelKey(text));
      if (text !== '' && same === undefined && ![...control.options].some((option) => option.value === text)) control.append(el('option', { value: text }, text));
      return same ?? text;
    };
    return { control, element: frame(control), adopt, remark: (text) => unseen(text, levels) };
  }
  const list = id('levels');
  const control = el('input', { ...described, list, type: 'text', autocomplete: 'off', placeholder: `search ${levels.length} levels`, oninput: told });
  return { control, element: frame(control, el('datalist', { id: list }, levels.map((level) => el('option', { value: level })))), remark: (text) => unseen(text, levels) };
}

const unseen = (text, levels) => (text === '' || levels.some((level) => levelKey(level) === levelKey(text)) ? '' : 'not seen in training');

/** The form. `change` is called with the cells that are to change, by their places. */
export class Form {
  constructor(data, change) {
    this.data = data;
    this.fields = data.columns.map((column, j) => field(column, (text) => change(new Map([[j, text]]))));
    const all = (row) => change(new Map(row.map((cell, j) => [j, cell])));
    const button = (text, onclick, more = {}) => el('button', { type: 'button', onclick, ...more }, text);
    const random = () => {
      const rows = data.drawn.rows;
      const row = rows[Math.floor(Math.random() * rows.length)];
      all(row.map((cell, j) => cellText(data.columns[j], cell)));
    };
    this.element = el(
      'div',
      { class: 'form' },
      el(
        'div',
        { class: 'starts', role: 'group', 'aria-label': 'Start from' },
        button('Typical row', () => all(typicalRow(data))),
        data.drawn && button('Random row', random, { title: 'A row that the model itself would make' }),
        button('Nothing known', () => all(data.columns.map(() => ''))),
      ),
      this.paste(all),
      el('div', { class: 'fields' }, this.fields.map(({ element }) => element)),
    );
  }

  paste(all) {
    const [box, said] = [id('paste'), el('p', { class: 'note', role: 'status' })];
    const area = el('textarea', { id: box, rows: 3, spellcheck: 'false' });
    const take = () => {
      try {
        all(readRow(area.value, this.data));
        put(said, 'The row is in the form.');
      } catch (error) {
        put(said, error.message);
      }
    };
    return el(
      'details',
      { class: 'paste' },
      el('summary', {}, 'Paste a row'),
      el('label', { for: box }, 'A JSON object, a row of CSV with its header, or the cells in the order of the form'),
      area,
      el('button', { type: 'button', onclick: take }, 'Fill the form'),
      said,
    );
  }

  /** Shows a row; a field that is being typed in keeps its text. */
  update(row) {
    this.fields.forEach(({ control, remark, adopt, note, forget }, j) => {
      const text = adopt ? adopt(row[j]) : row[j];
      if (control.value !== text && !(control === document.activeElement && control.type === 'number' && Number(control.value) === Number(text) && text !== '')) control.value = text;
      put(note, remark(row[j]));
      forget.hidden = row[j] === '';
    });
  }

  /** Marks the field of a cell that cannot be read. */
  complain(column, message) {
    this.fields.forEach(({ control, note }, j) => {
      const isWrong = this.data.columns[j].name === column;
      control.setAttribute('aria-invalid', isWrong ? 'true' : 'false');
      if (isWrong) put(note, message);
    });
  }
}
