//! Fused models: their evidence, their ledgers and their files; how a comparison makes them, and what its figures
//! promise for rows that nobody has seen.

use crate::common::Table;
use deciban::calibrate::{Affine, Calibration, Calibrator};
use deciban::explain::Order;
use deciban::family::gaussian::{Gaussian, Structure};
use deciban::folds::Folds;
use deciban::learn::{Additive, Classifier, Learner, Logistic};
use deciban::model::{CalibratedModel, Candidate, FusedModel, Member, Model, Recipe};
use deciban::numerics::Random;
use deciban::posterior::Prior;
use deciban::select::CrossValidation;

/// The first two columns tell the classes by their difference, the other two by their spread: one kind of model for
/// each.
fn rows(n: usize, seed: u64, heavy: bool) -> Table {
    let mut random = Random::new(seed);
    let row = |i: usize| {
        let class = (i % 3) as u32;
        let spread = [0.6, 1.2, 2.0][class as usize];
        let wild = if heavy && random.uniform() < 0.02 { 40.0 } else { 1.0 };
        let common = 2.0 * random.normal();
        let difference = 0.5 * f64::from(class) + 0.4 * random.normal();
        ([common, common + difference, spread * random.normal() * wild, spread * random.normal()], class)
    };
    Table::of(&(0..n).map(row).collect::<Vec<_>>())
}

fn members(table: &Table) -> Vec<Member> {
    let engine = table.memory();
    let gaussian = Model::Generative(table.fit(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() }));
    let map = Affine { bound: 1e-3, scale: 0.8, bias: vec![0.1, 0.2, -0.3] };
    let gaussian = Model::Calibrated(CalibratedModel::new(gaussian, Calibration::Affine(map)).unwrap());
    let additive = Additive { weight_decay: Some(5.0), pairs: Some(1), pair_decay: Some(30.0), ..Additive::default() };
    let models = [
        ("gaussian", 0.5, gaussian),
        ("logistic", 0.3, Model::Logistic(Logistic::default().learn(&engine).unwrap())),
        ("additive", 0.4, Model::Additive(additive.learn(&engine).unwrap())),
    ];
    models.map(|(name, weight, model)| Member { name: name.into(), weight, model }).into()
}

fn fused(table: &Table) -> Model {
    let model = Model::Fused(FusedModel::new(members(table)).unwrap());
    let offsets = Affine { bound: 0.0, scale: 1.0, bias: vec![0.05, -0.1, 0.05] };
    Model::Calibrated(CalibratedModel::new(model, Calibration::Affine(offsets)).unwrap())
}

/// Evidence and ledger are the weighted sums of the members', with and without missing cells, and the ledger adds up.
#[test]
fn a_ledger_is_the_weighted_sum_of_its_members_and_adds_up() {
    let table = rows(300, 1, true);
    let (model, members) = (fused(&table), members(&table));
    let mut gaps = table.clone();
    for (i, x) in gaps.values.iter_mut().enumerate() {
        if i % 7 < 2 {
            *x = f64::NAN;
        }
    }
    let prior = Prior::new(&[0.2, 0.3, 0.5]).unwrap();
    for table in [&table, &gaps] {
        // Logistic regression needs all cells.
        let kept: Vec<Member> = if std::ptr::eq(table, &gaps) {
            members.iter().filter(|m| m.name != "logistic").cloned().collect()
        } else {
            members.clone()
        };
        let whole = kept.len() == 3;
        let batch = table.batch();
        let plain = Model::Fused(FusedModel::new(kept.clone()).unwrap());
        let evidence = plain.evidence(&batch).unwrap();
        let mut few = vec![0.0; evidence.values().len()];
        plain.evidence_into(&batch, &mut few).unwrap();
        let ledgers = plain.explain(&batch, Order::Average).unwrap();
        let own: Vec<_> = kept.iter().map(|m| m.model.evidence(&batch).unwrap()).collect();
        for row in 0..table.rows() {
            let names: Vec<&str> = ledgers[row].entries.iter().map(|e| e.name.as_str()).collect();
            assert!((1..names.len()).all(|i| !names[..i].contains(&names[i])), "{names:?}");
            assert!(!names.contains(&"(bound)") && names.contains(&"(calibration)") && names.contains(&"a"));
            for k in 0..3 {
                let sum: f64 = kept.iter().zip(&own).map(|(m, e)| m.weight * e.row(row)[k]).sum();
                assert!((evidence.row(row)[k] - sum).abs() < 1e-12 * sum.abs().max(1.0));
                assert!((few[row * 3 + k] - sum).abs() < 1e-12 * sum.abs().max(1.0));
            }
        }
        if !whole {
            continue;
        }
        let posterior = model.evidence(&batch).unwrap().posterior(&prior);
        for (row, explanation) in model.explain(&batch, Order::Average).unwrap().iter().enumerate() {
            for (a, b) in [(0, 1), (2, 0), (1, 2)] {
                let odds = posterior.log_row(row)[a] - posterior.log_row(row)[b];
                assert!((explanation.ledger(a, b, &prior).total() - odds).abs() < 1e-9, "row {row}");
            }
        }
    }
}

