//! Which tables the kernels of a layout come from, and which stand in for those that were not measured.

use super::base::{ExpertShape, Heads, Peaks};
use super::curves::{DecodeTable, TokenCurve};
use super::import::{ALL_REDUCE_BY_HOST, ragged};
use super::layout::{AttentionKernels, ExpertKernels, Layout, MissingTable, Product, Span, Sum};
use super::{Grid, Kernels, NumberFormat};
use crate::deployment::KvFormat;
use crate::models::{Attention, Experts, WindowLayers};
use crate::nodes;

/// Least time of a whole module of latent attention, as timed on a B200, microseconds. Where the least time of a table is longer,
/// its kernels waited for their launches, which a CUDA graph does not have.
const LATENT_FLOOR_US: f64 = 30.0;
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
        let curve = TokenCurve::of_matrix(&grid, outputs, inputs);
        let ragged = self.grid(&ragged(found)).map(|grid| TokenCurve::of_matrix(grid, outputs, inputs));
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
        let prefill = self.attention("prefill", kv, &heads)?;
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
    ) -> Result<TokenCurve, MissingTable> {
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
                if distance > 0.0 || *found != format {
                    self.borrowed.push(format!("moe:{}:{shape}:{tensor}:{groups}", format.name()));
                }
                return Ok(TokenCurve::of(&self.kernels.tables[name].grid));
            }
        }
        Err(MissingTable(format!("moe:{}:{shape}", format.name())))
    }

    pub(super) fn collective(&mut self, name: &str, gpus: u32) -> Result<Option<TokenCurve>, MissingTable> {
        if gpus < 2 {
            return Ok(None);
        }
        let found = [gpus, gpus.next_power_of_two(), 8, 4]
            .iter()
            .find_map(|n| self.grid(&format!("{name}:{n}")).map(|grid| (*n, TokenCurve::of(grid))));
        let (found, curve) = found.ok_or_else(|| MissingTable(format!("{name}:{gpus}")))?;
        if found != gpus {
            self.borrowed.push(format!("{name}:{gpus}"));
        }
        Ok(Some(curve))
    }

    /// Sums as they were timed on a host whose GPUs reach each other as these do; else on another one, with the time through the
    /// memory of the host.
    pub(super) fn all_reduce(&mut self, layout: &Layout) -> Result<Option<Sum>, MissingTable> {
        let gpus = nodes::on_one_node(&layout.gpu, layout.tensor_parallel);
        if layout.has_peer_access || gpus < 2 {
            let sum = |curve| Sum { curve, is_staged: false };
            return Ok(self.collective("all_reduce", gpus)?.map(sum));
        }
        if let Some(grid) = self.grid(&format!("{ALL_REDUCE_BY_HOST}:{gpus}")) {
            return Ok(Some(Sum { curve: TokenCurve::of(grid), is_staged: false }));
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
            before: self.product(layout.attention, (queries + 2.0 * keys) * dim, h)?,
            after: self.product(layout.attention, h, queries * dim)?,
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
        Ok(Some(ExpertKernels {
            layers: f64::from(model.expert_layers()),
            router: self.product(NumberFormat::Bf16, f64::from(e.count), h)?,
            shape: ExpertShape {
                hidden: h,
                inner: f64::from(e.hidden) / f64::from(layout.expert_tensor_parallel.max(1)),
                per_token: f64::from(e.per_token),
                count: f64::from(e.count),
                groups: f64::from(layout.expert_parallel.max(1)),
            },
            format: layout.experts,
            curve: self.experts(layout.experts, layout, e)?,
            shared,
        }))
    }
}
