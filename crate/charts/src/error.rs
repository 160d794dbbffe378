//! What can go wrong when a chart is made or drawn.

/// Why a chart cannot be made or drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// A role, a mark, a scale or a kind of axis by a name that none has.
    #[error(transparent)]
    Unknown(#[from] servescope_chart::UnknownName),
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
