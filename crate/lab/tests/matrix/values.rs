//! Values to try for a parameter, made from its row of the parameter table.

use servescope_settings::parameters::{Id, Kind, Value};
use servescope_settings::scenario::Scenario;

/// Values within the bounds that differ from the one it has: names, ends and middle of the slider, halves and doubles.
pub(crate) fn values(scenario: &Scenario, id: Id) -> Vec<Value> {
    let row = id.row();
    let now = scenario.get(id);
    let mut values: Vec<Value> = match row.kind {
        Kind::Choice(names) => names.iter().map(|&name| Value::Choice(name)).collect(),
        Kind::Flag(_) => vec![Value::Flag(true), Value::Flag(false)],
        Kind::Number { .. } | Kind::Whole { .. } => numbers(id, &now),
        Kind::List { .. } => lists(&now),
        Kind::Text { .. } => texts(id),
    };
    values.retain(|value| *value != now && row.check(value).is_ok());
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

fn numbers(id: Id, now: &Value) -> Vec<Value> {
    let row = id.row();
    let is_whole = matches!(row.kind, Kind::Whole { .. });
    let (min, max) = row.bounds().expect("numbers have bounds");
    let Value::Number(now) = *now else { return Vec::new() };
    let slider = row.slider.map_or((min, max.min(1000.0)), |s| (s.min, s.max));
    let middle = if slider.0 > 0.0 { (slider.0 * slider.1).sqrt() } else { 0.5 * (slider.0 + slider.1) };
    // A bound is first tried neither so tight that nothing passes nor so loose that everything does.
    let tried = [
        &[2.0 * now, 0.5 * now, 0.1 * now][..],
        &[3.0, 600.0, 30.0, 1.0, 0.3, 0.01],
        &[10.0 * now, middle, slider.0, slider.1, min],
    ]
    .concat();
    let tidy = |x: f64| if is_whole { x.round() } else { x };
    tried.iter().map(|&x| Value::Number(tidy(x.clamp(min, max)))).collect()
}

fn lists(now: &Value) -> Vec<Value> {
    let Value::List(now) = now else { return Vec::new() };
    let first = |factor: f64, add: f64| {
        let mut list = now.clone();
        list[0] = list[0] * factor + add;
        list
    };
    let last = |factor: f64| {
        let mut list = now.clone();
        *list.last_mut().expect("a list has an entry") *= factor;
        list
    };
    let longer = [now.as_slice(), &[1.0, 4.0]].concat();
    let lists = [
        last(2.0),
        first(2.0, 0.0),
        first(1.0, 1.0),
        vec![1.0, 4.0],
        vec![0.0, 1.0],
        longer,
        vec![4.0],
        vec![64.0, 8.0],
    ];
    lists.into_iter().map(Value::List).collect()
}

/// Words of the fields of text; every other text would be rejected.
fn texts(id: Id) -> Vec<Value> {
    let words: &[&str] = match id {
        Id::GatewayChecks => {
            &["rpm|tpm|concurrency|queue|kv|ttft", "kv", "none", "tpm|rpm|kv", "queue|concurrency"]
        }
        Id::CapacityGrid => &["workload.input_tokens.high=200,250"],
        Id::DecodePool => &["scheduler.max_num_batched_tokens=64"],
        _ => &["END"],
    };
    words.iter().map(|&text| Value::Text(text.to_owned())).collect()
}
