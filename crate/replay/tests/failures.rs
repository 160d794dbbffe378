//! Servers that fail: each failure has a kind and a message, and the run ends.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use servescope_evidence::overlay::read;
use servescope_replay::FailureKind as Kind;
use servescope_replay::{
    Companion, Facts, MAX_EVENT_BYTES, PlanError, ReplayLimits, ReplayOutcome, ReplayPlan, Target,
};
use servescope_replay::{companion, facts, lines, replay};
use servescope_settings::profiles::NamedText;
use servescope_testkit::server::{ReceivedRequest, STREAM, Server, end, event, whole};

use crate::{limits, some};

/// A bound on silence alone, so that nothing else can end a request first.
fn silence() -> ReplayLimits {
    ReplayLimits { silence_s: 1.0, ..limits() }
}

/// A bound on the time of a request alone.
fn slow() -> ReplayLimits {
    ReplayLimits { request_s: 1.5, ..limits() }
}

fn send(
    plan: &ReplayPlan,
    limits: &ReplayLimits,
    answer: impl Fn(&ReceivedRequest, &mut TcpStream) -> io::Result<bool> + Send + Sync + 'static,
) -> ReplayOutcome {
    let server = Server::start(answer);
    let target = Target::new(&server.url(), &[]).unwrap();
    let outcome = replay(&target, plan, limits, None, false, |_, _| {});
    assert_eq!(outcome.sent.len() + outcome.not_sent, plan.requests.len());
    outcome
}

/// Why each of two requests failed, which is the same.
fn failure(
    limits: &ReplayLimits,
    answer: impl Fn(&ReceivedRequest, &mut TcpStream) -> io::Result<bool> + Send + Sync + 'static,
) -> (Kind, String) {
    let (_, plan) = some(2);
    let outcome = send(&plan, limits, answer);
    let failures: Vec<(Kind, String)> = outcome
        .sent
        .iter()
        .map(|sent| {
            sent.failure.as_ref().map(|failure| (failure.kind, failure.message.clone())).expect("it fails")
        })
        .collect();
    assert_eq!(failures.len(), 2);
    assert_eq!(failures[0].0, failures[1].0, "{failures:?}");
    failures[0].clone()
}

