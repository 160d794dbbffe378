//! What stands between the wish of a rule and the number of replicas: memory of earlier wishes, pauses after a change, steps, bounds.

use std::collections::VecDeque;

use super::{Observed, ScalingRule, Smoothing};
use crate::config::scaling::Autoscaling;
use crate::record::scaling::ScalingLimit;

/// Over how long replicas that were added count for [`ScalingRule::most_after`], microseconds.
const PERIOD_US: f64 = 15_000_000.0;

/// What it remembers of a pool.
#[derive(Debug, Clone, Default)]
pub(super) struct Actuator {
    /// Earlier wishes, with their times.
    wishes: VecDeque<(f64, u32)>,
    /// When the number changed last, and by how much.
    changes: VecDeque<(f64, i64)>,
    changed_us: Option<f64>,
}

impl Actuator {
    /// How many replicas there are to be, and what kept that from the wish: the last of several that did.
    pub(super) fn follow(
        &mut self,
        rule: &dyn ScalingRule,
        config: &Autoscaling,
        seen: &Observed<'_>,
        wished: u32,
    ) -> (u32, ScalingLimit) {
        let (now_us, current) = (seen.now_us, seen.replicas());
        let mut count = wished;
        let mut limit = ScalingLimit::None;
        let mut bound = |count: &mut u32, to: u32, by: ScalingLimit| {
            if *count != to {
                (*count, limit) = (to, by);
            }
        };
        if rule.waits_for_starts() && seen.starting > 0 {
            bound(&mut count, current, ScalingLimit::Starting);
        }
        match rule.smoothing() {
            Smoothing::Stabilization => {
                let to = self.stabilized(config, now_us, current, count);
                bound(&mut count, to, ScalingLimit::Stabilization);
            }
            Smoothing::Cooldown => {
                let to = self.after_pause(config, now_us, current, count);
                bound(&mut count, to, ScalingLimit::Cooldown);
            }
        }
        let most = self.most_after(rule, now_us, current).min(current.saturating_add(config.step_up));
        let to = count.min(most.max(current));
        bound(&mut count, to, ScalingLimit::StepUp);
        let to = count.max(current.saturating_sub(config.step_down));
        bound(&mut count, to, ScalingLimit::StepDown);
        let (min, max) = (config.min.max(1), config.max.max(config.min).max(1));
        let to = count.max(min);
        bound(&mut count, to, ScalingLimit::Min);
        let to = count.min(max);
        bound(&mut count, to, ScalingLimit::Max);
        if count != current {
            self.changes.push_back((now_us, i64::from(count) - i64::from(current)));
            self.changed_us = Some(now_us);
        }
        (count, if count == wished { ScalingLimit::None } else { limit })
    }

    /// Between the lowest wish of the upward window and the highest one of the downward window the number stays (Kubernetes'
    /// `stabilizeRecommendationWithBehaviors`).
    fn stabilized(&mut self, config: &Autoscaling, now_us: f64, current: u32, wished: u32) -> u32 {
        let longest_us = config.up_cooldown_us.max(config.down_cooldown_us);
        // The number of the beginning counts as a wish.
        if self.changed_us.is_none() && self.wishes.is_empty() {
            self.wishes.push_back((now_us, current));
        }
        self.wishes.retain(|&(at_us, _)| at_us > now_us - longest_us);
        let within = |window_us: f64| {
            let is_within = move |&&(at_us, _): &&(f64, u32)| at_us > now_us - window_us;
            self.wishes.iter().filter(is_within).map(|wish| wish.1).chain([wished])
        };
        let lowest = within(config.up_cooldown_us).min().unwrap_or(wished);
        let highest = within(config.down_cooldown_us).max().unwrap_or(wished);
        self.wishes.push_back((now_us, wished));
        current.max(lowest).min(highest.max(lowest))
    }

    fn after_pause(&self, config: &Autoscaling, now_us: f64, current: u32, wished: u32) -> u32 {
        let pause_us = if wished > current { config.up_cooldown_us } else { config.down_cooldown_us };
        if self.changed_us.is_some_and(|changed_us| now_us < changed_us + pause_us) {
            current
        } else {
            wished
        }
    }

