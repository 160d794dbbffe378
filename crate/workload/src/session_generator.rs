//! Workloads whose requests depend on one another: users in a closed loop, sessions, clients or adapters with processes of
//! their own.
//!
//! All are request streams of sessions. Open traffic is one stream, or one for each client or adapter; a closed loop has one for
//! each user, who sends one request at a time. A session without turns is one request. Each quantity is drawn from its own
//! stream by lane and session, so that one more client or a longer conversation leaves all others as they were.

use crate::arrivals::Arrivals;
use crate::clients::{cycle_get, scaled, stationary_times_us};
use crate::copula::GaussianCopula;
use crate::popularity::PopularitySampler;
use crate::prefix::Tree;
use crate::sessions::{Pace, SessionContext, SessionPrompt, SessionSpec};
use crate::spec::WorkloadSpec;
use crate::stream::Stream;
use crate::trace::{BASE_MODEL, ClosedLoop, Labels, NO_REQUEST, Request, Trace, TraceMetadata};

/// One stream of requests: when its sessions begin, or that each begins when the one before has ended.
struct RequestStream {
    /// The user of all its sessions; `None` draws one for each.
    user: Option<u32>,
    /// The adapter of all its sessions; `None` takes its client's, or draws one for each.
    adapter: Option<u32>,
    starts_us: Vec<f64>,
    /// Requests of a closed loop's user.
    max_requests: Option<usize>,
}

/// The random numbers of a request stream, by quantity.
struct SessionStreams {
    users: Stream,
    adapters: Stream,
    input: Stream,
    output: Stream,
    think: Stream,
    turns: Stream,
}

impl SessionStreams {
    fn each(&self, of: impl Fn(&Stream) -> Stream) -> Self {
        Self {
            users: of(&self.users),
            adapters: of(&self.adapters),
            input: of(&self.input),
            output: of(&self.output),
            think: of(&self.think),
            turns: of(&self.turns),
        }
    }

    fn named(seed: u64) -> Self {
        let of = |name| Stream::named(seed, name);
        Self {
            users: of("session users"),
            adapters: of("session adapters"),
            input: of("session input lengths"),
            output: of("session output lengths"),
            think: of("session think times"),
            turns: of("session turns"),
        }
    }
}

/// The trace as it is made, session by session.
struct SessionGenerator<'a> {
    spec: &'a WorkloadSpec,
    users: PopularitySampler,
    adapters: PopularitySampler,
    copula: GaussianCopula,
    trace: Trace,
    closed_loop: ClosedLoop,
    metadata: TraceMetadata,
    tree: Option<Tree>,
    /// Whether each prompt has the one before it and its output in it.
    goes_on: Vec<bool>,
    sessions: u32,
}

/// Makes the trace of a workload with sessions.
pub(crate) fn generate_sessions(spec: &WorkloadSpec) -> Trace {
    let users = spec.users.count.max(1);
    let mut generator = SessionGenerator {
        spec,
        users: spec.users.popularity.sampler(users),
        adapters: spec.adapters.popularity.sampler(spec.adapters.count.max(1)),
        copula: GaussianCopula::of(spec),
        trace: Trace::default(),
        closed_loop: ClosedLoop::default(),
        metadata: TraceMetadata::default(),
        tree: spec.prefix.map(|prefix| Tree::new(prefix, spec.adapters.count, users)),
        goes_on: Vec::new(),
        sessions: 0,
    };
    if spec.closed_requests.is_some() || spec.cut_at_duration {
        generator.closed_loop.until_us = spec.duration_s * 1e6;
    }
    let streams = SessionStreams::named(spec.seed);
    for (place, requests) in request_streams(spec).into_iter().enumerate() {
        generator.generate(&requests, &streams.each(|stream| stream.item(place)));
    }
    generator.finish()
}

