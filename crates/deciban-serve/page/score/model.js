// A model from the numbers of its file: the evidence of a row, log p(x | class) in nats before any prior, and what each
// of its features says.

import { A1de } from './a1de.js';
import { Additive } from './additive.js';
import { binNames, binOf, cutsOf } from './bins.js';
import { CellReader, MISSING, wordLine } from './cells.js';
import { Curves } from './curve.js';
import { FAMILIES } from './families.js';
import { Fused } from './fused.js';
import { Gaussian } from './gaussian.js';
import { Joint } from './joint.js';
import { KDependence } from './k-dependence.js';
import { Linear } from './linear.js';
import { logShares, logSumExp } from './numbers.js';
import { Parzen } from './parzen.js';
import { Tree } from './tree.js';

/** Families of columns that are modelled together. */
const JOINT = {
  gaussian: (numbers) => new Gaussian(numbers),
  a1de: (numbers) => new A1de(numbers),
  table: (numbers) => new Joint(numbers),
  tree: (numbers) => new Tree(numbers),
  parzen: (numbers) => new Parzen(numbers),
};

/** The arrays and JSON of what `auto` chose stand under `chosen.`. */
function ofChosen({ json, arrays }) {
  const strip = (of) => Object.fromEntries(Object.entries(of).map(([name, value]) => [name.replace(/^chosen\./, ''), value]));
  return { family: json['chosen.family'], numbers: { json: strip(json), arrays: strip(arrays) } };
}

/** Columns that are modelled together. */
class Block {
  constructor(block, columns) {
    const { family, numbers } = block.family === 'auto' ? ofChosen(block.density) : { family: block.family, numbers: block.density };
    this.places = block.columns;
    this.all = columns;
    this.text = block.columns.length === 1 && columns[block.columns[0]].kind === 'text' ? block.columns[0] : undefined;
    this.cuts = block.discretise ? cutsOf(block.discretise.json.it, block.discretise.arrays.edges) : [];
    const levels = (column, cuts) => (cuts ? { ...column, levels: binNames(cuts) } : column);
    this.columns = block.columns.map((c, j) => levels(columns[c], this.cuts[j]));
    this.curves = block.gaussianise && new Curves(block.gaussianise);
    this.density = (JOINT[family] ?? FAMILIES[family])(numbers);
    this.isGaussian = family === 'gaussian';
  }

  mapped(row) {
    const cut = (x, cuts) => (cuts ? (Number.isNaN(x) ? MISSING : binOf(cuts, x)) : x);
    const cells = this.places.map((c, j) => cut(row[c], this.cuts[j]));
    return this.curves ? this.curves.apply(cells) : { mapped: cells, logJacobian: 0 };
  }

  score(row) {
    const { mapped, logJacobian } = this.mapped(row);
    return this.density.score(mapped).map((s) => s + logJacobian);
  }

  explain(row) {
    const { mapped } = this.mapped(row);
    if (this.text !== undefined) {
      // A line in parentheses is not a word.
      const named = (name) => (name.startsWith('(') ? name : wordLine(this.all, this.text, name));
      return this.density.explain(mapped, this.columns).map((entry) => ({ ...entry, name: named(entry.name) }));
    }
    if (!this.isGaussian) return this.density.explain(mapped, this.columns);
    const names = this.columns.map((column) => column.name);
    const entries = this.density.explain(mapped, names);
    // Numbers as they were written, not as a map made them.
    return entries.map((entry) => ({ ...entry, value: names.includes(entry.name) ? row[this.places[names.indexOf(entry.name)]] : '' }));
  }
}

/** Blocks that are independent given the class, each class with one or more components. */
class Generative {
  constructor({ blocks, components }, columns) {
    this.components = components;
    this.blocks = blocks.map((block) => new Block(block, columns));
    this.isSingle = components.every((weights) => weights.length === 1);
  }

  groups(row) {
    const scores = this.blocks.map((block) => block.score(row));
    return scores[0].map((_, g) => scores.reduce((sum, s) => sum + s[g], 0));
  }

  score(row) {
    const groups = this.groups(row);
    if (this.isSingle) return groups;
    let start = 0;
    return this.components.map((weights) => {
      const own = weights.map((w, k) => w + groups[start + k]);
      start += weights.length;
      return logSumExp(own);
    });
  }

  /** log p(x | class) = Σₖ rₖ log pₖ(x) + Σₖ rₖ ln(πₖ/rₖ), with rₖ = p(component | x, class). */
  explain(row) {
    const entries = this.blocks.flatMap((block) => block.explain(row));
    if (this.isSingle) return entries;
    const groups = this.groups(row);
    let start = 0;
    const rest = [];
    const shares = this.components.map((weights) => {
      const own = weights.map((w, k) => w + groups[start + k]);
      const isPossible = own.some((x) => x > -Infinity);
      const r = isPossible ? logShares(own).map(Math.exp) : own.map(() => 1 / own.length);
      rest.push(r.reduce((sum, r, k) => (r > 0 ? sum + r * (weights[k] - Math.log(r)) : sum), 0));
      const first = start;
      start += weights.length;
      return { r, first };
    });
    const mean = ({ evidence }) => shares.map(({ r, first }) => r.reduce((sum, r, k) => (r > 0 ? sum + r * evidence[first + k] : sum), 0));
    return [...entries.map((entry) => ({ ...entry, evidence: mean(entry) })), { name: '(components of the mixture)', value: '', evidence: rest, missing: false }];
  }
}

