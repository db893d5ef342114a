// Linear models: z = intercept + Σ xⱼθⱼ over standardised numbers, indicators of levels and counts of words, and
// p(class | z) by a link. An unknown level or word is nothing: it adds 0. A missing cell is what is expected of it: a
// number its mean given the other numbers of the row, ẑ_m = −P_mm⁻¹ P_mo z_o with P the inverse of the correlations, a
// category a share of each level. Where the model has no such numbers, a missing cell adds 0.
//
//   evidence = ln p(class | x) − ln p(class) in the training data
//
// Feature j says Δⱼ (g(z) − g(z₀))/(z − z₀) with Δⱼ = xⱼθⱼ and g = ln p: its part of the way from the average row, times
// the mean slope along it (Aumann & Shapley 1974). For more than two classes g is taken before it is normalised, and
// feature j says Δⱼ.

import { MISSING } from './cells.js';
import { doubles, lnNormalCdf, logShares, softplus } from './numbers.js';

/** ln p of the first and the second class at z. */
export const LINKS = {
  logit: (z) => [-softplus(z), -softplus(-z)],
  probit: (z) => [lnNormalCdf(-z), lnNormalCdf(z)],
  cloglog: (z) => {
    const rate = Math.exp(z);
    const second = rate < 0.5 ? Math.log(-Math.expm1(-rate)) : Math.log1p(-Math.exp(-rate));
    return [-rate, z < -30 ? z : second];
  },
};

/** g = ln p at z₀, the score of the average row, and its mean slopes from there to z. */
export function path(link, z0, z) {
  const [from, to] = [link(z0), link(z)];
  const slopes = from.map((f, k) => (z === z0 ? 0 : (to[k] - (Number.isFinite(f) ? f : 0)) / (z - z0)));
  return [from.map((f) => (Number.isFinite(f) || z === z0 ? f : 0)), slopes];
}

export class Linear {
  constructor({ json, arrays }) {
    this.layout = json.features;
    this.link = LINKS[json.link];
    [this.centre, this.scale] = [doubles(arrays['features.centre']), doubles(arrays['features.scale'])];
    this.fill = arrays['features.fill.numbers.mean'] && {
      mean: doubles(arrays['features.fill.numbers.mean']),
      sd: doubles(arrays['features.fill.numbers.sd']),
      precision: doubles(arrays['features.fill.numbers.precision']),
    };
    this.shares = json['features.fill.levels'] ?? [];
    this.theta = doubles(arrays.theta);
    this.logPrior = Array.from(doubles(arrays.empirical), Math.log);
    this.classes = this.logPrior.length;
    this.outputs = this.classes === 2 ? 1 : this.classes;
    const features = this.layout.names.length;
    this.intercept = Array.from(this.theta.subarray(features * this.outputs));
  }

  /** Standardised numbers, where missing ones are their means given the others, or NaN. */
  expected(z) {
    const missing = z.flatMap((x, j) => (Number.isNaN(x) ? [j] : []));
    if (!this.fill || missing.length === 0) return z;
    const { mean, sd, precision } = this.fill;
    const [d, n] = [z.length, missing.length];
    const l = new Float64Array(n * n);
    const b = new Float64Array(n);
    for (let a = 0; a < n; a += 1) {
      for (let j = 0; j < d; j += 1) {
        if (!Number.isNaN(z[j])) b[a] -= (precision[missing[a] * d + j] * (z[j] - mean[j])) / sd[j];
      }
      for (let c = 0; c <= a; c += 1) {
        let rest = precision[missing[a] * d + missing[c]];
        for (let k = 0; k < c; k += 1) rest -= l[a * n + k] * l[c * n + k];
        l[a * n + c] = a === c ? Math.sqrt(rest) : rest / l[c * n + c];
      }
    }
    for (let a = 0; a < n; a += 1) {
      for (let k = 0; k < a; k += 1) b[a] -= l[a * n + k] * b[k];
      b[a] /= l[a * n + a];
    }
    for (let a = n - 1; a >= 0; a -= 1) {
      for (let k = a + 1; k < n; k += 1) b[a] -= l[k * n + a] * b[k];
      b[a] /= l[a * n + a];
    }
    const filled = [...z];
    missing.forEach((j, a) => (filled[j] = mean[j] + sd[j] * b[a]));
    return filled;
  }

  /** The cells of a row: the features and values as the model takes them, and the value as it was written. */
  terms(cells) {
    const { numbers, categories, texts, left_out: leftOut = [], names } = this.layout;
    const expected = this.expected(numbers.map((column, j) => (cells[column] - this.centre[j]) * this.scale[j]));
    const terms = numbers.map((column, j) => {
      const x = cells[column];
      if (!Number.isNaN(x)) return { parts: [[j, expected[j]]], name: names[j], shown: x };
      if (!this.fill) return { parts: [], name: names[j], missing: true };
      const taken = expected[j] / this.scale[j] + this.centre[j];
      return { parts: [[j, expected[j]]], name: names[j], shown: `missing, expected ${Number(taken.toPrecision(5))}` };
    });
    const missing = [];
    categories.forEach(([column, start, levels], c) => {
      const code = cells[column];
      const feature = start + code;
      if (code >= 0 && code < levels && leftOut[c] !== feature) terms.push({ parts: [[feature, 1]], name: names[feature], shown: '' });
      if (code === MISSING) {
        const parts = (this.shares[c] ?? []).map((share, level) => [start + level, share]);
        missing.push({ parts, name: (names[start] ?? '').split('=')[0], shown: 'missing', missing: parts.length === 0 });
      }
    });
    texts.forEach(([column, start, words]) => {
      for (const [word, count] of cells[column]) {
        if (word >= 0 && word < words && count !== 0) {
          terms.push({ parts: [[start + word, count]], name: names[start + word], shown: `×${count}` });
        }
      }
    });
    return [...terms, ...missing];
  }

  weight(j, k) {
    return this.theta[j * this.outputs + k];
  }

  /** The score of each output. */
  scores(terms) {
    return this.intercept.map((b, k) => terms.reduce((z, { parts }) => parts.reduce((z, [j, x]) => z + x * this.weight(j, k), z), b));
  }

  score(cells) {
    const z = this.scores(this.terms(cells));
    if (this.outputs === 1) return this.link(z[0]).map((p, k) => p - this.logPrior[k]);
    return logShares(z).map((p, k) => p - this.logPrior[k]);
  }

  explain(cells) {
    const terms = this.terms(cells);
    const [base, slopes] = this.outputs === 1 ? path(this.link, this.intercept[0], this.scores(terms)[0]) : [this.intercept, new Array(this.classes).fill(1)];
    const says = (parts, k) => parts.reduce((sum, [j, x]) => sum + x * this.weight(j, this.outputs === 1 ? 0 : k), 0);
    const evidence = ({ parts }) => slopes.map((s, k) => s * says(parts, k));
    const entry = (term) =>
      term.missing
        ? { name: term.name, value: 'missing', evidence: new Array(this.classes).fill(0), missing: true }
        : { name: term.name, value: term.shown, evidence: evidence(term), missing: false };
    const average = base.map((g, k) => g - this.logPrior[k]);
    return [{ name: '(start: an average row)', value: '', evidence: average, missing: false }, ...terms.map(entry)];
  }
}
