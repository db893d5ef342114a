// Tables: the joint distribution of several categories, one cell for each combination of levels,
//
//   p(x | c) = (n_c(x) + α) / (N_c + α ∏ L_j)
//
// A row with missing cells has the sum over the combinations that it may be. A level that training never saw makes a
// cell of count 0.

import { MISSING } from './cells.js';
import { doubles } from './numbers.js';
import { explainJointly } from './orders.js';

export class Joint {
  constructor({ json, arrays }) {
    const [levels, classes, , alpha, unseen] = json.shape;
    Object.assign(this, { levels, classes, alpha, refuses: unseen === 'error' });
    this.cells = Array.from(doubles(arrays.cells), (cell) => this.codes(cell));
    this.counts = doubles(arrays.counts);
    const all = levels.reduce((a, b) => a * b, 1);
    const total = (c) => this.cells.reduce((sum, _, i) => sum + this.counts[i * classes + c], 0) + alpha * all;
    this.logTotals = Array.from({ length: classes }, (_, c) => Math.log(total(c)));
  }

  /** The levels of a cell, the last column running fastest. */
  codes(cell) {
    const codes = [];
    this.levels.reduceRight((rest, levels) => {
      codes.unshift(rest % levels);
      return Math.floor(rest / levels);
    }, cell);
    return codes;
  }

  ofClass(c, x) {
    if (x.every((code) => code === MISSING)) return 0;
    const isUnseen = (code, j) => code !== MISSING && !(code >= 0 && code < this.levels[j]);
    if (this.refuses && x.some(isUnseen)) throw new Error('the level was not in the training data');
    const combinations = x.reduce((count, code, j) => (code === MISSING ? count * this.levels[j] : count), 1);
    let sum = this.alpha * combinations;
    this.cells.forEach((codes, i) => {
      if (codes.every((code, j) => x[j] === MISSING || x[j] === code)) sum += this.counts[i * this.classes + c];
    });
    return Math.min(Math.log(sum) - this.logTotals[c], 0);
  }

  score(x) {
    return this.logTotals.map((_, c) => this.ofClass(c, x));
  }

  explain(x, columns) {
    return explainJointly(this, x, columns);
  }
}
