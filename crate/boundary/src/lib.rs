//! What the page's WebAssembly modules have in common.
//!
//! In goes one plain object by serde; out comes a summary the same way and columns as owned typed arrays. Errors are
//! thrown as `{ errors: [{ code, path, message, params }] }`. The TypeScript types are in `boundary.d.ts`. A trace goes from
//! one module to the other as columns.

pub mod chart_from_js;
pub mod convert;
pub mod inputs;
pub mod trace_from_js;
pub mod trace_to_js;
pub mod types;
