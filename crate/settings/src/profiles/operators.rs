//! The operators of a profile with the sizes of their inputs, as a table.

use std::fmt::Write as _;

use servescope_cost::profile::{AttentionProfile, By, NodeNetwork, OperatorLine, Profile};

/// The columns of [`operators_csv`].
const HEAD: &str = "operator,class,origin,tensor_parallel,tokens,bytes,requests,kv_tokens,time_us,network\n";

/// Sizes at which the times of attention without a table are given: requests or tokens of a chunk, and KV tokens.
const MODELLED: ([u32; 8], [u32; 7]) =
    ([1, 4, 16, 64, 256, 1024, 2048, 4096], [0, 64, 256, 1024, 4096, 16_384, 65_536]);

/// A row for each operator and size of its input at which the profile has a time; between them times lie on straight lines.
///
/// Columns: `operator` in Vidur's words, `class` ([`servescope_cost::OperatorClass`]), `origin` (measured, reconstructed,
/// synthetic, modelled), `tensor_parallel` (empty: of every degree), the size that its time depends on (`tokens` of the
/// iteration or of a prompt's chunk, `bytes` of a message, `requests`, `kv_tokens` of each request; the others are empty) and
/// `time_us`, of one layer, message or stage; `network` is another node than the profile's own that messages were timed in. Attention without a table is given by its formula, at powers of four.
pub fn operators_csv(profile: &Profile) -> String {
    let mut text = HEAD.to_owned();
    lines(&mut text, "", &profile.lines, "");
    for degree in &profile.degrees {
        let gpus = degree.degree.to_string();
        lines(&mut text, &gpus, &degree.lines, "");
        attention(&mut text, &gpus, &degree.attention);
    }
    for NodeNetwork { name, lines: sends, all_reduces, .. } in &profile.networks {
        lines(&mut text, "", sends, name);
        for (gpus, line) in all_reduces {
            lines(&mut text, &gpus.to_string(), std::slice::from_ref(line), name);
        }
    }
    text
}

fn lines(text: &mut String, gpus: &str, lines: &[OperatorLine], network: &str) {
    for OperatorLine { operator, origin, knots } in lines {
        let (name, class, origin) = (operator.name, operator.class.name(), origin.name());
        for (&size, &tenths) in knots.at.iter().zip(&knots.tenths) {
            let sizes = match operator.by {
                By::Tokens => format!("{size},,,"),
                By::Bytes => format!(",{size},,"),
                By::Requests => format!(",,{size},"),
            };
            let _ =
                writeln!(text, "{name},{class},{origin},{gpus},{sizes},{},{network}", tenths as f64 / 10.0);
        }
    }
}

fn attention(text: &mut String, gpus: &str, attention: &AttentionProfile) {
    let AttentionProfile { origin, decode_formula, prefill_formula, decode, prefill } = attention;
    let (sizes, kv_sizes) = (&MODELLED.0[..], &MODELLED.1[..]);
    let axes = |rows: &[u32], columns: &[u32]| (rows.to_vec(), columns.to_vec());
    let (rows, columns) =
        decode.as_ref().map_or_else(|| axes(&sizes[..5], kv_sizes), |grid| axes(&grid.rows, &grid.columns));
    for (i, &requests) in rows.iter().enumerate() {
        for (j, &kv) in columns.iter().enumerate() {
            let formula_us = || decode_formula.at(requests.into(), kv.into());
            let us = decode
                .as_ref()
                .map_or_else(formula_us, |grid| grid.cells[i * columns.len() + j] as f64 / 10.0);
            let _ = writeln!(
                text,
                "attn_decode,decode_attention,{},{gpus},,,{requests},{kv},{us},",
                origin.name()
            );
        }
    }
    let (rows, columns) =
        prefill.as_ref().map_or_else(|| axes(sizes, kv_sizes), |grid| axes(&grid.rows, &grid.columns));
    for (i, &chunk) in rows.iter().enumerate() {
        for (j, &kv) in columns.iter().enumerate() {
            let ratio = prefill.as_ref().map_or(1.0, |grid| grid.cells[i * columns.len() + j] as f64 / 1e3);
            let us = ratio * prefill_formula.at(kv.into(), chunk.into());
            let _ = writeln!(
                text,
                "attn_prefill,prefill_attention,{},{gpus},{chunk},,,{kv},{us},",
                origin.name()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::{shipped_profile, shipped_profiles};

    /// Every line and table of every shipped profile, a row a time.
    #[test]
    fn every_time_of_a_profile_has_a_row() {
        for (gpu, model) in shipped_profiles() {
            let profile = shipped_profile(gpu, model).expect("the terminal has it");
            let text = operators_csv(profile);
            let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
            assert!(rows.iter().all(|row| row.len() == 10), "{}", profile.model);
            let of_networks = profile
                .networks
                .iter()
                .flat_map(|n| n.lines.iter().chain(n.all_reduces.iter().map(|r| &r.1)));
            let of_degrees = profile.degrees.iter().flat_map(|degree| &degree.lines);
            let all = || profile.lines.iter().chain(of_degrees.clone()).chain(of_networks.clone());
            let knots: usize = all().map(|line| line.knots.at.len()).sum();
            let of_lines = rows[1..].iter().filter(|row| !row[0].starts_with("attn_decode"));
            assert_eq!(of_lines.filter(|row| row[0] != "attn_prefill").count(), knots);
            for row in &rows[1..] {
                assert!(row[8].parse::<f64>().is_ok_and(|us| us >= 0.0), "{row:?}");
                assert!(row[4..8].iter().any(|size| !size.is_empty()), "{row:?}");
            }
            for degree in &profile.degrees {
                let Some(grid) = &degree.attention.decode else { continue };
                let gpus = degree.degree.to_string();
                let cells = rows.iter().filter(|row| row[0] == "attn_decode" && row[3] == gpus);
                assert_eq!(cells.count(), grid.cells.len());
            }
        }
    }
}
