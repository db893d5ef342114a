// Gaussian and Student densities, with missing cells integrated out.
//
//   z = the linear maps of x,  t = D⁻¹(z − μ),  Σ = D R D,  R = LLᵀ,  q = ‖L⁻¹t‖²
//   Gaussian  log p = −½(d ln 2π + q) − ½ ln|R| − Σ ln Dⱼ
//   Student   log p = ln Γ((ν+d)/2) − ln Γ(ν/2) − ½d ln(πνs) − ½ ln|R| − Σ ln Dⱼ − ½(ν+d) ln(1 + q/νs)
//
// The marginal of some columns has their rows and columns of R. Its factor grows by one row for each column
// (`Growing`), so that the marginals of all 2ᵈ sets of columns cost one row each. The factors of rows that miss the same
// cells are kept.

import { doubles, lnGamma } from './numbers.js';
import { averageOverOrders } from './orders.js';

/** The factor L of R for the columns that were pushed, with L⁻¹t, q and ½ ln|R|. */
class Growing {
  constructor(correlation, t) {
    [this.r, this.t, this.size] = [correlation, t, 0];
    const d = t.length;
    this.columns = new Int32Array(d);
    this.rows = Array.from({ length: d }, () => new Float64Array(d));
    this.u = new Float64Array(d);
    this.sums = [{ q: 0, halfLog: 0 }];
  }

  push(j) {
    const [n, row, r] = [this.size, this.rows[this.size], this.r[j]];
    let [left, u] = [r[j], this.t[j]];
    for (let i = 0; i < n; i += 1) {
      const above = this.rows[i];
      let x = r[this.columns[i]];
      for (let k = 0; k < i; k += 1) x -= above[k] * row[k];
      row[i] = x / above[i];
      left -= row[i] * row[i];
      u -= row[i] * this.u[i];
    }
    row[n] = Math.sqrt(left);
    this.u[n] = u / row[n];
    this.columns[n] = j;
    this.size = n + 1;
    const { q, halfLog } = this.sums[n];
    this.sums[n + 1] = { q: q + this.u[n] * this.u[n], halfLog: halfLog + Math.log(row[n]) };
  }

  pop() {
    this.size -= 1;
  }

  get sum() {
    return this.sums[this.size];
  }
}

/** The correlations R = LLᵀ from the lower triangle of L, column after column. */
function correlations(lower, d) {
  const l = Array.from({ length: d }, () => new Float64Array(d));
  let next = 0;
  for (let j = 0; j < d; j += 1) for (let i = j; i < d; i += 1) l[i][j] = lower[next++];
  const dot = (a, b, n) => {
    let sum = 0;
    for (let k = 0; k <= n; k += 1) sum += a[k] * b[k];
    return sum;
  };
  const r = Array.from({ length: d }, (_, i) => Float64Array.from({ length: d }, (_, j) => dot(l[i], l[j], Math.min(i, j))));
  return { l, r };
}

/** How many factors of marginals are kept. */
const KEPT = 300;

export class Gaussian {
  constructor({ json, arrays }) {
    const [maps, k, d, factors, full, tails] = json.shape;
    Object.assign(this, { classes: k, d, tails });
    this.chain = Array.from({ length: maps }, (_, i) => ({
      centre: doubles(arrays[`map${i}.centre`]),
      scale: arrays[`map${i}.scale`] && doubles(arrays[`map${i}.scale`]),
      transposed: arrays[`map${i}.transposed`] && doubles(arrays[`map${i}.transposed`]),
    }));
    this.isProjected = this.chain.some((map) => map.transposed);
    const means = doubles(arrays.mean);
    this.means = Array.from({ length: k }, (_, c) => means.subarray(c * d, (c + 1) * d));
    const factor = (i) => {
      const root = full && doubles(arrays[`correlation_root${i}`]);
      return { sd: doubles(arrays[`sd${i}`]), kept: new Map(), ...(root ? correlations(root, d) : {}) };
    };
    const all = Array.from({ length: factors }, (_, i) => factor(i));
    this.factors = this.means.map((_, c) => all[factors === 1 ? 0 : c]);
    const flat = tails === 'normal' ? [] : doubles(arrays.tails);
    const pair = (i) => ({ nu: flat[2 * i], s: flat[2 * i + 1] });
    if (tails === 'joint') this.student = this.means.map((_, c) => pair(c));
    if (tails === 'columns') this.student = this.means.map((_, c) => Array.from({ length: d }, (_, j) => pair(c * d + j)));
    this.isJoint = full || tails === 'joint';
  }

