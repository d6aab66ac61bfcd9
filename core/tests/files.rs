//! Arrow files decode to the same table in byte order and by their footers. Truncated or damaged files
//! give an error or a table, never a panic.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use colonnade_core::decode::Decoder;
use colonnade_core::text::FixedOffsets;
use colonnade_core::wire::{DecodeError, DecodeErrorKind, Limits};

const MARKER: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The files of the fixtures, and the golden files if they are available.
fn files() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire");
    let mut folders = vec![fixtures];
    match std::env::var("COLONNADE_CONFORMANCE") {
        Ok(folder) => {
            let gold = std::fs::read_dir(Path::new(&folder).join("arrow/gold")).unwrap();
            folders.extend(gold.map(|set| set.unwrap().path()));
        }
        Err(_) => eprintln!("COLONNADE_CONFORMANCE is not set: the golden files are left out"),
    }
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            matches!(extension, Some("arrow" | "arrow_file"))
        })
        .collect();
    files.sort();
    files
}

fn decoder() -> Decoder {
    Decoder::new(64 << 20, Limits::default())
}

fn in_order(bytes: &[u8], chunk_bytes: usize) -> (Decoder, Result<(), DecodeError>) {
    let mut decoder = decoder();
    for chunk in bytes.chunks(chunk_bytes) {
        if let Err(error) = decoder.push(chunk) {
            return (decoder, Err(error));
        }
    }
    let end = decoder.finish();
    (decoder, end)
}

/// Reads by the footer, if the bytes end with one.
fn by_footer(bytes: &[u8]) -> Option<(Decoder, Result<(), DecodeError>)> {
    let rest = bytes.strip_suffix(b"ARROW1")?;
    let (rest, length) = rest.split_last_chunk::<4>()?;
    let start = rest
        .len()
        .checked_sub(usize::try_from(i32::from_le_bytes(*length)).ok()?)?;
    let mut decoder = decoder();
    let ranges = match decoder.open_file(&rest[start..], start as u64) {
        Ok(ranges) => ranges,
        Err(error) => return Some((decoder, Err(error))),
    };
    for range in ranges {
        let part = &bytes[range.start as usize..range.end as usize];
        if let Err(error) = decoder.push(part) {
            return Some((decoder, Err(error)));
        }
    }
    let end = decoder.push(&MARKER).and_then(|_| decoder.finish());
    Some((decoder, end))
}

/// All texts of a table, packed.
fn window(decoder: &Decoder) -> Vec<u8> {
    let Some(table) = decoder.table() else {
        return Vec::new();
    };
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let rows = 0..table.num_rows().min(1000);
    let window = table.window(rows, &columns, 0, &FixedOffsets);
    window.unwrap().bytes
}

#[test]
fn both_ways_give_the_same_rows() {
    let mut num_same = 0;
    for path in files() {
        let bytes = std::fs::read(&path).unwrap();
        let Some((wanted, Ok(()))) = by_footer(&bytes) else {
            continue;
        };
        for chunk_bytes in [1, 7, 4096] {
            let (decoder, end) = in_order(&bytes, chunk_bytes);
            match end {
                Ok(()) => {
                    assert_eq!(window(&decoder), window(&wanted), "{}", path.display());
                    num_same += 1;
                }
                // The footer lists the messages in another order.
                Err(error) => assert!(
                    matches!(
                        error.kind,
                        DecodeErrorKind::InvalidHeader | DecodeErrorKind::InvalidData
                    ),
                    "{}: {error}",
                    path.display()
                ),
            }
        }
    }
    assert!(num_same > 12);
}

#[test]
fn every_proper_prefix_is_an_error() {
    for path in files() {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 6_000 || in_order(&bytes, 4096).1.is_err() {
            continue;
        }
        for end in 0..bytes.len() {
            let error = in_order(&bytes[..end], 4096).1.unwrap_err();
            assert!(
                matches!(
                    error.kind,
                    DecodeErrorKind::MissingEndOfStream | DecodeErrorKind::TruncatedMessage
                ),
                "{} cut at {end}: {error}",
                path.display()
            );
        }
    }
}

#[test]
fn one_flipped_bit_never_panics() {
    for path in files() {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 1_500 {
            continue;
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            window(&in_order(&flipped, 4096).0);
            if let Some((decoder, _)) = by_footer(&flipped) {
                window(&decoder);
            }
        }
    }
}
