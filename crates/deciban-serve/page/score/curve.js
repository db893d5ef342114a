// Monotone maps that make each column standard normal: piecewise linear through knots (xᵢ, yᵢ), and beyond the ends
// with the mean slope of the outer 5 % of the knots. p(x) = p(y(x)) Π dyⱼ/dxⱼ.

import { doubles } from './numbers.js';

const clamp = (x) => Math.min(Math.max(x, -Number.MAX_VALUE), Number.MAX_VALUE);

function line(at, a, b) {
  const [dx, dy] = [Math.min(b[0] - a[0], Number.MAX_VALUE), b[1] - a[1]];
  return { y: (x) => at[1] + dy * (clamp(x - at[0]) / dx), logSlope: Math.log(dy) - Math.log(dx) };
}

function linesThrough(knots) {
  const n = knots.length;
  if (n === 0) return [line([0, 0], [0, 0], [1, 1])];
  if (n === 1) return [line(knots[0], [0, 0], [1, 1]), line(knots[0], [0, 0], [1, 1])];
  const outer = Math.min(Math.max(Math.ceil(n / 20), 3), n - 1);
  const between = knots.slice(1).map((knot, i) => line(knots[i], knots[i], knot));
  const [first, last] = [knots[0], knots[n - 1]];
  return [line(first, first, knots[outer]), ...between, line(last, knots[n - 1 - outer], last)];
}

export class Curves {
  constructor({ json, arrays }) {
    const [x, y] = [doubles(arrays.x), doubles(arrays.y)];
    let start = 0;
    this.columns = json.it.map((count) => {
      const knots = Array.from({ length: count }, (_, i) => [x[start + i], y[start + i]]);
      start += count;
      return { x: knots.map((knot) => knot[0]), lines: linesThrough(knots) };
    });
  }

  /** The mapped cells of a row, and Σ ln dy/dx of those that are there. */
  apply(cells) {
    let logJacobian = 0;
    const mapped = cells.map((cell, j) => {
      if (Number.isNaN(cell)) return cell;
      const { x, lines } = this.columns[j];
      let [low, high] = [0, x.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (x[middle] <= cell) low = middle + 1;
        else high = middle;
      }
      logJacobian += lines[low].logSlope;
      return lines[low].y(cell);
    });
    return { mapped, logJacobian };
  }
}