  /**
   * z of a row and ln dz/dx of each column; NaN stays NaN. A projection mixes its columns, so it needs all of them; its
   * own volume is left out, and what the maps before it had is in the first place.
   */
  mapped(x) {
    let [z, volumes] = [Float64Array.from(x), new Float64Array(x.length)];
    for (const { centre, scale, transposed } of this.chain) {
      const centred = z.map((z, j) => z - centre[j]);
      if (scale) {
        z = centred.map((z, j) => z * scale[j]);
        volumes = volumes.map((v, j) => v + Math.log(scale[j]));
      } else {
        const inputs = centre.length;
        const dot = (i) => centred.reduce((sum, z, j) => sum + z * transposed[i * inputs + j], 0);
        z = Float64Array.from({ length: transposed.length / inputs }, (_, i) => dot(i));
        const before = volumes.reduce((sum, v) => sum + v, 0);
        volumes = Float64Array.from(z, (_, i) => (i === 0 ? before : 0));
      }
    }
    return { z, volumes };
  }

  /** ln of what stands before ½ ln|R| and Σ ln Dⱼ at q = 0, for n columns together. */
  constant(c, n) {
    if (this.tails !== 'joint') return -0.5 * n * Math.log(2 * Math.PI);
    const { nu, s } = this.student[c];
    return lnGamma((nu + n) / 2) - lnGamma(nu / 2) - 0.5 * n * Math.log(Math.PI * nu * s);
  }

  /** log p of n columns from q, without Σ ln Dⱼ and volumes. */
  ofDistance(c, n, { q, halfLog }) {
    const far = Number.isNaN(q) ? Infinity : q;
    const base = this.constant(c, n) - halfLog;
    if (this.tails !== 'joint') return base - 0.5 * far;
    const { nu, s } = this.student[c];
    return base - 0.5 * (nu + n) * Math.log1p(far / (nu * s));
  }

  /** log p of column j on its own, where columns are independent given the class. */
  ofColumn(c, j, z) {
    const t = (z - this.means[c][j]) / this.factors[c].sd[j];
    const far = Number.isNaN(t) ? Infinity : t * t;
    const units = Math.log(this.factors[c].sd[j]);
    if (this.tails !== 'columns') return -0.5 * (Math.log(2 * Math.PI) + far) - units;
    const { nu, s } = this.student[c][j];
    const peak = lnGamma((nu + 1) / 2) - lnGamma(nu / 2) - 0.5 * Math.log(Math.PI * nu * s);
    return peak - 0.5 * (nu + 1) * Math.log1p(far / (nu * s)) - units;
  }

  growing(c, z) {
    const { sd, r } = this.factors[c];
    const identity = (d) => Array.from({ length: d }, (_, i) => Float64Array.from({ length: d }, (_, j) => (i === j ? 1 : 0)));
    return new Growing(r ?? identity(z.length), z.map((z, j) => (z - this.means[c][j]) / sd[j]));
  }

  /** L of the columns that are present, row after row, and ½ ln|R|. */
  marginal({ l, r, kept }, present) {
    const key = present.length === r.length ? 'all' : present.join();
    const known = kept.get(key);
    if (known) return known;
    if (kept.size > KEPT) kept.clear();
    const growing = new Growing(r, new Float64Array(r.length));
    if (key !== 'all') present.forEach((j) => growing.push(j));
    const found = key === 'all' ? { rows: l, halfLog: l.reduce((sum, row, i) => sum + Math.log(row[i]), 0) } : { rows: growing.rows, halfLog: growing.sum.halfLog };
    kept.set(key, found);
    return found;
  }

  /** q = ‖L⁻¹t‖² of the columns that are present. */
  distance(c, z, present) {
    const [factor, mean] = [this.factors[c], this.means[c]];
    const { rows, halfLog } = factor.r ? this.marginal(factor, present) : { rows: null, halfLog: 0 };
    const u = new Float64Array(present.length);
    let q = 0;
    for (let i = 0; i < present.length; i += 1) {
      const j = present[i];
      let t = (z[j] - mean[j]) / factor.sd[j];
      if (rows) {
        for (let k = 0; k < i; k += 1) t -= rows[i][k] * u[k];
        t /= rows[i][i];
      }
      u[i] = t;
      q += t * t;
    }
    return { q, halfLog };
  }

  /** log p(x | class) of each class; NaN cells are integrated out. */
  score(x) {
    if (this.isProjected && x.some(Number.isNaN)) throw new Error('a model with PCA or LDA needs every number');
    const { z, volumes } = this.mapped(x);
    const present = [...z.keys()].filter((j) => !Number.isNaN(z[j]));
    if (present.length === 0) return new Array(this.classes).fill(0);
    const volume = present.reduce((sum, j) => sum + volumes[j], 0);
    return this.means.map((_, c) => {
      if (!this.isJoint) return volume + present.reduce((sum, j) => sum + this.ofColumn(c, j, z[j]), 0);
      const units = present.reduce((sum, j) => sum + Math.log(this.factors[c].sd[j]), 0);
      return volume - units + this.ofDistance(c, present.length, this.distance(c, z, present));
    });
  }

