//! The profiles in `static/profiles`, by the GPUs and models of the parameter table.

use std::sync::{Mutex, PoisonError};

use servescope_cost::profile::{CompactTables, LayerSettings, NodeNetwork, Profile, ProfileError};

use crate::shipped::{Shipped, shipped_file};

/// One profile.
struct OfModels {
    gpu: &'static str,
    models: &'static [&'static str],
    profile: Shipped<Profile>,
}

macro_rules! shipped {
    ($gpu:literal, $models:expr, $file:literal) => {
        OfModels { gpu: $gpu, models: &$models, profile: shipped_file!($file) }
    };
}

/// Llama 3.1 has the layers of Llama 3. The GPUs of the A100 and H100 profiles are the SXM boards of DGX servers.
static SHIPPED: [OfModels; 20] = [
    shipped!("a100_80_sxm", ["codellama-34b"], "a100_CodeLlama-34b-Instruct-hf"),
    shipped!("a100_80_sxm", ["llama-2-70b"], "a100_Llama-2-70b-hf"),
    shipped!("a100_80_sxm", ["llama-2-7b"], "a100_Llama-2-7b-hf"),
    shipped!("a100_80_sxm", ["llama-3-70b", "llama-3.1-70b"], "a100_Meta-Llama-3-70B"),
    shipped!("a100_80_sxm", ["llama-3-8b", "llama-3.1-8b"], "a100_Meta-Llama-3-8B"),
    shipped!("a100_80_sxm", ["qwen-72b"], "a100_Qwen-72B"),
    shipped!("a100_80_sxm", ["internlm-20b"], "a100_internlm-20b"),
    shipped!("a100_80_sxm", ["phi-2"], "a100_phi-2"),
    shipped!("a40", ["codellama-34b"], "a40_CodeLlama-34b-Instruct-hf"),
    shipped!("a40", ["llama-2-70b"], "a40_Llama-2-70b-hf"),
    shipped!("a40", ["llama-2-7b"], "a40_Llama-2-7b-hf"),
    shipped!("a40", ["qwen-72b"], "a40_Qwen-72B"),
    shipped!("a40", ["internlm-20b"], "a40_internlm-20b"),
    shipped!("a40", ["phi-2"], "a40_phi-2"),
    shipped!("h100_sxm", ["codellama-34b"], "h100_CodeLlama-34b-Instruct-hf"),
    shipped!("h100_sxm", ["llama-2-70b"], "h100_Llama-2-70b-hf"),
    shipped!("h100_sxm", ["llama-2-7b"], "h100_Llama-2-7b-hf"),
    shipped!("h100_sxm", ["qwen-72b"], "h100_Qwen-72B"),
    shipped!("h100_sxm", ["internlm-20b"], "h100_internlm-20b"),
    shipped!("h100_sxm", ["phi-2"], "h100_phi-2"),
];

fn shipped(gpu: &str, model: &str) -> Option<&'static Shipped<Profile>> {
    SHIPPED.iter().find(|s| s.gpu == gpu && s.models.contains(&model)).map(|s| &s.profile)
}

fn read(text: &str) -> Option<Profile> {
    Profile::read(text).ok()
}

/// The profile of a model on a GPU, where there is one; none too while [`missing_table`] names its file.
pub fn shipped_profile(gpu: &str, model: &str) -> Option<&'static Profile> {
    shipped(gpu, model)?.get(read)
}

/// The file in `static/profiles`, without its ending, that has to be handed over before there is a profile of the model on the
/// GPU.
pub fn missing_table(gpu: &str, model: &str) -> Option<&'static str> {
    shipped(gpu, model).filter(|own| own.is_missing()).map(|own| own.file)
}

/// Takes the text of a file that [`missing_table`] has named. False where that is no such file, or not its text.
pub(crate) fn take(file: &str, text: &str) -> bool {
    SHIPPED.iter().any(|s| s.profile.file == file && s.profile.take(text, read))
}

/// Of which profile, settings and node the last tables were.
type LastTables = (&'static Profile, LayerSettings, Option<&'static NodeNetwork>, CompactTables);

/// The tables of a shipped profile with the messages of a node, if not its own. The last ones are kept: a slider asks for the same at every move.
///
/// # Errors
/// Those of [`Profile::tables`].
pub fn shipped_tables(
    profile: &'static Profile,
    settings: LayerSettings,
    network: Option<&'static NodeNetwork>,
) -> Result<CompactTables, ProfileError> {
    static LAST: Mutex<Option<LastTables>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, by, on, tables)) = &*last
        && std::ptr::eq(*of, profile)
        && *by == settings
        && *on == network
    {
        return Ok(tables.clone());
    }
    let tables = profile.tables_on(settings, network)?;
    *last = Some((profile, settings, network, tables.clone()));
    Ok(tables)
}

/// The GPUs and models that there are profiles of.
pub fn shipped_profiles() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().flat_map(|s| s.models.iter().map(|model| (s.gpu, *model)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::take_table;
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

    #[test]
    fn only_the_very_text_is_taken_for_a_file() {
        let (own, other) = (&SHIPPED[0].profile, &SHIPPED[1].profile);
        assert!(take_table(own.file, own.text()).is_ok());
        let refused = |file: &str, text: &str| take_table(file, text).unwrap_err().code;
        assert_eq!(refused(own.file, other.text()), "other_table");
        assert_eq!(refused(own.file, &own.text().replacen('8', "9", 1)), "other_table");
        assert_eq!(refused("a100_unknown", own.text()), "other_table");
        // Where the texts are inside, nothing is missing.
        assert!(shipped_profiles().all(|(gpu, model)| missing_table(gpu, model).is_none()));
    }
}
