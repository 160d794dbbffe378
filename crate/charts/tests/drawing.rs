//! What each mark draws, where, and that nothing else is drawn, whatever the data.

mod recorder;

use recorder::{Recorder, Shape};
use servescope_charts::{
    Axis, AxisKind, Chart, Clock, DrawError, Mark, PlotFrame, Role, ScaleKind, Series, Style, draw, palette,
    svg,
};

const STYLE: Style = Style { dark: false, width: 520.0, height: 200.0, dpr: 1.0, clock: Clock::Symbols };

fn axis(kind: AxisKind, scale: ScaleKind, min: f64, max: f64) -> Axis {
    Axis { unit: "", scale, kind, min, max }
}

fn series(role: Role, mark: Mark, x: &[f64], y: &[f64]) -> Series {
    Series { role, mark, x: x.to_vec(), y: y.to_vec(), ..Series::default() }
}

/// A chart from 0 to 10 both ways.
fn chart(series: Vec<Series>) -> Chart {
    let ten = axis(AxisKind::Value, ScaleKind::Linear, 0.0, 10.0);
    Chart::untitled(ten.clone(), ten, series)
}

fn drawn(chart: &Chart, ghost: Option<&Chart>, style: &Style) -> (Vec<Shape>, PlotFrame) {
    let mut shapes = Vec::new();
    let frame = draw(Recorder { shapes: &mut shapes, fails: false }, chart, ghost, style).expect("drawable");
    (shapes, frame)
}

fn colour(role: Role) -> &'static str {
    palette(false).iter().find(|entry| entry.0 == role.name()).map_or("", |entry| entry.1)
}

/// The shapes of one role.
fn of(shapes: &[Shape], role: Role) -> Vec<&Shape> {
    shapes.iter().filter(|shape| shape.colour == colour(role)).collect()
}

#[test]
fn the_frame_is_where_the_data_lies() {
    let line = series(Role::Ttft, Mark::Line, &[0.0, 10.0], &[0.0, 10.0]);
    for dpr in [1.0, 1.5, 2.0, 3.0] {
        let (shapes, frame) = drawn(&chart(vec![line.clone()]), None, &Style { dpr, ..STYLE });
        let path = of(&shapes, Role::Ttft)[0];
        let device = |css: f64| (css * dpr) as i32;
        assert_eq!(
            path.points,
            [(device(frame.left), device(frame.bottom)), (device(frame.right), device(frame.top))]
        );
        assert_eq!((frame.left, frame.top, frame.right, frame.bottom), (52.0, 8.0, 504.0, 176.0));
        assert_eq!((frame.x_min, frame.x_max, frame.y_min, frame.y_max), (0.0, 10.0, 0.0, 10.0));
        let font = shapes.iter().find(|shape| shape.kind == "text").map(|shape| shape.size);
        assert_eq!(font, Some(11.0 * dpr));
        assert_eq!(shapes[0].points, [(0, 0), (device(520.0), device(200.0))]);
    }
}

#[test]
fn each_mark_draws_its_shape() {
    let (x, y) = ([0.0, 4.0, 10.0], [2.0, 8.0, 4.0]);
    let shapes_of = |mark: Mark| {
        let mut one = series(Role::Ttft, mark, &x, &y);
        if mark == Mark::Bars {
            one.x2 = vec![4.0, 10.0, 10.5];
        }
        let (shapes, _) = drawn(&chart(vec![one]), None, &STYLE);
        of(&shapes, Role::Ttft).into_iter().cloned().collect::<Vec<_>>()
    };
    let path = |mark| shapes_of(mark).into_iter().map(|shape| (shape.kind, shape.points)).collect::<Vec<_>>();
    // 45.2 px a unit across, 16.8 px up.
    let line = vec![(52, 142), (233, 42), (504, 109)];
    assert_eq!(path(Mark::Line), [("path", line.clone())]);
    assert_eq!(path(Mark::Step), [("path", vec![(52, 142), (233, 142), (233, 42), (504, 42), (504, 109)])]);
    let area = path(Mark::Area);
    assert_eq!(area[0].0, "polygon");
    assert_eq!(area[0].1, [&line[..], &[(504, 176), (52, 176)]].concat());
    assert_eq!(area[1], ("path", line.clone()));
    assert!(shapes_of(Mark::Area)[0].opacity < 0.5);
    // A hairline of paper is left between bars; the third lies outside.
    assert_eq!(
        path(Mark::Bars),
        [("rect", vec![(52, 142), (232, 176)]), ("rect", vec![(233, 42), (503, 176)])]
    );
    assert_eq!(path(Mark::Points), line.iter().map(|&at| ("circle", vec![at])).collect::<Vec<_>>());
    let rules = path(Mark::RuleX);
    assert_eq!(rules.len(), 3);
    assert!(rules.iter().all(|(kind, at)| *kind == "rect" && at[0].1 == 8 && at[1].1 == 176));
    let rules = path(Mark::RuleY);
    assert_eq!(rules.len(), 3);
    assert!(rules.iter().all(|(kind, at)| *kind == "rect" && at[0].0 == 52 && at[1].0 == 504));
}

