//! Columns that only some files carry: sessions, turns, models, prefix blocks, times that the original system took.

use std::collections::BTreeMap;

use super::events::Events;

/// The entry of [`Labels::index`] for a request without the label.
pub const NO_LABEL: u32 = u32::MAX;
/// In place of a data-parallel rank: none.
pub const NO_RANK: u16 = u16::MAX;

/// A column of names, such as the session or the model of each request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// Place of each request's name in `names`, or [`NO_LABEL`]; empty where the file has no such column.
    pub index: Vec<u32>,
    /// The names, in the order in which the file mentions them first.
    pub names: Vec<String>,
}

impl Labels {
    /// Whether the file has no such column.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The name of request `id`, if it has one.
    pub fn name(&self, id: usize) -> Option<&str> {
        self.names.get(*self.index.get(id)? as usize).map(String::as_str)
    }

    /// Which of the names some request has.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.names.len()];
        self.index.iter().filter(|&&place| place != NO_LABEL).for_each(|&place| used[place as usize] = true);
        used
    }

    fn select(&self, order: &[u32]) -> Self {
        Self { index: select(&self.index, order), names: self.names.clone() }
    }
}

/// Makes [`Labels`] from names as they come.
#[derive(Debug, Default)]
pub struct LabelMaker {
    labels: Labels,
    places: BTreeMap<String, u32>,
}

impl LabelMaker {
    /// Appends the name of the next request; a blank one is none, and blanks around one do not count.
    pub fn push(&mut self, name: Option<&str>) {
        let blank = |c: char| c.is_whitespace() || c.is_control();
        let name = name.map(|name| name.trim_matches(blank)).filter(|name| !name.is_empty());
        let place = name.map_or(NO_LABEL, |name| self.place(name));
        self.labels.index.push(place);
    }

    /// The place of a name, new or known.
    pub fn place(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.labels.names.len() as u32;
        self.labels.names.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    /// The column.
    pub fn finish(self) -> Labels {
        self.labels
    }
}

/// A list of ids for each request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdLists {
    /// Where each request's ids end in `ids`; empty where no request has a list.
    pub ends: Vec<usize>,
    /// The ids of all requests, one after another.
    pub ids: Vec<u64>,
}

impl IdLists {
    /// Whether no request has a list, not even an empty one.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Appends the list of the next request.
    pub fn push(&mut self, ids: impl IntoIterator<Item = u64>) {
        self.ids.extend(ids);
        self.ends.push(self.ids.len());
    }

    /// The list of request `id`; nothing where there is none.
    pub fn of(&self, id: usize) -> &[u64] {
        let start = id.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(id).map_or(&[], |&end| &self.ids[start..end])
    }

    fn select(&self, order: &[u32]) -> Self {
        let mut chosen = Self::default();
        if !self.is_empty() {
            order.iter().for_each(|&id| chosen.push(self.of(id as usize).iter().copied()));
        }
        chosen
    }
}

/// What became of drafts of speculative decoding, as a file says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedDrafts {
    /// How many drafts of a request were right, by its verifications in turn.
    pub accepted: IdLists,
    /// How many an n-gram found, by its attempts in turn; no lists where it always finds all.
    pub proposed: IdLists,
}

impl RecordedDrafts {
    fn select(&self, order: &[u32]) -> Self {
        Self { accepted: self.accepted.select(order), proposed: self.proposed.select(order) }
    }

    fn append(&mut self, other: &Self, id: usize) {
        self.accepted.push(other.accepted.of(id).iter().copied());
        self.proposed.push(other.proposed.of(id).iter().copied());
    }

    fn is_empty(&self) -> bool {
        self.accepted.ids.is_empty() && self.proposed.ids.is_empty()
    }
}

