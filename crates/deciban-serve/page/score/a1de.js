// Averaged one-dependence estimators: each column in turn is a parent on which the others depend besides the class.
//
//   p(x | c) = Σ_p w_p p(x_p | c) Π_{j≠p} p(x_j | x_p, c)
//   p(x_j | c) = (n_c(x_j) + α)/(N_c + α L_j)      p(x_j | x_p, c) = (n_c(x_j, x_p) + α p(x_j | c))/(n_c(x_p) + α)
//
// A missing cell, and a level that training never saw, is left out as a child and as a parent.

import { MISSING } from './cells.js';
import { doubles, logSumExp } from './numbers.js';

const zeros = (n) => new Array(n).fill(0);

/** Vectors of several lengths, one after the other in a file. */
function ragged({ json, arrays }, name) {
  const all = doubles(arrays[`${name}.weights`]);
  let start = 0;
  return json[`${name}.lengths`].map((n) => all.subarray(start, (start += n)));
}

export class A1de {
  constructor({ json, arrays }) {
    const [family, paired, seen, classes] = json.shape;
    Object.assign(this, { alpha: family.pseudo_count, refuses: family.unseen === 'error', paired, seen, classes });
    this.logWeights = Array.from(doubles(arrays.log_weights));
    const counts = Array.from({ length: classes }, (_, c) => ({
      singles: ragged({ json, arrays }, `class${c}.all`),
      pairs: ragged({ json, arrays }, `class${c}.pairs`),
    }));
    this.counts = counts;
    // p(x_j | c) by class, column and level; 0 for levels that never occur.
    this.alone = counts.map(({ singles }) =>
      seen.map((seen, j) => {
        const weights = seen.map((seen, v) => (seen ? singles[j][v] + this.alpha : 0));
        const total = weights.reduce((a, b) => a + b, 0);
        return weights.map((w) => (total > 0 ? w / total : 0));
      }),
    );
    this.known = new Map();
  }

  /** n_c(x_i = a, x_j = b) of paired columns, by their places among these. */
  pair(c, i, j, a, b) {
    if (i > j) return this.pair(c, j, i, b, a);
    const width = this.paired.length;
    const table = this.counts[c].pairs[(i * (2 * width - i - 1)) / 2 + j - i - 1];
    return table[a * this.seen[this.paired[j]].length + b];
  }

  /** ln p(x_k = v | x_i = u, c) of each class. */
  given(i, u, k, v) {
    const key = `${i} ${u} ${k} ${v}`;
    let logs = this.known.get(key);
    if (!logs) {
      const seen = this.seen[this.paired[k]];
      logs = this.counts.map((_, c) => {
        const own = this.alone[c][this.paired[k]][v];
        if (i === k) return Math.min(Math.log(own), 0);
        const rows = seen.reduce((sum, seen, w) => (seen ? sum + this.pair(c, i, k, u, w) : sum), 0) + this.alpha;
        return Math.min(Math.log(rows > 0 ? (this.pair(c, i, k, u, v) + this.alpha * own) / rows : own), 0);
      });
      this.known.set(key, logs);
    }
    return logs;
  }

  /** The level of a column, or null where there is none that occurred. */
  level(j, code) {
    if (code >= 0 && this.seen[j][code]) return code;
    if (code !== MISSING && this.refuses) throw new Error('the level was not in the training data');
    return null;
  }

  /** The known paired columns with their levels, ln w + Σ_j ln p(x_j | x_p, c) of each as a parent, and ln Σ w of them. */
  stars(x) {
    const row = this.paired.flatMap((j, place) => {
      const level = this.level(j, x[j]);
      return level === null ? [] : [{ place, level }];
    });
    const star = (parent) =>
      row.reduce((sum, child) => {
        const logs = this.given(parent.place, parent.level, child.place, child.level);
        return sum.map((s, c) => s + logs[c]);
      }, new Array(this.classes).fill(this.logWeights[parent.place]));
    const known = Math.log(row.reduce((sum, { place }) => sum + Math.exp(this.logWeights[place]), 0));
    return { row, scores: row.map(star), known };
  }

  /** ln p(x_j | c) of a column by itself. */
  ofColumn(j, code) {
    const level = this.level(j, code);
    return this.alone.map((tables) => (level === null ? 0 : Math.min(Math.log(tables[j][level]), 0)));
  }

  score(x) {
    const { row, scores, known } = this.stars(x);
    const alone = x.map((code, j) => (this.paired.includes(j) ? null : this.ofColumn(j, code))).filter(Boolean);
    const sum = alone.reduce((sum, logs) => sum.map((s, c) => s + logs[c]), zeros(this.classes));
    return row.length === 0 ? sum : sum.map((s, c) => s + logSumExp(scores.map((score) => score[c])) - known);
  }

  /** With r = p(parent | x, class), a line is Σ_p r_p ln p(x_j | x_p, c), and one more is Σ_p r_p ln(w_p/r_p). */
  explain(x, columns) {
    const { row, scores, known } = this.stars(x);
    const said = new Map(row.map(({ place }) => [place, zeros(this.classes)]));
    const rest = zeros(this.classes);
    for (let c = 0; c < this.classes; c += 1) {
      const total = logSumExp(scores.map((score) => score[c]));
      row.forEach((parent, p) => {
        const r = total === -Infinity ? (p === 0 ? 1 : 0) : Math.exp(scores[p][c] - total);
        if (r === 0) return;
        for (const child of row) said.get(child.place)[c] += r * this.given(parent.place, parent.level, child.place, child.level)[c];
        rest[c] += r * (this.logWeights[parent.place] - known - Math.log(r));
      });
    }
    const entries = columns.map(({ name, levels }, j) => {
      const place = this.paired.indexOf(j);
      const evidence = place < 0 ? this.ofColumn(j, x[j]) : (said.get(place) ?? zeros(this.classes));
      return { name, value: levels?.[x[j]] ?? '(unseen)', evidence, missing: x[j] === MISSING };
    });
    return [...entries, { name: '(parents)', value: '', evidence: rest, missing: false }];
  }
}
