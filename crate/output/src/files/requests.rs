//! What became of every request: as columns, and as `requests.csv`.

use std::fmt::Write as _;

use servescope_engine::metrics::departures::left_us;
use servescope_engine::{Outcome, Report};
use servescope_workload::BASE_MODEL;

/// A column of the requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Ids, tokens, counts.
    Whole(Vec<i64>),
    /// Seconds; none where the request has none.
    Seconds(Vec<Option<f64>>),
    /// Names.
    Names(Vec<&'static str>),
}

/// A column with its name, whose end is the unit.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestColumn {
    /// As in the header of `requests.csv`.
    pub name: &'static str,
    /// One for each request, in the order of their ids.
    pub values: Values,
}

/// The columns of `requests.csv`: one value a request, times in seconds, none where there is none. `finish_reason` is `length` where
/// vLLM v1 cut the output at `max_model_len`, and `stop` where all of it was made. `left_s` is when it left the system, whatever
/// its outcome. `cached_tokens` of its prompt were found in the KV cache when it was first admitted, `host_tokens` in host memory.
pub fn request_columns(report: &Report) -> Vec<RequestColumn> {
    let ids = || 0..report.results.len();
    let whole = |name, of: &dyn Fn(usize) -> i64| RequestColumn {
        name,
        values: Values::Whole(ids().map(of).collect()),
    };
    let seconds = |name, of_us: &dyn Fn(usize) -> Option<f64>| {
        let values = ids().map(|id| of_us(id).map(|us| us / 1e6)).collect();
        RequestColumn { name, values: Values::Seconds(values) }
    };
    let request = |id| report.trace.request(id);
    let adapter = |id| match request(id).adapter {
        BASE_MODEL => -1,
        adapter => i64::from(adapter),
    };
    let part = |place: usize| move |id: usize| report.split(id).map(|split| split.parts()[place]);
    let left_us = left_us(report).0;
    let has_left = |id: usize| report.results[id].outcome != Outcome::Unfinished;
    let finish_reason = |id: usize| match report.cut_tokens(id) {
        _ if !report.is_completed(id) => "",
        0 => "stop",
        _ => "length",
    };
    let found = |id: usize| report.found_prompt(id).unwrap_or_default();
    let outcomes = report.results.iter().map(|result| result.outcome.name()).collect();
    vec![
        whole("id", &|id| id as i64),
        seconds("arrival_s", &|id| Some(request(id).arrival_us)),
        whole("user", &|id| request(id).user.into()),
        whole("adapter", &adapter),
        whole("input_tokens", &|id| request(id).input_tokens.into()),
        whole("output_tokens", &|id| request(id).output_tokens.into()),
        whole("max_tokens", &|id| request(id).max_tokens.into()),
        whole("replica", &|id| i64::from(report.replica(id).get())),
        RequestColumn { name: "outcome", values: Values::Names(outcomes) },
        seconds("scheduled_s", &|id| report.scheduled_us(id)),
        seconds("first_token_s", &|id| report.first_token_us(id)),
        seconds("finish_s", &|id| report.results[id].finish_us),
        whole("preemptions", &|id| i64::from(report.preemptions(id))),
        seconds("queue_s", &part(0)),
        seconds("adapter_load_s", &part(1)),
        seconds("prefill_s", &part(2)),
        seconds("stalled_s", &part(3)),
        seconds("decode_s", &part(4)),
        seconds("left_s", &|id| has_left(id).then(|| left_us[id])),
        whole("made_tokens", &|id| report.results[id].produced.into()),
        RequestColumn { name: "finish_reason", values: Values::Names(ids().map(finish_reason).collect()) },
        whole("cached_tokens", &|id| found(id).cached_tokens.into()),
        whole("host_tokens", &|id| found(id).host_tokens.into()),
    ]
}

/// `requests.csv`: the columns, a row a request.
pub fn requests_csv(report: &Report) -> String {
    let columns = request_columns(report);
    let mut text = String::with_capacity(report.results.len() * 96);
    text.push_str(&columns.iter().map(|column| column.name).collect::<Vec<_>>().join(","));
    text.push('\n');
    for id in 0..report.results.len() {
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            let _ = match &column.values {
                Values::Whole(values) => write!(text, "{}", values[id]),
                Values::Seconds(values) => values[id].map_or(Ok(()), |s| write!(text, "{s}")),
                Values::Names(values) => text.write_str(values[id]),
            };
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use servescope_lab::run::Run;
    use servescope_settings::scenario::Scenario;
    use servescope_traces::loaded_trace::LoadedTrace;

    use super::*;

    #[test]
    fn an_output_that_is_cut_ends_by_its_length() {
        let rows = "arrival_s,input_tokens,output_tokens\n0,2000,4000\n1,2000,4000\n2,10,20";
        let loaded = LoadedTrace::read("t.csv", rows.as_bytes()).unwrap();
        let settings = [("scheduler.kind", "vllm_v1"), ("scheduler.max_request_tokens", "3072")];
        let run = Run::simulate(&Scenario::of_version(4).with(&settings).unwrap(), Some(&loaded)).unwrap();
        let csv = requests_csv(&run.report);
        let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
        let column = |name: &str| -> Vec<&str> {
            let place = rows[0].iter().position(|other| *other == name).expect("a column");
            rows[1..].iter().map(|row| row[place]).collect()
        };
        assert_eq!(column("made_tokens"), ["1072", "1072", "20"]);
        assert_eq!(column("finish_reason"), ["length", "length", "stop"]);
    }
}
