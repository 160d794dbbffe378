//! A fit with its twins as text.

use std::fmt::Write as _;

use servescope_workload::fit::{DistributionDistance, Fit, GapFit, LengthFit};

use super::{Twin, scenario};

/// Windows whose dispersion the text contains, seconds.
const WINDOWS_S: [f64; 4] = [1.0, 10.0, 60.0, 600.0];

fn distribution(distribution: Option<DistributionDistance>) -> String {
    distribution.map_or("-".to_owned(), |l| format!("{:.4} (distance {:.3})", l.shape, l.distance))
}

fn number(x: Option<f64>) -> String {
    x.filter(|x| x.is_finite()).map_or("-".to_owned(), |x| format!("{x:.4}"))
}

/// A fit with the distances of its twins.
pub fn to_text(fitted: &Fit, twins: &[Twin], seed: u64) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<19}{value}");
    };
    line("requests", fitted.requests.to_string());
    line("span", format!("{:.3} s", fitted.span_s));
    line(
        "rate",
        format!(
            "{:.4} req/s, a curve of {} bins of {} s",
            fitted.rate_rps,
            fitted.curve.rate_rps.len(),
            fitted.curve.bin_s
        ),
    );
    line(
        "gap cv",
        format!("{}, median within minutes {}", number(fitted.gaps.cv), number(fitted.cv_within_minutes)),
    );
    gaps(&mut line, "gaps", &fitted.gaps);
    if fitted.stamps.is_some() {
        gaps(&mut line, "spread gaps", &fitted.spread_gaps);
    }
    gaps(&mut line, "on curve's clock", &fitted.curve_gaps);
    for (window, index) in fitted.dispersion.named() {
        line(&format!("dispersion {window} s"), number(index));
    }
    lengths(&mut line, "prompt lengths", &fitted.input);
    lengths(&mut line, "output lengths", &fitted.output);
    line("rank correlation", number(fitted.length_correlation));
    for (name, labels) in [("users", &fitted.users), ("adapters", &fitted.adapters)] {
        if let Some(labels) = labels {
            let nearest = labels.distributions.first().map_or(String::new(), |l| {
                format!(
                    ", nearest {} {} ({:.4} nats)",
                    l.distribution,
                    number(l.parameter),
                    l.divergence_nats
                )
            });
            line(name, format!("{}, the busiest {:.3}{nearest}", labels.labels, labels.shares[0]));
        }
    }
    if let Some(sessions) = &fitted.sessions {
        line("sessions", format!("{}, {:.2} requests each", sessions.sessions, sessions.turns.mean));
    }
    line(
        "bursts",
        format!(
            "{} levels below cells of {:.4} s, {} numbers in all",
            fitted.cascade.levels.len(),
            fitted.cascade.trend_s,
            fitted.cascade.parameters()
        ),
    );
    models(&mut text, twins, seed);
    let scenario = scenario(fitted);
    text.push_str("\nas a scenario (servescope simulate SCENARIO.json):\n");
    let _ = writeln!(text, "{}", scenario.scenario.to_json());
    scenario.left_out.iter().for_each(|left| {
        let _ = writeln!(text, "not in it: {left}");
    });
    fitted.findings.iter().for_each(|finding| {
        let _ = writeln!(text, "note: {}", finding.message);
    });
    text
}

fn gaps(line: &mut impl FnMut(&str, String), name: &str, gaps: &GapFit) {
    let exponential = number(gaps.exponential_distance);
    line(
        name,
        format!(
            "gamma shape by cv {}, by likelihood {}; Weibull {}; exponential distance {exponential}",
            distribution(gaps.gamma_moments),
            distribution(gaps.gamma),
            distribution(gaps.weibull)
        ),
    );
}

fn lengths(line: &mut impl FnMut(&str, String), name: &str, lengths: &LengthFit) {
    let distributions: Vec<String> =
        lengths.distributions.iter().map(|l| format!("{} {:.3}", l.name, l.distance)).collect();
    line(
        name,
        format!(
            "mean {:.1}; distances: {}, quantile table {:.4}",
            lengths.mean,
            distributions.join(", "),
            lengths.quantile_distance
        ),
    );
}

/// The models beside each other: distances, and dispersions over the source's.
fn models(text: &mut String, twins: &[Twin], seed: u64) {
    let _ = writeln!(
        text,
        "\ntwins of seed {seed}: Kolmogorov distances, and dispersion over the source's\n\
         model         gaps  prompt  answer   users     1 s    10 s    60 s   600 s"
    );
    for twin in twins {
        let c = &twin.comparison;
        let _ = write!(
            text,
            "{:<11}{:>7.3}{:>8.3}{:>8.3}{:>8.3}",
            twin.model.name(),
            c.gap_distance,
            c.input_distance,
            c.output_distance,
            c.user_distance
        );
        for window in WINDOWS_S {
            let ratio = c.dispersion_ratio(window).map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
            let _ = write!(text, "{ratio:>8}");
        }
        let _ = writeln!(text, "  {}", twin.model.describe());
    }
}
