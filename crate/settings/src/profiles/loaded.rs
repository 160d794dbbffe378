//! A profile that is loaded: fitted to files of measurements, or read as a text that was fitted before.
//!
//! The files are those of Vidur's profiler; which one a file is shows in its columns. `mlp.csv` must be there. Without
//! `attention.csv` attention is modelled; without `all_reduce.csv` its times are modelled from `send_recv.csv`; without
//! either, only what runs on one GPU is left.

use servescope_cost::profile::{OperatorError, Profile, ProfileError, RawTables, TimedOrigin};

use crate::diagnostic::{Diagnostic, Reason};

/// A profile that stands for the shipped ones.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedProfile {
    /// Name of the file.
    pub name: String,
    /// The profile.
    pub profile: Profile,
    /// How far it is from the measurements; empty where only the fitted profile was read.
    pub errors: Vec<OperatorError>,
}

/// A file's name and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedText<'a> {
    /// Name.
    pub name: &'a str,
    /// Text.
    pub text: &'a str,
}

/// What the files of measurements do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasurementSettings<'a> {
    /// The GPU's name.
    pub gpu: &'a str,
    /// The model's name, by which the rows of `cpu_overheads.csv` are found.
    pub model: &'a str,
    /// The model's layers.
    pub layers: u32,
}

/// Most layers of a model, and its largest dimension.
const MOST_LAYERS: u32 = 100_000;
const MOST_SIZE: u32 = 1 << 20;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Profile,
    Mlp,
    Attention,
    AllReduce,
    SendRecv,
    Host,
}

/// The column that only this file has.
const COLUMNS: [(&str, Content); 5] = [
    ("time_stats.attn_decode.median", Content::Attention),
    ("time_stats.all_reduce.median", Content::AllReduce),
    ("time_stats.send_recv.median", Content::SendRecv),
    ("sampler_e2e_median", Content::Host),
    ("time_stats.mlp_up_proj.median", Content::Mlp),
];

/// The column by which the header of a table is one of Vidur's profiler.
pub(crate) fn operator_table_column(header: &str) -> Option<&'static str> {
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    COLUMNS.iter().map(|(column, _)| *column).find(|column| columns.contains(column))
}

impl Content {
    fn of(file: NamedText<'_>) -> Result<Self, Diagnostic> {
        let NamedText { name, text } = file;
        if text.starts_with("servescope-profile ") {
            return Ok(Self::Profile);
        }
        let header = header(text);
        if header.trim().is_empty() {
            return Err(Diagnostic::error("empty_file", name, format!("{name}: empty")).text("file", name));
        }
        let columns: Vec<&str> = header.split(',').map(str::trim).collect();
        let found = COLUMNS.iter().find(|(column, _)| columns.contains(column));
        found.map(|(_, content)| *content).ok_or_else(|| {
            let known =
                "mlp.csv, attention.csv, all_reduce.csv, send_recv.csv, cpu_overheads.csv, a fitted profile";
            let found: String = header.chars().take(200).collect();
            let message =
                format!("{name}: the columns {found} are those of no known file; known are {known}");
            Diagnostic::error("unknown_format", name, message)
                .text("file", name)
                .text("found", &found)
                .text("known", known)
        })
    }
}

fn header(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default()
}

/// An error of a file, by the name that it has here.
fn of_file(file: NamedText<'_>, error: &ProfileError) -> Diagnostic {
    let name = file.name;
    match error {
        ProfileError::Empty { .. } => {
            Diagnostic::error("no_rows", name, format!("{name}: there is no row")).text("file", name)
        }
        ProfileError::NoColumn { column, .. } => {
            let known: String = header(file.text).chars().take(1000).collect();
            let message = format!("{name}: there is no column {column}; there are {known}");
            Diagnostic::error("no_column", name, message)
                .text("file", name)
                .text("column", column)
                .text("known", &known)
        }
        ProfileError::BadCell { row, column, value, expected, .. } => {
            let message = format!("{name}: row {row}, column {column}: {expected} expected, got {value:?}");
            Diagnostic::error("bad_cell", name, message)
                .text("file", name)
                .number("row", *row as f64)
                .text("column", column)
                .text("expected", expected)
                .text("value", value)
        }
        ProfileError::NotAGrid { row, expected, .. } => {
            Diagnostic::error("bad_row", name, format!("{name}: row {row}: {expected} expected"))
                .text("file", name)
                .number("row", *row as f64)
                .text("expected", expected)
        }
        ProfileError::BadSetting { .. } => bad(name, &error.to_string()),
    }
}

fn bad(name: &str, reason: &str) -> Diagnostic {
    Diagnostic::error("bad_profile", name, format!("{name}: {reason}"))
        .text("file", name)
        .text("reason", reason)
}