  /** What each column says for each class, adding up to the score. */
  explain(x, names) {
    if (this.isProjected) return this.alongThePath(x, names);
    const { z, volumes } = this.mapped(x);
    const present = [...z.keys()].filter((j) => !Number.isNaN(z[j]));
    const says = this.means.map((_, c) => this.ofClass(c, z, volumes, present));
    return names.map((name, j) => {
      const missing = Number.isNaN(z[j]);
      return { name, value: x[j], evidence: says.map((of) => (missing ? 0 : of[j])), missing };
    });
  }

  ofClass(c, z, volumes, present) {
    const says = new Float64Array(z.length);
    if (!this.isJoint) {
      present.forEach((j) => (says[j] = volumes[j] + this.ofColumn(c, j, z[j])));
      return says;
    }
    const growing = this.growing(c, z);
    const unit = (j) => volumes[j] - Math.log(this.factors[c].sd[j]);
    // What is the same whatever else is known stays out of the averages.
    const value = () => (growing.size ? this.ofDistance(c, growing.size, growing.sum) : 0);
    const shares = averageOverOrders(z.length, present, { push: (j) => growing.push(j), pop: () => growing.pop(), value });
    present.forEach((j) => (says[j] = shares[j] + unit(j)));
    return says;
  }

  /**
   * After a projection columns have no densities of their own: they are weighed along the straight path from the
   * training mean x₀ to x. With Δz = z − z₀ and s the mean slope of log p, column j says (xⱼ − x₀ⱼ)(Ws)ⱼ.
   */
  alongThePath(x, names) {
    const centre = this.chain[0].centre;
    const score = this.score(x);
    const [z, z0] = [this.mapped(x).z, this.mapped(centre).z];
    const says = this.means.map((_, c) => this.backwards(this.meanSlope(c, z0, z)).map((w, j) => w * (x[j] - centre[j])));
    const rest = score.map((s, c) => s - says[c].reduce((a, b) => a + b, 0));
    const columns = names.map((name, j) => ({ name, value: x[j], evidence: says.map((of) => of[j]), missing: false }));
    return [{ name: '(start: an average row)', value: '', evidence: rest, missing: false }, ...columns];
  }

  /** Ws, with W the product of the maps. */
  backwards(slope) {
    let s = slope;
    for (const { centre, scale, transposed } of [...this.chain].reverse()) {
      const [inner, inputs] = [s, centre.length];
      const column = (j) => inner.reduce((sum, w, i) => sum + w * transposed[i * inputs + j], 0);
      s = scale ? inner.map((w, j) => w * scale[j]) : Float64Array.from({ length: inputs }, (_, j) => column(j));
    }
    return s;
  }

  /** s with s·(z − z₀) = log p(z) − log p(z₀). */
  meanSlope(c, z0, z) {
    const mean = this.means[c];
    if (this.tails === 'columns') {
      return z.map((to, i) => {
        const { nu, s } = this.student[c][i];
        const scale = nu * s * this.factors[c].sd[i] ** 2;
        const h = (x) => -0.5 * (nu + 1) * Math.log1p((x - mean[i]) ** 2 / scale);
        return to === z0[i] ? 0 : (h(to) - h(z0[i])) / (to - z0[i]);
      });
    }
    const middle = z.map((z, j) => 0.5 * (z + z0[j]) - mean[j]);
    const gaussian = this.timesPrecision(c, middle).map((s) => -s);
    if (this.tails !== 'joint') return gaussian;
    const { nu, s } = this.student[c];
    const distance = (z) => this.distance(c, z, [...z.keys()]).q;
    const [q0, q1, power] = [distance(z0), distance(z), 0.5 * (nu + mean.length)];
    const ratio = q1 === q0 ? (2 * power) / (nu * s + q0) : (2 * power * (Math.log1p(q1 / (nu * s)) - Math.log1p(q0 / (nu * s)))) / (q1 - q0);
    return gaussian.map((g) => g * ratio);
  }

  /** Σ⁻¹x */
  timesPrecision(c, x) {
    const { sd, l } = this.factors[c];
    const u = x.map((x, j) => x / sd[j]);
    const d = x.length;
    if (l) {
      for (let i = 0; i < d; i += 1) {
        for (let k = 0; k < i; k += 1) u[i] -= l[i][k] * u[k];
        u[i] /= l[i][i];
      }
      for (let i = d - 1; i >= 0; i -= 1) {
        for (let k = i + 1; k < d; k += 1) u[i] -= l[k][i] * u[k];
        u[i] /= l[i][i];
      }
    }
    return u.map((u, j) => u / sd[j]);
  }
}
