//! Clients of a service, from ServeGen's windows: who sends how much, and which distribution their shares follow.

use std::collections::BTreeMap;

use super::LabelFit;
use crate::formats::ServeGenWindow;
use crate::popularity::Popularity;
use crate::share_fit::{ShareFit, measured_by};

/// Seconds in a day.
const DAY_S: f64 = 86_400.0;

/// Clients and the distributions of their shares.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientFit {
    /// Names, the busiest first.
    pub names: Vec<String>,
    /// Mean rates over all windows, requests a second, in the order of the names.
    pub rate_rps: Vec<f64>,
    /// Shares and the distributions with one parameter.
    pub shares: LabelFit,
    /// Zipf and Mandelbrot's law, share ~ (rank + q)^-s, which has two parameters: its fit, `parameter` being s.
    pub zipf_mandelbrot: ShareFit,
    /// Its offset q.
    pub offset: f64,
    /// The name of the nearest distribution with one parameter on each whole day.
    pub nearest_by_day: Vec<&'static str>,
}

/// The distributions of the clients of a file of windows; `None` for fewer than two clients that send anything.
pub fn fit_clients(windows: &[ServeGenWindow]) -> Option<ClientFit> {
    let rates = mean_rates(windows.iter());
    let means: Vec<f64> = rates.values().copied().collect();
    let shares = LabelFit::of_counts(&means, 0.0).filter(|shares| shares.labels > 1)?;
    let names: Vec<&str> = rates.keys().copied().collect();
    let (zipf_mandelbrot, offset) = zipf_mandelbrot(&shares.shares);
    Some(ClientFit {
        names: shares.label.iter().map(|&place| names[place as usize].to_owned()).collect(),
        rate_rps: shares.label.iter().map(|&place| means[place as usize]).collect(),
        zipf_mandelbrot,
        offset,
        nearest_by_day: nearest_by_day(windows),
        shares,
    })
}

fn mean_rates<'a>(windows: impl Iterator<Item = &'a ServeGenWindow>) -> BTreeMap<&'a str, f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for window in windows {
        let (sum, count) = sums.entry(&window.client).or_default();
        *sum += window.rate_rps;
        *count += 1.0;
    }
    sums.into_iter().map(|(client, (sum, count))| (client, sum / count)).collect()
}

fn nearest_by_day(windows: &[ServeGenWindow]) -> Vec<&'static str> {
    let mut days: BTreeMap<i64, Vec<&ServeGenWindow>> = BTreeMap::new();
    for window in windows {
        days.entry((window.start_s / DAY_S).floor() as i64).or_default().push(window);
    }
    let nearest = |windows: Vec<&ServeGenWindow>| {
        let rates: Vec<f64> = mean_rates(windows.into_iter()).into_values().collect();
        crate::share_fit::fit_shares(&rates).first().map(|fit| fit.distribution)
    };
    days.into_values().filter_map(nearest).collect()
}

/// Share ~ (rank + q)^-s by least divergence: for each q the best s, and the best q of those, each by golden section.
fn zipf_mandelbrot(shares: &[f64]) -> (ShareFit, f64) {
    let distribution = |s: f64, q: f64| {
        Popularity::List((1..=shares.len()).map(|rank| libm::pow(rank as f64 + q, -s)).collect())
    };
    let best_s = |q: f64| {
        // A far offset needs a steep exponent to bend at all.
        crate::share_fit::minimise(
            |s| measured_by(shares, "", None, &distribution(s, q)).divergence_nats,
            0.0,
            6.0 + 2.0 * q,
        )
    };
    let offset = crate::share_fit::minimise(
        |q| measured_by(shares, "", None, &distribution(best_s(q), q)).divergence_nats,
        0.0,
        100.0,
    );
    let s = best_s(offset);
    (measured_by(shares, "zipf_mandelbrot", Some(s), &distribution(s, offset)), offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(distribution: &Popularity) -> Vec<ServeGenWindow> {
        let of = |(place, share): (usize, f64)| ServeGenWindow {
            client: format!("c{place}"),
            start_s: 0.0,
            rate_rps: share,
            cv: 1.0,
            pattern: "Gamma".to_owned(),
            shape: None,
        };
        distribution.shares(30).into_iter().enumerate().map(of).collect()
    }

    #[test]
    fn the_distribution_of_clients_is_found_again() {
        let fit = fit_clients(&windows(&Popularity::Geometric { decay: 0.3 })).unwrap();
        assert_eq!(
            (fit.shares.distributions[0].distribution, fit.nearest_by_day.as_slice()),
            ("geometric", &["geometric"][..])
        );
        assert_eq!(fit.names[0], "c0");
        let weights = (1..=30).map(|rank| libm::pow(f64::from(rank) + 4.0, -2.5)).collect();
        let fit = fit_clients(&windows(&Popularity::List(weights))).unwrap();
        assert!(
            (fit.offset - 4.0).abs() < 0.01 && (fit.zipf_mandelbrot.parameter.unwrap() - 2.5).abs() < 0.01
        );
        assert!(fit.zipf_mandelbrot.divergence_nats < 1e-8);
        assert!(fit_clients(&windows(&Popularity::Uniform)[..1]).is_none());
    }
}
