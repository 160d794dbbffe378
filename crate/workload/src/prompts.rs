//! Prompts: the texts that stand for a trace's lengths, and the request bodies that carry them.
//!
//! A trace says how long prompts are; a server under test wants words. They come from a collection of real prompts
//! ([`collection`], [`choice`]) or are made to length ([`synthesis`]), lengths being counted by a [`CountTokens`]. How
//! answers are drawn is [`sampling`]; what is sent, form by form, is [`bodies`].

pub mod bodies;
pub mod choice;
pub mod collection;
pub mod form;
pub mod sampling;
pub mod synthesis;
pub mod tokens;
mod words;

pub use bodies::{BodyError, BodyLines, BodyOptions, Endpoint};
pub use collection::{Collection, Prompt, Session};
pub use form::Form;
pub use sampling::Sampling;
pub use synthesis::Synthesis;
pub use tokens::{CharactersPerToken, CountTokens};
