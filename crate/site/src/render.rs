//! Markdown as HTML: headings that can be linked to, links between pages, tables that scroll by themselves.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::chapters::{file_of, names};

/// A heading of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// The anchor.
    pub(crate) id: String,
    /// The text.
    pub(crate) text: String,
}

/// A page as HTML.
#[derive(Debug, Clone)]
pub(crate) struct Rendered {
    /// The text of its first heading.
    pub(crate) title: String,
    /// The headings of the second level.
    pub(crate) headings: Vec<Heading>,
    /// What is in it.
    pub(crate) body: String,
    /// Where its links lead that stay on the site: a file, and an anchor or "".
    pub(crate) links: Vec<(String, String)>,
    /// The paths from the root of the repository that it names by a link.
    pub(crate) sources: Vec<String>,
    /// Every anchor that it has.
    pub(crate) anchors: Vec<String>,
}

/// What a link of a file in `docs/` leads to.
enum LinkTarget {
    /// A page, and an anchor or "".
    Page(String, String),
    /// A file of the repository that is no page.
    Source(String),
    /// Another host.
    Outside,
}

fn target(address: &str, own: &str) -> LinkTarget {
    if address.contains("://") {
        return LinkTarget::Outside;
    }
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    if path.is_empty() {
        return LinkTarget::Page(file_of(own), anchor.to_owned());
    }
    match path.strip_suffix(".md").and_then(|name| names().find(|known| *known == name)) {
        Some(name) => LinkTarget::Page(file_of(name), anchor.to_owned()),
        None => {
            LinkTarget::Source(path.strip_prefix("../").map_or_else(|| format!("docs/{path}"), str::to_owned))
        }
    }
}

/// The anchor of a heading: its letters and digits in lower case, with a hyphen for each space.
fn anchor(text: &str) -> String {
    let kept = text.chars().filter_map(|c| match c {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The page of a Markdown file. `name` is its own.
pub(crate) fn render(name: &str, markdown: &str) -> Rendered {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut page = Rendered {
        title: String::new(),
        headings: Vec::new(),
        body: String::new(),
        links: Vec::new(),
        sources: Vec::new(),
        anchors: Vec::new(),
    };
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut heading: Option<(HeadingLevel, usize, String)> = None;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut is_source = false;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some((level, events.len(), String::new()));
                events.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, place, text)) = heading.take() {
                    let id = unique(&mut seen, anchor(&text));
                    events[place] = Event::Start(Tag::Heading {
                        level,
                        id: Some(CowStr::from(id.clone())),
                        classes: Vec::new(),
                        attrs: Vec::new(),
                    });
                    page.anchors.push(id.clone());
                    match level {
                        HeadingLevel::H1 => page.title = text,
                        HeadingLevel::H2 => page.headings.push(Heading { id, text }),
                        _ => {}
                    }
                }
                events.push(event);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => match target(&dest_url, name) {
                LinkTarget::Outside => {
                    events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
                LinkTarget::Page(file, anchor) => {
                    let mark = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
                    let dest_url = CowStr::from(format!("{file}{mark}"));
                    page.links.push((file, anchor));
                    events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
                // The sources are not beside the page: their path stands in its place.
                LinkTarget::Source(path) => {
                    is_source = true;
                    let shown = escaped(&path);
                    events
                        .push(Event::InlineHtml(format!("<span class=\"source\" title=\"{shown}\">").into()));
                    page.sources.push(path);
                }
            },
            Event::End(TagEnd::Link) if is_source => {
                is_source = false;
                events.push(Event::InlineHtml("</span>".into()));
            }
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html(
                    "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"table\">".into(),
                ));
                events.push(event);
            }
            Event::End(TagEnd::Table) => {
                events.push(event);
                events.push(Event::Html("</div>".into()));
            }
            Event::Text(ref text) | Event::Code(ref text) => {
                if let Some((_, _, reported)) = &mut heading {
                    reported.push_str(text);
                }
                events.push(event);
            }
            other => events.push(other),
        }
    }
    html::push_html(&mut page.body, events.into_iter());
    // Code is scrolled with the keyboard as well.
    page.body = page.body.replace("<pre>", "<pre tabindex=\"0\">");
    page
}

fn unique(seen: &mut BTreeMap<String, usize>, id: String) -> String {
    let count = seen.entry(id.clone()).or_default();
    *count += 1;
    if *count == 1 { id } else { format!("{id}-{}", *count - 1) }
}

/// A text within HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_and_sources_are_named() {
        let text = "# A title\n\n[a](what-if.md#sweep) [b](#a-title) [`c`](../crate/cost/src/lib.rs) [d](https://a.b/c)\n";
        let page = render("capacity", text);
        assert_eq!(page.title, "A title");
        let links = [("what-if.html", "sweep"), ("capacity.html", "a-title")];
        assert_eq!(page.links, links.map(|(file, anchor)| (file.to_owned(), anchor.to_owned())));
        assert_eq!(page.sources, ["crate/cost/src/lib.rs"]);
        assert!(page.body.contains("href=\"what-if.html#sweep\"") && page.body.contains("https://a.b/c"));
        assert!(page.body.contains("<code>c</code></span>") && !page.body.contains("lib.rs\">c</a>"));
    }

    #[test]
    fn headings_are_anchors() {
        let page = render("a", "# T\n\n## Where does it turn?\n\n## `a_b` and C\n\n## Where does it turn?\n");
        let ids: Vec<&str> = page.headings.iter().map(|heading| heading.id.as_str()).collect();
        assert_eq!(ids, ["where-does-it-turn", "a_b-and-c", "where-does-it-turn-1"]);
        assert!(page.body.contains("<h2 id=\"a_b-and-c\">"));
    }
}
