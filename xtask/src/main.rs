//! Build steps in Rust.
//!
//! `cargo run --release -p xtask -- bindgen MODULE.wasm OUT_DIR` writes the JavaScript and the types
//! for the module, as `wasm-bindgen --target web` does, without installing that command.

use std::process::ExitCode;

use walrus::{FunctionBuilder, FunctionId, FunctionKind, Module, ValType};
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
        .input_bytes("colonnade_wasm", without_debug(module)?)
        .out_name("colonnade_wasm")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out_dir)?;
    Ok(())
}

/// The module, in which arrays write nothing as debug output. arrow-rs requires the code of every array,
/// but nothing shows arrays that way.
fn without_debug(path: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut module = Module::from_file(path)?;
    let is_debug = |name: &str| {
        let is_of_arrays = ["arrow_array", "arrow_data", "arrow_buffer"]
            .iter()
            .any(|of_crate| name.contains(&format!("{of_crate}..")));
        is_of_arrays && name.contains("core..fmt..Debug$GT$3fmt17h")
    };
    let functions = module.funcs.iter_local();
    let debug: Vec<(FunctionId, Vec<_>)> = functions
        .filter(|(id, _)| module.funcs.get(*id).name.as_deref().is_some_and(is_debug))
        .map(|(id, function)| (id, function.args.clone()))
        .collect();
    for (id, arguments) in debug {
        let parameters = vec![ValType::I32; arguments.len()];
        let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &[ValType::I32]);
        // `Ok(())` of `fmt::Result`.
        builder.func_body().i32_const(0);
        module.funcs.get_mut(id).kind = FunctionKind::Local(builder.local_func(arguments));
    }
    Ok(module.emit_wasm())
}
