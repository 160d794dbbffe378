//! The glossary: `docs/glossary.json` has its rows; `docs/glossary.md` and the page's help are made of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::process::TaskResult;

/// Where the rows are.
const SOURCE: &str = "docs/glossary.json";

/// The document that is made of them.
pub(crate) const DOCUMENT: &str = "docs/glossary.md";

/// The systems whose names are listed, in the order of the columns.
const SYSTEMS: [&str; 4] = ["vLLM", "SGLang", "S-LoRA", "Vidur"];

/// One concept.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GlossaryRow {
    /// What to search the code for.
    term: String,
    /// Further words that a search finds.
    #[serde(default)]
    also: Vec<String>,
    en: Words,
    zh: Words,
    /// The file that implements it.
    file: String,
    /// The function, type or field in it that holds the rule.
    symbol: String,
    /// What other systems call it.
    names: BTreeMap<String, String>,
}

/// A concept in one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    word: String,
    text: String,
}

/// The rows of a project.
fn read(root: &Path) -> TaskResult<Vec<GlossaryRow>> {
    let text = fs::read_to_string(root.join(SOURCE)).map_err(|error| format!("{SOURCE}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{SOURCE}: {error}"))
}

/// The document and the page's source.
pub(crate) fn texts(root: &Path) -> TaskResult<(String, String)> {
    let rows = read(root)?;
    Ok((document(&rows), script(&rows)))
}

fn document(rows: &[GlossaryRow]) -> String {
    let mut text = String::from(
        "<!-- Written by `cargo xtask generate` from glossary.json; a change here is lost. -->\n\
         # Glossary\n\n\
         After reading a row you can find the code that implements a concept, and the same concept in the code of vLLM,\n\
         SGLang, S-LoRA and Vidur. A search for the term in `crate/` finds the file, too. An empty cell: that system has no\n\
         name for it. The page's help shows the same rows; [术语表](#术语表) has them in Chinese.\n\n\
         | word | what it is | search for | code |",
    );
    for system in SYSTEMS {
        let _ = write!(text, " {system} |");
    }
    text.push_str("\n|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let GlossaryRow { term, also, en, file, symbol, names, .. } = row;
        let terms: Vec<String> = [term].into_iter().chain(also).map(|word| format!("`{word}`")).collect();
        let terms = terms.join(", ");
        let place = file.trim_start_matches("crate/");
        let _ = write!(text, "| {} | {} | {terms} | [`{symbol}`](../{file}) in {place} |", en.word, en.text);
        for system in SYSTEMS {
            let name = names.get(system).map_or(String::new(), |name| format!(" `{name}`"));
            let _ = write!(text, "{name} |");
        }
        text.push('\n');
    }
    text.push_str("\n## 术语表\n\n| 术语 | 说明 | English |\n|---|---|---|\n");
    for GlossaryRow { en, zh, .. } in rows {
        let _ = writeln!(text, "| {} | {} | {} |", zh.word, zh.text, en.word);
    }
    text
}

fn script(rows: &[GlossaryRow]) -> String {
    let mut text = String::from(
        "// Written by `cargo xtask generate` from docs/glossary.json; a change here is lost.\n",
    );
    for (constant, words) in [("EN", (|row| &row.en) as fn(&GlossaryRow) -> &Words), ("ZH", |row| &row.zh)] {
        let _ = writeln!(
            text,
            "\n/** Words and what they are. */\nexport const {constant}: readonly (readonly [string, string])[] = ["
        );
        for Words { word, text: about } in rows.iter().map(words) {
            let _ = writeln!(text, "  [{}, {}],", quoted(word), quoted(about));
        }
        text.push_str("];\n");
    }
    text.push_str(
        "\n/** What other systems call them. */\nexport const NAMES: readonly (readonly string[])[] = [\n",
    );
    for row in rows {
        let names = SYSTEMS
            .iter()
            .filter_map(|&system| Some(quoted(&format!("{system}: {}", row.names.get(system)?))));
        let _ = writeln!(text, "  [{}],", names.collect::<Vec<_>>().join(", "));
    }
    text.push_str("];\n");
    text
}