fn request_streams(spec: &WorkloadSpec) -> Vec<RequestStream> {
    let users = spec.users.count.max(1);
    if let Some(most) = spec.closed_requests {
        let stream = Stream::named(spec.seed, "first think times");
        return (0..users)
            .map(|user| RequestStream {
                user: Some(user as u32),
                adapter: None,
                starts_us: vec![spec.think.residual_us(&mut stream.item(user))],
                max_requests: Some(most / users + usize::from(user < most % users)),
            })
            .collect();
    }
    let each = spec.sessions.as_ref().map_or(1.0, SessionSpec::mean_turns);
    if let Some(clients) = &spec.clients {
        let stream = Stream::named(spec.seed, "client arrivals");
        let shares = spec.users.popularity.shares(users);
        return (0..users)
            .map(|user| {
                let gaps = clients.arrivals(spec.arrivals, user);
                let starts_us = own_starts_us(spec, gaps, shares[user] / each, &stream.item(user));
                RequestStream { user: Some(user as u32), adapter: None, starts_us, max_requests: None }
            })
            .collect();
    }
    if spec.has_adapter_processes() {
        let stream = Stream::named(spec.seed, "adapter arrivals");
        let shares = spec.adapters.popularity.shares(spec.adapters.count);
        return (0..spec.adapters.count)
            .map(|adapter| {
                let starts_us =
                    own_starts_us(spec, spec.arrivals, shares[adapter] / each, &stream.item(adapter));
                RequestStream { user: None, adapter: Some(adapter as u32), starts_us, max_requests: None }
            })
            .collect();
    }
    let count = (spec.request_count() as f64 / each) as usize;
    vec![RequestStream {
        user: None,
        adapter: None,
        starts_us: spec.arrival_times_us(count, each),
        max_requests: None,
    }]
}

/// Arrivals until the duration, microseconds, of a stationary process of its own with `share` of the workload's rate.
fn own_starts_us(spec: &WorkloadSpec, gaps: Arrivals, share: f64, stream: &Stream) -> Vec<f64> {
    // Under a curve the process runs on the clock of expected requests.
    let expected = spec.curve.as_ref().map(|curve| curve.integral(spec.duration_s));
    let (rate, until) = expected.map_or((spec.rate_rps, spec.duration_s), |expected| (1.0, expected));
    let rate = rate * share;
    if rate <= 0.0 {
        return Vec::new();
    }
    let starts_us = stationary_times_us(gaps, rate, until, stream);
    let Some(curve) = &spec.curve else { return starts_us };
    let on_clock = |unit_us: &f64| curve.inverse(unit_us / 1e6).map(|t| t * 1e6);
    starts_us.iter().map_while(on_clock).collect()
}

