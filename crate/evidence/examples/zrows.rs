use servescope_evidence::silicon::{predict, read};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let rows = read(&std::fs::read_to_string(&a[1]).unwrap()).unwrap();
    for r in rows.iter().filter(|r| r.is_clean() && r.mode == "agg" && r.backend == a[2]) {
        match predict(r) {
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
