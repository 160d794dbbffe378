use servescope_workload::RequestId;

use super::super::drr::DrrConfig;
use super::super::vtc::{Lift, VtcConfig};
use super::*;
use proptest::prelude::*;

fn orders() -> impl Strategy<Value = QueuePolicy> {
    prop_oneof![
        Just(QueuePolicy::Fcfs),
        Just(QueuePolicy::Lifo),
        Just(QueuePolicy::Sjf),
        (prop::collection::vec(0.0..3.0f64, 1..3), 0.0..1e7f64)
            .prop_map(|(classes, ageing_us)| QueuePolicy::Priority { classes, ageing_us }),
        Just(QueuePolicy::Vtc(VtcConfig::default())),
        Just(QueuePolicy::Vtc(VtcConfig {
            lift: Lift::Paper,
            weights: vec![1.0, 3.0],
            ..VtcConfig::default()
        })),
        Just(QueuePolicy::Vtc(VtcConfig { lift: Lift::Never, ..VtcConfig::default() })),
        (1.0..500.0f64).prop_map(|quantum| {
            QueuePolicy::Drr(DrrConfig { quantum: Some(quantum), ..DrrConfig::default() })
        }),
    ]
}

proptest! {
    /// Every request that stays comes up once, whichever clients are throttled or leave and whatever is charged in between.
    #[test]
    fn every_request_is_served_once(
        order in orders(),
        moves in prop::collection::vec((0u8..7, 0u32..5, 1u32..300), 1..200),
    ) {
        let mut queue = ClientQueue::new(&order, FairnessRules::Engine, 5, 1_000.0);
        let (mut clients, mut served, mut gone, mut now) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for (kind, client, size) in moves {
            now += 1.0;
            match kind {
                0..=2 => {
                    queue.push(RequestId::new(clients.len() as u32), ClientId::new(client), f64::from(size), now);
                    clients.push(client);
                }
                3 => if let Some((client, id)) = queue.head() {
                    prop_assert_eq!(clients[id], client.get());
                    if gone.contains(&id) {
                        queue.skip(client);
                    } else {
                        queue.charge(client, f64::from(size));
                        queue.pop(client);
                        served.push(id);
                    }
                },
                6 => {
                    let is_there = |id: &RequestId| !served.contains(id) && !gone.contains(id);
                    if let Some(id) = RequestId::first(clients.len()).filter(is_there).nth(size as usize % 7) {
                        queue.forget(ClientId::new(clients[id]));
                        gone.push(id);
                    }
                }
                4 => if let Some((client, _)) = queue.head() {
                    queue.throttle(client, if size % 2 == 0 { now + f64::from(size) } else { f64::INFINITY });
                },
                _ => {
                    queue.charge(ClientId::new(client), 2.0 * f64::from(size));
                    queue.unthrottle(ClientId::new(client));
                    queue.unthrottle_until(now, |_| {});
                }
            }
        }
        queue.unthrottle_all(|_| {});
        while let Some((client, id)) = queue.head() {
            if gone.contains(&id) {
                queue.skip(client);
            } else {
                queue.pop(client);
                served.push(id);
            }
        }
        prop_assert!(queue.is_empty());
        served.append(&mut gone);
        served.sort_unstable();
        prop_assert!(served.iter().copied().eq(RequestId::first(clients.len())));
    }

    /// The keys of the requests that come next are in order, and ties in order of arrival.
    #[test]
    fn keyed_orders_are_sorted(sizes in prop::collection::vec((0u32..4, 1u32..20), 1..60)) {
        let mut queue = ClientQueue::new(&QueuePolicy::Sjf, FairnessRules::Engine, 4, 1_000.0);
        for (id, &(client, size)) in sizes.iter().enumerate() {
            queue.push(RequestId::new(id as u32), ClientId::new(client), f64::from(size), id as f64);
        }
        let mut expected: Vec<RequestId> = RequestId::first(sizes.len()).collect();
        expected.sort_by_key(|&id| sizes[id].1);
        let served: Vec<RequestId> = std::iter::from_fn(|| {
            let (client, id) = queue.head()?;
            queue.pop(client);
            Some(id)
        })
        .collect();
        prop_assert_eq!(served, expected);
    }
}

#[test]
fn counters_share_the_service_by_weight() {
    for order in [
        QueuePolicy::Vtc(VtcConfig { weights: vec![1.0, 2.0], ..VtcConfig::default() }),
        QueuePolicy::Drr(DrrConfig { weights: vec![1.0, 2.0], quantum: Some(50.0), ..DrrConfig::default() }),
    ] {
        let mut queue = ClientQueue::new(&order, FairnessRules::Engine, 2, 1_000.0);
        for id in 0..2_000 {
            queue.push(RequestId::new(id), ClientId::new(id % 2), 10.0, 0.0);
        }
        let mut served = [0u32; 2];
        for _ in 0..900 {
            let Some((client, _)) = queue.head() else { break };
            queue.charge(client, queue.token_costs().prompt(client, 100.0, 0.0));
            queue.pop(client);
            served[client] += 1;
        }
        assert!(served[0].abs_diff(300) <= 2, "{order:?}: {served:?}");
    }
}

