// Numbers that are cut into bins: cuts c₁ < … < c_B₋₁ make the bins x < c₁, c₁ ≤ x < c₂, …, x ≥ c_B₋₁.

import { doubles } from './numbers.js';

/** The bin of a number: how many cuts are not above it. */
export function binOf(cuts, x) {
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What the bins are called. */
export function binNames(cuts) {
  if (cuts.length === 0) return ['any'];
  const name = (bin) => (bin === 0 ? `<${cuts[0]}` : bin === cuts.length ? `>=${cuts[bin - 1]}` : `${cuts[bin - 1]}..${cuts[bin]}`);
  return Array.from({ length: cuts.length + 1 }, (_, bin) => name(bin));
}

/** The cuts of each column, null for one that is not cut; a file has them with the outer edges around them. */
export function cutsOf(lengths, edges) {
  const all = Array.from(doubles(edges));
  let start = 0;
  return lengths.map((n) => {
    const own = all.slice(start, start + n);
    start += n;
    return n === 0 ? null : own.slice(1, -1);
  });
}
