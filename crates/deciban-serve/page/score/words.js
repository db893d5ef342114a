// Texts to tokens, as the model read its training texts.
//
//   word      a run of letters, digits and `_`, with the marks that belong to them
//   symbol    a run of anything else that is printed
//   n-gram    n neighbouring words, joined by one blank; or n neighbouring characters

// Accents of decomposed text, signs that kill a vowel, joiners: they go with what is before them.
const MARK = /[\u0300-\u036f\u200c\u200d\ufe00-\ufe0f\u00ad\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d]/u;
const BLANK = /[\u200b\ufeff\p{White_Space}\p{Cc}]/u;
const LETTER = /[\p{Alphabetic}\p{N}_]/u;

/** Letter by letter; the final sigma becomes a plain one, so that ΣΟΦΟΣ and σοφος are one word. */
function lowercase(text) {
  return Array.from(text, (c) => (c === 'ς' ? 'σ' : c.toLowerCase())).join('');
}

/** The runs of letters, and of symbols if they are wanted. */
function runs(text, symbols) {
  const found = [];
  let [run, running] = ['', 'blank'];
  const end = () => {
    if (running === 'word' || (symbols && running === 'symbol')) found.push(run);
  };
  for (const c of text) {
    const kind = MARK.test(c) ? running : /[\u200b\ufeff]/u.test(c) ? 'blank' : LETTER.test(c) ? 'word' : BLANK.test(c) ? 'blank' : 'symbol';
    if (kind !== running) {
      end();
      [run, running] = ['', kind];
    }
    run += c;
  }
  end();
  return found;
}

/** The tokens of a text by a tokeniser's rules. */
export function tokens(text, rules) {
  const fold = (text) => (rules.lowercase ? lowercase(text) : text);
  const [fewest, most] = rules.ngrams;
  let [units, joint] = [[], ' '];
  if (rules.characters) {
    const words = fold(text).split(/\p{White_Space}+/u).filter((word) => word);
    units = words.length ? Array.from(` ${words.join(' ')} `) : [];
    joint = '';
  } else {
    const stop = new Set(rules.stop_words.map(fold));
    const keep = (word) => Array.from(word).length >= rules.min_length && !stop.has(word);
    units = runs(fold(text), rules.symbols).filter(keep);
  }
  const found = [];
  for (let i = 0; i < units.length; i += 1) {
    for (let n = fewest; n <= Math.min(most, units.length - i); n += 1) {
      const token = units.slice(i, i + n).join(joint);
      if (token !== ' ') found.push(token);
    }
  }
  return found;
}
