//! Rows of the admission gateway.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    CLIENT_BOUND, ENGINE_BOUND, HAS_ADAPTERS, HELD, HISTORY, LENDING, PROXY, REJECTED, RETRIES, RPM,
    SOME_USERS, TPM, all, any, when_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Condition, Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::GatewayKind, row("gateway.kind", "gk", "gateway", choice(choices::GatewayKind::ID))
        .doc("Admission gateway", "Direct: requests join the engine's waiting queue at once. Proxy: an admission gateway checks them, queues them, or rejects them (429).")),
    (Id::GatewayChecks, row("gateway.checks", "gch", "gateway", Kind::Text { most: 80 })
        .when(PROXY)
        .doc("Chain of checks", "Names with | between them, in the order in which they are made: rpm, tpm, concurrency, queue, kv, ttft; or none. Empty is rpm|tpm|concurrency|queue, which change nothing until a limit is set; kv reserves KV memory for each predicted output.")),
    (Id::GatewayClient, row("gateway.client", "gcl", "gateway", choice(choices::GATEWAY_CLIENT))
        .when(&[
            when_in(Id::GatewayKind, &["proxy"]),
            any(&[
                RPM,
                TPM,
                CLIENT_BOUND,
                all(&[when_in(Id::GatewayOrder, &["priority", "vtc", "lcf", "drr"]), HELD]),
                when_in(Id::PredictKind, &["p90", "p95", "average"]),
                when_in(Id::LoadPolicy, &["fair_share"]),
            ]),
            any(&[SOME_USERS, HAS_ADAPTERS]),
        ])
        .doc("Gateway clients", "Client (tenant): whether quotas and fairness apply per user or per adapter.")),
    (Id::GatewayRpm, row("gateway.rpm", "grp", "gateway", number(0.0, 1e9, 0.0)).unit("requests").linear(0.0, 240.0, 1.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("rpm")])
        .off_at_zero().doc("Requests a minute", "Quota of each client (RPM); 0 = no limit.")),
    (Id::GatewayTpmInput, row("gateway.tpm.input", "gti", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 100_000.0, 100.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("tpm")])
        .off_at_zero().doc("Input tokens a minute", "Quota of each client on prompt tokens; 0 = no limit.")),
    (Id::GatewayTpmOutput, row("gateway.tpm.output", "gto", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 100_000.0, 100.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("tpm")])
        .off_at_zero().doc("Output tokens a minute", "Quota of each client on output tokens; 0 = no limit.")),
    (Id::GatewayTpmTotal, row("gateway.tpm.total", "gtt", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 100_000.0, 100.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("tpm")])
        .off_at_zero().doc("Tokens a minute", "Quota of each client on prompt and output tokens together (TPM); 0 = no limit.")),
    (Id::GatewayCharge, row("gateway.tpm.charge", "gtc", "gateway", choice(choices::GATEWAY_CHARGE))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), TPM])
        .doc("Token charging", "At admission: as predicted, reconciled at completion. At completion: in-flight requests can exceed the quota.")),
    (Id::GatewayWindow, row("gateway.window", "gw", "gateway", choice(choices::GatewayWindow::ID))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), any(&[RPM, TPM])])
        .doc("Rate-limit window", "Sliding 60 s; fixed minutes; sub-windows of 10 s or 1 s, each with its part of the quota; a token bucket; or GCRA, which decides like the bucket.")),
    (Id::GatewayBurst, row("gateway.burst_s", "gb", "gateway", number(0.01, 3600.0, 60.0)).unit("s").log(1.0, 300.0, 1.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::GatewayWindow, &["bucket", "gcra"])])
        .doc("Burst capacity", "Unused quota accumulates up to this many seconds.")),
    (Id::OverQuota, row("gateway.over_quota", "goq", "gateway", choice(choices::OverQuota::ID))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), any(&[RPM, TPM, CLIENT_BOUND])])
        .doc("Requests over quota", "A request over its client's quota or concurrency waits at the gateway, or is rejected at once.")),
    (Id::Lending, row("gateway.lending.on", "gl", "gateway", Kind::Flag(false))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), TPM])
        .doc("Lend idle quota", "Dynamic TPM: token quota that clients do not use, beyond their guaranteed share, is lent to others while the service is not saturated.")),
    (Id::LendingThreshold, row("gateway.lending.threshold", "glt", "gateway", number(0.0, 100.0, 0.8)).linear(0.0, 1.5, 0.05)
        .when(LENDING)
        .doc("Lending threshold", "Load pressure from which no quota is lent; 1 is overload.")),
    (Id::LendingFloor, row("gateway.lending.floor", "glf", "gateway", number(0.0, 1.0, 0.25)).linear(0.0, 1.0, 0.01)
        .when(LENDING)
        .doc("Guaranteed share", "Share of its token quota that other clients can never borrow; at 1 nothing is lent.")),
    (Id::MaxInSystem, row("gateway.concurrency", "gc", "gateway", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 200.0, 1.0)
        .when(&[any(&[when_in(Id::GatewayKind, &["direct"]), Condition::Checks("concurrency")])])
        .off_at_zero().doc("Max concurrent requests", "Direct: a request that finds this many waiting and running is rejected (503; vLLM's max_num_queued_reqs). Proxy: at most this many are at the engine. 0 = no limit.")),
    (Id::ClientConcurrency, row("gateway.client_concurrency", "gcc", "gateway", whole(0.0, 1_000_000.0, 0.0)).unit("requests").linear(0.0, 50.0, 1.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("concurrency")])
        .off_at_zero().doc("Max concurrent requests of a client", "Most requests of one client at the engine. 0 = no limit.")),
    (Id::SlotLeak, row("gateway.slot_leak_share", "gsl", "gateway", number(0.0, 1.0, 0.0)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), any(&[CLIENT_BOUND, ENGINE_BOUND])])
        .doc("Leak concurrency slots", "Fault injection: this share of the requests that end never release their places among the concurrent requests, of the client and of all; one in ten for .1, evenly spread.")),
    (Id::QueueRequests, row("gateway.queue.requests", "gqr", "gateway", whole(0.0, 1_000_000_000.0, 0.0)).unit("requests").linear(0.0, 500.0, 1.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("queue"), HELD])
        .off_at_zero().doc("Max queued requests", "Requests that wait at the gateway; one more is rejected. 0 = no limit.")),
    (Id::QueueTokens, row("gateway.queue.tokens", "gqt", "gateway", number(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 200_000.0, 1000.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("queue"), HELD])
        .off_at_zero().doc("Max queued tokens at the gateway", "Predicted tokens of requests that wait at the gateway; a request beyond is rejected. 0 = no limit.")),
    (Id::GatewayPool, row("gateway.kv.pool_tokens", "gkp", "gateway", whole(0.0, 1e12, 0.0)).unit("tokens").linear(0.0, 500_000.0, 1000.0)
        .when(PROXY)
        .doc("KV pool of the proxy", "KV memory of the whole service that the proxy assumes, in the check kv and in the load state; it may differ from what the engine has. 0 takes the engine's own.")),
    (Id::KvHeadroom, row("gateway.kv.headroom", "gkh", "gateway", number(0.0, 0.9, 0.05)).linear(0.0, 0.5, 0.01)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("kv")])
        .doc("KV headroom", "Share of KV memory that the feasibility check leaves free: a request is admitted if its predicted KV is at most free − headroom − reserved.")),
    (Id::KvLag, row("gateway.kv.lag_s", "gkl", "gateway", number(0.0, 3600.0, 0.1)).unit("s").linear(0.0, 10.0, 0.1)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("kv")])
        .doc("KV metric staleness", "How old the engine's KV usage may be when the proxy decides.")),
    (Id::KvLeak, row("gateway.kv.leak", "gkx", "gateway", Kind::Flag(false))
        .when(PROXY)
        .doc("Leak reservations", "Fault injection: what is left of a KV reservation when its request ends is never released.")),
    (Id::QueueTimeout, row("gateway.queue_timeout_s", "gt", "gateway", number(0.0, 10_000_000.0, 0.0)).unit("s").linear(0.0, 120.0, 1.0)
        .off_at_zero().doc("Queue timeout", "A request that has waited this long leaves the queue (429). 0 = no limit.")),
    (Id::TimeoutKind, row("gateway.timeout.kind", "gtk", "gateway", choice(choices::TimeoutKind::ID))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), HELD])
        .doc("Timeout kind", "Fixed, or a multiple of the TTFT estimated at arrival, with the queue timeout (or 10 minutes) as its bound.")),
    (Id::TimeoutTimes, row("gateway.timeout.times", "gtx", "gateway", number(0.01, 1000.0, 2.0)).linear(0.5, 10.0, 0.1)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::TimeoutKind, &["estimated"]), HELD])
        .doc("Multiple of the estimate", "A request waits at most this multiple of its estimated TTFT.")),
    (Id::Sweep, row("gateway.sweep_ms", "gs", "gateway", number(1.0, 60_000.0, 50.0)).unit("ms").linear(1.0, 1000.0, 1.0)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), HELD])
        .doc("Deadline sweep", "How often the gateway checks deadlines and replenished quotas.")),
    (Id::TtftBound, row("gateway.ttft.bound_s", "gtb", "gateway", number(0.0, 1e6, 0.0)).unit("s").linear(0.0, 60.0, 0.5)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), Condition::Checks("ttft")])
        .doc("TTFT deadline", "The check ttft rejects a request whose estimated TTFT is above this; 0 takes the SLO's bound on TTFT.")),
    (Id::EstimateOver, row("gateway.ttft.average_s", "gta", "gateway", number(0.1, 3600.0, 30.0)).unit("s").log(1.0, 300.0, 1.0)
        .when(PROXY)
        .doc("TTFT estimate window", "TTFT estimate = waiting prompts ÷ the recent rate of first tokens, averaged over about this time.")),
    (Id::RetryKind, row("gateway.retry.kind", "grk", "gateway", choice(choices::RETRY_KIND))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), REJECTED])
        .doc("Retry policy", "No retry; retry at once; exponential backoff; or wait as long as Retry-After says.")),
    (Id::RetryAttempts, row("gateway.retry.attempts", "gra", "gateway", whole(1.0, 100.0, 5.0)).linear(1.0, 20.0, 1.0)
        .when(RETRIES)
        .doc("Attempts", "Most attempts of a request, the first included.")),
    (Id::RoundTrip, row("gateway.retry.round_trip_s", "grt", "gateway", number(0.001, 3600.0, 0.05)).unit("s").log(0.001, 10.0, 0.001)
        .when(RETRIES)
        .doc("Immediate-retry delay", "From a rejection to the next attempt of a client that retries at once.")),
    (Id::RetryBase, row("gateway.retry.base_s", "grb", "gateway", number(0.001, 3600.0, 0.5)).unit("s").log(0.01, 60.0, 0.01)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::RetryKind, &["backoff"])])
        .doc("Initial backoff", "Wait after the first rejection; it doubles each time.")),
    (Id::RetryCap, row("gateway.retry.cap_s", "grc", "gateway", number(0.001, 36_000.0, 60.0)).unit("s").log(0.1, 600.0, 0.1)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::RetryKind, &["backoff"])])
        .doc("Max backoff", "Backoff waits no longer.")),
    (Id::RetryJitter, row("gateway.retry.jitter", "grj", "gateway", number(0.0, 1.0, 1.0)).linear(0.0, 1.0, 0.01)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::RetryKind, &["backoff", "honour"])])
        .doc("Jitter", "Random part of a wait: backoff is shortened, Retry-After lengthened by up to this share.")),
    (Id::PredictKind, row("gateway.predict.kind", "gp", "gateway", choice(choices::PredictKind::ID))
        .when(PROXY)
        .doc("Output prediction", "max_tokens; the true length; that with noise and bias; P90 or P95 of the client's history; or its mean.")),
    (Id::PredictBias, row("gateway.predict.bias", "gpb", "gateway", number(0.01, 100.0, 1.0)).log(0.2, 5.0, 0.01)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::PredictKind, &["noisy"])])
        .doc("Bias", "Factor on the true length: above 1 overestimates, below 1 underestimates.")),
    (Id::PredictNoise, row("gateway.predict.noise", "gpn", "gateway", number(0.0, 3.0, 0.3)).linear(0.0, 1.5, 0.01)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), when_in(Id::PredictKind, &["noisy"])])
        .doc("Noise", "Standard deviation of the logarithm of a lognormal factor on the true length.")),
    (Id::PredictHalfLife, row("gateway.predict.half_life", "gph", "gateway", number(1.0, 1e6, 100.0)).unit("requests").log(1.0, 1000.0, 1.0)
        .when(HISTORY)
        .doc("History half-life", "After this many more outputs of its client an output counts half.")),
    (Id::PredictCold, row("gateway.predict.cold_start", "gpc", "gateway", whole(1.0, 10_000.0, 5.0)).unit("requests").linear(1.0, 50.0, 1.0)
        .when(HISTORY)
        .doc("Cold start", "Until a client has this many outputs, max_tokens is the prediction.")),
    (Id::LoadKv, row("gateway.load.kv", "glk", "gateway", number(0.0, 1.0, 0.95)).linear(0.0, 1.0, 0.01)
        .when(PROXY)
        .off_at_zero().doc("Overload: KV use", "Share of KV memory in use that counts as overload; 0 leaves it out.")),
    (Id::LoadWait, row("gateway.load.wait_s", "glw", "gateway", number(0.0, 1e6, 5.0)).unit("s").linear(0.0, 60.0, 0.5)
        .when(&[when_in(Id::GatewayKind, &["proxy"]), HELD])
        .off_at_zero().doc("Overload: wait", "Longest wait at the gateway for the engine that counts as overload; waits of a client over its own quota or concurrency do not count. 0 leaves it out.")),
    (Id::LoadStep, row("gateway.load.step_ms", "gls", "gateway", number(0.0, 1e6, 0.0)).unit("ms").linear(0.0, 500.0, 1.0)
        .when(PROXY)
        .off_at_zero().doc("Overload: step", "Time between tokens that counts as overload; 0 leaves it out.")),
    (Id::LoadNear, row("gateway.load.near", "gln", "gateway", number(0.01, 1.0, 0.8)).linear(0.1, 1.0, 0.01)
        .when(PROXY)
        .doc("Near-overload threshold", "Pressure at which the service counts as nearly overloaded; 1 is overload.")),
    (Id::LoadHysteresis, row("gateway.load.hysteresis", "glh", "gateway", number(0.0, 0.95, 0.1)).linear(0.0, 0.5, 0.01)
        .when(PROXY)
        .doc("Hysteresis", "The exit threshold lies this fraction below the entry threshold; 0 allows flapping.")),
    (Id::LoadAverage, row("gateway.load.average_s", "gla", "gateway", number(0.0, 3600.0, 2.0)).unit("s").linear(0.0, 30.0, 0.5)
        .when(PROXY)
        .doc("Pressure window", "Time constant of the average of the pressure.")),
    (Id::LoadDwell, row("gateway.load.dwell_s", "gld", "gateway", number(0.0, 3600.0, 2.0)).unit("s").linear(0.0, 60.0, 0.5)
        .when(PROXY)
        .doc("Minimum dwell time", "A load state lasts at least this long.")),
    (Id::LoadPolicy, row("gateway.load.policy", "glp", "gateway", choice(choices::LOAD_POLICY))
        .when(PROXY)
        .doc("Overload policy", "Admit all; throttle clients above an equal share; or load shedding: reject all new requests.")),
    (Id::GatewayOrder, row("gateway.order", "gor", "gateway", choice(choices::Order::GATEWAY))
        .when(&[when_in(Id::GatewayKind, &["proxy"]), HELD])
        .doc("Scheduling policy of the gateway", "The order in which the gateway admits requests. Token weights, client weights, counter lift, quantum and classes are those of the engine's scheduling policies.")),
];
