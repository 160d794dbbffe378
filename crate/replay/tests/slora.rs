//! A server that answers as S-LoRA's `/generate_stream` does.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value as Json;
use servescope_replay::{FailureKind, Target, replay};
use servescope_testkit::server::{ReceivedRequest, STREAM, Server, end};
use servescope_traces::arrivals::trace_of;
use servescope_workload::prompts::Form;

use crate::{limits, plan_of, scenario};

/// An event as S-LoRA writes it: no blank behind the colon.
fn token(stream: &mut TcpStream, finished: &str) -> io::Result<()> {
    let event = format!(
        "data:{{\"token\": {{\"id\": 5, \"text\": \"a\", \"logprob\": -0.5, \"special\": false}}, \"generated_text\": null, \
         \"finished\": {finished}, \"details\": null}}\n\n"
    );
    write!(stream, "{:x}\r\n{event}\r\n", event.len())?;
    stream.flush()
}

#[test]
fn requests_reach_generate_stream_and_every_token_has_a_time() {
    let scenario = scenario(&[
        ("workload.rate_rps", "40"),
        ("workload.duration_s", "0.2"),
        ("workload.adapters.count", "3"),
        ("workload.output_tokens.kind", "uniform"),
        ("workload.output_tokens.low", "2"),
        ("workload.output_tokens.high", "9"),
    ]);
    let trace = trace_of(&scenario, None).unwrap();
    let plan = plan_of(Form::Slora, &scenario, &trace, &limits()).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let of_server = Arc::clone(&received);
    let server = Server::start(move |asked: &ReceivedRequest, stream| {
        let body: Json = serde_json::from_str(&asked.body).unwrap();
        let count = body["parameters"]["max_new_tokens"].as_u64().unwrap();
        of_server.lock().unwrap().push((asked.path.clone(), body));
        stream.write_all(STREAM.as_bytes())?;
        for left in (0..count).rev() {
            sleep(Duration::from_millis(2));
            token(stream, if left == 0 { "true" } else { "false" })?;
        }
        end(stream)
    });
    let outcome = replay(&Target::new(&server.url(), &[]).unwrap(), &plan, &limits(), None, false, |_, _| {});
    assert_eq!(outcome.sent.len(), 8);
    for sent in &outcome.sent {
        assert_eq!(sent.failure, None);
        let tokens = trace.output_tokens[plan.requests[sent.place].id];
        assert_eq!(sent.answer.completion_tokens, Some(tokens));
        assert_eq!(sent.chunks_us.len(), tokens as usize);
        assert!(sent.chunks_us.is_sorted());
    }
    for (path, body) in received.lock().unwrap().iter() {
        assert_eq!(path, "/generate_stream");
        assert!(body.get("stream").is_none(), "{body}");
        assert_eq!(body["parameters"]["ignore_eos"], true);
        assert!(body["inputs"].is_string() && body["lora_dir"].is_string());
    }
}

#[test]
fn an_aborted_request_and_one_that_breaks_off_are_failures() {
    let scenario = scenario(&[("workload.rate_rps", "10"), ("workload.duration_s", "0.1")]);
    let trace = trace_of(&scenario, None).unwrap();
    let plan = plan_of(Form::Slora, &scenario, &trace, &limits()).unwrap();
    for (finished, kind) in [("-1", FailureKind::Garbage), ("false", FailureKind::Closed)] {
        let server = Server::start(move |_: &ReceivedRequest, stream| {
            stream.write_all(STREAM.as_bytes())?;
            token(stream, finished)?;
            end(stream)
        });
        let target = Target::new(&server.url(), &[]).unwrap();
        let outcome = replay(&target, &plan, &limits(), None, false, |_, _| {});
        assert_eq!(outcome.sent[0].failure.as_ref().map(|failure| failure.kind), Some(kind));
    }
}
