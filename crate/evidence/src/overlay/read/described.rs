//! A run of which a file has no single requests, or not the times at which they were sent: its workload is made again from the
//! lengths, the rate and the number of requests that the file has.

use servescope_settings::file_kind::Tool;
use servescope_workload::arrivals::Arrivals;
use servescope_workload::stream::Stream;

use super::ReadError;
use super::json::JsonField;
use crate::overlay::measured::{MAX_REQUESTS, MAX_TOKENS, Means, MeasuredRequest, MeasuredRun, Sending};

/// Seed of what is drawn.
const SEED: u64 = 42;
/// Most requests in flight.
const MAX_IN_FLIGHT: f64 = 1e6;

/// How requests were offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Offered {
    /// At a rate; gaps have this coefficient of variation.
    Rate { rps: f64, cv: f64 },
    /// This many in flight.
    InFlight(u32),
    /// All at once.
    AtOnce,
}

/// Lengths of which the file has the mean, or the bounds between which they were drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Length {
    Mean(f64),
    Between(u32, u32),
}

impl Length {
    /// The length of a request: with a mean, whole numbers whose mean it is.
    fn of(self, place: usize, stream: &Stream) -> u32 {
        match self {
            Self::Mean(mean) => {
                let upto = |count: usize| (count as f64 * mean + 0.5).floor();
                (upto(place + 1) - upto(place)) as u32
            }
            Self::Between(low, high) => {
                let width = f64::from(high - low) + 1.0;
                (low + (stream.item(place).uniform() * width) as u32).min(high)
            }
        }
    }
}

/// What a file says of a run.
pub(super) struct Described {
    pub(super) tool: Tool,
    pub(super) requests: usize,
    pub(super) input: Length,
    pub(super) output: Length,
    pub(super) offered: Offered,
    pub(super) means: Means,
    pub(super) reported: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
}

impl Described {
    /// The run with its workload made again.
    pub(super) fn run(self) -> Result<MeasuredRun, ReadError> {
        let Self { tool, requests: count, input, output, offered, means, reported, mut notes } = self;
        if count > MAX_REQUESTS {
            return Err(ReadError::new("the number of requests", format!("{count} is above {MAX_REQUESTS}")));
        }
        let streams = ["overlay_input", "overlay_output"].map(|name| Stream::named(SEED, name));
        let mut requests: Vec<MeasuredRequest> = (0..count)
            .map(|place| MeasuredRequest {
                name: place.to_string(),
                input_tokens: input.of(place, &streams[0]).max(1),
                output_tokens: output.of(place, &streams[1]).max(1),
                ..MeasuredRequest::default()
            })
            .collect();
        let sending = send(&mut requests, offered);
        notes.insert(
            0,
            format!(
                "the file has means and no single requests; its workload is made again ({count} requests, {}), and means are compared",
                stated(offered)
            ),
        );
        Ok(MeasuredRun { tool, requests, sending, means, reported, notes, ..MeasuredRun::default() })
    }
}

/// How requests were offered, in words.
pub(super) fn stated(offered: Offered) -> String {
    match offered {
        Offered::Rate { rps, cv: 0.0 } => format!("{rps}/s at equal intervals"),
        Offered::Rate { rps, cv } if (cv - 1.0).abs() < 1e-9 => format!("{rps}/s, Poisson arrivals drawn"),
        Offered::Rate { rps, cv } => format!("{rps}/s, arrivals drawn with cv {cv:.2}"),
        Offered::InFlight(most) => format!("{most} in flight"),
        Offered::AtOnce => "all sent at once".to_owned(),
    }
}

/// Sends requests as they were offered.
pub(super) fn send(requests: &mut [MeasuredRequest], offered: Offered) -> Sending {
    match offered {
        Offered::Rate { rps, cv } => {
            let arrivals = if cv == 0.0 { Arrivals::Even } else { Arrivals::Gamma { cv } };
            let times_us = arrivals.times_us(rps, requests.len(), Stream::named(SEED, "overlay_arrivals"));
            // As the tools do: the gaps of all requests together take what the rate says.
            let whole_us = requests.len() as f64 / rps * 1e6;
            let scale =
                times_us.last().filter(|last_us| **last_us > 0.0).map_or(1.0, |last_us| whole_us / last_us);
            requests.iter_mut().zip(times_us).for_each(|(request, us)| request.sent_s = us * scale / 1e6);
            Sending::Drawn
        }
        Offered::InFlight(most) if (most as usize) < requests.len() => Sending::InFlight(most),
        Offered::InFlight(_) | Offered::AtOnce => Sending::Times,
    }
}

/// A number of requests in flight.
pub(super) fn in_flight(field: &JsonField) -> Result<u32, ReadError> {
    field.number(1.0, MAX_IN_FLIGHT).map(|most| most as u32)
}

/// A rate, requests a second; none of one without a bound or of 0.
pub(super) fn rate(field: &JsonField) -> Result<Option<f64>, ReadError> {
    if let Some(text) = field.json.as_str() {
        return match text {
            "inf" | "Infinity" | "-1" => Ok(None),
            _ => Err(field.bad("a rate")),
        };
    }
    let rate = field.number(-1.0, 1e9)?;
    Ok((rate > 0.0).then_some(rate))
}

/// A mean length, tokens.
pub(super) fn mean_length(field: &JsonField) -> Result<Length, ReadError> {
    field.number(0.0, MAX_TOKENS).map(Length::Mean)
}

/// A number of requests.
pub(super) fn count(field: &JsonField) -> Result<usize, ReadError> {
    field.number(0.0, 1e12).map(|count| count as usize)
}