impl SessionGenerator<'_> {
    fn generate(&mut self, requests: &RequestStream, streams: &SessionStreams) {
        const NO_REQUEST_BEFORE: (u32, f64) = (NO_REQUEST, 0.0);
        let of_session = |i: usize| streams.each(|stream| stream.item(i));
        let Some(max_requests) = requests.max_requests else {
            for (i, &start_us) in requests.starts_us.iter().enumerate() {
                self.session(requests, start_us, NO_REQUEST_BEFORE, usize::MAX, of_session(i));
            }
            return;
        };
        // A user of a closed loop: each session begins a think time after the end of the one before.
        let end = self.trace.len() + max_requests;
        let (mut start_us, mut wait) = (requests.starts_us[0], NO_REQUEST_BEFORE);
        for i in 0.. {
            let made = self.trace.len();
            let mut streams = of_session(i);
            if i > 0 {
                let think_us = self.spec.think.draw_us(&mut streams.think);
                wait = (made as u32 - 1, think_us);
                start_us = self.trace.arrival_us[made - 1] + think_us;
            }
            self.session(requests, start_us, wait, end - made, streams);
            if self.trace.len() == made || self.trace.len() == end {
                break;
            }
        }
    }

    /// One session, of at most `most` requests. `wait` is the request that its first one waits for, and its think time.
    fn session(
        &mut self,
        requests: &RequestStream,
        start_us: f64,
        mut wait: (u32, f64),
        most: usize,
        mut streams: SessionStreams,
    ) {
        let spec = self.spec;
        let user = requests.user.unwrap_or_else(|| self.users.at(streams.users.uniform()));
        let place = user as usize;
        let clients = spec.clients.as_ref();
        let factors =
            clients.map(|c| (cycle_get(&c.input_scales, place), cycle_get(&c.output_scales, place)));
        let (input_scale, output_scale) = factors.unwrap_or_default();
        let own_adapter =
            requests.adapter.or_else(|| clients.and_then(|c| cycle_get(&c.adapters, place)).flatten());
        let adapter = match own_adapter {
            _ if spec.adapters.count == 0 => BASE_MODEL,
            Some(adapter) => adapter,
            None => self.adapters.at(streams.adapters.uniform()),
        };
        let shared = spec.prefix.map_or(0, |prefix| prefix.shared_tokens(adapter));
        let turns = spec.sessions.as_ref().map_or(1, |s| s.turns.quantile(streams.turns.uniform())) as usize;
        let answer_us = match spec.sessions.as_ref().map(|s| s.pace) {
            Some(Pace::Fixed { answer_s }) if spec.closed_requests.is_none() => Some(answer_s * 1e6),
            Some(Pace::Chunks) if spec.closed_requests.is_none() => Some(0.0),
            _ => None,
        };
        let streams_input = spec.sessions.as_ref().is_some_and(|s| s.pace == Pace::Chunks);
        let (mut now_us, mut context, mut own_blocks) = (start_us, SessionContext::default(), Vec::new());
        for turn in 1..=turns.min(most) {
            if now_us >= self.closed_loop.until_us {
                break;
            }
            let drawn = self.copula.draw(spec, streams.input.uniform(), streams.output.uniform());
            // Of a held turn the time is known at the earliest only: its lengths are those of then.
            let [input_curve, output_curve] =
                spec.length_curves.each_ref().map(|curve| curve.as_ref().map(|c| c.value_at(now_us / 1e6)));
            let own = scaled(scaled(drawn.0, input_scale), input_curve);
            let answer = spec.bounded(scaled(scaled(drawn.1, output_scale), output_curve));
            let next = match &spec.sessions {
                Some(sessions) => context.prompt(sessions, shared, own),
                None => Some(SessionPrompt { input_tokens: shared.saturating_add(own), anew: false }),
            };
            let Some(prompt) = next else { break };
            context.answer(answer.output_tokens, streams_input);
            if let Some(tree) = &mut self.tree {
                if prompt.anew {
                    own_blocks.clear();
                }
                tree.push(&mut own_blocks, adapter, user, prompt.input_tokens);
                self.goes_on.push(turn > 1 && !prompt.anew);
            }
            if spec.sessions.is_some() {
                self.metadata.session.index.push(self.sessions);
                self.metadata.turn.push(turn as u32);
                self.metadata.streamed.goes_on.push(streams_input && turn > 1 && !prompt.anew);
            }
            self.closed_loop.push(wait.0, wait.1);
            self.trace.push(Request {
                arrival_us: now_us,
                user,
                adapter,
                input_tokens: prompt.input_tokens,
                output_tokens: answer.output_tokens,
                max_tokens: answer.max_tokens,
            });
            let think_us = spec.think.draw_us(&mut streams.think);
            now_us += think_us + answer_us.unwrap_or(0.0);
            wait =
                if answer_us.is_some() { (NO_REQUEST, 0.0) } else { (self.trace.len() as u32 - 1, think_us) };
        }
        self.sessions += 1;
    }

    fn finish(mut self) -> Trace {
        if let Some(tree) = self.tree {
            let mut prefix = tree.blocks;
            let next = |id: usize| Some(id + 1).filter(|&next| self.goes_on.get(next) == Some(&true));
            prefix.outputs = self.trace.outputs_by_turns(&prefix, next);
            self.metadata.prefix = prefix;
        }
        self.trace.closed_loop = self.closed_loop.holds_any().then(|| Box::new(self.closed_loop));
        self.trace.set_metadata(self.metadata);
        self.trace.adapter_rank = self.spec.adapters.adapter_ranks();
        self.trace.sort();
        if let Some(metadata) = &mut self.trace.metadata {
            name_by_first_mention(&mut metadata.session, self.sessions);
        }
        self.trace
    }
}

