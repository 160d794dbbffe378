//! Bounds that the iteration times of every deployment with measured kernels keep: they grow with tokens and requests, without steps
//! that no measurement shows, and no GPU computes faster than its peak.

use servescope_cost::models::MODELS;
use servescope_cost::{Batch, BatchCost, Chunk, OperatorClass};
use servescope_settings::kernels::{gpus, were_measured};
use servescope_settings::scenario::Scenario;

/// By how much a time may fall where tokens or requests are added.
const FALL: f64 = 0.03;
/// How many times as long an iteration with one token or request more may take.
const STEP: f64 = 1.3;

/// Tokens at which products were timed as well as with one more: a tile ends there, or another kernel begins.
const TIMED_WITH_THE_NEXT: [u32; 14] =
    [128, 192, 256, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096];
/// Tokens up to which each more touches experts that none before it did; mixtures were timed with 1, 2 and 4.
const FEW_TOKENS: u32 = 4;

/// Sizes of iterations: those at which tiles and CUDA graphs end, and what lies beside them.
fn sizes(most: u32) -> Vec<u32> {
    let ends = [1, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096, 8192];
    let mut sizes: Vec<u32> = ends.iter().flat_map(|&end| [end, end + 1, end + 2, end + end / 3]).collect();
    sizes.retain(|&size| size <= most);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn scenario(settings: &[(&str, &str)]) -> Option<Scenario> {
    let mut scenario = Scenario::of_version(4);
    for (path, value) in [("scheduler.kind", "vllm_v1"), ("cost.kind", "kernels")].iter().chain(settings) {
        scenario.set_text(path, value).ok()?;
    }
    Some(scenario)
}

/// What is out of bounds of a deployment.
struct Found<'a> {
    name: &'a str,
    cost: &'a dyn BatchCost,
    faults: Vec<(f64, String)>,
}

impl Found<'_> {
    fn check(&mut self, what: &str, sizes: &[u32], us: impl Fn(u32) -> (f64, f64, f64)) {
        let peak = self.cost.peak().map_or(f64::INFINITY, |peak| peak.flops);
        let mut most = 0.0f64;
        let mut before: Option<(u32, f64, f64)> = None;
        for &size in sizes {
            let (us, products_us, flops) = us(size);
            let fall = 1.0 - us / most;
            if most > 0.0 && fall > FALL {
                self.faults.push((
                    1.0 + fall,
                    format!("{} {what} {size}: falls to {us:.0} from {most:.0}", self.name),
                ));
            }
            let step =
                before.filter(|(last, ..)| last + 1 == size).map(|(last, last_us, last_products_us)| {
                    let is_timed = TIMED_WITH_THE_NEXT.contains(&last) || last < FEW_TOKENS;
                    (last, last_us, if is_timed { (products_us - last_products_us).max(0.0) } else { 0.0 })
                });
            if let Some((last, last_us, _)) = step.filter(|(_, last_us, timed)| us - timed > STEP * last_us) {
                self.faults.push((
                    us / last_us,
                    format!("{} {what} {last} to {size}: {last_us:.0} to {us:.0}", self.name),
                ));
            }
            let utilization = flops / (us * 1e-6) / peak;
            if utilization > 1.0 {
                self.faults.push((utilization, format!("{} {what} {size}: MFU {utilization:.2}", self.name)));
            }
            most = most.max(us);
            before = Some((size, us, products_us));
        }
    }
}

fn decode_us(cost: &dyn BatchCost, decodes: u32) -> f64 {
    let kv = 700.0 * f64::from(decodes);
    cost.stage_time(&Batch { decodes, decode_kv_tokens: kv, ..Batch::default() }, true).first_us
}

