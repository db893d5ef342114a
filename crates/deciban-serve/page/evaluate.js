// How good decisions about labelled rows are. All sums are over rows i with evidence eᵢ, posterior pᵢ and true class tᵢ.
//
//   error      the share of rows that are decided wrongly; a reject is no mistake
//   cost       the mean cost of the decisions
//   log loss   −mean ln pᵢ(tᵢ), in nats
//   Brier      mean Σₖ (pᵢ(k) − [tᵢ = k])²
//   Cllr       the mean over classes of −mean log₂ p(tᵢ | xᵢ) under a flat prior, in bits: it does not depend on the prior
//   AUC        P(a row of the class scores above a row of the others), ties as a half

import { llr, logPosterior } from './decide.js';

/** The figures of scored rows: [{truth, evidence, posterior, action}]. */
export function evaluate(rows, costs, classes) {
  const n = rows.length;
  const mean = (value) => rows.reduce((sum, row) => sum + value(row), 0) / n;
  const confusion = Array.from({ length: classes }, () => new Array(costs.length).fill(0));
  rows.forEach(({ truth, action }) => (confusion[truth][action] += 1));
  const flat = new Array(classes).fill(1 / classes);
  const present = confusion.map((row, k) => k).filter((k) => confusion[k].some((count) => count));
  const bits = ({ truth, evidence }) => -logPosterior(evidence, flat)[truth] / Math.LN2;
  const ofClass = (k) => {
    const own = rows.filter(({ truth }) => truth === k);
    return own.reduce((sum, row) => sum + bits(row), 0) / own.length;
  };
  return {
    rows: n,
    error: mean(({ truth, action }) => (action < classes && action !== truth ? 1 : 0)),
    rejected: mean(({ action }) => (action >= classes ? 1 : 0)),
    cost: mean(({ truth, action }) => costs[action][truth]),
    logLoss: mean(({ truth, posterior }) => -Math.log(posterior[truth])),
    brier: mean(({ truth, posterior }) => posterior.reduce((sum, p, k) => sum + (p - (k === truth ? 1 : 0)) ** 2, 0)),
    // Only where every class has rows it is what the library reports.
    cllr: present.length === classes ? present.reduce((sum, k) => sum + ofClass(k), 0) / classes : NaN,
    confusion,
  };
}

/** The ROC curve of class k against the others: points [false alarms, hits], and the area below. */
export function roc(rows, k) {
  const sorted = rows.map((row) => [llr(row.evidence, k), row.truth === k]).sort((a, b) => b[0] - a[0]);
  const targets = sorted.filter(([, isTarget]) => isTarget).length;
  const others = sorted.length - targets;
  if (!targets || !others) return null;
  const points = [[0, 0]];
  let [hits, alarms, area] = [0, 0, 0];
  for (let i = 0; i < sorted.length; ) {
    const [value, before, start] = [sorted[i][0], hits, alarms];
    for (; i < sorted.length && (sorted[i][0] === value || (Number.isNaN(value) && Number.isNaN(sorted[i][0]))); i += 1) {
      if (sorted[i][1]) hits += 1;
      else alarms += 1;
    }
    area += ((alarms - start) * (hits + before)) / 2;
    points.push([alarms / others, hits / targets]);
  }
  return { points, area: area / (targets * others) };
}

/** Reliability of all stated probabilities in bins of 10 %: what was stated on average, how often it was so, how many. */
export function reliability(rows, classes) {
  const bins = Array.from({ length: 10 }, () => ({ stated: 0, hits: 0, count: 0 }));
  for (const { truth, posterior } of rows) {
    for (let k = 0; k < classes; k += 1) {
      const bin = bins[Math.min(Math.floor(10 * posterior[k]), 9)];
      if (!bin) continue;
      bin.stated += posterior[k];
      bin.hits += truth === k ? 1 : 0;
      bin.count += 1;
    }
  }
  return bins.filter(({ count }) => count).map(({ stated, hits, count }) => ({ stated: stated / count, share: hits / count, count }));
}
