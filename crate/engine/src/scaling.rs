//! How many replicas a pool is to have: rules under the names of the systems that have them, what they read, and what bounds them.
//!
//! ```text
//! replicas ──scrape──> samples ──delay──> rule ──wish──> actuator ──count──> replicas start and drain
//! ```
//!
//! A rule reads what was scraped, and nothing else; between a load and the answer to it lie the scrape, the delay, the time to the
//! next decision and the cold start of a replica.

mod actuator;
mod apa;
mod dynamo_load;
mod hpa;
mod keda;
mod kpa;
mod samples;
mod wva_saturation;

use std::fmt::Debug;

use servescope_workload::RequestId;

use crate::config::disaggregation::KvRole;
use crate::config::scaling::{Autoscaling, ScalingKind};
use crate::record::scaling::{ScalingDecision, ScalingInput};
use actuator::Actuator;
use samples::Samples;
pub(crate) use samples::{ReplicaSample, Scrape};

/// How a rule wishes the number of replicas to be, and the number that decided it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wish {
    replicas: u32,
    input: ScalingInput,
    value: f64,
    bound: f64,
}

impl Wish {
    fn new(replicas: u32, (input, value, bound): (ScalingInput, f64, f64)) -> Self {
        Self { replicas, input, value, bound }
    }

    /// As many as there are: nothing is known.
    fn unknown(replicas: u32) -> Self {
        Self::new(replicas, (ScalingInput::Nothing, 0.0, 0.0))
    }
}

/// What a rule knows when it decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'a> {
    /// Microseconds.
    now_us: f64,
    /// Replicas that are ready.
    ready: u32,
    /// Replicas that are starting.
    starting: u32,
    /// What the replicas do, where prompts are computed by others than answers.
    role: Option<KvRole>,
    /// What it may read.
    samples: &'a Samples,
}

impl Observed<'_> {
    /// Replicas that are ready or will be.
    fn replicas(&self) -> u32 {
        self.ready + self.starting
    }
}

/// How a rule's wishes are smoothed before they are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Smoothing {
    /// By the wishes of the last minutes, as Kubernetes' stabilization window does.
    Stabilization,
    /// By the time since the last change.
    Cooldown,
}

/// A rule of a system.
trait ScalingRule: Debug + Send + Sync {
    /// How many replicas there are to be.
    fn wish(&mut self, seen: &Observed<'_>) -> Wish;

    /// How its wishes are smoothed.
    fn smoothing(&self) -> Smoothing {
        Smoothing::Cooldown
    }

    /// Whether it changes nothing while a replica starts.
    fn waits_for_starts(&self) -> bool {
        false
    }

    /// Most replicas that there may be after a decision, by those that there were some seconds ago.
    fn most_after(&self, _replicas_before: u32) -> u32 {
        u32::MAX
    }

    /// The rule with what it remembers.
    fn boxed(&self) -> Box<dyn ScalingRule>;
}

fn rule_of(config: &Autoscaling) -> Box<dyn ScalingRule> {
    let window_us = config.window_us;
    match config.kind {
        ScalingKind::Hpa { metric, target, tolerance } => {
            Box::new(hpa::Hpa { metric, target, tolerance, window_us })
        }
        ScalingKind::Apa { metric, target, tolerance } => {
            Box::new(apa::Apa { metric, target, tolerance, window_us })
        }
        ScalingKind::Kpa { metric, target, tolerance } => Box::new(kpa::Kpa::new(metric, target, tolerance)),
        ScalingKind::Keda { threshold, tolerance } => {
            Box::new(keda::Waiting { threshold, tolerance, window_us })
        }
        ScalingKind::KedaTokens { tolerance, .. } => Box::new(keda::Tokens { tolerance, window_us }),
        ScalingKind::WvaSaturation => Box::new(wva_saturation::WvaSaturation),
        ScalingKind::DynamoEasy(target) => Box::new(dynamo_load::Easy::new(target)),
        ScalingKind::DynamoSla { ttft_us, itl_us } => Box::new(dynamo_load::Sla { ttft_us, itl_us }),
    }
}

/// A rule with what it has read and what bounds it.
#[derive(Debug)]
pub(crate) struct Scaler {
    pub(crate) config: Autoscaling,
    role: Option<KvRole>,
    rule: Box<dyn ScalingRule>,
    samples: Samples,
    actuator: Actuator,
}

impl Clone for Scaler {
    fn clone(&self) -> Self {
        Self {
            config: self.config,
            role: self.role,
            rule: self.rule.boxed(),
            samples: self.samples.clone(),
            actuator: self.actuator.clone(),
        }
    }
}

impl Scaler {
    /// An autoscaler that has seen nothing.
    fn new(config: Autoscaling, role: Option<KvRole>) -> Self {
        let longest_us = kpa::STABLE_WINDOW_US.max(config.window_us) + config.scrape_delay_us;
        Self {
            config,
            role,
            rule: rule_of(&config),
            samples: Samples::new(longest_us + config.scrape_us, config.scrape_delay_us),
            actuator: Actuator::default(),
        }
    }

    /// The replicas that are ready say this of themselves.
    pub(crate) fn scraped(&mut self, scrape: Scrape) {
        self.samples.add(scrape);
    }

    /// How many replicas a pool is to have.
    pub(crate) fn decide(
        &mut self,
        now_us: f64,
        pool: u16,
        (ready, starting): (u32, u32),
    ) -> ScalingDecision {
        self.samples.show_until(now_us);
        let seen = Observed { now_us, ready, starting, role: self.role, samples: &self.samples };
        let wish = self.rule.wish(&seen);
        let (desired, limit) = self.actuator.follow(&*self.rule, &self.config, &seen, wish.replicas);
        ScalingDecision {
            time_us: now_us,
            pool,
            ready,
            starting,
            input: wish.input,
            value: wish.value,
            bound: wish.bound,
            wished: wish.replicas,
            desired,
            limit,
        }
    }
}

/// The autoscaler of a pool with what its metrics need.
#[derive(Debug, Clone)]
pub(crate) struct PoolScaling {
    pub(crate) scaler: Scaler,
    /// Requests of the pool that had no first token when it was read last.
    pub(crate) prompts: Vec<RequestId>,
    /// Prompts that came so far, and their tokens.
    pub(crate) came: (u64, u64),
    /// When the replicas are read next, microseconds; infinite: never again.
    pub(crate) next_scrape_us: f64,
}

impl PoolScaling {
    /// Of a pool to which nothing has come.
    pub(crate) fn new(config: Autoscaling, role: Option<KvRole>) -> Self {
        let scaler = Scaler::new(config, role);
        let next_scrape_us = scaler.config.scrape_us;
        Self { scaler, prompts: Vec::new(), came: (0, 0), next_scrape_us }
    }
}
