//! What was scraped of the replicas of a pool, and when a rule sees it.

use std::collections::VecDeque;

use crate::config::scaling::ScalingMetric;

/// What one replica that is ready says of itself at a moment; data-parallel ranks together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ReplicaSample {
    /// Which one.
    pub(crate) replica: u16,
    /// Requests that wait.
    pub(crate) waiting: u32,
    /// Requests that run.
    pub(crate) running: u32,
    /// Share of its KV blocks in use.
    pub(crate) kv_use: f64,
    /// KV tokens in use and of waiting prompts over those that fit.
    pub(crate) scheduled_kv: f64,
    /// Seconds in which it computes its prompts that have no first token.
    pub(crate) prefill_s: f64,
    /// Tokens of its waiting prompts over its longest context.
    pub(crate) queued_prefill: f64,
    /// Estimated time to the first token of a prompt of mean length behind those that are there, microseconds.
    pub(crate) ttft_us: f64,
    /// Estimated time of an iteration in which its running requests decode, microseconds.
    pub(crate) itl_us: f64,
}

impl ReplicaSample {
    fn of(&self, metric: ScalingMetric) -> f64 {
        match metric {
            ScalingMetric::NumRequestsWaiting => f64::from(self.waiting),
            ScalingMetric::Concurrency => f64::from(self.waiting + self.running),
            ScalingMetric::KvCacheUsage => self.kv_use,
        }
    }
}

/// One look at all replicas that were ready.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Scrape {
    /// When, microseconds.
    pub(crate) time_us: f64,
    /// In the order of their numbers.
    pub(crate) replicas: Box<[ReplicaSample]>,
}

/// The scrapes of the last minutes.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    all: VecDeque<Scrape>,
    /// How many of them the rule may see.
    shown: usize,
    kept_us: f64,
    delay_us: f64,
}

impl Samples {
    /// None yet: each is seen after a delay and forgotten after a while.
    pub(super) fn new(kept_us: f64, delay_us: f64) -> Self {
        Self { all: VecDeque::new(), shown: 0, kept_us, delay_us }
    }

    pub(super) fn add(&mut self, scrape: Scrape) {
        self.all.push_back(scrape);
    }

    /// Shows what is old enough at a time, and forgets what is too old.
    pub(super) fn show_until(&mut self, now_us: f64) {
        while self.all.len() > 1 && self.all[0].time_us < now_us - self.kept_us {
            self.all.pop_front();
        }
        self.shown = self.all.iter().take_while(|scrape| scrape.time_us + self.delay_us <= now_us).count();
    }

    /// What the rule may see of the time after `from_us`, oldest first; at least the newest.
    fn since(&self, from_us: f64) -> impl Iterator<Item = &Scrape> {
        let newest = self.shown.saturating_sub(1);
        let of_window =
            move |&(place, scrape): &(usize, &Scrape)| place == newest || scrape.time_us > from_us;
        self.all.iter().take(self.shown).enumerate().filter(of_window).map(|(_, scrape)| scrape)
    }

    /// The newest look.
    pub(super) fn newest(&self) -> &[ReplicaSample] {
        self.shown.checked_sub(1).map_or(&[], |newest| &self.all[newest].replicas)
    }

    /// Of each replica of the newest look, what was read of it over a window, put together.
    pub(super) fn over(
        &self,
        window: (f64, f64),
        of: impl Fn(&ReplicaSample) -> f64,
        join: impl Fn(&[f64]) -> f64,
    ) -> Vec<f64> {
        let (now_us, window_us) = window;
        let value = |newest: &ReplicaSample| {
            let own = self.since(now_us - window_us).flat_map(|scrape| scrape.replicas.iter());
            let values: Vec<f64> = own.filter(|sample| sample.replica == newest.replica).map(&of).collect();
            join(&values)
        };
        self.newest().iter().map(value).collect()
    }

    /// Of each replica of the newest look, the mean of a metric over a window.
    pub(super) fn means(&self, window: (f64, f64), metric: ScalingMetric) -> Vec<f64> {
        self.over(window, |sample| sample.of(metric), mean)
    }

    /// The mean over a window of the sum of a metric over the replicas; `None`: nothing was read.
    pub(super) fn mean_sum(&self, (now_us, window_us): (f64, f64), metric: ScalingMetric) -> Option<f64> {
        let sum = |scrape: &Scrape| scrape.replicas.iter().map(|sample| sample.of(metric)).sum();
        let sums: Vec<f64> = self.since(now_us - window_us).map(sum).collect();
        (!sums.is_empty()).then(|| mean(&sums))
    }
}

/// The mean of some numbers.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The greatest of some numbers that are not negative.
pub(super) fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrape(time_us: f64, waiting: &[(u16, u32)]) -> Scrape {
        let sample =
            |&(replica, waiting): &(u16, u32)| ReplicaSample { replica, waiting, ..ReplicaSample::default() };
        Scrape { time_us, replicas: waiting.iter().map(sample).collect() }
    }

    #[test]
    fn a_look_is_seen_after_its_delay_and_averaged_over_the_window() {
        let mut samples = Samples::new(100.0, 7.0);
        samples.add(scrape(10.0, &[(0, 4)]));
        samples.add(scrape(20.0, &[(0, 8), (3, 2)]));
        let metric = ScalingMetric::NumRequestsWaiting;
        samples.show_until(16.0);
        assert_eq!(samples.mean_sum((16.0, 50.0), metric), None);
        samples.show_until(17.0);
        assert_eq!(samples.means((17.0, 50.0), metric), [4.0]);
        samples.show_until(27.0);
        assert_eq!(samples.means((27.0, 50.0), metric), [6.0, 2.0]);
        assert_eq!(samples.means((27.0, 0.0), metric), [8.0, 2.0]);
        assert_eq!(samples.mean_sum((27.0, 50.0), metric), Some(7.0));
        // What is too old is forgotten, but for the newest.
        samples.show_until(200.0);
        assert_eq!(samples.means((200.0, 500.0), metric), [8.0, 2.0]);
    }
}
