//! Which tables the kernels of a layout come from, and which stand in for those that were not measured.

use super::base::{ExpertShape, Heads, Peaks};
use super::curves::{DecodeTable, TokenCurve, lowered_over_both};
use super::import::{ALL_REDUCE_BY_HOST, pairs, ragged};
use super::layout::{AttentionKernels, ExpertKernels, Layout, MissingTable, Product, Span, Sum};
use super::{Grid, Kernels, NumberFormat};
use crate::deployment::KvFormat;
use crate::models::{Attention, Experts, WindowLayers};
use crate::nodes;

/// Least time of a whole module of latent attention, as timed on a B200, microseconds. Where the least time of a table is longer,
/// its kernels waited for their launches, which a CUDA graph does not have.
const LATENT_FLOOR_US: f64 = 30.0;
/// Tokens up to which experts mostly read their weights.
const FEW_TOKENS: f64 = 256.0;
/// Share of the speed of a sum over two GPUs below which one over more went through the memory of the host: it crosses a bus that
/// they share.
const SHARED_BUS: f64 = 0.3;

/// What is being put together: the tables, and which of them stand in for others.
pub(super) struct Assembly<'a> {
    pub(super) kernels: &'a Kernels,
    pub(super) peaks: Peaks,
    pub(super) borrowed: Vec<String>,
}

