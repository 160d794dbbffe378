//! `requests.csv`: what became of every request.

use std::fmt::Write as _;

use servescope_engine::metrics::departures::left_us;
use servescope_engine::{Outcome, Report};
use servescope_workload::BASE_MODEL;

/// `requests.csv`: one row a request, times in seconds, empty where there is none. `left_s` is when it left the system, whatever
/// its outcome.
pub fn requests_csv(report: &Report) -> String {
    let mut text = String::with_capacity(report.results.len() * 96);
    text.push_str(
        "id,arrival_s,user,adapter,input_tokens,output_tokens,max_tokens,replica,outcome,scheduled_s,first_token_s,\
         finish_s,preemptions,queue_s,adapter_load_s,prefill_s,stalled_s,decode_s,left_s\n",
    );
    let left_us = left_us(report).0;
    for (id, result) in report.results.iter().enumerate() {
        let r = report.trace.request(id);
        let adapter = if r.adapter == BASE_MODEL { -1 } else { i64::from(r.adapter) };
        let _ = write!(
            text,
            "{id},{},{},{adapter},{},{},{},{},{}",
            r.arrival_us / 1e6,
            r.user,
            r.input_tokens,
            r.output_tokens,
            r.max_tokens,
            report.replica(id),
            result.outcome.name()
        );
        for time in [report.scheduled_us(id), report.first_token_us(id), result.finish_us] {
            text.push(',');
            if let Some(us) = time {
                let _ = write!(text, "{}", us / 1e6);
            }
        }
        let _ = write!(text, ",{}", report.preemptions(id));
        match report.split(id) {
            Some(split) => split.parts().iter().for_each(|us| {
                let _ = write!(text, ",{}", us / 1e6);
            }),
            None => text.push_str(",,,,,"),
        }
        text.push(',');
        if result.outcome != Outcome::Unfinished {
            let _ = write!(text, "{}", left_us[id] / 1e6);
        }
        text.push('\n');
    }
    text
}
