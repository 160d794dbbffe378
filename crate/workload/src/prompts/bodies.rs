//! What is sent to a server under test: one line a request, with its time, its path and its body in the system's own form.
//!
//! Forms as the systems take them: S-LoRA's `/generate_stream` (`slora/server/api_server.py` and its benchmark), OpenAI's
//! chat completions and completions with vLLM's further parameters, AIBrix's workload file and vLLM's custom dataset. A
//! line is made when it is asked for, so that files of any length are written without being held.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::choice::{Chosen, Message, MessageRole};
use super::form::Form;
use super::sampling::{Refused, Sampling};
use super::synthesis::{Root, Stretch, Synthesis};
use crate::formats::aibrix;
use crate::formats::json::push_string;
use crate::formats::table::seconds_text;
use crate::output_bounds::BoundedOutput;
use crate::trace::{BASE_MODEL, NO_LABEL, Trace};

/// Which of OpenAI's paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

/// What all bodies of a file have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyOptions {
    /// Whose form.
    pub form: Form,
    /// Which path, for OpenAI's API.
    pub endpoint: Endpoint,
    /// Name of the base model.
    pub model: String,
    /// Name of an adapter, in which `{adapter}` and `{rank}` stand for its index and rank, and `{index_in_rank}` for its
    /// place among the adapters of its rank.
    pub adapter_name: String,
    /// How tokens are drawn.
    pub sampling: Sampling,
}

/// Where prompts come from.
#[derive(Clone)]
pub enum Texts<'a> {
    /// Made to length.
    Made(Synthesis<'a>),
    /// From a collection.
    Chosen(Chosen),
}

/// Why a file of bodies cannot be written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BodyError {
    /// The system would reject a parameter.
    #[error("{0}")]
    Sampling(Refused),
    /// A prompt cannot be made.
    #[error("request {id}: {why}")]
    Prompt {
        /// Its place in the trace.
        id: usize,
        /// What is in the way.
        why: String,
    },
}

/// The lines of a file of bodies, made one by one.
pub struct BodyLines<'a> {
    trace: &'a Trace,
    texts: Texts<'a>,
    options: BodyOptions,
    next: usize,
    contexts: BTreeMap<u32, BodyContext>,
    /// Time stamp of AIBrix's line under way.
    stamp: Option<u64>,
    left_out: usize,
    index_in_rank: Vec<u32>,
}

/// The place of each adapter among those of its rank. Where ranks were assigned cyclically, as S-LoRA's server does, this is
/// the adapter's index divided by the number of ranks, also for adapters of a file that no request asks for and whose rank
/// is therefore unknown (0).
fn index_in_rank(ranks: &[u32]) -> Vec<u32> {
    let mut distinct: Vec<u32> = ranks.iter().copied().filter(|&rank| rank > 0).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let period = distinct.len().max(1);
    let mut cycle = vec![0; period];
    let is_cyclic = ranks.iter().enumerate().filter(|(_, rank)| **rank > 0).all(|(adapter, &rank)| {
        let slot = &mut cycle[adapter % period];
        let fits = *slot == 0 || *slot == rank;
        *slot = rank;
        fits
    });
    if is_cyclic {
        return (0..ranks.len()).map(|adapter| (adapter / period) as u32).collect();
    }
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    let mut next = |rank: &u32| {
        let count = seen.entry(*rank).or_default();
        *count += 1;
        *count - 1
    };
    ranks.iter().map(&mut next).collect()
}

/// A model setting of S-LoRA's benchmarks (`benchmarks/exp_suite.py`): what its server is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SloraSetting {
    /// Its name.
    pub name: &'static str,
    /// Name of the base model.
    pub model: &'static str,
    /// Pattern of the adapter names.
    pub adapter_name: &'static str,
    /// Ranks of its adapters, assigned cyclically.
    pub ranks: &'static [u32],
}

