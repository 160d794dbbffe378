//! The profiles in `static/profiles`, by the GPUs and models of the parameter table.

use std::sync::{Mutex, OnceLock, PoisonError};

use servescope_cost::profile::{CompactTables, LayerSettings, Profile, ProfileError};

/// One profile.
struct Shipped {
    gpu: &'static str,
    models: &'static [&'static str],
    text: &'static str,
    read: OnceLock<Profile>,
}

const fn shipped(gpu: &'static str, models: &'static [&'static str], text: &'static str) -> Shipped {
    Shipped { gpu, models, text, read: OnceLock::new() }
}

/// Llama 3.1 has the layers of Llama 3. The GPUs of the A100 and H100 profiles are the SXM boards of DGX servers.
static SHIPPED: [Shipped; 20] = [
    shipped(
        "a100_80_sxm",
        &["codellama-34b"],
        include_str!("../../../../static/profiles/a100_CodeLlama-34b-Instruct-hf.txt"),
    ),
    shipped(
        "a100_80_sxm",
        &["llama-2-70b"],
        include_str!("../../../../static/profiles/a100_Llama-2-70b-hf.txt"),
    ),
    shipped(
        "a100_80_sxm",
        &["llama-2-7b"],
        include_str!("../../../../static/profiles/a100_Llama-2-7b-hf.txt"),
    ),
    shipped(
        "a100_80_sxm",
        &["llama-3-70b", "llama-3.1-70b"],
        include_str!("../../../../static/profiles/a100_Meta-Llama-3-70B.txt"),
    ),
    shipped(
        "a100_80_sxm",
        &["llama-3-8b", "llama-3.1-8b"],
        include_str!("../../../../static/profiles/a100_Meta-Llama-3-8B.txt"),
    ),
    shipped("a100_80_sxm", &["qwen-72b"], include_str!("../../../../static/profiles/a100_Qwen-72B.txt")),
    shipped(
        "a100_80_sxm",
        &["internlm-20b"],
        include_str!("../../../../static/profiles/a100_internlm-20b.txt"),
    ),
    shipped("a100_80_sxm", &["phi-2"], include_str!("../../../../static/profiles/a100_phi-2.txt")),
    shipped(
        "a40",
        &["codellama-34b"],
        include_str!("../../../../static/profiles/a40_CodeLlama-34b-Instruct-hf.txt"),
    ),
    shipped("a40", &["llama-2-70b"], include_str!("../../../../static/profiles/a40_Llama-2-70b-hf.txt")),
    shipped("a40", &["llama-2-7b"], include_str!("../../../../static/profiles/a40_Llama-2-7b-hf.txt")),
    shipped("a40", &["qwen-72b"], include_str!("../../../../static/profiles/a40_Qwen-72B.txt")),
    shipped("a40", &["internlm-20b"], include_str!("../../../../static/profiles/a40_internlm-20b.txt")),
    shipped("a40", &["phi-2"], include_str!("../../../../static/profiles/a40_phi-2.txt")),
    shipped(
        "h100_sxm",
        &["codellama-34b"],
        include_str!("../../../../static/profiles/h100_CodeLlama-34b-Instruct-hf.txt"),
    ),
    shipped(
        "h100_sxm",
        &["llama-2-70b"],
        include_str!("../../../../static/profiles/h100_Llama-2-70b-hf.txt"),
    ),
    shipped("h100_sxm", &["llama-2-7b"], include_str!("../../../../static/profiles/h100_Llama-2-7b-hf.txt")),
    shipped("h100_sxm", &["qwen-72b"], include_str!("../../../../static/profiles/h100_Qwen-72B.txt")),
    shipped("h100_sxm", &["internlm-20b"], include_str!("../../../../static/profiles/h100_internlm-20b.txt")),
    shipped("h100_sxm", &["phi-2"], include_str!("../../../../static/profiles/h100_phi-2.txt")),
];

/// The profile of a model on a GPU.
pub fn shipped_profile(gpu: &str, model: &str) -> Option<&'static Profile> {
    let found = SHIPPED.iter().find(|s| s.gpu == gpu && s.models.contains(&model))?;
    let read = || Profile::read(found.text).expect("shipped profiles are read by a test");
    Some(found.read.get_or_init(read))
}

/// The tables of a shipped profile. The last ones are kept: a slider asks for the same at every move.
///
/// # Errors
/// Those of [`Profile::tables`].
pub fn shipped_tables(
    profile: &'static Profile,
    settings: LayerSettings,
) -> Result<CompactTables, ProfileError> {
    static LAST: Mutex<Option<(&Profile, LayerSettings, CompactTables)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, by, tables)) = &*last
        && std::ptr::eq(*of, profile)
        && *by == settings
    {
        return Ok(tables.clone());
    }
    let tables = profile.tables(settings)?;
    *last = Some((profile, settings, tables.clone()));
    Ok(tables)
}

/// The GPUs and models that there are profiles of.
pub fn shipped_profiles() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().flat_map(|s| s.models.iter().map(|model| (s.gpu, *model)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_cost::gpus::Gpu;
    use servescope_cost::models::Model;

    #[test]
    fn every_shipped_profile_is_of_its_gpu_and_model() {
        for (gpu, model) in shipped_profiles() {
            let profile = shipped_profile(gpu, model).unwrap();
            let facts = Model::named(model).unwrap();
            assert!(Gpu::named(gpu).unwrap().id.starts_with(&profile.gpu));
            let shape = facts.dense_shape().unwrap();
            let ours = profile.shape;
            assert_eq!(
                (
                    shape.layers,
                    shape.hidden,
                    shape.query_heads,
                    shape.kv_heads,
                    shape.mlp_hidden,
                    shape.gated_mlp
                ),
                (ours.layers, ours.hidden, ours.query_heads, ours.kv_heads, ours.mlp_hidden, ours.gated_mlp),
                "{model}"
            );
        }
        assert_eq!(shipped_profiles().count(), 22);
    }
}
