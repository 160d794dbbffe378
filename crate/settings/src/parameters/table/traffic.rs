//! Rows of the arrival rate, of prompt and output lengths.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{BOUNDED, INDEPENDENT_LENGTHS, KNOWS_ADAPTERS, MOST, when_in};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter, SliderStop};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::Rate, row("workload.rate_rps", "R", "headline", number(0.001, 100_000.0, 6.0)).unit("req/s").log(0.1, 50.0, 0.01)
        .when(&[when_in(Id::Loop, &["open"])])
        .doc("Rate R", "Mean number of requests that arrive each second, all users together.")),
    (Id::Cv, row("workload.arrivals.cv", "cv", "headline", number(0.05, 32.0, 1.0)).log(0.1, 8.0, 0.01)
        .marks(&[SliderStop { value: 1.0, message: "mark.poisson" }])
        .when(&[when_in(Id::ArrivalKind, &["gamma"]), when_in(Id::ClientKind, &["together"])])
        .doc("Burstiness cv", "Standard deviation of the gaps between arrivals over their mean: below 1 is steadier than chance, above 1 comes in bursts. Where one process serves all adapters, an adapter with share p has a cv of √(1 + p (cv² − 1)), nearer to 1. With one arrival process per adapter, each adapter has the full cv.")),
    (Id::Alpha, row("workload.adapters.alpha", "alpha", "headline", number(0.01, 32.0, 0.5)).linear(0.05, 1.0, 0.01)
        .marks(&[SliderStop { value: 1.0, message: "mark.uniform" }])
        .when(&[when_in(Id::Popularity, &["power"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Skew alpha", "Smaller puts more requests on the first adapters and 1 spreads them evenly; above 1 (type it in) skew returns, toward the last adapter.")),
    (Id::Adapters, row("workload.adapters.count", "n", "headline", whole(0.0, 100_000.0, 12.0)).linear(0.0, 400.0, 1.0)
        .marks(&[SliderStop { value: 0.0, message: "mark.base_model" }])
        .doc("LoRA adapters n", "How many adapters share the server; 0 sends every request to the base model.")),

    (Id::LengthSource, row("workload.lengths.from", "lf", "lengths", choice(choices::LengthSource::ID))
        .doc("Source of lengths", "Independent distributions of prompts and outputs, or empirical (prompt, output) pairs from a list of your own.")),
    (Id::LengthPairs, row("workload.lengths.pairs", "lp", "lengths", Kind::List { min: 1.0, max: MOST, whole: true, default: &[32.0, 256.0, 256.0, 128.0, 480.0, 16.0] })
        .when(&[when_in(Id::LengthSource, &["pairs"])])
        .doc("Pairs of lengths", "Prompt and output lengths in tokens, in turn; every pair is drawn equally often, as it stands.")),
    (Id::InputKind, row("workload.input_tokens.kind", "in", "lengths", choice(choices::LengthKind::INPUT)).usual("lognormal")
        .when(&[INDEPENDENT_LENGTHS])
        .doc("Prompt lengths", "Distribution of prompt lengths.")),
    (Id::InputValue, row("workload.input_tokens.value", "inv", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["fixed"])])
        .doc("Prompt length", "Every prompt has this length.")),
    (Id::InputLow, row("workload.input_tokens.low", "inl", "lengths", whole(1.0, MOST, 8.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, BOUNDED)])
        .doc("Shortest prompt", "No prompt is shorter than this.")),
    (Id::InputHigh, row("workload.input_tokens.high", "inh", "lengths", whole(1.0, MOST, 4096.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, BOUNDED)])
        .doc("Longest prompt", "No prompt is longer than this (inclusive).")),
    (Id::InputMean, row("workload.input_tokens.mean", "inm", "lengths", number(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["geometric", "bounded_geometric", "normal"])])
        .doc("Mean prompt length", "Mean of the geometric distribution on 1, 2, and so on, before bounds where it has any, or of the normal distribution before its bounds.")),
    (Id::InputDeviation, row("workload.input_tokens.deviation", "inw", "lengths", number(0.0, MOST, 80.0)).unit("tokens").linear(0.0, 1000.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["normal"])])
        .doc("Deviation of prompt lengths", "Standard deviation of the normal distribution before its bounds.")),
    (Id::InputExponent, row("workload.input_tokens.exponent", "ine", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["bounded_pareto"])])
        .doc("Prompt tail exponent", "Smaller makes long prompts more common: the share longer than x falls like x to the power of minus this.")),
    (Id::InputTheta, row("workload.input_tokens.theta", "inz", "lengths", number(0.0, 10.0, 0.6)).linear(0.0, 2.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["zipf"])])
        .doc("Zipf exponent of prompt lengths", "Length low + k has a probability proportional to (k + 1) to the power of minus this (Vidur: theta); 0 makes all lengths equally likely.")),
    (Id::InputMedian, row("workload.input_tokens.median", "ind", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["lognormal", "percentiles", "mixture"])])
        .doc("Median prompt length", "Half of the prompts are shorter than this.")),
    (Id::InputSigma, row("workload.input_tokens.sigma", "ins", "lengths", number(0.01, 5.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["lognormal", "mixture"])])
        .doc("Spread of prompt lengths", "Standard deviation of the logarithm of the length.")),
    (Id::InputP90, row("workload.input_tokens.p90", "in9", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["percentiles"])])
        .doc("P90 of prompts", "Nine of ten prompts are no longer than this; lognormal through the median up to P90, extrapolated to P99.")),
    (Id::InputP99, row("workload.input_tokens.p99", "in99", "lengths", number(1.0, MOST, 500.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["percentiles"])])
        .doc("P99 of prompts", "99 of 100 prompts are no longer than this; the longest ones follow the slope from P90 to here.")),
    (Id::InputHistogram, row("workload.input_tokens.histogram", "inhg", "lengths", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[8.0, 3.0, 128.0, 1.0, 511.0] })
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["histogram"])])
        .doc("Histogram of prompts", "Alternating bin edges (tokens) and weights: 8, 3, 128, 1, 511 = 75 % uniform on 8 to 127, 25 % on 128 to 511.")),
    (Id::InputMixShare, row("workload.input_tokens.mixture.share", "inms", "lengths", number(0.0, 1.0, 0.1)).linear(0.0, 1.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["mixture"])])
        .doc("Weight of second prompt component", "The share of prompts from the second component; the others are lognormal with the median and spread above.")),
    (Id::InputMixKind, row("workload.input_tokens.mixture.kind", "inmk", "lengths", choice(choices::MixtureKind::INPUT))
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["mixture"])])
        .doc("Second prompt component", "What is mixed in: a power-law tail, as ServeGen finds for prompts, or a second lognormal mode.")),
    (Id::InputMixLow, row("workload.input_tokens.mixture.low", "inml", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["mixture"]), when_in(Id::InputMixKind, &["bounded_pareto"])])
        .doc("Prompt tail begins", "The shortest prompt of the power-law tail.")),
    (Id::InputMixExponent, row("workload.input_tokens.mixture.exponent", "inme", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["mixture"]), when_in(Id::InputMixKind, &["bounded_pareto"])])
        .doc("Exponent of the prompt tail", "Smaller makes the longest prompts more common.")),
    (Id::InputMixMedian, row("workload.input_tokens.mixture.median", "inmd", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["mixture"]), when_in(Id::InputMixKind, &["lognormal"])])
        .doc("Median of second prompt component", "Half of the prompts of the second component are shorter than this.")),
    (Id::InputMixSigma, row("workload.input_tokens.mixture.sigma", "inmg", "lengths", number(0.01, 5.0, 0.3)).linear(0.05, 2.5, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::InputKind, &["mixture"]), when_in(Id::InputMixKind, &["lognormal"])])
        .doc("Spread of second prompt component", "Standard deviation of the logarithm of its lengths.")),

    (Id::OutputKind, row("workload.output_tokens.kind", "out", "lengths", choice(choices::LengthKind::OUTPUT)).usual("lognormal")
        .when(&[INDEPENDENT_LENGTHS])
        .doc("Output lengths", "Distribution of output lengths.")),
    (Id::OutputValue, row("workload.output_tokens.value", "outv", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["fixed"])])
        .doc("Output length", "Every output has this length.")),
    (Id::OutputLow, row("workload.output_tokens.low", "outl", "lengths", whole(1.0, MOST, 8.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, BOUNDED)])
        .doc("Shortest output", "No output is shorter than this.")),
    (Id::OutputHigh, row("workload.output_tokens.high", "outh", "lengths", whole(1.0, MOST, 1024.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, BOUNDED)])
        .doc("Longest output", "No output is longer than this (inclusive).")),
    (Id::OutputMean, row("workload.output_tokens.mean", "outm", "lengths", number(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["geometric", "bounded_geometric", "normal"])])
        .doc("Mean output length", "Mean of the geometric distribution on 1, 2, and so on, before bounds where it has any, or of the normal distribution before its bounds.")),
    (Id::OutputDeviation, row("workload.output_tokens.deviation", "outw", "lengths", number(0.0, MOST, 80.0)).unit("tokens").linear(0.0, 1000.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["normal"])])
        .doc("Deviation of output lengths", "Standard deviation of the normal distribution before its bounds.")),
    (Id::OutputExponent, row("workload.output_tokens.exponent", "oute", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["bounded_pareto"])])
        .doc("Output tail exponent", "Smaller makes long outputs more common: the share longer than x falls like x to the power of minus this.")),
    (Id::OutputTheta, row("workload.output_tokens.theta", "outz", "lengths", number(0.0, 10.0, 0.6)).linear(0.0, 2.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["zipf"])])
        .doc("Zipf exponent of output lengths", "Length low + k has a probability proportional to (k + 1) to the power of minus this (Vidur: theta); 0 makes all lengths equally likely.")),
    (Id::OutputMedian, row("workload.output_tokens.median", "outd", "lengths", number(1.0, MOST, 150.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["lognormal", "percentiles", "mixture"])])
        .doc("Median output length", "Half of the outputs are shorter than this.")),
    (Id::OutputSigma, row("workload.output_tokens.sigma", "outs", "lengths", number(0.01, 5.0, 0.6)).linear(0.05, 2.5, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["lognormal", "mixture"])])
        .doc("Spread of output lengths", "Standard deviation of the logarithm of the length.")),
    (Id::OutputP90, row("workload.output_tokens.p90", "out9", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["percentiles"])])
        .doc("P90 of outputs", "Nine of ten outputs are no longer than this; lognormal through the median up to P90, extrapolated to P99.")),
    (Id::OutputP99, row("workload.output_tokens.p99", "out99", "lengths", number(1.0, MOST, 500.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["percentiles"])])
        .doc("P99 of outputs", "99 of 100 outputs are no longer than this; the longest ones follow the slope from P90 to here.")),
    (Id::OutputHistogram, row("workload.output_tokens.histogram", "outhg", "lengths", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[8.0, 3.0, 128.0, 1.0, 511.0] })
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["histogram"])])
        .doc("Histogram of outputs", "Alternating bin edges (tokens) and weights: 8, 3, 128, 1, 511 = 75 % uniform on 8 to 127, 25 % on 128 to 511.")),
    (Id::OutputMixShare, row("workload.output_tokens.mixture.share", "outms", "lengths", number(0.0, 1.0, 0.1)).linear(0.0, 1.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["mixture"])])
        .doc("Weight of second output component", "The share of outputs from the second component; the others are lognormal with the median and spread above.")),
    (Id::OutputMixKind, row("workload.output_tokens.mixture.kind", "outmk", "lengths", choice(choices::MixtureKind::OUTPUT))
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["mixture"])])
        .doc("Second output component", "What is mixed in: a power-law tail, as ServeGen finds for prompts, or a second lognormal mode.")),
    (Id::OutputMixLow, row("workload.output_tokens.mixture.low", "outml", "lengths", whole(1.0, MOST, 256.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["mixture"]), when_in(Id::OutputMixKind, &["bounded_pareto"])])
        .doc("Output tail begins", "The shortest output of the power-law tail.")),
    (Id::OutputMixExponent, row("workload.output_tokens.mixture.exponent", "outme", "lengths", number(0.05, 20.0, 1.1)).linear(0.1, 4.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["mixture"]), when_in(Id::OutputMixKind, &["bounded_pareto"])])
        .doc("Exponent of the output tail", "Smaller makes the longest outputs more common.")),
    (Id::OutputMixMedian, row("workload.output_tokens.mixture.median", "outmd", "lengths", number(1.0, MOST, 400.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["mixture"]), when_in(Id::OutputMixKind, &["lognormal"])])
        .doc("Median of second output component", "Half of the outputs of the second component are shorter than this.")),
    (Id::OutputMixSigma, row("workload.output_tokens.mixture.sigma", "outmg", "lengths", number(0.01, 5.0, 0.3)).linear(0.05, 2.5, 0.01)
        .when(&[INDEPENDENT_LENGTHS, when_in(Id::OutputKind, &["mixture"]), when_in(Id::OutputMixKind, &["lognormal"])])
        .doc("Spread of second output component", "Standard deviation of the logarithm of its lengths.")),
    (Id::LengthCorrelation, row("workload.length_correlation", "rho", "lengths", number(-1.0, 1.0, 0.0)).linear(-1.0, 1.0, 0.01)
        .when(&[INDEPENDENT_LENGTHS])
        .doc("Prompt–output correlation", "Rank correlation of prompt and output lengths: 0 draws them independently, 1 gives the longest prompt the longest output.")),
    (Id::MaxTokensKind, row("workload.max_tokens.kind", "mt", "lengths", choice(choices::MaxTokensKind::ID))
        .doc("Output limit sent", "max_tokens of each request: its exact output length, or one fixed cap.")),
    (Id::MaxTokensCap, row("workload.max_tokens.cap", "cap", "lengths", whole(1.0, MOST, 1024.0)).unit("tokens").log(1.0, 4096.0, 1.0)
        .when(&[when_in(Id::MaxTokensKind, &["cap"])])
        .doc("Output limit", "The max_tokens that every client sends; a longer output raises its own bound to its length.")),
];