/// The settings. Real's adapters are two of Hugging Face, whose ranks are those of their `adapter_config.json`.
pub const SLORA_SETTINGS: [SloraSetting; 5] = [
    SloraSetting { name: "S1", model: LLAMA_7B, adapter_name: DUMMY_7B, ranks: &[8] },
    SloraSetting { name: "S2", model: LLAMA_7B, adapter_name: DUMMY_7B, ranks: &[64, 32, 16, 8] },
    SloraSetting { name: "S3", model: LLAMA_13B, adapter_name: DUMMY_13B, ranks: &[16] },
    SloraSetting { name: "S4", model: LLAMA_13B, adapter_name: DUMMY_13B, ranks: &[64, 32, 16] },
    SloraSetting { name: "Real", model: LLAMA_7B, adapter_name: "{real}-{index_in_rank}", ranks: &[16, 64] },
];

const LLAMA_7B: &str = "huggyllama/llama-7b";
const LLAMA_13B: &str = "huggyllama/llama-13b";
const DUMMY_7B: &str = "dummy-lora-7b-rank-{rank}-{index_in_rank}";
const DUMMY_13B: &str = "dummy-lora-13b-rank-{rank}-{index_in_rank}";

impl SloraSetting {
    /// The setting of that name, in capitals or not.
    pub fn named(name: &str) -> Option<&'static Self> {
        SLORA_SETTINGS.iter().find(|setting| setting.name.eq_ignore_ascii_case(name))
    }
}

/// What `{real}` stands for: the adapter of this rank in S-LoRA's setting Real.
fn real_adapter(rank: u32) -> &'static str {
    if rank == 16 { "tloen/alpaca-lora-7b" } else { "MBZUAI/bactrian-x-llama-7b-lora" }
}

/// What a conversation has come to.
#[derive(Debug, Clone, Default)]
struct BodyContext {
    /// How often it started again.
    starts: u32,
    input_tokens: u32,
    output_tokens: u32,
    /// Where answers begin and end in the context, tokens.
    answers: Vec<(u32, u32)>,
}

impl BodyContext {
    /// Goes on to a turn. A prompt longer than the one before holds it, and its answer where there is room; another begins
    /// again, as after a compaction.
    fn advance(&mut self, input_tokens: u32, output_tokens: u32) {
        if self.input_tokens > 0 {
            let answered = self.input_tokens.saturating_add(self.output_tokens);
            if input_tokens > answered {
                self.answers.push((self.input_tokens, answered));
            } else if input_tokens <= self.input_tokens {
                self.answers.clear();
                self.starts += 1;
            }
        }
        (self.input_tokens, self.output_tokens) = (input_tokens, output_tokens);
    }
}

/// A request's prompt, ready to be sent.
struct Ready<'a> {
    messages: Vec<Message<'a>>,
    /// Tokens of all messages.
    tokens: u64,
    /// Tokens of the prompt without a collection's history.
    own_tokens: u32,
    /// What parts messages where they are sent as one text.
    between: &'static str,
    session: Option<&'a str>,
    /// Whether a session's name that is a number was one in its file.
    numbered: bool,
    turn: Option<u32>,
}

impl<'a> BodyLines<'a> {
    /// The bodies of `trace`.
    ///
    /// # Errors
    /// The first parameter that the system would reject.
    pub fn new(trace: &'a Trace, texts: Texts<'a>, options: BodyOptions) -> Result<Self, BodyError> {
        if let Some(refused) = options.sampling.refused_by(options.form).into_iter().next() {
            return Err(BodyError::Sampling(refused));
        }
        let index_in_rank = index_in_rank(&trace.adapter_rank);
        let (contexts, next) = (BTreeMap::new(), 0);
        Ok(Self { trace, texts, options, next, contexts, stamp: None, left_out: 0, index_in_rank })
    }

    /// Appends the next request to `out`; false at the end.
    ///
    /// # Errors
    /// That a prompt cannot be made.
    pub fn next_into(&mut self, out: &mut String) -> Result<bool, BodyError> {
        while self.next < self.trace.len() {
            let id = self.next;
            self.next += 1;
            self.advance(id);
            let ready = self.ready(id).map_err(|why| BodyError::Prompt { id, why })?;
            let Some(ready) = ready else {
                self.left_out += 1;
                continue;
            };
            match self.options.form {
                Form::Aibrix => {
                    let stamp = self.aibrix(out, id, &ready);
                    self.stamp = Some(stamp);
                }
                Form::VllmCustom => self.custom(out, id, &ready),
                Form::Slora | Form::OpenAi | Form::Vllm => self.request(out, id, &ready),
            }
            return Ok(true);
        }
        if self.stamp.take().is_some() {
            out.push_str(aibrix::END);
        }
        Ok(false)
    }

