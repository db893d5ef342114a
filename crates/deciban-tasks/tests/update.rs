//! Fused models that learn rows and forget them: every member against one that was learned from the same rows at once.

use std::path::Path;

use deciban::data::Schema;
use deciban::learn::{Classifier, Statistics, Summarise};
use deciban::model::{Candidate, FusedModel, Model};
use deciban::numerics::Random;
use deciban_data::{Files, Options, Target};
use deciban_tasks::{Change, Keep, Kept, Learned, Learning, Learnt, Receipt, Source, learn};

/// Rows with numbers and levels; `late` levels turn up behind the first 600.
fn rows(from: usize, to: usize) -> String {
    let mut random = Random::new(3);
    let mut text = String::from("size,pace,fur,mood,kind\n");
    for i in 0..to {
        let k = random.below(2) as usize;
        let (size, pace) = (random.normal() + k as f64, random.normal() * (1.0 + k as f64));
        let fur = ["short", "long", "curly"][(random.below(3) as usize * (1 + k)) % 3];
        let fur = if i >= 600 && random.uniform() < 0.2 { "none" } else { fur };
        let mood = if (random.uniform() < 0.5) == (size * pace > 0.0) { "calm" } else { "wild" };
        if i >= from {
            text += &format!("{size:.4},{pace:.4},{fur},{mood},{}\n", ["cat", "dog"][k]);
        }
    }
    text
}

struct Table<'a>(&'a Path);

impl Table<'_> {
    fn write(&self, name: &str, rows: &str) -> Vec<String> {
        let path = self.0.join(name);
        std::fs::write(&path, rows).unwrap();
        vec![path.display().to_string()]
    }
}

fn options() -> Options {
    Options { target: Target::Column("kind".into()), ..Options::default() }
}

fn more(paths: &[String], schema: &Schema) -> Files {
    let mut files = Files::open_more(paths, options(), schema).unwrap();
    files.make_rereadable().unwrap();
    files
}

fn fitted(paths: &[String]) -> (Learning, Learned) {
    let mut files = Files::open(paths, options()).unwrap();
    let mut request = Learning { model: "fused".into(), keep: Keep::Possible, ..Learning::default() };
    request.options.models = ["naive-bayes", "a1de", "logistic", "additive", "k-dependence"].map(String::from).to_vec();
    let learned = learn(&request, &mut files).unwrap();
    (request, learned)
}

fn fused(model: &Model) -> &FusedModel {
    match model.plain() {
        Model::Fused(fused) => fused,
        _ => panic!("not a fused model"),
    }
}

/// The largest difference of the evidence of two models for the rows of a file.
fn apart(a: &Model, b: &Model, files: &Files) -> f64 {
    let mut most = 0.0f64;
    files
        .map_in_order(
            |batch| Ok((a.evidence(batch)?, b.evidence(batch)?)),
            |(a, b)| {
                most = a.values().iter().zip(b.values()).fold(most, |most, (a, b)| most.max((a - b).abs()));
                Ok(())
            },
        )
        .unwrap();
    most
}

fn how(receipt: &Receipt) -> Vec<Learnt> {
    receipt.members.iter().map(|member| member.learned).collect()
}

