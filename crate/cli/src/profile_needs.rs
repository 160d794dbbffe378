//! `servescope profile needs`: what to time on a GPU, so that a profile of a model can be fitted.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use servescope_cost::models::{Attention, Model};
use servescope_settings::parameters::Id;
use servescope_settings::parameters::choices::CostKind;

use crate::output::{CliError, print, write};
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct NeedsArguments {
    /// The model: fleet.model, or --model-config.
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// Degrees of tensor parallelism.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    tp: Vec<u32>,
    /// Most tokens of an iteration.
    #[arg(long, value_name = "TOKENS", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_tokens: u32,
    /// Most requests that decode in an iteration.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_requests: u32,
    /// Longest context of a request.
    #[arg(long, value_name = "TOKENS", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    max_context: u32,
    /// The table; the terminal by default.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &NeedsArguments) -> Result<(), CliError> {
    let mut scenario = arguments.scenario.scenario()?;
    scenario.set(Id::CostKind, CostKind::ID.value(CostKind::Roofline))?;
    let (model, name) = (scenario.deployment().model, scenario.model_name().into_owned());
    let mut table = String::from("file,operator,tensor_parallel,what,sizes\n");
    for &tensor in &arguments.tp {
        table += &rows(&model, &name, tensor, arguments)?;
    }
    match &arguments.output {
        Some(path) => write(path, &table),
        None => print(&table),
    }
}

/// The rows of a degree; a layer has each operator once.
fn rows(model: &Model, name: &str, tensor: u32, arguments: &NeedsArguments) -> Result<String, CliError> {
    let (None, Attention::Grouped { heads, kv_heads, head_dim, .. }) = (model.experts, model.attention)
    else {
        let why = "has experts or latent attention, which profiles in Vidur's form do not know";
        return Err(CliError::input(format!("{name} {why}; cost.kind=kernels has measured ones")));
    };
    if heads % tensor != 0 {
        return Err(CliError::input(format!("--tp {tensor}: {heads} heads cannot be shared evenly")));
    }
    let (own_heads, own_kv) = (heads / tensor, (kv_heads / tensor).max(1));
    let (hidden, inner) = (model.hidden, model.mlp_hidden / tensor);
    let projected = (own_heads + 2 * own_kv) * head_dim;
    let up = if model.gated_mlp { 2 * inner } else { inner };
    let NeedsArguments { max_tokens, max_requests, max_context, .. } = arguments;
    let tokens = format!("tokens {}", doubled(1, *max_tokens));
    let product = |from: u32, to: u32| format!("[tokens x {from}] x [{from} x {to}]");
    let each = |width: u32| format!("[tokens x {width}]");
    let mut rows = vec![
        ("mlp.csv", "attn_pre_proj", product(hidden, projected), tokens.clone()),
        ("mlp.csv", "attn_post_proj", product(own_heads * head_dim, hidden), tokens.clone()),
        ("mlp.csv", "mlp_up_proj", product(hidden, up), tokens.clone()),
        ("mlp.csv", "mlp_down_proj", product(inner, hidden), tokens.clone()),
        ("mlp.csv", "mlp_act", each(inner), tokens.clone()),
        ("mlp.csv", "attn_rope", each((own_heads + own_kv) * head_dim), tokens.clone()),
        ("mlp.csv", "input_layernorm", each(hidden), tokens.clone()),
        ("mlp.csv", "post_attention_layernorm", each(hidden), tokens.clone()),
        ("mlp.csv", "add", each(hidden), tokens.clone()),
    ];
    let shape = format!("{own_heads} query and {own_kv} KV heads of {head_dim}");
    let contexts = doubled(128, *max_context);
    rows.extend([
        ("attention.csv", "attn_kv_cache_save", each(2 * own_kv * head_dim), tokens.clone()),
        (
            "attention.csv",
            "attn_prefill",
            shape.clone(),
            format!("{tokens}; KV tokens before them 0 {contexts}"),
        ),
        (
            "attention.csv",
            "attn_decode",
            shape,
            format!("requests {}; KV tokens of each {contexts}", doubled(1, *max_requests)),
        ),
    ]);
    let message = format!("bytes {}", doubled(2 * hidden, 2 * hidden.saturating_mul(*max_tokens)));
    if tensor > 1 {
        rows.push(("all_reduce.csv", "all_reduce", format!("over {tensor} GPUs"), message.clone()));
    }
    rows.push((
        "send_recv.csv",
        "send_recv",
        "between two pipeline stages where there are any".to_owned(),
        message,
    ));
    let mut text = String::new();
    for (file, operator, what, sizes) in rows {
        let _ = writeln!(text, "{file},{operator},{tensor},{what},{sizes}");
    }
    Ok(text)
}

/// From the first, doubled each time, to the last.
fn doubled(first: u32, last: u32) -> String {
    let mut sizes: Vec<u64> = std::iter::successors(Some(u64::from(first)), |size| Some(2 * size))
        .take_while(|&size| size < u64::from(last))
        .collect();
    sizes.push(u64::from(last));
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_up_to_the_last() {
        assert_eq!(doubled(1, 10), "1 2 4 8 10");
        assert_eq!(doubled(128, 128), "128");
        assert_eq!(doubled(128, 100), "100");
        assert!(doubled(u32::MAX, u32::MAX).ends_with("4294967295"));
    }
}
