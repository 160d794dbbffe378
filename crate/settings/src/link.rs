//! The address of the page and the command of the terminal: two ways to write a scenario down.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::parameters::{Id, Value};
use crate::scenario::Scenario;
use crate::scenario::former_defaults::{OLDEST_VERSION, VERSION};

/// Keys of the address that belong to the page alone.
const PAGE_KEYS: [&str; 13] = [
    "pin", "metrics", "sweep", "turn", "step", "file", "lang", "zoom", "by", "preset", "tab", "pipe", "embed",
];

/// Writes a scenario as the part of the address behind `#`: only what differs from the defaults.
pub fn encode(scenario: &Scenario) -> String {
    let mut text = format!("v={VERSION}");
    for (id, value) in scenario.changed() {
        text.push('&');
        text.push_str(id.row().key);
        text.push('=');
        match value {
            Value::Text(own) => encode_text(&mut text, own),
            other => text.push_str(&other.to_text()),
        }
    }
    text
}

/// Percent encoding of whatever is neither a letter nor a digit.
fn encode_text(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
            );
        }
    }
}

/// What an address says of a run: its part behind `#`.
fn fragment(link: &str) -> &str {
    match link.split_once('#') {
        Some((_, fragment)) => fragment,
        // The page's address before anything was changed has no such part.
        None if link.contains("://") => "",
        None => link,
    }
}

