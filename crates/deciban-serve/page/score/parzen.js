// Parzen windows: a kernel around every row of a class,
//
//   p(x | c) = Σᵢ wᵢ N(x; xᵢ, h² aᵢ² D R_γ D) / Σᵢ wᵢ,      R_γ = (1 − γ) R + γ I
//
// Missing cells are integrated out: the kernel of the others is the normal one of their rows and columns of R_γ. With rᵢ
// the share of row i in p(x | c) and δᵢ = D⁻¹(x − xᵢ), column j says −½ Σᵢ rᵢ δᵢⱼ (R_γ⁻¹δᵢ)ⱼ/h²aᵢ².

import { doubles, logShares, logSumExp } from './numbers.js';

/** Shares of rows that are too small to matter in an explanation. */
const LEAST_SHARE = 1e-22;
/** Sets of known columns whose points are kept. */
const MOST_KEPT = 8;

export class Parzen {
  constructor({ json, arrays }) {
    const [bandwidth, shrinkage, width, classes] = json.shape;
    Object.assign(this, { bandwidth, shrinkage, width, classes });
    [this.mean, this.sd] = [doubles(arrays.mean), doubles(arrays.sd)];
    const lower = doubles(arrays.correlation);
    // The columns of a lower triangle, one after the other.
    this.correlation = (i, j) => (i < j ? this.correlation(j, i) : lower[j * width - (j * (j - 1)) / 2 + i - j]);
    this.rows = Array.from({ length: classes }, (_, c) => doubles(arrays[`class${c}.rows`]));
    const weights = Array.from({ length: classes }, (_, c) => doubles(arrays[`class${c}.weights`]));
    // Files of before have kernels of one width.
    this.spreads = weights.map((w, c) => (arrays[`class${c}.spreads`] ? doubles(arrays[`class${c}.spreads`]) : w.map(() => 1)));
    this.logWeights = weights.map((w) => Array.from(w, Math.log));
    this.logTotals = weights.map((w) => Math.log(w.reduce((a, b) => a + b, 0)));
    this.kept = new Map();
  }

  /** z = L⁻¹ D⁻¹ (x − m) of some columns. */
  whitened(columns, lower, x, start, out, to) {
    const d = columns.length;
    for (let a = 0; a < d; a += 1) {
      const j = columns[a];
      let z = (x[start + j] - this.mean[j]) / this.sd[j];
      for (let k = 0; k < a; k += 1) z -= lower[a * d + k] * out[to + k];
      out[to + a] = z / lower[a * d + a];
    }
  }

  /** L with R_γ = LLᵀ, the points of each class, and the logarithm of the factor of a kernel, for some columns. */
  frame(columns) {
    const key = columns.join();
    if (this.kept.has(key)) return this.kept.get(key);
    const d = columns.length;
    const lower = new Float64Array(d * d);
    for (let a = 0; a < d; a += 1) {
      for (let b = 0; b <= a; b += 1) {
        let rest = a === b ? 1 : (1 - this.shrinkage) * this.correlation(columns[a], columns[b]);
        for (let k = 0; k < b; k += 1) rest -= lower[a * d + k] * lower[b * d + k];
        lower[a * d + b] = a === b ? Math.sqrt(rest) : rest / lower[b * d + b];
      }
    }
    const points = this.rows.map((rows) => {
      const count = rows.length / this.width;
      const z = new Float64Array(count * d);
      for (let i = 0; i < count; i += 1) this.whitened(columns, lower, rows, i * this.width, z, i * d);
      return z;
    });
    const scales = columns.reduce((sum, j, a) => sum + Math.log(this.sd[j]) + Math.log(lower[a * d + a]), 0);
    const factor = -scales - d * (Math.log(this.bandwidth) + 0.5 * Math.log(2 * Math.PI));
    if (this.kept.size >= MOST_KEPT) this.kept.clear();
    const frame = { columns, lower, points, factor };
    this.kept.set(key, frame);
    return frame;
  }

  /** z of a row, and ln wᵢ − d ln aᵢ − ½|z − zᵢ|²/h²aᵢ² of every row of a class. */
  compare(x) {
    const columns = x.flatMap((cell, j) => (Number.isNaN(cell) ? [] : [j]));
    const frame = this.frame(columns);
    const d = columns.length;
    const z = new Float64Array(d);
    this.whitened(columns, frame.lower, x, 0, z, 0);
    const scale = this.bandwidth ** -2;
    const logs = frame.points.map((points, c) =>
      this.logWeights[c].map((w, i) => {
        let square = 0;
        for (let a = 0; a < d; a += 1) square += (z[a] - points[i * d + a]) ** 2;
        const a = this.spreads[c][i];
        return (-0.5 * square * scale) / (a * a) + w - d * Math.log(a);
      }),
    );
    return { frame, z, logs };
  }

  score(x) {
    if (x.every(Number.isNaN)) return new Array(this.classes).fill(0);
    const { frame, logs } = this.compare(x);
    return logs.map((logs, c) => logSumExp(logs) - this.logTotals[c] + frame.factor);
  }

  /** δₐ (R_γ⁻¹δ)ₐ of a difference z, with δ = Lz and R_γ⁻¹δ = L⁻ᵀz. */
  shares(lower, z) {
    const d = z.length;
    const solved = Float64Array.from(z);
    for (let a = d - 1; a >= 0; a -= 1) {
      for (let k = a + 1; k < d; k += 1) solved[a] -= lower[k * d + a] * solved[k];
      solved[a] /= lower[a * d + a];
    }
    return solved.map((s, a) => {
      let delta = 0;
      for (let k = 0; k <= a; k += 1) delta += lower[a * d + k] * z[k];
      return delta * s;
    });
  }

  explain(x, columns) {
    const said = columns.map(() => new Array(this.classes).fill(0));
    let rest = new Array(this.classes).fill(0);
    if (!x.every(Number.isNaN)) {
      const { frame, z, logs } = this.compare(x);
      const d = frame.columns.length;
      rest = logs.map((logs, c) => {
        let left = logSumExp(logs) - this.logTotals[c] + frame.factor;
        // The shares of an impossible row are 0/0, and NaN.
        logShares(logs).forEach((log, i) => {
          const share = Math.exp(log);
          if (!(share >= LEAST_SHARE)) return;
          const squares = this.shares(frame.lower, z.map((z, a) => z - frame.points[c][i * d + a]));
          squares.forEach((square, a) => {
            const line = -0.5 * (this.bandwidth * this.spreads[c][i]) ** -2 * share * square;
            said[frame.columns[a]][c] += line;
            left -= line;
          });
        });
        return left;
      });
    }
    const entries = columns.map(({ name }, j) => ({ name, value: x[j], evidence: said[j], missing: Number.isNaN(x[j]) }));
    return [...entries, { name: '(number of rows nearby)', value: '', evidence: rest, missing: false }];
  }
}
