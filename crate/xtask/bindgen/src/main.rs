//! `servescope-bindgen FILE.wasm --target web --out-name NAME --out-dir FOLDER`, with the meaning that wasm-bindgen-cli gives it.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str = "usage: servescope-bindgen FILE.wasm --target web --out-name NAME --out-dir FOLDER";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [file, "--target", "web", "--out-name", name, "--out-dir", folder] = words[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let generated = bindgen.web(true).and_then(|bindgen| {
        bindgen
            .input_path(file)
            .out_name(name)
            .typescript(true)
            .demangle(true)
            .omit_default_module_path(false)
            .generate(folder)
    });
    match generated {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::FAILURE
        }
    }
}
