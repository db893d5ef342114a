// Densities of categories, flags, counts, words and single numbers, each with `score(x)`, log p(x | class) of every
// class, and `explain(x, columns)`, the same split over features. A missing cell adds nothing.

import { MISSING } from './cells.js';
import { doubles, itakuraSaito, lessLn1p, stirlingRest } from './numbers.js';

const zeros = (n) => new Array(n).fill(0);
const plus = (a, b) => a.map((a, c) => a + b[c]);

/** Columns that are independent given the class: a family has `ofColumn(j, cell)`, the log-densities of one cell. */
class Independent {
  score(x) {
    return x.reduce((sum, cell, j) => (this.isMissing(cell) ? sum : plus(sum, this.ofColumn(j, cell))), zeros(this.classes));
  }

  explain(x, columns) {
    return columns.map(({ name, levels }, j) => {
      const missing = this.isMissing(x[j]);
      const value = levels?.length ? (levels[x[j]] ?? '(unseen)') : x[j];
      return { name, value, evidence: missing ? zeros(this.classes) : this.ofColumn(j, x[j]), missing };
    });
  }

  isMissing(cell) {
    return Number.isNaN(cell);
  }
}

/** p(level | class); a level that training never saw has the probability of its own at the end of the table. */
export class Categorical extends Independent {
  constructor({ json, arrays }) {
    super();
    const [classes, levels, unseen] = json.shape;
    Object.assign(this, { classes, levels, refuses: unseen === 'error' });
    this.tables = levels.map((_, j) => doubles(arrays[`log_p${j}`]));
  }

  isMissing(cell) {
    return cell === MISSING;
  }

  ofColumn(j, code) {
    const levels = this.levels[j];
    const place = code < 0 ? levels : Math.min(code, levels);
    if (place === levels && this.refuses) throw new Error('the level was not in the training data');
    return Array.from({ length: this.classes }, (_, c) => this.tables[j][c * (levels + 1) + place]);
  }
}

/** Numbers as present, above a threshold, or absent; or the words of a text. */
export class Bernoulli extends Independent {
  constructor({ json, arrays }) {
    super();
    const [[terms, classes], isText, threshold] = json.shape;
    Object.assign(this, { terms, classes, isText, threshold });
    [this.present, this.absent] = [doubles(arrays.log_present), doubles(arrays.log_absent)];
    // What a text without words says, where that is finite.
    this.nothing = zeros(classes);
    for (let i = 0; isText && i < this.absent.length; i += 1) this.nothing[i % classes] += this.absent[i];
  }

  of(table, term) {
    return Array.from(table.subarray(term * this.classes, (term + 1) * this.classes));
  }

  ofColumn(j, x) {
    return this.of(x > this.threshold ? this.present : this.absent, j);
  }

  isThere(counts, term) {
    return (counts.get(term) ?? 0) > this.threshold;
  }

  score(x) {
    if (!this.isText) return super.score(x);
    let sum = this.nothing;
    if (sum.every(Number.isFinite)) {
      for (const term of x[0].keys()) {
        const isKnown = term >= 0 && term < this.terms && this.isThere(x[0], term);
        if (isKnown) sum = plus(sum, this.of(this.present, term).map((p, c) => p - this.absent[term * this.classes + c]));
      }
      return sum;
    }
    sum = zeros(this.classes);
    for (let term = 0; term < this.terms; term += 1) {
      sum = plus(sum, this.of(this.isThere(x[0], term) ? this.present : this.absent, term));
    }
    return sum;
  }

  explain(x, columns) {
    if (!this.isText) return super.explain(x, columns);
    const [{ name, levels }] = columns;
    let lacks = zeros(this.classes);
    const words = [];
    for (let term = 0; term < this.terms; term += 1) {
      const [present, absent] = [this.of(this.present, term), this.of(this.absent, term)];
      const isLeftOut = present.every((p) => p === 0) && absent.every((p) => p === 0);
      if (!this.isThere(x[0], term)) lacks = plus(lacks, absent);
      else if (!isLeftOut) words.push({ name: levels[term], value: '', evidence: present, missing: false });
    }
    return [{ name: `(words \`${name}\` lacks)`, value: '', evidence: lacks, missing: false }, ...words];
  }
}

/** Counts of words or of columns: Σ nⱼ wⱼ, with wⱼ = ln θⱼ. */
export class Multinomial {
  constructor({ json, arrays }) {
    const [classes, width, words] = json.shape;
    const [normalise, complement] = json.options;
    Object.assign(this, { classes, width, words, normalise, complement });
    [this.weights, this.unseen] = [doubles(arrays.weights), Array.from(doubles(arrays.unseen))];
    this.countsUnseen = this.unseen.some((w) => w !== 0);
  }

  of(word) {
    if (word < 0 || word >= this.words) return this.unseen;
    return Array.from(this.weights.subarray(word * this.classes, (word + 1) * this.classes));
  }

  score(x) {
    return this.explain(x, []).reduce((sum, { evidence }) => plus(sum, evidence), zeros(this.classes));
  }

