//! What the GPUs of a deployment cost: one kind of price at a time, with its source and its date.

use serde::Serialize;
use servescope_cost::gpus::{Gpu, Price as Listed, PriceKind, price_source};
use servescope_settings::parameters::Id;
use servescope_settings::parameters::choices::{Choice, PRICE_KIND};
use servescope_settings::scenario::{CostKind, Scenario};

/// GPUs and their price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Price"))]
pub struct FleetPrice {
    /// GPUs of all replicas.
    pub gpus: u32,
    /// Replicas.
    pub replicas: u32,
    /// Whether the fleet is planned as it is ([`Scenario::is_fleet_fixed`]).
    pub is_fixed: bool,
    /// The id of the GPU of the first pool; "" where the cost model names none.
    pub gpu: &'static str,
    /// USD for one of them and an hour, the mean over the pools; `None` where no price of this kind is known.
    pub usd_per_gpu_hour: Option<f64>,
    /// `own` where it was set, otherwise the value of `capacity.price_kind`; "" where the cost model names no GPU.
    pub kind: &'static str,
    /// Where that price is from, or, where none of its kind is known, a price of another kind.
    pub quote: Option<Quote>,
}

/// A listed price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "PriceQuote"))]
pub struct Quote {
    /// USD for a GPU and an hour.
    pub usd_per_gpu_hour: f64,
    /// A value of `capacity.price_kind`.
    pub kind: &'static str,
    /// A short name of its source.
    pub source: &'static str,
    /// Its day, as YYYY-MM-DD; `None` where the source does not say.
    pub date: Option<&'static str>,
    /// Whose price for what.
    pub what: &'static str,
}

impl Quote {
    /// A price of the table.
    pub fn of(price: &Listed) -> Self {
        let source = price_source(price.source);
        Self {
            usd_per_gpu_hour: price.usd_per_hour,
            kind: price.kind.name(),
            source: source.map_or(price.source, |source| source.name),
            date: source.and_then(|source| source.date),
            what: price.what,
        }
    }

    /// Source and date, in English.
    pub fn origin(&self) -> String {
        format!("{}, {}", self.source, self.date.unwrap_or("no date given"))
    }
}

impl FleetPrice {
    /// The price of a scenario's GPUs: what was set, or the listed price of the kind that was chosen. The linear cost model
    /// names no deployment; it has one GPU a replica.
    pub fn of(scenario: &Scenario) -> Self {
        let pools = scenario.fleet_pools().unwrap_or_default();
        let of_pools: Vec<PoolPrice> = if pools.is_empty() {
            vec![PoolPrice::of(scenario)]
        } else {
            pools.iter().map(|pool| PoolPrice::of(&pool.scenario)).collect()
        };
        let PoolPrice { set, gpu, quote, usd_per_gpu_hour: own_usd, .. } = of_pools[0];
        let kind = scenario.chosen(PRICE_KIND);
        let gpus = of_pools.iter().map(|pool| pool.gpus).sum();
        // Of one pool as it is listed, to the last bit.
        let mean_usd = if of_pools.len() == 1 {
            own_usd
        } else {
            let all: Option<f64> =
                of_pools.iter().map(|pool| Some(pool.usd_per_gpu_hour? * f64::from(pool.gpus))).sum();
            all.map(|usd| usd / f64::from(gpus))
        };
        Self {
            gpus,
            replicas: of_pools.iter().map(|pool| pool.replicas).sum(),
            is_fixed: scenario.is_fleet_fixed(),
            gpu: gpu.map_or("", |gpu| gpu.id),
            usd_per_gpu_hour: mean_usd,
            kind: match (set, gpu) {
                (Some(_), _) => OWN,
                (None, None) => "",
                (None, Some(_)) => kind.name(),
            },
            quote,
        }
    }

    /// USD for all of them and an hour.
    pub fn usd_per_hour(&self) -> Option<f64> {
        Some(self.usd_per_gpu_hour? * f64::from(self.gpus))
    }

    /// The kind of price, where it is from, or why there is none, in English.
    pub fn describe(&self) -> String {
        let words = |kind: &str| kind.replace('_', "-");
        let kind = words(self.kind);
        match (self.usd_per_gpu_hour, self.quote) {
            (Some(_), None) => "own price".to_owned(),
            (Some(_), Some(quote)) => format!("{kind}: {}", quote.origin()),
            (None, Some(quote)) => format!(
                "no {kind} price known; {} {} USD/h ({})",
                words(quote.kind),
                quote.usd_per_gpu_hour,
                quote.origin()
            ),
            (None, None) if self.gpu.is_empty() => {
                let own = Id::UsdPerGpuHour.row().id;
                format!("no price: the linear cost model names no GPU; {own} sets one")
            }
            (None, None) => "no price known".to_owned(),
        }
    }
}

