//! Build steps in Rust.
//!
//! `cargo run --release -p xtask -- bindgen MODULE.wasm OUT_DIR` writes the JavaScript and the types
//! for the module, as `wasm-bindgen --target web` does, without installing that command.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str = "usage: xtask bindgen MODULE.wasm OUT_DIR";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, module, out_dir] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if command != "bindgen" {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    match bindgen(module, out_dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{module}: cannot write its JavaScript: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bindgen(module: &str, out_dir: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .out_name("colonnade_wasm")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out_dir)?;
    Ok(())
}
