//! Closed loops against what is known of them: the interactive response time law, and the machine repairman's queue.

use std::sync::Arc;

use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::{Fleet, PoolConfig, Report};
use servescope_workload::trace::{ClosedLoop, NO_REQUEST, Request};
use servescope_workload::{BASE_MODEL, Trace};

/// Every prompt and every further token takes this long.
const TOKEN_US: f64 = 1_000.0;

/// A trace in which each user sends `rounds` requests one after another: (think time, output tokens) by (user, round).
fn rounds(users: u32, rounds: u32, of: impl Fn(u32, u32) -> (f64, u32)) -> Trace {
    let mut trace = Trace::default();
    let mut closed_loop = ClosedLoop::default();
    let mut earliest_us = vec![0.0; users as usize];
    for round in 0..rounds {
        for user in 0..users {
            let (think_us, output_tokens) = of(user, round);
            let first = round == 0;
            earliest_us[user as usize] += think_us;
            closed_loop.push(
                if first { NO_REQUEST } else { trace.len() as u32 - users },
                if first { 0.0 } else { think_us },
            );
            trace.push(Request {
                arrival_us: earliest_us[user as usize],
                user,
                adapter: BASE_MODEL,
                input_tokens: 1,
                output_tokens,
                max_tokens: output_tokens,
            });
        }
    }
    trace.closed_loop = Some(Box::new(closed_loop));
    trace.sort();
    trace
}

/// One request at a time, `output_tokens` of [`TOKEN_US`] each.
fn one_server(trace: Trace) -> Report {
    let config = PoolConfig { max_requests: 1, idle_poll_us: 0.0, ..PoolConfig::slora() };
    let cost = LinearCost {
        prefill_base_us: TOKEN_US,
        prefill_per_token_us: 0.0,
        decode_base_us: TOKEN_US,
        decode_per_request_us: 0.0,
        decode_per_kv_token_us: 0.0,
        overhead_us: 0.0,
        adapters: AdapterCost {
            load_base_us: 0.0,
            load_per_rank_us: 0.0,
            prefill_factor: 1.0,
            decode_active_us: 0.0,
            decode_per_rank_us: 0.0,
        },
    };
    Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).run()
}

#[test]
fn the_interactive_response_time_law_holds_exactly() {
    // Eight users with a service of 50 ms and a think time of 150 ms: the server is never idle once all came, and each
    // user's cycle is eight services. X = N / (Z + R) says R = 8 x 50 - 150 = 250 ms.
    let (users, service_us, think_us) = (8, 50.0 * TOKEN_US, 150_000.0);
    let report = one_server(rounds(users, 100, |user, _| (think_us + f64::from(user) * 1e4, 50)));
    assert_eq!(report.results.len(), 800);
    let finish = |id: usize| report.results[id].finish_us.unwrap();
    // Over whole cycles of every user: from the end of round 49 to the end of round 98.
    let cycles = 49;
    let (mut thought, mut responded) = (0.0, 0.0);
    for id in 50 * 8..99 * 8 {
        let before = report.trace.closed_loop.as_ref().unwrap().depends_on[id] as usize;
        thought += report.trace.arrival_us[id] - finish(before);
        responded += finish(id) - report.trace.arrival_us[id];
    }
    let requests = f64::from(cycles * users);
    let span = finish(99 * 8 - 1) - finish(50 * 8 - 1);
    assert_eq!(span, f64::from(cycles * users) * service_us, "the server is always busy");
    assert_eq!(requests / span, f64::from(users) / (thought / requests + responded / requests));
}

#[test]
fn few_users_of_a_fast_server_never_wait() {
    // Alone, a user's cycle is think time and service.
    let report = one_server(rounds(1, 50, |_, _| (70_000.0, 30)));
    for id in 0..50 {
        assert_eq!(report.e2e_us(id), Some(30.0 * TOKEN_US));
        assert_eq!(report.trace.arrival_us[id], 70_000.0 + 100_000.0 * id as f64);
    }
}

#[test]
fn exponential_users_are_the_machine_repairmans() {
    // M/M/1//N (Jain 1991, section 31.4): p_n = p_0 N!/(N-n)! (S/Z)^n, X = (1 - p_0) / S. Geometric services of mean 100
    // tokens are exponential but for 1/100 of their variance.
    use servescope_workload::LengthDistribution;
    use servescope_workload::distribution::exponential;
    use servescope_workload::stream::Stream;
    let (users, service_us, think_us) = (10u32, 100.0 * TOKEN_US, 800_000.0);
    let draw = |name: &str, user: u32, round: u32| {
        Stream::named(3, name).item(user as usize).item(round as usize).uniform()
    };
    let length = LengthDistribution::Geometric { mean: 100.0 };
    let report = one_server(rounds(users, 8_000, |user, round| {
        (think_us * exponential(draw("think", user, round)), length.quantile(draw("service", user, round)))
    }));
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 0..users {
        term *= f64::from(users - n) * service_us / think_us;
        sum += term;
    }
    let expected = (1.0 - 1.0 / sum) / service_us;
    // The first 50,000 of 80,000: no user has run out of requests yet.
    let mut finishes: Vec<f64> = report.results.iter().filter_map(|f| f.finish_us).collect();
    finishes.sort_by(f64::total_cmp);
    let measured = 50_000.0 / finishes[49_999];
    assert!((measured / expected - 1.0).abs() < 0.01, "{measured} against {expected}");
    // Response time by the law: R = N / X - Z.
    let responses: Vec<f64> = (0..50_000).filter_map(|id| report.e2e_us(id)).collect();
    let mean = responses.iter().sum::<f64>() / responses.len() as f64;
    let asked = f64::from(users) / expected - think_us;
    assert!((mean / asked - 1.0).abs() < 0.04, "{mean} against {asked}");
}

#[test]
fn nothing_is_sent_from_the_end_on() {
    let mut trace = rounds(3, 20, |user, _| (50_000.0 + f64::from(user), 20));
    trace.closed_loop.as_mut().unwrap().until_us = 400_000.0;
    let report = one_server(trace);
    assert!(report.results.len() < 60 && report.trace.arrival_us.iter().all(|&t| t < 400_000.0));
    assert!((0..report.results.len()).all(|id| report.is_completed(id)));
    // Each user sends until the end comes: the last answer of each and one more think time lie beyond it.
    for user in 0..3 {
        let last = (0..report.results.len()).rfind(|&id| report.trace.user[id] == user).unwrap();
        assert!(report.results[last].finish_us.unwrap() + 50_000.0 + f64::from(user) >= 400_000.0);
    }
}
