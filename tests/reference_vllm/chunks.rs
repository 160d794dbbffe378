//! Runs of sessions whose input comes in chunks (`streaming_*`): each chunk becomes a request with all that was said in its prompt, and
//! what the run tells of a session is told of its chunks.

use serde_json::{Value, json};
use servescope_tests::recorded_runs::{list, number, whole};

/// Chunks have numbers behind that of their session.
const MOST_CHUNKS: u64 = 1_000;

/// Tokens of different sessions differ.
const MOST_TOKENS: u64 = 1_000_000;

/// A chunk: its number, its prompt with all that was said, its answer, and when it comes.
struct Chunk {
    id: u64,
    prompt: u64,
    answer: u64,
    at_us: f64,
}

/// The chunks of a request; a request that is no session is one.
fn chunks_of(request: &Value) -> Vec<Chunk> {
    let first = u64::from(whole(request, "id")) * MOST_CHUNKS;
    let (parts, time) = match request["chunks"].as_array() {
        Some(parts) => (&parts[..], "at_us"),
        None => (std::slice::from_ref(request), "arrival_us"),
    };
    let mut computed = 0;
    let chunk = |(id, part): (u64, &Value)| {
        let [input, answer] = ["input_tokens", "output_tokens"].map(|key| u64::from(whole(part, key)));
        let prompt = computed + input;
        // The last token of an answer is not computed, and dropped.
        computed = prompt + answer - 1;
        Chunk { id, prompt, answer, at_us: number(part, time) }
    };
    (first..).zip(parts).map(chunk).collect()
}

/// The run with a request for each chunk, of one engine.
pub(crate) fn in_requests(file: &Value) -> Value {
    let caches = file["engines"][0]["enable_prefix_caching"] == true;
    let requests = list(file, "requests");
    let as_requests = |request| requests_of(request, caches);
    let engine = file["iterations"][0].as_array().expect("iterations");
    let iterations: Vec<Value> = engine.iter().map(|own| renamed(own, list(file, "results"))).collect();
    let results = list(file, "results").iter().flat_map(|result| {
        let request = requests.iter().find(|request| request["id"] == result["id"]).expect("its request");
        results_of(request, result, &iterations)
    });
    let mut told = file.clone();
    told["deployment"] = json!("one");
    told["results"] = results.collect();
    told["requests"] = requests.iter().flat_map(as_requests).collect();
    told["iterations"] = json!([iterations]);
    told
}

fn requests_of(request: &Value, caches: bool) -> Vec<Value> {
    let session = &request["id"];
    let base = session.as_u64().expect("an id") * MOST_TOKENS;
    let chunks = chunks_of(request);
    let last = chunks.len() - 1;
    let of = |(place, chunk): (usize, &Chunk)| {
        let Chunk { id, prompt, answer, at_us } = *chunk;
        let mut own = json!({
            "id": id, "arrival_us": at_us, "input_tokens": prompt, "output_tokens": answer,
            "session": session.to_string(), "goes_on": place > 0,
        });
        if place == last && !request["end_us"].is_null() {
            own["open_until_us"] = request["end_us"].clone();
        }
        if caches {
            own["tokens"] = (base..base + prompt).collect();
            let dropped = base + MOST_TOKENS / 2 + id % MOST_CHUNKS;
            own["answer"] = (base + prompt..base + prompt + answer - 1).chain([dropped]).collect();
        }
        own
    };
    chunks.iter().enumerate().map(of).collect()
}

/// An iteration whose requests are chunks: of a session that whose answer had not ended when it was formed.
fn renamed(iteration: &Value, results: &[Value]) -> Value {
    let decided_us = number(iteration, "decided_us");
    let chunk = |session: &Value| {
        let result = results.iter().find(|result| result["id"] == *session).expect("a result");
        let ends = result["chunk_ends_us"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let ended = ends.filter(|&end_us| end_us <= decided_us).count() as u64;
        json!(session.as_u64().expect("an id") * MOST_CHUNKS + ended)
    };
    let mut iteration = iteration.clone();
    for own in iteration["scheduled"].as_array_mut().expect("requests") {
        own["id"] = chunk(&own["id"]);
    }
    for own in iteration["preempted"].as_array_mut().expect("requests") {
        *own = chunk(own);
    }
    iteration
}

/// What the run tells of each chunk: ends, and what was cached at each admission, of the session; the rest by its iterations.
fn results_of(request: &Value, result: &Value, iterations: &[Value]) -> Vec<Value> {
    let mut cached = list(result, "cached_tokens").iter();
    let of = |(place, chunk): (usize, &Chunk)| {
        let members = iterations.iter().flat_map(|iteration| {
            let own = list(iteration, "scheduled").iter().filter(|own| own["id"] == chunk.id);
            own.map(move |own| (iteration, own))
        });
        let members: Vec<(&Value, &Value)> = members.collect();
        let reads_last = |(_, own): &&(&Value, &Value)| {
            u64::from(whole(own, "computed") + whole(own, "tokens")) == chunk.prompt
        };
        let first = members.first().map_or(f64::NAN, |(iteration, _)| number(iteration, "decided_us"));
        let token = members.iter().find(reads_last).map_or(f64::NAN, |(iteration, _)| {
            number(iteration, "start_us") + number(iteration, "duration_us")
        });
        let admissions = members.iter().filter(|(_, own)| own["admitted"] == true).count();
        let preempted = |iteration: &&Value| list(iteration, "preempted").contains(&json!(chunk.id));
        let ends = result["chunk_ends_us"].get(place).unwrap_or(&result["finish_us"]);
        json!({
            "id": chunk.id, "outcome": result["outcome"], "first_scheduled_us": first, "first_token_us": token,
            "finish_us": ends, "produced": chunk.answer,
            "preemptions": iterations.iter().filter(preempted).count(),
            "cached_tokens": cached.by_ref().take(admissions).collect::<Vec<_>>(),
        })
    };
    let told: Vec<Value> = chunks_of(request).iter().enumerate().map(of).collect();
    let sum = |key: &str| told.iter().map(|own| whole(own, key)).sum::<u32>();
    for key in ["produced", "preemptions"] {
        assert_eq!(sum(key), whole(result, key), "{key} of session {}", result["id"]);
    }
    for key in ["first_scheduled_us", "first_token_us"] {
        assert_eq!(told[0][key], result[key], "{key} of session {}", result["id"]);
    }
    told
}