#[test]
fn dashes_tell_limits_apart() {
    let rule = series(Role::Slo, Mark::RuleY, &[0.0], &[5.0]);
    let (shapes, _) = drawn(&chart(vec![rule]), None, &STYLE);
    let dashes = shapes.iter().filter(|s| s.kind == "rect" && s.points[0].1 == 91 && s.opacity == 1.0);
    assert!((50..60).contains(&dashes.count()));
}

#[test]
fn a_line_has_its_label_and_one_above_the_axis_an_arrow() {
    let reported = |y: f64, clock: Clock| {
        let mut rule = series(Role::Slo, Mark::RuleY, &[0.0], &[y]);
        rule.label = "SLO 6 s".to_owned();
        let text = servescope_charts::svg(&chart(vec![rule]), None, &Style { clock, ..STYLE }).unwrap();
        text.lines().map(str::trim).filter(|line| line.contains("SLO")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(reported(5.0, Clock::Symbols), ["SLO 6 s"]);
    assert_eq!(reported(9.9, Clock::Chinese), ["SLO 6 秒"]);
    assert_eq!(reported(50.0, Clock::Symbols), ["↑ SLO 6 s"]);
    assert!(reported(-1.0, Clock::Symbols).is_empty() && reported(f64::NAN, Clock::Symbols).is_empty());
}

#[test]
fn what_is_not_a_number_is_a_gap() {
    let holes = [1.0, f64::NAN, 2.0, 3.0, f64::INFINITY, 4.0, 5.0, f64::NEG_INFINITY];
    let x: Vec<f64> = (0..8).map(f64::from).collect();
    for (mark, kind, count) in [
        (Mark::Line, "path", 2),
        (Mark::Step, "path", 3),
        (Mark::Area, "polygon", 2),
        (Mark::Bars, "rect", 5),
        (Mark::Points, "circle", 5),
        (Mark::RuleY, "rect", 5),
    ] {
        let (shapes, _) = drawn(&chart(vec![series(Role::Ttft, mark, &x, &holes)]), None, &STYLE);
        let found = of(&shapes, Role::Ttft).iter().filter(|shape| shape.kind == kind).count();
        assert_eq!(found, count, "{mark:?}");
    }
    let turned = chart(vec![series(Role::Ttft, Mark::RuleX, &holes, &[])]);
    assert_eq!(of(&drawn(&turned, None, &STYLE).0, Role::Ttft).len(), 5);
}

#[test]
fn nothing_is_drawn_outside_the_plot_whatever_the_data() {
    let wild = [f64::NAN, -f64::MAX, -50.0, -1e-300, 0.0, 3.0, 10.0, 1e9, f64::MAX, f64::INFINITY];
    let ends = [f64::NAN, f64::NEG_INFINITY, -5.0, 0.0, 1e-300, 7.0, 1e300, f64::MAX];
    let x: Vec<f64> = wild.iter().chain(wild.iter().rev()).copied().collect();
    let y: Vec<f64> = wild.iter().cycle().skip(3).take(x.len()).copied().collect();
    for mark in [Mark::Line, Mark::Step, Mark::Area, Mark::Bars, Mark::Points, Mark::RuleX, Mark::RuleY] {
        let mut one = series(Role::Prefill, mark, &x, &y);
        one.y0 = y.iter().rev().copied().collect();
        one.x2 = wild.to_vec();
        for (scale, kind) in [ScaleKind::Linear, ScaleKind::Log]
            .into_iter()
            .flat_map(|scale| [AxisKind::Time, AxisKind::Value, AxisKind::Index].map(|kind| (scale, kind)))
        {
            for (min, max) in ends.iter().flat_map(|&min| ends.map(|max| (min, max))) {
                let mut chart = chart(vec![one.clone()]);
                chart.x = axis(kind, scale, min, max);
                chart.y = axis(AxisKind::Value, scale, max, min);
                let (shapes, frame) = drawn(&chart, Some(&chart), &STYLE);
                assert!(frame.x_min < frame.x_max && frame.y_min < frame.y_max);
                for shape in of(&shapes, Role::Prefill) {
                    // Markers and strokes reach a little over the edge.
                    let within = |&(x, y): &(i32, i32)| (47..=509).contains(&x) && (3..=181).contains(&y);
                    assert!(shape.points.iter().all(within), "{mark:?}, {:?}: {shape:?}", chart.x);
                }
            }
        }
    }
}

#[test]
fn log_axes_take_what_is_not_positive_for_the_least() {
    let mut chart = chart(vec![series(Role::Ttft, Mark::Line, &[0.0, 1.0, 100.0], &[-3.0, 0.0, 100.0])]);
    chart.x = axis(AxisKind::Value, ScaleKind::Log, 0.01, 100.0);
    chart.y = axis(AxisKind::Value, ScaleKind::Log, 0.01, 100.0);
    let (shapes, _) = drawn(&chart, None, &STYLE);
    assert_eq!(of(&shapes, Role::Ttft)[0].points, [(52, 176), (278, 176), (504, 8)]);
}

fn texts(shapes: &[Shape]) -> Vec<&str> {
    shapes.iter().filter(|shape| shape.kind == "text").map(|shape| shape.text.as_str()).collect()
}

#[test]
fn the_only_text_is_tick_labels() {
    let (shapes, _) = drawn(&chart(vec![]), None, &STYLE);
    let expected = ["0", "2", "4", "6", "8", "10", "0", "2", "4", "6", "8", "10"];
    assert_eq!(texts(&shapes), expected);
    assert!(shapes.iter().all(|shape| ["rect", "text"].contains(&shape.kind)));

    let document = svg(&chart(vec![]), None, &STYLE).expect("drawable");
    assert_eq!(document.matches("<text").count(), expected.len());
    assert!(document.starts_with("<svg xmlns") && document.trim_end().ends_with("</svg>"));
    assert!(document.contains("width=\"520\" height=\"200\" viewBox=\"0 0 2080 800\""));
}

/// About what a letter takes in a sans serif of 11 px.
fn advance(letter: char) -> f64 {
    match letter {
        ' ' | 'i' | '.' => 3.4,
        'm' => 9.9,
        _ => 6.4,
    }
}

#[test]
fn labels_stay_on_the_canvas_and_apart() {
    for (width, height) in [(520.0, 200.0), (340.0, 150.0), (200.0, 100.0)] {
        for max in [7.0, 60.0, 1500.0, 86_400.0, 123_456.0, 0.004] {
            for kind in [AxisKind::Time, AxisKind::Value, AxisKind::Index] {
                let mut chart = chart(vec![]);
                chart.x = axis(kind, ScaleKind::Linear, 0.0, max);
                let (shapes, frame) = drawn(&chart, None, &Style { width, height, ..STYLE });
                let mut end = 0.0;
                let below =
                    |shape: &&Shape| shape.kind == "text" && f64::from(shape.points[0].1) > frame.bottom;
                for label in shapes.iter().filter(below) {
                    let half = label.text.chars().map(advance).sum::<f64>() / 2.0;
                    let middle = f64::from(label.points[0].0);
                    assert!(middle - half > end, "{width}, {kind:?}, {max}: {:?}", texts(&shapes));
                    end = middle + half;
                }
                assert!(end <= width + 1.0, "{width}, {kind:?}, {max}: {:?}", texts(&shapes));
            }
        }
    }
}

#[test]
fn categories_are_named_in_their_slots() {
    let mut chart = chart(vec![]);
    chart.x = axis(AxisKind::Index, ScaleKind::Linear, -0.5, 2.5);
    chart.y = axis(AxisKind::Value, ScaleKind::Linear, 0.0, 0.5);
    chart.categories =
        ["base", "rank 8", "an adapter with a very long name indeed"].map(str::to_owned).to_vec();
    let (shapes, _) = drawn(&chart, None, &STYLE);
    let names: Vec<_> = shapes.iter().filter(|s| s.kind == "text").rev().take(3).collect();
    assert!(names[0].text.starts_with("an adapter") && names[0].text.ends_with('…'));
    assert_eq!((names[1].text.as_str(), names[1].points[0].0), ("rank 8", 278));
    assert_eq!((names[2].text.as_str(), names[2].points[0].0), ("base", 127));

    chart.categories = (0..300).map(|index| format!("adapter {index}")).collect();
    let (shapes, _) = drawn(&chart, None, &STYLE);
    assert!((2..=10).contains(&texts(&shapes).iter().filter(|text| text.starts_with("ad")).count()));
}

#[test]
fn the_former_result_is_faint() {
    let now = |mark| chart(vec![series(Role::Ttft, mark, &[1.0, 5.0], &[2.0, 3.0])]);
    for mark in [Mark::Line, Mark::Step, Mark::Area, Mark::Points, Mark::RuleX, Mark::RuleY] {
        let former = now(mark);
        let (shapes, frame) = drawn(&chart(vec![]), Some(&former), &STYLE);
        let faint = of(&shapes, Role::Ttft);
        assert!(!faint.is_empty() && faint.iter().all(|shape| shape.opacity < 0.5), "{mark:?}");
        assert!(faint.iter().all(|shape| shape.kind != "polygon"));
        assert_eq!(frame.x_max, 10.0);
    }
    let mut bars = now(Mark::Bars);
    bars.series[0].x2 = vec![5.0, 9.0];
    let (shapes, _) = drawn(&bars, Some(&bars), &STYLE);
    let outline: Vec<_> = shapes.iter().filter(|shape| shape.kind == "path").collect();
    assert_eq!(outline.len(), 1);
    assert_eq!(outline[0].points, [(97, 176), (97, 142), (278, 142), (278, 126), (459, 126), (459, 176)]);

    let mut stacked = bars.clone();
    stacked.series.push(Series {
        role: Role::Decode,
        y0: vec![2.0, 3.0],
        y: vec![4.0, 4.0],
        ..bars.series[0].clone()
    });
    let (shapes, _) = drawn(&stacked, Some(&stacked), &STYLE);
    assert!(shapes.iter().all(|shape| shape.kind != "path"));
    let strips = of(&shapes, Role::Decode).into_iter().filter(|shape| shape.opacity < 0.5);
    assert!(strips.map(|strip| strip.points[1].0 - strip.points[0].0).eq([4, 4]));
}

#[test]
fn bars_that_overlap_are_seen_through() {
    let bars = |role| Series { x2: vec![5.0], ..series(role, Mark::Bars, &[1.0], &[2.0]) };
    let (shapes, _) = drawn(&chart(vec![bars(Role::Input), bars(Role::Output)]), None, &STYLE);
    for role in [Role::Input, Role::Output] {
        let kinds: Vec<_> = of(&shapes, role).iter().map(|s| (s.kind, s.opacity < 1.0)).collect();
        assert_eq!(kinds, [("rect", true), ("path", false)]);
    }
}

#[test]
fn a_distribution_stands_out_from_bars() {
    let bars = Series { x2: vec![5.0], ..series(Role::Arrivals, Mark::Bars, &[1.0], &[2.0]) };
    let density = series(Role::Density, Mark::Line, &[0.0, 10.0], &[3.0, 1.0]);
    let (shapes, _) = drawn(&chart(vec![bars, density]), None, &STYLE);
    let paths: Vec<_> = shapes.iter().filter(|shape| shape.kind == "path").collect();
    assert_eq!(paths.len(), 2);
    assert_eq!(paths[0].points, paths[1].points);
    assert!(paths[0].colour == palette(false)[3].1 && paths[0].size > paths[1].size);
}

#[test]
fn dense_data_costs_no_more_than_its_pixels() {
    let x: Vec<f64> = (0..100_000).map(|index| f64::from(index) / 1e4).collect();
    let flat = vec![5.0; x.len()];
    for mark in [Mark::Line, Mark::Step, Mark::Points, Mark::Bars] {
        let (shapes, _) = drawn(&chart(vec![series(Role::Ttft, mark, &x, &flat)]), None, &STYLE);
        let points: usize = of(&shapes, Role::Ttft).iter().map(|shape| shape.points.len()).sum();
        assert!(points <= 2 * 453, "{mark:?}: {points}");
    }
}

#[test]
fn failures_are_told() {
    let mut shapes = Vec::new();
    let refused = draw(Recorder { shapes: &mut shapes, fails: true }, &chart(vec![]), None, &STYLE);
    assert!(matches!(refused, Err(DrawError::Backend(_))));
    let none = svg(&chart(vec![]), None, &Style { width: 0.0, ..STYLE });
    assert_eq!(none, Err(DrawError::Size { width: 0.0, height: 200.0, dpr: 4.0 }));
}

#[test]
fn the_same_chart_is_the_same_document() {
    let one = chart(vec![series(Role::Tbt, Mark::Line, &[0.0, 3.0, 9.0], &[1.0, 9.0, 2.0])]);
    assert_eq!(svg(&one, Some(&one), &STYLE), svg(&one, Some(&one), &STYLE));
}
