//! Bounds the memory of each file: a damaged one ends there, instead of taking all that the browser has.

fn main() {
    let target = std::env::var("CARGO_CFG_TARGET_ARCH");
    if target.is_ok_and(|target| target == "wasm32") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={}", 1 << 30);
    }
    println!("cargo::rerun-if-changed=build.rs");
}
