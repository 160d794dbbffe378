//! Any bytes as what a server under load sends: a stream of events, in two pieces as in one; its models, version and metrics.
//! Read or rejected, never a panic or a number that is none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_replay::{Answer, EventReader, Exposition, Facts, usage};

fn events(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let (mut reader, mut events) = (EventReader::default(), Vec::new());
    for piece in pieces {
        if reader.read(piece, |data| events.push(data.to_vec())).is_err() {
            break;
        }
    }
    events
}

fuzz_target!(|bytes: &[u8]| {
    let whole = events(&[bytes]);
    let (head, tail) = bytes.split_at(bytes.len() / 2);
    assert_eq!(events(&[head, tail]), whole);
    let mut answer = Answer::default();
    for event in &whole {
        let _ = answer.take(event);
    }
    assert!(answer.chunks <= whole.len());
    let text = String::from_utf8_lossy(bytes);
    let exposition = Exposition::read(&text);
    assert!(exposition.samples.iter().all(|sample| sample.value.is_finite()));
    let mut facts = Facts::default();
    facts.models(&text);
    facts.version(&text);
    facts.metrics(&exposition);
    let first = usage(&exposition);
    let over = first.then(first).since(&first);
    let numbers = [over.peak_kv, over.peak_running, over.peak_waiting, over.preemptions, over.prefix_queries];
    assert!(numbers.iter().flatten().all(|x| x.is_finite()), "{over:?}");
});
