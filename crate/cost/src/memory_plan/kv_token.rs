//! What a token of a request keeps on a GPU.

use crate::deployment::Deployment;

/// Bytes of a token in all layers of the stage that has most, while it is within every window.
pub fn kv_token_bytes(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let share = f64::from(deployment.most_layers()) / f64::from(model.layers);
    let full = f64::from(model.full_layers() - model.shared_kv_layers) * deployment.kv_bytes_per_layer();
    let windowed = model.window.map_or(0.0, |window| f64::from(window.layers - window.shared_kv_layers))
        * deployment.window_kv_bytes_per_layer();
    let indexed = model.attention.indexer().map_or(0.0, |i| f64::from(i.layers) * i.kv_bytes());
    (full + windowed + indexed) * share
}
