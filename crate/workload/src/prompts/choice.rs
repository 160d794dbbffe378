//! Prompts of a collection for the requests of a trace, by AIBrix's rule ([`generate::chooser`]), and the messages that a
//! chosen prompt is sent as.

use std::borrow::Cow;

use super::collection::{Collection, CollectionLengths};
use super::tokens::CountTokens;
use crate::aibrix::arrivals::Target;
use crate::aibrix::generate::{self, Choice, Collection as Lengths};
use crate::aibrix::matching::PromptLengths;
use crate::trace::Trace;

/// How prompts are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoiceRule {
    /// Whether the trace's lengths are wanted; otherwise prompts come in shuffled order, each once before any comes twice.
    pub by_length: bool,
    /// First half-width of the band around a wanted length.
    pub initial_error: f64,
    /// Most sessions under way; 0 = all, chosen by the lengths of their next turns.
    pub concurrent_sessions: usize,
}

/// A collection, and which of its prompts stands for each request of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    collection: Collection,
    lengths: CollectionLengths,
    /// By request; `None` once sessions are used up.
    choices: Vec<Option<Choice>>,
}

impl Chosen {
    /// Chooses for every request of `trace`.
    ///
    /// # Errors
    /// What `counter` says of a text that it cannot count.
    pub fn new(
        collection: Collection,
        counter: &dyn CountTokens,
        trace: &Trace,
        rule: ChoiceRule,
        seed: u64,
    ) -> Result<Self, String> {
        let wanted = |id: usize| Target {
            input_tokens: rule.by_length.then(|| trace.input_tokens[id].into()),
            output_tokens: rule.by_length.then(|| trace.output_tokens[id].into()),
        };
        let wanted: Vec<Target> = (0..trace.len()).map(wanted).collect();
        Self::wanting(collection, counter, &wanted, rule, seed)
    }

    /// Chooses for requests that want these lengths, some of them none; `rule.by_length` is not asked.
    ///
    /// # Errors
    /// What `counter` says of a text that it cannot count.
    pub fn wanting(
        collection: Collection,
        counter: &dyn CountTokens,
        wanted: &[Target],
        rule: ChoiceRule,
        seed: u64,
    ) -> Result<Self, String> {
        let lengths = collection.lengths(counter)?;
        let from = match &lengths {
            CollectionLengths::Plain(prompts) => Lengths::Plain(prompts),
            CollectionLengths::Sessions(sessions) => Lengths::Sessions(sessions),
        };
        let mut choose = generate::chooser(from, rule.concurrent_sessions, rule.initial_error, seed);
        let choices = wanted.iter().map(|&target| choose(target)).collect();
        drop(choose);
        Ok(Self { collection, lengths, choices })
    }

    /// Output tokens that the collection has for the prompt of request `id`.
    pub fn output_tokens(&self, id: usize) -> Option<u32> {
        (*self.choices.get(id)?)?.lengths.output_tokens
    }

    /// The prompt of request `id`; `None` where none was left for it.
    pub fn prompt(&self, id: usize) -> Option<ChosenPrompt<'_>> {
        let choice = (*self.choices.get(id)?)?;
        match (&self.collection, &self.lengths) {
            (Collection::Sessions(sessions), CollectionLengths::Sessions(lengths)) => {
                let (session, lengths) = (&sessions[choice.item], &lengths[choice.item]);
                let mut prompt = ChosenPrompt {
                    session: Some((&session.id, choice.turn as u32 + 1)),
                    numbered: session.numbered,
                    history: Vec::new(),
                    history_tokens: 0,
                    text: &session.prompts[choice.turn],
                    tokens: choice.lengths.input_tokens,
                };
                for (turn, completion) in session.completions.iter().enumerate().take(choice.turn) {
                    prompt.history.push(Message::of(Role::User, &session.prompts[turn]));
                    prompt.history.push(Message::of(Role::Assistant, completion));
                    let PromptLengths { input_tokens, output_tokens } = lengths[turn];
                    prompt.history_tokens += u64::from(input_tokens) + u64::from(output_tokens.unwrap_or(0));
                }
                Some(prompt)
            }
            (Collection::Plain(prompts), _) => Some(ChosenPrompt {
                session: None,
                numbered: false,
                history: Vec::new(),
                history_tokens: 0,
                text: &prompts[choice.item].text,
                tokens: choice.lengths.input_tokens,
            }),
            (Collection::Sessions(_), CollectionLengths::Plain(_)) => None,
        }
    }
}

/// A prompt of a collection as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenPrompt<'a> {
    /// Its conversation and its turn in it, from 1.
    pub session: Option<(&'a str, u32)>,
    /// Whether the conversation's name was a number in the collection.
    pub numbered: bool,
    /// The turns before it with their completions, where the collection has them. Without completions a server's client
    /// has to keep the history, as AIBrix's does.
    pub history: Vec<Message<'a>>,
    /// Tokens of the history.
    pub history_tokens: u64,
    /// What is asked.
    pub text: &'a str,
    /// Tokens of what is asked.
    pub tokens: u32,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Its name in a chat.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its role.
    pub role: Role,
    /// What is said.
    pub text: Cow<'a, str>,
}

impl<'a> Message<'a> {
    /// A message.
    pub fn of(role: Role, text: &'a str) -> Self {
        Self { role, text: Cow::Borrowed(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::tokens::CharactersPerToken;
    use crate::trace::{BASE_MODEL, Request};

    fn trace(lengths: &[(u32, u32)]) -> Trace {
        let mut trace = Trace::default();
        for &(input_tokens, output_tokens) in lengths {
            trace.push(Request {
                arrival_us: 0.0,
                user: 0,
                adapter: BASE_MODEL,
                input_tokens,
                output_tokens,
                max_tokens: output_tokens,
            });
        }
        trace
    }

    const RULE: ChoiceRule = ChoiceRule { by_length: true, initial_error: 0.5, concurrent_sessions: 1 };

    #[test]
    fn prompts_are_the_nearest_in_length() {
        let long = "x".repeat(400);
        let text = format!("{{\"prompt\": \"short one\"}}\n{{\"prompt\": \"{long}\"}}\n");
        let read = Collection::read(text.as_bytes()).expect("plain");
        let asked = trace(&[(2, 9), (90, 9), (5000, 9)]);
        let chosen = Chosen::new(read, &CharactersPerToken::DEFAULT, &asked, RULE, 1).expect("counted");
        let texts: Vec<&str> = (0..3).filter_map(|id| Some(chosen.prompt(id)?.text)).collect();
        assert_eq!(texts, ["short one", &long, &long]);
    }

    #[test]
    fn sessions_bring_their_history_and_run_out() {
        let text = br#"{"session_id": "s", "prompts": ["1234", "12345678"], "completions": ["abcd", "e"]}"#;
        let read = Collection::read(text).expect("sessions");
        let asked = trace(&[(1, 1); 3]);
        let chosen = Chosen::new(read, &CharactersPerToken::DEFAULT, &asked, RULE, 1).expect("counted");
        let second = chosen.prompt(1).expect("two turns");
        assert_eq!((second.session, second.history_tokens, second.tokens), (Some(("s", 2)), 2, 2));
        let roles: Vec<&str> = second.history.iter().map(|m| m.role.name()).collect();
        assert_eq!(roles, ["user", "assistant"]);
        assert_eq!(chosen.prompt(2), None);
    }
}
