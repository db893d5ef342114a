// What each column of a joint density says: v(S ∪ j) − v(S) with v(S) = log p(x_S), averaged over the orders in which
// columns can become known (Shapley 1953). Up to 13 columns all orders count, with more the same 16 random ones and
// their reverses as in the library.

import { MISSING, shown } from './cells.js';

const MOST_EXACT = 13;
const SAMPLED = 16;

/** What each category says in a density that has `ofClass(c, x)`, log p(x | c) with missing cells summed out. */
export function explainJointly(density, x, columns) {
  const present = x.flatMap((code, j) => (code === MISSING ? [] : [j]));
  const says = Array.from({ length: density.classes }, (_, c) => {
    const cells = x.map(() => MISSING);
    const stack = [];
    const game = {
      push: (j) => {
        stack.push(j);
        cells[j] = x[j];
      },
      pop: () => (cells[stack.pop()] = MISSING),
      value: () => (stack.length === 0 ? 0 : density.ofClass(c, cells)),
    };
    return averageOverOrders(x.length, present, game);
  });
  const evidence = (j) => says.map((of) => of[j]);
  return columns.map(({ name, levels }, j) => ({ name, value: shown(x[j], levels), evidence: evidence(j), missing: x[j] === MISSING }));
}

/** The averages for the columns of 0…d−1 that are `present`; `game` grows and shrinks a set and tells its value. */
export function averageOverOrders(d, present, game) {
  const inFile = new Float64Array(d);
  addChain(present, 1, inFile, game);
  const finite = present.every((j) => Number.isFinite(inFile[j]));
  if (!finite || d === 1) return inFile;
  return d <= MOST_EXACT ? exact(d, present, game) : sampled(d, present, game);
}

/** Adds what each column says given those before it; behind an impossible one the others say nothing. */
function addChain(order, weight, says, game) {
  let before = game.value();
  for (const j of order) {
    game.push(j);
    const after = game.value();
    if (before > -Infinity) says[j] += weight * (after - before);
    before = after;
  }
  order.forEach(() => game.pop());
}

/** φⱼ = Σ_{S∌j} |S|! (n−|S|−1)!/n! (v(S ∪ j) − v(S)): missing columns change no v and drop out. */
function exact(d, present, game) {
  const n = present.length;
  const values = new Float64Array(1 << n);
  const visit = (next, set) => {
    values[set] = game.value();
    for (let i = next; i < n; i += 1) {
      game.push(present[i]);
      visit(i + 1, set | (1 << i));
      game.pop();
    }
  };
  visit(0, 0);
  const weights = [1 / n];
  for (let s = 1; s < n; s += 1) weights.push((weights[s - 1] * s) / (n - s));
  const size = (set) => {
    let bits = 0;
    for (let rest = set; rest; rest &= rest - 1) bits += 1;
    return bits;
  };
  const says = new Float64Array(d);
  for (let set = 0; set < values.length; set += 1) {
    const weight = weights[size(set)];
    for (let i = 0; i < n; i += 1) {
      if (!((set >> i) & 1)) says[present[i]] += weight * (values[set | (1 << i)] - values[set]);
    }
  }
  return says;
}

function sampled(d, present, game) {
  const [random, says, there] = [generator(0n), new Float64Array(d), new Set(present)];
  const order = Array.from({ length: d }, (_, j) => j);
  for (let n = 0; n < SAMPLED; n += 1) {
    for (let i = d - 1; i > 0; i -= 1) {
      const j = random(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    for (let turn = 0; turn < 2; turn += 1) {
      addChain(order.filter((j) => there.has(j)), 0.5 / SAMPLED, says, game);
      order.reverse();
    }
    // The library leaves the reversed order for the next shuffle.
    order.reverse();
  }
  return says;
}

/** Whole numbers below n: xoshiro256++ (Blackman & Vigna 2021), seeded by SplitMix64, as in the library. */
function generator(seed) {
  const mask = (1n << 64n) - 1n;
  const step = 0x9e3779b97f4a7c15n;
  const mix = (z) => {
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return z ^ (z >> 31n);
  };
  const s = [1n, 2n, 3n, 4n].map((i) => mix((seed + step * i) & mask));
  const turn = (x, k) => ((x << k) | (x >> (64n - k))) & mask;
  const bits = () => {
    const result = (turn((s[0] + s[3]) & mask, 23n) + s[0]) & mask;
    const t = (s[1] << 17n) & mask;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = turn(s[3], 45n);
    return result;
  };
  return (n) => {
    const below = BigInt(n);
    const threshold = ((1n << 64n) - below) % below;
    for (;;) {
      const product = bits() * below;
      if ((product & mask) >= threshold) return Number(product >> 64n);
    }
  };
}
