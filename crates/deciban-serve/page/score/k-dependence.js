// K-dependence models: for each column one or two chains of tables, that of its codes, then that of its codes and those of its
// first parent, and so on, each backing off to the one before,
//
//   pₘ(y) = (n(cell, y) + cₘ pₘ₋₁(y)) / (n(cell) + cₘ),    p₋₁(y) = (n(y) + 1/K)/(n + 1)
//
// and a column says Σₘ wₘ (ln pₘ − ln pₘ₋₁) over the cells that it has.

import { shown } from './cells.js';
import { Coding } from './coding.js';
import { doubles, logSumExp } from './numbers.js';

/** Bytes, six in each double of the file, the lowest first. */
function* unpacked(packed, count) {
  let left = count;
  for (let number of packed) {
    for (let i = 0; i < 6 && left > 0; i += 1, left -= 1) {
      yield number % 256;
      number = Math.floor(number / 256);
    }
  }
}

/** The tables of all chains: for each cell of the table before, the cells that refine it, by their codes. */
function chainsOf({ chains, bytes, apart }, packed, weights) {
  const source = unpacked(packed, bytes);
  const byte = () => source.next().value;
  const number = () => {
    let [sum, unit] = [0, 1];
    for (;;) {
      const next = byte();
      sum += (next % 128) * unit;
      if (next < 128) return sum;
      unit *= 128;
    }
  };
  let used = 0;
  const weight = () => (apart === null ? number() : weights[used++]);
  return chains.map(([columns, concentrations]) => {
    let before = [{ counts: [], children: new Map() }];
    const root = before[0];
    for (let level = 0; level < concentrations.length; level += 1) {
      const cells = [];
      for (const parent of before) {
        for (let left = number(); left > 0; left -= 1) {
          const code = byte();
          const classes = number();
          // A cell with the classes of the one it refines says 0 classes.
          const counts = classes === 0 ? parent.counts : Array.from({ length: classes }, () => [number(), weight()]);
          const cell = { counts, children: new Map() };
          parent.children.set(code, cell);
          cells.push(cell);
        }
      }
      before = cells;
    }
    return { columns, concentrations, root };
  });
}

export class KDependence {
  constructor({ json, arrays }, columns) {
    this.coding = new Coding({ json, arrays });
    this.columns = columns;
    this.logPrior = Array.from(doubles(arrays.empirical), Math.log);
    this.offsets = Array.from(doubles(arrays.offsets));
    const rows = Array.from(doubles(arrays.classes));
    const scale = 1 / (rows.reduce((a, b) => a + b, 0) + 1);
    this.shares = rows.map((n) => (n + 1 / rows.length) * scale);
    this.chains = chainsOf(json.chains, doubles(arrays['chains.bytes']), doubles(arrays['chains.apart']));
    const weights = doubles(arrays.weights);
    let start = 0;
    for (const chain of this.chains) {
      chain.weights = weights.subarray(start, start + chain.concentrations.length);
      start += chain.concentrations.length;
    }
  }

  /** What a chain says for each class. */
  walk({ columns, concentrations, root, weights }, coarse) {
    let [p, cell] = [this.shares, root];
    let last = p.map(Math.log);
    let says = p.map(() => 0);
    for (let m = 0; m < columns.length; m += 1) {
      cell = cell.children.get(coarse[columns[m]]);
      if (!cell) break;
      const total = cell.counts.reduce((sum, [, n]) => sum + n, 0);
      const scale = 1 / (total + concentrations[m]);
      p = p.map((p) => p * (concentrations[m] * scale));
      for (const [y, n] of cell.counts) p[y] += n * scale;
      const logs = p.map(Math.log);
      says = says.map((s, k) => s + weights[m] * (logs[k] - last[k]));
      last = logs;
    }
    return says;
  }

  parts(cells) {
    const coarse = this.coding.coarse(this.coding.codes(cells));
    // A column may have two chains, and is one part.
    const parts = new Map();
    for (const chain of this.chains) {
      const [column, says] = [chain.columns[0], this.walk(chain, coarse)];
      const before = parts.get(column);
      parts.set(column, before ? before.map((s, k) => s + says[k]) : says);
    }
    return Array.from(parts, ([column, says]) => ({ column, says }));
  }

  /** ln p of each class, less what it is before a cell is seen; and the part of the offsets. */
  offset(parts) {
    const z = parts.reduce((z, { says }) => z.map((z, k) => z + says[k]), this.offsets);
    const total = logSumExp(z);
    return { z: z.map((z) => z - total), offset: this.offsets.map((b, k) => b - total - this.logPrior[k]) };
  }

  score(cells) {
    return this.offset(this.parts(cells)).z.map((z, k) => z - this.logPrior[k]);
  }

  explain(cells) {
    const parts = this.parts(cells);
    const entry = ({ column, says }) => {
      const code = this.coding.code(column, cells[column]);
      const missing = this.coding.isMissing(column, code) && says.every((s) => s === 0);
      const { name, levels } = this.columns[column];
      return { name, value: shown(cells[column], levels), evidence: says, missing };
    };
    return [{ name: '(same for every row)', value: '', evidence: this.offset(parts).offset, missing: false }, ...parts.map(entry)];
  }
}