    /// Requests left out so far, for which the collection had no prompt left.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The place of request `id`'s session among the trace's.
    fn session(&self, id: usize) -> Option<u32> {
        let metadata = self.trace.metadata.as_ref()?;
        metadata.session.index.get(id).copied().filter(|&place| place != NO_LABEL)
    }

    fn numbered(&self) -> bool {
        self.trace.metadata.as_ref().is_some_and(|metadata| metadata.numbered_sessions)
    }

    fn advance(&mut self, id: usize) {
        if let (Texts::Made(_), Some(session)) = (&self.texts, self.session(id)) {
            let context = self.contexts.entry(session).or_default();
            context.advance(self.trace.input_tokens[id], self.trace.output_tokens[id]);
        }
    }

    /// The roots of request `id`'s prompt: its prefix blocks as far as they go, then its session, or itself alone.
    fn stretches(&self, id: usize) -> Vec<Stretch> {
        let mut left = self.trace.input_tokens[id];
        let mut stretches = Vec::new();
        if let Some(metadata) = &self.trace.metadata {
            let block_tokens = metadata.prefix.block_tokens.max(1);
            for &block in metadata.prefix.of(id) {
                let tokens = left.min(block_tokens);
                if tokens > 0 {
                    stretches.push(Stretch { root: Root::Block(block), tokens });
                }
                left -= tokens;
            }
        }
        let root = match self.session(id) {
            Some(session) if stretches.is_empty() => {
                Root::Session(session, self.contexts.get(&session).map_or(0, |context| context.starts))
            }
            _ => Root::Request(id),
        };
        if left > 0 {
            stretches.push(Stretch { root, tokens: left });
        }
        stretches
    }

