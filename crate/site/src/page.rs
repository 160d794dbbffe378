//! The pages as files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::chapters::{CHAPTERS, INDEX, PARAMETERS, file_of, names};
use crate::parameters;
use crate::render::{Rendered, escaped, render};

/// Nothing comes from another host, and no script but the one that reads the chosen theme.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("docs.css");

/// Every page with its name, in the order of the navigation.
fn all(root: &Path) -> Result<Vec<(&'static str, Rendered)>, String> {
    let one = |name: &'static str| {
        if name == PARAMETERS {
            return Ok((name, render(name, &parameters::markdown())));
        }
        let file = root.join("docs").join(format!("{name}.md"));
        let text = fs::read_to_string(&file).map_err(|error| format!("docs/{name}.md: {error}"))?;
        Ok((name, render(name, &text)))
    };
    names().map(one).collect()
}

/// Writes every page, and their style.
pub(crate) fn write_all(root: &Path, out: &Path) -> Result<(), String> {
    let pages = all(root)?;
    let failed = |error: std::io::Error| format!("{}: {error}", out.display());
    if out.exists() {
        fs::remove_dir_all(out).map_err(failed)?;
    }
    fs::create_dir_all(out).map_err(failed)?;
    fs::write(out.join("docs.css"), STYLE).map_err(failed)?;
    for (name, page) in &pages {
        fs::write(out.join(file_of(name)), html(name, page, &pages)).map_err(failed)?;
    }
    Ok(())
}

fn html(name: &str, page: &Rendered, pages: &[(&'static str, Rendered)]) -> String {
    let title = escaped(&page.title);
    let place = pages.iter().position(|(other, _)| *other == name).unwrap_or(0);
    let beside = |place: Option<usize>, class: &str, word: &str| {
        let (name, page) = pages.get(place?)?;
        Some(format!("<a class=\"{class}\" href=\"{}\">{word}: {}</a>", file_of(name), escaped(&page.title)))
    };
    let former = beside(place.checked_sub(1), "former", "Before").unwrap_or_default();
    let next = beside(Some(place + 1), "next", "Next").unwrap_or_default();
    let contents = contents(page);
    let navigation = navigation(name, pages);
    // The mark of the build stands in every page of ours, so that a page of a network's sign-in is distinguished from them.
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="servescope-build" content="docs">
<title>{title} – Servescope</title>
<script src="../theme.js"></script>
<link rel="icon" type="image/svg+xml" href="../icons/servescope.svg">
<link rel="stylesheet" href="docs.css">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header><a class="home" href="../">Servescope</a> <a href="index.html">Documentation</a></header>
<div class="columns">
<nav aria-label="Pages">
<details class="narrow"><summary>Pages</summary>
{navigation}</details>
<div class="wide-only">
{navigation}</div>
</nav>
<main id="content">
{contents}{body}<p class="beside">{former}{next}</p>
</main>
</div>
</body>
</html>
"##,
        body = page.body,
    )
}

fn navigation(own: &str, pages: &[(&'static str, Rendered)]) -> String {
    let link = |name: &str| {
        let title =
            pages.iter().find(|(other, _)| *other == name).map_or("", |(_, page)| page.title.as_str());
        let current = if name == own { " aria-current=\"page\"" } else { "" };
        format!("<li><a href=\"{}\"{current}>{}</a></li>\n", file_of(name), escaped(title))
    };
    let mut text = format!("<ul>\n{}</ul>\n", link(INDEX));
    for chapter in CHAPTERS {
        let links: String = chapter.pages.iter().map(|name| link(name)).collect();
        let _ = write!(text, "<h2>{}</h2>\n<ul>\n{links}</ul>\n", chapter.title);
    }
    text
}

/// The headings of a long page.
fn contents(page: &Rendered) -> String {
    if page.headings.len() < 3 {
        return String::new();
    }
    let line = |heading: &crate::render::Heading| {
        format!("<li><a href=\"#{}\">{}</a></li>\n", heading.id, escaped(&heading.text))
    };
    let lines: String = page.headings.iter().map(line).collect();
    format!("<details class=\"contents\"><summary>On this page</summary>\n<ul>\n{lines}</ul>\n</details>\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn every_link_and_anchor_is_there() {
        let pages = all(&root()).unwrap();
        let anchors: BTreeMap<String, &Vec<String>> =
            pages.iter().map(|(name, page)| (file_of(name), &page.anchors)).collect();
        let mut checked = 0;
        for (name, page) in &pages {
            for (file, anchor) in &page.links {
                let of_file = anchors.get(file).unwrap_or_else(|| panic!("{name}: there is no {file}"));
                assert!(anchor.is_empty() || of_file.contains(anchor), "{name}: there is no {file}#{anchor}");
                checked += 1;
            }
            for source in &page.sources {
                assert!(root().join(source).exists(), "{name}: there is no {source}");
                checked += 1;
            }
        }
        assert!(checked > 60, "{checked}");
    }

    #[test]
    fn each_page_begins_with_what_a_reader_can_do_after_it() {
        for (name, page) in all(&root()).unwrap() {
            let after = page.body.split_once("</h1>").map_or("", |(_, rest)| rest).trim_start();
            assert!(after.starts_with("<p>After reading "), "{name}: {}", &after[..60]);
            assert!(!page.title.is_empty() && page.body.matches("<h1").count() == 1, "{name}");
        }
    }

    #[test]
    fn a_page_leads_to_its_neighbours_and_to_every_other() {
        let pages = all(&root()).unwrap();
        let (name, page) = &pages[3];
        let text = html(name, page, &pages);
        for other in names() {
            assert!(text.contains(&format!("href=\"{}\"", file_of(other))), "{other}");
        }
        assert_eq!(text.matches("aria-current=\"page\"").count(), 2);
        assert!(text.contains("class=\"former\"") && text.contains("class=\"next\""));
        assert!(text.contains(POLICY) && !text.contains("style=") && text.matches("<script").count() == 1);
    }
}
