// What a person writes in a form or a file, as the cells that a model scores: numbers (NaN where missing), codes of
// levels (MISSING, UNSEEN or a place among the levels), and texts as the counts of their words.

import { tokens } from './words.js';

export const MISSING = -1;
export const UNSEEN = -2;

/** The form by which levels are compared: `4`, `4.0`, `+4` and `4e0` are one level, `04` is another. */
export function levelKey(text) {
  if (/^(true|True|TRUE)$/.test(text)) return 'true';
  if (/^(false|False|FALSE)$/.test(text)) return 'false';
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/.exec(text);
  if (!parts) return text;
  const [, sign, whole, fraction = '', power = '0'] = parts;
  if (whole.length + fraction.length === 0 || (whole.length > 1 && whole[0] === '0')) return text;
  const all = whole + fraction;
  const digits = all.replace(/^0+/, '').replace(/0+$/, '');
  if (digits === '') return '0';
  const zeros = all.length - all.replace(/^0+/, '').length;
  const exponent = Number(power) + whole.length - zeros;
  return `${sign === '-' ? '-' : ''}0.${digits}e${exponent}`;
}

const YES = ['true', 'yes', 't', 'y', 'on', '1'];
const NO = ['false', 'no', 'f', 'n', 'off', '0'];

/** The level of a flag that a text means, however it is spelled. */
function flagLevel(text, { yes, no }) {
  const key = levelKey(text) === levelKey('1') ? '1' : levelKey(text) === levelKey('0') ? '0' : text.toLowerCase();
  if (YES.includes(key)) return yes;
  return NO.includes(key) ? no : undefined;
}

/** Days since 1970-01-01 of a date with the year first, with or without a time; NaN for other texts. */
export function days(text) {
  const parts = /^(\d{4})([-/])(\d\d)\2(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(text);
  if (!parts) return NaN;
  const [, year, , month, day, hour = 0, minute = 0, second = 0, zone = 'Z'] = parts;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || hour > 23 || minute > 59 || second >= 61) return NaN;
  const ahead = /^[+-]/.test(zone) ? (zone[0] === '-' ? -1 : 1) * (3600 * zone.slice(1, 3) + 60 * zone.slice(3).replace(':', '')) : 0;
  return date.getTime() / 864e5 + (3600 * hour + 60 * minute + Number(second) - ahead) / 86400;
}

/** A number of days as a date. */
export function dateText(number) {
  const date = new Date(Math.floor(number) * 864e5);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10);
}

/** What a cell of a column holds, for people: a number, a level, or that it is missing. */
export function shown(cell, levels) {
  if (!levels?.length) return Number.isNaN(cell) ? 'missing' : cell;
  return cell === MISSING ? 'missing' : (levels[cell] ?? 'unseen');
}

/** The name of the line of a word: the word, or `column=word` where something else may have the name of the word. */
export function wordLine(columns, text, word) {
  const texts = columns.filter(({ kind }) => kind === 'text').length;
  return texts > 1 || columns.some(({ name }) => name === word) ? `${columns[text].name}=${word}` : word;
}

/** A column of the model, ready to read cells. */
export class CellReader {
  constructor(column, data) {
    this.column = column;
    this.missing = new Set(data.missing ?? ['']);
    this.decimal = data.decimal ?? '.';
    this.thousands = data.thousands ?? null;
    this.rules = data.reading?.tokeniser;
    this.isText = column.kind === 'text';
    this.isLevel = !this.isText && (column.levels?.length > 0 || column.kind === 'category');
    this.isDate = column.kind === 'date';
    this.codes = new Map();
    (column.levels ?? []).forEach((level, code) => this.codes.set(this.isText ? level : levelKey(level), code));
  }

  /** Whether a text stands for a cell that is not known. */
  isMissing(text) {
    return text === null || text === undefined || text === '' || this.missing.has(text);
  }

  /** The cell of a text. A number may be written with the decimal sign of the training data, or with a point. */
  read(text) {
    if (this.isText) return this.words(text ?? '');
    if (this.isMissing(text)) return this.isLevel ? MISSING : NaN;
    const plain = String(text).trim();
    if (this.isLevel) return this.code(plain);
    return this.isDate ? this.date(plain) : this.number(plain);
  }

  code(text) {
    const known = this.codes.get(levelKey(text));
    if (known !== undefined) return known;
    const level = this.column.flag && flagLevel(text, this.column.flag);
    return (level === undefined ? undefined : this.codes.get(levelKey(level))) ?? UNSEEN;
  }

  number(text) {
    let plain = this.thousands ? text.replaceAll(this.thousands, '') : text;
    if (this.decimal !== '.') plain = plain.replace(this.decimal, '.');
    const flag = this.column.kind === 'flag' && flagLevel(plain, { yes: 1, no: 0 });
    const x = typeof flag === 'number' ? flag : plain === '' ? NaN : Number(plain);
    if (!Number.isFinite(x)) throw new CellError(this.column.name, `“${text}” is not a number`);
    return x;
  }

  date(text) {
    const number = Number(text);
    const x = Number.isNaN(number) ? days(text) : number;
    if (!Number.isFinite(x)) throw new CellError(this.column.name, `“${text}” is not a date: write 2024-05-31`);
    return x;
  }

  /** How often each word of the vocabulary occurs; unknown words count under UNSEEN. */
  words(text) {
    const counts = new Map();
    for (const token of tokens(String(text), this.rules)) {
      const code = this.codes.get(token) ?? UNSEEN;
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    return counts;
  }
}

/** A cell that cannot be read, with the name of its column. */
export class CellError extends Error {
  constructor(column, message) {
    super(`${column}: ${message}`);
    this.column = column;
  }
}
