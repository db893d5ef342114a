// Functions of numbers that the densities share, and arrays of doubles as a model file holds them.

/** The doubles of an array that the model's data hold: little-endian, in base64. */
export function doubles({ base64 }) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

/** ln Σ exp(xᵢ), with the maximum taken out. */
export function logSumExp(x) {
  const most = x.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(most)) return most;
  let sum = 0;
  for (const term of x) sum += Math.exp(term - most);
  return most + Math.log(sum);
}

/**
 * The logarithms of the shares of weights, from those of the weights. The maximum is taken out first: x − ln Σ exp would
 * lose the logarithm of the sum where x is large, and three weights of e^1e17 would have the share 1 each. Where all
 * weights are 0 their shares are 0/0, and NaN.
 */
export function logShares(x) {
  const most = x.reduce((a, b) => Math.max(a, b), -Infinity);
  const relative = x.map((term) => term - most);
  const total = Math.log(relative.reduce((sum, term) => sum + Math.exp(term), 0));
  return relative.map((term) => term - total);
}

/** ln(1 + eᶻ), without overflow. */
export function softplus(z) {
  return Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
}

/** 10 log₁₀ of what x is the natural logarithm of. */
export function decibans(x) {
  return (10 / Math.LN10) * x;
}

/** What Stirling's formula leaves for x ≥ 10: ½ ln 2πx + 1/12x − 1/360x³ + … */
function stirlingSeries(x) {
  const t = 1 / (x * x);
  const c = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156];
  return 0.5 * Math.log(2 * Math.PI * x) + c.reduceRight((sum, c) => sum * t + c, 0) / x;
}

/** ln Γ(x) for x > 0: ln Γ(x) = ln Γ(x + n) − ln x(x + 1)…(x + n − 1), with x + n ≥ 10. */
export function lnGamma(x) {
  let [y, product] = [x, 1];
  for (; y < 10; y += 1) product *= y;
  // Γ(y) = Γ(y + 1)/y
  return y * Math.log(y) - y + stirlingSeries(y) - Math.log(y) - Math.log(product);
}

/** r(x) = ln Γ(x + 1) − x ln x + x, for x ≥ 0. */
export function stirlingRest(x) {
  if (x === 0) return 0;
  return x < 10 ? lnGamma(x + 1) - x * Math.log(x) + x : stirlingSeries(x);
}

/** a/b − 1 − ln(a/b) ≥ 0. */
export function itakuraSaito(a, b) {
  const u = (a - b) / b;
  return Math.abs(u) > 0.3 ? a / b - 1 - Math.log(a / b) : lessLn1p(u);
}

/** u − ln(1 + u), with all its digits also where u is small. */
export function lessLn1p(u) {
  if (Math.abs(u) > 0.3) return u - Math.log1p(u);
  // ln(1 + u) = 2 artanh r with r = u/(2 + u), so that u − ln(1 + u) = ru − 2r(y/3 + y²/5 + …), y = r².
  const r = u / (2 + u);
  const y = r * r;
  let series = 0;
  for (let i = 11; i >= 0; i -= 1) series = series * y + 1 / (2 * i + 3);
  return r * u - 2 * r * y * series;
}

/** erfc(x), by the series of erf near 0 and by a continued fraction beyond. */
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x < 1.5) {
    let [term, sum] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-18 * sum; n += 1) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * sum;
  }
  // e^(−x²)/√π · 1/(x + ½/(x + 1/(x + 3⁄2/(x + …))))
  let fraction = x;
  for (let n = 150; n > 0; n -= 1) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}

/** ln Φ(x) of the standard normal distribution. */
export function lnNormalCdf(x) {
  if (x > -1) return Math.log1p(-0.5 * erfc(x * Math.SQRT1_2));
  if (x > -30) return Math.log(0.5 * erfc(-x * Math.SQRT1_2));
  if (x === -Infinity) return x;
  const t = 1 / (x * x);
  const series = -t * (1 - t * (3 - t * (15 - t * (105 - t * (945 - t * 10395)))));
  return -0.5 * x * x - Math.log(-x) - 0.5 * Math.log(2 * Math.PI) + Math.log1p(series);
}
