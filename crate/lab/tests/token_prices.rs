//! The file of token prices beside the page is what the engine computes; with `SERVESCOPE_BLESS` set it is written again.

use std::path::Path;

use servescope_lab::capacity::token_prices::{shipped, token_prices};

const FILE: &str = "static/published/token-prices.json";
const COMMAND: &str = "SERVESCOPE_BLESS=1 cargo test -p servescope-lab --test main token_prices";

#[test]
fn the_published_token_prices_are_what_the_engine_computes() {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let found = shipped(&token_prices(threads), COMMAND);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FILE);
    if std::env::var_os("SERVESCOPE_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the file can be written");
    }
    let written = std::fs::read_to_string(&path).expect("the file is there");
    assert!(written == found, "{FILE} is of other runs; {COMMAND} writes it again");
}