/**
 * The evidence of a model with its affine calibration, a·e + b, of which a row with missing cells gets a share. Before
 * it the evidence is bounded: ε of the posterior at a flat prior is spread over all classes.
 */
class Calibrated {
  constructor(model, { bound, scale, bias, typical_cells: typical }) {
    // The members of a fusion have calibrations of their own.
    const name = model instanceof Fused ? '(same for every row)' : '(calibration)';
    Object.assign(this, { model, bound, scale, bias, typical, name });
  }

  bounded(evidence) {
    if (this.bound === 0) return evidence;
    if (evidence.every((e) => e === -Infinity)) return evidence.map(() => 0);
    return logShares(evidence).map((p) => Math.log((1 - this.bound) * Math.exp(p) + this.bound / evidence.length));
  }

  share(row) {
    const cells = row.filter((cell) => cell instanceof Map || (cell !== MISSING && !Number.isNaN(cell))).length;
    if (cells >= this.typical) return { slope: 1, offset: 1 };
    return cells === 0 ? { slope: 0, offset: 0 } : { slope: (cells - 1) / (this.typical - 1), offset: cells / this.typical };
  }

  slope(share) {
    return this.scale / (this.scale + (1 - this.scale) * share.slope);
  }

  score(row) {
    const [evidence, share] = [this.bounded(this.model.score(row)), this.share(row)];
    if (share.offset === 0) return evidence.map(() => 0);
    if (evidence.every((e) => e === -Infinity)) return evidence;
    return evidence.map((e, k) => this.slope(share) * e + share.offset * this.bias[k]);
  }

  explain(row) {
    const [after, share] = [this.score(row), this.share(row)];
    const slope = this.slope(share);
    // What the bound makes possible again is not impossible because of one line.
    const says = (e, k) => (Number.isFinite(e) ? e * slope : after[k] === -Infinity ? e : 0);
    const spread = this.bound > 0 && share.offset > 0 ? this.spread(row) : this.model.explain(row);
    const lines = spread.map((entry) => ({ ...entry, evidence: entry.evidence.map(says) }));
    const rest = after.map((a, k) => (a === -Infinity ? 0 : a - lines.reduce((sum, { evidence }) => sum + evidence[k], 0)));
    return [...lines, { name: this.name, value: '', evidence: rest, missing: false }];
  }

  /**
   * The lines of the model with what the bound takes away. The most probable class b keeps its lines; what a line says for
   * another class k over b is multiplied by (boundedₖ − bounded_b)/(eₖ − e_b). A line that rules a class out says all that
   * the bound leaves.
   */
  spread(row) {
    const [lines, before] = [this.model.explain(row), this.model.score(row)];
    const bounded = this.bounded(before);
    const best = before.reduce((best, e, k) => (e > before[best] ? k : best), 0);
    if (before[best] === -Infinity) return lines.map((entry) => ({ ...entry, evidence: before.map(() => 0) }));
    const ratios = before.map((e, k) => (Math.abs(e - before[best]) > 1e-6 ? (bounded[k] - bounded[best]) / (e - before[best]) : 1));
    const ruling = before.map((_, k) => lines.findIndex(({ evidence }) => evidence[k] === -Infinity));
    const says = (place) => (e, k, evidence) => {
      if (k === best) return e;
      if (ruling[k] < 0) return evidence[best] + ratios[k] * (e - evidence[best]);
      return evidence[best] + (ruling[k] === place ? bounded[k] - bounded[best] : 0);
    };
    return lines.map((entry, place) => ({ ...entry, evidence: entry.evidence.map(says(place)) }));
  }
}

/** A model of any kind, with its calibration. */
function scorerOf(scorer, columns) {
  const kinds = {
    linear: () => new Linear(scorer.numbers),
    additive: () => new Additive(scorer.numbers, columns),
    'k-dependence': () => new KDependence(scorer.numbers, columns),
    generative: () => new Generative(scorer, columns),
    fused: () => new Fused(scorer.members.map(({ weight, scorer }) => ({ weight, model: scorerOf(scorer, columns) })), columns),
  };
  const plain = kinds[scorer.kind]();
  return scorer.calibration ? new Calibrated(plain, scorer.calibration) : plain;
}

/** The numbers of the model that describes rows: a calibration changes evidence, not densities. */
function describedBy({ scorer, density }) {
  const whose = { itself: () => scorer, member: () => scorer.members[density.place].scorer, companion: () => density.scorer };
  return { ...whose[density.by](), calibration: null };
}

/** What the data of a page make of rows: cells, evidence, densities and explanations. */
export class Model {
  constructor(data) {
    this.readers = data.columns.map((column) => new CellReader(column, data));
    this.model = scorerOf(data.scorer, data.columns);
    this.described = data.density && scorerOf(describedBy(data), data.columns);
  }

  /** The cells of a row of texts, in the order of the columns. */
  read(row) {
    return this.readers.map((reader, j) => reader.read(row[j]));
  }

  evidence(cells) {
    return this.model.score(cells);
  }

  /** ln p(x | class) by the model that describes rows. */
  logDensities(cells) {
    return this.described.score(cells);
  }

  explain(cells) {
    return this.model.explain(cells);
  }
}
