//! Collections of prompts, as AIBrix's generator and vLLM's benchmark read them: JSON Lines of
//! `{"prompt", "completion"?, "output_tokens"?}`, or of `{"session_id", "prompts": [...], "completions"?: [...]}`.
//!
//! ShareGPT's conversations are sessions as well: `{"id", "conversations": [{"from", "value"}]}`, a line each or in one JSON
//! array. What people say are the prompts, what the model says next the completions; a conversation without any prompt, which
//! AIBrix leaves out too, is counted.
//!
//! The first line decides which. A line of the other kind, or of neither, is rejected with its row: AIBrix's generator would
//! crash on it or drop it.

use crate::aibrix::matching::PromptLengths;
use crate::formats::json::{Json, Line, Lines, bad};
use crate::formats::{FormatError, MAX_ROWS, MAX_TOKENS, gzip};
use crate::prompts::tokens::{CountTokens, is_cjk};

/// One prompt on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What is asked.
    pub text: String,
    /// What was answered, where that is known.
    pub completion: Option<String>,
    /// Tokens of the answer, where the file says so itself (vLLM's custom dataset); goes before the completion's count.
    pub output_tokens: Option<u32>,
}

/// The turns of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub id: String,
    /// Whether the name is a number in the file, and not a text.
    pub numbered: bool,
    /// What is asked, turn by turn.
    pub prompts: Vec<String>,
    /// What was answered, turn by turn, as far as that is known.
    pub completions: Vec<String>,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Collection {
    /// Prompts on their own.
    Plain(Vec<Prompt>),
    /// Conversations.
    Sessions(Vec<Session>),
}

/// The lengths of a collection's prompts, place by place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectionLengths {
    /// Of prompts on their own.
    Plain(Vec<PromptLengths>),
    /// Of the turns of each session.
    Sessions(Vec<Vec<PromptLengths>>),
}

impl Collection {
    /// Reads a collection, packed with gzip or not.
    ///
    /// # Errors
    /// [`FormatError`], with the row and the key.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::read_counted(bytes).map(|(collection, _)| collection)
    }

    /// Reads a collection, and counts the conversations without a prompt that were left out.
    ///
    /// # Errors
    /// [`FormatError`], with the row and the key.
    pub fn read_counted(bytes: &[u8]) -> Result<(Self, usize), FormatError> {
        let bytes = &*gzip::unpacked(bytes)?;
        let lines = &mut Lines::open(bytes)?;
        Self::of_lines(&mut || lines.next_line())
    }

    fn of_lines(next: NextLine<'_, '_>) -> Result<(Self, usize), FormatError> {
        let first = next()?.ok_or(FormatError::EmptyFile)?;
        if first.has("conversations") || first.has("messages") {
            let all = rows(first, next, conversation)?;
            let count = all.len();
            let sessions: Vec<Session> = all.into_iter().flatten().collect();
            let left_out = count - sessions.len();
            Ok((Self::Sessions(sessions), left_out))
        } else if first.has("prompts") || first.has("session_id") {
            Ok((Self::Sessions(rows(first, next, session)?), 0))
        } else {
            Ok((Self::Plain(rows(first, next, plain)?), 0))
        }
    }

    /// Appends another collection of the same kind; false, and nothing is appended, where it is of another.
    pub fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Plain(prompts), Self::Plain(more)) => prompts.extend(more),
            (Self::Sessions(sessions), Self::Sessions(more)) => sessions.extend(more),
            _ => return false,
        }
        true
    }

    /// Prompts with characters of Chinese, Japanese or Korean, which a ratio of characters to tokens counts coarsely.
    pub fn cjk_prompts(&self) -> usize {
        let has = |text: &&str| text.chars().any(is_cjk);
        match self {
            Self::Plain(prompts) => prompts.iter().map(|p| p.text.as_str()).filter(has).count(),
            Self::Sessions(sessions) => {
                sessions.iter().flat_map(|s| &s.prompts).map(String::as_str).filter(has).count()
            }
        }
    }

    /// Prompts, or turns of all sessions.
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(prompts) => prompts.len(),
            Self::Sessions(sessions) => sessions.iter().map(|s| s.prompts.len()).sum(),
        }
    }

    /// Whether there is no prompt.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the tokens of every prompt and completion. AIBrix's generator takes the characters of a session's completion for
    /// its tokens.
    ///
    /// # Errors
    /// What `counter` says of a text, and the place of its prompt.
    pub fn lengths(&self, counter: &dyn CountTokens) -> Result<CollectionLengths, String> {
        let count = |text: &str, place: &dyn Fn() -> String| -> Result<u32, String> {
            let tokens = counter.count(text).map_err(|why| format!("{}: {why}", place()))?;
            Ok(u32::try_from(tokens).unwrap_or(u32::MAX))
        };
        match self {
            Self::Plain(prompts) => {
                let lengths = prompts.iter().enumerate().map(|(i, prompt)| {
                    let place = || format!("prompt {}", i + 1);
                    let counted = || prompt.completion.as_deref().map(|c| count(c, &place)).transpose();
                    Ok(PromptLengths {
                        input_tokens: count(&prompt.text, &place)?,
                        output_tokens: prompt.output_tokens.map_or_else(counted, |n| Ok(Some(n)))?,
                    })
                });
                lengths.collect::<Result<_, String>>().map(CollectionLengths::Plain)
            }
            Self::Sessions(sessions) => {
                let turns = |session: &Session| -> Result<Vec<PromptLengths>, String> {
                    let turn = |(i, text): (usize, &String)| {
                        let place = || format!("session {}, turn {}", session.id, i + 1);
                        let completion = session.completions.get(i);
                        Ok(PromptLengths {
                            input_tokens: count(text, &place)?,
                            output_tokens: completion.map(|c| count(c, &place)).transpose()?,
                        })
                    };
                    session.prompts.iter().enumerate().map(turn).collect()
                };
                sessions.iter().map(turns).collect::<Result<_, _>>().map(CollectionLengths::Sessions)
            }
        }
    }
}