/// What a file says of handing requests over from prefill to decode replicas. Each column is empty or has an entry a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTransfers {
    /// Whether a request goes to a decode replica alone.
    pub decode_only: Vec<bool>,
    /// The block at which its pull fails, [`ALL_BLOCKS`]: it does not.
    pub load_fails_at: Vec<u32>,
}

/// In place of the block at which a pull fails: all can be read.
pub const ALL_BLOCKS: u32 = u32::MAX;

impl RecordedTransfers {
    fn select(&self, order: &[u32]) -> Self {
        Self {
            decode_only: select(&self.decode_only, order),
            load_fails_at: select(&self.load_fails_at, order),
        }
    }

    fn append(&mut self, other: &Self, id: usize) {
        self.decode_only.push(other.is_decode_only(id));
        self.load_fails_at.push(other.load_fails_at(id).unwrap_or(ALL_BLOCKS));
    }

    /// The same without columns that say nothing.
    fn without_blanks(self) -> Self {
        Self {
            decode_only: if self.decode_only.contains(&true) { self.decode_only } else { Vec::new() },
            load_fails_at: if self.load_fails_at.iter().any(|&block| block != ALL_BLOCKS) {
                self.load_fails_at
            } else {
                Vec::new()
            },
        }
    }

    fn is_empty(&self) -> bool {
        self.decode_only.is_empty() && self.load_fails_at.is_empty()
    }

    /// Whether request `id` goes to a decode replica alone.
    pub fn is_decode_only(&self, id: usize) -> bool {
        self.decode_only.get(id).copied().unwrap_or(false)
    }

    /// The block at which the pull of request `id` fails.
    pub fn load_fails_at(&self, id: usize) -> Option<u32> {
        self.load_fails_at.get(id).copied().filter(|&block| block != ALL_BLOCKS)
    }
}

/// Sessions whose input comes in chunks (vLLM's streaming input). Each chunk is a request, whose prompt holds all that was said
/// before it but for the last token of the answer. Each column is empty or has an entry a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamedInput {
    /// Whether a request is a further chunk of its session's input, behind the request of its session that arrived before it.
    pub goes_on: Vec<bool>,
    /// Until when a session stays open behind its last chunk, microseconds; 0: it ends with that chunk's answer.
    pub open_until_us: Vec<f64>,
}

impl StreamedInput {
    fn select(&self, order: &[u32]) -> Self {
        Self { goes_on: select(&self.goes_on, order), open_until_us: select(&self.open_until_us, order) }
    }

    fn append(&mut self, other: &Self, id: usize) {
        self.goes_on.push(other.goes_on(id));
        self.open_until_us.push(other.open_until_us(id));
    }

    /// The same without columns that say nothing.
    fn without_blanks(self) -> Self {
        let is_open = self.open_until_us.iter().any(|&us| us > 0.0);
        Self {
            goes_on: if self.goes_on.contains(&true) { self.goes_on } else { Vec::new() },
            open_until_us: if is_open { self.open_until_us } else { Vec::new() },
        }
    }

    /// Whether no session's input comes in chunks.
    pub fn is_empty(&self) -> bool {
        self.goes_on.is_empty() && self.open_until_us.is_empty()
    }

    /// Whether request `id` is a further chunk of its session's input.
    pub fn goes_on(&self, id: usize) -> bool {
        self.goes_on.get(id).copied().unwrap_or(false)
    }

    /// Until when the session of request `id` stays open behind it, microseconds.
    pub fn open_until_us(&self, id: usize) -> f64 {
        self.open_until_us.get(id).copied().unwrap_or(0.0)
    }
}

/// Prefix blocks: a prompt, and the output behind it, as ids of blocks of tokens. Equal ids mean an equal block after equal
/// blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrefixBlocks {
    /// Tokens in a block.
    pub block_tokens: u32,
    /// The blocks of each prompt; the last one may not be full.
    pub prompts: IdLists,
    /// The blocks from the one in which the prompt ends to the one in which the output ends, as a prompt that goes on from the
    /// output names them. Nothing for an output from which no prompt goes on; no lists where nothing is known of outputs.
    pub outputs: IdLists,
}