impl Assembly<'_> {
    fn grid(&self, name: &str) -> Option<&Grid> {
        self.kernels.tables.get(name).map(|measured| &measured.grid)
    }

    pub(super) fn product(
        &mut self,
        format: NumberFormat,
        outputs: f64,
        inputs: f64,
    ) -> Result<Product, MissingTable> {
        let instead = [format, NumberFormat::Fp8, NumberFormat::Bf16];
        let found =
            instead.iter().find_map(|f| Some((*f, self.grid(&format!("gemm:{}", f.name()))?.clone())));
        let (found, grid) = found.ok_or_else(|| MissingTable("gemm".to_owned()))?;
        if found != format {
            self.borrowed.push(format!("gemm:{}", format.name()));
        }
        if !grid.covers(&[outputs, inputs, grid.axes[2][0]]) {
            self.borrowed.push(format!("gemm:{}:{outputs}:{inputs}", found.name()));
        }
        let peaks = self.peaks;
        let of = |grid: &Grid| {
            let base = |m, n, k| peaks.product_us(format, m, n, k);
            let least = |m| 2.0 * m * outputs * inputs / peaks.peak_flops_us(found);
            TokenCurve::of_matrix(grid, [outputs, inputs], base, least)
        };
        let (curve, ragged) = (of(&grid), self.grid(&ragged(found)).map(of));
        Ok(Product { format, outputs, inputs, curve, ragged })
    }

    /// The table of attention for these heads, or of the nearest ones.
    fn attention(&mut self, what: &str, kv: &str, heads: &Heads) -> Result<Grid, MissingTable> {
        let window = if heads.window == f64::INFINITY { 0.0 } else { heads.window };
        let prefix = format!("{what}:{kv}:{}:{window}:", heads.dim);
        let far = |name: &str| {
            let mut numbers = name[prefix.len()..].split(':').filter_map(|text| text.parse::<f64>().ok());
            let (queries, keys) = (numbers.next()?, numbers.next()?);
            let apart = |a: f64, b: f64| libm::log(a / b).abs();
            Some(apart(queries, heads.queries) + 2.0 * apart(keys, heads.keys))
        };
        let names = self.kernels.tables.keys().filter(|name| name.starts_with(&prefix));
        let nearest = names.filter_map(|name| Some((far(name)?, name))).min_by(|a, b| a.0.total_cmp(&b.0));
        let (distance, name) = nearest.ok_or_else(|| MissingTable(prefix.clone()))?;
        if distance > 0.0 {
            self.borrowed.push(format!("{prefix}{}:{}", heads.queries, heads.keys));
        }
        Ok(self.kernels.tables[name].grid.clone())
    }

    fn span(&mut self, layers: f64, kv: &str, heads: Heads) -> Result<Span, MissingTable> {
        let peaks = self.peaks;
        let prefill = lowered_prefill(
            &self.attention("prefill", kv, &heads)?,
            |met, queries| peaks.prefill_us(&heads, met, queries, queries),
            heads.window,
        );
        let decode = self.attention("decode", kv, &heads)?;
        let decode = DecodeTable::of(&decode, |requests, tokens| peaks.decode_us(&heads, requests, tokens));
        Ok(Span { layers, heads, prefill, decode })
    }

    /// The table of experts of this shape; else of the same experts shared otherwise, or in a related format.
    fn experts(
        &mut self,
        format: NumberFormat,
        layout: &Layout,
        e: Experts,
        of: &ExpertShape,
    ) -> Result<TokenCurve, MissingTable> {
        let peaks = self.peaks;
        let curve = |grid: &Grid| {
            let least = |tokens| Peaks::experts_flops(of, tokens) / peaks.peak_flops_us(format);
            TokenCurve::of(grid, |tokens| peaks.experts_us(format, of, tokens), least)
        };
        let shape = format!("{}:{}:{}:{}", layout.model.hidden, e.hidden, e.per_token, e.count);
        let [tensor, groups] = [layout.expert_tensor_parallel, layout.expert_parallel].map(f64::from);
        let related: &[NumberFormat] = match format {
            NumberFormat::Fp8 => &[NumberFormat::Fp8, NumberFormat::Fp8Block],
            NumberFormat::Fp8Block => &[NumberFormat::Fp8Block, NumberFormat::Fp8],
            NumberFormat::Mxfp4Fp8 => &[NumberFormat::Mxfp4Fp8, NumberFormat::Mxfp4],
            ref other => std::slice::from_ref(other),
        };
        for found in related {
            let prefix = format!("moe:{}:{shape}:", found.name());
            let far = |name: &str| {
                let mut numbers = name[prefix.len()..].split(':').filter_map(|text| text.parse::<f64>().ok());
                let apart = |a: f64, b: f64| libm::log(a.max(1.0) / b).abs();
                Some(apart(numbers.next()?, tensor) + 2.0 * apart(numbers.next()?, groups))
            };
            let names = self.kernels.tables.keys().filter(|name| name.starts_with(&prefix));
            let nearest =
                names.filter_map(|name| Some((far(name)?, name))).min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((distance, name)) = nearest {
                let grid = &self.kernels.tables[name].grid;
                let wide = self.grid(&name.replace(found.name(), NumberFormat::Bf16.name()));
                let stand_in = wide.filter(|wide| self.is_slower_than_wide(*found, grid, wide, of));
                let curve = curve(stand_in.unwrap_or(grid));
                if distance > 0.0 || *found != format || stand_in.is_some() {
                    self.borrowed.push(format!("moe:{}:{shape}:{tensor}:{groups}", format.name()));
                }
                return Ok(curve);
            }
        }
        Err(MissingTable(format!("moe:{}:{shape}", format.name())))
    }

    /// Whether experts of 4-bit weights take longer than those of 16 bits where few tokens make reading weights the most of it:
    /// what was timed there is no kernel for such weights, and the efficiency of 16-bit experts says more.
    fn is_slower_than_wide(
        &self,
        format: NumberFormat,
        own: &Grid,
        wide: &Grid,
        shape: &ExpertShape,
    ) -> bool {
        if !matches!(format, NumberFormat::Int4 | NumberFormat::Nvfp4) {
            return false;
        }
        let us = |format, grid: &Grid, tokens: f64| {
            self.peaks.experts_us(format, shape, tokens) * libm::exp(grid.at(&[tokens]))
        };
        let few: Vec<f64> = own.axes[0].iter().copied().filter(|&tokens| tokens <= FEW_TOKENS).collect();
        let slower =
            few.iter().filter(|&&tokens| us(format, own, tokens) > us(NumberFormat::Bf16, wide, tokens));
        2 * slower.count() > few.len()
    }

    pub(super) fn collective(&mut self, name: &str, gpus: u32) -> Result<Option<TokenCurve>, MissingTable> {
        if gpus < 2 {
            return Ok(None);
        }
        let found = [gpus, gpus.next_power_of_two(), 8, 4]
            .iter()
            .find_map(|n| self.grid(&format!("{name}:{n}")).map(|grid| (*n, self.sum_curve(grid))));
        let (found, curve) = found.ok_or_else(|| MissingTable(format!("{name}:{gpus}")))?;
        if found != gpus {
            self.borrowed.push(format!("{name}:{gpus}"));
        }
        Ok(Some(curve))
    }

    fn sum_curve(&self, grid: &Grid) -> TokenCurve {
        let peaks = self.peaks;
        TokenCurve::of(grid, |values| peaks.collective_us(values), |_| 0.0)
    }

    /// Where sums over this many GPUs were timed through a bus that the GPUs share, what they take from GPU to GPU: the time of few
    /// bytes, and the bytes at the speed of a sum over two.
    fn direct_in_place_of_staged(&self, gpus: u32) -> Option<TokenCurve> {
        let (own, pair) = (self.grid(&format!("all_reduce:{gpus}"))?, self.grid("all_reduce:2")?);
        // Each GPU sends and gets this many times what one of two does.
        let share = 2.0 * (1.0 - 1.0 / f64::from(gpus));
        let us = |grid: &Grid, values: f64| self.peaks.collective_us(values) * libm::exp(grid.at(&[values]));
        let (&few, &many) = (own.axes[0].first()?, own.axes[0].last()?);
        if gpus <= 2 || us(pair, many) * share >= SHARED_BUS * us(own, many) {
            return None;
        }
        let extra_us = (us(own, few) - share * us(pair, few)).max(0.0);
        let direct = |&values: &f64| {
            let direct_us = extra_us + share * us(pair, values);
            libm::log(direct_us.min(us(own, values)) / self.peaks.collective_us(values))
        };
        let values = own.axes[0].iter().map(direct).collect();
        Some(self.sum_curve(&Grid { axes: own.axes.clone(), values }))
    }

    /// Sums as they were timed on a host whose GPUs reach each other as these do; else on another one, with the time through the
    /// memory of the host.
    pub(super) fn all_reduce(&mut self, layout: &Layout) -> Result<Option<Sum>, MissingTable> {
        let gpus = nodes::on_one_node(&layout.gpu, layout.tensor_parallel);
        let sum = |curve| Sum { curve, is_staged: false };
        let by_host = self.direct_in_place_of_staged(gpus);
        match by_host {
            // Timed through the memory of the host though it is named as the others.
            Some(_) if !layout.has_peer_access => return Ok(self.collective("all_reduce", gpus)?.map(sum)),
            Some(direct) => {
                self.borrowed.push(format!("all_reduce:{gpus}"));
                return Ok(Some(sum(direct)));
            }
            None if layout.has_peer_access || gpus < 2 => {
                return Ok(self.collective("all_reduce", gpus)?.map(sum));
            }
            None => {}
        }
        if let Some(grid) = self.grid(&format!("{ALL_REDUCE_BY_HOST}:{gpus}")) {
            return Ok(Some(Sum { curve: self.sum_curve(grid), is_staged: false }));
        }
        self.borrowed.push(format!("{ALL_REDUCE_BY_HOST}:{gpus}"));
        Ok(self.collective("all_reduce", gpus)?.map(|curve| Sum { curve, is_staged: true }))
    }

    pub(super) fn grouped(&mut self, layout: &Layout) -> Result<AttentionKernels, MissingTable> {
        let (model, tensor) = (&layout.model, layout.tensor_parallel.max(1));
        if model.has_other_layers() || model.attention.indexer().is_some() {
            return Err(MissingTable("layers of another kind".to_owned()));
        }
        let Attention::Grouped { heads, kv_heads, head_dim, gated } = model.attention else {
            return self.latent(layout);
        };
        let is_alike = |w: WindowLayers| (w.kv_heads, w.head_dim) == (kv_heads, head_dim);
        if gated || !model.window.is_none_or(is_alike) {
            return Err(MissingTable("attention of two sizes, or with a gate".to_owned()));
        }
        let (queries, keys, dim) =
            (f64::from(heads.div_ceil(tensor)), f64::from(kv_heads.div_ceil(tensor)), f64::from(head_dim));
        let kv = if layout.kv == KvFormat::Fp8 { "fp8" } else { "bfloat16" };
        let all = Heads { queries, keys, dim, kv_bytes: layout.kv.bytes(), window: f64::INFINITY };
        let mut spans = Vec::new();
        if model.full_layers() > 0 {
            spans.push(self.span(model.full_layers().into(), kv, all)?);
        }
        if let Some(window) = model.window {
            let heads = Heads { window: f64::from(window.tokens), ..all };
            spans.push(self.span(window.layers.into(), kv, heads)?);
        }
        let h = f64::from(model.hidden);
        Ok(AttentionKernels::Grouped {
            projections: Box::new([
                self.product(layout.attention, (queries + 2.0 * keys) * dim, h)?,
                self.product(layout.attention, h, queries * dim)?,
            ]),
            spans,
        })
    }

    fn latent(&mut self, layout: &Layout) -> Result<AttentionKernels, MissingTable> {
        let heads = f64::from(layout.model.attention.heads().div_ceil(layout.tensor_parallel.max(1)));
        let kv = if layout.kv == KvFormat::Fp8 { "fp8" } else { "bfloat16" };
        let mut table = |what: &str| {
            let related = [layout.attention, NumberFormat::Fp8Block, NumberFormat::Bf16];
            let names = related.map(|format| format!("{what}:{kv}:{}:{heads}", format.name()));
            let found = names.iter().position(|name| self.kernels.tables.contains_key(name));
            let place = found.ok_or_else(|| MissingTable(names[0].clone()))?;
            if place > 0 {
                self.borrowed.push(names[0].clone());
            }
            Ok::<Grid, MissingTable>(self.kernels.tables[&names[place]].grid.clone())
        };
        let (prefill, decode) = (table("latent_prefill")?, table("latent_decode")?);
        let (peaks, kv_bytes) = (self.peaks, layout.kv.bytes());
        let all = |met, queries| peaks.latent_us(heads, queries, met, queries, kv_bytes);
        let prefill = lowered_prefill(&prefill, all, f64::INFINITY);
        let base = |requests: f64, tokens: f64| peaks.latent_us(heads, requests, tokens, tokens, kv_bytes);
        let mut decode = DecodeTable::of(&decode, base);
        let least = decode.us.iter().copied().fold(f64::INFINITY, f64::min);
        let launches = (least - LATENT_FLOOR_US).max(0.0);
        decode.us.iter_mut().for_each(|us| *us -= launches);
        Ok(AttentionKernels::Latent { heads, kv_bytes, decode, prefill })
    }

    pub(super) fn expert_kernels(&mut self, layout: &Layout) -> Result<Option<ExpertKernels>, MissingTable> {
        let model = &layout.model;
        let Some(e) = model.experts else { return Ok(None) };
        let (h, tensor) = (f64::from(model.hidden), f64::from(layout.tensor_parallel));
        let inner = f64::from(e.shared_hidden) * f64::from(e.shared) / tensor;
        let shared = if e.shared > 0 {
            Some([self.product(layout.mlp, 2.0 * inner, h)?, self.product(layout.mlp, h, inner)?])
        } else {
            None
        };
        let shape = ExpertShape {
            hidden: h,
            inner: f64::from(e.hidden) / f64::from(layout.expert_tensor_parallel.max(1)),
            per_token: f64::from(e.per_token),
            count: f64::from(e.count),
            groups: f64::from(layout.expert_parallel.max(1)),
        };
        Ok(Some(ExpertKernels {
            layers: f64::from(model.expert_layers()),
            router: self.product(NumberFormat::Bf16, f64::from(e.count), h)?,
            shape,
            format: layout.experts,
            curve: self.experts(layout.experts, layout, e, &shape)?,
            shared,
        }))
    }
}

/// A table of attention of prompts in which none takes longer than more or longer ones.
fn lowered_prefill(grid: &Grid, base: impl Fn(f64, f64) -> f64, window: f64) -> Grid {
    let lengths = &grid.axes[1];
    let bases: Vec<f64> = (0..grid.values.len())
        .map(|place| {
            let (count, length) = (grid.axes[0][place / lengths.len()], lengths[place % lengths.len()]);
            base(count * pairs(0.0, length, window), count * length)
        })
        .collect();
    let mut us: Vec<f64> =
        bases.iter().zip(&grid.values).map(|(base, ratio)| base * libm::exp(*ratio)).collect();
    lowered_over_both(&mut us, lengths.len());
    let values = us.iter().zip(&bases).map(|(us, base)| libm::log(us / base)).collect();
    Grid { axes: grid.axes.clone(), values }
}