/// Every JSON string is a string of TypeScript.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::project;

    fn rows() -> Vec<GlossaryRow> {
        read(&project::root()).unwrap()
    }

    #[test]
    fn the_document_is_made_of_the_rows() {
        let present = fs::read_to_string(project::root().join(DOCUMENT)).unwrap();
        assert!(present == document(&rows()), "`cargo xtask generate` writes {DOCUMENT} anew");
    }

    #[test]
    fn every_row_names_a_symbol_that_its_file_has() {
        for GlossaryRow { term, file, symbol, .. } in rows() {
            let source = fs::read_to_string(project::root().join(&file))
                .unwrap_or_else(|error| panic!("{term}: {file}: {error}"));
            assert!(defines(&source, &symbol), "{term}: {file} does not define `{symbol}`");
        }
    }

    /// Whether a line declares it: a function, a type, a field or a value of an enum.
    fn defines(source: &str, symbol: &str) -> bool {
        source.lines().any(|line| {
            let line = line.trim_start();
            let words = line
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub ");
            let name = ["fn ", "struct ", "enum ", "trait ", "mod ", "type "]
                .iter()
                .find_map(|keyword| words.strip_prefix(keyword))
                .unwrap_or(words);
            let rest = name.strip_prefix(symbol);
            rest.is_some_and(|rest| rest.starts_with(['(', ':', ',', ' ', '<', ';']) || rest.is_empty())
        })
    }

    #[test]
    fn a_search_for_the_term_finds_the_file() {
        for GlossaryRow { term, also, file, .. } in rows() {
            let source = fs::read_to_string(project::root().join(&file)).unwrap();
            for word in also.iter().chain([&term]) {
                let found = source.lines().any(|line| line.to_lowercase().contains(&word.to_lowercase()));
                assert!(found, "{file}: no line has \"{word}\"");
            }
        }
    }

    #[test]
    fn every_row_is_whole_and_there_once() {
        let rows = rows();
        for row in &rows {
            for text in [&row.term, &row.en.word, &row.en.text, &row.zh.word, &row.zh.text, &row.symbol] {
                assert!(!text.trim().is_empty() && !text.contains('|'), "{row:?}");
            }
            assert!(row.en.text.ends_with('.') && row.zh.text.ends_with('。'), "{row:?}");
            assert!(row.names.keys().all(|name| SYSTEMS.contains(&&**name)), "{row:?}");
        }
        let distinct = |word: fn(&GlossaryRow) -> &str| rows.iter().map(word).collect::<BTreeSet<_>>().len();
        let words: [fn(&GlossaryRow) -> &str; 3] = [|row| &row.term, |row| &row.en.word, |row| &row.zh.word];
        assert_eq!(words.map(distinct), [rows.len(); 3]);
        assert!(rows.len() > 30);
    }

    #[test]
    fn the_words_that_are_looked_for_first_are_there() {
        let rows = rows();
        for word in FIRST.split(", ") {
            assert!(
                rows.iter().any(|row| row.term == word || row.also.iter().any(|also| also == word)),
                "{word}"
            );
        }
    }

    const FIRST: &str = "\
        continuous batching, chunked prefill, waiting queue, running queue, KV cache manager, block, token \
        budget, max_num_seqs, max_num_batched_tokens, preempt, swap, recompute, prefix caching, LoRA slot, \
        admission control, rate limit, token bucket, virtual token counter, inter-token latency, ITL, TBT, \
        TPOT, TTFT, head-of-line blocking, scheduling policy, router, replica, tensor parallel, pipeline \
        parallel, goodput, SLO attainment, iteration, prefill, decode, fast-forward, discrete-event \
        simulation";

    #[test]
    fn names_of_fields_types_and_functions_are_found_and_mentions_are_not() {
        let source =
            "pub(crate) struct Proxy {\n    pub rate: f64,\n}\nfn fits<T>() {}\n// Meter\nuse a::Meter;\n";
        assert!(["Proxy", "rate", "fits"].iter().all(|symbol| defines(source, symbol)));
        assert!(["Meter", "fit", "Prox"].iter().all(|symbol| !defines(source, symbol)));
    }
}
