//! What can go wrong when a chart is made or drawn.

/// Why a chart cannot be made or drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// No [`Role`](crate::Role) has this name.
    #[error("unknown chart role {0:?}")]
    UnknownRole(String),
    /// No [`Mark`](crate::Mark) has this name.
    #[error("unknown chart mark {0:?}")]
    UnknownMark(String),
    /// No [`ScaleKind`](crate::ScaleKind) has this name.
    #[error("unknown axis scale {0:?}")]
    UnknownScale(String),
    /// No [`AxisKind`](crate::AxisKind) has this name.
    #[error("unknown axis kind {0:?}")]
    UnknownAxisKind(String),
    /// The size leaves no room for a plot between the labels, is not a number, or is beyond what a canvas holds.
    #[error("cannot draw a chart of {width} x {height} px at {dpr} device pixels each")]
    Size {
        /// Width in CSS px.
        width: f64,
        /// Height in CSS px.
        height: f64,
        /// Device pixels in a CSS px.
        dpr: f64,
    },
    /// The drawing backend refused.
    #[error("drawing failed: {0}")]
    Backend(String),
}
