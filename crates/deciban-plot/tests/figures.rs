//! Figures of any content are well-formed SVG and PNG of the right size, and always the same.

use crate::common::{size_of_png, well_formed};
use deciban_plot::{Anchor, Axis, Figure, Image, Theme};

fn everything() -> Figure {
    let xs = [0.0, 1.0, 2.0, 3.0];
    Figure::new("A <title> & \"more\"")
        .subtitle("second line")
        .alt("what there is\u{0} to see")
        .x(Axis::linear("x"))
        .y(Axis::linear("p").percent())
        .line("line", &xs, &[0.1, f64::NAN, f64::INFINITY, 0.4])
        .points("points", &xs, &[0.1, 0.2, f64::NEG_INFINITY, 0.4])
        .area("band", &xs, &[0.0; 4], &[0.5, 0.4, f64::NAN, 0.1])
        .boxes("boxes", &[[0.0, 1.0, 0.0, 0.3], [1.0, f64::NAN, 0.0, 0.1]])
        .picture(Image::new(3, 2, |x, y| [x as u8, y as u8, 0, 128]), (1.0, 2.0), (0.1, 0.2))
        .label(1.0, 0.3, "<here>", Anchor::Middle)
        .rule_x("", 1.5)
        .rule_y("limit", 0.25)
}

#[test]
fn svg_is_well_formed_and_says_what_it_shows() {
    let svg = everything().svg();
    well_formed(&svg);
    for part in [
        "<title>A &lt;title&gt; &amp; &quot;more&quot;</title>",
        "<desc>what there is  to see</desc>",
        "prefers-color-scheme:dark",
        ">&lt;here&gt;</text>",
        ">limit</text>",
        ">40%</text>",
        "data:image/png;base64,iVBORw0KGgo",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    assert_eq!(svg, everything().svg());
    let element = everything().scene().svg_element();
    well_formed(&element);
    assert!(!element.contains("<style>"));
}

#[test]
fn png_has_the_size_of_the_figure() {
    let figure = everything().size(300.0, 200.0);
    for scale in [0.5, 1.0, 2.0] {
        let png = figure.png(scale);
        assert_eq!(size_of_png(&png), ((300.0 * scale) as u32, (200.0 * scale) as u32));
        assert_eq!(png, figure.png(scale));
    }
    assert_ne!(figure.png(1.0), figure.scene().png(1.0, Theme::Dark));
    // Scales that make no sense still give a picture.
    assert_eq!(size_of_png(&figure.png(f64::NAN)), (300, 200));
    assert_eq!(size_of_png(&figure.png(0.0)), (1, 1));
}

#[test]
fn empty_and_degenerate_figures_are_drawn() {
    let axes = [Axis::linear("x"), Axis::log("x"), Axis::probit("x"), Axis::names("x", &[])];
    let values: [&[f64]; 6] =
        [&[], &[0.5], &[f64::NAN], &[f64::INFINITY, f64::NEG_INFINITY], &[0.0, 0.0], &[f64::MAX, f64::MIN]];
    for axis in &axes {
        for values in values {
            let figure = Figure::new("")
                .size(0.0, f64::NAN)
                .x(axis.clone())
                .y(axis.clone().reversed())
                .line("a", values, values)
                .points("b", values, values)
                .area("c", values, values, values);
            well_formed(&figure.svg());
            assert!(size_of_png(&figure.png(1.0)).0 >= 160);
        }
    }
    well_formed(&Figure::grid("nothing", &[], 0).svg());
}

#[test]
fn marks_of_one_name_are_one_series() {
    let xs = [0.0, 1.0];
    let figure = Figure::new("t").line("a", &xs, &xs).points("b", &xs, &xs).points("a", &xs, &xs);
    let svg = figure.svg();
    assert_eq!((svg.matches(">a</text>").count(), svg.matches(">b</text>").count()), (1, 1));
    assert!(svg.contains("class=\"l l0\"") && svg.contains("class=\"f1\"") && !svg.contains("class=\"l l2\""));
    // Side by side the names are shown once.
    let svg = Figure::grid("both", &[figure.clone(), figure], 2).svg();
    assert_eq!(svg.matches(">a</text>").count(), 1);
    well_formed(&svg);
}

#[test]
fn many_points_of_a_line_make_a_small_file() {
    let xs: Vec<f64> = (0..100_000).map(f64::from).collect();
    let ys: Vec<f64> = xs.iter().map(|x| (x / 1e4).sin()).collect();
    let svg = Figure::new("sine").line("", &xs, &ys).svg();
    assert!(svg.len() < 8_000, "{}", svg.len());
}
