//! What a client does whose request was refused: how long until it asks again.

use servescope_workload::RequestId;
use servescope_workload::stream::Stream;

use super::config::{RetryKind, RetryRule};

/// How long after a refusal the next attempt comes in, microseconds; `None`: the client gives up.
///
/// `attempts` were made so far, the last answered with a Retry-After of `retry_after_us`. Backoff waits base x 2^(k-1) after
/// the k-th attempt, at most the cap, less a random part (full jitter where that is 1); a client that honours the header adds
/// its random part, so that those refused together do not come back together.
pub fn wait_us(
    rule: &RetryRule,
    attempts: u32,
    retry_after_us: f64,
    draws: &Stream,
    id: RequestId,
) -> Option<f64> {
    if rule.kind == RetryKind::Never || attempts >= rule.most {
        return None;
    }
    let part = || rule.jitter * draws.item(id.index()).item(attempts as usize).uniform();
    let wait_us = match rule.kind {
        RetryKind::Never | RetryKind::AtOnce => 0.0,
        RetryKind::Backoff => {
            let doubled = rule.base_us * libm::exp2(f64::from(attempts.max(1) - 1));
            doubled.min(rule.cap_us) * (1.0 - part())
        }
        RetryKind::Honour => retry_after_us * (1.0 + part()),
    };
    Some(rule.round_trip_us + wait_us)
}

/// Longest Retry-After, seconds: what is estimated of a service that stands still has no end.
const LONGEST_S: f64 = 3_600.0;

/// Retry-After as it is sent: whole seconds, from one to an hour.
pub fn header_us(wait_us: f64) -> f64 {
    (wait_us / 1e6).ceil().clamp(1.0, LONGEST_S) * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: RetryKind) -> RetryRule {
        RetryRule { kind, most: 5, round_trip_us: 50e3, base_us: 1e6, cap_us: 5e6, jitter: 0.5 }
    }

    #[test]
    fn backoff_doubles_up_to_its_cap_and_ends_with_the_last_attempt() {
        let draws = Stream::named(1, "retries");
        for (attempts, longest) in [(1, 1e6), (2, 2e6), (3, 4e6), (4, 5e6)] {
            let waits: Vec<f64> = RequestId::first(1_000)
                .filter_map(|id| wait_us(&rule(RetryKind::Backoff), attempts, 9e6, &draws, id))
                .map(|wait| wait - 50e3)
                .collect();
            assert_eq!(waits.len(), 1_000);
            assert!(waits.iter().all(|&w| w >= 0.5 * longest * 0.999 && w <= longest * 1.001));
            let mean = waits.iter().sum::<f64>() / 1e3;
            assert!((mean / (0.75 * longest) - 1.0).abs() < 0.02, "mean {mean}");
        }
        assert_eq!(wait_us(&rule(RetryKind::Backoff), 5, 9e6, &draws, RequestId::new(0)), None);
        assert_eq!(wait_us(&rule(RetryKind::Never), 1, 9e6, &draws, RequestId::new(0)), None);
    }

    #[test]
    fn who_honours_the_header_never_comes_before_it() {
        let draws = Stream::named(1, "retries");
        for id in RequestId::first(1_000) {
            let wait = wait_us(&rule(RetryKind::Honour), 2, 9e6, &draws, id).expect("asks again");
            assert!((9e6..=13.6e6).contains(&wait));
        }
        assert_eq!(header_us(1.2e6), 2e6);
        assert_eq!(header_us(0.0), 1e6);
    }
}
