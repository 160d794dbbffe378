//! Distributions of clients, from ServeGen's windows, as JSON and text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use servescope_workload::fit::ClientFit;
use servescope_workload::share_fit::ShareFit;

/// Every distribution, that with two parameters last.
fn distributions(fit: &ClientFit) -> impl Iterator<Item = &ShareFit> {
    fit.shares.distributions.iter().chain([&fit.zipf_mandelbrot])
}

/// How many days each distribution is the nearest on.
fn days(fit: &ClientFit) -> BTreeMap<&'static str, usize> {
    let mut days = BTreeMap::new();
    for &distribution in &fit.nearest_by_day {
        *days.entry(distribution).or_default() += 1;
    }
    days
}

/// As JSON.
pub fn clients_json(fit: &ClientFit) -> Json {
    json!({
        "clients": fit.names.len(),
        "rate_rps": fit.rate_rps.iter().sum::<f64>(),
        "top_share": fit.shares.shares[0],
        "labels_for_50_80_90pct": fit.shares.labels_for,
        "distributions": distributions(fit).map(super::share_distribution_json).collect::<Vec<_>>(),
        "zipf_mandelbrot_offset": fit.offset,
        "nearest_distribution_days": days(fit),
    })
}

/// As text.
pub fn clients_text(fit: &ClientFit) -> String {
    let [half, most, nearly_all] = fit.shares.labels_for;
    let mut text = format!(
        "clients           {}\nrate              {:.4} req/s\nbusiest client    {:.3} of requests\n\
         50 / 80 / 90 %    {half} / {most} / {nearly_all} clients\n\n\
         distribution of shares       parameter  divergence (nats)  distance  busiest client\n",
        fit.names.len(),
        fit.rate_rps.iter().sum::<f64>(),
        fit.shares.shares[0],
    );
    for distribution in distributions(fit) {
        let parameter = distribution.parameter.map_or("-".to_owned(), |x| format!("{x:.3}"));
        let _ = writeln!(
            text,
            "{:<18}{parameter:>11}{:>19.4}{:>10.4}{:>16.3}",
            distribution.distribution,
            distribution.divergence_nats,
            distribution.distance,
            distribution.top_share
        );
    }
    let _ = writeln!(text, "(zipf_mandelbrot has a second parameter, its offset q = {:.2})", fit.offset);
    let days: Vec<String> =
        days(fit).iter().map(|(distribution, days)| format!("{distribution} {days}")).collect();
    let _ = writeln!(text, "\nnearest distribution with one parameter, days: {}", days.join(", "));
    text
}
