//! Grids, their text, and iterations put together from them.

use crate::launches::{CAPTURED_TOKENS, captured_by_default};
use proptest::prelude::*;

use super::import::{self, OperatorColumns};
use super::*;
use crate::batch::{Batch, BatchCost, Chunk, OperatorClass};
use crate::deployment::{Deployment, KvFormat, WeightFormat};
use crate::gpus::Gpu;
use crate::models::Model;

fn columns(texts: &[(&str, &str)], names: &[&str], rows: &[Vec<f64>]) -> OperatorColumns {
    let of = |text: &str| vec![text.to_owned(); rows.len()];
    let number = |i: usize| rows.iter().map(|row| row[i]).collect::<Vec<f64>>();
    OperatorColumns {
        texts: texts.iter().map(|(name, text)| ((*name).to_owned(), of(text))).collect(),
        numbers: names.iter().enumerate().map(|(i, name)| ((*name).to_owned(), number(i))).collect(),
        rows: rows.len(),
    }
}

const PRODUCT: [&str; 4] = ["m", "n", "k", "latency"];
const ATTENTION: [&str; 6] = ["batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim", "latency"];

/// Products at `factor` times the roofline, in milliseconds.
fn products(factor: impl Fn(f64, f64, f64) -> f64) -> OperatorColumns {
    let peaks = Peaks::of(Gpu::named("h100_sxm").unwrap());
    let mut rows = Vec::new();
    for m in [1.0, 16.0, 64.0, 256.0, 1024.0, 8192.0, 32_768.0] {
        for n in [128.0, 1024.0, 8192.0, 65_536.0] {
            for k in [128.0, 1024.0, 8192.0, 65_536.0] {
                rows.push(vec![
                    m,
                    n,
                    k,
                    factor(m, n, k) * peaks.product_us(NumberFormat::Bf16, m, n, k) / 1e3,
                ]);
            }
        }
    }
    columns(&[("gemm_dtype", "bfloat16")], &PRODUCT, &rows)
}

/// Attention for 8 and 1 heads of 128, whose decode time is affine in what it reads.
fn attention(is_decode: bool) -> OperatorColumns {
    let mut rows = Vec::new();
    for batch in [1.0, 4.0, 16.0, 64.0, 256.0] {
        for tokens in [16.0, 256.0, 2048.0, 16_384.0] {
            let us =
                if is_decode { 9.0 + 2e-4 * batch * tokens } else { 12.0 + 3e-5 * batch * tokens * tokens };
            rows.push(vec![batch, tokens, 8.0, 1.0, 128.0, us / 1e3]);
        }
    }
    let mut columns = columns(&[("kv_cache_dtype", "bfloat16")], &ATTENTION, &rows);
    if is_decode {
        let step = columns.numbers["isl"].iter().map(|tokens| tokens - 1.0).collect();
        columns.numbers.insert("step".to_owned(), step);
        columns.numbers.insert("isl".to_owned(), vec![1.0; rows.len()]);
    }
    columns
}

fn all_reduces() -> OperatorColumns {
    let rows: Vec<Vec<f64>> = [128.0, 65_536.0, 1e8].map(|n| vec![8.0, n, 0.005 + n * 1e-8]).to_vec();
    columns(&[("backend", "vllm_graph")], &["num_gpus", "message_size", "latency"], &rows)
}

fn kernels() -> Kernels {
    kernels_by(|m| 1.2 + 1.0 / m)
}

/// Kernels whose products of `m` rows take this many times as long as the roofline.
fn kernels_by(times_roofline: fn(f64) -> f64) -> Kernels {
    let gpu = Gpu::named("h100_sxm").unwrap();
    let mut kernels = Kernels { gpu: gpu.id.to_owned(), ..Kernels::default() };
    for (table, columns) in [
        ("gemm", products(|m, _, _| times_roofline(m))),
        ("context_attention", attention(false)),
        ("generation_attention", attention(true)),
        ("custom_allreduce", all_reduces()),
    ] {
        let points = import::points(table, gpu, &columns).unwrap().unwrap();
        import::add(&mut kernels, "made-up", &points);
    }
    kernels
}