#[test]
fn decoding_by_the_roofline_is_near_the_kernels_and_gains_from_gpus() {
    let mut errors: [Vec<f64>; 3] = Default::default();
    for gpu in gpus() {
        for model in MODELS.iter().map(|model| model.id) {
            for weights in ["bf16", "fp8"].into_iter().filter(|format| were_measured(gpu, model, format)) {
                let us = |tensor: &str, decodes| {
                    let settings = [
                        ("fleet.gpu", gpu),
                        ("fleet.model", model),
                        ("fleet.weights", weights),
                        ("fleet.tensor_parallel", tensor),
                    ];
                    let own = scenario(&settings)?;
                    Some([
                        decode_us(&own.roofline(), decodes),
                        decode_us(&own.measured_kernels().ok()?, decodes),
                    ])
                };
                for decodes in [1, 8, 64] {
                    let all = ["1", "2", "4", "8"].map(|tensor| us(tensor, decodes));
                    for (place, both) in all[1..].iter().enumerate() {
                        let Some([roofline, kernels]) = both else { continue };
                        errors[place].push((roofline / kernels - 1.0).abs());
                    }
                    if let [Some([one, kernels_one]), Some([two, kernels_two]), ..] = all {
                        let name = format!("{gpu} {model} {weights}, {decodes} requests");
                        assert!(
                            two < 1.05 * one || kernels_two > 0.9 * kernels_one,
                            "{name}: {one:.0} to {two:.0}"
                        );
                    }
                }
            }
        }
    }
    for (errors, gpus) in errors.iter_mut().zip([2, 4, 8]) {
        errors.sort_by(f64::total_cmp);
        let median = errors[errors.len() / 2];
        assert!(errors.len() > 500 && median < 0.25, "TP {gpus}: {median:.3} of {}", errors.len());
    }
}

#[test]
fn times_grow_without_steps_and_below_the_peak() {
    let (mut faults, mut deployments) = (Vec::new(), 0);
    for gpu in gpus() {
        for model in MODELS.iter().map(|model| model.id) {
            for weights in
                ["bf16", "fp8", "int4"].into_iter().filter(|format| were_measured(gpu, model, format))
            {
                for tensor in ["1", "2", "4", "8"] {
                    let settings = [
                        ("fleet.gpu", gpu),
                        ("fleet.model", model),
                        ("fleet.weights", weights),
                        ("fleet.tensor_parallel", tensor),
                    ];
                    let Some(cost) = scenario(&settings).and_then(|own| own.measured_kernels().ok()) else {
                        continue;
                    };
                    deployments += 1;
                    let name = format!("{gpu} {model} {weights} TP {tensor}");
                    let mut found = Found { name: &name, cost: &cost, faults: Vec::new() };
                    let of = |batch: &Batch<'_>| {
                        let flops = cost.work(batch).map_or(0.0, |work| work.flops);
                        let parts = cost.stage_parts(batch)[1];
                        (parts.iter().sum(), parts[OperatorClass::Linear as usize], flops)
                    };
                    for (what, decodes) in [("prompt of", 0), ("beside 30 requests a prompt of", 30)] {
                        found.check(what, &sizes(12_000), |tokens| {
                            let chunks = [Chunk { kv_tokens: 0, tokens }];
                            let kv = f64::from(decodes) * 700.0;
                            of(&Batch { chunks: &chunks, decodes, decode_kv_tokens: kv, ..Batch::default() })
                        });
                    }
                    found.check("requests", &sizes(1100), |decodes| {
                        let kv = f64::from(decodes) * 700.0;
                        of(&Batch { decodes, decode_kv_tokens: kv, ..Batch::default() })
                    });
                    found.check("KV tokens of each of 8 requests", &sizes(12_000), |tokens| {
                        let kv = 8.0 * f64::from(tokens);
                        of(&Batch { decodes: 8, decode_kv_tokens: kv, ..Batch::default() })
                    });
                    faults.extend(found.faults);
                }
            }
        }
    }
    faults.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worst: Vec<&str> = faults.iter().take(30).map(|(_, text)| &**text).collect();
    assert!(faults.is_empty(), "{} of {deployments} deployments:\n{}", faults.len(), worst.join("\n"));
    assert!(deployments > 900, "{deployments}");
}
