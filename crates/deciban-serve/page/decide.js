// From evidence to a decision.
//
//   posterior  pₖ ∝ πₖ p(x | k)
//   decision   the action a with the least expected cost Σₖ C[a][k] pₖ
//   ledger     prior odds + what each feature says = posterior odds, all as logarithms

import { decibans, logShares, logSumExp } from './score/numbers.js';

/** ln p(class | x), from the evidence in nats and a prior; NaN where no class is possible. */
export function logPosterior(evidence, prior) {
  // What all classes share is taken away first: beside a large number the prior would be lost.
  const most = evidence.reduce((most, e, k) => (prior[k] > 0 ? Math.max(most, e) : most), -Infinity);
  return logShares(evidence.map((e, k) => (prior[k] > 0 ? e - most + Math.log(prior[k]) : -Infinity)));
}

/** ln p(x | k) − ln mean_{j≠k} p(x | j): the evidence for class k against the others, each of them counting alike. */
export function llr(evidence, k) {
  const others = evidence.filter((_, j) => j !== k);
  const most = Math.max(...others);
  // If both are impossible, the row has no evidence about this class.
  if (most === -Infinity) return evidence[k] === -Infinity ? 0 : Infinity;
  const sum = others.reduce((sum, e) => sum + Math.exp(e - most), 0);
  return evidence[k] - most - Math.log(sum / others.length);
}

/** ln p(x) = ln Σ πₖ p(x | k). */
export const logDensity = (evidence, prior) => logSumExp(evidence.map((e, k) => e + Math.log(prior[k])));

/** The expected cost of each action, of costs as `actionCosts` has them: a row for each action. 0·∞ is 0. */
export const expectedCosts = (costs, posterior) =>
  costs.map((row) => row.reduce((sum, c, k) => (posterior[k] > 0 ? sum + c * posterior[k] : sum), 0));

/** The action of least expected cost, the first of equals. */
export function best(costs, posterior) {
  const expected = expectedCosts(costs, posterior);
  const action = expected.reduce((least, cost, a) => (cost < expected[least] ? a : least), 0);
  return { action, expected };
}

/** 0 for the right class and 1 for every other. */
export const zeroOne = (classes) => Array.from({ length: classes }, (_, a) => Array.from({ length: classes }, (_, k) => (a === k ? 0 : 1)));

/** Whether a number is a cost. */
export const isCost = (cost) => Number.isFinite(cost) && cost >= 0;

/**
 * The costs of all actions, a row for each: those of the classes, and a reject if there is one. The state has them as
 * people see them, a row for each true class.
 */
export function actionCosts({ costs, reject }) {
  const byAction = costs.map((_, a) => costs.map((row) => row[a]));
  return reject === null ? byAction : [...byAction, costs.map(() => reject)];
}

/**
 * The ledger for class a over class b, or over all others where b is null: the prior odds and what each entry of an
 * explanation says, in decibans. Against several classes an entry is the mean of what it says against each, weighted by
 * logarithmic means of the shares before and after the row (Sato 1976, Vartia 1976), so that it adds up.
 */
export function ledger(entries, a, b, prior) {
  if (b !== null) {
    const lines = entries.map((entry) => ({ ...entry, decibans: decibans(entry.evidence[a] - entry.evidence[b]) }));
    return finished(decibans(Math.log(prior[a]) - Math.log(prior[b])), lines);
  }
  const others = prior.map((_, k) => k).filter((k) => k !== a);
  const before = others.map((k) => Math.log(prior[k]));
  const after = others.map((k, i) => before[i] + entries.reduce((sum, entry) => sum + entry.evidence[k], 0));
  const weights = mixtureWeights(before, after);
  const says = ({ evidence }) => others.reduce((sum, k, i) => (weights[i] > 0 ? sum + weights[i] * (evidence[a] - evidence[k]) : sum), 0);
  return finished(decibans(Math.log(prior[a]) - logSumExp(before)), entries.map((entry) => ({ ...entry, decibans: decibans(says(entry)) })));
}

function finished(prior, lines) {
  const features = lines.filter((line) => !line.missing);
  const total = features.reduce((sum, line) => sum + line.decibans, prior);
  return { prior, features, missing: lines.filter((line) => line.missing).map((line) => line.name), total };
}