impl PrefixBlocks {
    /// Blocks of this many tokens, of no request yet.
    pub fn new(block_tokens: u32) -> Self {
        Self { block_tokens, ..Self::default() }
    }

    /// Whether the file has none.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty()
    }

    /// Appends the blocks of the next prompt.
    pub fn push(&mut self, ids: impl IntoIterator<Item = u64>) {
        self.prompts.push(ids);
    }

    /// The blocks of the prompt of request `id`; none where the file has none.
    pub fn of(&self, id: usize) -> &[u64] {
        self.prompts.of(id)
    }

    /// Whole blocks in this many tokens.
    pub(crate) fn whole(&self, tokens: u32) -> usize {
        (tokens / self.block_tokens.max(1)) as usize
    }

    /// Block `place` of the prompt and output of request `id`, whose prompt has this many tokens.
    pub fn block(&self, id: usize, input_tokens: u32, place: usize) -> Option<u64> {
        let output = self.outputs.of(id);
        let in_output = place.checked_sub(self.whole(input_tokens)).filter(|_| !output.is_empty());
        in_output.map_or_else(|| self.of(id).get(place), |place| output.get(place)).copied()
    }

    /// Follows prompts that got other lengths: the first blocks of one that became shorter, and blocks that no other prompt
    /// shares after those of one that became longer. Says how many prompts were cut and lengthened. A request without any
    /// block is left without. What was known of outputs is forgotten.
    pub fn fit(&mut self, before: &[u32], after: &[u32]) -> (usize, usize) {
        let ids = &self.prompts.ids;
        let mut fresh = ids.iter().max().and_then(|most| most.checked_add(1)).unwrap_or(0);
        let mut fitted = Self::new(self.block_tokens);
        let (mut cut, mut added) = (0, 0);
        for id in 0..self.prompts.ends.len() {
            let blocks = self.of(id);
            let whole = |tokens: u32| tokens.div_ceil(self.block_tokens.max(1)) as usize;
            // Some recorders leave out the last block unless it is full.
            let short = whole(before[id]).saturating_sub(blocks.len());
            let wanted = if blocks.is_empty() || before[id] == after[id] {
                blocks.len()
            } else {
                whole(after[id]).saturating_sub(short)
            };
            let missing = wanted.saturating_sub(blocks.len()) as u64;
            cut += usize::from(wanted < blocks.len());
            added += usize::from(missing > 0);
            fitted
                .push(blocks.iter().copied().take(wanted).chain((0..missing).map(|i| fresh.wrapping_add(i))));
            fresh = fresh.wrapping_add(missing);
        }
        *self = fitted;
        (cut, added)
    }

    fn select(&self, order: &[u32]) -> Self {
        let Self { block_tokens, ref prompts, ref outputs } = *self;
        Self { block_tokens, prompts: prompts.select(order), outputs: outputs.select(order) }
    }
}

/// Columns that only some files carry. Each is empty or has an entry a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceMetadata {
    /// The conversation or agent run that a request belongs to.
    pub session: Labels,
    /// Whether session names that are numbers were numbers in the file, and not texts.
    pub numbered_sessions: bool,
    /// Number of the request in its session, from 1.
    pub turn: Vec<u32>,
    /// The model that answered.
    pub model: Labels,
    /// What kind of request the file says it is: BurstGPT's log type, Bailian's type.
    pub kind: Labels,
    /// Its prompt as prefix blocks.
    pub prefix: PrefixBlocks,
    /// What became of drafts for it.
    pub drafts: RecordedDrafts,
    /// Seconds that the original system took; NaN where the file does not say.
    pub recorded_latency_s: Vec<f64>,
    /// Whether a request's output length was unknown in the file, so that the one in the trace was set by the reader.
    pub assumed_output: Vec<bool>,
    /// Whether a request asks for an output of its whole `max_tokens` (`ignore_eos`); empty where none does.
    pub ignores_eos: Vec<bool>,
    /// The data-parallel rank that a request asks for (vLLM's `data_parallel_rank`), [`NO_RANK`]: any; empty where none asks.
    pub rank: Vec<u16>,
    /// What happens to its KV transfer.
    pub transfers: RecordedTransfers,
    /// Whether it is a chunk of its session's input.
    pub streamed: StreamedInput,
    /// What else a file says about each request: an object in JSON, or "".
    pub details: Vec<String>,
    /// What happened between requests.
    pub events: Events,
}