#[test]
fn members_follow_exactly_or_are_refitted() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table(folder.path());
    let (old, new) = (table.write("old.csv", &rows(0, 600)), table.write("new.csv", &rows(600, 800)));
    let all = table.write("all.csv", &rows(0, 800));
    let (request, learned) = fitted(&old);
    let source = Source::new(&request, &learned);
    let kept = Kept { model: learned.model, source };
    // Through a file and back.
    let kept = Kept::from_bytes(&kept.to_bytes().unwrap()).unwrap();
    let source = kept.source().unwrap();
    let change = source.summarise(&more(&new, source.statistics().schema())).unwrap();

    // Without the other rows, members that learn from rows stay as they were.
    let (left, receipt) = kept.changed(Change::Update, std::slice::from_ref(&change)).unwrap().finish().unwrap();
    assert!(how(&receipt).contains(&Learnt::Nothing) && how(&receipt).contains(&Learnt::Statistics));
    assert_eq!(receipt.columns[0].new, ["none"]);
    let files = more(&all, left.model.schema());
    let members = || fused(&kept.model).members().iter().zip(fused(&left.model).members()).zip(how(&receipt));
    for ((before, after), how) in members() {
        assert_eq!((&before.name, before.weight), (&after.name, after.weight));
        let expected = match how {
            Learnt::Nothing => before.model.clone(),
            _ => {
                // The same member, fitted from the pooled rows with the recorded bins.
                let Model::Generative(plain) = before.model.plain() else { panic!("{}", before.name) };
                let blocks = plain.blocks().iter().map(|fitted| fitted.block.clone()).collect();
                let pooled = Statistics::collect(Summarise { blocks, folds: 1, seed: 0 }, &files).unwrap();
                Candidate::of_model("", before.model.plain()).recipe.of_statistics(&pooled).unwrap()
            }
        };
        let after = if how == Learnt::Nothing { &after.model } else { after.model.plain() };
        let off = apart(&expected, after, &files);
        assert!(off < 1e-9, "{}: {off}", before.name);
    }
    assert!(left.model.learned_from() == 800.0 && left.model.prior() == left.model.empirical());
    let counts = [0, 1].map(|k| change.summary().rows()[k] + source.statistics().summary().rows()[k]);
    assert!((left.model.prior().probabilities()[0] - counts[0] / 800.0).abs() < 1e-12);

    // With them, these members are what a fresh fit from all rows gives.
    let changed = kept.changed(Change::Update, std::slice::from_ref(&change)).unwrap();
    let (both, receipt) = changed.with_rows(&files).unwrap().finish().unwrap();
    assert!(!how(&receipt).contains(&Learnt::Nothing) && how(&receipt).contains(&Learnt::Rows(800.0)));
    for ((before, after), how) in
        fused(&kept.model).members().iter().zip(fused(&both.model).members()).zip(how(&receipt))
    {
        if how != Learnt::Statistics {
            let fresh = Candidate::of_model("", before.model.plain()).learn(&files).unwrap();
            assert_eq!(apart(&fresh, after.model.plain(), &files), 0.0, "{}", before.name);
        }
    }

    // Forgetting needs the rows that stay, and gives the first model back.
    let refused = both.changed(Change::Forget, std::slice::from_ref(&change)).unwrap().finish().unwrap_err();
    assert!(
        refused.to_string().contains("would still know the forgotten rows: give rows, all rows that stay"),
        "{refused}"
    );
    let changed = both.changed(Change::Forget, std::slice::from_ref(&change)).unwrap();
    assert!(changed.schema().columns()[2].levels.iter().all(|level| level != "none"));
    let rest = more(&old, changed.schema());
    let (again, receipt) = changed.with_rows(&rest).unwrap().finish().unwrap();
    assert_eq!(receipt.columns[0].gone, ["none"]);
    assert!(receipt.remarks.iter().any(|remark| remark.starts_with("the weights of the members stay as they were")));
    let off = apart(&kept.model, &again.model, &rest);
    assert!(off < 1e-7, "{off}");
    assert!(!again.to_bytes().unwrap().windows(4).any(|bytes| bytes == b"none"));
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table(folder.path());
    let old = table.write("old.csv", &rows(0, 600));
    let (request, learned) = fitted(&old);
    let source = Source::new(&request, &learned);
    let kept = Kept { model: learned.model, source };
    let before = kept.to_bytes().unwrap();
    let source = kept.source().unwrap();
    let summarised = |text: &str| {
        let paths = table.write("some.csv", &format!("size,pace,fur,mood,kind\n{text}"));
        source.summarise(&more(&paths, source.statistics().schema())).unwrap()
    };
    let error = |change: Change, text: &str| kept.changed(change, &[summarised(text)]).unwrap_err().to_string();
    let strange = error(Change::Forget, "0,0,none,calm,cat\n");
    assert_eq!(strange, "column `fur` has no `none` to remove rows from");
    let many = "0,0,short,calm,cat\n".repeat(500);
    assert!(error(Change::Forget, &many).starts_with("cannot remove 500 rows of class `cat`"));
    let class = error(Change::Update, "0,0,short,calm,hare\n");
    assert!(
        class.starts_with("class `hare` is new, and the weights and offsets of the fusion were learned"),
        "{class}"
    );
    // All other rows, not some of them.
    let changed = kept.changed(Change::Update, &[summarised("0,0,short,calm,cat\n")]).unwrap();
    let few = more(&table.write("few.csv", &rows(0, 20)), source.statistics().schema());
    let error = changed.with_rows(&few).unwrap_err().to_string();
    assert!(error.contains("give all rows that it has learned from before"), "{error}");
    assert!(kept.to_bytes().unwrap() == before);
    // Statistics of several members are not those of one model.
    assert!(source.single().unwrap_err().to_string().contains("give tables of rows"));
}

