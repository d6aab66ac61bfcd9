//! Hostile bytes. Each case must end in an error or a table, within two seconds and within its memory.
//! Rows that were read must be usable.

#![allow(clippy::unwrap_used)]

mod claims;
mod crafted;
mod meter;
mod replay;
mod use_table;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use colonnade_core::decode::Decoder;
use colonnade_core::wire::{DecodeError, Limits, survey_file, survey_stream};

/// Prints even if the test passes. The output of `println!` is hidden then.
macro_rules! tell {
    ($($what:tt)*) => {
        writeln!(std::io::stdout(), $($what)*).unwrap()
    };
}

/// The memory budget of rows.
const BUDGET_BYTES: u64 = 16 << 20;
/// The maximum memory of a case: rows, the message being read, and everything derived from them.
const CAP_BYTES: usize = 64 << 20;
/// On a slow processor; a quick one takes half of it.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Decodes `bytes`, and uses the resulting rows.
fn run(bytes: &[u8]) -> Result<(), DecodeError> {
    let mut decoder = Decoder::new(BUDGET_BYTES, Limits::of_memory());
    let result = decoder.push(bytes).and_then(|_| decoder.finish());
    use_table::use_table(&decoder);
    result
}

/// One way to damage a stream.
#[derive(Debug, Clone, Copy)]
enum Damage {
    None,
    FlipBit(usize),
    CutAt(usize),
}

impl Damage {
    fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::None => {}
            Self::FlipBit(bit) => bytes[bit / 8] ^= 1 << (bit % 8),
            Self::CutAt(end) => bytes.truncate(end),
        }
        bytes
    }
}

/// Runs `cases` of `streams` on two threads. Returns their outcomes: an error code, or `table`.
fn run_all(
    streams: &[(String, Vec<u8>)],
    cases: &[(usize, Damage)],
    run: fn(&[u8]) -> Result<(), String>,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![String::new(); cases.len()]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(stream, damage)) = cases.get(index) else {
                        break;
                    };
                    let (name, bytes) = &streams[stream];
                    let bytes = damage.apply(bytes);
                    let case = || meter::measure(|| run(&bytes));
                    let (outcome, cost) = std::panic::catch_unwind(case)
                        .unwrap_or_else(|_| panic!("{name} with {damage:?} panics"));
                    assert!(
                        cost.time <= TIME_LIMIT,
                        "{name} with {damage:?} takes {:?}",
                        cost.time
                    );
                    assert!(
                        cost.peak_bytes <= CAP_BYTES,
                        "{name} with {damage:?} holds {} bytes; the cap is {CAP_BYTES}",
                        cost.peak_bytes
                    );
                    outcomes.lock().unwrap()[index] = outcome.err().unwrap_or("table".into());
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

/// How often each outcome occurred.
fn count(outcomes: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome.as_str()).or_default() += 1;
    }
    counts
}

fn decoded(bytes: &[u8]) -> Result<(), String> {
    run(bytes).map_err(|error| error.kind.code().to_owned())
}

/// The files of a folder with this extension, in order.
fn read_folder(folder: &Path, extension: &str) -> Vec<(String, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(extension))
        .collect();
    paths.sort();
    let read = |path: PathBuf| (path.display().to_string(), fs::read(&path).unwrap());
    paths.into_iter().map(read).collect()
}

fn small_streams() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/small");
    let streams = read_folder(&folder, ".arrows");
    assert!(streams.len() >= 10, "fixtures/small is not complete");
    streams
}

#[test]
fn small_streams_are_whole() {
    for (name, bytes) in small_streams() {
        run(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn every_flipped_bit_ends_in_an_error_or_a_table() {
    let streams = small_streams();
    let cases: Vec<(usize, Damage)> = streams
        .iter()
        .enumerate()
        .flat_map(|(stream, (_, bytes))| {
            (0..bytes.len() * 8).map(move |bit| (stream, Damage::FlipBit(bit)))
        })
        .collect();
    let outcomes = run_all(&streams, &cases, decoded);
    tell!("{} flipped bits: {:?}", cases.len(), count(&outcomes));
    replay::write_outcomes("flipped bits", &outcomes);
}

#[test]
fn every_cut_ends_in_an_error() {
    let streams = small_streams();
    let cases: Vec<(usize, Damage)> = streams
        .iter()
        .enumerate()
        .flat_map(|(stream, (_, bytes))| {
            (0..bytes.len()).map(move |end| (stream, Damage::CutAt(end)))
        })
        .collect();
    let outcomes = run_all(&streams, &cases, decoded);
    let counts = count(&outcomes);
    tell!("{} cuts: {counts:?}", cases.len());
    replay::write_outcomes("cuts", &outcomes);
    let cut_codes = ["missing_end_of_stream", "truncated_message"];
    assert!(counts.keys().eq(&cut_codes), "{counts:?}");
}

#[test]
fn inputs_that_once_crashed_a_reader_end_in_an_error_or_a_table() {
    let Ok(folder) = std::env::var("COLONNADE_CONFORMANCE") else {
        tell!("COLONNADE_CONFORMANCE is not set: the hostile streams are left out");
        return;
    };
    let streams = read_folder(&Path::new(&folder).join("arrow/fuzz-stream"), "");
    assert!(!streams.is_empty());
    let cases: Vec<_> = (0..streams.len()).map(|at| (at, Damage::None)).collect();
    let outcomes = run_all(&streams, &cases, decoded);
    tell!("{} hostile streams: {:?}", cases.len(), count(&outcomes));
    let outcomes = run_all(&streams, &cases, |bytes| {
        let limits = Limits::of_memory();
        let stream = survey_stream(std::io::Cursor::new(bytes), &limits);
        let file = survey_file(std::io::Cursor::new(bytes), &limits);
        stream
            .map(drop)
            .or(file.map(drop))
            .map_err(|_| "refused".into())
    });
    tell!(
        "{} hostile streams surveyed: {:?}",
        cases.len(),
        count(&outcomes)
    );
}