/// Numbers sessions in the order in which they begin, and names them by their numbers.
fn name_by_first_mention(labels: &mut Labels, sessions: u32) {
    let mut numbers = vec![u32::MAX; sessions as usize];
    for index in &mut labels.index {
        let number = &mut numbers[*index as usize];
        if *number == u32::MAX {
            *number = labels.names.len() as u32;
            labels.names.push(number.to_string());
        }
        *index = *number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::clients::ClientSpec;
    use crate::curve::{RateCurve, Shape};
    use crate::generate::generate;
    use crate::lengths::LengthDistribution;
    use crate::popularity::Popularity;
    use crate::prefix::PrefixSpec;
    use crate::sessions::AtCap;
    use crate::spec::ArrivalsPer;
    use crate::statistics::PrefixHits;
    use crate::think::Think;

    fn sessions(pace: Pace) -> SessionSpec {
        SessionSpec {
            turns: LengthDistribution::Geometric { mean: 4.0 },
            context_cap: 20_000,
            at_cap: AtCap::Truncate,
            pace,
        }
    }

    #[test]
    fn a_closed_loop_deals_its_requests_to_users_who_wait_for_their_own_last_one() {
        let mut spec = WorkloadSpec { closed_requests: Some(100), ..WorkloadSpec::default() };
        spec.users.count = 7;
        let trace = generate(&spec);
        let closed_loop = trace.closed_loop.as_ref().unwrap();
        assert_eq!((trace.len(), closed_loop.until_us), (100, 300e6));
        for (id, &before) in closed_loop.depends_on.iter().enumerate() {
            let earlier = (0..id).rfind(|&other| trace.user[other] == trace.user[id]);
            assert_eq!(earlier.map_or(NO_REQUEST, |earlier| earlier as u32), before);
            let start = earlier.map_or(0.0, |earlier| trace.arrival_us[earlier]);
            assert!(earlier.is_none() || trace.arrival_us[id] == start + closed_loop.think_us[id]);
        }
        // A user more leaves the others as they were; a longer run brings more of the same.
        spec.users.count = 8;
        spec.closed_requests = Some(8 * 30);
        let more = generate(&spec);
        let of = |trace: &Trace, user: u32| {
            let ids: Vec<usize> = (0..trace.len()).filter(|&id| trace.user[id] == user).collect();
            ids.into_iter().map(|id| trace.request(id)).collect::<Vec<_>>()
        };
        assert_eq!(of(&more, 6)[..14], of(&trace, 6)[..]);
    }

    #[test]
    fn sessions_keep_the_rate_and_grow_their_context() {
        for pace in [Pace::Held, Pace::Fixed { answer_s: 2.0 }] {
            let spec = WorkloadSpec {
                rate_rps: 50.0,
                sessions: Some(sessions(pace)),
                think: Think::Lognormal { mean_s: 5.0, sigma: 0.5 },
                ..WorkloadSpec::default()
            };
            let trace = generate(&spec);
            let metadata = trace.metadata.as_ref().unwrap();
            // 3,750 sessions of 4 turns, whose number has a variance of 12.
            assert!(
                (trace.len() as f64 - 15_000.0).abs() < 4.0 * f64::sqrt(3_750.0 * 12.0),
                "{}",
                trace.len()
            );
            assert_eq!(metadata.session.names.len(), 3_750);
            let mut last = vec![None; 3_750];
            for id in 0..trace.len() {
                let before = last[metadata.session.index[id] as usize].replace(id);
                let waits_for =
                    trace.closed_loop.as_ref().map_or(NO_REQUEST, |closed_loop| closed_loop.depends_on[id]);
                let Some(before) = before else {
                    assert_eq!((metadata.turn[id], waits_for), (1, NO_REQUEST));
                    continue;
                };
                assert_eq!(metadata.turn[id], metadata.turn[before] + 1);
                assert_eq!((trace.user[id], trace.adapter[id]), (trace.user[before], trace.adapter[before]));
                let own = trace.input_tokens[id] - trace.input_tokens[before] - trace.output_tokens[before];
                assert!((8..=511).contains(&own));
                let gap_s = (trace.arrival_us[id] - trace.arrival_us[before]) / 1e6;
                if pace == Pace::Held {
                    assert_eq!(waits_for as usize, before);
                } else {
                    assert!(waits_for == NO_REQUEST && gap_s > 2.0);
                }
            }
        }
    }

    #[test]
    fn clients_have_their_own_rate_burstiness_lengths_and_adapter() {
        let mut spec = WorkloadSpec { rate_rps: 100.0, duration_s: 1000.0, ..WorkloadSpec::default() };
        spec.users.count = 3;
        spec.users.popularity = Popularity::List(vec![6.0, 3.0, 1.0]);
        spec.clients = Some(ClientSpec {
            cvs: vec![0.5, 3.0, 1.0],
            input_scales: vec![1.0, 2.0, 4.0],
            output_scales: vec![0.5],
            adapters: vec![Some(5), None],
        });
        let trace = generate(&spec);
        for (client, (share, cv, scale)) in
            [(0.6, 0.5, 1.0), (0.3, 3.0, 2.0), (0.1, 1.0, 4.0)].into_iter().enumerate()
        {
            let ids: Vec<usize> = (0..trace.len()).filter(|&id| trace.user[id] as usize == client).collect();
            let n = ids.len() as f64;
            assert!((n - share * 1e5).abs() < 4.0 * cv * f64::sqrt(share * 1e5), "client {client}: {n}");
            let gaps: Vec<f64> =
                ids.windows(2).map(|w| trace.arrival_us[w[1]] - trace.arrival_us[w[0]]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
            assert!((f64::sqrt(variance) / mean / cv - 1.0).abs() < 0.08, "client {client}");
            let input = ids.iter().map(|&id| f64::from(trace.input_tokens[id])).sum::<f64>() / n;
            assert!((input / (259.5 * scale) - 1.0).abs() < 0.03, "client {client}: {input}");
            let own = ids.iter().all(|&id| trace.adapter[id] == 5);
            assert_eq!(own, client != 1, "client {client}");
        }
        // One client more, with the others' rates kept, leaves their requests as they were.
        let first = |trace: &Trace| {
            (0..trace.len()).filter(|&id| trace.user[id] == 0).map(|id| trace.request(id)).collect::<Vec<_>>()
        };
        spec.users.count = 4;
        spec.users.popularity = Popularity::List(vec![6.0, 3.0, 1.0, 10.0]);
        spec.rate_rps = 200.0;
        let more = generate(&spec);
        assert_eq!(first(&more).len(), first(&trace).len());
        assert!(first(&more).iter().zip(first(&trace)).all(|(a, b)| a.input_tokens == b.input_tokens));
    }

    /// Mean gap in seconds and coefficient of variation of the gaps between the requests of an adapter.
    fn adapter_gaps(trace: &Trace, adapter: u32) -> (f64, f64) {
        let times: Vec<f64> = (0..trace.len())
            .filter(|&id| trace.adapter[id] == adapter)
            .map(|id| trace.arrival_us[id] / 1e6)
            .collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
        (mean, f64::sqrt(variance) / mean)
    }

    #[test]
    fn each_adapter_has_the_full_cv_where_the_process_is_its_own() {
        let mut spec = WorkloadSpec {
            rate_rps: 50.0,
            duration_s: 20_000.0,
            arrivals: Arrivals::Gamma { cv: 4.0 },
            ..WorkloadSpec::default()
        };
        spec.adapters.count = 5;
        spec.adapters.popularity = Popularity::List(vec![4.0, 3.0, 2.0, 1.0, 0.0]);
        let thinned = generate(&spec);
        spec.arrivals_per = ArrivalsPer::Adapter;
        let own = generate(&spec);
        // The count of one adapter has a variance of about cv^2 times its mean.
        let total = 1e6;
        assert!((own.len() as f64 - total).abs() < 4.0 * 4.0 * f64::sqrt(total), "{}", own.len());
        assert!(own.arrival_us.is_sorted() && own.arrival_us.last().is_some_and(|&t| t < 20_000e6));
        for (adapter, share) in [0.4, 0.3, 0.2, 0.1].into_iter().enumerate() {
            let (mean, cv) = adapter_gaps(&own, adapter as u32);
            assert!((cv / 4.0 - 1.0).abs() < 0.05, "adapter {adapter}: cv {cv}");
            assert!((mean * 50.0 * share - 1.0).abs() < 0.06, "adapter {adapter}: mean gap {mean}");
            let expected = f64::sqrt(1.0 + share * 15.0);
            let (_, cv) = adapter_gaps(&thinned, adapter as u32);
            assert!((cv / expected - 1.0).abs() < 0.05, "adapter {adapter}: cv {cv}, thinned {expected}");
        }
        assert!(!own.adapter.contains(&4), "a share of 0 sends nothing");
        assert_eq!(own, generate(&spec));
    }

    #[test]
    fn an_adapter_more_leaves_the_processes_of_the_others_alone() {
        let mut spec = WorkloadSpec { arrivals_per: ArrivalsPer::Adapter, ..WorkloadSpec::default() };
        let times = |spec: &WorkloadSpec, adapter: u32| -> Vec<f64> {
            let trace = generate(spec);
            (0..trace.len())
                .filter(|&id| trace.adapter[id] == adapter)
                .map(|id| trace.arrival_us[id])
                .collect()
        };
        spec.adapters.count = 2;
        spec.adapters.popularity = Popularity::Uniform;
        let two = [times(&spec, 0), times(&spec, 1)];
        (spec.adapters.count, spec.rate_rps) = (4, 4.0);
        assert_eq!([times(&spec, 0), times(&spec, 1)], two);
        assert_ne!(two[0], two[1]);
    }

    #[test]
    fn processes_of_adapters_follow_a_curve_begin_sessions_and_need_adapters() {
        let shape = Shape::Step { before_rps: 20.0, after_rps: 180.0, at_s: 100.0 };
        let mut spec = WorkloadSpec {
            curve: Some(RateCurve::new(&shape).expect("sound")),
            duration_s: 200.0,
            arrivals: Arrivals::Poisson,
            arrivals_per: ArrivalsPer::Adapter,
            ..WorkloadSpec::default()
        };
        let trace = generate(&spec);
        let early = trace.arrival_us.iter().filter(|&&t| t < 100e6).count() as f64;
        assert!((early - 2_000.0).abs() < 4.0 * f64::sqrt(2_000.0), "{early}");
        assert!((trace.len() as f64 - 20_000.0).abs() < 4.0 * f64::sqrt(20_000.0), "{}", trace.len());
        spec.sessions = Some(sessions(Pace::Held));
        let talks = generate(&spec);
        let metadata = talks.metadata.as_ref().unwrap();
        let mut adapter_of = vec![None; metadata.session.names.len()];
        for id in 0..talks.len() {
            let own = adapter_of[metadata.session.index[id] as usize].get_or_insert(talks.adapter[id]);
            assert_eq!(*own, talks.adapter[id], "a session keeps its adapter");
        }
        spec.sessions = None;
        spec.adapters.count = 0;
        let one = generate(&spec);
        assert_eq!(one, generate(&WorkloadSpec { arrivals_per: ArrivalsPer::All, ..spec }));
    }

    #[test]
    fn clients_follow_a_curve() {
        let shape = Shape::Step { before_rps: 20.0, after_rps: 180.0, at_s: 100.0 };
        let mut spec = WorkloadSpec {
            curve: Some(RateCurve::new(&shape).expect("sound")),
            duration_s: 200.0,
            arrivals: Arrivals::Poisson,
            clients: Some(ClientSpec {
                cvs: vec![],
                input_scales: vec![],
                output_scales: vec![],
                adapters: vec![],
            }),
            ..WorkloadSpec::default()
        };
        spec.users.count = 50;
        let trace = generate(&spec);
        let early = trace.arrival_us.iter().filter(|&&t| t < 100e6).count() as f64;
        assert!((early - 2_000.0).abs() < 4.0 * f64::sqrt(2_000.0), "{early}");
        assert!((trace.len() as f64 - 20_000.0).abs() < 4.0 * f64::sqrt(20_000.0), "{}", trace.len());
        assert!(trace.arrival_us.last().is_some_and(|&t| t <= 200e6));
    }

    #[test]
    fn prefixes_lengthen_prompts_and_are_found_again() {
        let prefix =
            PrefixSpec { block_tokens: 16, system_tokens: 320, adapter_tokens: 160, user_tokens: 80 };
        let base = WorkloadSpec { rate_rps: 20.0, ..WorkloadSpec::default() };
        let (plain, alike) =
            (generate(&base), generate(&WorkloadSpec { prefix: Some(prefix), ..base.clone() }));
        assert_eq!(plain.output_tokens, alike.output_tokens);
        assert!(plain.input_tokens.iter().zip(&alike.input_tokens).all(|(a, b)| a + 560 == *b));
        // All but the first use of each part: 200 adapters of one user.
        let hits = PrefixHits::of(&alike).unwrap();
        assert_eq!(hits.found_tokens, 6_000 * 560 - 320 - 200 * 240);
        // Sessions find their own past as well.
        let talk = WorkloadSpec { sessions: Some(sessions(Pace::Held)), prefix: Some(prefix), ..base };
        let share = |cap: u32| {
            let mut spec = talk.clone();
            spec.sessions.as_mut().unwrap().context_cap = cap;
            PrefixHits::of(&generate(&spec)).unwrap().share()
        };
        let (long, short) = (share(20_000), share(1_500));
        assert!(long > 0.8 && long > short + 0.1, "{long}, {short}");
    }
}
