// Fused models: Σₘ αₘ · (evidence of member m). A row's ledger is the sum of the members' ledgers, each times its
// weight, and lines of the same name are one line.

import { shown, wordLine } from './cells.js';

export class Fused {
  constructor(members, columns) {
    this.members = members;
    this.all = columns;
    this.columns = columns.map(({ name, levels }, place) => ({ name, levels, place }));
  }

  score(cells) {
    const scores = this.members.map(({ weight, model }) => model.score(cells).map((e) => weight * e));
    return scores.reduce((sum, own) => sum.map((s, k) => s + own[k]));
  }

  /** The name that a line shares with those of other members: linear ones have lines `column=level` and `column=word`. */
  shared(name, cells) {
    if (!name.includes('=') || this.all.some((column) => column.name === name)) return name;
    for (const [c, column] of this.all.entries()) {
      if (!column.levels || !name.startsWith(`${column.name}=`)) continue;
      const level = name.slice(column.name.length + 1);
      if (column.kind === 'text') return wordLine(this.all, c, level);
      if (column.levels[cells[c]] === level) return column.name;
    }
    return name;
  }

  explain(cells) {
    const lines = new Map();
    for (const { weight, model } of this.members) {
      for (const own of model.explain(cells)) {
        const entry = { ...own, name: this.shared(own.name, cells) };
        const evidence = entry.evidence.map((e) => weight * e);
        const known = lines.get(entry.name);
        if (!known) lines.set(entry.name, { ...entry, evidence });
        else {
          known.evidence = known.evidence.map((e, k) => e + evidence[k]);
          if (known.missing && !entry.missing) Object.assign(known, { missing: false, value: entry.value });
        }
      }
    }
    // Members may show bins: the line of a column shows what the cell holds.
    for (const { name, levels, place } of this.columns) {
      const line = lines.get(name);
      if (line && typeof cells[place] === 'number') line.value = shown(cells[place], levels);
    }
    const all = [...lines.values()];
    return [...all.filter(({ name }) => !name.startsWith('(')), ...all.filter(({ name }) => name.startsWith('('))];
  }
}