#[test]
fn a_file_holds_it_whole_and_nested_fusions_are_refused() {
    let table = rows(150, 2, false);
    let model = fused(&table);
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let (a, b) = (model.evidence(&table.batch()).unwrap(), again.evidence(&table.batch()).unwrap());
    assert_eq!(a.values(), b.values());
    let Model::Fused(inner) = again.plain() else { panic!("another kind of model") };
    let said: Vec<(&str, f64)> = inner.members().iter().map(|m| (m.name.as_str(), m.weight)).collect();
    assert_eq!(said, [("gaussian", 0.5), ("logistic", 0.3), ("additive", 0.4)]);
    // The model can be learned again from its recipe, with the same weights.
    let once = Candidate::of_model("again", &model).learn(&table.memory()).unwrap();
    let (a, b) = (model.plain().evidence(&table.batch()).unwrap(), once.evidence(&table.batch()).unwrap());
    assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-5 * a.abs().max(1.0)));
    let nested = Member { name: "nested".into(), weight: 1.0, model };
    assert!(FusedModel::new(vec![nested]).unwrap_err().to_string().contains("fuse its members"));
    assert!(FusedModel::new(Vec::new()).is_err());
    for weight in [0.0, -1.0, f64::NAN] {
        let mut members = members(&table);
        members[1].weight = weight;
        assert!(FusedModel::new(members).is_err(), "{weight}");
    }
    let other = Table::of(&[([1.0], 0), ([2.0], 1), ([2.5], 0), ([0.5], 1)]);
    let mut members = members(&table);
    members[2].model = Model::Logistic(Logistic::default().learn(&other.memory()).unwrap());
    assert!(FusedModel::new(members).unwrap_err().to_string().contains("other columns or classes"));
}

fn candidates(table: &Table) -> Vec<Candidate> {
    let gaussian = table.learner(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() });
    let logistic = Recipe::Logistic(Logistic::default());
    vec![Candidate::generative("gaussian", gaussian), Candidate::new("logistic", logistic)]
}

/// The loss of a comparison is that of rows which neither members nor maps nor weights have seen, and a fusion of
/// models that know different things is better than each.
#[test]
fn fusion_wins_where_members_know_different_things() {
    let (table, fresh) = (rows(2400, 3, true), rows(6000, 4, true));
    let engine = table.memory();
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let comparison = CrossValidation::new(folds).calibrated(2).run(&engine, &candidates(&table)).unwrap();
    let best = &comparison.ranked()[0];
    assert_eq!(best.name, "fused");
    assert_eq!(best.members().iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["logistic", "gaussian"]);
    let (gain, error) = comparison.difference(&comparison.ranked()[1], best).unwrap();
    assert!(gain > 5.0 * error, "{gain} {error}");
    let model = comparison.refit(best, &candidates(&table), &engine).unwrap();
    let posterior = model.evidence(&fresh.batch()).unwrap().posterior(model.prior());
    let loss =
        (0..fresh.rows()).map(|i| -posterior.log_row(i)[fresh.labels[i] as usize]).sum::<f64>() / fresh.rows() as f64;
    assert!((loss - best.sums.log_loss()).abs() < 4.0 * best.sums.log_loss_error(), "{loss} {}", best.sums.log_loss());
    assert!(best.members().len() == 2 && best.members().iter().all(|(_, weight)| *weight > 0.1));
}

