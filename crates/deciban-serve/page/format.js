// Numbers for people.

const minus = (text) => text.replace('-', '−');

/** A number with about so many digits that count, never in powers of ten unless it must be. */
export function number(x, digits = 4) {
  if (x === Infinity || x === -Infinity) return x > 0 ? '∞' : '−∞';
  if (!Number.isFinite(x)) return '–';
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return minus(x.toExponential(digits - 1));
  return minus(String(Number(x.toPrecision(digits))));
}

/** Decibans with a sign and one decimal. */
export function signed(x) {
  if (!Number.isFinite(x)) return x > 0 ? '+∞' : x < 0 ? '−∞' : '–';
  const text = Math.abs(x).toFixed(Math.abs(x) >= 1000 ? 0 : 1);
  return (x < 0 && Number(text) !== 0 ? '−' : '+') + text;
}

/** A probability in per cent, with more digits near 0 and 1. */
export function percent(p) {
  if (Number.isNaN(p)) return '–';
  if (p === 0 || p === 1) return `${100 * p} %`;
  const near = Math.min(p, 1 - p);
  if (near < 1e-6) return p < 0.5 ? '< 0.0001 %' : '> 99.9999 %';
  const decimals = near >= 0.1 ? 0 : near >= 0.01 ? 1 : Math.min(4, Math.ceil(-Math.log10(near)) - 1);
  return `${(100 * p).toFixed(decimals)} %`;
}

/** Whole numbers that sum to `total`, in proportion to shares: the largest remainders are rounded up. */
export function apportion(shares, total) {
  const exact = shares.map((p) => p * total);
  const counts = exact.map(Math.floor);
  const order = exact.map((x, k) => [x - Math.floor(x), k]).sort((a, b) => b[0] - a[0]);
  const rest = Math.round(total - counts.reduce((a, b) => a + b, 0));
  for (let i = 0; i < rest; i += 1) counts[order[i % order.length][1]] += 1;
  return counts;
}

/** A probability as a natural frequency: `8 of 100`, `3 of 10,000`. */
export function frequency(p) {
  for (const total of [100, 1000, 10_000, 100_000]) {
    if (Math.min(p, 1 - p) * total >= 0.95 || p === 0 || p === 1) return `${Math.round(p * total).toLocaleString('en')} of ${total.toLocaleString('en')}`;
  }
  return p < 0.5 ? 'fewer than 1 of 100,000' : 'more than 99,999 of 100,000';
}

/** Round places for the ticks of an axis, about `wanted` of them. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}