/// Gives one line after another.
type NextLine<'n, 'a> = &'n mut dyn FnMut() -> Result<Option<Line<'a>>, FormatError>;

fn rows<'a, T>(
    first: Line<'a>,
    next_line: NextLine<'_, 'a>,
    read: impl Fn(&Line<'a>) -> Result<T, FormatError>,
) -> Result<Vec<T>, FormatError> {
    let mut rows = Vec::new();
    let mut next = Some(first);
    while let Some(line) = next {
        if rows.len() >= MAX_ROWS {
            return Err(FormatError::TooManyRows { row: line.row, max: MAX_ROWS });
        }
        rows.push(read(&line)?);
        next = next_line()?;
    }
    Ok(rows)
}

/// A conversation of ShareGPT; `None` where no one asks anything.
fn conversation(line: &Line<'_>) -> Result<Option<Session>, FormatError> {
    const KEYS: [[&str; 3]; 2] = [["conversations", "from", "value"], ["messages", "role", "content"]];
    let keys = KEYS.into_iter().find(|keys| line.has(keys[0]));
    let Some([list, from, value]) = keys else {
        return Err(line.bad("conversations", "a conversation, as in the first line,"));
    };
    let Some(Json::List(messages)) = line.get(list) else { return Err(line.bad(list, "a list of messages")) };
    let (mut prompts, mut completions) = (Vec::new(), Vec::new());
    // Whether every prompt so far has its completion: those after a gap would stand at the wrong turns.
    let mut is_whole = true;
    for message in messages {
        let role = message.get(from).and_then(Json::as_text);
        let Some(role) = role else {
            return Err(bad(line.row, list, "messages that say who speaks", message));
        };
        let text = message.get(value).unwrap_or(&Json::Null);
        let Some(text) = text.as_text() else { return Err(bad(line.row, list, "messages of text", text)) };
        match role {
            "human" | "user" if !text.is_empty() => {
                is_whole &= completions.len() == prompts.len();
                prompts.push(text.to_owned());
            }
            "gpt" | "assistant" | "chatgpt" | "bing" | "bard"
                if is_whole && completions.len() < prompts.len() =>
            {
                completions.push(text.to_owned());
            }
            _ => (),
        }
    }
    let (id, numbered) = match line.get("id") {
        None => (format!("row {}", line.row), false),
        Some(id) => (line.name("id")?.unwrap_or_default().to_owned(), matches!(id, Json::Number(_))),
    };
    Ok((!prompts.is_empty()).then_some(Session { id, numbered, prompts, completions }))
}

