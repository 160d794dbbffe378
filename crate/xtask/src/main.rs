//! Placeholder while the module is written.
fn main() {}
