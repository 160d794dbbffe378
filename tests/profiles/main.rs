//! Compact profiles against the raw medians that Vidur's profiler took.
//!
//! The folder is the one that `SERVESCOPE_PROFILING` names, in the form of Vidur's data/profiling.
//! `static/profiles` is made from it by `servescope profile build FOLDER -o static/profiles`.

use std::path::{Path, PathBuf};

use servescope_cost::profile::{AttentionFormula, Profile, TimedOrigin};
use servescope_settings::profiles::{
    self, Fitted, Folder as _, OnDisk, UNSEEN_HEADS, formula_errors, law_attention,
};

fn folder() -> Option<PathBuf> {
    servescope_tests::named_folder("SERVESCOPE_PROFILING")
}

fn fitted() -> Vec<Fitted> {
    let Some(folder) = folder() else { return Vec::new() };
    profiles::build(&OnDisk(&folder)).unwrap_or_else(|e| panic!("{e}"))
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../static/profiles")
}

#[test]
fn shipped_profiles_are_those_of_the_raw_folder() {
    let all = fitted();
    for one in &all {
        let path = shipped().join(format!("{}.txt", one.name));
        let ours = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(one.profile.to_text() == ours, "{} is not what the raw folder gives", path.display());
    }
    servescope_tests::report_cases(&shipped(), all.len());
}