impl LoadedProfile {
    /// Reads the text of a fitted profile.
    ///
    /// # Errors
    /// [`Diagnostic`] with row and what was read there.
    pub fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let profile = Profile::read(text).map_err(|error| of_file(NamedText { name, text }, &error))?;
        Self::checked(name, profile, Vec::new())
    }

    /// Reads what was chosen: one fitted profile, or files of measurements to fit one to. Returns it with what
    /// should be known about them.
    ///
    /// # Errors
    /// A [`Diagnostic`] for each bad file.
    pub fn of_files(
        files: &[NamedText<'_>],
        of: &MeasurementSettings<'_>,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (mut contents, mut problems) = (Vec::new(), Vec::new());
        for &file in files {
            match Content::of(file) {
                Ok(content) => contents.push((content, file)),
                Err(error) => problems.push(error),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if let [(Content::Profile, file)] = contents.as_slice() {
            return Ok((Self::read(file.name, file.text).map_err(|error| vec![error])?, Vec::new()));
        }
        let Some(&(_, mlp)) = contents.iter().find(|(content, _)| *content == Content::Mlp) else {
            let name = files.first().map_or("mlp.csv", |file| file.name);
            return Err(vec![
                bad(name, "mlp.csv is missing, which holds the operators of the layers")
                    .because(Reason::new("profile_no_mlp")),
            ]);
        };
        for (place, (content, file)) in contents.iter().enumerate() {
            let before = contents[..place].iter().find(|(other, _)| other == content);
            if *content == Content::Profile {
                let alone = Reason::new("profile_alone");
                problems.push(bad(file.name, "a fitted profile stands alone").because(alone));
            } else if let Some((_, other)) = before.filter(|_| *content != Content::Attention) {
                let twice = Reason::new("profile_twice").text("other", other.name);
                let problem = bad(file.name, &format!("{} holds the same already", other.name));
                problems.push(problem.because(twice));
            }
        }
        if !(1..=MOST_LAYERS).contains(&of.layers) {
            let (value, most) = (f64::from(of.layers), f64::from(MOST_LAYERS));
            problems.push(Diagnostic::out_of_range("layers", value, 1.0, most));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let raw = RawTables::read(of.gpu, of.model, of.layers, mlp.text);
        let raw = raw.map_err(|error| vec![of_file(mlp, &error)])?;
        Self::fit(raw, &contents, mlp)
    }

    fn fit(
        mut raw: RawTables,
        contents: &[(Content, NamedText<'_>)],
        mlp: NamedText<'_>,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (mut notes, mut problems) = (Vec::new(), Vec::new());
        for &(content, file) in contents {
            let warning = |code, reason: &str| {
                let message = format!("{}: {reason}: not used", file.name);
                Diagnostic::warning(code, file.name, message)
                    .text("file", file.name)
                    .text("model", &raw.model)
            };
            let (unlike, absent) = (
                warning("unused_attention", "no degree leaves as many heads on each GPU"),
                warning("unused_host", &format!("no row of {}", raw.model)),
            );
            let read = match content {
                Content::Attention => raw.add_attention(file.text, TimedOrigin::Measured).map(|used| {
                    notes.extend((used == 0).then_some(unlike));
                }),
                Content::AllReduce => raw.add_all_reduce(file.text),
                Content::SendRecv => raw.add_send_recv(file.text),
                Content::Host => raw.add_host(file.text).map(|rows| {
                    notes.extend((rows == 0).then_some(absent));
                }),
                Content::Profile | Content::Mlp => Ok(()),
            };
            problems.extend(read.err().map(|error| of_file(file, &error)));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let all: Vec<u32> = raw.degrees.iter().map(|d| d.degree).collect();
        let has_sends = !raw.lines.is_empty();
        raw.degrees.retain(|d| {
            d.degree == 1 || has_sends || d.lines.iter().any(|line| line.operator.name == "all_reduce")
        });
        let left: Vec<u32> =
            all.into_iter().filter(|&d| raw.degrees.iter().all(|kept| kept.degree != d)).collect();
        if !left.is_empty() {
            let list = left.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let message = format!(
                "{}: fleet.tensor_parallel {list} left out: neither all_reduce.csv nor send_recv.csv says what it takes",
                mlp.name
            );
            notes.push(
                Diagnostic::warning("degrees_left_out", mlp.name, message)
                    .text("file", mlp.name)
                    .text("degrees", &list),
            );
        }
        if raw.degrees.is_empty() {
            return Err(notes.into_iter().map(Diagnostic::into_error).collect());
        }
        let (profile, errors) = Profile::fit(&raw).map_err(|error| vec![of_file(mlp, &error)])?;
        // What is run is what a terminal reads of the text, to the last bit.
        let profile = Profile::read(&profile.to_text()).map_err(|error| vec![of_file(mlp, &error)])?;
        let name = format!("{}.txt", super::file_name(&raw.gpu, &raw.model));
        let loaded = Self::checked(&name, profile, errors).map_err(|error| vec![error])?;
        Ok((loaded, notes))
    }

    /// Rejects dimensions that no model has: memory and rooflines follow from them.
    fn checked(name: &str, profile: Profile, errors: Vec<OperatorError>) -> Result<Self, Diagnostic> {
        let s = &profile.shape;
        for (key, value, most) in [
            ("layers", s.layers, MOST_LAYERS),
            ("hidden", s.hidden, MOST_SIZE),
            ("mlp_hidden", s.mlp_hidden, MOST_SIZE),
            ("query_heads", s.query_heads, s.hidden),
            ("kv_heads", s.kv_heads, s.query_heads),
        ] {
            if !(1..=most).contains(&value) {
                let reason = Reason::new("profile_bounds").text("key", key);
                let reason = reason.number("value", f64::from(value)).number("max", f64::from(most));
                let problem = bad(name, &format!("{key}: {value} is not between 1 and {most}"));
                return Err(problem.because(reason));
            }
        }
        Ok(Self { name: name.to_owned(), profile, errors })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILES: &str = include_str!("../../../../tests/fuzz/corpus/profile/files");
    const SHIPPED: &str = include_str!("../../../../static/profiles/a100_Llama-2-7b-hf.txt");
    const NAMES: [&str; 5] = ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"];
    const OF: MeasurementSettings<'_> = MeasurementSettings { gpu: "g", model: "a/b", layers: 80 };

    fn files() -> Vec<NamedText<'static>> {
        let texts = FILES.split("---\n").take(5);
        NAMES.into_iter().zip(texts).map(|(name, text)| NamedText { name, text }).collect()
    }

    #[test]
    fn files_are_known_by_their_columns_and_what_they_lack_is_told() {
        let mut all = files();
        all.reverse();
        let (loaded, notes) = LoadedProfile::of_files(&all, &OF).unwrap();
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(loaded.name, "g_b.txt");
        let refusal = |name: &str, degree: u32| {
            loaded.errors.iter().find(|e| (e.name, e.degree) == (name, degree)).unwrap().origin
        };
        assert_eq!(refusal("mlp_up_proj", 1), TimedOrigin::Measured);
        assert_eq!(refusal("attn_decode", 1), TimedOrigin::Modelled);
        assert_eq!(refusal("attn_decode", 2), TimedOrigin::Measured);
        let again = LoadedProfile::read("again.txt", &loaded.profile.to_text()).unwrap();
        assert_eq!(again.profile, loaded.profile);
        let (alone, notes) = LoadedProfile::of_files(&files()[..1], &OF).unwrap();
        assert_eq!(alone.profile.degrees.len(), 1);
        assert_eq!((notes[0].code, notes.len()), ("degrees_left_out", 1));
        let (_, notes) =
            LoadedProfile::of_files(&files(), &MeasurementSettings { model: "x", ..OF }).unwrap();
        assert_eq!((notes[0].code, notes.len()), ("unused_host", 1));
    }

    #[test]
    fn bad_files_are_told_by_the_name_they_have_here() {
        let refused = |files: &[NamedText<'_>]| LoadedProfile::of_files(files, &OF).unwrap_err();
        let mlp = files()[0];
        let broken = mlp.text.replacen(",64,8,8192", ",64,8,fish", 1);
        let refusal = refused(&[NamedText { name: "mine.csv", text: &broken }]);
        assert_eq!(refusal[0].code, "bad_cell");
        assert!(refusal[0].message.starts_with("mine.csv: row 2, column n_embd: "), "{}", refusal[0].message);
        let header = mlp.text.lines().next().unwrap();
        assert_eq!(refused(&[NamedText { name: "m", text: header }])[0].code, "no_rows");
        let without = mlp.text.replacen("num_tokens", "tokens", 1);
        assert_eq!(refused(&[NamedText { name: "m", text: &without }])[0].code, "no_column");
        let strange = NamedText { name: "fish.csv", text: "a,b\n1,2\n" };
        assert_eq!(refused(&[strange])[0].code, "unknown_format");
        assert_eq!(refused(&[mlp, mlp])[0].code, "bad_profile");
        assert!(refused(&files()[1..2])[0].message.contains("mlp.csv is missing"));
        assert_eq!(refused(&[])[0].code, "bad_profile");
        let shapeless = SHIPPED.replacen("query_heads 32", "query_heads 8192", 1);
        let refusal = LoadedProfile::read("p", &shapeless).unwrap_err();
        assert!(
            refusal.message.contains("query_heads: 8192 is not between 1 and 4096"),
            "{}",
            refusal.message
        );
    }

    proptest! {
        #![proptest_config(servescope_testkit::cases(16, 64))]
        #[test]
        fn no_text_makes_it_panic(at in 0..FILES.len(), put in "\\PC{0,6}", which in 0..5usize) {
            let mut all = files();
            let text = all[which].text;
            let at = text.floor_char_boundary(at % text.len());
            let changed = format!("{}{put}{}", &text[..at], &text[text.ceil_char_boundary(at + 1)..]);
            all[which].text = &changed;
            match LoadedProfile::of_files(&all, &OF) {
                Ok((loaded, _)) => prop_assert!(LoadedProfile::read("p", &loaded.profile.to_text()).is_ok()),
                Err(problems) => prop_assert!(!problems.is_empty()),
            }
        }
    }
}
