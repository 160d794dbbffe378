//! A name that no role, mark, scale or kind of axis has.

/// A name that came over the boundary and stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} {name:?}")]
pub struct UnknownName {
    /// What it should have named: "chart role", "chart mark", "axis scale" or "axis kind".
    pub kind: &'static str,
    /// The name.
    pub name: String,
}

impl UnknownName {
    pub(crate) fn new(kind: &'static str, name: &str) -> Self {
        Self { kind, name: name.to_owned() }
    }
}