  explain(x, columns) {
    // 0·(−∞) = 0
    const times = (count, word) => this.of(word).map((w) => (count === 0 ? 0 : count * w));
    const isText = x[0] instanceof Map;
    const known = (word) => (word >= 0 && word < this.words) || this.countsUnseen;
    const cells = isText ? [...x[0]].filter(([word]) => known(word)) : x.map((count, j) => [j, count]);
    const there = cells.filter(([, count]) => !Number.isNaN(count));
    if (there.some(([, count]) => count < 0)) throw new Error('counts are at least 0');
    const total = there.reduce((sum, [, count]) => sum + count, 0);
    const share = (count) => (this.normalise && total > 0 ? count / total : count);
    const name = (word) => (isText ? (columns[0]?.levels?.[word] ?? '(unknown word)') : columns[word]?.name);
    const entries = cells.map(([word, count]) => {
      const missing = Number.isNaN(count);
      const evidence = missing ? zeros(this.classes) : times(share(count), word);
      return { name: name(word), value: `×${count}`, evidence, missing };
    });
    if (isText || there.length === cells.length || this.complement) return entries;
    // The counts that are there were drawn from the words that were looked for: θⱼ/Σθ of these.
    const tokens = this.normalise ? (total > 0 ? 1 : 0) : total;
    const left = this.unseen.map((_, c) => {
      const rest = there.reduce((sum, [word]) => sum + Math.exp(this.of(word)[c]), 0);
      return tokens > 0 && rest > 0 ? -tokens * Math.log(rest) : 0;
    });
    return left.some((x) => x !== 0) ? [...entries, { name: '(counts that are missing)', value: '', evidence: left, missing: false }] : entries;
  }
}

/** Single numbers with one or two parameters; `inside` says which numbers the family describes. Any other says nothing. */
class SingleNumbers extends Independent {
  constructor({ json, arrays }, { inside, logDensity }) {
    super();
    const [classes, width, each] = json.shape;
    const flat = doubles(arrays.parameters);
    const parameters = (c, j) => flat.subarray((c * width + j) * each, (c * width + j + 1) * each);
    Object.assign(this, { classes, parameters, inside, logDensity });
  }

  ofColumn(j, x) {
    if (!this.inside(x)) return zeros(this.classes);
    return Array.from({ length: this.classes }, (_, c) => this.logDensity(x, ...this.parameters(c, j)));
  }
}

/** λˣ e^(−λ)/x! = exp(−x d(λ, x) − r(x)), with d(a, b) = a/b − 1 − ln(a/b) and r the rest of Stirling's formula. */
const poisson = {
  inside: (x) => x >= 0 && Number.isInteger(x),
  logDensity: (x, rate) => (x > 0 ? -x * itakuraSaito(rate, x) - stirlingRest(x) : -rate),
};
const exponential = { inside: (x) => x >= 0, logDensity: (x, mean) => -x / mean - Math.log(mean) };
const logNormal = {
  inside: (x) => x > 0,
  logDensity: (x, mean, sd) => -0.5 * ((Math.log(x) - mean) / sd) ** 2 - Math.log(x) - Math.log(sd) - 0.5 * Math.log(2 * Math.PI),
};
/** With m the mean and k the shape: −k d(x, m) − ln x + ln k − r(k). */
const gamma = {
  inside: (x) => x > 0,
  logDensity: (x, shape, scale) => -shape * itakuraSaito(x, shape * scale) - Math.log(x) + Math.log(shape) - stirlingRest(shape),
};

/** With n = a + b and m = a/n: −a d(x, m) − b d(1−x, 1−m) − ln x − ln(1−x) + ln(ab/n) − r(a) − r(b) + r(n). */
const beta = {
  inside: (x) => x > 0 && x < 1,
  logDensity: (x, a, b) => {
    const n = a + b;
    const constant = Math.log(a) + Math.log(b / n) - stirlingRest(a) - stirlingRest(b) + stirlingRest(n);
    return constant - a * itakuraSaito(x, a / n) - b * itakuraSaito(1 - x, b / n) - Math.log(x) - Math.log1p(-x);
  },
};
/** With m the mean, φ the dispersion, s = 1/φ and u = (x−m)/(s+m): −s (u − ln(1+u)) − x d(m(x+s)/(s+m), x) − ln(1+xφ) + r(x+s) − r(s) − r(x). */
const negativeBinomial = {
  inside: poisson.inside,
  logDensity: (x, m, dispersion) => {
    if (dispersion === 0) return poisson.logDensity(x, m);
    const s = 1 / dispersion;
    if (x === 0) return -s * Math.log1p(m * dispersion);
    const ofX = -x * itakuraSaito((m * (x + s)) / (s + m), x) - stirlingRest(x);
    return ofX - s * lessLn1p((x - m) / (s + m)) - Math.log1p(x * dispersion) + (stirlingRest(x + s) - stirlingRest(s));
  },
};

/** p(bin | class) over the width of the bin; the outer bins take all that lies beyond. */
class Histogram extends Independent {
  constructor({ json, arrays }) {
    super();
    const [classes, counts] = json.shape;
    this.classes = classes;
    this.columns = counts.map((bins, j) => ({ bins, edges: doubles(arrays[`edges${j}`]), p: doubles(arrays[`probabilities${j}`]) }));
  }

  ofColumn(j, x) {
    const { bins, edges, p } = this.columns[j];
    let bin = 0;
    while (bin < bins - 1 && edges[bin + 1] <= x) bin += 1;
    const width = Math.min(edges[bin + 1] - edges[bin], Number.MAX_VALUE);
    return Array.from({ length: this.classes }, (_, c) => Math.log(p[c * bins + bin]) - Math.log(width));
  }
}

export const FAMILIES = {
  categorical: (numbers) => new Categorical(numbers),
  bernoulli: (numbers) => new Bernoulli(numbers),
  multinomial: (numbers) => new Multinomial(numbers),
  poisson: (numbers) => new SingleNumbers(numbers, poisson),
  exponential: (numbers) => new SingleNumbers(numbers, exponential),
  'log-normal': (numbers) => new SingleNumbers(numbers, logNormal),
  gamma: (numbers) => new SingleNumbers(numbers, gamma),
  beta: (numbers) => new SingleNumbers(numbers, beta),
  'negative-binomial': (numbers) => new SingleNumbers(numbers, negativeBinomial),
  histogram: (numbers) => new Histogram(numbers),
};