impl TraceMetadata {
    /// Whether no column is there.
    pub fn is_empty(&self) -> bool {
        self.session.is_empty()
            && self.turn.is_empty()
            && self.model.is_empty()
            && self.kind.is_empty()
            && self.prefix.is_empty()
            && self.drafts.is_empty()
            && self.recorded_latency_s.is_empty()
            && self.assumed_output.is_empty()
            && self.ignores_eos.is_empty()
            && self.rank.is_empty()
            && self.transfers.is_empty()
            && self.streamed.is_empty()
            && self.details.is_empty()
            && self.events.is_empty()
    }

    /// Whether the output length of request `id` was unknown in the file that it was read from.
    pub fn is_output_assumed(&self, id: usize) -> bool {
        self.assumed_output.get(id).copied().unwrap_or(false)
    }

    /// The data-parallel rank that request `id` asks for.
    pub fn rank_of(&self, id: usize) -> Option<u16> {
        self.rank.get(id).copied().filter(|&rank| rank != NO_RANK)
    }

    /// Empties columns in which no request has an entry.
    pub(super) fn drop_blank_columns(&mut self) {
        for labels in [&mut self.session, &mut self.model, &mut self.kind] {
            if labels.index.iter().all(|&place| place == NO_LABEL) {
                *labels = Labels::default();
            }
        }
        if self.recorded_latency_s.iter().all(|t| t.is_nan()) {
            self.recorded_latency_s.clear();
        }
        if !self.assumed_output.contains(&true) {
            self.assumed_output.clear();
        }
        self.streamed = std::mem::take(&mut self.streamed).without_blanks();
        if self.details.iter().all(String::is_empty) {
            self.details.clear();
        }
    }

