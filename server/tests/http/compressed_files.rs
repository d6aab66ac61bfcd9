//! Compressed files are read to their end, or the answer is an error.

use std::fs;
use std::io::Write;

use colonnade_server::source::open_all;
use flate2::write::GzEncoder;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;
use crate::uploads::put;

/// Drawn files of each compression, in `npm test` and in all tests.
const NUM_CASES: usize = 100;
const FULL_CASES: usize = 1500;

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A frame that readers skip, RFC 8878.
fn skippable(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    [&[0x5A, 0x2A, 0x4D, 0x18], &length[..], content].concat()
}

fn lines(num_rows: u64) -> String {
    let lines = (0..num_rows).map(|n| format!("{{\"n\":{n}}}\n"));
    lines.collect()
}

#[derive(Debug)]
struct Case {
    file: Vec<u8>,
    num_rows: u64,
    /// What is wrong with the file.
    damage: &'static str,
}

fn draw(random: &mut Random, is_gzip: bool) -> Case {
    let most_rows = [5, 200, 20_000][random.below(3) as usize];
    let num_rows = 1 + random.below(most_rows);
    let text = lines(num_rows);
    let num_members = 1 + random.below(6);
    let cut = |_| random.below(text.len() as u64 + 1) as usize;
    let mut ends: Vec<_> = (1..num_members).map(cut).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut file = Vec::new();
    // After which byte a shorter file would be sound too.
    let mut sound = vec![0];
    let mut start = 0;
    for end in ends {
        let part = &text.as_bytes()[start..end];
        start = end;
        if is_gzip {
            file.extend(gzip(part));
        } else {
            if random.below(3) == 0 {
                let length = random.below(2000) as usize;
                file.extend(skippable(&text.as_bytes()[..length.min(text.len())]));
                sound.push(file.len());
            }
            file.extend(zstandard(part));
        }
        sound.push(file.len());
    }
    let damage = match random.below(4) {
        0 => {
            // With its first bytes, which show what it is.
            let length = 8 + random.below(file.len() as u64 - 8) as usize;
            file.truncate(length);
            if sound.contains(&length) {
                file.push(b'{');
            }
            "cut"
        }
        1 => {
            let length = 1 + random.below(40) as usize;
            file.extend((0..length).map(|_| b'a' + random.below(26) as u8));
            "followed by something else"
        }
        _ => "",
    };
    Case {
        file,
        num_rows,
        damage,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_is_read_or_an_error_says_why_not() {
    let seed = setting("COLONNADE_SEED").unwrap_or(1);
    println!("COLONNADE_SEED={seed}");
    let mut random = Random(seed | 1 << 40);
    let is_full = std::env::var_os("COLONNADE_FULL").is_some();
    let num_cases = if is_full { FULL_CASES } else { NUM_CASES };
    for extension in ["gz", "zst"] {
        let folder = TempDir::new().unwrap();
        let data_dir = folder.path().join("data");
        let cases: Vec<_> = (0..num_cases)
            .map(|_| draw(&mut random, extension == "gz"))
            .collect();
        let files = cases.iter().enumerate().map(|(number, case)| {
            let name = format!("t{number}.ndjson.{extension}");
            fs::write(folder.path().join(&name), &case.file).unwrap();
            path(folder.path(), &name)
        });
        let mut config = config();
        config.writable = true;
        config.data_dir = Some(data_dir);
        let server = Server::start(&config, open_all(&files.collect::<Vec<_>>()).unwrap()).await;
        for (number, case) in cases.iter().enumerate() {
            let context = format!("seed {seed}, {extension} {number}: {}", case.damage);
            let rows = server.get(&format!("/v1/tables/t{number}/rows")).await;
            let count = server.sql(&format!("select count(*) from t{number}")).await;
            let uploaded = match number % 10 {
                0 => Some(put(&server, &format!("u{number}"), &case.file).await),
                _ => None,
            };
            if case.damage.is_empty() {
                assert!(rows.has_numbers(0..case.num_rows as i64), "{context}");
                assert_eq!(count.numbers(), [case.num_rows as i64], "{context}");
                assert!(uploaded.is_none_or(|uploaded| uploaded.status == 201));
            } else {
                assert!(rows.status != 200 || !rows.is_complete(), "{context}");
                assert_eq!(count.status, 422, "{context}");
                // 415 if there is no text before the damage.
                assert!(uploaded.is_none_or(|answer| matches!(answer.status, 400 | 415)));
            }
        }
    }
}

/// The types of the columns come from the start of a large file, so its damage is met by readers of its rows.
#[tokio::test(flavor = "multi_thread")]
async fn rows_before_a_damage_are_sent() {
    let folder = TempDir::new().unwrap();
    let text = lines(1_000_000);
    let (start, end) = text.as_bytes().split_at(text.len() / 2);
    let mut files = Vec::new();
    for (name, pack) in [("gz", gzip as fn(&[u8]) -> Vec<u8>), ("zst", zstandard)] {
        let whole = [pack(start), pack(end)].concat();
        let cut = &whole[..whole.len() - 5];
        let followed = [&whole, &b"not compressed"[..]].concat();
        for (kind, bytes) in [("whole", &whole[..]), ("cut", cut), ("followed", &followed)] {
            let name = format!("{kind}_{name}.ndjson.{name}");
            fs::write(folder.path().join(&name), bytes).unwrap();
            files.push(path(folder.path(), &name));
        }
    }
    let server = Server::of_files(&files).await;
    for name in ["gz", "zst"] {
        let whole = server.get(&format!("/v1/tables/whole_{name}/rows")).await;
        assert!(whole.has_numbers(0..1_000_000), "{name}");
        for (kind, message) in [
            ("cut", "end too early"),
            ("followed", "are damaged near byte"),
        ] {
            let query = id(if kind == "cut" { 1 } else { 2 } + 2 * u32::from(name == "gz"));
            let rows = server
                .get(&format!("/v1/tables/{kind}_{name}/rows?id={query}"))
                .await;
            assert!(!rows.is_complete(), "{kind} {name}");
            let read = readable(&rows.body);
            assert!(read.len() > 500_000, "{kind} {name}: {}", read.len());
            assert!(read.iter().copied().eq(0..read.len() as i64));
            let record = server.json(&format!("/v1/query/{query}")).await;
            let error = record["error"].to_string();
            assert!(error.contains(message), "{record}");
            assert!(
                error.contains(&format!("{kind}_{name}.ndjson.{name}")),
                "{record}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_is_skipped_can_be_the_first() {
    let folder = TempDir::new().unwrap();
    let text = "a,b\n1,2\n3,4\n";
    let file = [
        skippable(b"index"),
        zstandard(text.as_bytes()),
        skippable(b""),
    ]
    .concat();
    for name in ["t.csv.zst", "unnamed"] {
        fs::write(folder.path().join(name), &file).unwrap();
        let server = Server::of_files(&[path(folder.path(), name)]).await;
        let table = name.split('.').next().unwrap();
        let rows = server.post(&json!({ "table": table })).await;
        assert_eq!(rows.numbers(), [1, 3], "{name}");
    }
}
