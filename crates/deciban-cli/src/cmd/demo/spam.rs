//! A spam filter with a dictionary of 50,000 words, in both event models: the multinomial counts
//! tokens, the Bernoulli model says of each word of the dictionary whether it is there.
//! With `--data PATH`, on the SMS spam collection: lines `label<TAB>text`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use deciban::data::{Batch, Column, Kind, Schema, Sparse};
use deciban::decision::Costs;
use deciban::evaluate::Evaluation;
use deciban::family::AnyFamily;
use deciban::family::bernoulli::Bernoulli;
use deciban::family::multinomial::Multinomial;
use deciban::learn::{Classifier, GenerativeModel};
use deciban::numerics::Random;
use deciban::text::{Tokeniser, Tokens};
use deciban::{Error, Result};

use super::{in_decibans, learn, probability};
use crate::output::say;
use deciban_tasks::table::{Table, number, percent};

const CLASSES: [&str; 2] = ["ham", "spam"];
const SPAM: usize = 1;
/// Words that tell, twenty times as frequent in one class as in the other.
const TELLING: [[&str; 8]; 2] = [
    ["home", "lunch", "love", "meeting", "sorry", "thanks", "tomorrow", "tonight"],
    ["cash", "claim", "free", "guaranteed", "offer", "prize", "urgent", "winner"],
];
/// Word 35,000 of the dictionary, which no message has: the example of Uc Cetina's lecture "Generative
/// learning models".
const NIPS: usize = 34_999;
/// What the new message says before the word that nobody has used.
const NEW: [&str; 3] = ["claim", "free", "prize"];

pub fn run(data: Option<PathBuf>) -> Result<()> {
    let mail = match &data {
        None => generated(),
        Some(path) => read(path)?,
    };
    let Mail { dictionary, train, test } = &mail;
    let mut used = vec![false; dictionary.len()];
    train.words.iter().for_each(|&word| used[word as usize] = true);
    let unused = used.iter().filter(|used| !**used).count();
    let source = if data.is_none() { "generated" } else { "real" };
    say!(
        "{} {source} messages to learn from, {} for the test, a dictionary of {} words.",
        train.labels.len(),
        test.labels.len(),
        dictionary.len()
    );
    say!("{unused} words of the dictionary are in no message that was learnt from.\n");

    let schema = mail.schema()?;
    let costs = Costs::zero_one(schema.classes());
    let mut models = Vec::new();
    let mut table =
        Table::new(["event model", "pseudo-count", "errors", "error rate", "log loss, nats", "rows with 0/0"]);
    for pseudo_count in [1.0, 0.01, 0.0] {
        let all_words = Multinomial { min_count: 0.0, pseudo_count, ..Multinomial::default() };
        for (name, family) in [
            ("multinomial", AnyFamily::Multinomial(all_words)),
            ("Bernoulli", AnyFamily::Bernoulli(Bernoulli { pseudo_count, ..Bernoulli::default() })),
        ] {
            let model = learn(&schema, train.batch()?, family)?;
            let mut e = Evaluation::new(schema.classes(), &costs);
            e.observe(&model.evidence(&test.batch()?)?.posterior(model.prior()), &test.labels, None, &costs)?;
            table.row([
                name.to_string(),
                pseudo_count.to_string(),
                number(e.errors(), 6),
                percent(e.error_rate()),
                if e.log_loss().is_finite() { format!("{:.4}", e.log_loss()) } else { "∞".into() },
                e.undefined().to_string(),
            ]);
            models.push((name, pseudo_count, model));
        }
    }
    say!("{table}");
    say!("A row with 0/0 is impossible in both classes: it gets no decision, and counts as an error.");
    let nips = (data.is_none() && !used[NIPS]).then_some(NIPS);
    match nips.or_else(|| used.iter().position(|used| !used)) {
        Some(word) => new_message(&mail, &models, word as u32),
        None => Ok(()),
    }
}

/// What a message says without and with a word of the dictionary that nobody has used.
fn new_message(mail: &Mail, models: &[(&str, f64, GenerativeModel)], unused: u32) -> Result<()> {
    let place = |word: &&str| mail.dictionary.iter().position(|known| known == word).map(|place| place as u32);
    let words: Vec<u32> = NEW.iter().filter_map(place).collect();
    let mut two = Messages::default();
    two.push(0, words.clone());
    two.push(0, [&words[..], &[unused]].concat());
    let unused = &mail.dictionary[unused as usize];
    say!("\n`{}`, and the same with `{unused}`, which no training message contains:\n", NEW.join(" "));
    let with = format!("with `{unused}`, dB");
    let mut table = Table::new(["event model", "pseudo-count", "spam, dB", "P(spam)", &with, "P(spam)"]);
    for (name, pseudo_count, model) in models {
        let evidence = model.evidence(&two.batch()?)?;
        let posterior = evidence.posterior(model.prior());
        let says = |row: usize| [in_decibans(&evidence, row, SPAM), probability(posterior.row(row)[SPAM])];
        table.row([name.to_string(), pseudo_count.to_string()].into_iter().chain(says(0)).chain(says(1)));
    }
    say!("{table}");
    say!("With pseudo-counts the word has a small probability in each class. By maximum likelihood it has none");
    say!("in either, whatever the other words say: the posterior is 0/0, and no number is made up for it.");
    Ok(())
}

