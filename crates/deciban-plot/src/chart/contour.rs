//! Lines of equal height on a grid, by marching squares: in each square of four neighbours the
//! line crosses the sides whose ends lie on different sides of the level, where linear
//! interpolation puts it. Of a saddle's two ways the mean of the corners decides.

/// Segments of the line `value = level`, as xs and ys with a NaN between two lines.
/// `value(i, j)` is at `xs[i]`, `ys[j]`; squares with a value that is not finite are left out.
pub fn contour(xs: &[f64], ys: &[f64], value: impl Fn(usize, usize) -> f64, level: f64) -> (Vec<f64>, Vec<f64>) {
    let mut segments: Vec<[[f64; 2]; 2]> = Vec::new();
    for j in 1..ys.len() {
        for i in 1..xs.len() {
            // Counter-clockwise from the lower left.
            let corners = [(i - 1, j - 1), (i, j - 1), (i, j), (i - 1, j)];
            let v = corners.map(|(i, j)| value(i, j) - level);
            if v.iter().any(|v| !v.is_finite()) {
                continue;
            }
            let crossing = |side: usize| {
                // From the lower corner to the higher, so that both squares of a side find the same point.
                let (a, b) = if side < 2 { (side, side + 1) } else { ((side + 1) % 4, side) };
                ((v[a] > 0.0) != (v[b] > 0.0)).then(|| {
                    let t = v[a] / (v[a] - v[b]);
                    let at = |k: usize| [xs[corners[k].0], ys[corners[k].1]];
                    [at(a)[0] + t * (at(b)[0] - at(a)[0]), at(a)[1] + t * (at(b)[1] - at(a)[1])]
                })
            };
            match [0, 1, 2, 3].map(crossing) {
                [Some(a), Some(b), Some(c), Some(d)] => {
                    let middle = v.iter().sum::<f64>() > 0.0;
                    match middle == (v[0] > 0.0) {
                        true => segments.extend([[a, b], [c, d]]),
                        false => segments.extend([[d, a], [b, c]]),
                    }
                }
                sides => {
                    let ends: Vec<[f64; 2]> = sides.into_iter().flatten().collect();
                    if let [a, b] = ends[..] {
                        segments.push([a, b]);
                    }
                }
            }
        }
    }
    // A line through a corner meets it once from each side, and once more without length.
    segments.retain(|[a, b]| a != b);
    joined(segments)
}

/// Segments with common ends as long lines.
fn joined(segments: Vec<[[f64; 2]; 2]>) -> (Vec<f64>, Vec<f64>) {
    use std::collections::HashMap;
    // Minus zero is zero.
    let key = |p: [f64; 2]| ((p[0] + 0.0).to_bits(), (p[1] + 0.0).to_bits());
    let mut at: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (s, segment) in segments.iter().enumerate() {
        segment.iter().for_each(|p| at.entry(key(*p)).or_default().push(s));
    }
    let mut used = vec![false; segments.len()];
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for start in 0..segments.len() {
        if used[start] {
            continue;
        }
        used[start] = true;
        let mut line = std::collections::VecDeque::from(segments[start]);
        for back in [false, true] {
            loop {
                // The line has at least its first segment.
                let end = if back { line[0] } else { line[line.len() - 1] };
                let Some(&next) = at[&key(end)].iter().find(|s| !used[**s]) else { break };
                used[next] = true;
                let [a, b] = segments[next];
                let other = if key(a) == key(end) { b } else { a };
                if back { line.push_front(other) } else { line.push_back(other) }
            }
        }
        if !xs.is_empty() {
            xs.push(f64::NAN);
            ys.push(f64::NAN);
        }
        xs.extend(line.iter().map(|p| p[0]));
        ys.extend(line.iter().map(|p| p[1]));
    }
    (xs, ys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_one_closed_line() {
        let axis: Vec<f64> = (-20..=20).map(|i| f64::from(i) / 10.0).collect();
        let (xs, ys) = contour(&axis, &axis, |i, j| axis[i] * axis[i] + axis[j] * axis[j], 1.0);
        assert!(xs.iter().all(|x| !x.is_nan()) && xs.len() > 50);
        assert_eq!((xs[0], ys[0]), (xs[xs.len() - 1], ys[ys.len() - 1]));
        // Linear interpolation of x² on squares of 0.1 is off by at most 0.1²/8 in height, /2 in radius.
        assert!(xs.iter().zip(&ys).all(|(x, y)| (x.hypot(*y) - 1.0).abs() < 0.0013));
    }

    #[test]
    fn a_plane_is_a_straight_line_and_saddles_are_cut_twice() {
        let axis = [0.0, 1.0, 2.0];
        let (xs, ys) = contour(&axis, &axis, |i, _| axis[i], 0.25);
        assert_eq!((xs, ys), (vec![0.25; 3], vec![0.0, 1.0, 2.0]));
        let (xs, _) = contour(&axis[..2], &axis[..2], |i, j| f64::from(u8::from(i == j)), 0.4);
        assert_eq!(xs.iter().filter(|x| x.is_nan()).count(), 1);
        assert!(contour(&axis, &axis, |_, _| f64::NAN, 0.0).0.is_empty());
    }
}
