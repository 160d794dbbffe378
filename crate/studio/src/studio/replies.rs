//! The studio's replies as plain objects.

use serde_json::{Value as Json, json};
use servescope_lab::inspect;
use servescope_lab::notes::Traffic;
use servescope_lab::workload::Trace;
use servescope_lab::workload::fit::{DistributionDistance, Fit, LengthFit, Model, compare};
use servescope_lab::workload::formats::{BadRows, Format, MappingError, ROLES, guess};
use servescope_lab::workload::statistics::Statistics;
use servescope_lab::workload::transform::{Absence, Field, JOINS, Note, STEPS, Shape, StepError, StepKind};
use servescope_lab::{Failure, LoadedTrace};

/// Windows at which a twin's dispersion is compared, seconds.
const WINDOWS_S: [f64; 3] = [1.0, 10.0, 60.0];

/// What was read of a file, and what of it was left out.
pub(super) fn source(loaded: &LoadedTrace, bad: &BadRows) -> Json {
    let listed = bad.listed.iter().map(|row| {
        let failure = Failure::of_file(&loaded.name, &row.error);
        json!({"row": row.row, "column": row.column, "failure": failure})
    });
    let mut info = info(loaded);
    let extra = loaded.trace.extra.as_ref();
    let assumed = extra.map_or(&[][..], |extra| &extra.assumed_output);
    let first = assumed.iter().position(|is_assumed| *is_assumed);
    info["assumed_outputs"] = assumed.iter().filter(|is_assumed| **is_assumed).count().into();
    info["assumed_output_tokens"] = first.map_or(0, |id| loaded.trace.output_tokens[id]).into();
    info["bad_rows"] = json!({"total": bad.total, "listed": listed.collect::<Vec<_>>()});
    info
}

/// The columns of a table, what each can be, and a guess.
pub(super) fn peeked(columns: &[(String, Vec<String>)]) -> Json {
    let guess = guess(columns);
    let roles = ROLES.iter().map(|role| {
        let (column, unit) = guess.get(role.name).unwrap_or(("", role.units[0]));
        json!({
            "name": role.name, "help": role.help, "required": role.required, "units": role.units,
            "column": column, "unit": unit,
        })
    });
    json!({
        "columns": columns.iter().map(|(name, values)| json!({"name": name, "values": values})).collect::<Vec<_>>(),
        "roles": roles.collect::<Vec<_>>(),
    })
}

/// A mapping that was refused.
pub(super) fn mapping_refused(name: &str, error: &MappingError) -> Json {
    json!({"code": "mapping_refused", "path": name, "message": error.to_string(), "params": {}})
}

/// What is in a trace.
pub(super) fn info(loaded: &LoadedTrace) -> Json {
    let statistics = Statistics::of(&loaded.trace);
    let pd_ratio = statistics.pd_ratio();
    let settings: serde_json::Map<String, Json> = inspect::settings(&loaded.trace, &statistics)
        .into_iter()
        .map(|(id, value)| (id.row().id.to_owned(), json!(value)))
        .collect();
    json!({
        "name": loaded.name,
        "format": loaded.format.map_or("", Format::name),
        "requests": statistics.requests,
        "span_s": statistics.span_s,
        "rate_rps": statistics.rate_rps,
        "input_tokens_mean": statistics.input_tokens.map_or(0.0, |s| s.mean),
        "output_tokens_mean": statistics.output_tokens.map_or(0.0, |s| s.mean),
        "pd_ratio": pd_ratio,
        "warnings": loaded.warnings,
        "settings": settings,
        "traffic": Traffic::of(&loaded.trace),
        "bad_rows": {"total": 0, "listed": []},
    })
}

/// What the steps made, and what each has to tell.
pub(super) fn shaped(traffic: &LoadedTrace, notes: &[Note]) -> Json {
    json!({"info": info(traffic), "notes": notes.iter().map(note).collect::<Vec<_>>()})
}

