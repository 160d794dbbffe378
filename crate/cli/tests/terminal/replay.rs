//! `servescope replay`: requests to a server on loopback, and the overlay of what it answered.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use servescope_testkit::server::{ReceivedRequest, STREAM, Server, end, event, whole};

use crate::{folder, good, json, refused, servescope, stderr, stdout, text};

/// Twelve requests of 40 prompt and 4 output tokens within 0.3 s.
const WORKLOAD: [&str; 16] = [
    "--set",
    "workload.adapters.count=0",
    "--set",
    "workload.rate_rps=40",
    "--set",
    "workload.duration_s=0.3",
    "--set",
    "workload.arrivals.kind=even",
    "--set",
    "workload.input_tokens.kind=fixed",
    "--set",
    "workload.input_tokens.value=40",
    "--set",
    "workload.output_tokens.kind=fixed",
    "--set",
    "workload.output_tokens.value=4",
];

const METRICS: &str = "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"2588\",enable_prefix_caching=\"False\"} 1\n\
                       vllm:kv_cache_usage_perc 0.5\nvllm:num_preemptions_total 7\n";

/// Answers as vLLM does, at once.
fn answer(asked: &ReceivedRequest, stream: &mut TcpStream) -> io::Result<bool> {
    match &*asked.path {
        "/v1/models" => whole(
            stream,
            "200 OK",
            "application/json",
            r#"{"data":[{"id":"llama","root":"meta-llama/Llama-3.1-8B","max_model_len":4096}]}"#,
        ),
        "/version" => whole(stream, "200 OK", "application/json", r#"{"version":"0.11.0"}"#),
        "/metrics" => whole(stream, "200 OK", "text/plain", METRICS),
        _ => {
            stream.write_all(STREAM.as_bytes())?;
            for _ in 0..4 {
                event(stream, r#"{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#)?;
            }
            event(stream, r#"{"choices":[],"usage":{"prompt_tokens":43,"completion_tokens":4}}"#)?;
            event(stream, "[DONE]")?;
            end(stream)
        }
    }
}

fn replay<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["replay", "--url", url][..], &WORKLOAD, more].concat()
}

#[test]
fn a_workload_is_sent_measured_and_laid_over_its_simulation() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let server = Server::start(move |asked, stream| {
        if asked.path.starts_with("/v1/chat") {
            kept.lock().unwrap().push(serde_json::from_str::<Value>(&asked.body).unwrap());
        }
        answer(asked, stream)
    });
    let folder = folder("replay");
    let result = folder.join("run.jsonl");
    let found = json(&replay(&server.url(), &["--json", "-o", text(&result)]));
    let counts = &found["replay"];
    assert_eq!(
        (&counts["sent"], &counts["answered"], &counts["not_sent"]),
        (&12.into(), &12.into(), &0.into())
    );
    assert_eq!((&counts["peak_kv_usage"], &counts["preemptions"]), (&0.5.into(), &0.0.into()));
    assert_eq!(found["requests"].as_array().unwrap().len(), 12);
    assert_eq!(found["scenario"]["scheduler"]["max_total_tokens"], (2588.0 - 1.0) * 16.0);
    assert_eq!(found["scenario"]["fleet"]["model"], "llama-3.1-8b");
    let bodies = std::mem::take(&mut *bodies.lock().unwrap());
    assert_eq!(bodies.len(), 12);
    for body in &bodies {
        assert_eq!(
            (&body["model"], &body["max_tokens"], &body["min_tokens"]),
            (&"llama".into(), &4.into(), &4.into())
        );
        assert_eq!((&body["stream"], &body["stream_options"]["include_usage"]), (&true.into(), &true.into()));
    }
    // The files alone give the same overlay.
    let again = json(&["overlay", text(&result), "--json"]);
    assert_eq!(again["metrics"]["ttft_s"]["measured"], found["metrics"]["ttft_s"]["measured"]);
    assert_eq!(again["scenario"]["scheduler"]["max_total_tokens"], (2588.0 - 1.0) * 16.0);
    assert!(folder.join("run_aiperf.json").exists());
    let in_flight = json(&replay(&server.url(), &["--json", "--concurrency", "3"]));
    assert_eq!(in_flight["in_flight"], 3);
}

#[test]
fn failures_are_counted_and_end_with_one() {
    let turn = Mutex::new(0);
    let server = Server::start(move |asked, stream| {
        let mut turn = turn.lock().unwrap();
        *turn += u32::from(asked.path.starts_with("/v1/chat"));
        if *turn == 5 && asked.path.starts_with("/v1/chat") {
            return whole(stream, "429 Too Many Requests", "application/json", "{\"error\":\"slow down\"}");
        }
        answer(asked, stream)
    });
    let url = server.url();
    let output = servescope(&replay(&url, &[]));
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("12 requests sent in") && printed.contains("11 answered, 1 failed, 0 not sent"),
        "{printed}"
    );
    assert!(printed.contains("1 http_error, for example: HTTP 429: {\"error\":\"slow down\"}"), "{printed}");
    assert!(stdout(&output).contains("AIPerf, 11 requests, sent at their times"), "{}", stdout(&output));
    let unreachable = servescope(&replay("http://127.0.0.1:1", &[]));
    assert_eq!(unreachable.status.code(), Some(1));
    assert!(stderr(&unreachable).contains("http://127.0.0.1:1/v1/models"), "{}", stderr(&unreachable));
}

#[test]
fn only_loopback_is_asked_and_a_dry_run_asks_no_server() {
    let printed = refused(&replay("http://10.1.2.3:8000", &[]));
    assert!(printed.contains("10.1.2.3 is not this machine; add --allow-host 10.1.2.3"), "{printed}");
    assert!(refused(&replay("ftp://localhost:8000", &[])).contains("only http://"));
    let printed = refused(&replay("http://localhost:8000", &["--ca-file", "no/such.pem"]));
    assert!(printed.contains("no https address"), "{printed}");
    let printed = refused(&replay("https://localhost:8000", &["--ca-file", "no/such.pem"]));
    assert!(printed.contains("--ca-file no/such.pem"), "{printed}");
    let (shown, _) = good(&replay("http://10.1.2.3:8000", &["--allow-host", "10.1.2.3", "--dry-run"]));
    assert!(shown.contains("12 requests, 480 prompt tokens, 48 output tokens"), "{shown}");
    assert!(shown.contains("POST http://10.1.2.3:8000/v1/chat/completions\n{\"model\":"), "{shown}");
    for (more, words) in [
        (&["--max-requests", "11"][..], "12 requests are more than --max-requests 11"),
        (&["--max-s", "0.1"], "after --max-s 0.1"),
        (&["--max-s", "0"], "--max-s: 0 is not between"),
        (&["--closed"], "--concurrency N keeps N requests in flight"),
        (&["--form", "aibrix"], "takes vllm or openai, S-LoRA's slora"),
        (&["--api-key-env", "SERVESCOPE_NO_SUCH_KEY"], "is not set"),
    ] {
        let printed = refused(&replay("http://localhost:1", &[more, &["--dry-run"]].concat()));
        assert!(printed.contains(words), "{more:?}: {printed}");
    }
}

#[test]
fn where_every_request_fails_the_error_says_why() {
    let server = Server::start(|asked, stream| {
        if asked.path.starts_with("/v1/chat") {
            return whole(
                stream,
                "500 Internal Server Error",
                "application/json",
                "{\"error\":\"no memory\"}",
            );
        }
        answer(asked, stream)
    });
    let output = servescope(&replay(&server.url(), &[]));
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.contains("no request was answered: 12 http_error, for example: HTTP 500"), "{printed}");
}