    /// The columns of several traces after one another, each with its number of requests, and whether their prefix blocks
    /// have one size; blocks of different sizes are left out. Under `separate`, sessions and blocks of different traces
    /// differ, whatever their names: sessions are named `2/name` from the second trace on, blocks are numbered again.
    pub fn joined(parts: &[(Option<&Self>, usize)], separate: bool) -> (Self, bool) {
        let mut sizes = parts.iter().filter_map(|(metadata, _)| *metadata).filter(|e| !e.prefix.is_empty());
        let size = sizes.next().map_or(0, |metadata| metadata.prefix.block_tokens);
        let one_size = sizes.all(|metadata| metadata.prefix.block_tokens == size);
        let (mut session, mut model, mut kind) =
            (LabelMaker::default(), LabelMaker::default(), LabelMaker::default());
        let mut prefix = PrefixBlocks::new(size);
        let tells_outputs =
            parts.iter().any(|(part, _)| part.is_some_and(|part| !part.prefix.outputs.is_empty()));
        let (mut turn, mut recorded_latency_s, mut details) = (Vec::new(), Vec::new(), Vec::new());
        let mut assumed_output = Vec::new();
        let mut ignores_eos = Vec::new();
        let mut rank = Vec::new();
        let mut events = Events::default();
        let mut drafts = RecordedDrafts::default();
        let mut transfers = RecordedTransfers::default();
        let mut streamed = StreamedInput::default();
        let mut numbers: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        let nothing = Self::default();
        for (file, (metadata, requests)) in parts.iter().enumerate() {
            let metadata = metadata.unwrap_or(&nothing);
            let renamed = |name: &str| {
                if separate && file > 0 { format!("{}/{name}", file + 1) } else { name.to_owned() }
            };
            events.append(&metadata.events, turn.len());
            for id in 0..*requests {
                session.push(metadata.session.name(id).map(renamed).as_deref());
                model.push(metadata.model.name(id));
                kind.push(metadata.kind.name(id));
                turn.push(metadata.turn.get(id).copied().unwrap_or(0));
                recorded_latency_s.push(metadata.recorded_latency_s.get(id).copied().unwrap_or(f64::NAN));
                assumed_output.push(metadata.is_output_assumed(id));
                ignores_eos.push(metadata.ignores_eos.get(id).copied().unwrap_or(false));
                rank.push(metadata.rank_of(id).unwrap_or(NO_RANK));
                drafts.append(&metadata.drafts, id);
                transfers.append(&metadata.transfers, id);
                streamed.append(&metadata.streamed, id);
                details.push(metadata.details.get(id).cloned().unwrap_or_default());
                let mut renumbered = |block: u64| {
                    let next = numbers.len() as u64;
                    if separate { *numbers.entry((file, block)).or_insert(next) } else { block }
                };
                prefix.push(metadata.prefix.of(id).iter().map(|&block| renumbered(block)));
                if tells_outputs {
                    let output = metadata.prefix.outputs.of(id).iter();
                    prefix.outputs.push(output.map(|&block| renumbered(block)));
                }
            }
        }
        let any = |has: fn(&Self) -> bool| parts.iter().filter_map(|(metadata, _)| *metadata).any(has);
        let metadata = Self {
            session: session.finish(),
            numbered_sessions: parts.iter().filter_map(|(e, _)| *e).any(|e| e.numbered_sessions)
                && parts.iter().filter_map(|(e, _)| *e).all(|e| e.numbered_sessions || e.session.is_empty()),
            turn: if any(|e| !e.turn.is_empty()) { turn } else { Vec::new() },
            model: model.finish(),
            kind: kind.finish(),
            prefix: if size > 0 && one_size { prefix } else { PrefixBlocks::default() },
            drafts: if drafts.is_empty() { RecordedDrafts::default() } else { drafts },
            recorded_latency_s,
            assumed_output: if assumed_output.contains(&true) { assumed_output } else { Vec::new() },
            ignores_eos: if ignores_eos.contains(&true) { ignores_eos } else { Vec::new() },
            rank: if rank.iter().any(|&rank| rank != NO_RANK) { rank } else { Vec::new() },
            transfers: transfers.without_blanks(),
            streamed: streamed.without_blanks(),
            details,
            events,
        };
        (metadata, one_size)
    }

    /// The columns of the requests named by `order`, in that order.
    pub fn select(&self, order: &[u32]) -> Self {
        Self {
            session: self.session.select(order),
            numbered_sessions: self.numbered_sessions,
            turn: select(&self.turn, order),
            model: self.model.select(order),
            kind: self.kind.select(order),
            prefix: self.prefix.select(order),
            drafts: self.drafts.select(order),
            recorded_latency_s: select(&self.recorded_latency_s, order),
            assumed_output: select(&self.assumed_output, order),
            ignores_eos: select(&self.ignores_eos, order),
            rank: select(&self.rank, order),
            transfers: self.transfers.select(order),
            streamed: self.streamed.select(order),
            details: if self.details.is_empty() {
                Vec::new()
            } else {
                order.iter().map(|&id| self.details[id as usize].clone()).collect()
            },
            events: self.events.select(order),
        }
    }
}

fn select<T: Copy>(column: &[T], order: &[u32]) -> Vec<T> {
    if column.is_empty() { Vec::new() } else { order.iter().map(|&id| column[id as usize]).collect() }
}
