//! Fewer points for the same picture: Douglas and Peucker (1973). A point is dropped if all
//! between its neighbours that stay lie within the tolerance of the chord.

use crate::scene::Point;

/// In pixels; less than anyone sees.
const TOLERANCE: f64 = 0.12;

/// The polyline without points that nobody sees.
pub fn simplify(points: &[Point]) -> Vec<Point> {
    if points.len() < 3 {
        return points.to_vec();
    }
    let mut keep = vec![false; points.len()];
    (keep[0], keep[points.len() - 1]) = (true, true);
    let mut open = vec![(0, points.len() - 1)];
    while let Some((a, b)) = open.pop() {
        let far = (a + 1..b).map(|i| (distance(points[i], points[a], points[b]), i));
        // The first of the farthest, so the result does not depend on anything else.
        let farthest = far.reduce(|best, next| if next.0 > best.0 { next } else { best });
        if let Some((_, i)) = farthest.filter(|(d, _)| *d > TOLERANCE) {
            keep[i] = true;
            open.extend([(a, i), (i, b)]);
        }
    }
    points.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| *p).collect()
}

/// The distance of p from the segment a–b.
fn distance(p: Point, a: Point, b: Point) -> f64 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let length = dx * dx + dy * dy;
    let t = if length > 0.0 { (((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
    (p[0] - a[0] - t * dx).hypot(p[1] - a[1] - t * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_stay_and_straight_runs_go() {
        let line: Vec<Point> = (0..1000).map(|i| [f64::from(i) * 0.1, f64::from(i.min(500)) * 0.1]).collect();
        assert_eq!(simplify(&line), [[0.0, 0.0], [50.0, 50.0], [99.9, 50.0]]);
        assert_eq!(simplify(&[[1.0, 1.0]]), [[1.0, 1.0]]);
        // A closed path and a spike are kept.
        let closed = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 0.0]];
        assert_eq!(simplify(&closed), closed);
    }
}