fn note(note: &Note) -> Json {
    let shape = |s: &Shape| json!({"requests": s.requests, "span_s": s.span_s, "rate_rps": s.rate_rps, "gap_cv": s.gap_cv});
    let facts = note.facts.iter().map(|fact| {
        let params: serde_json::Map<String, Json> =
            fact.params.iter().map(|&(name, value)| (name.to_owned(), json!(value))).collect();
        json!({"code": fact.code, "message": fact.to_text(), "params": params})
    });
    json!({
        "step": note.step,
        "before": shape(&note.before),
        "after": shape(&note.after),
        "facts": facts.collect::<Vec<_>>(),
    })
}

/// The table of steps and joins.
pub(super) fn step_kinds() -> Json {
    json!({
        "steps": STEPS.iter().map(step_kind).collect::<Vec<_>>(),
        "joins": JOINS.iter().map(step_kind).collect::<Vec<_>>(),
    })
}

fn step_kind(kind: &StepKind) -> Json {
    json!({
        "name": kind.name,
        "help": kind.help,
        "fields": kind.fields.iter().map(field).collect::<Vec<_>>(),
    })
}

fn field(field: &Field) -> Json {
    let default = match field.default {
        Absence::Number(number) => number.to_string(),
        Absence::FirstOption => field.options.first().copied().unwrap_or_default().to_owned(),
        Absence::Text(text) => text.to_owned(),
        Absence::Empty => String::new(),
    };
    json!({
        "name": field.name,
        "help": field.help,
        "unit": field.unit,
        "kind": field.kind.name(),
        "min": field.min,
        "max": field.max,
        "default": default,
        "optional": field.default == Absence::Empty,
        "options": field.options,
    })
}

/// A step that was refused: the step's own code, at the path of its field.
pub(super) fn refused(at: &str, error: &StepError) -> Json {
    let field = error.field().map_or_else(String::new, |field| format!(".{field}"));
    let params: serde_json::Map<String, Json> =
        error.params().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    json!({
        "code": format!("step.{}", error.code()),
        "path": format!("{at}{field}"),
        "message": error.to_string(),
        "params": params,
    })
}

/// How far each twin is from what it was drawn from, and what is to be said of the fit.
pub(super) fn fitted(fitted: &Fit, source: &Trace, twins: &[(Model, Trace)]) -> Json {
    let number = |x: f64| x.is_finite().then_some(x);
    let rows = twins.iter().map(|(model, twin)| {
        let c = compare(source, twin);
        json!({
            "model": model.name(),
            "about": model.describe(),
            "gaps": number(c.gap_distance),
            "input": number(c.input_distance),
            "output": number(c.output_distance),
            "users": number(c.user_distance),
            "dispersion": WINDOWS_S.map(|window_s| c.dispersion_ratio(window_s)),
        })
    });
    let noticed = fitted.noticed.iter().map(|n| {
        let params: serde_json::Map<String, Json> =
            n.values.iter().map(|&(name, value)| (name.to_owned(), json!(value))).collect();
        json!({"code": n.code, "message": n.message, "params": params})
    });
    let shape = |fit: Option<DistributionDistance>| fit.map(|l| l.shape);
    let length = |fit: &LengthFit| fit.best().map(|l| json!({"law": l.name, "distance": number(l.distance)}));
    let users = fitted.users.as_ref().and_then(|users| {
        let best = users.distributions.iter().min_by(|a, b| a.divergence_nats.total_cmp(&b.divergence_nats))?;
        Some(json!({"law": best.distribution, "parameter": best.parameter, "divergence_nats": number(best.divergence_nats)}))
    });
    json!({
        "models": rows.collect::<Vec<_>>(),
        "noticed": noticed.collect::<Vec<_>>(),
        "laws": {
            "rate_rps": fitted.rate_rps,
            "cv": fitted.gaps.cv,
            "cv_within_minutes": fitted.cv_within_minutes,
            "gamma_shape": shape(fitted.gaps.gamma),
            "weibull_shape": shape(fitted.gaps.weibull),
            "dispersion": WINDOWS_S.map(|w| fitted.dispersion.at(w)),
            "input": length(&fitted.input),
            "output": length(&fitted.output),
            "length_correlation": fitted.length_correlation,
            "users": users,
        },
    })
}
