//! Lengths of the requests in a file, with times or without, for a generated workload.

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::trace_error;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_workload::formats::{self, Contents};

/// How many pairs of lengths were taken from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenLengths {
    /// Pairs that the scenario draws from.
    pub taken: usize,
    /// Pairs of the file.
    pub pairs: usize,
}

/// Has a scenario draw its pairs of lengths from a file. Of more than `most` pairs, as many are taken that stand at equal distances
/// in their order by prompt and output.
///
/// # Errors
/// That it is no file of requests, or that none has both lengths.
pub fn take_lengths(
    scenario: &mut Scenario,
    name: &str,
    bytes: &[u8],
    most: usize,
) -> Result<TakenLengths, Diagnostic> {
    let file = formats::open(bytes).map_err(|error| trace_error(name, bytes, &error))?;
    let (inputs, outputs) = if let Contents::Lengths(lengths) = file.contents {
        (lengths.input_tokens, lengths.output_tokens)
    } else {
        let trace = file.into_trace().map_err(|error| Diagnostic::of_file(name, &error))?.trace;
        (trace.input_tokens, trace.output_tokens)
    };
    // Requests that failed have none.
    let has_both = |&(input, output): &(u32, u32)| input > 0 && output > 0;
    let mut pairs: Vec<(u32, u32)> = inputs.into_iter().zip(outputs).filter(has_both).collect();
    let all = pairs.len();
    if all == 0 {
        let text = "no request has both a prompt and an answer, or a bound on its answer (max_tokens)";
        return Err(Diagnostic::error("no_lengths", name, format!("{name}: {text}")).text("file", name));
    }
    if all > most {
        pairs.sort_unstable();
        pairs = (0..most).map(|place| pairs[(2 * place + 1) * all / (2 * most)]).collect();
    }
    let numbers: Vec<f64> = pairs.iter().flat_map(|&(input, output)| [input.into(), output.into()]).collect();
    scenario.set(Id::LengthPairs, Value::List(numbers))?;
    scenario.set_text(Id::LengthSource.row().id, "pairs")?;
    Ok(TakenLengths { taken: pairs.len(), pairs: all })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn pairs_of_a_file_without_times_are_drawn_from() {
        let mut file = "num_prefill_tokens,num_decode_tokens\n".to_owned();
        (0..1_000).for_each(|i| writeln!(file, "{},{i}", 1 + i * 7 % 1_000).unwrap());
        let mut scenario = Scenario::of_version(4);
        let taken = take_lengths(&mut scenario, "a.csv", file.as_bytes(), usize::MAX).unwrap();
        assert_eq!(taken, TakenLengths { taken: 999, pairs: 999 });
        assert_eq!(Scenario::from_json(&scenario.to_json()).1, []);
        let mean = |scenario: &Scenario| {
            let json = scenario.to_json();
            let lengths = json["workload"]["lengths"]["pairs"].as_array().unwrap();
            let prompts = lengths.iter().step_by(2).filter_map(serde_json::Value::as_f64);
            prompts.sum::<f64>() / (lengths.len() / 2) as f64
        };
        let mut fewer = Scenario::of_version(4);
        let taken = take_lengths(&mut fewer, "a.csv", file.as_bytes(), 50).unwrap();
        assert_eq!(taken, TakenLengths { taken: 50, pairs: 999 });
        assert!((mean(&fewer) / mean(&scenario) - 1.0).abs() < 0.01, "{} {}", mean(&fewer), mean(&scenario));
    }

    #[test]
    fn a_file_without_lengths_is_refused_by_name() {
        let code = |text: &str| {
            let error = take_lengths(&mut Scenario::of_version(4), "a", text.as_bytes(), 9).unwrap_err();
            assert!(error.message.starts_with("a: "), "{}", error.message);
            error.code
        };
        assert_eq!(code("num_prefill_tokens,num_decode_tokens\n3,0\n"), "no_lengths");
        assert_eq!(
            code("client_id,window_start_s,rate,cv,pattern,param1,param2\n0,0,0.8,0.5,Gamma,3,0.3\n"),
            "no_times"
        );
        assert_eq!(code("{\"peft_type\": \"LORA\", \"r\": 8}"), "other_kind");
    }
}