fn token(stream: &mut TcpStream) -> io::Result<()> {
    event(stream, r#"{"choices":[{"index":0,"text":"a","finish_reason":null}]}"#)
}

/// An answer of four tokens, with usage or without.
fn good(stream: &mut TcpStream, with_usage: bool) -> io::Result<bool> {
    stream.write_all(STREAM.as_bytes())?;
    (0..4).try_for_each(|_| token(stream))?;
    if with_usage {
        event(stream, r#"{"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":4}}"#)?;
    }
    event(stream, "[DONE]")?;
    end(stream)
}

fn nap(ms: u64) {
    sleep(Duration::from_millis(ms));
}

#[test]
fn http_errors_and_redirects_are_told_with_what_the_server_says() {
    let (kind, message) = failure(&limits(), |_, stream| {
        whole(stream, "503 Service Unavailable", "text/plain", "over\nloaded")
    });
    assert_eq!((kind, &*message), (Kind::Status, "HTTP 503: over loaded"));
    let (kind, message) = failure(&limits(), |_, stream| {
        stream
            .write_all(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")?;
        Ok(true)
    });
    assert_eq!((kind, &message[..8]), (Kind::Status, "HTTP 302"));
}

#[test]
fn a_server_that_answers_garbage_is_told() {
    for (answer, kind, words) in [
        (&b"\x00\x01 what\r\n\r\n"[..], Kind::Garbage, "no HTTP answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}", Kind::Garbage, "not text/event-stream"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 13\r\n\r\ndata: <html>\n", Kind::Closed, "broke off after 0"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 14\r\n\r\ndata: <html>\n\n", Kind::Garbage, "no JSON"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 14\r\n\r\ndata: [DONE]\n\n", Kind::Garbage, "no text"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", Kind::Closed, "broke off"),
    ] {
        let (found, message) = failure(&limits(), move |_, stream| stream.write_all(answer).map(|()| false));
        assert!(found == kind && message.contains(words), "{}: {found:?} {message}", String::from_utf8_lossy(answer));
    }
    let (kind, message) = failure(&limits(), |_, stream| {
        stream.write_all(STREAM.as_bytes())?;
        token(stream)?;
        event(stream, r#"{"error":{"message":"CUDA out of memory","type":"x","code":500}}"#)?;
        end(stream)
    });
    assert_eq!((kind, &*message), (Kind::Garbage, "the server says: CUDA out of memory"));
    let (kind, _) = failure(&limits(), |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")?;
        let piece = vec![b'x'; 1 << 16];
        (0..=MAX_EVENT_BYTES >> 16).try_for_each(|_| stream.write_all(&piece))?;
        Ok(false)
    });
    assert_eq!(kind, Kind::TooLong);
}

#[test]
fn a_server_that_is_silent_stalls_or_drips_does_not_hold_the_run() {
    let (kind, message) = failure(&silence(), |_, _| {
        nap(1_500);
        Ok(false)
    });
    assert_eq!((kind, &*message), (Kind::NoAnswer, "no answer began within 1 s"));
    let (kind, message) = failure(&silence(), |_, stream| {
        stream.write_all(STREAM.as_bytes())?;
        token(stream)?;
        token(stream)?;
        nap(1_500);
        Ok(false)
    });
    assert_eq!((kind, &*message), (Kind::Stalled, "nothing came for 1 s after 2 chunks"));
    let (kind, _) = failure(&slow(), |_, stream| {
        for byte in STREAM.bytes() {
            stream.write_all(&[byte])?;
            nap(20);
        }
        Ok(false)
    });
    assert_eq!(kind, Kind::TooSlow);
    let (kind, message) = failure(&slow(), |_, stream| {
        stream.write_all(STREAM.as_bytes())?;
        loop {
            token(stream)?;
            nap(20);
        }
    });
    assert!(kind == Kind::TooSlow && message.starts_with("not ended 1.5 s after it was sent"), "{message}");
}

#[test]
fn a_connection_that_ends_in_the_middle_is_told() {
    let (kind, message) = failure(&limits(), |_, stream| {
        stream.write_all(STREAM.as_bytes())?;
        token(stream)?;
        Ok(false)
    });
    assert!(kind == Kind::Closed && message.contains("after 1 chunks"), "{kind:?} {message}");
    let (kind, message) = failure(&limits(), |_, stream| {
        stream.write_all(STREAM.as_bytes())?;
        token(stream)?;
        end(stream)
    });
    assert!(kind == Kind::Closed && message.contains("after 1 chunks"), "{kind:?} {message}");
    let (kind, _) = failure(&limits(), |_, _| Ok(false));
    assert!(matches!(kind, Kind::Closed | Kind::Garbage), "{kind:?}");
    let target = Target::new("http://127.0.0.1:1", &[]).unwrap();
    let (_, plan) = some(1);
    let outcome = replay(&target, &plan, &limits(), None, true, |_, _| {});
    assert_eq!(outcome.sent[0].failure.as_ref().map(|failure| failure.kind), Some(Kind::Connect));
    assert!(facts(&target, None).is_err());
}

#[test]
fn failed_requests_are_left_out_of_the_result_and_counted() {
    let (_, plan) = some(6);
    let count = AtomicUsize::new(0);
    let outcome = send(&plan, &limits(), move |_, stream| match count.fetch_add(1, Ordering::Relaxed) % 3 {
        0 => whole(stream, "500 Internal Server Error", "text/plain", "no"),
        1 => good(stream, true),
        _ => good(stream, false),
    });
    assert_eq!(outcome.sent.iter().filter(|sent| sent.failure.is_some()).count(), 2);
    assert_eq!(outcome.sent.iter().filter(|sent| sent.answer.completion_tokens.is_some()).count(), 2);
    let facts = Facts { stated: vec![("num_gpu_blocks".to_owned(), "2588".to_owned())], ..Facts::default() };
    let beside = companion(&outcome, &Companion { model: "m", concurrency: None, facts: &facts }).to_string();
    let own = lines(&outcome, &plan);
    let measured = read(NamedText { name: "a.jsonl", text: &own }, |_| Some(&*beside)).unwrap();
    assert_eq!(
        (measured.requests.len(), &*measured.notes[0]),
        (4, "2 of 6 requests failed in the measured run and are left out")
    );
    // Without usage a chunk counts as a token.
    assert!(measured.requests.iter().all(|request| request.output_tokens == 4));
    let described =
        [("num_gpu_blocks", "2588"), ("model", "m")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(measured.reported, described);
}

#[test]
fn the_end_of_the_run_cuts_off_what_is_in_flight_and_sends_no_more() {
    let (scenario, mut plan) = some(4);
    plan.requests[3].due_us = 5e6;
    plan.requests[2].after = Some(1);
    let limits = ReplayLimits { run_s: 1.5, request_s: 10.0, silence_s: 10.0, ..limits() };
    let outcome = send(&plan, &limits, |_, stream| {
        stream.write_all(STREAM.as_bytes())?;
        token(stream)?;
        nap(5_000);
        Ok(false)
    });
    let kinds: Vec<Kind> = outcome.sent.iter().map(|sent| sent.failure.as_ref().unwrap().kind).collect();
    assert_eq!((kinds, outcome.not_sent), (vec![Kind::Cut, Kind::Cut], 2));
    let trace = servescope_traces::arrivals::trace_of(&scenario, None).unwrap();
    let refused = |limits: ReplayLimits| crate::plan(&scenario, &trace, &limits).unwrap_err();
    assert_eq!(refused(ReplayLimits { requests: 3, ..limits }), PlanError::Requests(4, 3));
    assert!(matches!(refused(ReplayLimits { run_s: 0.001, ..limits }), PlanError::Time(..)));
}