fn plain(line: &Line<'_>) -> Result<Prompt, FormatError> {
    for key in ["prompts", "session_id"] {
        if line.has(key) {
            return Err(line.bad(key, "a prompt without a session, as in the first line,"));
        }
    }
    let completion = match line.get("completion") {
        None => None,
        Some(Json::Text(text)) => Some(text.to_string()),
        Some(_) => return Err(line.bad("completion", "a text")),
    };
    let output_tokens =
        line.get("output_tokens").map(|_| line.whole("output_tokens", 1, MAX_TOKENS)).transpose()?;
    let text = line.get("prompt").and_then(Json::as_text).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| line.bad("prompt", "a text that is not empty"))?.to_owned();
    Ok(Prompt { text, completion, output_tokens })
}

fn session(line: &Line<'_>) -> Result<Session, FormatError> {
    if line.has("prompt") {
        return Err(line.bad("prompt", "a session with \"prompts\", as in the first line,"));
    }
    let id = line.name("session_id")?.ok_or_else(|| line.bad("session_id", "a name"))?.to_owned();
    let prompts = texts(line, "prompts", 1)?;
    let completions =
        if line.get("completions").is_some() { texts(line, "completions", 0)? } else { Vec::new() };
    if line.get("completions").is_some() && completions.len() != prompts.len() {
        return Err(FormatError::BadCell {
            row: line.row,
            column: "completions".to_owned(),
            expected: "as many texts as there are prompts",
            value: format!("{} for {} prompts", completions.len(), prompts.len()),
        });
    }
    let numbered = matches!(line.get("session_id"), Some(Json::Number(_)));
    Ok(Session { id, numbered, prompts, completions })
}

