use servescope_cost::models::{Attention, RecurrentKind, WindowKind};
use servescope_settings::model_config::ModelConfig;
use servescope_settings::scenario::Scenario;
fn u(n: u32) -> String { let s = n.to_string(); if s.len() < 5 { return s; } let mut o = String::new(); for (i, c) in s.chars().enumerate() { if i > 0 && (s.len() - i) % 3 == 0 { o.push('_'); } o.push(c); } o }
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    for a in args.chunks(5) {
        let [id, name, path, source, published] = a else { panic!() };
        let text = std::fs::read_to_string(path).unwrap();
        let c = ModelConfig::read("c", &text).unwrap_or_else(|e| panic!("{id} {e:?}"));
        let mut s = Scenario::of_settings(&[("scheduler.kind", "vllm_v1"), ("cost.kind", "roofline"), ("fleet.gpu", "b300_sxm"), ("workload.adapters.count", "0")]).unwrap();
        c.apply(&mut s).unwrap();
        let d = s.deployment(); let m = d.model;
        if m.id != "own" { eprintln!("known {id} {}", m.id); continue; }
        println!("    Model {{\n        id: \"{id}\",\n        name: \"{name}\",\n        layers: {},\n        hidden: {},", m.layers, u(m.hidden));
        match m.attention {
            Attention::Grouped { heads, kv_heads, head_dim, gated: false } => println!("        attention: grouped({heads}, {kv_heads}, {head_dim}),"),
            Attention::Grouped { heads, kv_heads, head_dim, gated: true } => println!("        attention: gated({heads}, {kv_heads}, {head_dim}),"),
            Attention::Latent { heads, query_rank, kv_rank: _, rope_dim, nope_dim, value_dim, indexer } => {
                let i = match indexer { None => "None".to_owned(), Some(i) => format!("sparse({}, {})", i.heads, i.layers) };
                println!("        attention: latent({heads}, {query_rank}, [{rope_dim}, {nope_dim}, {value_dim}], {i}),");
            }
        }
        if let Some(w) = m.window { let k = match w.kind { WindowKind::Sliding => "sliding", WindowKind::Chunked => "chunked" }; println!("        window: {k}({}, {}, {}, {}),", w.tokens, w.layers, w.kv_heads, w.head_dim); }
        if let Some(r) = m.recurrent { let k = match r.kind { RecurrentKind::GatedDelta => "delta", RecurrentKind::Mamba2 => "mamba" }; println!("        recurrent: {k}({}, [{}, {}, {}, {}], {}),", r.layers, r.heads, r.head_dim, r.key_heads, r.state, r.state_bytes); }
        if m.layers_without_mixer > 0 { println!("        layers_without_mixer: {},", m.layers_without_mixer); }
        if m.layers_without_mlp > 0 { println!("        layers_without_mlp: {},", m.layers_without_mlp); }
        println!("        mlp_hidden: {},", u(m.mlp_hidden));
        if !m.gated_mlp { println!("        gated_mlp: false,"); }
        if let Some(e) = m.experts {
            let base = format!("experts({}, {}, {})", e.count, e.per_token, u(e.hidden));
            let mut f = vec![];
            if e.shared > 0 { f.push(format!("shared: {}, shared_hidden: {}", e.shared, u(e.shared_hidden))); }
            if e.latent > 0 { f.push(format!("latent: {}", u(e.latent))); }
            if e.dense_layers > 0 { f.push(format!("dense_layers: {}", e.dense_layers)); }
            if f.is_empty() { println!("        experts: Some({base}),"); } else { println!("        experts: Some(Experts {{ {}, ..{base} }}),", f.join(", ")); }
        }
        if format!("{:?}", d.weights) != "Bf16" { println!("        checkpoint: Some(WeightFormat::{:?}),", d.weights); if m.unquantized > 0.0 { println!("        unquantized: {},", m.unquantized); } }
        println!("        vocabulary: {},", u(m.vocabulary));
        if m.tied_embeddings { println!("        tied_embeddings: true,"); }
        println!("        layer_extras: {},\n        extras: {},\n        context: {},\n        sources: \"{source}\",\n        ..DENSE\n    }},", u(m.layer_extras), u(m.extras), u(m.context));
        let p: f64 = published.parse().unwrap_or(0.0);
        eprintln!("{id} {:.4e} published {:.4e} {:+.3}", m.parameters(), p, m.parameters() / p - 1.0);
    }
}
