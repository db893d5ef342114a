//! The shares of the classes among rows without labels: the best ones, and intervals that hold.

use deciban::evaluate::{Interval, Scored};
use deciban::evidence::Evidence;
use deciban::numerics::Random;
use deciban::proportions::{estimate, maximum_likelihood};

/// Rows of Gaussians of variance 1 at 0, `apart`, 2 `apart`, ...; the true shares fall.
fn rows(count: usize, classes: usize, apart: f64, seed: u64) -> Evidence {
    let mut random = Random::new(seed);
    let shares: Vec<f64> = (0..classes).map(|k| 1.0 / (1.0 + k as f64)).collect();
    let mut row = |_| {
        let x = apart * random.pick(&shares) as f64 + random.normal();
        (0..classes).map(|k| -0.5 * (x - apart * k as f64).powi(2)).collect::<Vec<_>>()
    };
    Evidence::new(classes, (0..count).flat_map(&mut row).collect()).unwrap()
}

/// The mean over rows of p(x | k)/Σⱼ πⱼ p(x | j) for each class.
fn ratios(evidence: &Evidence, shares: &[f64]) -> Vec<f64> {
    let mut mean = vec![0.0; shares.len()];
    for i in 0..evidence.rows() {
        let most = evidence.row(i).iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let l: Vec<f64> = evidence.row(i).iter().map(|e| (e - most).exp()).collect();
        let p: f64 = l.iter().zip(shares).map(|(l, p)| l * p).sum();
        mean.iter_mut().zip(&l).for_each(|(m, l)| *m += l / p / evidence.rows() as f64);
    }
    mean
}

#[test]
fn the_best_shares_are_found_quickly_and_the_likelihood_never_falls() {
    for (classes, apart) in [(2, 0.3), (2, 4.0), (3, 1.0), (5, 2.0), (8, 0.5), (20, 1.0)] {
        for seed in 0..4 {
            let evidence = rows(5000, classes, apart, seed);
            let found = maximum_likelihood(&evidence, None).unwrap();
            assert!(found.log_likelihoods.is_sorted(), "{:?}", found.log_likelihoods);
            assert!(found.log_likelihoods.len() < 40, "{classes} {apart}: {}", found.log_likelihoods.len());
            for (p, h) in found.shares.iter().zip(ratios(&evidence, &found.shares)) {
                assert!(h <= 1.0 + 1e-10 && p * (1.0 - h).abs() < 1e-10, "{classes} {apart}: {p} {h}");
            }
        }
    }
}

#[test]
fn plain_em_comes_to_the_same_shares() {
    let evidence = rows(2000, 3, 2.0, 7);
    let mut shares = vec![1.0 / 3.0; 3];
    for _ in 0..3000 {
        let mean = ratios(&evidence, &shares);
        shares.iter_mut().zip(&mean).for_each(|(p, h)| *p *= h);
    }
    let found = maximum_likelihood(&evidence, None).unwrap().shares;
    assert!(shares.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-10), "{shares:?} {found:?}");
}

#[test]
fn a_class_without_rows_has_exactly_nothing() {
    let sure = Evidence::new(3, [[0.0, -9.0, -30.0], [-8.0, 0.0, -40.0]].concat()).unwrap();
    assert_eq!(maximum_likelihood(&sure, None).unwrap().shares[2], 0.0);
    // Rows that are possible under one class alone keep it, whatever the others say.
    let never = f64::NEG_INFINITY;
    let only = Evidence::new(2, vec![0.0, never, 0.0, never, 0.0, never, never, 0.0]).unwrap();
    let shares = maximum_likelihood(&only, None).unwrap().shares;
    assert!((shares[1] - 0.25).abs() < 1e-14, "{shares:?}");
    // Its interval is that of no row in as many.
    let alone: Vec<f64> = (0..500).flat_map(|_| [0.0, -50.0]).collect();
    let found = estimate(&Evidence::new(2, alone).unwrap(), None, None, 0.95).unwrap();
    assert!(found.shares[1] < 1e-12 && found.intervals[1].low == 0.0, "{found:?}");
    assert!((0.004..0.012).contains(&found.intervals[1].high), "{found:?}");
}