    /// Most replicas after the decision, by those that there were a period ago.
    fn most_after(&mut self, rule: &dyn ScalingRule, now_us: f64, current: u32) -> u32 {
        self.changes.retain(|&(at_us, _)| at_us > now_us - PERIOD_US);
        let change: i64 = self.changes.iter().map(|change| change.1).sum();
        rule.most_after((i64::from(current) - change).max(0) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Samples;
    use super::super::{Wish, rule_of};
    use super::*;
    use crate::config::scaling::{ScalingKind, ScalingMetric};

    const HPA: Autoscaling = Autoscaling {
        kind: ScalingKind::Hpa { metric: ScalingMetric::Concurrency, target: 1.0, tolerance: 0.1 },
        min: 1,
        max: 8,
        interval_us: 15e6,
        scrape_us: 15e6,
        scrape_delay_us: 0.0,
        window_us: 0.0,
        up_cooldown_us: 0.0,
        down_cooldown_us: 300e6,
        step_up: u32::MAX,
        step_down: u32::MAX,
    };

    /// The numbers after wishes at times in seconds, each with the replicas that are ready and starting then.
    fn follow(config: Autoscaling, wishes: &[(f64, [u32; 2], u32)]) -> Vec<(u32, ScalingLimit)> {
        let (mut actuator, rule, samples) = (Actuator::default(), rule_of(&config), Samples::new(0.0, 0.0));
        let step = |&(at_s, [ready, starting], wished): &(f64, [u32; 2], u32)| {
            let seen = Observed { now_us: at_s * 1e6, ready, starting, role: None, samples: &samples };
            actuator.follow(&*rule, &config, &seen, Wish::unknown(wished).replicas)
        };
        wishes.iter().map(step).collect()
    }

    #[test]
    fn the_hpa_shrinks_to_the_highest_wish_of_five_minutes() {
        use ScalingLimit::{None, Stabilization};
        let steps =
            follow(HPA, &[(0.0, [4, 0], 4), (15.0, [4, 0], 2), (299.0, [4, 0], 3), (301.0, [4, 0], 2)]);
        assert_eq!(steps, [(4, None), (4, Stabilization), (4, Stabilization), (3, Stabilization)]);
        let steps = follow(HPA, &[(0.0, [4, 0], 2), (299.0, [4, 0], 2), (300.0, [4, 0], 2)]);
        assert_eq!(steps, [(4, Stabilization), (4, Stabilization), (2, None)]);
    }

    #[test]
    fn the_hpa_adds_four_pods_in_fifteen_seconds() {
        use ScalingLimit::{Max, StepUp};
        let steps = follow(HPA, &[(0.0, [1, 0], 20), (10.0, [1, 4], 20), (15.0, [1, 4], 20)]);
        assert_eq!(steps, [(5, StepUp), (5, StepUp), (8, Max)]);
    }

    #[test]
    fn other_rules_pause_after_a_change() {
        use ScalingLimit::{Cooldown, Min, None, Starting, StepDown};
        let apa = ScalingKind::Apa { metric: ScalingMetric::Concurrency, target: 1.0, tolerance: 0.1 };
        let config = Autoscaling { kind: apa, min: 2, step_down: 1, ..HPA };
        let wishes = [
            (0.0, [2, 0], 4),
            (15.0, [2, 2], 2),
            (30.0, [2, 2], 5),
            (329.0, [5, 0], 3),
            (330.0, [5, 0], 3),
            (700.0, [2, 0], 1),
        ];
        let steps = follow(config, &wishes);
        assert_eq!(steps, [(4, None), (4, Cooldown), (5, None), (5, Cooldown), (4, StepDown), (2, Min)]);
        let wva = Autoscaling { kind: ScalingKind::WvaSaturation, ..config };
        assert_eq!(follow(wva, &[(0.0, [2, 1], 4)]), [(3, Starting)]);
    }
}
