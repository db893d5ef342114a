// Cells as codes of one byte, as additive and k-dependence models take them: the bin of a number, a level, or a missing
// cell, which has the last code. In pairs and chains the codes are coarser.

import { binOf, cutsOf } from './bins.js';
import { MISSING } from './cells.js';

export class Coding {
  constructor({ json, arrays }) {
    const cuts = cutsOf(json['coding.bins'], arrays['coding.bins.edges']);
    this.columns = json.coding.map(({ name, coarse, levels }, c) => ({ name, coarse, levels, cuts: cuts[c] }));
  }

  /** How many codes a column has, and how many coarse ones. */
  count(c) {
    return this.columns[c].coarse.length;
  }

  coarseCount(c) {
    return this.columns[c].coarse.at(-1) + 1;
  }

  code(c, cell) {
    const { levels, cuts } = this.columns[c];
    if (!levels) return Number.isNaN(cell) ? cuts.length + 1 : binOf(cuts, cell);
    const [codes, names] = levels;
    if (cell >= 0 && cell < codes.length) return codes[cell];
    return cell === MISSING ? names.length + 1 : names.length;
  }

  codes(cells) {
    return this.columns.map((_, c) => this.code(c, cells[c]));
  }

  coarse(codes) {
    return codes.map((code, c) => this.columns[c].coarse[code]);
  }

  isMissing(c, code) {
    return code === this.count(c) - 1;
  }
}
