//! The colours: Okabe and Ito's, moved in lightness until each stands out from the paper at 3:1 or more.
//!
//! A colour means one thing in every chart. Blue: work that arrives (requests, input tokens, their prefill, the
//! first token). Green: work that is served (output tokens, their decoding, the time between them). Orange: waiting.
//! Vermilion: turned away or thrown back. Purple: KV cache and the reading of memory. Sky: adapters, and prompts beside
//! decoding. Yellow: products. Ink: totals, closed forms and limits. Users and adapters have a set of their own, `client_0` to
//! `client_6`, so that none of them looks like a stage. `shade_0` to
//! `shade_8` are the steps of viridis, each lighter than the one before, for heat maps.

use plotters::style::RGBColor;

use crate::Role;

const LIGHT: [(&str, &str); 51] = [
    ("ink", "#1b1f24"),
    ("muted", "#5b6470"),
    ("grid", "#e8eaed"),
    ("paper", "#ffffff"),
    ("arrivals", "#0072b2"),
    ("waiting", "#c98200"),
    ("running", "#009e73"),
    ("served", "#009e73"),
    ("refused", "#d55e00"),
    ("kv", "#b8609a"),
    ("adapters", "#2a9bc8"),
    ("pool", "#1b1f24"),
    ("prefill", "#0072b2"),
    ("decode", "#009e73"),
    ("input", "#0072b2"),
    ("output", "#009e73"),
    ("density", "#1b1f24"),
    ("expected", "#1b1f24"),
    ("ttft", "#0072b2"),
    ("tbt", "#009e73"),
    ("e2e", "#1b1f24"),
    ("slo", "#5b6470"),
    ("queue", "#c98200"),
    ("load", "#2a9bc8"),
    ("stalled", "#d55e00"),
    ("twin", "#1b1f24"),
    ("plain_twin", "#5b6470"),
    ("mixed", "#2a9bc8"),
    ("linear", "#a07c00"),
    ("pointwise", "#8a6f55"),
    ("communication", "#7a5cc0"),
    ("host", "#5b6470"),
    ("whole", "#1b1f24"),
    ("mfu", "#a07c00"),
    ("bandwidth", "#b8609a"),
    ("client_0", "#4338a8"),
    ("client_1", "#8a2458"),
    ("client_2", "#66721a"),
    ("client_3", "#187672"),
    ("client_4", "#b94a62"),
    ("client_5", "#7c4d2b"),
    ("client_6", "#4f63a3"),
    ("shade_0", "#440154"),
    ("shade_1", "#472d7b"),
    ("shade_2", "#3b528b"),
    ("shade_3", "#2c728e"),
    ("shade_4", "#21918c"),
    ("shade_5", "#28ae80"),
    ("shade_6", "#5ec962"),
    ("shade_7", "#addc30"),
    ("shade_8", "#fde725"),
];

const DARK: [(&str, &str); 51] = [
    ("ink", "#e8eaed"),
    ("muted", "#9aa3ad"),
    ("grid", "#262b31"),
    ("paper", "#14171a"),
    ("arrivals", "#3d8fd9"),
    ("waiting", "#e69f00"),
    ("running", "#12a87a"),
    ("served", "#12a87a"),
    ("refused", "#e8702a"),
    ("kv", "#d58bb5"),
    ("adapters", "#7ccbf5"),
    ("pool", "#e8eaed"),
    ("prefill", "#3d8fd9"),
    ("decode", "#12a87a"),
    ("input", "#3d8fd9"),
    ("output", "#12a87a"),
    ("density", "#e8eaed"),
    ("expected", "#e8eaed"),
    ("ttft", "#3d8fd9"),
    ("tbt", "#12a87a"),
    ("e2e", "#e8eaed"),
    ("slo", "#9aa3ad"),
    ("queue", "#e69f00"),
    ("load", "#7ccbf5"),
    ("stalled", "#e8702a"),
    ("twin", "#e8eaed"),
    ("plain_twin", "#9aa3ad"),
    ("mixed", "#7ccbf5"),
    ("linear", "#e0cc3c"),
    ("pointwise", "#b89a7d"),
    ("communication", "#a98ee8"),
    ("host", "#9aa3ad"),
    ("whole", "#e8eaed"),
    ("mfu", "#e0cc3c"),
    ("bandwidth", "#d58bb5"),
    ("client_0", "#9a92f0"),
    ("client_1", "#d874a8"),
    ("client_2", "#bcc75a"),
    ("client_3", "#5fc2bd"),
    ("client_4", "#f294a4"),
    ("client_5", "#cf9d74"),
    ("client_6", "#a3b4e6"),
    ("shade_0", "#440154"),
    ("shade_1", "#472d7b"),
    ("shade_2", "#3b528b"),
    ("shade_3", "#2c728e"),
    ("shade_4", "#21918c"),
    ("shade_5", "#28ae80"),
    ("shade_6", "#5ec962"),
    ("shade_7", "#addc30"),
    ("shade_8", "#fde725"),
];

/// The colours of a theme as `(name, "#rrggbb")`: `ink`, `muted`, `grid`, `paper`, then every [`Role`] in the order of
/// [`Role::ALL`].
pub fn palette(dark: bool) -> &'static [(&'static str, &'static str)] {
    if dark { &DARK } else { &LIGHT }
}

/// The colours that are no role's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ground {
    Ink,
    Muted,
    Grid,
    Paper,
}

impl Ground {
    pub(crate) fn colour(self, dark: bool) -> RGBColor {
        entry(dark, self as usize)
    }
}

/// The colour of a role.
pub(crate) fn of_role(role: Role, dark: bool) -> RGBColor {
    entry(dark, 4 + role as usize)
}

fn entry(dark: bool, index: usize) -> RGBColor {
    let hex = palette(dark)[index].1;
    let value = u32::from_str_radix(&hex[1..], 16).unwrap_or(0);
    let [_, red, green, blue] = value.to_be_bytes();
    RGBColor(red, green, blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_role_has_its_colour() {
        for dark in [false, true] {
            let names: Vec<_> = palette(dark).iter().map(|entry| entry.0).collect();
            assert_eq!(names[..4], ["ink", "muted", "grid", "paper"]);
            assert!(Role::ALL.iter().map(|role| role.name()).eq(names[4..].iter().copied()));
            assert!(palette(dark).iter().all(|(_, hex)| hex.len() == 7 && hex.starts_with('#')));
        }
    }

    /// Whether a role is a step of a heat map's scale.
    fn is_shade(role: Role) -> bool {
        role.name().starts_with("shade_")
    }

    #[test]
    fn each_shade_is_lighter_than_the_one_before() {
        for dark in [false, true] {
            let shades = Role::ALL.into_iter().filter(|&role| is_shade(role));
            let light: Vec<f64> = shades.map(|role| luminance(of_role(role, dark))).collect();
            assert!(light.len() == 9 && light.windows(2).all(|pair| pair[0] < pair[1]), "{light:?}");
        }
    }

    #[test]
    fn lines_stand_out_and_labels_can_be_read() {
        for dark in [false, true] {
            let paper = Ground::Paper.colour(dark);
            for role in Role::ALL.into_iter().filter(|&role| !is_shade(role)) {
                let found = contrast(of_role(role, dark), paper);
                assert!(found >= 3.0, "{role:?}, dark {dark}: {found}");
            }
            assert!(contrast(Ground::Muted.colour(dark), paper) >= 4.5);
            assert!(contrast(Ground::Ink.colour(dark), paper) >= 7.0);
        }
    }
}
