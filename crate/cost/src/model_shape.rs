//! The dimensions of a dense transformer, as profiles and tables of models give them.

/// The dimensions of a dense transformer that memory depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelShape {
    /// Layers.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u32,
    /// Query heads.
    pub query_heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Hidden size of the MLP.
    pub mlp_hidden: u32,
    /// Whether the MLP has a gate: three matrices in place of two.
    pub gated_mlp: bool,
}

impl ModelShape {
    /// Dimension of a head.
    pub fn head_dim(&self) -> u32 {
        self.hidden / self.query_heads.max(1)
    }
}