/**
 * What columns say where each has half of what its pairs say, which is the Shapley value of the column. `names` are those
 * of the columns; a pair is called `a × b`.
 */
export function byColumn(features, names) {
  const known = new Set(names);
  const split = (name) => {
    const words = known.has(name) ? [] : name.split(' × ');
    const sides = words.slice(1).map((_, i) => [words.slice(0, i + 1).join(' × '), words.slice(i + 1).join(' × ')]);
    return sides.find((pair) => pair.every((side) => known.has(side)));
  };
  const shares = new Map();
  const lines = [];
  for (const line of features) {
    const pair = split(line.name);
    if (!pair) lines.push(line);
    for (const name of pair ?? []) {
      const { count, sum } = shares.get(name) ?? { count: 0, sum: 0 };
      shares.set(name, { count: count + 1, sum: sum + line.decibans / 2 });
    }
  }
  const named = new Set(lines.map(({ name }) => name));
  // A column that says nothing alone still has its pairs.
  for (const name of shares.keys()) if (!named.has(name)) lines.push({ name, value: '', decibans: 0 });
  return lines.map((line) => {
    const own = shares.get(line.name);
    return own ? { ...line, name: `${line.name} and ${own.count} pair${own.count > 1 ? 's' : ''}`, decibans: line.decibans + own.sum } : line;
  });
}

function mixtureWeights(before, after) {
  const [s, t] = [logShares(before), logShares(after)];
  if (t.some(Number.isNaN)) return s.map(Math.exp);
  const means = s.map((x, i) => logarithmicMean(x, t[i]));
  const total = means.reduce((a, b) => a + b, 0);
  return means.map((mean) => mean / total);
}

/** (s − t)/(ln s − ln t), from ln s and ln t. */
function logarithmicMean(s, t) {
  const [larger, d] = [Math.max(s, t), Math.abs(s - t)];
  if (d === 0) return Math.exp(larger);
  return larger === -Infinity ? 0 : (Math.exp(larger) * -Math.expm1(-d)) / d;
}

/**
 * Which action is best at which odds of a over b (or over all others), in decibans: [{from, to, action}]. The other
 * classes keep their posterior. With s the part of a, each expected cost is a line in s, and the best ones are the lower
 * envelope of these lines.
 */
export function bestAlongOdds(costs, posterior, a, b) {
  const others = posterior.map((_, k) => k).filter((k) => k !== a);
  const against = b === null ? others : [b];
  const mass = posterior[a] + against.reduce((sum, k) => sum + posterior[k], 0);
  const rest = mass - posterior[a];
  // Where b is ruled out it still has all of what is against a.
  const share = (k) => (rest > 0 ? posterior[k] / rest : 1 / against.length);
  const at = (s) => posterior.map((p, k) => (k === a ? mass * s : against.includes(k) ? mass * (1 - s) * share(k) : p));
  const [low, high] = [expectedCosts(costs, at(0)), expectedCosts(costs, at(1))];
  const cost = (action, s) => low[action] * (1 - s) + high[action] * s;
  const crossings = new Set([0, 1]);
  for (let i = 0; i < costs.length; i += 1) {
    for (let j = 0; j < i; j += 1) {
      const slope = high[i] - low[i] - (high[j] - low[j]);
      const s = (low[j] - low[i]) / slope;
      if (s > 0 && s < 1) crossings.add(s);
    }
  }
  const odds = (s) => decibans(Math.log(s) - Math.log1p(-s));
  const places = [...crossings].sort((x, y) => x - y);
  const segments = [];
  for (let i = 0; i + 1 < places.length; i += 1) {
    const middle = (places[i] + places[i + 1]) / 2;
    const action = costs.reduce((least, _, j) => (cost(j, middle) < cost(least, middle) - 1e-15 ? j : least), 0);
    const last = segments[segments.length - 1];
    if (last?.action === action) last.to = odds(places[i + 1]);
    else segments.push({ from: odds(places[i]), to: odds(places[i + 1]), action });
  }
  return segments;
}

/** The two classes that the evidence supports most, before any prior. */
export function twoBest(evidence) {
  const order = evidence.map((_, k) => k).sort((i, j) => evidence[j] - evidence[i]);
  return [order[0], order[1]];
}
