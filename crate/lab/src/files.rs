//! The files of `--out`: requests, batches, and a Chrome trace.

use std::fmt::Write as _;

use servescope_engine::Report;
use servescope_engine::timeline::{IterationRun, Span};
use servescope_workload::BASE_MODEL;

/// `requests.csv`: one row a request, times in seconds, empty where there is none.
pub fn requests_csv(report: &Report) -> String {
    let mut text = String::with_capacity(report.fates.len() * 96);
    text.push_str(
        "id,arrival_s,user,adapter,input_tokens,output_tokens,max_tokens,replica,outcome,scheduled_s,first_token_s,\
         finish_s,preemptions,queue_s,adapter_load_s,prefill_s,stalled_s,decode_s\n",
    );
    for (id, fate) in report.fates.iter().enumerate() {
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
            fate.outcome.name()
        );
        for time in [report.scheduled_us(id), report.first_token_us(id), fate.finish_us] {
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
        text.push('\n');
    }
    text
}

/// `batches.csv`: one row an iteration. A run of decode iterations is written out one by one.
pub fn batches_csv(report: &Report) -> String {
    let mut text = String::from(
        "id,replica,kind,start_s,duration_s,adapter_load_s,requests,prefill_tokens,decode_tokens,kv_tokens,\
         adapters_resident\n",
    );
    let mut id = 0u64;
    for span in report.timeline.spans() {
        match span {
            Span::Prefill(p) => {
                let _ = writeln!(
                    text,
                    "{id},0,prefill,{},{},{},{},{},0,{},{}",
                    (p.end_us - p.prefill_us) / 1e6,
                    p.prefill_us / 1e6,
                    p.load_us / 1e6,
                    p.requests,
                    p.tokens,
                    p.kv_tokens,
                    p.resident
                );
                id += 1;
            }
            Span::Decode(d) => {
                let mut start = d.start_us;
                for i in 0..d.iterations {
                    let k = f64::from(i);
                    let duration = d.first_us + k * d.growth_us;
                    let kv = f64::from(d.kv_tokens) + k * f64::from(d.requests);
                    let _ = writeln!(
                        text,
                        "{id},0,decode,{},{},0,{},0,{},{kv},{}",
                        start / 1e6,
                        duration / 1e6,
                        d.requests,
                        d.requests,
                        d.resident
                    );
                    id += 1;
                    start = d.start_us + (k + 1.0) * d.first_us + d.growth_us * (k * (k + 1.0) * 0.5);
                }
            }
            Span::Iterations(run) => write_iterations(&mut text, &mut id, &run),
        }
    }
    text
}

/// What an iteration of a fleet's replica does.
fn kind(run: &IterationRun) -> &'static str {
    match (run.prompts, run.decodes) {
        (_, 0) => "prefill",
        (0, _) => "decode",
        _ => "mixed",
    }
}

/// The iterations of a fleet's replica, one a row.
fn write_iterations(text: &mut String, id: &mut u64, run: &IterationRun) {
    for i in 0..run.iterations {
        let k = f64::from(i);
        let start = run.start_us + k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5);
        let _ = writeln!(
            text,
            "{id},{},{},{},{},0,{},{},{},{},0",
            run.replica,
            kind(run),
            start / 1e6,
            (run.first_us + k * run.growth_us) / 1e6,
            run.requests(),
            run.prompt_tokens,
            run.decodes,
            run.kv_tokens + k * f64::from(run.decodes)
        );
        *id += 1;
    }
}

/// `trace.json` in Chrome's trace event format: a lane for each replica's GPU. Runs of decode iterations are one slice each.
pub fn chrome_trace(report: &Report) -> String {
    let mut events = Vec::new();
    for replica in 0..report.replicas {
        events.push(format!(
            r#"{{"ph":"M","pid":{replica},"tid":0,"name":"process_name","args":{{"name":"replica {replica}"}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"M","pid":{replica},"tid":0,"name":"thread_name","args":{{"name":"GPU"}}}}"#
        ));
    }
    let mut slice = |replica: u16, name: &str, start: f64, duration: f64, args: &str| {
        events.push(format!(
            r#"{{"ph":"X","pid":{replica},"tid":0,"name":"{name}","ts":{start},"dur":{duration},"args":{{{args}}}}}"#
        ));
    };
    for span in report.timeline.spans() {
        match span {
            Span::Prefill(p) => {
                if p.load_us > 0.0 {
                    slice(0, "adapter load", p.start_us, p.load_us, &format!(r#""resident":{}"#, p.resident));
                }
                let args =
                    format!(r#""requests":{},"tokens":{},"stalled":{}"#, p.requests, p.tokens, p.stalled);
                slice(0, "prefill", p.end_us - p.prefill_us, p.prefill_us, &args);
            }
            Span::Decode(d) => {
                let args = format!(
                    r#""requests":{},"iterations":{},"kv_tokens":{}"#,
                    d.requests, d.iterations, d.kv_tokens
                );
                slice(0, "decode", d.start_us, d.end_us - d.start_us, &args);
            }
            Span::Iterations(run) => {
                let args = format!(
                    r#""requests":{},"iterations":{},"prompt_tokens":{},"kv_tokens":{},"blocks":{}"#,
                    run.requests(),
                    run.iterations,
                    run.prompt_tokens,
                    run.kv_tokens,
                    run.blocks
                );
                slice(run.replica, kind(&run), run.start_us, run.end_us - run.start_us, &args);
            }
        }
    }
    format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}
