//! Writes every mark as SVG to the directory given, in light and dark, large and small, with a page to look at.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use servescope_charts::{Axis, AxisKind, Chart, Clock, Mark, Role, ScaleKind, Series, Style, svg};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: gallery DIRECTORY")?);
    std::fs::create_dir_all(&folder)?;
    for dark in [false, true] {
        let mut page = format!(
            "<!doctype html><body style=\"margin:8px;background:{};font:12px sans-serif;color:#888\">",
            if dark { "#14171a" } else { "#ffffff" }
        );
        for (width, height) in [(520.0, 200.0), (340.0, 150.0)] {
            for (name, now, before) in charts() {
                let style = Style { dark, width, height, dpr: 1.0, clock: Clock::Symbols };
                let theme = if dark { "dark" } else { "light" };
                let file = format!("{name}-{theme}-{width}.svg");
                std::fs::write(folder.join(&file), svg(&now, before.as_ref(), &style)?)?;
                write!(
                    page,
                    "<figure style=\"display:inline-block;margin:4px\">{name}<br><img src={file}></figure>"
                )?;
            }
        }
        std::fs::write(folder.join(if dark { "dark.html" } else { "light.html" }), page)?;
    }
    Ok(())
}

fn axis(kind: AxisKind, scale: ScaleKind, min: f64, max: f64) -> Axis {
    Axis { unit: "", scale, kind, min, max }
}

fn linear(kind: AxisKind, min: f64, max: f64) -> Axis {
    axis(kind, ScaleKind::Linear, min, max)
}

fn series(role: Role, mark: Mark, x: &[f64], y: impl Fn(f64) -> f64) -> Series {
    Series { role, mark, x: x.to_vec(), y: x.iter().map(|&x| y(x)).collect(), ..Series::default() }
}

fn bars(role: Role, x: &[f64], width: f64, y: impl Fn(f64) -> f64) -> Series {
    let x2 = x.iter().map(|x| x + width).collect();
    Series { x2, ..series(role, Mark::Bars, x, y) }
}

fn over(base: &Series, top: Series) -> Series {
    let y = top.y.iter().zip(&base.y).map(|(top, base)| top + base).collect();
    Series { y, y0: base.y.clone(), ..top }
}

fn noise(x: f64) -> f64 {
    let wave = libm::sin(x * 12.9898) * 43_758.545;
    wave - f64::floor(wave)
}

/// Name, present and former chart.
fn charts() -> Vec<(&'static str, Chart, Option<Chart>)> {
    let mut all = Vec::new();
    let pair = |name, make: &dyn Fn(f64) -> Chart| (name, make(1.0), Some(make(0.7)));
    all.push(pair("gaps", &gaps));
    all.push(pair("shares", &shares));
    all.push(pair("lengths", &lengths));
    all.push(pair("rates", &rates));
    all.push(pair("running_waiting", &running_waiting));
    all.push(pair("memory", &memory));
    all.push(pair("tokens", &tokens));
    all.push(pair("latency_cdf", &latency_cdf));
    all.push(pair("ttft_by_arrival", &ttft_by_arrival));
    all.push(pair("time_split", &time_split));
    let empty = Chart { series: vec![], ..gaps(1.0) };
    all.push(("empty", empty, None));
    all
}

fn columns(count: usize, max: f64) -> Vec<f64> {
    (0..count).map(|index| index as f64 * max / count as f64).collect()
}