    fn ready(&self, id: usize) -> Result<Option<Ready<'_>>, String> {
        match &self.texts {
            Texts::Made(synthesis) => self.made(synthesis, id).map(Some),
            Texts::Chosen(chosen) => Ok(chosen.prompt(id).map(|prompt| {
                let mut messages = prompt.history;
                messages.push(Message::of(MessageRole::User, prompt.text));
                let own = self.trace.metadata.as_ref().and_then(|metadata| metadata.session.name(id));
                Ready {
                    messages,
                    tokens: prompt.history_tokens + u64::from(prompt.tokens),
                    own_tokens: prompt.tokens,
                    between: "\n",
                    session: prompt.session.map(|(name, _)| name).or(own),
                    numbered: if prompt.session.is_some() { prompt.numbered } else { self.numbered() },
                    turn: prompt.session.map(|(_, turn)| turn),
                }
            })),
        }
    }

    fn made(&self, synthesis: &Synthesis<'_>, id: usize) -> Result<Ready<'_>, String> {
        let made = synthesis.text(&self.stretches(id))?;
        let mut messages = Vec::new();
        let mut from = 0;
        let mut say = |role, to: usize| {
            if to > from {
                messages.push(Message { role, text: Cow::Owned(made.text[from..to].to_owned()) });
                from = to;
            }
        };
        let context = self.session(id).and_then(|session| self.contexts.get(&session));
        for &(begin, end) in context.iter().flat_map(|context| &context.answers) {
            say(MessageRole::User, made.byte_at(begin.into()));
            say(MessageRole::Assistant, made.byte_at(end.into()));
        }
        say(MessageRole::User, made.text.len());
        let metadata = self.trace.metadata.as_ref();
        Ok(Ready {
            messages,
            tokens: self.trace.input_tokens[id].into(),
            own_tokens: self.trace.input_tokens[id],
            between: "",
            session: metadata.and_then(|metadata| metadata.session.name(id)),
            numbered: self.numbered(),
            turn: metadata.and_then(|metadata| metadata.turn.get(id).copied()).filter(|&turn| turn > 0),
        })
    }

    /// AIBrix's client keeps the history of a collection's sessions itself: its entries hold the last prompt alone.
    fn aibrix(&self, out: &mut String, id: usize, ready: &Ready<'_>) -> u64 {
        let stamp = aibrix::begin(out, self.stamp, self.trace, id);
        let prompt = match &self.texts {
            Texts::Made(_) => ready.prompt(),
            Texts::Chosen(_) => Cow::Borrowed(ready.messages.last().map_or("", |last| last.text.as_ref())),
        };
        let (session, numbered) = (ready.session, ready.numbered);
        let sent = aibrix::SentFields { prompt: &prompt, prompt_tokens: ready.own_tokens, session, numbered };
        aibrix::push_request(out, self.trace, id, sent);
        stamp
    }

    fn custom(&self, out: &mut String, id: usize, ready: &Ready<'_>) {
        let mut line = Object::begin(out);
        line.text("prompt", &ready.prompt());
        line.number("output_tokens", self.bounded(id).max_tokens);
        line.end();
        out.push('\n');
    }

    fn bounded(&self, id: usize) -> BoundedOutput {
        self.options.sampling.output_bounds.bounded(self.trace.output_tokens[id], self.trace.max_tokens[id])
    }

    /// Name of request `id`'s adapter; `None` for the base model.
    fn adapter(&self, id: usize) -> Option<String> {
        let adapter = self.trace.adapter[id];
        let name = || {
            let name = self.options.adapter_name.replace("{adapter}", &adapter.to_string());
            let rank = self.trace.rank_of(adapter);
            let name = name.replace("{rank}", &rank.to_string()).replace("{real}", real_adapter(rank));
            let index = self.index_in_rank.get(adapter as usize).copied().unwrap_or(adapter);
            name.replace("{index_in_rank}", &index.to_string())
        };
        (adapter != BASE_MODEL).then(name)
    }

    /// One line: time, path, user, and the body.
    fn request(&self, out: &mut String, id: usize, ready: &Ready<'_>) {
        let adapter = self.adapter(id);
        let user = format!("user-{}", self.trace.user[id]);
        let path = match (self.options.form, self.options.endpoint) {
            (Form::Slora, _) => "/generate_stream",
            (_, Endpoint::Chat) => "/v1/chat/completions",
            (_, Endpoint::Completions) => "/v1/completions",
        };
        let mut line = Object::begin(out);
        line.number("id", id);
        line.number("at_s", seconds_text(self.trace.arrival_us[id]));
        line.text("path", path);
        let mut headers = Object::begin(line.key("headers"));
        headers.text("content-type", "application/json");
        // As the benchmark clients of S-LoRA and vLLM name themselves.
        headers.text("User-Agent", "Benchmark Client");
        headers.text("user", &user);
        if let Some(session) = ready.session {
            headers.text("x-session-id", session);
        }
        headers.end();
        line.text("user", &user);
        line.text_or_null("adapter", adapter.as_deref());
        line.text_or_null("session", ready.session);
        if let Some(turn) = ready.turn {
            line.number("turn", turn);
        }
        line.number("input_tokens", ready.tokens);
        line.number("output_tokens", self.trace.output_tokens[id]);
        let mut body = Object::begin(line.key("body"));
        if self.options.form == Form::Slora {
            self.slora(&mut body, id, ready, adapter.as_deref());
        } else {
            self.openai(&mut body, id, ready, adapter.as_deref(), &user);
        }
        body.end();
        line.end();
        out.push('\n');
    }

    fn slora(&self, body: &mut Object<'_>, id: usize, ready: &Ready<'_>, adapter: Option<&str>) {
        let sampling = &self.options.sampling;
        // The fork for fair queueing requires an id; S-LoRA ignores it.
        body.text("req_id", &id.to_string());
        body.text("model_dir", &self.options.model);
        body.text_or_null("lora_dir", adapter);
        body.text("inputs", &ready.prompt());
        let mut parameters = Object::begin(body.key("parameters"));
        parameters.number("do_sample", sampling.do_sample);
        parameters.number("temperature", sampling.temperature);
        parameters.number("top_p", sampling.top_p);
        parameters.number("top_k", sampling.top_k.map_or(-1, i64::from));
        parameters.number("presence_penalty", sampling.presence_penalty);
        parameters.number("frequency_penalty", sampling.frequency_penalty);
        parameters.number("ignore_eos", sampling.output_bounds.ignores_eos());
        parameters.number("max_new_tokens", self.bounded(id).max_tokens);
        if !sampling.stop_sequences.is_empty() {
            parameters.texts("stop_sequences", &sampling.stop_sequences);
        }
        parameters.end();
    }

    fn openai(&self, body: &mut Object<'_>, id: usize, ready: &Ready<'_>, adapter: Option<&str>, user: &str) {
        let sampling = &self.options.sampling;
        // An adapter is served under a name of its own, as a model.
        body.text("model", adapter.unwrap_or(&self.options.model));
        match self.options.endpoint {
            Endpoint::Chat => {
                let list = body.key("messages");
                for (place, message) in ready.messages.iter().enumerate() {
                    list.push_str(if place == 0 { "[" } else { ", " });
                    let mut one = Object::begin(list);
                    one.text("role", message.role.name());
                    one.text("content", &message.text);
                    one.end();
                }
                list.push(']');
            }
            Endpoint::Completions => body.text("prompt", &ready.prompt()),
        }
        let answer = self.bounded(id);
        body.number("max_tokens", answer.max_tokens);
        // Temperature 0 is how this API says that nothing is drawn.
        body.number("temperature", if sampling.do_sample { sampling.temperature } else { 0.0 });
        body.number("top_p", sampling.top_p);
        body.number("presence_penalty", sampling.presence_penalty);
        body.number("frequency_penalty", sampling.frequency_penalty);
        if !sampling.stop_sequences.is_empty() {
            body.texts("stop", &sampling.stop_sequences);
        }
        let all = self.options.form == Form::Vllm;
        if all || sampling.do_sample {
            body.number("do_sample", sampling.do_sample);
        }
        if all || sampling.top_k.is_some() {
            body.number("top_k", sampling.top_k.map_or(-1, i64::from));
        }
        if all || sampling.output_bounds.ignores_eos() {
            body.number("ignore_eos", sampling.output_bounds.ignores_eos());
        }
        if all || answer.min_tokens > 0 {
            body.number("min_tokens", answer.min_tokens);
        }
        body.number("stream", true);
        body.text("user", user);
    }
}

