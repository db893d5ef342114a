use std::f64::consts::PI;

/// What has an area.
pub trait Shape {
    fn area(&self) -> f64;
}

#[derive(Clone, Debug)]
pub enum Figure {
    Circle { radius: f64 },
    Square { side: f64 },
}

impl Shape for Figure {
    fn area(&self) -> f64 {
        match self {
            Figure::Circle { radius } => PI * radius * radius,
            Figure::Square { side } => side * side,
        }
    }
}

pub fn total(figures: &[Figure]) -> f64 {
    figures.iter().map(|f| f.area()).sum()
}
