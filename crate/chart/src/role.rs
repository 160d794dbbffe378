//! What a series shows. A role has one colour everywhere, and a dash or a marker for eyes that cannot distinguish colours.

use crate::UnknownName;

/// What a series shows; its name is the legend's message key and the colour's key in the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names are the field's own terms")]
pub enum Role {
    #[default]
    Arrivals,
    Waiting,
    Running,
    Served,
    Refused,
    Kv,
    Adapters,
    Pool,
    Prefill,
    Decode,
    Input,
    Output,
    Density,
    Expected,
    Ttft,
    Tbt,
    E2e,
    Slo,
    Queue,
    Load,
    Stalled,
    Twin,
    PlainTwin,
    Mixed,
    Linear,
    Pointwise,
    Communication,
    Host,
    Whole,
    Mfu,
    Bandwidth,
    Client0,
    Client1,
    Client2,
    Client3,
    Client4,
    Client5,
    Client6,
    Shade0,
    Shade1,
    Shade2,
    Shade3,
    Shade4,
    Shade5,
    Shade6,
    Shade7,
    Shade8,
}

/// A small shape: each point of a scatter, and sparse signs along a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A disc on scatters, nothing along lines.
    Plain,
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle on its side.
    Triangle,
    /// A diagonal cross.
    Cross,
}

impl Role {
    /// Every role, in the order of the palette.
    pub const ALL: [Self; 47] = [
        Self::Arrivals,
        Self::Waiting,
        Self::Running,
        Self::Served,
        Self::Refused,
        Self::Kv,
        Self::Adapters,
        Self::Pool,
        Self::Prefill,
        Self::Decode,
        Self::Input,
        Self::Output,
        Self::Density,
        Self::Expected,
        Self::Ttft,
        Self::Tbt,
        Self::E2e,
        Self::Slo,
        Self::Queue,
        Self::Load,
        Self::Stalled,
        Self::Twin,
        Self::PlainTwin,
        Self::Mixed,
        Self::Linear,
        Self::Pointwise,
        Self::Communication,
        Self::Host,
        Self::Whole,
        Self::Mfu,
        Self::Bandwidth,
        Self::Client0,
        Self::Client1,
        Self::Client2,
        Self::Client3,
        Self::Client4,
        Self::Client5,
        Self::Client6,
        Self::Shade0,
        Self::Shade1,
        Self::Shade2,
        Self::Shade3,
        Self::Shade4,
        Self::Shade5,
        Self::Shade6,
        Self::Shade7,
        Self::Shade8,
    ];

    /// The role of this name.
    ///
    /// # Errors
    /// [`UnknownName`].
    pub fn from_name(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| UnknownName::new("chart role", name))
    }

    /// Its name at the boundary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrivals => "arrivals",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Served => "served",
            Self::Refused => "refused",
            Self::Kv => "kv",
            Self::Adapters => "adapters",
            Self::Pool => "pool",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Input => "input",
            Self::Output => "output",
            Self::Density => "density",
            Self::Expected => "expected",
            Self::Ttft => "ttft",
            Self::Tbt => "tbt",
            Self::E2e => "e2e",
            Self::Slo => "slo",
            Self::Queue => "queue",
            Self::Load => "load",
            Self::Stalled => "stalled",
            Self::Twin => "twin",
            Self::PlainTwin => "plain_twin",
            Self::Mixed => "mixed",
            Self::Linear => "linear",
            Self::Pointwise => "pointwise",
            Self::Communication => "communication",
            Self::Host => "host",
            Self::Whole => "whole",
            Self::Mfu => "mfu",
            Self::Bandwidth => "bandwidth",
            Self::Client0 => "client_0",
            Self::Client1 => "client_1",
            Self::Client2 => "client_2",
            Self::Client3 => "client_3",
            Self::Client4 => "client_4",
            Self::Client5 => "client_5",
            Self::Client6 => "client_6",
            Self::Shade0 => "shade_0",
            Self::Shade1 => "shade_1",
            Self::Shade2 => "shade_2",
            Self::Shade3 => "shade_3",
            Self::Shade4 => "shade_4",
            Self::Shade5 => "shade_5",
            Self::Shade6 => "shade_6",
            Self::Shade7 => "shade_7",
            Self::Shade8 => "shade_8",
        }
    }

    /// Lengths of stroke and gap in CSS px; empty = solid. Only smooth lines and rules are dashed: each dash is
    /// a path of its own, which a noisy line would have by the thousand.
    pub fn dash(self) -> &'static [u8] {
        match self {
            Self::Pool => &[8, 4],
            Self::Expected => &[5, 3],
            Self::Tbt => &[8, 3],
            Self::E2e => &[2, 3],
            Self::Slo => &[4, 4],
            Self::Twin => &[6, 2],
            Self::PlainTwin => &[1, 3],
            _ => &[],
        }
    }

    /// The marker of scatters and, sparsely, of noisy lines.
    pub fn marker(self) -> Marker {
        match self {
            Self::Running | Self::Served | Self::Decode | Self::Output => Marker::Circle,
            Self::Waiting | Self::Queue => Marker::Triangle,
            Self::Refused | Self::Stalled => Marker::Cross,
            Self::Kv | Self::Prefill | Self::Mfu => Marker::Square,
            Self::Adapters | Self::Load | Self::Bandwidth => Marker::Diamond,
            _ => Marker::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (index, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, index);
            assert_eq!(Role::from_name(role.name()), Ok(role));
        }
        assert_eq!(Role::from_name("profit"), Err(UnknownName::new("chart role", "profit")));
    }

    #[test]
    fn without_colour_the_lines_of_a_chart_still_differ() {
        for chart in [
            &["arrivals", "served", "refused"][..],
            &["running", "waiting"],
            &["kv", "adapters", "pool"],
            &["prefill", "decode"],
            &["ttft", "tbt", "e2e", "slo"],
            &["ttft", "refused", "slo"],
            &["input", "output"],
            &["arrivals", "twin", "plain_twin"],
            &["input", "running"],
            &["mfu", "bandwidth"],
        ] {
            let signs: Vec<_> = chart
                .iter()
                .filter_map(|name| Role::from_name(name).ok())
                .map(|role| (role.dash(), role.marker()))
                .collect();
            assert_eq!(signs.len(), chart.len());
            for (index, sign) in signs.iter().enumerate() {
                assert!(!signs[..index].contains(sign), "{chart:?}");
            }
        }
    }
}