#[test]
fn a_newcomer_is_lifted_to_those_who_wait() {
    let mut queue =
        ClientQueue::new(&QueuePolicy::Vtc(VtcConfig::default()), FairnessRules::Engine, 2, 1_000.0);
    for id in 0..50 {
        queue.push(RequestId::new(id), ClientId::new(0), 10.0, 0.0);
    }
    for _ in 0..40 {
        queue.head();
        queue.charge(ClientId::new(0), 100.0);
        queue.pop(ClientId::new(0));
    }
    queue.push(RequestId::new(50), ClientId::new(1), 10.0, 1.0);
    assert_eq!(queue.counters(), [0, 1].map(|client| (ClientId::new(client), 4_000.0)));
}

proptest! {
    /// Requests kept by list, of which those of some lists are skipped, come in the order of one sorted list that is scanned.
    #[test]
    fn skipping_lists_is_scanning(
        order in prop_oneof![
            Just(QueuePolicy::Lifo),
            Just(QueuePolicy::Sjf),
            Just(QueuePolicy::Priority { classes: vec![2.0, 0.0, 1.0], ageing_us: 50.0 }),
        ],
        moves in prop::collection::vec((0u8..6, 0u32..5, 0u32..4, prop::collection::vec(0u32..5, 0..3)), 1..150),
    ) {
        let mut queue = ClientQueue::new(&order, FairnessRules::Engine, 5, 1_000.0);
        // Of each request that waits (key, number) and its list.
        let mut waiting: Vec<(f64, RequestId, u32)> = Vec::new();
        let (mut gone, mut number) = (Vec::new(), 0u32);
        for (kind, list, size, lists) in moves {
            match kind {
                0..=2 => {
                    let at_us = f64::from(number);
                    queue.push_to((ClientId::new(list), 0), RequestId::new(number), ClientId::new(size), f64::from(size), at_us);
                    let key = match &order {
                        QueuePolicy::Lifo => lifo::key(number),
                        QueuePolicy::Sjf => sjf::key(f64::from(size)),
                        _ => priority::key([2.0, 0.0, 1.0][size as usize % 3], 50.0, at_us),
                    };
                    waiting.push((key, RequestId::new(number), list));
                    waiting.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    number += 1;
                }
                3 => if !waiting.is_empty() {
                    let (_, id, list) = waiting.remove(size as usize % waiting.len());
                    gone.push(id);
                    queue.forget(ClientId::new(list));
                },
                _ => {
                    for _ in 0..size {
                        let place = waiting.iter().position(|own| lists.contains(&own.2));
                        let mut head = queue.skip_to(lists.iter().copied());
                        while let Some((list, _)) = head.filter(|head| gone.contains(&head.1)) {
                            queue.skip(list);
                            head = queue.skip_to(lists.iter().copied());
                        }
                        let skipped = queue.skipped(|id| gone.contains(&id));
                        let mut seen = Vec::new();
                        for own in &waiting[..place.unwrap_or(waiting.len())] {
                            if !seen.iter().any(|&(list, _)| list == own.2) {
                                seen.push((own.2, own.1));
                            }
                        }
                        prop_assert_eq!(skipped, seen.into_iter().map(|own| own.1).collect::<Vec<RequestId>>());
                        let Some(place) = place else {
                            prop_assert_eq!(head, None);
                            break;
                        };
                        let (_, id, list) = waiting.remove(place);
                        prop_assert_eq!(head, Some((ClientId::new(list), id)));
                        prop_assert_eq!(queue.head(), head);
                        queue.pop(ClientId::new(list));
                    }
                    queue.put_back();
                }
            }
            let head = loop {
                match queue.head() {
                    Some((list, id)) if gone.contains(&id) => queue.skip(list),
                    head => break head.map(|head| head.1),
                }
            };
            prop_assert_eq!(head, waiting.first().map(|own| own.1));
        }
    }
}

fn fair_orders() -> impl Strategy<Value = QueuePolicy> {
    let vtc = |lift| QueuePolicy::Vtc(VtcConfig { lift, weights: vec![1.0, 3.0], ..VtcConfig::default() });
    prop_oneof![
        prop_oneof![Just(Lift::Waiting), Just(Lift::Paper), Just(Lift::Never), Just(Lift::Max)].prop_map(vtc),
        (1.0..400.0f64).prop_map(|quantum| {
            QueuePolicy::Drr(DrrConfig { quantum: Some(quantum), ..DrrConfig::default() })
        }),
    ]
}