fn layout() -> Layout {
    Layout {
        gpu: *Gpu::named("h100_sxm").unwrap(),
        model: *Model::named("llama-3.1-70b").unwrap(),
        tensor_parallel: 8,
        attention_data_parallel: 1,
        expert_tensor_parallel: 1,
        expert_parallel: 1,
        all_to_all: crate::AllToAll::AllGather,
        attention: NumberFormat::Bf16,
        mlp: NumberFormat::Bf16,
        experts: NumberFormat::Bf16,
        kv: KvFormat::Bf16,
        has_peer_access: true,
    }
}

const OVERHEADS: Overheads =
    Overheads { layer_us: 5.0, iteration_us: 300.0, request_us: 2.0, decode_factor: 1.05, ..Overheads::NONE };

#[test]
fn a_share_of_the_roofline_is_met_between_what_was_measured() {
    let gpu = Gpu::named("h100_sxm").unwrap();
    let points = import::points("gemm", gpu, &products(|_, _, _| 1.5)).unwrap().unwrap();
    let mut kernels = Kernels::default();
    import::add(&mut kernels, "made-up", &points);
    let grid = &kernels.tables["gemm:bfloat16"].grid;
    for at in [[128.0, 128.0, 1.0], [3_000.0, 500.0, 77.0], [65_536.0, 8192.0, 32_768.0]] {
        assert!((libm::exp(grid.at(&at)) - 1.5).abs() < 1e-9 && grid.covers(&at), "{at:?}");
    }
    assert!(!grid.covers(&[64.0, 128.0, 1.0]));
    // Two inner numbers of inputs for each of four outputs, the same the other way round, and five inner numbers of tokens.
    let errors = left_out(&points);
    assert_eq!(errors[0].count, 7 * (2 * 4 + 2 * 4) + 5 * 4 * 4);
    assert!(errors.iter().all(|e| e.p95 < 1e-9), "{errors:?}");
}

#[test]
fn what_interpolation_misses_is_told_by_range() {
    let gpu = Gpu::named("h100_sxm").unwrap();
    // Decoding is affine in tokens and in requests, and so is its interpolation: nothing is missed.
    let points = import::points("generation_attention", gpu, &attention(true)).unwrap().unwrap();
    let errors = left_out(&points);
    assert!(errors.iter().all(|e| e.operator == "decode" && e.p95 < 1e-9), "{errors:?}");
    // Three inner sizes of five for each of four, and two of four for each of five.
    assert_eq!((errors[0].range, errors[0].count), (None, 22));
    assert_eq!(errors[1..].iter().map(|e| e.count).sum::<usize>(), 22);
    // A step in time that no neighbour shows: half of the prompts of 2048 tokens take twice as long.
    let mut columns = attention(false);
    let lengths = columns.numbers["isl"].clone();
    let stepped = columns.numbers.get_mut("latency").unwrap();
    stepped.iter_mut().zip(lengths).filter(|(_, isl)| *isl == 2048.0).for_each(|(ms, _)| *ms *= 2.0);
    let points = import::points("context_attention", gpu, &columns).unwrap().unwrap();
    let errors = left_out(&points);
    let long = errors.iter().find(|e| e.range == Some(2)).unwrap();
    assert!(long.p95 > 0.3 && long.bias < 0.0, "{errors:?}");
    // Of products with many numbers of tokens, what lies between the knots is left out.
    let mut rows = Vec::new();
    for m in (1..=50).map(f64::from) {
        for n in [128.0, 256.0] {
            rows.push(vec![m, n, 128.0, if m == 40.0 { 0.02 } else { 0.01 }]);
        }
    }
    let points = import::points("gemm", gpu, &self::columns(&[("gemm_dtype", "bfloat16")], &PRODUCT, &rows));
    let errors = left_out(&points.unwrap().unwrap());
    // 13 of 50 are kept, and the last one lies beyond them.
    assert_eq!(errors.iter().map(|e| (e.range, e.count)).collect::<Vec<_>>(), [(None, 76), (Some(0), 76)]);
    assert!(errors[0].median < 0.1 && errors[0].p95 < 0.1, "{errors:?}");
}

