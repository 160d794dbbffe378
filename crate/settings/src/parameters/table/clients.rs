//! Rows of adapters, users, clients, sessions and shared prefixes.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    HAS_ADAPTERS, KNOWS_ADAPTERS, KNOWS_USERS, MOST, SOME_ADAPTERS, SOME_USERS, TALKS, any, when_in,
    when_not_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::Popularity, row("workload.adapters.popularity", "pop", "adapters", choice(choices::Popularity::ADAPTERS))
        .when(&[SOME_ADAPTERS])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Adapter popularity", "Distribution of the adapters that requests ask for.")),
    (Id::AdapterZipf, row("workload.adapters.zipf_s", "as", "adapters", number(0.0, 10.0, 1.0)).linear(0.0, 3.0, 0.01)
        .when(&[when_in(Id::Popularity, &["zipf"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Zipf exponent of adapters", "The k-th adapter gets a share proportional to k to the power of minus this.")),
    (Id::AdapterSigma, row("workload.adapters.sigma", "al", "adapters", number(0.0, 10.0, 2.0)).linear(0.0, 4.0, 0.01)
        .when(&[when_in(Id::Popularity, &["lognormal"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Lognormal spread of adapters", "Standard deviation of the logarithm of the adapters' rates; 0 makes all alike.")),
    (Id::AdapterDecay, row("workload.adapters.decay", "ag", "adapters", number(0.0, 10.0, 0.2)).linear(0.0, 1.0, 0.001)
        .when(&[when_in(Id::Popularity, &["geometric"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Decay of adapters", "Each adapter gets exp(-decay) times the share of the one before it.")),
    (Id::AdapterShares, row("workload.adapters.shares", "shares", "adapters", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[7.0, 2.0, 1.0] })
        .when(&[when_in(Id::Popularity, &["list"])])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Shares", "Relative share of each adapter in turn; adapters beyond the list get none.")),
    (Id::Ranks, row("workload.adapters.ranks", "ranks", "adapters", Kind::List { min: 1.0, max: 4096.0, whole: true, default: &[16.0] })
        .when(&[HAS_ADAPTERS])
        .doc("Ranks", "LoRA ranks, assigned to the adapters cyclically.")),

    (Id::Users, row("workload.users.count", "u", "users", whole(1.0, 1_000_000.0, 10.0)).log(1.0, 1000.0, 1.0)
        .beyond_tables(KNOWS_USERS)
        .doc("Users", "How many users send requests; the label is drawn independently of the adapter.")),
    (Id::UserPopularity, row("workload.users.popularity", "up", "users", choice(choices::Popularity::USERS))
        .when(&[when_in(Id::Loop, &["open"]), SOME_USERS])
        .beyond_tables(KNOWS_USERS)
        .doc("User popularity", "Distribution of the users' shares.")),
    (Id::UserSigma, row("workload.users.sigma", "ul", "users", number(0.0, 10.0, 2.0)).linear(0.0, 4.0, 0.01)
        .when(&[when_in(Id::UserPopularity, &["lognormal"])])
        .beyond_tables(KNOWS_USERS)
        .doc("Lognormal spread of users", "Standard deviation of the logarithm of the users' rates; 0 makes all alike.")),
    (Id::UserDecay, row("workload.users.decay", "ug", "users", number(0.0, 10.0, 0.2)).linear(0.0, 1.0, 0.001)
        .when(&[when_in(Id::UserPopularity, &["geometric"])])
        .beyond_tables(KNOWS_USERS)
        .doc("Decay of users", "Each user sends exp(-decay) times what the one before sends.")),
    (Id::UserAlpha, row("workload.users.alpha", "ua", "users", number(0.01, 32.0, 0.3)).linear(0.05, 1.0, 0.01)
        .when(&[when_in(Id::UserPopularity, &["power"])])
        .beyond_tables(KNOWS_USERS)
        .doc("Skew of users", "S-LoRA's power law over users: smaller puts more requests on the first.")),
    (Id::UserShares, row("workload.users.shares", "ush", "users", Kind::List { min: 0.0, max: 1e9, whole: false, default: &[7.0, 2.0, 1.0] })
        .when(&[when_in(Id::UserPopularity, &["list"])])
        .beyond_tables(KNOWS_USERS)
        .doc("Shares of users", "Relative share of each user in turn; users beyond the list send nothing.")),
    (Id::UserZipf, row("workload.users.zipf_s", "us", "users", number(0.0, 10.0, 1.0)).linear(0.0, 3.0, 0.01)
        .when(&[when_in(Id::UserPopularity, &["zipf"])])
        .beyond_tables(KNOWS_USERS)
        .doc("Zipf exponent of users", "The k-th user sends a share proportional to k to the power of minus this; 0 makes all alike.")),

    (Id::ClientKind, row("workload.clients.kind", "clk", "clients", choice(choices::ClientKind::ID))
        .doc("Users as clients", "Whether all users share one arrival process, or each is a client with a process, lengths and an adapter of its own.")),
    (Id::ClientCvs, row("workload.clients.cvs", "clc", "clients", Kind::List { min: 0.05, max: 32.0, whole: false, default: &[1.0] })
        .when(&[when_in(Id::ClientKind, &["each"]), when_in(Id::ArrivalKind, &["gamma"])])
        .doc("Burstiness of clients", "The cv of each client's own arrivals, assigned cyclically.")),
    (Id::ClientInputScales, row("workload.clients.input_scales", "cli", "clients", Kind::List { min: 0.001, max: 1000.0, whole: false, default: &[1.0] })
        .when(&[when_in(Id::ClientKind, &["each"])])
        .doc("Prompt factors of clients", "Prompt lengths of each client are multiplied by these, assigned cyclically.")),
    (Id::ClientOutputScales, row("workload.clients.output_scales", "clo", "clients", Kind::List { min: 0.001, max: 1000.0, whole: false, default: &[1.0] })
        .when(&[when_in(Id::ClientKind, &["each"])])
        .doc("Output factors of clients", "Output lengths of each client are multiplied by these, assigned cyclically.")),
    (Id::ClientAdapters, row("workload.clients.adapters", "cla", "clients", Kind::List { min: -1.0, max: 99_999.0, whole: true, default: &[-1.0] })
        .when(&[when_in(Id::ClientKind, &["each"]), HAS_ADAPTERS])
        .beyond_tables(KNOWS_ADAPTERS)
        .doc("Adapters of clients", "The adapter that each client always asks for, assigned cyclically; -1 draws one by the adapters' own shares.")),

    (Id::Loop, row("workload.loop", "loop", "sessions", choice(choices::Loop::ID))
        .doc("Loop", "Open: requests arrive at their rate, whatever the server does. Closed: each user waits for the output of its request, thinks, and sends the next one.")),
    (Id::ClosedRequests, row("workload.closed.requests", "cr", "sessions", whole(1.0, 5_000_000.0, 10_000.0)).unit("requests").log(100.0, 100_000.0, 1.0)
        .when(&[when_in(Id::Loop, &["closed"])])
        .doc("Most requests", "The closed loop ends after this many requests, shared out evenly among the users, or at the duration D, whichever comes first.")),
    (Id::ThinkKind, row("workload.think.kind", "tk", "sessions", choice(choices::ThinkKind::ID))
        .when(&[any(&[when_in(Id::Loop, &["closed"]), when_in(Id::SessionKind, TALKS)])])
        .doc("Think times", "Distribution of the time between an output and the same user's next request. Tools of an agent have measured times of their own: 86.5 % of next turns within a second, 95.1 % within ten.")),
    (Id::ThinkMean, row("workload.think.mean_s", "tm", "sessions", number(0.0, 1_000_000.0, 10.0)).unit("s").linear(0.0, 120.0, 0.1)
        .when(&[any(&[when_in(Id::Loop, &["closed"]), when_in(Id::SessionKind, TALKS)]), when_not_in(Id::ThinkKind, &["tools"])])
        .doc("Mean think time", "Mean time that a user thinks before the next request.")),
    (Id::ThinkSigma, row("workload.think.sigma", "tg", "sessions", number(0.01, 3.0, 1.0)).linear(0.05, 2.5, 0.01)
        .when(&[when_in(Id::ThinkKind, &["lognormal"])])
        .doc("Spread of think times", "Standard deviation of the logarithm of a think time.")),
    (Id::SessionKind, row("workload.sessions.kind", "sk", "sessions", choice(choices::SessionKind::ID))
        .doc("Sessions", "Single requests, or multi-turn chats with growing context: the next turn after the previous reply, or at times fixed in advance. Chunks of streaming input come a think time apart, and vLLM v1 keeps the session’s KV blocks and place between them; for other schedulers each is a request with the whole context.")),
    (Id::TurnKind, row("workload.sessions.turns.kind", "tuk", "sessions", choice(choices::TurnKind::ID))
        .when(&[when_in(Id::SessionKind, TALKS)])
        .doc("Turns", "Distribution of the number of requests in a session. The rate R stays that of requests.")),
    (Id::TurnMean, row("workload.sessions.turns.mean", "tum", "sessions", number(1.0, 10_000.0, 4.0)).log(1.0, 100.0, 0.1)
        .when(&[when_in(Id::SessionKind, TALKS)])
        .doc("Mean turns", "Mean number of requests in a session; a fixed number is rounded to a whole one.")),
    (Id::TurnSigma, row("workload.sessions.turns.sigma", "tus", "sessions", number(0.01, 3.0, 0.8)).linear(0.05, 2.5, 0.01)
        .when(&[when_in(Id::TurnKind, &["lognormal"])])
        .doc("Spread of turns", "Standard deviation of the logarithm of the number of turns.")),
    (Id::ContextCap, row("workload.sessions.context_cap", "cc", "sessions", whole(1.0, MOST, 2048.0)).unit("tokens").log(256.0, 131_072.0, 1.0)
        .when(&[when_in(Id::SessionKind, TALKS)])
        .doc("Longest context", "No prompt of a session is longer than this.")),
    (Id::AtCap, row("workload.sessions.at_cap", "ac", "sessions", choice(choices::AT_CAP))
        .when(&[when_in(Id::SessionKind, TALKS)])
        .doc("At the longest context", "Drop the oldest part, end the session, or restart with the user's new message alone.")),
    (Id::AnswerTime, row("workload.sessions.answer_s", "sa", "sessions", number(0.0, 100_000.0, 5.0)).unit("s").linear(0.0, 60.0, 0.1)
        .when(&[when_in(Id::SessionKind, &["timed"]), when_in(Id::Loop, &["open"])])
        .doc("Assumed output time", "With times fixed in advance, how long each output is taken to last.")),

    (Id::PrefixKind, row("workload.prefix.kind", "pk", "prefix", choice(choices::PrefixKind::ID))
        .doc("Shared prefixes", "Whether prompts share prefixes: a text for all, then one for each adapter, then one for each user, then the session so far.")),
    (Id::BlockTokens, row("workload.prefix.block_tokens", "pbt", "prefix", whole(1.0, 65_536.0, 16.0)).unit("tokens").log(1.0, 1024.0, 1.0)
        .when(&[when_in(Id::PrefixKind, &["tree"])])
        .doc("Prefix block size", "Prefixes are given in blocks of this many tokens: vLLM's caches have 16, Mooncake's trace 512.")),
    (Id::SystemTokens, row("workload.prefix.system_tokens", "pst", "prefix", whole(0.0, MOST, 128.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .when(&[when_in(Id::PrefixKind, &["tree"])])
        .doc("System prompt", "Every prompt begins with these; they come on top of the drawn length.")),
    (Id::AdapterTokens, row("workload.prefix.adapter_tokens", "pat", "prefix", whole(0.0, MOST, 64.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .when(&[when_in(Id::PrefixKind, &["tree"])])
        .doc("Per-adapter prefix", "Tokens that the requests of one adapter share behind the system prompt.")),
    (Id::UserTokens, row("workload.prefix.user_tokens", "put", "prefix", whole(0.0, MOST, 0.0)).unit("tokens").linear(0.0, 4096.0, 1.0)
        .when(&[when_in(Id::PrefixKind, &["tree"])])
        .doc("Per-user prefix", "Tokens that one user's requests to an adapter share behind that.")),
];