/// The kind of a price that was set.
const OWN: &str = "own";

/// The listed price of a kind, or else the first of any other.
pub fn quote(gpu: &Gpu, kind: PriceKind) -> Option<Quote> {
    gpu.price_of(kind).or(gpu.prices.first()).map(Quote::of)
}

/// The same of one pool.
#[derive(Debug, Clone, Copy)]
struct PoolPrice {
    gpus: u32,
    replicas: u32,
    gpu: Option<Gpu>,
    /// The price that was set.
    set: Option<f64>,
    quote: Option<Quote>,
    usd_per_gpu_hour: Option<f64>,
}

impl PoolPrice {
    fn of(scenario: &Scenario) -> Self {
        let replicas =
            if scenario.is_active(Id::Replicas) { scenario.number(Id::Replicas) as u32 } else { 1 };
        let set = Some(scenario.number(Id::UsdPerGpuHour)).filter(|&usd| usd > 0.0);
        let kind = scenario.chosen(PRICE_KIND);
        let (each, gpu) = deployed(scenario);
        let quote = gpu.filter(|_| set.is_none()).and_then(|gpu| quote(&gpu, kind));
        let of_kind = quote.filter(|quote| quote.kind == kind.name());
        let usd_per_gpu_hour = set.or(of_kind.map(|quote| quote.usd_per_gpu_hour));
        Self { gpus: replicas * each, replicas, gpu, set, quote, usd_per_gpu_hour }
    }
}

/// GPUs of a replica, and which they are.
fn deployed(scenario: &Scenario) -> (u32, Option<Gpu>) {
    if scenario.cost_kind() == CostKind::Linear {
        return (scenario.gpus_per_replica(), None);
    }
    (scenario.gpus_per_replica(), Some(scenario.deployment().gpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_costs_what_its_pools_cost() {
        let of = |pools: &str| {
            let mut scenario = Scenario::of_version(4);
            for (path, value) in
                [("cost.kind", "roofline"), ("fleet.gpu", "h100_sxm"), ("fleet.pools", pools)]
            {
                scenario.set_text(path, value).unwrap();
            }
            FleetPrice::of(&scenario)
        };
        let (first, other) = (of(""), of("fleet.gpu=a100_80_sxm|fleet.gpu=l4,fleet.replicas=2"));
        let listed = |id: &str| {
            let gpu = servescope_cost::gpus::GPUS.iter().find(|gpu| gpu.id == id).unwrap();
            gpu.price_of(PriceKind::OnDemand).unwrap().usd_per_hour
        };
        assert_eq!((first.gpus, first.is_fixed, first.usd_per_hour()), (1, false, Some(listed("h100_sxm"))));
        assert_eq!((other.gpus, other.replicas, other.is_fixed), (4, 4, true));
        let sum = listed("h100_sxm") + listed("a100_80_sxm") + 2.0 * listed("l4");
        assert!((other.usd_per_hour().unwrap() - sum).abs() < 1e-12, "{other:?} {sum}");
    }

    /// Eight replicas cost the same, however many of them compute prompts; decode replicas of twice as many GPUs cost twice as much.
    #[test]
    fn a_split_costs_what_its_replicas_cost() {
        let of = |prefill: &str, decode: &str| {
            let mut scenario = Scenario::of_version(5);
            for (path, value) in [
                ("scheduler.kind", "vllm_v1"),
                ("cost.kind", "roofline"),
                ("fleet.gpu", "h100_sxm"),
                ("fleet.replicas", "8"),
                ("fleet.disaggregation.kind", "nixl"),
                ("fleet.disaggregation.prefill_replicas", prefill),
                ("fleet.disaggregation.decode", decode),
            ] {
                scenario.set_text(path, value).unwrap();
            }
            let price = FleetPrice::of(&scenario);
            assert!(price.is_fixed);
            (price.gpus, price.replicas)
        };
        assert_eq!(["0", "1", "5", "9"].map(|prefill| of(prefill, "")), [(8, 8); 4]);
        assert_eq!(of("5", "fleet.tensor_parallel=2"), (11, 8));
    }
}
