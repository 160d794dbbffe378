//! What a million tokens cost on current GPUs, against the TTFT of their requests: some models, each on the fewest GPUs of a kind
//! that hold it and on twice as many, at the highest rate that meets the default SLO under the default scenario's even traffic. The
//! page shows it before a load of one's own was planned.

use serde::Serialize;
use serde_json::{Value as Json, json};
use servescope_cost::Gpu;
use servescope_settings::link;
use servescope_settings::parameters::choices::PRICE_KIND;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{CostKind, Scenario};

use super::goal::Goal;
use super::grid::{DEGREES, holds_model, with};
use super::price::{FleetPrice, Quote, quote};
use super::search::Search;
use super::standing::usd_per_million_tokens;
use crate::threads::on_threads;

/// The models, with the format in which their weights are published.
const MODELS: [(&str, &str); 4] =
    [("qwen3-8b", "bf16"), ("qwen3-32b", "bf16"), ("llama-3.1-70b", "bf16"), ("gpt-oss-120b", "mxfp4")];

/// The GPUs: of those in data centers one or two of each generation and vendor.
const GPUS: [&str; 6] = ["h100_sxm", "h200_sxm", "b200_sxm", "a100_80_sxm", "l40s", "mi300x"];

/// Requests of a run at most: a capacity is known to some per cent then, which is less than the error of the times.
const MOST_REQUESTS: f64 = 20_000.0;

/// A deployment at its capacity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TokenPrice {
    /// The place of its model in the file.
    pub model: usize,
    /// That of its GPU.
    pub gpu: usize,
    /// GPUs of a replica.
    pub tensor_parallel: u32,
    /// Where its iteration times come from: a value of `cost.kind`.
    pub times: &'static str,
    /// The highest rate that meets the SLO, requests a second.
    pub rate_rps: f64,
    /// The SLO's quantile of TTFT at that rate, seconds.
    pub ttft_s: f64,
    /// What a million tokens cost at that rate, prompts and outputs together.
    pub usd_per_million_tokens: f64,
    /// Expected error of mean TTFT; none where it is not known.
    pub ttft_error: Option<f64>,
    /// The larger one of mean TTFT and mean TPOT, by which the rate may be off.
    pub rate_error: Option<f64>,
}

/// The traffic and the SLO that all have in common: the default scenario without adapters, at one rate.
pub fn assumptions() -> Scenario {
    let mut scenario = Scenario::default();
    for (path, value) in [("workload.adapters.count", "0"), ("workload.curve.kind", "constant")] {
        scenario.set_text(path, value).expect("values of the parameter table");
    }
    with(&scenario, Id::CapacityMostRequests, Value::Number(MOST_REQUESTS))
}

/// Every deployment that meets the SLO at some rate, in the order of models, GPUs and degrees; `threads` do not decide the result.
pub fn token_prices(threads: usize) -> Vec<TokenPrice> {
    let scenario = assumptions();
    let deployments: Vec<(usize, usize, u32, Scenario)> = (0..MODELS.len())
        .flat_map(|model| (0..GPUS.len()).map(move |gpu| (model, gpu)))
        .flat_map(|(model, gpu)| {
            let on_gpu = deployed(&scenario, model, gpu);
            let least = DEGREES.into_iter().find(|&degree| holds_model(&on_gpu, degree));
            let degrees = DEGREES
                .into_iter()
                .filter(move |&degree| least.is_some_and(|least| [least, 2 * least].contains(&degree)));
            degrees.map(move |degree| {
                (model, gpu, degree, with(&on_gpu, Id::TensorParallel, Value::Number(f64::from(degree))))
            })
        })
        .collect();
    on_threads(deployments.len(), threads, |place| {
        let (model, gpu, tensor_parallel, scenario) = &deployments[place];
        at_capacity(*model, *gpu, *tensor_parallel, scenario)
    })
    .into_iter()
    .flatten()
    .collect()
}

fn deployed(scenario: &Scenario, model: usize, gpu: usize) -> Scenario {
    let (model, weights) = MODELS[model];
    let mut scenario = scenario.clone();
    for (path, value) in [("fleet.model", model), ("fleet.weights", weights), ("fleet.gpu", GPUS[gpu])] {
        scenario.set_text(path, value).expect("values of the parameter table");
    }
    scenario
}

/// None where it meets the SLO at no rate, or has no price.
fn at_capacity(model: usize, gpu: usize, tensor_parallel: u32, scenario: &Scenario) -> Option<TokenPrice> {
    let mut search = Search::new(scenario, None).ok()?;
    while search.advance(usize::MAX) < 1.0 {}
    let capacity = search.finish();
    let (rate_rps, measures) = capacity.rate_rps.zip(capacity.measures)?;
    let tokens_per_s = rate_rps * measures.tokens_per_request?;
    Some(TokenPrice {
        model,
        gpu,
        tensor_parallel,
        times: scenario.choice(CostKind::ID.id()),
        rate_rps,
        ttft_s: measures.quantile_s[0]?,
        usd_per_million_tokens: usd_per_million_tokens(
            FleetPrice::of(scenario).usd_per_hour()?,
            tokens_per_s,
        )?,
        ttft_error: capacity.expected_error.map(|error| error.ttft),
        rate_error: capacity.expected_error.map(|error| error.larger()),
    })
}

/// The file that the page shows: what all have in common, the models, the GPUs with their prices, and a line for each deployment.
pub fn shipped(prices: &[TokenPrice], command: &str) -> String {
    let scenario = assumptions();
    let goal = Goal::of(&scenario);
    let common = json!({
        "link": link::encode(&scenario),
        "quantile": goal.quantiles[0],
        "ttft_s": goal.limits_s[0],
        "tpot_s": goal.limits_s[4],
        "input_tokens": scenario.number(Id::InputMedian),
        "output_tokens": scenario.number(Id::OutputMedian),
    });
    let model = |(id, weights): &(&str, &str)| {
        let name = deployed(&scenario, MODELS.iter().position(|(other, _)| other == id).unwrap_or(0), 0);
        json!({ "id": id, "weights": weights, "name": name.model_name() })
    };
    let gpu = |id: &&str| {
        let of = Gpu::named(id).expect("a GPU of the table");
        let price: Option<Quote> = quote(of, scenario.chosen(PRICE_KIND));
        json!({ "id": id, "name": of.name, "price": price })
    };
    let lines = |all: Vec<Json>| all.iter().map(Json::to_string).collect::<Vec<_>>().join(",\n");
    format!(
        "{{\"command\": {}, \"common\": {common},\n\"models\": [\n{}\n],\n\"gpus\": [\n{}\n],\n\"deployments\": [\n{}\n]}}\n",
        json!(command),
        lines(MODELS.iter().map(model).collect()),
        lines(GPUS.iter().map(gpu).collect()),
        lines(prices.iter().map(|price| json!(price)).collect()),
    )
}
