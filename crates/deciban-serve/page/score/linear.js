// Linear models: z = intercept + Σ xⱼθⱼ over standardised numbers, indicators of levels and counts of words, and
// p(class | z) by a link. A missing number is its mean, an unknown level or word nothing: each adds 0.
//
//   evidence = ln p(class | x) − ln p(class) in the training data
//
// Feature j says Δⱼ (g(z) − g(z₀))/(z − z₀) with Δⱼ = xⱼθⱼ and g = ln p: its part of the way from the average row, times
// the mean slope along it (Aumann & Shapley 1974). For more than two classes g is taken before it is normalised, and
// feature j says Δⱼ.

import { MISSING } from './cells.js';
import { doubles, lnNormalCdf, logSumExp, softplus } from './numbers.js';

/** ln p of the first and the second class at z. */
const LINKS = {
  logit: (z) => [-softplus(z), -softplus(-z)],
  probit: (z) => [lnNormalCdf(-z), lnNormalCdf(z)],
  cloglog: (z) => {
    const rate = Math.exp(z);
    const second = rate < 0.5 ? Math.log(-Math.expm1(-rate)) : Math.log1p(-Math.exp(-rate));
    return [-rate, z < -30 ? z : second];
  },
};

export class Linear {
  constructor({ json, arrays }) {
    this.layout = json.features;
    this.link = LINKS[json.link];
    [this.centre, this.scale] = [doubles(arrays['features.centre']), doubles(arrays['features.scale'])];
    this.theta = doubles(arrays.theta);
    this.logPrior = Array.from(doubles(arrays.empirical), Math.log);
    this.classes = this.logPrior.length;
    this.outputs = this.classes === 2 ? 1 : this.classes;
    const features = this.layout.names.length;
    this.intercept = Array.from(this.theta.subarray(features * this.outputs));
  }

  /** The features that a row has: the place, the value as the model takes it, and the value as it was written. */
  terms(cells) {
    const { numbers, categories, texts, left_out: leftOut = [], names } = this.layout;
    const terms = numbers.map((column, j) => {
      const x = cells[column];
      if (Number.isNaN(x)) return { missing: names[j] };
      return { j, x: (x - this.centre[j]) * this.scale[j], shown: x };
    });
    const missing = [];
    categories.forEach(([column, start, levels], c) => {
      const code = cells[column];
      const feature = start + code;
      if (code >= 0 && code < levels && leftOut[c] !== feature) terms.push({ j: feature, x: 1, shown: '' });
      if (code === MISSING) missing.push({ missing: (names[start] ?? '').split('=')[0] });
    });
    texts.forEach(([column, start, words]) => {
      for (const [word, count] of cells[column]) {
        if (word >= 0 && word < words && count !== 0) terms.push({ j: start + word, x: count, shown: `×${count}` });
      }
    });
    return [...terms, ...missing];
  }

  weight(j, k) {
    return this.theta[j * this.outputs + k];
  }

  /** The score of each output. */
  scores(terms) {
    return this.intercept.map((b, k) => terms.reduce((z, { j, x }) => (j === undefined ? z : z + x * this.weight(j, k)), b));
  }

  score(cells) {
    const z = this.scores(this.terms(cells));
    if (this.outputs === 1) return this.link(z[0]).map((p, k) => p - this.logPrior[k]);
    const total = logSumExp(z);
    return z.map((z, k) => z - total - this.logPrior[k]);
  }

  explain(cells) {
    const terms = this.terms(cells);
    const [base, slopes] = this.outputs === 1 ? this.path(this.scores(terms)[0]) : [this.intercept, new Array(this.classes).fill(1)];
    const evidence = ({ j, x }) => slopes.map((s, k) => s * x * this.weight(j, this.outputs === 1 ? 0 : k));
    const entry = (term) =>
      term.j === undefined
        ? { name: term.missing, value: 'missing', evidence: new Array(this.classes).fill(0), missing: true }
        : { name: this.layout.names[term.j], value: term.shown, evidence: evidence(term), missing: false };
    const average = base.map((g, k) => g - this.logPrior[k]);
    return [{ name: '(average row)', value: '', evidence: average, missing: false }, ...terms.map(entry)];
  }

  /** g at the average row, and the mean slopes from there to z. */
  path(z) {
    const [from, to, z0] = [this.link(this.intercept[0]), this.link(z), this.intercept[0]];
    const slopes = from.map((f, k) => (z === z0 ? 0 : (to[k] - (Number.isFinite(f) ? f : 0)) / (z - z0)));
    return [from.map((f) => (Number.isFinite(f) || z === z0 ? f : 0)), slopes];
  }
}
