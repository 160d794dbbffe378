//! Which seat of its replica's batch each request had, and when: the lowest that was free when it was admitted. A preempted request
//! gives its seat up until it returns.

use std::collections::BTreeSet;
use std::iter::Peekable;

use servescope_workload::statistics::{quantile, sort_by_number};

use crate::replica_index::ReplicaIndex;
use crate::report::Report;

/// A request in the batch of a replica, from its admission or return to its end or preemption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stay {
    /// The request.
    pub id: usize,
    /// Whose batch.
    pub replica: ReplicaIndex,
    /// From when, microseconds.
    pub from_us: f64,
    /// Until when, microseconds.
    pub to_us: f64,
    /// Its place in the batch.
    pub seat: usize,
}

/// Every stay in a batch, the first to begin first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seats {
    /// The stays.
    pub stays: Vec<Stay>,
    /// Seats that each replica ever needs.
    pub most: Vec<usize>,
    /// Tokens of prompt and output that most requests have at most.
    pub long_tokens: u32,
}

/// This part of all requests counts as most of them.
const MOST_REQUESTS: f64 = 0.95;

impl Seats {
    /// The seats of a run.
    pub fn of(report: &Report) -> Self {
        let mut stays = stays(report);
        let most = take_seats(&mut stays, report.replicas.len());
        let mut tokens: Vec<f64> = (report.results.iter().zip(&report.trace.input_tokens))
            .map(|(result, &prompt)| f64::from(prompt) + f64::from(result.produced))
            .collect();
        sort_by_number(&mut tokens, |&tokens| tokens);
        let long_tokens = if tokens.is_empty() { 0 } else { quantile(&tokens, MOST_REQUESTS).ceil() as u32 };
        Self { stays, most, long_tokens }
    }

    /// The stays that a time falls into, the first to begin first.
    pub fn at(&self, now_us: f64) -> impl Iterator<Item = &Stay> {
        self.stays
            .iter()
            .take_while(move |stay| stay.from_us <= now_us)
            .filter(move |stay| now_us < stay.to_us)
    }
}

fn stays(report: &Report) -> Vec<Stay> {
    let end_us = report.end_us();
    let mut stays: Vec<Stay> = Vec::new();
    // The last stay of each request.
    let mut last = vec![None; report.results.len()];
    for (id, result) in report.results.iter().enumerate() {
        let Some(from_us) = report.scheduled_us(id) else { continue };
        let to_us = result.finish_us.unwrap_or(end_us).max(from_us);
        let mut stay = Stay { id, replica: report.replica(id), from_us, to_us, seat: 0 };
        if let Some(legs) = report.legs(id) {
            let prefilled_us = Some(legs.prefilled_us).filter(|us| !us.is_nan()).unwrap_or(to_us);
            stays.push(Stay { replica: legs.prefill, to_us: prefilled_us.max(from_us), ..stay });
            // Between the two it has a seat in neither batch.
            if legs.decode_scheduled_us.is_nan() {
                continue;
            }
            stay.from_us = legs.decode_scheduled_us;
        }
        last[id] = Some(stays.len());
        stays.push(stay);
    }
    // The absences of a request are there in the order of its returns.
    for away in &report.timeline.preemption_intervals {
        let Some(place) = last[away.request.index()] else { continue };
        last[away.request.index()] = Some(stays.len());
        let stay = stays[place];
        stays[place].to_us = away.start_us;
        stays.push(Stay { from_us: away.end_us, ..stay });
    }
    sort_by_number(&mut stays, |stay| stay.from_us);
    stays
}

/// Gives each stay the lowest seat that is free when it begins; returns how many seats each replica needs.
fn take_seats(stays: &mut [Stay], replicas: usize) -> Vec<usize> {
    let mut ends: Vec<(f64, usize)> =
        stays.iter().enumerate().map(|(place, stay)| (stay.to_us, place)).collect();
    sort_by_number(&mut ends, |end| end.0);
    let mut ended: Peekable<_> = ends.into_iter().peekable();
    let mut free = vec![BTreeSet::new(); replicas];
    let mut most = vec![0; replicas];
    for place in 0..stays.len() {
        let Stay { from_us, .. } = stays[place];
        while let Some((_, gone)) = ended.next_if(|&(end_us, gone)| end_us <= from_us && gone < place) {
            free[stays[gone].replica.index()].insert(stays[gone].seat);
        }
        let replica = stays[place].replica.index();
        stays[place].seat = free[replica].pop_first().unwrap_or_else(|| {
            most[replica] += 1;
            most[replica] - 1
        });
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_seat_of_its_replica_is_taken() {
        let stay = |replica, from_us, to_us| Stay {
            id: 0,
            replica: ReplicaIndex::from(replica),
            from_us,
            to_us,
            seat: 0,
        };
        let mut stays = [
            stay(0, 0.0, 10.0),
            stay(0, 1.0, 4.0),
            stay(1, 1.0, 5.0),
            stay(0, 2.0, 9.0),
            stay(0, 4.0, 5.0),
            stay(1, 4.5, 6.0),
            stay(0, 9.0, 12.0),
        ];
        assert_eq!(take_seats(&mut stays, 2), [3, 2]);
        assert_eq!(stays.map(|stay| stay.seat), [0, 1, 0, 2, 1, 1, 1]);
    }
}