#[test]
fn shipped_profiles_are_read_as_they_were_written() {
    let is_profile = |name: &str| Path::new(name).extension().is_some() && !name.contains("kernels_");
    let files = servescope_tests::files(&shipped(), is_profile);
    assert!(files.len() >= 20, "{} profiles", files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let profile = Profile::read(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(profile.to_text() == text, "{}", path.display());
        assert!(text.len() < 40_000, "{}: {} bytes", path.display(), text.len());
        let name = profiles::file_name(&profile.gpu, &profile.model);
        assert_eq!(path.file_stem().and_then(|s| s.to_str()), Some(&name[..]));
        for degree in &profile.degrees {
            profile.tables(profile.settings(degree.degree, 1)).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

/// Median and 95th percentile that an operator may be off by. Times of small operators are some steps of the profiler's
/// timer (a microsecond), and those of small all-reduces scatter by a factor of several.
fn bound(operator: &str) -> (f64, f64) {
    match operator {
        "attn_pre_proj" | "attn_post_proj" | "mlp_up_proj" | "mlp_down_proj" => (0.012, 0.05),
        "attn_decode" | "attn_prefill" => (0.02, 0.08),
        "all_reduce" | "send_recv" | "send_recv_across" => (0.05, 0.5),
        _ => (0.05, 0.15),
    }
}

#[test]
fn profiles_are_near_the_raw_medians() {
    let all = fitted();
    for one in &all {
        for error in one.errors.iter().filter(|e| e.points > 0) {
            let (median, p95) = bound(error.name);
            assert!(error.median <= median && error.p95 <= p95, "{}: {error:?}", one.name);
        }
    }
    let errors = profiles::summed(all.into_iter().flat_map(|one| one.errors));
    println!("{}", profiles::summed_table(&errors));
}

#[test]
fn half_of_the_points_predicts_the_other_half() {
    let Some(folder) = folder() else { return };
    let errors = profiles::held_out(&OnDisk(&folder)).unwrap_or_else(|e| panic!("{e}"));
    let table = profiles::summed_table(&errors);
    println!("{table}");
    for error in &errors {
        let (median, p95) = held_out_bound(error.name);
        assert!(error.median[0] <= median && error.p95[0] <= p95, "{error:?}");
    }
    // The committed results are of the whole folder.
    if is_whole() {
        assert!(
            table == profiles::HELD_OUT.trim_end(),
            "crate/settings/src/profiles/held-out.txt is not what was measured"
        );
    }
    let all = profiles::raw_tables(&OnDisk(&folder)).unwrap_or_else(|e| panic!("{e}"));
    assert!(all.is_empty() || !errors.is_empty(), "nothing was predicted");
}

/// Whether the folder has what every shipped profile is fitted to.
fn is_whole() -> bool {
    let shipped = servescope_tests::files(&shipped(), |name| Path::new(name).extension().is_some());
    fitted().len() == shipped.len()
}

/// Likewise for points that a fit has not seen: between two of them may lie the edge of a stair.
fn held_out_bound(operator: &str) -> (f64, f64) {
    match operator {
        "attn_pre_proj" | "attn_post_proj" | "mlp_up_proj" | "mlp_down_proj" => (0.02, 0.1),
        "attn_decode" | "attn_prefill" => (0.035, 0.18),
        "all_reduce" | "send_recv" | "send_recv_across" => (0.05, 0.5),
        _ => (0.06, 0.15),
    }
}

#[test]
fn the_attention_law_is_that_of_the_measured_attention() {
    let all = fitted();
    let raw: Vec<_> = all.into_iter().map(|one| one.raw).collect();
    let sets = law_attention(&raw);
    if !sets.iter().any(|a| a.origin == TimedOrigin::Measured) {
        println!("no measured attention: skipped");
        return;
    }
    let formula = AttentionFormula::fit(&sets.iter().map(|a| a.measured()).collect::<Vec<_>>());
    let pairs = formula.decode.iter().zip(AttentionFormula::A100.decode);
    for (ours, theirs) in pairs.chain(formula.prefill.iter().zip(AttentionFormula::A100.prefill)) {
        assert!((ours / theirs - 1.0).abs() < 1e-3, "{formula:?}");
    }
    for set in sets {
        for (name, [median, p95]) in
            ["decode", "prompts"].into_iter().zip(formula_errors(&AttentionFormula::A100, set))
        {
            println!(
                "formula, {name} of {:?}: median {:.1} %, P95 {:.1} %",
                set.heads,
                100.0 * median,
                100.0 * p95
            );
            assert!(median < 0.15 && p95 < 0.6, "{name} of {:?}: {median}, {p95}", set.heads);
        }
    }
}

#[test]
fn the_recorded_errors_of_the_law_are_those_of_heads_held_out() {
    let Some(folder) = folder() else { return };
    let Some(found) = profiles::unseen_heads(&OnDisk(&folder)).unwrap_or_else(|e| panic!("{e}")) else {
        println!("fewer than two numbers of heads: skipped");
        return;
    };
    println!("{}", profiles::unseen_heads_table(&found));
    for (ours, recorded) in found.iter().zip(UNSEEN_HEADS).filter(|_| is_whole()) {
        let is_near = |a: f64, b: f64| (a - b).abs() < 0.0005;
        assert!(is_near(ours.best, recorded.best) && is_near(ours.worst, recorded.worst), "{ours:?}");
    }
}

#[test]
fn the_samples_of_an_attention_are_met() {
    let Some(folder) = folder() else { return };
    let disk = OnDisk(&folder);
    let Some(path) = disk.files().into_iter().find(|f| f.ends_with("attention_tp1_measured_samples.csv"))
    else {
        println!("no measured samples: skipped");
        return;
    };
    let text = disk.read(&path).expect("readable");
    let all = fitted();
    let profile = &all.iter().find(|f| f.name == "a100_Llama-2-7b-hf").expect("fitted").profile;
    let mut settings = profile.settings(1, 1);
    settings.layers = 1;
    let tables = profile.tables(settings).expect("a degree of 1");
    let mut errors = Vec::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        let (batch, chunk, kv) = (number(1) as u32, number(2) as u32, number(3) as u32);
        let us = tables.attention_us(batch, chunk, kv);
        errors.push((us / (number(4) * 1e3) - 1.0).abs());
    }
    errors.sort_by(f64::total_cmp);
    let (median, p95) = (errors[errors.len() / 2], errors[errors.len() * 95 / 100]);
    println!("{} measured samples: median {:.2} %, P95 {:.2} %", errors.len(), 100.0 * median, 100.0 * p95);
    assert!(median < 0.02 && p95 < 0.08, "{median}, {p95}");
}