/// The texts in the list of a key, each of at least `least` bytes.
fn texts(line: &Line<'_>, key: &str, least: usize) -> Result<Vec<String>, FormatError> {
    let Some(Json::List(entries)) = line.get(key) else { return Err(line.bad(key, "a list of texts")) };
    let text = |entry: &Json<'_>| match entry.as_text() {
        Some(text) if text.len() >= least => Ok(text.to_owned()),
        _ => Err(bad(line.row, key, if least > 0 { "texts that are not empty" } else { "texts" }, entry)),
    };
    entries.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::json::push_string;
    use crate::prompts::tokens::CharactersPerToken;

    fn refused(text: &str) -> String {
        Collection::read(text.as_bytes()).expect_err("the file is bad").to_string()
    }

    #[test]
    fn the_first_line_decides_and_mixtures_name_their_row() {
        let plain = Collection::read(
            b"{\"prompt\": \"a b\"}\n\n{\"prompt\": \"c\", \"completion\": null, \"output_tokens\": 9}\n",
        )
        .expect("plain");
        let Collection::Plain(prompts) = &plain else { panic!("plain") };
        assert_eq!((prompts.len(), prompts[1].output_tokens), (2, Some(9)));
        let sessions = "{\"session_id\": 7, \"prompts\": [\"a\", \"b\"], \"completions\": [\"x\", \"\"]}\n";
        let Ok(Collection::Sessions(read)) = Collection::read(sessions.as_bytes()) else {
            panic!("sessions")
        };
        assert_eq!((read[0].id.as_str(), read[0].completions.len()), ("7", 2));
        for (text, place) in [
            ("", "empty"),
            ("[]\n", "empty"),
            ("[3]\n", "row 1, column entry: an object"),
            ("[{\"prompt\": \"a\"},\n {\"prompt\": 4}]", "row 2, column prompt"),
            ("{\"id\": 1, \"conversations\": 3}\n", "row 1, column conversations: a list of messages"),
            ("{\"id\": 1, \"conversations\": [{\"value\": \"a\"}]}\n", "messages that say who speaks"),
            ("{\"id\": 1, \"conversations\": [{\"from\": \"human\"}]}\n", "messages of text"),
            ("{\"id\": 1, \"conversations\": []}\n{\"prompt\": \"a\"}\n", "row 2, column conversations"),
            ("{\"text\": 1}\n", "row 1, column prompt"),
            ("{\"prompt\": \"a\"}\n{\"prompt\": \"\"}\n", "row 2, column prompt"),
            ("{\"prompt\": \"a\"}\n\n{\"session_id\": 1, \"prompts\": []}\n", "row 3, column prompts"),
            (
                "{\"prompt\": \"a\", \"completion\": 3}\n",
                "row 1, column completion: a text expected, got \"3\"",
            ),
            ("{\"prompt\": \"a\", \"output_tokens\": 0}\n", "0 is not between 1 and"),
            (&format!("{sessions}{{\"prompt\": \"a\"}}\n"), "row 2, column prompt"),
            ("{\"session_id\": 1, \"prompts\": [\"a\", 2]}\n", "row 1, column prompts"),
            ("{\"session_id\": 1, \"prompts\": \"a\"}\n", "a list of texts"),
            ("{\"prompts\": [\"a\"]}\n", "row 1, column session_id: a name"),
            (
                "{\"session_id\": 1, \"prompts\": [\"a\"], \"completions\": []}\n",
                "as many texts as there are prompts expected, got \"0 for 1 prompts\"",
            ),
        ] {
            assert!(refused(text).contains(place), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn conversations_of_sharegpt_are_sessions() {
        let talk = |id: &str, said: &[(&str, &str)]| {
            let said: Vec<String> = said
                .iter()
                .map(|(from, value)| format!("{{\"from\": \"{from}\", \"value\": \"{value}\"}}"))
                .collect();
            format!("{{\"id\": {id}, \"conversations\": [{}]}}", said.join(", "))
        };
        let entries = [
            talk(
                "\"a_0\"",
                &[("system", "be kind"), ("human", "one"), ("gpt", "uno"), ("human", "two"), ("gpt", "dos")],
            ),
            talk(
                "7",
                &[
                    ("gpt", "hello"),
                    ("human", "one"),
                    ("gpt", "uno"),
                    ("human", "two"),
                    ("human", "three"),
                    ("gpt", "tres"),
                ],
            ),
            talk("\"b\"", &[("gpt", "no one asked")]),
            talk("\"c\"", &[("human", ""), ("human", "last")]),
        ];
        let array = format!("\u{feff}[\n{}\n]\n", entries.join(",\n"));
        let (read, left_out) = Collection::read_counted(array.as_bytes()).expect("as published");
        assert_eq!(left_out, 1);
        assert_eq!(Collection::read_counted(entries.join("\n").as_bytes()), Ok((read.clone(), 1)));
        let Collection::Sessions(sessions) = &read else { panic!("{read:?}") };
        let said: Vec<(&str, usize, &[String])> =
            sessions.iter().map(|s| (s.id.as_str(), s.prompts.len(), &s.completions[..])).collect();
        let known = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let (both, first, none) = (known(&["uno", "dos"]), known(&["uno"]), known(&[]));
        assert_eq!(said, [("a_0", 2, &both[..]), ("7", 3, &first[..]), ("c", 1, &none[..])]);
        assert_eq!((sessions[0].numbered, sessions[1].numbered), (false, true));
        let mut both = read.clone();
        assert!(both.append(read.clone()) && both.len() == 2 * read.len());
        assert!(!both.append(Collection::Plain(Vec::new())));
    }

    #[test]
    fn lengths_are_tokens_and_the_file_s_own_go_first() {
        let four = CharactersPerToken::DEFAULT;
        let plain = Collection::read(
            b"{\"prompt\": \"12345678\", \"completion\": \"1234\"}\n{\"prompt\": \"1\", \"completion\": \"1\", \"output_tokens\": 50}",
        );
        let Ok(CollectionLengths::Plain(lengths)) = plain.expect("plain").lengths(&four) else { panic!() };
        assert_eq!(
            lengths,
            [
                PromptLengths { input_tokens: 2, output_tokens: Some(1) },
                PromptLengths { input_tokens: 1, output_tokens: Some(50) }
            ]
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            prompts in prop::collection::vec(("[^\\x00-\\x1f\\x7f]{1,12}", prop::option::of("[^\\x00-\\x1f]{0,12}")), 1..20),
        ) {
            let mut text = String::new();
            for (prompt, completion) in &prompts {
                text.push_str("{\"prompt\": ");
                push_string(&mut text, prompt);
                if let Some(completion) = completion {
                    text.push_str(", \"completion\": ");
                    push_string(&mut text, completion);
                }
                text.push_str("}\n");
            }
            let Ok(Collection::Plain(read)) = Collection::read(text.as_bytes()) else { panic!("{text}") };
            let read: Vec<_> = read.into_iter().map(|p| (p.text, p.completion)).collect();
            prop_assert_eq!(read, prompts);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\{\"(prompt|prompts|session_id|completions?|conversations|id|from|value)\": ?(\"\\PC{0,6}\"|\\[(\"a\",?)*\\]|1|null)[,}]?\n?){0,6}\\PC{0,20}") {
            if let Ok(collection) = Collection::read(text.as_bytes()) {
                prop_assert!(collection.lengths(&CharactersPerToken::DEFAULT).is_ok());
            }
        }
    }
}