#[test]
fn weights_are_copies_and_impossible_rows_are_left_out() {
    let never = f64::NEG_INFINITY;
    let once = Evidence::new(2, vec![0.0, 1.0, 0.5, -1.0, never, never]).unwrap();
    let copies = Evidence::new(2, vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5, -1.0]).unwrap();
    let a = maximum_likelihood(&once, Some(&[3.0, 1.0, 9.0])).unwrap();
    let b = maximum_likelihood(&copies, None).unwrap();
    assert!((a.shares[1] - b.shares[1]).abs() < 1e-12 && a.impossible == 1);
    assert!(maximum_likelihood(&Evidence::new(2, vec![never, never]).unwrap(), None).is_err());
}

#[test]
fn classes_that_nothing_tells_apart_do_no_harm() {
    let evidence = Evidence::new(3, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, -1.0]].concat()).unwrap();
    let found = maximum_likelihood(&evidence, None).unwrap();
    assert!((found.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.log_likelihoods.is_sorted());
    let alike = estimate(&Evidence::new(2, vec![0.0; 20]).unwrap(), None, None, 0.95).unwrap();
    assert_eq!(alike.intervals[0], Interval { low: 0.0, high: 1.0 });
}

/// Rows of unit Gaussians, and evidence that is `factor` times as sure as it should be.
fn scores(counts: &[usize], factor: f64, random: &mut Random) -> (Evidence, Vec<u32>) {
    let (mut values, mut truth) = (Vec::new(), Vec::new());
    for (class, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            let x = 1.5 * class as f64 + random.normal();
            values.extend((0..counts.len()).map(|k| -0.5 * factor * (x - 1.5 * k as f64).powi(2)));
            truth.push(class as u32);
        }
    }
    (Evidence::new(counts.len(), values).unwrap(), truth)
}

/// How many of 400 intervals hold the share of the second class, and the mean share.
fn coverage(factor: f64, labelled: bool, shares: &[f64], rows: usize) -> (f64, f64) {
    let mut random = Random::new(3);
    let (mut held, mut sum) = (0.0, 0.0);
    for _ in 0..400 {
        let mut counts = vec![0; shares.len()];
        (0..rows).for_each(|_| counts[random.pick(shares)] += 1);
        let (evidence, _) = scores(&counts, factor, &mut random);
        let mut known = Scored::new(shares.len()).unwrap();
        let (labels, truth) = scores(&vec![300; shares.len()], factor, &mut random);
        known.append(&labels, &truth, None).unwrap();
        let found = estimate(&evidence, None, labelled.then_some(&known), 0.95).unwrap();
        held += f64::from(u8::from(found.intervals[1].low <= shares[1] && shares[1] <= found.intervals[1].high));
        sum += found.shares[1];
    }
    (held / 400.0, sum / 400.0)
}

/// With labelled rows they are a little too wide, since some of these are taken for strangers.
#[test]
fn intervals_hold_the_truth_nineteen_times_in_twenty() {
    for (shares, rows) in [(vec![0.9, 0.1], 500), (vec![0.4, 0.6], 2000), (vec![0.5, 0.2, 0.3], 1000)] {
        let (plain, _) = coverage(1.0, false, &shares, rows);
        let (corrected, mean) = coverage(1.0, true, &shares, rows);
        assert!(
            (0.92..=0.98).contains(&plain) && (0.93..=0.995).contains(&corrected),
            "{shares:?} {plain} {corrected}"
        );
        assert!((mean - shares[1]).abs() < 0.01, "{shares:?} {mean}");
    }
}

#[test]
fn labelled_rows_make_up_for_evidence_that_is_too_sure() {
    let shares = [0.7, 0.3];
    let (plain, off) = coverage(3.0, false, &shares, 1000);
    let (corrected, right) = coverage(3.0, true, &shares, 1000);
    assert!(plain < 0.8 && (off - 0.3).abs() > 0.02, "{plain} {off}");
    assert!((0.93..=0.995).contains(&corrected) && (right - 0.3).abs() < 0.01, "{corrected} {right}");
}
