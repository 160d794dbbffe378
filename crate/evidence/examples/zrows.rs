use servescope_cost::kernels::Kernels;
use servescope_evidence::silicon::{Constants, predict_with, read};
use std::collections::BTreeMap;
use std::sync::OnceLock;
static T: OnceLock<BTreeMap<String, Kernels>> = OnceLock::new();
fn table(gpu: &str) -> Option<&'static Kernels> {
    T.get().and_then(|t| t.get(gpu))
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let rows = read(&std::fs::read_to_string(&a[1]).unwrap()).unwrap();
    for r in rows.iter().filter(|r| r.is_clean() && r.mode == "agg" && r.backend == a[2]) {
        let mut c = Constants::of(r.engine());
        if let Some(f) = a.get(3) {
            T.get_or_init(|| {
                std::fs::read_dir(f)
                    .unwrap()
                    .filter_map(|e| {
                        let p = e.unwrap().path();
                        p.file_name().unwrap().to_string_lossy().starts_with("kernels_").then(|| {
                            let k = Kernels::read(&std::fs::read_to_string(&p).unwrap()).unwrap();
                            (k.gpu.clone(), k)
                        })
                    })
                    .collect()
            });
            c.kernels = table;
        }
        match predict_with(r, &c) {
            Ok(p) => println!(
                "{} {} {} {} tp{} dp{} isl{} osl{} c{} {:?} {:.1} {:.1} {:.2} {:.2} {:.3} {:.3} {}",
                r.model.rsplit('/').next().unwrap(),
                r.system,
                r.gemm_format,
                r.origin,
                r.tensor_parallel,
                r.attention_data_parallel,
                r.input_tokens,
                r.output_tokens,
                r.in_flight.unwrap_or(0),
                p.times,
                r.ttft_ms,
                p.ttft_ms,
                r.tpot_ms,
                p.tpot_ms,
                p.ttft_ms / r.ttft_ms,
                p.tpot_ms / r.tpot_ms,
                u8::from(r.is_left_out())
            ),
            Err(e) => println!("{} {} {} {} ERR {e}", r.model, r.system, r.gemm_format, r.origin),
        }
    }
}
