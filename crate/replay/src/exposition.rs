//! Prometheus' text exposition format (version 0.0.4): samples with their labels.

/// Most lines that are looked at.
pub const MAX_LINES: usize = 100_000;

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    /// Its name.
    pub name: String,
    /// Its labels, in order.
    pub labels: Vec<(String, String)>,
    /// Its value, a finite number.
    pub value: f64,
}

impl MetricSample {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| &**value)
    }
}

/// What a server exposes. Lines that are no samples with a finite value are passed over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Exposition {
    /// The samples, in order.
    pub samples: Vec<MetricSample>,
}

impl Exposition {
    /// Reads the text.
    pub fn read(text: &str) -> Self {
        Self { samples: text.lines().take(MAX_LINES).filter_map(sample).collect() }
    }

    /// The first sample of a name.
    pub fn first(&self, name: &str) -> Option<&MetricSample> {
        self.samples.iter().find(|sample| sample.name == name)
    }

    /// The sum of all samples of a name; `None` where there is none.
    pub fn sum(&self, name: &str) -> Option<f64> {
        self.values(name).reduce(|a, b| a + b).filter(|sum| sum.is_finite())
    }

    /// The largest sample of a name.
    pub fn largest(&self, name: &str) -> Option<f64> {
        self.values(name).reduce(f64::max)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        self.samples.iter().filter(move |sample| sample.name == name).map(|sample| sample.value)
    }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

fn sample(line: &str) -> Option<MetricSample> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(|c| !is_in_name(c)).filter(|&end| end > 0)?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => labels(inner)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(MetricSample { name: name.to_owned(), labels, value })
}

/// The labels from behind the opening brace on, and what follows the closing one.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let end = rest.find(|c| !is_in_name(c)).filter(|&end| end > 0)?;
        let (name, after) = rest.split_at(end);
        let after = after.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        let (value, after) = quoted(after)?;
        labels.push((name.to_owned(), value));
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
}

/// A value from behind its opening quotation mark on, and what follows the closing one.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((place, c)) = characters.next() {
        match c {
            '"' => return Some((value, &text[place + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use servescope_testkit::cases;

    use super::*;

    #[test]
    fn samples_are_read_with_their_labels() {
        let text = "# HELP a b\n# TYPE a gauge\na 3\nb{} 4 1395066363000\nvllm:c{ x=\"1\\\"\\n\\\\\", y = \"}\" ,} 1e-3\n\
                    d{x=\"1\" 2\ne NaN\nf +Inf\n{g} 1\nh{x=1} 2\na 4.5\n\n";
        let found = Exposition::read(text);
        let names: Vec<&str> = found.samples.iter().map(|sample| &*sample.name).collect();
        assert_eq!(names, ["a", "b", "vllm:c", "a"]);
        let third = &found.samples[2];
        assert_eq!(
            (third.label("x"), third.label("y"), third.label("z")),
            (Some("1\"\n\\"), Some("}"), None)
        );
        assert_eq!(
            (third.value, found.sum("a"), found.largest("a"), found.sum("z")),
            (1e-3, Some(7.5), Some(4.5), None)
        );
    }

    proptest! {
        #![proptest_config(cases(64, 2_000))]

        #[test]
        fn what_is_written_is_read(
            name in "[a-z][a-z:_0-9]{0,8}",
            labels in prop::collection::vec(("[a-z][a-z0-9_]{0,5}", "[ -~\n\u{e9}]{0,8}"), 0..4),
            value in -1e300f64..1e300,
        ) {
            let shown: Vec<String> = labels
                .iter()
                .map(|(name, value)| {
                    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                    format!("{name}=\"{value}\"")
                })
                .collect();
            let text = format!("{name}{{{}}} {value}", shown.join(","));
            prop_assert_eq!(Exposition::read(&text).samples, [MetricSample { name, labels, value }]);
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,80}") {
            prop_assert!(Exposition::read(&text).samples.iter().all(|sample| sample.value.is_finite()));
        }
    }
}
