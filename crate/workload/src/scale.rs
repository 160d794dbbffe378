//! Rate and time scaling of a trace on load.

use crate::stream::Stream;
use crate::trace::{ClosedLoop, NO_REQUEST, Trace};

/// Multiplies every time by `factor` (2 = twice as slow). Bursts keep their shape; the rate is divided by the factor.
pub fn stretch_time(trace: &mut Trace, factor: f64) {
    trace.arrival_us.iter_mut().for_each(|t| *t *= factor);
    trace.cancellations.iter_mut().for_each(|(t, _)| *t *= factor);
    if let Some(closed_loop) = &mut trace.closed_loop {
        closed_loop.think_us.iter_mut().for_each(|t| *t *= factor);
        closed_loop.until_us *= factor;
    }
    if let Some(metadata) = &mut trace.metadata {
        metadata.events.stretch(factor);
    }
}

/// Adds `by_us` microseconds to every time.
pub fn shift_time(trace: &mut Trace, by_us: f64) {
    trace.arrival_us.iter_mut().for_each(|t| *t += by_us);
    trace.cancellations.iter_mut().for_each(|(t, _)| *t += by_us);
    if let Some(closed_loop) = &mut trace.closed_loop {
        closed_loop.until_us = (closed_loop.until_us + by_us).max(0.0);
    }
}

/// Gives every request a new time; its cancellation moves along, and by no rounding falls before it.
pub fn retime(trace: &mut Trace, arrival_us: Vec<f64>) {
    for (at, id) in &mut trace.cancellations {
        let (new, old) = (arrival_us[*id as usize], trace.arrival_us[*id as usize]);
        *at = (*at + (new - old)).max(new);
    }
    trace.arrival_us = arrival_us;
    trace.sort_cancellations();
}

/// Multiplies the rate by `factor` and leaves the clock alone, so that the time of day and the length of bursts stay.
///
/// The whole part of the factor superposes that many copies, all but the first rotated by a random part of the span;
/// the fraction adds one more copy from which each request is kept with that probability.
pub fn scale_rate(trace: &Trace, factor: f64, seed: u64) -> Trace {
    let span = trace.arrival_us.last().copied().unwrap_or(0.0);
    let copies = factor as usize;
    let mut scaled = Trace::with_capacity((trace.len() as f64 * factor) as usize + 1);
    let mut cancel_of = vec![None; trace.len()];
    let mut source = Vec::new();
    let mut closed_loop = trace.closed_loop.as_ref().map(|c| ClosedLoop {
        until_us: c.until_us,
        is_shared: c.is_shared,
        ..ClosedLoop::default()
    });
    for &(at, id) in &trace.cancellations {
        cancel_of[id as usize] = Some(at);
    }
    for copy in 0..=copies {
        let keep = if copy < copies { 1.0 } else { factor - copies as f64 };
        let mut stream = Stream::named(seed, "rate scale").item(copy);
        let shift = if copy == 0 { 0.0 } else { span * stream.uniform() };
        let mut place = vec![NO_REQUEST; if closed_loop.is_some() { trace.len() } else { 0 }];
        for (id, cancel) in cancel_of.iter().enumerate() {
            if keep < 1.0 && stream.uniform() >= keep {
                continue;
            }
            let mut request = trace.request(id);
            let moved = request.arrival_us + shift;
            let back = if moved > span { span } else { 0.0 };
            if let Some(at) = cancel {
                scaled.cancellations.push((at + shift - back, scaled.len() as u32));
            }
            request.arrival_us = moved - back;
            if let (Some(closed_loop), Some(of)) = (&mut closed_loop, &trace.closed_loop) {
                // Rotation puts a predecessor behind its follower: that one then waits for no request.
                let before = place.get(of.depends_on[id] as usize).copied().unwrap_or(NO_REQUEST);
                let in_order =
                    scaled.arrival_us.get(before as usize).is_some_and(|&t| t <= request.arrival_us);
                let (before, think_us) = if in_order { (before, of.think_us[id]) } else { (NO_REQUEST, 0.0) };
                closed_loop.push(before, think_us);
                place[id] = scaled.len() as u32;
            }
            scaled.push(request);
            source.push(id as u32);
        }
    }
    scaled.adapter_rank.clone_from(&trace.adapter_rank);
    scaled.closed_loop = closed_loop.map(Box::new);
    if let Some(metadata) = &trace.metadata {
        // A copy of a session is no session of its own: its requests come again inside the session.
        scaled.set_metadata(metadata.select(&source));
    }
    scaled.sort();
    scaled.sort_cancellations();
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::spec::WorkloadSpec;

    #[test]
    fn factors_change_the_number_of_requests_and_not_the_span() {
        let trace = generate(&WorkloadSpec { rate_rps: 50.0, ..WorkloadSpec::default() });
        for factor in [0.25, 1.0, 1.5, 3.0] {
            let scaled = scale_rate(&trace, factor, 1);
            let expected = trace.len() as f64 * factor;
            assert!((scaled.len() as f64 - expected).abs() < 4.0 * f64::sqrt(expected), "{factor}");
            assert!(scaled.arrival_us.is_sorted());
            assert!(scaled.arrival_us.last() <= trace.arrival_us.last());
        }
        assert_eq!(scale_rate(&trace, 1.0, 1), trace);
    }

    #[test]
    fn copies_of_held_requests_wait_for_their_own_copies() {
        let mut spec = WorkloadSpec { closed_requests: Some(200), ..WorkloadSpec::default() };
        spec.users.count = 5;
        let trace = generate(&spec);
        let thinks = |trace: &Trace| {
            let mut thinks = trace.closed_loop.as_ref().unwrap().think_us.clone();
            thinks.sort_by(f64::total_cmp);
            thinks
        };
        for factor in [0.5, 1.0, 2.5] {
            let scaled = scale_rate(&trace, factor, 1);
            let closed_loop = scaled.closed_loop.as_ref().unwrap();
            assert_eq!(closed_loop.depends_on.len(), scaled.len());
            for (id, &before) in closed_loop.depends_on.iter().enumerate() {
                let before = before as usize;
                assert!(before == NO_REQUEST as usize || scaled.arrival_us[before] <= scaled.arrival_us[id]);
                assert!(before == NO_REQUEST as usize || scaled.user[before] == scaled.user[id]);
            }
            // Two whole copies: but for where the rotation cuts each user's loop, all wait as before.
            let held = closed_loop.depends_on.iter().filter(|&&before| before != NO_REQUEST).count();
            assert!(factor != 2.5 || held >= 2 * (trace.len() - 5) - 5, "{held}");
        }
        let mut slow = trace.clone();
        stretch_time(&mut slow, 2.0);
        assert!(thinks(&slow).iter().zip(thinks(&trace)).all(|(slow, think)| *slow == 2.0 * think));
        assert_eq!(slow.closed_loop.unwrap().until_us, 600e6);
    }
}