/// A fair queue whose waiting requests are scanned one by one: `clients` ranks the clients, and does not know which request is
/// which.
struct Scanned {
    clients: ClientQueue,
    /// (client, list, request), in the order in which they came.
    waiting: Vec<(ClientId, u32, RequestId)>,
    passed: Vec<ClientId>,
}

impl Scanned {
    /// The place of the first request of one of these lists; clients of which none is skip their turn.
    fn scan(&mut self, lists: &[u32]) -> Option<usize> {
        loop {
            let (client, _) = self.clients.head()?;
            let place = self.waiting.iter().position(|own| own.0 == client && lists.contains(&own.1));
            if place.is_some() {
                return place;
            }
            self.clients.throttle(client, f64::INFINITY);
            self.passed.push(client);
        }
    }

    /// A request that a scan found is served. In round robin a client of which only skipped ones are left skips its turn.
    fn serve(&mut self, place: usize, amount: f64) {
        let (client, ..) = self.waiting.remove(place);
        self.clients.charge(client, amount);
        let others: Vec<bool> =
            (0..).zip(&self.waiting).filter(|own| own.1.0 == client).map(|own| own.0 < place).collect();
        let skips_turn = matches!(self.clients.ranking, Ranking::Turns(_)) && !others.is_empty();
        if skips_turn && others.iter().all(|is_before| *is_before) {
            self.clients.clients[client].waiting.pop();
            self.clients.clients[client].stay -= 1;
            self.clients.throttle(client, f64::INFINITY);
            self.passed.push(client);
        } else {
            self.clients.pop(client);
        }
    }

    fn put_back(&mut self) {
        while let Some(client) = self.passed.pop() {
            if let Ranking::Turns(turns) = &mut self.clients.ranking {
                turns.enter_first(client);
            }
            self.clients.stand(client);
        }
    }

    fn forget(&mut self, place: usize) -> (ClientId, u32, RequestId) {
        let own = self.waiting.remove(place);
        self.clients.forget(own.0);
        self.clients.clients[own.0].waiting.pop();
        own
    }
}

proptest! {
    /// Requests of clients by adapter, of which those of some adapters are skipped, come in the order of a scan of all.
    #[test]
    fn skipping_adapters_of_clients_is_scanning(
        order in fair_orders(),
        moves in prop::collection::vec(
            (0u8..7, 0u32..4, 0u32..5, prop::collection::vec(0u32..5, 0..3), 1u32..200),
            1..120,
        ),
    ) {
        let new = || ClientQueue::new(&order, FairnessRules::Engine, 4, 1_000.0);
        let is_in_turns = matches!(order, QueuePolicy::Drr(_));
        let mut queue = new().listed_by_adapter();
        let mut scanned = Scanned { clients: new(), waiting: Vec::new(), passed: Vec::new() };
        let (mut gone, mut numbers) = (Vec::new(), RequestId::all());
        for (kind, client, list, lists, size) in moves {
            let client = ClientId::new(client);
            match kind {
                0..=2 => {
                    let count = numbers.next().unwrap();
                    let is_new = queue.push_to((client, list), count, client, 0.0, 0.0);
                    prop_assert_eq!(is_new, scanned.clients.push(count, client, 0.0, 0.0));
                    scanned.waiting.push((client, list, count));
                }
                3 => if !scanned.waiting.is_empty() && !is_in_turns {
                    let (client, _, id) = scanned.forget(size as usize % scanned.waiting.len());
                    gone.push(id);
                    queue.forget(client);
                },
                4 => for queue in [&mut queue, &mut scanned.clients] {
                    // What was charged ahead is given back.
                    queue.charge(client, -f64::from(size));
                },
                _ => {
                    let is_gone = |id: RequestId| gone.contains(&id);
                    for turn in 0..=size % 4 {
                        let mut head = queue.skip_to(lists.iter().copied());
                        while let Some((client, _)) = head.filter(|head| is_gone(head.1)) {
                            queue.skip(client);
                            head = queue.skip_to(lists.iter().copied());
                        }
                        let place = scanned.scan(&lists);
                        let found = place.map(|place| scanned.waiting[place]);
                        prop_assert_eq!(head, found.map(|own| (own.0, own.2)));
                        let waits_elsewhere = |id: &RequestId| {
                            let own = scanned.waiting.iter().find(|own| own.2 == *id);
                            own.is_some_and(|own| !lists.contains(&own.1))
                        };
                        let skipped = queue.skipped(is_gone);
                        prop_assert!(skipped.iter().all(waits_elsewhere), "{:?}", skipped);
                        let Some(place) = place.filter(|_| turn < 3) else { break };
                        let (client, ..) = scanned.waiting[place];
                        queue.charge(client, f64::from(size));
                        queue.pop(client);
                        scanned.serve(place, f64::from(size));
                    }
                    queue.put_back();
                    scanned.put_back();
                }
            }
            prop_assert_eq!(queue.is_empty(), scanned.waiting.is_empty());
            prop_assert_eq!(queue.counters(), scanned.clients.counters());
        }
    }
}