/// The step at which an address opens the scheduler debugger; none where it does not open it.
///
/// ```
/// use servescope_settings::link::step;
/// assert_eq!(step("https://x.test/#v=5&R=2&step=17"), Some(17));
/// assert_eq!(step("#v=5&step=x"), None);
/// ```
pub fn step(link: &str) -> Option<usize> {
    let text = fragment(link).split('&').find_map(|pair| pair.strip_prefix("step="))?;
    // As the page reads it.
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// The preset to which an address adds its settings. The page knows its presets; what it writes itself has a version and every
/// setting, and names the preset that was changed.
///
/// ```
/// use servescope_settings::link::preset;
/// assert_eq!(preset("#preset=mm1&R=2"), Some("mm1"));
/// assert_eq!(preset("https://x.test/#v=5&R=2&preset=mm1"), None);
/// ```
pub fn preset(link: &str) -> Option<&str> {
    let pairs = || fragment(link).split('&');
    let name = pairs().find_map(|pair| pair.strip_prefix("preset="))?;
    pairs().all(|pair| !pair.starts_with("v=")).then_some(name)
}

/// Reads an address: a whole one, the part from `#` on, or what [`encode`] writes. Bad values are reported; a number out of
/// bounds is moved to the nearest usual value, anything else bad keeps its default, and of a key that is there twice the first
/// counts. An address of an older version means what it meant then; one without a version is read as the present one.
pub fn parse(link: &str) -> (Scenario, Vec<Diagnostic>) {
    let fragment = fragment(link);
    let mut scenario = Scenario::default();
    let mut problems = Vec::new();
    let mut version = VERSION;
    let mut given = BTreeSet::new();
    for pair in fragment.split('&').filter(|pair| !pair.is_empty()) {
        let Some((key, text)) = pair.split_once('=') else {
            problems.push(bad(pair, "it has no value"));
            continue;
        };
        let text = decode(text);
        if key == "v" {
            match text.parse() {
                Ok(known) if (OLDEST_VERSION..=VERSION).contains(&known) => version = known,
                _ => problems.push(bad(pair, "it is from another version of this page")),
            }
            continue;
        }
        if PAGE_KEYS.contains(&key) {
            continue;
        }
        let Some(id) = Id::from_key(key) else {
            problems.push(bad(pair, "there is no such key"));
            continue;
        };
        if !given.insert(id as u16) {
            problems.push(bad(pair, "its key is there twice"));
            continue;
        }
        match id.row().parse(&text) {
            Ok(value) => set(&mut scenario, id, value),
            Err(problem) => {
                if let Some(value) = id.row().clamp(&text) {
                    set(&mut scenario, id, value);
                }
                problems.push(problem);
            }
        }
    }
    scenario.keep_defaults_of(version);
    (scenario, problems)
}

fn set(scenario: &mut Scenario, id: Id, value: Value) {
    scenario.set(id, value).expect("a parsed or clamped value is within bounds");
}

fn bad(pair: &str, why: &str) -> Diagnostic {
    let shown: String = pair.chars().take(40).collect();
    Diagnostic::error("bad_link", "", format!("the link's part {shown:?} is ignored: {why}"))
        .text("part", &shown)
        .text("why", why)
}

/// Undoes percent encoding; what is not well-formed stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        if let Some(byte) = byte {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The terminal's command for the same run. `trace_file` is the name of a loaded file, or "".
pub fn command(scenario: &Scenario, trace_file: &str) -> String {
    command_of("simulate", scenario, trace_file)
}

/// The terminal's command that does a verb to this scenario.
pub fn command_of(verb: &str, scenario: &Scenario, trace_file: &str) -> String {
    let mut words = vec![format!("servescope {verb}")];
    words.extend(scenario.changed().map(|(id, value)| match value {
        Value::Text(text) => format!("--set {}={}", id.row().id, quoted(text)),
        other => format!("--set {}={}", id.row().id, other.to_text()),
    }));
    if !trace_file.is_empty() {
        words.push(format!("--trace {}", quoted(trace_file)));
    }
    words.join(" ")
}

/// A word as a shell takes it, in quotes where it must be.
pub fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    if plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Kind;
    use proptest::prelude::*;

    #[test]
    fn bad_parts_are_told_and_the_rest_is_kept() {
        let (scenario, problems) = parse("https://x.test/a/#v=5&R=3&cv=-4&zz=1&n&pop=zipf&in=gauss&lang=zh");
        let codes: Vec<&str> = problems.iter().map(|p| p.code).collect();
        assert_eq!(codes, ["out_of_range", "bad_link", "bad_link", "unknown_option"]);
        assert_eq!(encode(&scenario), "v=5&R=3&cv=0.1&pop=zipf");
        for plain in ["#", "", "http://127.0.0.1:8080/", "https://x.test/page/#"] {
            let (scenario, problems) = parse(plain);
            assert_eq!((encode(&scenario).as_str(), problems.len()), ("v=5", 0), "{plain}");
        }
    }

    #[test]
    fn an_old_address_means_what_it_meant() {
        let checks = |link: &str| {
            let (scenario, problems) = parse(link);
            assert!(problems.is_empty(), "{problems:?}");
            encode(&scenario)
        };
        let old = "v=4&gk=proxy&gch=rpm%7Ctpm%7Cconcurrency%7Cqueue%7Ckv";
        for link in ["#v=1&R=1.4&gk=proxy", "#R=1.4&gk=proxy&v=1", "#v=1&R=1.4&gk=proxy&gch="] {
            assert_eq!(checks(link), checks(old), "{link}");
        }
        assert_eq!(checks(&checks(old)), checks(old), "what was read is written so that it stays");
        // A chain that the address names is that chain, and where there is no proxy there is nothing to keep.
        for (link, same) in [
            ("#v=1&R=1.4&gk=proxy&gch=rpm", "v=4&gk=proxy&gch=rpm"),
            ("#v=1&R=3", "v=4&R=3"),
            ("#v=2&R=1.4&gk=proxy", "v=4&gk=proxy"),
            // The rate was above what the default server can serve.
            ("#v=2&gk=proxy", "v=4&R=2&gk=proxy"),
            ("#gk=proxy", "v=5&gk=proxy"),
        ] {
            assert_eq!(checks(link), checks(same), "{link}");
        }
        // vLLM v1 goes on with the bounds and rules that it had, as far as they are settings.
        assert_eq!(
            checks("#v=1&R=1.4&sched=vllm_v1"),
            checks(
                "v=4&batch=3072&run=1000&maxreq=3072&sched=vllm_v1&isl=false&asy=false&wmk=0.01&pfx=false"
            )
        );
        assert_eq!(
            checks("#v=1&R=1.4&sched=vllm_v1&batch=500&wmk=0.02&pk=tree"),
            checks(
                "v=4&batch=500&run=500&maxreq=3072&sched=vllm_v1&isl=false&asy=false&wmk=0.02&pfx=false&pk=tree"
            )
        );
        for others in ["sched=sarathi", "batch=64", "batch=500&sched=vllm"] {
            assert_eq!(checks(&format!("#v=1&R=1.4&{others}")), checks(&format!("v=4&{others}")));
        }
        // The server of links before version 5, with what acts beside it, and what the link says.
        assert_eq!(
            checks("#v=4&cv=2"),
            "v=5&R=1.4&cv=2&alpha=1&n=200&in=uniform&inh=511&out=uniform&outh=511&sched=slora&ranks=8&cost=linear&slot=6&slob=0.2&\
             ck=constant&D=300"
        );
        assert_eq!(
            checks("#v=4&sched=vllm_v1&cost=kernels&gpu=h100_sxm&n=0&in=fixed&out=fixed&D=60"),
            "v=5&R=1.4&n=0&in=fixed&\
             out=fixed&mdl=llama-2-7b&slot=6&slob=0.2&ck=constant"
        );
    }

    /// The bound of links from before there were two bounded the mean, and so does its key.
    #[test]
    fn an_old_bound_on_the_time_between_tokens_is_one_on_its_mean() {
        for version in ["1", "2", "3", "4"] {
            let (scenario, problems) = parse(&format!("#v={version}&slob=0.08"));
            assert!(problems.is_empty(), "{problems:?}");
            let slo = scenario.slo();
            assert_eq!((slo.ttft_s, slo.tpot_s, slo.tbt_s), (6.0, 0.08, f64::INFINITY));
            let (scenario, _) = parse(&format!("#v={version}"));
            assert_eq!((scenario.slo().tpot_s, scenario.slo().tbt_s), (0.2, f64::INFINITY));
        }
        assert_eq!(parse("#v=2&sltb=0.5&slob=0").0.slo().tbt_s, 0.5);
        assert_eq!(parse("#v=2&sltb=0.5&slob=0").0.slo().tpot_s, f64::INFINITY);
    }

    #[test]
    fn a_replaced_name_of_an_option_is_read_as_the_present_one() {
        let id = Id::LengthSource;
        let key = id.row().key;
        let (scenario, problems) = parse(&format!("#v=5&{key}=laws&rt=shortest_line"));
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(scenario.choice(id), "distributions");
        assert_eq!(encode(&scenario), "v=5&rt=fewest_waiting");
    }

    #[test]
    fn a_key_that_is_there_twice_is_told() {
        let (scenario, problems) = parse("#v=5&R=3&cv=2&R=4");
        assert_eq!(encode(&scenario), "v=5&R=3&cv=2");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.contains("\"R=4\" is ignored: its key is there twice"), "{problems:?}");
    }

    #[test]
    fn lists_and_percent_signs() {
        let (scenario, problems) = parse("#v=5&ranks=64%2C32%2c16");
        assert!(problems.is_empty());
        assert_eq!(
            command(&scenario, "my trace.csv"),
            "servescope simulate --set workload.adapters.ranks=64,32,16 --trace 'my trace.csv'"
        );
    }

    #[test]
    fn every_parameter_survives_the_address() {
        for &id in Id::ALL {
            let value = match id.row().kind {
                Kind::Number { min, max, .. } => Value::Number(min + (max - min) * 0.37),
                Kind::Whole { min, max, .. } => Value::Number((min + (max - min) * 0.37).floor()),
                Kind::Choice(names) => Value::Choice(names[names.len() - 1]),
                Kind::Flag(on) => Value::Flag(!on),
                Kind::List { max, .. } => Value::List([3.0, 1.0, 2.0].map(|x: f64| x.min(max)).to_vec()),
                Kind::Text { .. } => Value::Text(" a|\\n&b=#%+é;\n'".to_owned()),
            };
            let mut scenario = Scenario::of_version(4);
            scenario.set(id, value).unwrap();
            let (again, problems) = parse(&encode(&scenario));
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(again.get(id), scenario.get(id));
        }
    }

    proptest! {
        #[test]
        fn no_link_panics(text in "\\PC{0,80}") {
            let (scenario, _) = parse(&text);
            prop_assert_eq!(parse(&encode(&scenario)).0.to_json(), scenario.to_json());
        }
    }
}
