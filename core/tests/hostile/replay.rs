//! Writes streams and outcomes to the folder `COLONNADE_HOSTILE`, if it is set. `web/test/hostile.test.ts`
//! replays them through the built wasm module.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use colonnade_core::wire::DecodeError;

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("COLONNADE_HOSTILE")?);
    fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).unwrap();
}

/// Writes a stream to a file whose name begins with its outcome.
pub(crate) fn write_stream(bytes: &[u8], result: &Result<(), DecodeError>) {
    let Some(folder) = folder() else {
        return;
    };
    let outcome = result
        .as_ref()
        .map_or_else(|error| error.kind.code(), |()| "table");
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let name = format!("{outcome}-{:016x}.arrows", hasher.finish());
    write(&folder, &name, bytes);
}

/// Writes the outcome of each case of a kind, in their order.
pub(crate) fn write_outcomes(kind: &str, outcomes: &[String]) {
    if let Some(folder) = folder() {
        let json = serde_json::to_vec(outcomes).unwrap();
        write(&folder, &format!("{kind}.json"), &json);
    }
}
