//! Which pages there are, in which order.

/// A part of the navigation.
pub(crate) struct Chapter {
    /// Its heading.
    pub(crate) title: &'static str,
    /// The names of its pages: a file of `docs/` without its ending, or [`PARAMETERS`].
    pub(crate) pages: &'static [&'static str],
}

/// The page that is made of the parameter table.
pub(crate) const PARAMETERS: &str = "parameters";

/// The file of `docs/` that is the first page.
pub(crate) const INDEX: &str = "README";

/// Every page but the first.
pub(crate) const CHAPTERS: &[Chapter] = &[
    Chapter { title: "Start", pages: &["tutorial", "lessons", "features", "model", "limits", "glossary"] },
    Chapter {
        title: "Set up a service",
        pages: &[
            PARAMETERS,
            "orders",
            "sglang",
            "tensorrt-llm",
            "gateway",
            "adapters",
            "fleets",
            "disaggregation",
            "autoscaling",
            "ranks",
            "routers",
            "kv-tiers",
            "streaming-input",
            "speculation",
            "what-combines",
            "roofline",
            "own-model",
        ],
    },
    Chapter {
        title: "Traffic",
        pages: &["bring-your-own", "file-formats", "fit-and-twin", "which-user-distribution", "prompts"],
    },
    Chapter { title: "Answers", pages: &["capacity", "what-if", "monitor", "debugger"] },
    Chapter {
        title: "Can it be trusted?",
        pages: &["validation", "measured", "measured-hardware", "memory", "operator-profiles", "citing"],
    },
    Chapter { title: "Tools", pages: &["terminal", "replay", "python", "checks"] },
];

/// The names of all pages, the first one first.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(INDEX).chain(CHAPTERS.iter().flat_map(|chapter| chapter.pages.iter().copied()))
}

/// The file of a page.
pub(crate) fn file_of(name: &str) -> String {
    if name == INDEX { "index.html".to_owned() } else { format!("{name}.html") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_documentation_is_a_page_once() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let files: BTreeSet<String> =
            files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let pages: Vec<&str> = names().filter(|name| *name != PARAMETERS).collect();
        assert_eq!(pages.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), files);
        assert_eq!(pages.len(), files.len(), "a page stands in two chapters");
    }
}
