// Additive models: z = z₀ + Σ tₘ, with z₀ the score of the average row and tₘ a cell of the table of a column or of a
// pair, and p(class | z) by the logistic function, or by the softmax of one score for each class.
//
// A term says tₘ times the mean slope of ln p from z₀ to z, as in linear models.

import { shown } from './cells.js';
import { Coding } from './coding.js';
import { LINKS, path } from './linear.js';
import { doubles, logShares } from './numbers.js';

export class Additive {
  constructor({ json, arrays }, columns) {
    this.coding = new Coding({ json, arrays });
    this.columns = columns;
    this.tables = doubles(arrays.tables);
    this.logPrior = Array.from(doubles(arrays.empirical), Math.log);
    this.classes = this.logPrior.length;
    this.outputs = this.classes === 2 ? 1 : this.classes;
    let start = 0;
    this.terms = json.terms.map((term) => {
      const places = term.Pair ?? [term.Column];
      const own = { places, start };
      start += places.length === 1 ? this.coding.count(places[0]) : this.coding.coarseCount(places[0]) * this.coding.coarseCount(places[1]);
      return own;
    });
    this.intercepts = Array.from(this.tables.subarray(this.tables.length - this.outputs));
  }

  /** What each term says of a row, and whether one of its cells is missing. */
  parts(cells) {
    const codes = this.coding.codes(cells);
    const coarse = this.coding.coarse(codes);
    return this.terms.map(({ places, start }) => {
      const [a, b] = places;
      const cell = start + (b === undefined ? codes[a] : coarse[a] * this.coding.coarseCount(b) + coarse[b]);
      const says = Array.from(this.tables.subarray(cell * this.outputs, (cell + 1) * this.outputs));
      return { places, says, missing: places.some((c) => this.coding.isMissing(c, codes[c])) };
    });
  }

  scores(parts) {
    return parts.reduce((z, { says }) => z.map((z, k) => z + says[k]), this.intercepts);
  }

  score(cells) {
    const z = this.scores(this.parts(cells));
    if (this.outputs === 1) return LINKS.logit(z[0]).map((p, k) => p - this.logPrior[k]);
    return logShares(z).map((p, k) => p - this.logPrior[k]);
  }

  explain(cells) {
    const parts = this.parts(cells);
    const isOne = this.outputs === 1;
    const [from, slopes] = isOne ? path(LINKS.logit, this.intercepts[0], this.scores(parts)[0]) : [this.intercepts, new Array(this.classes).fill(1)];
    const average = from.map((g, k) => g - this.logPrior[k]);
    const entry = ({ places, says, missing }) => ({
      name: places.map((c) => this.columns[c].name).join(' × '),
      value: places.map((c) => shown(cells[c], this.columns[c].levels)).join(' × '),
      evidence: slopes.map((s, k) => s * says[isOne ? 0 : k]),
      missing: missing && says.every((t) => t === 0),
    });
    return [{ name: '(start: an average row)', value: '', evidence: average, missing: false }, ...parts.map(entry)];
  }
}
