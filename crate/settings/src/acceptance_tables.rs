//! Acceptance lengths that were measured: tokens of a verification by the number of drafts.
//!
//! Of SemiAnalysis' InferenceX (Apache-2.0, commit 843c625, `golden_al_distribution`): SPEED-Bench's coding tasks, outputs of 4,096
//! tokens, vLLM on a B300.

/// Lengths with 1, 2, … drafts.
type Lengths = [f64; 8];

/// Each table with its name.
const TABLES: [(&str, Lengths); 10] = [
    ("qwen3.5_mtp_thinking", [1.93, 2.73, 3.39, 3.97, 4.41, 4.80, 5.04, 5.21]),
    ("qwen3.5_mtp", [1.92, 2.70, 3.33, 3.83, 4.20, 4.48, 4.73, 4.71]),
    ("deepseek_v4_mtp_thinking", [1.79, 2.27, 2.49, 2.54, 2.55, 2.55, 2.54, 2.58]),
    ("deepseek_v4_mtp", [1.92, 2.61, 2.97, 3.00, 3.10, 3.16, 3.00, 3.11]),
    ("deepseek_v4_dspark_thinking", [1.84, 2.51, 3.01, 3.36, 3.61, 3.77, 3.73, 3.47]),
    ("glm_5.2_mtp_thinking", [1.84, 2.50, 2.99, 3.33, 3.61, 3.78, 3.91, 4.06]),
    ("kimi_k2.5_eagle3_thinking", [1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77]),
    ("kimi_k2.5_eagle3", [1.80, 2.33, 2.75, 3.06, 3.25, 3.43, 3.46, 3.51]),
    ("minimax_m3_eagle3_thinking", [1.78, 2.38, 2.83, 3.11, 3.35, 3.45, 3.53, 3.74]),
    ("minimax_m3_eagle3", [1.84, 2.52, 2.93, 3.41, 3.59, 3.57, 3.85, 4.06]),
];

/// Their names.
pub(crate) const TABLE_NAMES: [&str; TABLES.len()] = {
    let mut names = [""; TABLES.len()];
    let mut i = 0;
    while i < TABLES.len() {
        names[i] = TABLES[i].0;
        i += 1;
    }
    names
};

/// The lengths of a table.
pub(crate) fn lengths_of(name: &str) -> Lengths {
    TABLES.iter().find(|table| table.0 == name).map_or(TABLES[0].1, |table| table.1)
}