impl Ready<'_> {
    /// All messages as one text.
    fn prompt(&self) -> Cow<'_, str> {
        if let [only] = &self.messages[..] {
            return Cow::Borrowed(&only.text);
        }
        let texts: Vec<&str> = self.messages.iter().map(|message| message.text.as_ref()).collect();
        Cow::Owned(texts.join(self.between))
    }
}

/// A JSON object as it is written.
struct Object<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> Object<'o> {
    fn begin(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    fn key(&mut self, key: &str) -> &mut String {
        self.out.push_str(if self.first { "" } else { ", " });
        self.first = false;
        push_string(self.out, key);
        self.out.push_str(": ");
        self.out
    }

    fn text(&mut self, key: &str, value: &str) {
        push_string(self.key(key), value);
    }

    fn text_or_null(&mut self, key: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(key, value),
            None => self.key(key).push_str("null"),
        }
    }

    fn texts(&mut self, key: &str, values: &[String]) {
        let out = self.key(key);
        for (place, value) in values.iter().enumerate() {
            out.push_str(if place == 0 { "[" } else { ", " });
            push_string(out, value);
        }
        out.push_str(if values.is_empty() { "[]" } else { "]" });
    }

    /// A number or a truth value, as Rust and JSON both write it.
    fn number(&mut self, key: &str, value: impl std::fmt::Display) {
        let _ = write!(self.key(key), "{value}");
    }

    fn end(self) {
        self.out.push('}');
    }
}

#[cfg(test)]
mod tests;