fn gaps(scale: f64) -> Chart {
    let density = move |x: f64| 2.0 / scale * libm::exp(-x * 2.0 / scale);
    let edges = columns(40, 3.0);
    Chart {
        x: linear(AxisKind::Value, 0.0, 3.0),
        y: linear(AxisKind::Value, 0.0, 2.2),
        series: vec![
            bars(Role::Arrivals, &edges, 0.075, |x| density(x) * (0.8 + 0.4 * noise(x))),
            series(Role::Density, Mark::Line, &columns(300, 3.0), density),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn shares(scale: f64) -> Chart {
    let index: Vec<f64> = (0..20).map(f64::from).collect();
    let left: Vec<f64> = index.iter().map(|x| x - 0.5).collect();
    let density = move |x: f64| 0.3 * libm::pow(x + 1.0, -scale);
    let mut steps = left.clone();
    steps.push(19.5);
    Chart {
        x: linear(AxisKind::Index, -0.5, 19.5),
        y: linear(AxisKind::Value, 0.0, 0.35),
        series: vec![
            bars(Role::Adapters, &left, 1.0, |x| density(x + 0.5) * (0.8 + 0.4 * noise(x))),
            series(Role::Expected, Mark::Step, &steps, |x| density((x + 0.5).min(19.0))),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn lengths(scale: f64) -> Chart {
    let x: Vec<f64> = (0..120).map(|index| libm::exp2(f64::from(index) / 10.0)).collect();
    let bell = |x: f64, middle: f64, width: f64| {
        let from = libm::log(x / middle) / width;
        libm::exp(-from * from / 2.0)
    };
    Chart {
        x: axis(AxisKind::Value, ScaleKind::Log, 1.0, 4096.0),
        y: linear(AxisKind::Value, 0.0, 1.05),
        series: vec![
            series(Role::Input, Mark::Line, &x, move |x| bell(x, 250.0 * scale, 0.8)),
            series(Role::Output, Mark::Line, &x, move |x| 0.8 * bell(x, 90.0 * scale, 0.6)),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn rates(scale: f64) -> Chart {
    let x = columns(300, 300.0);
    Chart {
        x: linear(AxisKind::Time, 0.0, 300.0),
        y: linear(AxisKind::Value, 0.0, 5.0),
        series: vec![
            series(Role::Arrivals, Mark::Step, &x, move |x| scale * (2.0 + 2.6 * noise(x / 5.0))),
            series(Role::Served, Mark::Step, &x, move |x| scale * (1.8 + 0.8 * noise(x / 7.0))),
            series(Role::Refused, Mark::Step, &x, move |x| if x > 200.0 { 0.5 * noise(x) } else { 0.0 }),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn running_waiting(scale: f64) -> Chart {
    let x = columns(600, 1500.0);
    let waiting = move |x: f64| scale * scale * (30.0 + 25.0 * libm::sin(x / 200.0) + 4.0 * noise(x));
    Chart {
        x: linear(AxisKind::Time, 0.0, 1500.0),
        y: linear(AxisKind::Value, 0.0, 65.0),
        series: vec![
            series(Role::Running, Mark::Area, &x, |x| 16.0 - 3.0 * noise(x / 30.0)),
            series(Role::Waiting, Mark::Step, &x, waiting),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn memory(scale: f64) -> Chart {
    let x = columns(600, 7200.0);
    let kv = series(Role::Kv, Mark::Area, &x, move |x| {
        scale * (9000.0 + 3000.0 * libm::sin(x / 700.0) + 700.0 * noise(x))
    });
    let adapters =
        over(&kv, series(Role::Adapters, Mark::Area, &x, |x| 1500.0 + 500.0 * f64::floor(x / 2400.0)));
    Chart {
        x: linear(AxisKind::Time, 0.0, 7200.0),
        y: linear(AxisKind::Value, 0.0, 17_000.0),
        series: vec![kv, adapters, series(Role::Pool, Mark::RuleY, &[0.0], |_| 16_000.0)],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn tokens(scale: f64) -> Chart {
    let x = columns(600, 60.0);
    let decode = series(Role::Decode, Mark::Area, &x, move |x| scale * (400.0 + 60.0 * libm::sin(x)));
    let gap = |x: f64| if (25.0..28.0).contains(&x) { f64::NAN } else { 900.0 * noise(f64::floor(x * 3.0)) };
    let prefill = over(&decode, series(Role::Prefill, Mark::Area, &x, gap));
    Chart {
        x: linear(AxisKind::Time, 0.0, 60.0),
        y: linear(AxisKind::Value, 0.0, 1400.0),
        series: vec![decode, prefill],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn latency_cdf(scale: f64) -> Chart {
    let x: Vec<f64> = (0..250).map(|index| 0.01 * libm::pow(10.0, f64::from(index) / 62.5)).collect();
    let rise = |x: f64, middle: f64| 1.0 / (1.0 + libm::pow(middle / x, 1.8));
    Chart {
        x: axis(AxisKind::Value, ScaleKind::Log, 0.01, 100.0),
        y: linear(AxisKind::Value, 0.0, 1.0),
        series: vec![
            series(Role::Ttft, Mark::Line, &x, move |x| rise(x, 1.5 * scale)),
            series(Role::Tbt, Mark::Line, &x, move |x| rise(x, 0.06 * scale)),
            series(Role::E2e, Mark::Line, &x, move |x| rise(x, 9.0 * scale)),
            series(Role::Slo, Mark::RuleX, &[6.0], |_| 0.0),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn ttft_by_arrival(scale: f64) -> Chart {
    let x = columns(500, 300.0);
    Chart {
        x: linear(AxisKind::Time, 0.0, 300.0),
        y: linear(AxisKind::Value, 0.0, 25.0),
        series: vec![
            series(Role::Ttft, Mark::Points, &x, move |x| {
                scale * (8.0 + 6.0 * libm::sin(x / 40.0) + 4.0 * noise(x))
            }),
            series(Role::Refused, Mark::Points, &columns(12, 300.0), |_| 24.0),
            series(Role::Slo, Mark::RuleY, &[0.0], |_| 6.0),
        ],
        name: "",
        empty: "",
        categories: vec![],
    }
}

fn time_split(scale: f64) -> Chart {
    let names = ["base", "rank 8", "rank 16", "rank 32", "长提示词", "summarise files", "chat"];
    let x: Vec<f64> = (0..names.len()).map(|index| index as f64 - 0.35).collect();
    let mut series: Vec<Series> = Vec::new();
    for (role, size) in [
        (Role::Queue, 4.0),
        (Role::Load, 1.0),
        (Role::Prefill, 1.5),
        (Role::Stalled, 0.7),
        (Role::Decode, 5.0),
    ] {
        let part = bars(role, &x, 0.7, |x| scale * size * (0.6 + 0.8 * noise(x + size)));
        let stacked = series.last().map(|base| over(base, part.clone())).unwrap_or(part);
        series.push(stacked);
    }
    Chart {
        x: linear(AxisKind::Index, -0.5, names.len() as f64 - 0.5),
        y: linear(AxisKind::Value, 0.0, 18.0),
        series,
        name: "",
        empty: "",
        categories: names.map(str::to_owned).to_vec(),
    }
}
