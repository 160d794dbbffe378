//! Rows of loaded traces, curves over time, request bodies, a request of one's own and the run.

use servescope_workload::prompts::sampling::{MAX_PENALTY, MAX_TEMPERATURE, MIN_TOP_P};

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    CHANGES, KNOWS_ADAPTERS, KNOWS_USERS, MOST, PATTERNS, TALKS, above, when_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter, SliderStop};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::TimeScale, row("workload.trace.time_scale", "ts", "trace", number(0.0001, 10_000.0, 1.0)).log(0.1, 10.0, 0.01)
        .doc("Time scale", "Multiplies every time of a loaded file: 2 is half as fast, with bursts stretched too.")),
    (Id::TraceTurns, row("workload.trace.turns", "tt", "trace", choice(choices::TraceTurns::ID))
        .when(&[when_in(Id::SessionKind, TALKS)])
        .doc("Turns of sessions", "Send the turns of a loaded file's sessions at their own times, hold each until the output before it is there, or send them at their own times as chunks of streaming input.")),
    (Id::RateScale, row("workload.trace.rate_scale", "rs", "trace", number(0.001, 1000.0, 1.0)).log(0.1, 10.0, 0.01)
        .doc("Rate scale", "Thins a loaded file or overlays time-shifted copies of it, so that its rate is multiplied and its clock stays.")),

    (Id::CurveKind, row("workload.curve.kind", "ck", "curve", choice(choices::CurveKind::ID)).usual("spike")
        .when(&[when_in(Id::Loop, &["open"])])
        .doc("Rate over time", "How the rate moves around R: constant, a simple shape, one of AIBrix's four patterns, a sine that starts at R as theirs do, or points of your own.")),
    (Id::CurveFactor, row("workload.curve.factor", "cf", "curve", number(0.0, 10_000.0, 4.0)).linear(0.0, 10.0, 0.1)
        .when(&[when_in(Id::CurveKind, CHANGES)])
        .doc("Changed rate", "The rate after the ramp or step, or in the spike, as a multiple of R.")),
    (Id::CurveStart, row("workload.curve.start_s", "cs", "curve", number(0.0, 10_000_000.0, 5.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::CurveKind, CHANGES)])
        .doc("Change begins", "When the ramp, the step or the spike begins.")),
    (Id::CurveEnd, row("workload.curve.end_s", "ce", "curve", number(0.0, 10_000_000.0, 7.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::CurveKind, &["ramp", "spike"])])
        .doc("Change ends", "When the ramp or the spike ends.")),
    (Id::CurveSwing, row("workload.curve.swing", "csw", "curve", number(0.0, 1.0, 0.5)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::CurveKind, &["diurnal", "sine"])])
        .doc("Amplitude", "Peak above R, as a share of R.")),
    (Id::CurvePeriod, row("workload.curve.period_s", "cp", "curve", number(1.0, 10_000_000.0, 100.0)).unit("s").log(10.0, 86_400.0, 1.0)
        .when(&[when_in(Id::CurveKind, &["diurnal", "sine"])])
        .doc("Period", "From crest to crest; a day is 86,400 s.")),
    (Id::CurvePeak, row("workload.curve.peak_s", "cpk", "curve", number(0.0, 10_000_000.0, 50.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::CurveKind, &["diurnal"])])
        .doc("Crest", "A time at which the rate is largest.")),
    (Id::CurvePoints, row("workload.curve.points", "pts", "curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[when_in(Id::CurveKind, &["points"])])
        .doc("Points", "Times in seconds and multiples of R in turn: 0, 0.5, 100, 2 goes from half of R to twice R in 100 s.")),
    (Id::DoSample, row("workload.sampling.do_sample", "sds", "sampling", Kind::Flag(false))
        .doc("Sample tokens", "In request bodies (do_sample): samples tokens by their probability; off takes the likeliest.")),
    (Id::Temperature, row("workload.sampling.temperature", "st", "sampling", number(0.0, MAX_TEMPERATURE, 1.0)).linear(0.0, 2.0, 0.01)
        .doc("Temperature", "Above 1 flattens the probabilities, below 1 sharpens them; 0 takes the likeliest.")),
    (Id::TopP, row("workload.sampling.top_p", "stp", "sampling", number(MIN_TOP_P, 1.0, 1.0)).linear(0.01, 1.0, 0.01)
        .doc("Top-p", "Draws from the likeliest tokens that together have this probability.")),
    (Id::TopK, row("workload.sampling.top_k", "stk", "sampling", whole(-1.0, 1_000_000.0, -1.0)).linear(-1.0, 200.0, 1.0)
        .doc("Top-k", "Draws from this many of the likeliest tokens; -1 and 0 draw from all.")),
    (Id::PresencePenalty, row("workload.sampling.presence_penalty", "spp", "sampling", number(-MAX_PENALTY, MAX_PENALTY, 0.0)).linear(-2.0, 2.0, 0.01)
        .doc("Presence penalty", "Taken off the score of a token that has come up; S-LoRA takes none below 0.")),
    (Id::FrequencyPenalty, row("workload.sampling.frequency_penalty", "sfp", "sampling", number(-MAX_PENALTY, MAX_PENALTY, 0.0)).linear(-2.0, 2.0, 0.01)
        .doc("Frequency penalty", "Taken off the score of a token for each time it has come up; S-LoRA takes none below 0.")),
    (Id::IgnoreEos, row("workload.sampling.ignore_eos", "seos", "sampling", Kind::Flag(false))
        .when(&[when_in(Id::MaxTokensKind, &["cap"]), when_in(Id::PinOutput, &["false"])])
        .doc("Ignore end of sequence", "Outputs go on to max_tokens even where the model would end, in the run and in request bodies.")),
    (Id::MinTokens, row("workload.sampling.min_tokens", "smin", "sampling", whole(0.0, MOST, 0.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .off_at_zero().doc("Fewest new tokens", "No output ends before this many tokens, in the run and in request bodies; max_tokens is at least as much, and the cap on new tokens comes first. S-LoRA has no such parameter. 0 = no limit.")),
    (Id::MaxNewTokens, row("workload.sampling.max_new_tokens", "smax", "sampling", whole(0.0, MOST, 0.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .off_at_zero().doc("Cap on new tokens", "No request asks for more tokens than this, in the run and in request bodies; longer outputs end there. 0 = no limit.")),
    (Id::StopSequences, row("workload.sampling.stop_sequences", "sstop", "sampling", Kind::Text { most: 1000 })
        .doc("Stop sequences", "Texts that end an output, with | between them; \\n is a new line, \\| a bar, \\\\ a backslash.")),
    (Id::PinOutput, row("workload.sampling.pin_output", "spin", "sampling", Kind::Flag(false))
        .when(&[when_in(Id::MaxTokensKind, &["cap"])])
        .doc("Pin output lengths", "Requests ask for exactly the length of their output: end of sequence ignored, min_tokens and max_tokens equal to it, in the run and in request bodies.")),
    (Id::CharactersPerToken, row("workload.sampling.characters_per_token", "scpt", "sampling", number(0.25, 64.0, 4.0)).linear(1.0, 8.0, 0.1)
        .doc("Characters a token", "Prompts made or counted without a tokenizer have this many characters for each token; English prose has about 4. A Chinese, Japanese or Korean character counts as one token, or more where this is below 1.")),
    (Id::CurveRise, row("workload.curve.only_rise", "cor", "curve", Kind::Flag(false))
        .when(&[when_in(Id::CurveKind, &["sine"])])
        .doc("Monotonic", "Keeps the rate at its highest so far (AIBrix's only_rise).")),
    (Id::CurveSampling, row("workload.curve.sampling", "csm", "curve", choice(choices::CurveSampling::ID))
        .when(&[when_in(Id::CurveKind, PATTERNS)])
        .doc("Sampling", "The curve itself in fractions of a request, or AIBrix's samples of it: with noise, rounded half to even to whole requests a second.")),
    (Id::CurveInterval, row("workload.curve.interval_s", "ci", "curve", number(0.001, 1_000_000.0, 1.0)).unit("s").log(0.1, 60.0, 0.1)
        .when(&[when_in(Id::CurveKind, PATTERNS), when_in(Id::CurveSampling, &["aibrix"])])
        .doc("Sampling interval", "How long one sampled rate holds (AIBrix's interval-ms).")),
    (Id::CurveNoise, row("workload.curve.noise_rps", "cn", "curve", number(0.0, 100_000.0, 0.1)).unit("req/s").linear(0.0, 5.0, 0.1)
        .when(&[when_in(Id::CurveKind, PATTERNS), when_in(Id::CurveSampling, &["aibrix"])])
        .doc("Noise", "Standard deviation of the normal noise that is added to each sample before rounding; AIBrix's patterns have 0.1.")),
    (Id::InputCurveKind, row("workload.input_tokens.curve.kind", "inck", "length_curve", choice(choices::LengthCurveKind::INPUT))
        .doc("Prompts over time", "How prompts grow and shrink during the run: every length that is drawn is multiplied by this curve.")),
    (Id::InputCurveFactor, row("workload.input_tokens.curve.factor", "incf", "length_curve", number(0.0, 1000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(&[when_in(Id::InputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .doc("Factor of prompts", "By what lengths are multiplied after the ramp or step, in the spike, or at the crest of a diurnal wave (there at most 2).")),
    (Id::InputCurveStart, row("workload.input_tokens.curve.start_s", "incs", "length_curve", number(0.0, 10_000_000.0, 100.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::InputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .doc("Change of prompts begins", "When the ramp, the step or the spike begins; of a diurnal wave, a crest.")),
    (Id::InputCurveEnd, row("workload.input_tokens.curve.end_s", "ince", "length_curve", number(0.0, 10_000_000.0, 200.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::InputCurveKind, &["ramp", "spike", "diurnal"])])
        .doc("Change of prompts ends", "When the ramp or the spike ends; of a diurnal wave, the next crest.")),
    (Id::InputCurvePoints, row("workload.input_tokens.curve.points", "incp", "length_curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[when_in(Id::InputCurveKind, &["points"])])
        .doc("Points of prompts", "Times in seconds and factors in turn: 0, 0.5, 100, 2 goes from half to twice the length in 100 s.")),
    (Id::OutputCurveKind, row("workload.output_tokens.curve.kind", "outck", "length_curve", choice(choices::LengthCurveKind::OUTPUT))
        .doc("Outputs over time", "How outputs grow and shrink during the run: every length that is drawn is multiplied by this curve.")),
    (Id::OutputCurveFactor, row("workload.output_tokens.curve.factor", "outcf", "length_curve", number(0.0, 1000.0, 2.0)).linear(0.0, 10.0, 0.1)
        .when(&[when_in(Id::OutputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .doc("Factor of outputs", "By what lengths are multiplied after the ramp or step, in the spike, or at the crest of a diurnal wave (there at most 2).")),
    (Id::OutputCurveStart, row("workload.output_tokens.curve.start_s", "outcs", "length_curve", number(0.0, 10_000_000.0, 100.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::OutputCurveKind, &["ramp", "step", "spike", "diurnal"])])
        .doc("Change of outputs begins", "When the ramp, the step or the spike begins; of a diurnal wave, a crest.")),
    (Id::OutputCurveEnd, row("workload.output_tokens.curve.end_s", "outce", "length_curve", number(0.0, 10_000_000.0, 200.0)).unit("s").linear(0.0, 1000.0, 1.0)
        .when(&[when_in(Id::OutputCurveKind, &["ramp", "spike", "diurnal"])])
        .doc("Change of outputs ends", "When the ramp or the spike ends; of a diurnal wave, the next crest.")),
    (Id::OutputCurvePoints, row("workload.output_tokens.curve.points", "outcp", "length_curve", Kind::List { min: 0.0, max: 1e7, whole: false, default: &[0.0, 0.5, 100.0, 2.0, 200.0, 1.0] })
        .when(&[when_in(Id::OutputCurveKind, &["points"])])
        .doc("Points of outputs", "Times in seconds and factors in turn: 0, 0.5, 100, 2 goes from half to twice the length in 100 s.")),
    (Id::Duration, row("workload.duration_s", "D", "run", number(0.1, 100_000_000.0, 60.0)).unit("s").log(10.0, 10_000.0, 1.0)
        .doc("Duration D", "⌊R·D⌋ requests are generated; the last may arrive a little later than this.")),
    (Id::CutAtDuration, row("workload.cut_at_duration", "cut", "run", Kind::Flag(false))
        .when(&[when_in(Id::Loop, &["open"])])
        .doc("Cut at D", "Drops the requests that arrive after the duration, which S-LoRA's generator keeps.")),
    (Id::ArrivalKind, row("workload.arrivals.kind", "arr", "run", choice(choices::ArrivalKind::ID))
        .when(&[when_in(Id::Loop, &["open"])])
        .doc("Arrival process", "Distribution of the gaps between arrivals.")),
    (Id::ArrivalsPer, row("workload.arrivals.per", "arp", "run", choice(choices::ARRIVALS_PER))
        .when(&[when_in(Id::Loop, &["open"]), when_in(Id::ClientKind, &["together"])])
        .doc("Scope of the arrival process", "All: one process for all requests, each request draws its adapter (S-LoRA's generator). Adapter: an independent process of the same distribution for each adapter, with its share of R; the number of requests is then random with mean R D.")),
    (Id::WeibullShape, row("workload.arrivals.shape", "wk", "run", number(0.1, 10.0, 0.7)).linear(0.2, 3.0, 0.01)
        .marks(&[SliderStop { value: 1.0, message: "mark.poisson" }])
        .when(&[when_in(Id::ArrivalKind, &["weibull"])])
        .doc("Weibull shape", "Below 1 arrivals come in bursts, 1 is Poisson, above 1 they are steadier.")),
    (Id::BusyFactor, row("workload.arrivals.busy_factor", "mf", "run", number(1.0, 1000.0, 8.0)).log(1.0, 100.0, 0.1)
        .when(&[when_in(Id::ArrivalKind, &["modulated"])])
        .doc("Busy-to-calm rate ratio", "How many times the calm rate arrives while traffic is busy; the mean rate stays R.")),
    (Id::BusyShare, row("workload.arrivals.busy_share", "ms", "run", number(0.01, 0.99, 0.1)).linear(0.01, 0.9, 0.01)
        .when(&[when_in(Id::ArrivalKind, &["modulated"])])
        .doc("Busy share of time", "The share of time in which traffic is busy.")),
    (Id::BusySpell, row("workload.arrivals.busy_s", "md", "run", number(1.0, 1_000_000.0, 20.0)).unit("s").log(1.0, 600.0, 1.0)
        .when(&[when_in(Id::ArrivalKind, &["modulated"])])
        .doc("Mean busy sojourn", "Mean duration of a busy period.")),
    (Id::BatchSize, row("workload.arrivals.batch_size", "bs", "run", whole(1.0, 100_000.0, 8.0)).unit("requests").log(1.0, 200.0, 1.0)
        .when(&[when_in(Id::ArrivalKind, &["batch"])])
        .doc("Batch size", "How many requests arrive at the same instant; the batches are Poisson.")),
    (Id::ExtraInput, row("workload.extra_request.input_tokens", "xi", "extra_request", whole(0.0, MOST, 0.0)).unit("tokens").linear(0.0, 8192.0, 1.0)
        .off_at_zero().doc("Prompt of your request", "One request of your own is sent beside the others with a prompt of this length. 0 = off.")),
    (Id::ExtraOutput, row("workload.extra_request.output_tokens", "xo", "extra_request", whole(1.0, MOST, 200.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[above(Id::ExtraInput, 0.0)])
        .doc("Output of your request", "The length of its output.")),
    (Id::ExtraTime, row("workload.extra_request.time_s", "xt", "extra_request", number(0.0, 100_000_000.0, 20.0)).unit("s").linear(0.0, 600.0, 0.1)
        .when(&[above(Id::ExtraInput, 0.0)])
        .doc("Time of your request", "When it is sent, in seconds from the start of the run.")),
    (Id::ExtraUser, row("workload.extra_request.user", "xu", "extra_request", whole(0.0, 999_999.0, 0.0)).linear(0.0, 100.0, 1.0)
        .when(&[above(Id::ExtraInput, 0.0)])
        .beyond_tables(KNOWS_USERS)
        .doc("User of your request", "The index of the user who sends it; one above all others is a user of its own.")),
    (Id::ExtraAdapter, row("workload.extra_request.adapter", "xa", "extra_request", whole(-1.0, 99_999.0, -1.0)).linear(-1.0, 100.0, 1.0)
        .when(&[above(Id::ExtraInput, 0.0)])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Adapter of your request", "The index of the LoRA adapter that it asks for, one of those that the others ask for; -1 is the base model.")),
    (Id::Seed, row("seed", "seed", "run", whole(0.0, 9_007_199_254_740_991.0, 42.0)).linear(0.0, 1000.0, 1.0)
        .doc("Seed", "Equal seeds give equal runs, here and in the terminal.")),
];
