//! Means and standard deviations against the certified values of the NIST Statistical Reference
//! Datasets. The log relative error (LRE), −log₁₀(|x − c|/|c|), counts the digits that are right;
//! 15 is the most that doubles and certified values allow to tell.

use deciban::data::Tile;
use deciban::statistic::{ColumnMoments, Moments, Statistic};

fn tile(values: &[f64]) -> Tile {
    let mut tile = Tile::default();
    tile.resize(values.len(), 1);
    tile.column_mut(0).copy_from_slice(values);
    tile
}

fn full(values: &[f64]) -> Moments {
    let mut moments = Moments::empty(1);
    moments.observe(&mut tile(values), None).unwrap();
    moments
}

fn columns(values: &[f64]) -> ColumnMoments {
    let mut moments = ColumnMoments::empty(1);
    moments.observe(&mut tile(values), None).unwrap();
    moments
}

/// Seven parts, merged in order.
fn in_parts<S: Statistic>(values: &[f64], of: impl Fn(&[f64]) -> S) -> S {
    let mut parts = values.chunks(values.len().div_ceil(7)).map(of);
    let mut whole = parts.next().unwrap();
    parts.for_each(|part| whole.merge(&part).unwrap());
    whole
}

fn lre(found: f64, certified: f64) -> f64 {
    let error = (found - certified).abs() / certified.abs();
    (-error.log10()).min(15.0)
}

/// The digits of the standard deviation that are asked for. The decimals of Mavro, Michelso and
/// NumAcc3 and 4 are not exact in binary, which alone costs the digits missing here.
fn required(name: &str) -> f64 {
    match name {
        "Michelso" => 13.8,
        "Mavro" => 13.1,
        "NumAcc3" => 9.5,
        "NumAcc4" => 8.3,
        _ => 15.0,
    }
}

#[test]
#[cfg_attr(not(shared_data), ignore = "needs the data sets in ../shared")]
fn moments_have_the_certified_digits() {
    let certified = crate::common::shared("data/nist-strd/certified.csv");
    let mut sets = 0;
    println!("{:10} {:16} {:>6} {:>6}", "set", "way", "mean", "sd");
    for line in std::fs::read_to_string(&certified).unwrap().lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (name, n) = (cells[0], cells[1].parse::<usize>().unwrap());
        let text = std::fs::read_to_string(certified.with_file_name(format!("{name}.dat"))).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let values: Vec<f64> = lines[lines.len() - n..].iter().map(|x| x.trim().parse().unwrap()).collect();
        let (mean, sd): (f64, f64) = (cells[2].parse().unwrap(), cells[3].parse().unwrap());

        let of_full = |m: Moments| (m.mean()[0], m.scatter()[(0, 0)], m.weight());
        let of_columns = |m: ColumnMoments| (m.mean()[0], m.scatter()[0], m.weight()[0]);
        let ways = [
            ("full", of_full(full(&values))),
            ("full, 7 parts", of_full(in_parts(&values, full))),
            ("columns", of_columns(columns(&values))),
            ("columns, 7 parts", of_columns(in_parts(&values, columns))),
        ];
        for (way, (found, scatter, weight)) in ways {
            assert_eq!(weight, n as f64);
            let digits = (lre(found, mean), lre((scatter / (weight - 1.0)).sqrt(), sd));
            println!("{name:10} {way:16} {:6.2} {:6.2}", digits.0, digits.1);
            assert!(digits.0 >= 14.7, "{name}, {way}: the mean has {} digits", digits.0);
            assert!(digits.1 >= required(name) - 0.3, "{name}, {way}: the deviation has {} digits", digits.1);
        }
        sets += 1;
    }
    assert_eq!(sets, 9);
}
