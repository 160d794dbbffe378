//! `clients.csv` and `clients_over_time.csv`: what every user and every adapter used, in all and window by window.

use std::fmt;

use servescope_engine::Rejection;
use servescope_engine::metrics::monitor::{Cell, Monitor};
use servescope_engine::queue::{Client, ClientId};
use servescope_engine::sampler::CounterSample;
use servescope_lab::run::Run;
use servescope_settings::parameters::choices::Choice;

use crate::monitor::{MonitorHeading, Whole};

/// Windows of the file over time.
const WINDOWS: usize = 60;
/// Users, and adapters, with rows of their own in it: the best served ones.
const MOST: usize = 200;
const KINDS: [Client; 2] = [Client::User, Client::Adapter];

/// `clients.csv` as text.
pub fn clients_csv(run: &Run) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_clients_csv(run, &mut text);
    text
}

/// `clients_over_time.csv` as text.
pub fn clients_over_time_csv(run: &Run) -> String {
    let mut text = String::new();
    let _ = write_clients_over_time_csv(run, &mut text);
    text
}

/// Writes one row a user, then one an adapter (-1: the base model), the best served first. What is not known is empty.
///
/// # Errors
/// Those of `to`.
pub fn write_clients_csv(run: &Run, to: &mut dyn fmt::Write) -> fmt::Result {
    let headings = MonitorHeading::all(|_| true);
    to.write_str("client,id")?;
    for heading in &headings {
        write!(to, ",{}", heading.name())?;
    }
    to.write_char('\n')?;
    for kind in KINDS {
        let monitor = run.monitor(kind);
        let whole = Whole::of(monitor);
        for client in &monitor.clients {
            write!(to, "{},{}", kind.name(), client.id)?;
            for heading in &headings {
                number(to, heading.of(client, &whole))?;
            }
            to.write_char('\n')?;
        }
    }
    Ok(())
}

/// Writes one row a client and window; clients without rows of their own are `others`. KV tokens and requests in the system
/// are means over the window, a counter is its last sample before the window's end.
///
/// # Errors
/// Those of `to`.
pub fn write_clients_over_time_csv(run: &Run, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_str("client,id,start_s,end_s,offered,admitted,completed,refused")?;
    for reason in Rejection::ALL {
        write!(to, ",refused_{}", reason.name())?;
    }
    to.write_str(
        ",timed_out,input_tokens,output_tokens,service,wasted_tokens,kv_tokens_mean,reserved_tokens_mean,in_system_mean,\
         ttft_p50_s,ttft_p95_s,ttft_p99_s,tpot_p50_s,tpot_p95_s,tpot_p99_s,e2e_p50_s,e2e_p95_s,e2e_p99_s,counter,\
         gateway_counter\n",
    )?;
    for kind in KINDS {
        let monitor = run.monitor_of(kind, None, WINDOWS, MOST);
        for row in 0..monitor.cells.rows() {
            let is_own = !(monitor.cells.has_others() && row + 1 == monitor.cells.rows());
            let id = if is_own { monitor.clients[row].id.to_string() } else { "others".to_owned() };
            let of = |keeper| {
                if is_own { counters(run, &monitor, keeper, monitor.clients[row].id) } else { Vec::new() }
            };
            let kept = CounterSource::ALL.map(of);
            let is_reserved = monitor.clients[row].reserved_token_s.is_some();
            for (window, cell) in monitor.cells.row(row).iter().enumerate() {
                write!(to, "{},{id}", kind.name())?;
                let end_us = monitor.cells.grid.edge_us(window + 1);
                write_cell(to, &monitor, window, cell, is_reserved)?;
                for counters in &kept {
                    let last = counters.iter().rev().find(|(time_us, _)| *time_us <= end_us);
                    number(to, last.map(|last| last.1))?;
                }
                to.write_char('\n')?;
            }
        }
    }
    Ok(())
}

fn write_cell(
    to: &mut dyn fmt::Write,
    monitor: &Monitor,
    window: usize,
    cell: &Cell,
    is_reserved: bool,
) -> fmt::Result {
    let grid = &monitor.cells.grid;
    write!(to, ",{},{}", grid.edge_us(window) / 1e6, grid.edge_us(window + 1) / 1e6)?;
    write!(to, ",{},{},{},{}", cell.offered, cell.admitted, cell.completed, cell.refused_total())?;
    for count in cell.refused {
        write!(to, ",{count}")?;
    }
    let mean = |integral: f64| integral / grid.width_us();
    write!(
        to,
        ",{},{},{},{},{},{}",
        cell.timed_out,
        cell.input_tokens,
        cell.output_tokens,
        cell.service(),
        cell.wasted_tokens,
        mean(cell.kv_token_us)
    )?;
    number(to, is_reserved.then(|| mean(cell.reserved_token_us)))?;
    write!(to, ",{}", mean(cell.in_system_us))?;
    for tail in [cell.tails.ttft_s, cell.tails.tpot_s, cell.tails.e2e_s] {
        tail.all().into_iter().try_for_each(|time| number(to, time))?;
    }
    Ok(())
}

fn number(to: &mut dyn fmt::Write, number: Option<f64>) -> fmt::Result {
    match number {
        Some(number) => write!(to, ",{number}"),
        None => to.write_char(','),
    }
}

/// What keeps counters of clients: the engine or the gateway.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CounterSource {
    /// The engine's scheduling policy.
    Engine,
    /// That of the gateway's queue.
    Gateway,
}

/// The counters that one of them kept.
pub(crate) struct Kept<'a> {
    pub(crate) client: Client,
    /// The number of clients that it distinguished.
    count: usize,
    values: &'a [(ClientId, f64)],
    samples: &'a [CounterSample],
}

impl CounterSource {
    const ALL: [Self; 2] = [Self::Engine, Self::Gateway];

    /// What it kept in a run, if its order keeps counters.
    pub(crate) fn of(self, run: &Run) -> Option<Kept<'_>> {
        let report = &run.report;
        match self {
            Self::Engine => report.counters.as_ref().map(|kept| Kept {
                client: kept.client,
                count: kept.clients,
                values: &kept.values,
                samples: &kept.samples,
            }),
            Self::Gateway => {
                report.gateway.as_deref().filter(|log| !log.counters.is_empty()).map(|log| Kept {
                    client: log.client,
                    count: log.clients,
                    values: &log.counters,
                    samples: &log.counter_samples,
                })
            }
        }
    }
}

/// A client's counter at the sampled times from its first request on, microseconds; empty where none is kept.
pub(crate) fn counters(run: &Run, monitor: &Monitor, keeper: CounterSource, id: i64) -> Vec<(f64, f64)> {
    let Some(kept) = keeper.of(run).filter(|kept| kept.client == monitor.client) else { return Vec::new() };
    let client = ClientId::new(if id < 0 { kept.count as u32 - 1 } else { id as u32 });
    let Some(place) = kept.values.iter().position(|(other, _)| *other == client) else { return Vec::new() };
    let sampled = kept.samples.iter().filter(|sample| sample.time_us <= monitor.end_us);
    let sampled = sampled.filter_map(|sample| Some((sample.time_us, *sample.values.get(place)?)));
    sampled.chain([(monitor.end_us, kept.values[place].1)]).collect()
}