#[test]
fn times_that_differ_by_chance_are_replaced_by_their_neighbours() {
    let gpu = Gpu::named("h100_sxm").unwrap();
    let value = |is_noisy: bool, at: f64| {
        let us = |m: f64| if (m % 3.0 == 0.0 && m < 14.0 && is_noisy) || m > 16.0 { 20.0 } else { 10.0 };
        let rows: Vec<Vec<f64>> = (1..=20)
            .map(f64::from)
            .flat_map(|m| [[128.0, 256.0], [256.0, 128.0]].map(|[n, k]| vec![m, n, k, us(m) / 1e3]))
            .collect();
        let columns = columns(&[("gemm_dtype", "bfloat16")], &PRODUCT, &rows);
        let mut kernels = Kernels::default();
        import::add(&mut kernels, "made-up", &import::points("gemm", gpu, &columns).unwrap().unwrap());
        let peaks = Peaks::of(gpu);
        let grid = &kernels.tables["gemm:bfloat16"].grid;
        libm::exp(grid.at(&[128.0, 256.0, at])) * peaks.product_us(NumberFormat::Bf16, at, 128.0, 256.0)
    };
    // One in three takes twice as long, the step behind 16 is real.
    assert!([2.0, 3.0, 9.0, 12.0, 16.0].iter().all(|at| (value(true, *at) / 10.0 - 1.0).abs() < 0.05));
    assert!([17.0, 20.0].iter().all(|at| (value(true, *at) / 20.0 - 1.0).abs() < 0.05));
    assert!((value(false, 16.0) / 10.0 - 1.0).abs() < 1e-9);
}

#[test]
fn tokens_that_are_no_multiple_of_four_are_copied_before_products_by_block() {
    let gpu = Gpu::named("h200_sxm").unwrap();
    let peaks = Peaks::of(gpu);
    let mut rows = Vec::new();
    for m in [1.0, 2.0, 4.0, 16.0, 17.0, 512.0, 513.0, 4096.0, 4097.0, 8192.0] {
        for n in [128.0, 8192.0, 65_536.0] {
            for k in [128.0, 8192.0, 65_536.0] {
                let us = peaks.product_us(NumberFormat::Fp8Block, m, n, k);
                rows.push(vec![m, n, k, us * if m % 4.0 == 0.0 { 1e-3 } else { 1.5e-3 }]);
            }
        }
    }
    let mut kernels = kernels();
    let columns = columns(&[("gemm_dtype", "fp8_block")], &PRODUCT, &rows);
    import::add(&mut kernels, "made-up", &import::points("gemm", gpu, &columns).unwrap().unwrap());
    let layout =
        Layout { gpu: *gpu, attention: NumberFormat::Fp8Block, mlp: NumberFormat::Fp8Block, ..layout() };
    let linear_us = |kernels: &Kernels, tokens: u32| {
        let cost = KernelCost::new(layout, kernels, Overheads::NONE).unwrap();
        let chunks = [Chunk { kv_tokens: 0, tokens }];
        let batch = Batch { chunks: &chunks, ..Batch::default() };
        cost.stage_parts(&batch)[1][OperatorClass::Linear as usize]
    };
    let filled = Kernels {
        tables: kernels
            .tables
            .iter()
            .filter(|(name, _)| !name.ends_with("ragged"))
            .map(|(n, t)| (n.clone(), t.clone()))
            .collect(),
        ..kernels.clone()
    };
    let longer = |tokens: u32| linear_us(&kernels, tokens) / linear_us(&filled, tokens);
    // CUDA graphs have none to fill up: one token can be padded to four. Beyond them a multiple of four takes no less than the
    // tokens before it, and beyond what was measured the share stays.
    assert!([504, 503, 3, 2, 1].iter().all(|tokens| longer(*tokens) == 1.0));
    assert!([513, 516, 4097, 9001].iter().all(|tokens| (1.2..1.5).contains(&longer(*tokens))));
}

