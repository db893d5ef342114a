// Trees: besides the class, each column but the first depends on one other column, its parent. Missing cells are summed
// out along the tree, children first.
//
//   log p(x | c) = ln p(x_root | c) + Σ_j ln p(x_j | x_parent(j), c)

import { MISSING } from './cells.js';
import { doubles, logSumExp } from './numbers.js';
import { explainJointly } from './orders.js';

export class Tree {
  constructor({ json, arrays }) {
    const [classes, levels, unseen, edges] = json.shape;
    Object.assign(this, { classes, levels, refuses: unseen === 'error', edges });
    this.order = [0, ...edges.map((edge) => edge.column)];
    this.parents = levels.map((_, j) => edges.find((edge) => edge.column === j)?.parent ?? null);
    this.tables = levels.map((_, j) => doubles(arrays[`log_p${j}`]));
  }

  /** The place of a level, or that of one never seen. */
  place(j, code) {
    const known = code >= 0 && code < this.levels[j];
    if (!known && this.refuses) throw new Error('the level was not in the training data');
    return known ? code : this.levels[j];
  }

  /** log p(x | c), where below[j][v] is what is known below column j if its level were v. */
  ofClass(c, x) {
    const known = x.map((code) => code !== MISSING);
    for (const { column, parent } of [...this.edges].reverse()) known[parent] ||= known[column];
    const below = this.levels.map((levels, j) => new Float64Array(x[j] === MISSING ? Math.max(levels, 1) : 1));
    let score = 0;
    for (const j of [...this.order].reverse()) {
      if (!known[j]) continue;
      const [table, stride] = [this.tables[j], this.levels[j] + 1];
      const first = (c * table.length) / this.classes;
      const message = (parentLevel) => {
        const row = first + parentLevel * stride;
        if (x[j] !== MISSING) return table[row + this.place(j, x[j])] + below[j][0];
        return logSumExp(Array.from({ length: this.levels[j] }, (_, v) => table[row + v] + below[j][v]));
      };
      const p = this.parents[j];
      if (p === null) score = message(0);
      else if (x[p] === MISSING) below[p].forEach((b, u) => (below[p][u] = b + message(u)));
      else below[p][0] += message(this.place(p, x[p]));
    }
    return score;
  }

  score(x) {
    return Array.from({ length: this.classes }, (_, c) => this.ofClass(c, x));
  }

  explain(x, columns) {
    return explainJointly(this, x, columns);
  }
}
