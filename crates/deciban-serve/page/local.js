// The page's own scorer, behind the interface that the page asks:
//
//   describe()                    what the model is: classes, columns, prior, rows that it would make
//   score(rows)                   the evidence for each class in nats for each row of texts, up to what all classes
//                                 share
//   logDensities(rows)            ln p(x | class) by the model that describes rows; only where `data.density` says who
//                                 does
//   ledger(row, a, b, prior)      what each feature says for class a over b (null: over all others), in decibans
//   densities(missing, prior)     ln p(x) of the drawn rows without some cells, or null
//
// A row is an array of texts in the order of the columns; '' is unknown.

import { ledger, logDensity } from './decide.js';
import { Model } from './score/model.js';

export class Local {
  constructor(data) {
    this.data = data;
    this.model = new Model(data);
    this.offline = true;
    this.drawnCells = null;
    this.known = new Map();
  }

  async describe() {
    return this.data;
  }

  async score(rows) {
    return rows.map((row) => this.model.evidence(this.model.read(row)));
  }

  async logDensities(rows) {
    return rows.map((row) => this.model.logDensities(this.model.read(row)));
  }

  async ledger(row, a, b, prior) {
    return ledger(this.model.explain(this.model.read(row)), a, b, prior);
  }

  /** ln p(x) of drawn rows that lack the same cells: densities of different cells do not compare. */
  async densities(missing, prior) {
    const { drawn } = this.data;
    if (!drawn) return null;
    const key = missing.join();
    if (!this.known.has(key)) {
      if (this.known.size > 50) this.known.clear();
      const text = (cell, j) => (missing.includes(j) || cell === null ? '' : String(cell));
      this.known.set(key, this.logDensities(drawn.rows.map((row) => row.map(text))));
    }
    return (await this.known.get(key)).map((ofClasses) => logDensity(ofClasses, prior));
  }
}