#[test]
fn operators_add_up_to_their_classes() {
    let cost = KernelCost::new(layout(), &kernels(), OVERHEADS).unwrap();
    let chunks = [Chunk { kv_tokens: 64, tokens: 100 }];
    for chunks in [&[][..], &chunks] {
        let batch = Batch { chunks, decodes: 8, decode_kv_tokens: 800.0, ..Batch::default() };
        let names = crate::batch::assert_operators_add_up(&cost, &batch);
        for name in ["attention_projections", "attention_decode", "mlp", "all_reduce", "head", "host"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        let all = cost.operators(&batch, true);
        let reduce = all.iter().find(|operator| operator.name == "all_reduce").unwrap();
        assert_eq!(reduce.calls, 161.0, "two a layer, and one of the embedding");
    }
}

#[test]
fn sums_of_gpus_without_peer_access_go_through_the_host() {
    let gpu = Gpu::named("h100_sxm").unwrap();
    let communication_us = |kernels: &Kernels, has_peer_access: bool| {
        let layout = Layout { has_peer_access, ..layout() };
        let cost = KernelCost::new(layout, kernels, Overheads::NONE).unwrap();
        let batch = Batch { decodes: 8, decode_kv_tokens: 800.0, ..Batch::default() };
        let us = cost.stage_parts(&batch)[1][OperatorClass::Communication as usize];
        (us, cost.borrowed().contains(&"all_reduce_by_host:8".to_owned()))
    };
    let mut kernels = kernels();
    let sums = 2.0 * f64::from(layout().model.layers) + 1.0;
    let (direct_us, _) = communication_us(&kernels, true);
    let (staged_us, is_borrowed) = communication_us(&kernels, false);
    assert!((staged_us / sums - (13.2 + direct_us / sums / 0.42)).abs() < 1e-6 && is_borrowed);
    // An older version that takes a little longer is no other host; one that takes three times as long is.
    for (times, kept) in [(1.2, false), (3.0, true)] {
        let mut slower = all_reduces();
        slower.numbers.get_mut("latency").unwrap().iter_mut().for_each(|ms| *ms *= times);
        let points = import::points("custom_allreduce", gpu, &slower).unwrap().unwrap();
        import::add(&mut kernels, "older", &points);
        assert_eq!(kernels.tables.contains_key("all_reduce_by_host:8"), kept);
    }
    let (by_host_us, is_borrowed) = communication_us(&kernels, false);
    assert!((by_host_us / direct_us - 3.0).abs() < 1e-9 && !is_borrowed);
}

#[test]
fn what_was_not_measured_takes_the_efficiency_of_its_neighbour() {
    let at = |a: f64, b: f64| vec![a, b];
    let points = [(at(1.0, 1.0), 0.1), (at(1.0, 2.0), 0.2), (at(2.0, 1.0), 0.3)];
    let grid = Grid::of(vec![vec![1.0, 2.0], vec![1.0, 2.0]], &points).unwrap();
    assert_eq!(grid.values, [0.1, 0.2, 0.3, 0.3]);
    assert_eq!(Grid::of(vec![vec![1.0], vec![1.0]], &[]), None);
}

#[test]
fn launches_beyond_the_cuda_graphs_take_time_where_the_gpu_is_not_busy() {
    let us = |cost: &KernelCost, tokens: u32, decodes: u32| {
        let chunks = [Chunk { kv_tokens: 0, tokens }];
        let chunks = if tokens == 0 { &[][..] } else { &chunks[..] };
        let kv = 100.0 * f64::from(decodes);
        let batch = Batch { chunks, decodes, decode_kv_tokens: kv, ..Batch::default() };
        let parts = cost.stage_parts(&batch)[1];
        let host = parts[OperatorClass::Host as usize];
        (host, parts.iter().sum::<f64>() - host)
    };
    let launches = 80.0 * 1000.0;
    let overheads = Overheads { eager_layer_us: launches / 80.0, ..Overheads::NONE };
    let cost = KernelCost::new(layout(), &kernels(), overheads).unwrap();
    let at = CAPTURED_TOKENS;
    let wait = |cost: &KernelCost, tokens: u32, decodes: u32| {
        let (wait, kernels) = us(cost, tokens, decodes);
        assert!(wait == 0.0 || wait <= launches - kernels + 1e-6, "{tokens}: {wait} beside {kernels}");
        (wait, kernels)
    };
    // Prompt tokens and decoding requests together count, and iterations that only decode have no launches.
    assert_eq!([wait(&cost, at, 0).0, wait(&cost, at - 9, 9).0, wait(&cost, 0, at + 1).0], [0.0; 3]);
    for (tokens, decodes) in [(at + 1, 0), (at - 9, 10)] {
        let (wait, kernels) = wait(&cost, tokens, decodes);
        assert!(wait > 0.09 * kernels && wait < 0.12 * kernels, "a small step: {wait} beside {kernels}");
    }
    // A little further on the iteration takes as long as its launches, and where the GPU takes longer, no longer than that.
    let (short, kernels) = wait(&cost, at + at / 2, 0);
    assert!((short + kernels - launches).abs() < 1e-6, "{short} beside {kernels}");
    assert_eq!(wait(&cost, 8000, 0).0, 0.0);
    let wide = cost.capturing(2048);
    assert_eq!(wait(&wide, 2048, 0).0, 0.0);
}

#[test]
fn the_largest_cuda_graph_is_vllms() {
    let of = |gpu: &str, seqs, budget| captured_by_default(Gpu::named(gpu).unwrap(), seqs, budget);
    assert_eq!([of("h100_sxm", 1024, 8192), of("b200_sxm", 1024, 16_384)], [512, 1024]);
    assert_eq!([of("h100_sxm", 128, 8192), of("gb300_nvl72", 300, 400), of("l40s", 1, 1)], [256, 400, 1]);
}

#[test]
fn a_step_is_the_sum_of_its_kernels() {
    let cost = KernelCost::new(layout(), &kernels(), Overheads::NONE).unwrap();
    assert_eq!(cost.borrowed(), [] as [String; 0], "everything was measured");
    let batch = Batch { decodes: 16, decode_kv_tokens: 16.0 * 1000.0, ..Batch::default() };
    let [_, parts] = cost.stage_parts(&batch);
    let of = |class: crate::OperatorClass| parts[class as usize];
    // Attention is 9 us and 2e-4 us for each KV token, in 80 layers; both all-reduces of 16 x 8192 values.
    let attention = 80.0 * (9.0 + 2e-4 * 16_000.0);
    assert!((of(crate::OperatorClass::DecodeAttention) / attention - 1.0).abs() < 1e-9);
    let all_reduce = 161.0 * (5.0 + 16.0 * 8192.0 * 1e-5);
    assert!((of(crate::OperatorClass::Communication) / all_reduce - 1.0).abs() < 0.1);
    let weights = 2.0 * 80.0 * 855_638_016.0 / 8.0 / 3.35e6;
    let products = of(crate::OperatorClass::Linear);
    assert!(products > 1.2 * weights && products < 1.6 * weights, "{products} of {weights}");
}

#[test]
fn a_missing_table_is_named() {
    let mut kernels = kernels();
    kernels.tables.retain(|name, _| !name.starts_with("decode"));
    let why = KernelCost::new(layout(), &kernels, Overheads::NONE).unwrap_err().0;
    assert_eq!(why, "decode:bfloat16:128:0:");
    let mixture = Layout { model: *Model::named("mixtral-8x7b").unwrap(), ..layout() };
    let why = KernelCost::new(mixture, &super::tests::kernels(), Overheads::NONE).unwrap_err().0;
    assert_eq!(why, "moe:bfloat16:4096:14336:2:8");
}

#[test]
fn heads_that_were_not_measured_borrow_the_nearest() {
    let four = Layout { tensor_parallel: 4, ..layout() };
    let cost = KernelCost::new(four, &kernels(), Overheads::NONE).unwrap();
    let borrowed = cost.borrowed().join("; ");
    assert!(
        borrowed.contains("decode:bfloat16:128:0:16:2") && borrowed.contains("all_reduce:4"),
        "{borrowed}"
    );
}

/// The layout in this many stages.
fn in_stages(stages: u32) -> KernelCost {
    let Layout { gpu, model, tensor_parallel, kv, .. } = layout();
    let deployment = Deployment {
        gpu,
        model,
        tensor_parallel,
        pipeline_parallel: stages,
        expert_layout: crate::ExpertLayout::ALONE,
        weights: WeightFormat::Bf16,
        quantized_head: false,
        kv,
    };
    KernelCost::new(layout(), &kernels(), OVERHEADS).unwrap().in_stages(&deployment)
}

#[test]
fn stages_that_send_are_named() {
    assert!(in_stages(1).borrowed().iter().all(|name| !name.starts_with("send_recv")));
    assert!(in_stages(4).borrowed().contains(&"send_recv:4".to_owned()));
    assert_eq!((in_stages(1).stages(), in_stages(4).stages()), (1, 4));
}

#[test]
fn text_that_is_no_table_is_refused_with_its_line() {
    let told = |text: &str| Kernels::read(text).unwrap_err();
    assert_eq!(told(""), "line 1: \"servescope-kernels 1\" is expected");
    let with = |rest: &str| format!("servescope-kernels 1\ngpu g\naxis 1,2\n{rest}");
    assert_eq!(told(&with("a b 0 0.1 0\n")), "line 4: no values follow");
    assert_eq!(told(&with("a b 0 0.1 0\n###\n")), "line 4: 2 values are expected (at most 200000), 3 follow");
    assert_eq!(told(&with("a b x 0.1 0\n##\n")), "line 4: \"x\" is not a number");
    assert_eq!(told(&with("a b 0 0.1 1\n##\n")), "line 4: there is no axis \"1\"");
    assert_eq!(told(&with("a b 0 0.1\n##\n")), "line 4: one to three axes are expected");
    assert_eq!(told(&with("axis 2,1\n")), "line 4: a growing axis above 0 is expected");
    assert_eq!(told(&with("a b 0 0.1 0\n# \n")), "line 4: the byte 32 stands for no value");
}

proptest! {
    #[test]
    fn text_keeps_values_to_half_a_level(values in prop::collection::vec(-2.0..4.0f64, 6)) {
        let grid = Grid { axes: vec![vec![1.0, 2.5], vec![1.0, 16.0, 65_536.0]], values };
        let mut kernels = Kernels { gpu: "g".to_owned(), ..Kernels::default() };
        kernels.tables.insert("a:b".to_owned(), KernelTable { source: "s-1".to_owned(), grid: grid.clone() });
        let read = Kernels::read(&kernels.text()).unwrap();
        let found = &read.tables["a:b"];
        prop_assert_eq!(&found.grid.axes, &grid.axes);
        for (a, b) in found.grid.values.iter().zip(&grid.values) {
            prop_assert!((a - b).abs() < 6.0 / 91.0 / 2.0 + 2e-4, "{} {}", a, b);
        }
    }

    #[test]
    fn leaps_are_single_steps(decodes in 1..600u32, mean in 1..20_000u32, more in 0..600u32) {
        let cost = KernelCost::new(layout(), &kernels(), OVERHEADS).unwrap();
        let kv = f64::from(decodes) * f64::from(mean) + f64::from(more);
        let batch = Batch { decodes, decode_kv_tokens: kv, ..Batch::default() };
        let time = cost.stage_time(&batch, true);
        prop_assert!(time.valid_iterations >= 1 && time.growth_us >= 0.0 && time.first_us > 0.0);
        for j in [0, 1, 2, 50, 3_000, time.valid_iterations - 1] {
            if j < time.valid_iterations.min(1_000_000) {
                let kv = kv + f64::from(j) * f64::from(decodes);
                let single = cost.stage_time(&Batch { decode_kv_tokens: kv, ..batch }, true).first_us;
                let leapt = time.first_us + f64::from(j) * time.growth_us;
                prop_assert!((single / leapt - 1.0).abs() < 1e-9, "{} of {}: {} {}", j, time.valid_iterations, single, leapt);
            }
        }
    }

    #[test]
    fn more_work_never_takes_less(tokens in 1..8_000u32, before in 0..8_000u32, decodes in 0..200u32) {
        // Where a product of one row is further from the roofline than one of two, it may take longer.
        let cost = KernelCost::new(layout(), &kernels_by(|_| 1.2), OVERHEADS).unwrap();
        let us = |tokens: u32, kv_tokens: u32| {
            let chunks = [Chunk { kv_tokens, tokens }];
            let batch = Batch { chunks: &chunks, decodes, decode_kv_tokens: f64::from(decodes) * 500.0, ..Batch::default() };
            cost.stage_time(&batch, true).first_us
        };
        let one = us(tokens, before);
        prop_assert!(one.is_finite() && one > 0.0);
        prop_assert!(us(2 * tokens, before) >= 0.99 * one);
        prop_assert!(us(tokens, before + 4_000) >= 0.99 * one);
    }

    #[test]
    fn stages_together_take_what_one_does_and_the_sends(
        prompts in prop::collection::vec((0..8_000u32, 1..2_000u32), 0..3), decodes in 0..300u32, mean in 1..9_000u32,
        stages in 1..9u32,
    ) {
        let chunks: Vec<Chunk> = prompts.iter().map(|&(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect();
        let kv = f64::from(decodes) * f64::from(mean);
        let batch = Batch { chunks: &chunks, decodes, decode_kv_tokens: kv, ..Batch::default() };
        let [_, whole] = KernelCost::new(layout(), &kernels(), OVERHEADS).unwrap().stage_parts(&batch);
        let cost = in_stages(stages);
        let [others, last] = cost.stage_parts(&batch);
        if stages == 1 {
            prop_assert_eq!(last.map(f64::to_bits), whole.map(f64::to_bits));
            return Ok(());
        }
        let tokens = f64::from(batch.prompt_tokens()) + f64::from(decodes);
        // Eight GPUs a node: each stage is on its own, and each send takes the network.
        let bytes = 2.0 * tokens * f64::from(layout().model.hidden);
        let send_us = if tokens > 0.0 { 7.28 + crate::nodes::send_us(&layout().gpu, bytes) } else { 0.0 };
        for class in 0..whole.len() {
            let sent = if class == crate::OperatorClass::Communication as usize { send_us } else { 0.0 };
            let sum = last[class] + f64::from(stages - 1) * (others[class] - sent);
            prop_assert!((sum - whole[class]).abs() <= 1e-9 * whole[class].max(1.0), "{}: {} {}", class, sum, whole[class]);
        }
    }

    #[test]
    fn leaps_of_stages_are_single_steps(decodes in 1..600u32, mean in 1..20_000u32, stages in 2..9u32, is_last: bool) {
        let cost = in_stages(stages);
        let kv = f64::from(decodes) * f64::from(mean);
        let batch = Batch { decodes, decode_kv_tokens: kv, ..Batch::default() };
        let time = cost.stage_time(&batch, is_last);
        for j in [0, 1, 50, time.valid_iterations - 1].into_iter().filter(|j| *j < time.valid_iterations.min(1_000_000)) {
            let at = Batch { decode_kv_tokens: kv + f64::from(j) * f64::from(decodes), ..batch };
            let single = cost.stage_time(&at, is_last).first_us;
            let leapt = time.first_us + f64::from(j) * time.growth_us;
            prop_assert!((single / leapt - 1.0).abs() < 1e-9, "{} of {}: {} {}", j, time.valid_iterations, single, leapt);
        }
    }
}
