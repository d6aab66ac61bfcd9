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
        .input_bytes("colonnade_wasm", without_unshown(module)?)
        .out_name("colonnade_wasm")
        .web(true)?
        .typescript(true)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(out_dir)?;
    Ok(())
}

/// The types that nothing shows by their debug output, although arrow-rs requires the code.
const UNSHOWN: [&str; 4] = [
    "arrow_array..",
    "arrow_data..",
    "arrow_buffer..",
    "arrow_schema..error..",
];

/// The module, in which the types of [`UNSHOWN`] write nothing as debug output, and integers of any size, which are in
/// that of decimals, write nothing at all.
fn without_unshown(path: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut module = Module::from_file(path)?;
    let is_unshown = |name: &str| {
        let is_debug = name.contains("core..fmt..Debug$GT$3fmt17h");
        let is_integer = name.contains("num_bigint..bigint..BigInt$u20$as$u20$core..fmt..Display");
        is_integer || is_debug && UNSHOWN.iter().any(|of_type| name.contains(of_type))
    };
    let functions = module.funcs.iter_local();
    let unshown: Vec<(FunctionId, Vec<_>)> = functions
        .filter(|(id, _)| {
            module
                .funcs
                .get(*id)
                .name
                .as_deref()
                .is_some_and(is_unshown)
        })
        .map(|(id, function)| (id, function.args.clone()))
        .collect();
    for (id, arguments) in unshown {
        let parameters = vec![ValType::I32; arguments.len()];
        let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &[ValType::I32]);
        // `Ok(())` of `fmt::Result`.
        builder.func_body().i32_const(0);
        module.funcs.get_mut(id).kind = FunctionKind::Local(builder.local_func(arguments));
    }
    Ok(module.emit_wasm())
}
