//! Charts as SVG files, drawn as the page draws them.

use std::path::Path;

use servescope_charts::{Axis, AxisKind, Chart, DrawError, Mark, Role, ScaleKind, Series, Style};
use servescope_lab::views::{self, View, ViewOptions};
use servescope_lab::workload::Trace;

use crate::output::{Failed, note, write};

/// Makes a folder.
pub(crate) fn create(folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(folder).map_err(|error| Failed::input(format!("{}: {error}", folder.display())))
}

/// Writes each view as a file of its name.
pub(crate) fn write_views(folder: &Path, views: impl IntoIterator<Item = View>) -> Result<(), Failed> {
    create(folder)?;
    let style = Style { dark: false, width: 720.0, height: 240.0, dpr: 1.0 };
    for view in views {
        let path = folder.join(format!("{}.svg", view.name));
        let text = chart(view).and_then(|chart| servescope_charts::svg(&chart, None, &style));
        write(&path, &text.map_err(|error| Failed::Run(format!("{}: {error}", path.display())))?)?;
    }
    Ok(())
}

/// Writes the charts of a workload: requests and tokens offered over time, sessions, gaps, lengths, users. A chart that would
/// be empty is named in a note and not written.
pub(crate) fn write_traffic(folder: Option<&Path>, trace: &Trace) -> Result<(), Failed> {
    let Some(folder) = folder else { return Ok(()) };
    let (drawn, empty): (Vec<View>, Vec<View>) =
        views::traffic(&[("arrivals", trace)], ViewOptions::default().columns)
            .into_iter()
            .partition(|view| view.empty.is_empty());
    if !empty.is_empty() {
        let names: Vec<&str> = empty.iter().map(|view| view.name).collect();
        note(&format!("charts with nothing to show are not written: {}", names.join(", ")));
    }
    write_views(folder, drawn)
}

/// A view as a chart to draw.
fn chart(view: View) -> Result<Chart, DrawError> {
    let axis = |axis: &views::Axis| {
        Ok(Axis {
            scale: ScaleKind::from_name(axis.scale)?,
            kind: AxisKind::from_name(axis.kind)?,
            min: axis.min,
            max: axis.max,
        })
    };
    let series = |s: views::Series| {
        Ok(Series {
            role: Role::from_name(s.role)?,
            mark: Mark::from_name(s.mark)?,
            x: s.x,
            y: s.y,
            y0: s.y0,
            x2: s.x2,
        })
    };
    Ok(Chart {
        x: axis(&view.x)?,
        y: axis(&view.y)?,
        series: view.series.into_iter().map(series).collect::<Result<_, DrawError>>()?,
        categories: view.categories,
    })
}
