//! Compiles the crate again when the dashboard was built again.

use std::path::Path;

fn main() {
    let built = "../web/dashboard/dist";
    // A path that does not exist would make every build start from here.
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
