//! How requests spread over labels: users, adapters.

use crate::BASE_MODEL;
use crate::share_fit::{ShareFit, fit_shares};
use crate::statistics::{SHARES, sort_places};

/// Requests by label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelFit {
    /// Different labels in use, the base model not counted.
    pub labels: usize,
    /// Share of requests for the base model, which is no label.
    pub unlabelled_share: f64,
    /// Share of each label among the labelled requests, the busiest first.
    pub shares: Vec<f64>,
    /// The label of each share.
    pub label: Vec<u32>,
    /// How many of the busiest labels make half, 80 % and 90 % of the labelled requests.
    pub labels_for: [usize; 3],
    /// Every distribution of shares, the nearest first; empty below two labels.
    pub distributions: Vec<ShareFit>,
}

impl LabelFit {
    /// The shares of the labels of a column; `None` where no request has one.
    pub fn of(column: &[u32]) -> Option<Self> {
        let mut counts =
            vec![0.0f64; column.iter().filter(|&&l| l != BASE_MODEL).max().map_or(0, |&l| l as usize + 1)];
        for &label in column.iter().filter(|&&l| l != BASE_MODEL) {
            counts[label as usize] += 1.0;
        }
        Self::of_counts(&counts, column.len() as f64)
    }

    /// The shares of counts (or rates) by label; `all` are the requests with and without one.
    pub fn of_counts(counts: &[f64], all: f64) -> Option<Self> {
        let total: f64 = counts.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let busiest_first: Vec<f64> = counts.iter().map(|c| -c).collect();
        let label: Vec<u32> =
            sort_places(&busiest_first).into_iter().filter(|&place| counts[place as usize] > 0.0).collect();
        let shares: Vec<f64> = label.iter().map(|&place| counts[place as usize] / total).collect();
        let labels_for = SHARES.map(|wanted| {
            let mut sum = 0.0;
            let reached = shares.iter().position(|share| {
                sum += share;
                sum >= wanted - 1e-9
            });
            reached.map_or(shares.len(), |place| place + 1)
        });
        Some(Self {
            labels: shares.len(),
            unlabelled_share: if all > 0.0 { (1.0 - total / all).max(0.0) } else { 0.0 },
            distributions: fit_shares(counts),
            shares,
            label,
            labels_for,
        })
    }

    /// The label at the uniform number `u` in (0, 1): unlabelled requests first.
    pub(super) fn at(&self, cumulated: &[f64], u: f64) -> u32 {
        if u < self.unlabelled_share {
            return BASE_MODEL;
        }
        let u = (u - self.unlabelled_share) / (1.0 - self.unlabelled_share);
        self.label[cumulated.partition_point(|&c| c <= u).min(self.label.len() - 1)]
    }

    /// Cumulated shares, for [`LabelFit::at`].
    pub(super) fn cumulated(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let add = |share: &f64| {
            sum += share;
            sum
        };
        self.shares.iter().map(add).collect()
    }
}