/// Messages with the dictionary their words are numbered by.
struct Mail {
    dictionary: Vec<String>,
    train: Messages,
    test: Messages,
}

impl Mail {
    fn schema(&self) -> Result<Schema> {
        let text = Column { name: "text".into(), kind: Kind::Text, levels: self.dictionary.clone() };
        Schema::new(vec![text], "class", CLASSES.map(String::from).to_vec())
    }
}

/// Counts of words, message after message.
struct Messages {
    labels: Vec<u32>,
    offsets: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<u32>,
}

impl Default for Messages {
    fn default() -> Self {
        Messages { labels: Vec::new(), offsets: vec![0], words: Vec::new(), counts: Vec::new() }
    }
}

impl Messages {
    fn push(&mut self, label: u32, mut tokens: Vec<u32>) {
        tokens.sort_unstable();
        for run in tokens.chunk_by(|a, b| a == b) {
            self.words.push(run[0]);
            self.counts.push(run.len() as u32);
        }
        self.offsets.push(self.words.len());
        self.labels.push(label);
    }

    fn batch(&self) -> Result<Batch<'_>> {
        let counts = Sparse::new(&self.offsets[..], &self.words[..], &self.counts[..])?;
        Batch::new(self.labels.len()).sparse(counts)?.classes(&self.labels)
    }
}

/// 25,000 messages of about 18 words, one in four spam. Words are about as frequent as Zipf says, 1/(rank + 3)^1.25,
/// each a little more in one class than in the other, and the telling ones much more.
fn generated() -> Mail {
    const WORDS: usize = 50_000;
    let mut random = Random::new(1943);
    let mut dictionary: Vec<String> = (0..WORDS as u64).map(made_up).collect();
    dictionary[NIPS] = "nips".into();
    let mut weights: [Vec<f64>; 2] = [0, 1].map(|_| (0..WORDS).map(|rank| (rank as f64 + 3.0).powf(-1.25)).collect());
    for (class, weights) in weights.iter_mut().enumerate() {
        weights.iter_mut().for_each(|w| *w *= (0.4 * random.normal()).exp());
        for (place, word) in TELLING.iter().flatten().enumerate() {
            let own = place / TELLING[0].len() == class;
            dictionary[100 + place] = word.to_string();
            weights[100 + place] = 1.0 / if own { 10.0 } else { 200.0 };
        }
        weights[NIPS] = 0.0;
        // Running sums.
        (1..WORDS).for_each(|j| weights[j] += weights[j - 1]);
    }
    let mut message = || {
        let class = usize::from(random.uniform() < 0.25);
        let running = &weights[class];
        let length = 8 + random.below(21);
        let draw = |_| {
            let u = running[WORDS - 1] * random.uniform();
            running.partition_point(|sum| *sum < u) as u32
        };
        (class as u32, (0..length).map(draw).collect::<Vec<_>>())
    };
    let mut mail = Mail { dictionary, train: Messages::default(), test: Messages::default() };
    for i in 0..25_000 {
        let (class, words) = message();
        if i < 20_000 { mail.train.push(class, words) } else { mail.test.push(class, words) }
    }
    mail
}

/// The `i`th of words of three syllables, such as `dagosu`; no two are the same.
fn made_up(i: u64) -> String {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    let syllables = (CONSONANTS.len() * VOWELS.len()) as u64;
    // A step without a common factor visits every number once.
    let mut rest = (i * 100_003 + 7) % syllables.pow(3);
    let mut word = String::new();
    for _ in 0..3 {
        let syllable = (rest % syllables) as usize;
        word.push(CONSONANTS[syllable / VOWELS.len()] as char);
        word.push(VOWELS[syllable % VOWELS.len()] as char);
        rest /= syllables;
    }
    word
}

/// Lines `label<TAB>text`; every fifth message is for the test. The dictionary has the words of all.
fn read(path: &Path) -> Result<Mail> {
    let file = if path.is_dir() { path.join("SMSSpamCollection") } else { path.to_path_buf() };
    let bytes = std::fs::read(&file).map_err(|e| Error::io(&file, e))?;
    let mut tokens = Tokens::new(&Tokeniser::default())?;
    let mut mail = Mail { dictionary: Vec::new(), train: Messages::default(), test: Messages::default() };
    let mut known: HashMap<String, u32> = HashMap::new();
    for (i, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        let found = line.split_once('\t').and_then(|(label, text)| {
            let class = CLASSES.iter().position(|class| *class == label)?;
            Some((class as u32, text))
        });
        let Some((class, text)) = found else {
            let message =
                format!("{}, line {}: give lines of `ham` or `spam`, a tab and the text", file.display(), i + 1);
            return Err(Error::parameter("data", message));
        };
        let mut words = Vec::new();
        tokens.for_each(text, |token| {
            let next = known.len() as u32;
            words.push(*known.entry(token.to_string()).or_insert_with(|| {
                mail.dictionary.push(token.to_string());
                next
            }));
        });
        if i % 5 == 4 { mail.test.push(class, words) } else { mail.train.push(class, words) }
    }
    Ok(mail)
}
