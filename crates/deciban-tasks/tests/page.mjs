// Compares the page's scorer with what the library said of the same rows: `node page.mjs CASES.json`.

import { readFileSync } from 'node:fs';

const page = new URL('../../deciban-serve/page/', import.meta.url);
const { Model } = await import(new URL('score/model.js', page));
const { cleaned, parse, places } = await import(new URL('csv.js', page));

const { logPosterior } = await import(new URL('decide.js', page));

// However large the numbers are, posteriors add up to 1, and what all classes share leaves the prior.
const prior = [0.7, 0.2, 0.1, 0];
for (const constant of [-1, -5e15, 1e17, -1e300, -Number.MAX_VALUE]) {
  const posterior = logPosterior(prior.map(() => constant), prior).map(Math.exp);
  if (posterior.some((p, k) => !(Math.abs(p - prior[k]) < 4 * Number.EPSILON))) {
    console.log(`evidence of ${constant}: posterior ${posterior}`);
    process.exit(1);
  }
}

const TOLERANCE = 1e-12;
// What columns say are differences of evidence, averaged over orders.
const EXPLAINED = 1e-10;

const value = (x) => (x === 'inf' ? Infinity : x === '-inf' ? -Infinity : x === null ? NaN : x);
const apart = (a, b, scale) => (a === b ? 0 : Math.abs(a - b) / scale);
// Maps and weights mix the classes of a row, so that rounding is relative to the largest of its numbers.
const largest = (row) => Math.max(1, ...row.map(value).filter(Number.isFinite).map(Math.abs));

let [failures, rows, worst] = [0, 0, 0];
const cases = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for (const { data, csv, evidence, explanations, densities } of cases) {
  const model = new Model(data);
  const [header, ...records] = parse(csv);
  const at = places(header, data);
  const cells = records.map((record) => model.read(at.map((place) => cleaned(record[place], data))));
  const sums = (entries) => {
    const said = new Map();
    for (const { name, evidence, missing } of entries) {
      const before = said.get(name) ?? evidence.map(() => 0);
      said.set(name, evidence.map((e, k) => before[k] + (missing ? 0 : value(e))));
    }
    return said;
  };
  let [most, mostSaid] = [0, 0];
  const note = (what, off, limit, row) => {
    if (off <= limit) return;
    failures += 1;
    if (failures < 20) console.log(`${data.name}: row ${row + 1}: ${what} off by ${off}`);
  };
  evidence.forEach((row, i) => {
    const own = model.evidence(cells[i]);
    const off = Math.max(...row.map((e, k) => (Number.isNaN(own[k]) ? Infinity : apart(value(e), own[k], largest(row)))));
    note(`evidence ${own} and not ${row}`, off, TOLERANCE, i);
    most = Math.max(most, off);
  });
  if (!densities !== !data.density) note('who describes rows', Infinity, 0, 0);
  densities?.forEach((row, i) => {
    const own = model.logDensities(cells[i]);
    const off = Math.max(...row.map((e, k) => (Number.isNaN(own[k]) ? Infinity : apart(value(e), own[k], largest(row)))));
    note(`log densities ${own} and not ${row}`, off, TOLERANCE, i);
  });
  explanations.forEach((entries, i) => {
    const [theirs, own] = [sums(entries), sums(model.explain(cells[i]))];
    // Rounding is relative to the largest line: a small one is the difference of large scores.
    const scale = Math.max(1, ...[...theirs.values()].flat().filter(Number.isFinite).map(Math.abs));
    // A line that one of them leaves out says nothing.
    const nothing = data.classes.map(() => 0);
    for (const name of new Set([...theirs.keys(), ...own.keys()])) {
      const [said, same] = [theirs.get(name) ?? nothing, own.get(name) ?? nothing];
      const off = Math.max(...said.map((x, k) => (x === same[k] ? 0 : Math.abs(x - same[k]) / scale)));
      note(`\`${name}\` says ${same} and not ${said},`, Number.isNaN(off) ? Infinity : off, EXPLAINED, i);
      mostSaid = Math.max(mostSaid, off);
    }
  });
  rows += evidence.length;
  worst = Math.max(worst, most);
  console.log(`${most.toExponential(1)} ${mostSaid.toExponential(1)}  ${data.name}`);
}
console.log(`${cases.length} models, ${rows} rows: evidence off by at most ${worst.toExponential(1)}`);
process.exit(failures ? 1 : 0);