/// No member is surer than a hundredth of a row among all allows: one that calls a class impossible does not outvote the
/// others.
#[test]
fn no_member_is_surer_than_the_rows_allow() {
    let table = rows(400, 5, false);
    let engine = table.memory();
    let folds = Folds::stratified(&engine, 5, 0).unwrap();
    let comparison = CrossValidation::new(folds).calibrated(2).run(&engine, &candidates(&table)).unwrap();
    let fused = comparison.fused().unwrap();
    let model = comparison.refit(fused, &candidates(&table), &engine).unwrap();
    let Model::Fused(inner) = model.plain() else { panic!("another kind of model") };
    // |LLR| of a member ≤ ln(1 + K(1 − ε)/ε), times the slope of its map.
    let epsilon = 0.01_f64 / 400.0;
    let most = (1.0 + 3.0 * (1.0 - epsilon) / epsilon).ln();
    let far = Table::of(&[([1e6, -1e6, 1e6, 1e6], 0), ([0.0, 0.0, -1e9, 0.0], 0)]);
    for member in inner.members() {
        let Model::Calibrated(bounded) = &member.model else { panic!("no bound") };
        let Calibration::Affine(map) = bounded.calibration() else { panic!("another map") };
        assert!(map.bound >= epsilon, "{map:?}");
        let offset = map.bias.iter().fold(0.0, |most: f64, b| most.max(b.abs()));
        let evidence = member.model.evidence(&far.batch()).unwrap();
        for row in 0..2 {
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let llr = evidence.row(row)[a] - evidence.row(row)[b];
                assert!(llr.abs() <= map.scale * most + 2.0 * offset + 1e-9, "{llr}");
            }
        }
    }
}

/// Wild rows flatten a map without a bound; the bound that is chosen leaves less loss, at the price of no other row.
#[test]
fn a_bound_keeps_wild_rows_from_flattening_the_map() {
    let (table, fresh) = (rows(1500, 6, true), rows(3000, 7, true));
    let narrow = rows(1500, 6, false).fit(Gaussian { covariance: Structure::Diagonal, ..Gaussian::default() });
    let evidence = narrow.evidence(&table.batch()).unwrap();
    let loss = |bounded: bool| {
        let calibrator = Calibrator { bounded, ..Calibrator::default() };
        let map = calibrator.fit(&evidence, &table.labels, None, &table.classes).unwrap();
        let Calibration::Affine(line) = &map else { panic!("a line") };
        assert_eq!(line.bound > 0.0, bounded);
        let posterior = map.apply(&narrow.evidence(&fresh.batch()).unwrap()).unwrap().posterior(&Prior::uniform(3));
        (0..fresh.rows()).map(|i| -posterior.log_row(i)[fresh.labels[i] as usize]).sum::<f64>() / fresh.rows() as f64
    };
    let (with, without) = (loss(true), loss(false));
    assert!(with < without - 0.05, "{with} {without}");
    // Evidence that needs no bound has one that costs nothing.
    let calm = rows(1500, 8, false);
    let evidence = narrow.evidence(&calm.batch()).unwrap();
    let calibrator = Calibrator { bounded: true, ..Calibrator::default() };
    let map = calibrator.fit(&evidence, &calm.labels, None, &calm.classes).unwrap();
    assert!(matches!(map, Calibration::Affine(Affine { bound: 1e-5, .. })), "{map:?}");
}
