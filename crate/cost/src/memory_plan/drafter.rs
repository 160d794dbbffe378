//! What a drafter of speculative decoding takes of the memory: its weights, and its own keys and values of every token.

use super::kv_token::kv_token_bytes;
use super::weights::layer_bytes;
use crate::deployment::Deployment;
use crate::models::Model;

/// Bytes on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DrafterMemory {
    /// Weights.
    pub weight_bytes: f64,
    /// Keys and values of a token.
    pub kv_token_bytes: f64,
}

impl DrafterMemory {
    /// Of a drafter with this deployment. A layer behind the target model has its embedding and its head.
    pub fn of(drafter: &Deployment, shares_tables: bool) -> Self {
        let tables = if shares_tables { 0.0 } else { super::weights::table_bytes(drafter) };
        Self { weight_bytes: layer_bytes(drafter) + tables, kv_token_bytes: kv_token_bytes(drafter) }
    }
}

/// A layer behind a model that reads its hidden states, as a model of its own: with attention over the whole context, and with
/// experts where the model has some (MTP), or a plain MLP (EAGLE).
pub fn layer_behind(target: &Model, has_experts: bool) -> Model {
    // Where no layer has a plain MLP, it is as wide as in models of the kind.
    let mlp_hidden = if target.mlp_hidden > 0 { target.mlp_hidden } else { 3 * target.hidden };
    let experts = target.experts.filter(|_| has_experts);
    Model {
        layers: 1,
        attention: target.attention.without_indexer(),
        window: None,
        recurrent: None,
        layers_without_mixer: 0,
        layers_without_mlp: 0,
        shared_kv_layers: 0,
        mlp_hidden,
        experts: experts.map(|experts| crate::models::Experts { dense_layers: 0, ..experts }),
        ..*target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::{KvFormat, WeightFormat};
    use crate::gpus::Gpu;
    use crate::models::{MODEL_IDS, MODELS};

    #[test]
    fn a_layer_behind_a_model_is_about_one_of_its_layers() {
        let gpu = *Gpu::named("h100_sxm").unwrap();
        for model in MODEL_IDS.iter().map(|id| *Model::named(id).unwrap()) {
            let of = |model| Deployment {
                gpu,
                model,
                tensor_parallel: 1,
                pipeline_parallel: 1,
                expert_layout: crate::ExpertLayout::ALONE,
                weights: WeightFormat::Bf16,
                quantized_head: false,
                kv: KvFormat::Bf16,
            };
            let layer = of(layer_behind(&model, true));
            let own = DrafterMemory::of(&layer, true);
            let mean = layer_bytes(&of(model)) / f64::from(model.layers);
            assert!(
                own.weight_bytes > 0.2 * mean && own.weight_bytes < 4.0 * mean,
                "{}: {own:?} {mean}",
                model.id
            );
            assert!(own.kv_token_bytes > 0.0, "{}", model.id);
            let dense = of(layer_behind(&model, false));
            assert!(DrafterMemory::of(&dense, true).weight_bytes > 0.0, "{}", model.id);
            assert!(DrafterMemory::of(&layer, false).weight_bytes > own.weight_bytes, "{}", model.id);
        }
        assert!(MODELS.len() > 10);
    }
}