/// A search may find a single model that learns from rows.
#[test]
fn models_that_learn_from_rows_follow_with_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table(folder.path());
    let (old, new) = (table.write("old.csv", &rows(0, 600)), table.write("new.csv", &rows(600, 800)));
    let all = table.write("all.csv", &rows(0, 800));
    let mut request = Learning { keep: Keep::Possible, ..Learning::default() };
    request.options.models = vec!["logistic".into()];
    let learned = learn(&request, &mut Files::open(&old, options()).unwrap()).unwrap();
    let source = Source::new(&request, &learned);
    let kept = Kept { model: learned.model, source };
    let source = kept.source().unwrap();
    let change = source.summarise(&more(&new, source.statistics().schema())).unwrap();
    let error = kept.changed(Change::Update, std::slice::from_ref(&change)).unwrap().finish().unwrap_err().to_string();
    assert!(error.contains("`logistic` learns from rows and cannot learn from statistics"), "{error}");
    let changed = kept.changed(Change::Update, std::slice::from_ref(&change)).unwrap();
    let files = more(&all, changed.schema());
    let (both, receipt) = changed.with_rows(&files).unwrap().finish().unwrap();
    assert_eq!((how(&receipt), &receipt.columns[0].new), (vec![Learnt::Rows(800.0)], &vec!["none".to_string()]));
    let fresh = Candidate::of_model("", kept.model.plain()).learn(&files).unwrap();
    assert_eq!(apart(&fresh, both.model.plain(), &files), 0.0);
    let changed = both.changed(Change::Forget, std::slice::from_ref(&change)).unwrap();
    let rest = more(&old, changed.schema());
    let (again, _) = changed.with_rows(&rest).unwrap().finish().unwrap();
    assert!(apart(&kept.model, &again.model, &rest) < 1e-7);
    // Of numbers alone there are no levels to count.
    let options = Options { ignore: vec!["fur".into(), "mood".into()], ..options() };
    let learned = learn(&request, &mut Files::open(&old, options).unwrap()).unwrap();
    let source = Source::new(&request, &learned);
    let kept = Kept::from_bytes(&Kept { model: learned.model, source }.to_bytes().unwrap()).unwrap();
    assert_eq!(kept.source().unwrap().statistics().summary().rows().iter().sum::<f64>(), 600.0);
}

/// A mixture tells how many components it was asked for.
#[test]
fn mixtures_are_learned_again_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let paths = Table(folder.path()).write("rows.csv", &rows(0, 600));
    let options = Options { ignore: vec!["fur".into(), "mood".into()], ..options() };
    let mut files = Files::open(&paths, options).unwrap();
    let mut request = Learning { model: "gaussian".into(), ..Learning::default() };
    request.options.components = deciban::learn::Count::Fixed(3);
    let model = learn(&request, &mut files).unwrap().model;
    let again = Candidate::of_model("", &model).learn(&files).unwrap();
    assert_eq!(apart(&model, &again, &files), 0.0);
    let Model::Generative(again) = &again else { panic!("another kind of model") };
    assert_eq!(again.components().of_class(0).len(), 3);
}
