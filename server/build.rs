//! Recompiles the crate when the dashboard has been rebuilt.

use std::path::Path;

fn main() {
    let built = "../web/dashboard/dist";
    // Cargo reruns this script on every build if a watched path does not exist.
    let watched = if Path::new(built).exists() {
        built
    } else {
        "../web/dashboard"
    };
    if Path::new(watched).exists() {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
