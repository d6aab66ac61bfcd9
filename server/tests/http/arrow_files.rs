//! Record batches that are sent as they are stored in their file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use colonnade_core::wire::{Limits, Survey, survey_file};
use colonnade_server::AppConfig;
use datafusion::arrow::array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray,
    StringViewArray,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::writer::FileWriter;
use tempfile::TempDir;

use crate::messages::messages;
use crate::support::*;
use crate::wire::ARROW;

/// Rows of a batch of some 400 KB, and the number of batches.
const BATCH_ROWS: i64 = 16_000;
const NUM_BATCHES: i64 = 40;

fn numbered(start: i64) -> RecordBatch {
    let rows = start..start + BATCH_ROWS;
    let numbers = Int64Array::from_iter(rows.clone().map(|row| (row % 7 > 0).then_some(row)));
    let texts = rows
        .clone()
        .map(|row| (row % 5 > 0).then(|| format!("räw {row}")));
    let schema = Schema::new(vec![
        Field::new("row", DataType::Int64, false),
        Field::new("n", DataType::Int64, true),
        Field::new("t", DataType::Utf8, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows)),
        Arc::new(numbers),
        Arc::new(StringArray::from_iter(texts)),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn written(folder: &Path, name: &str) -> (PathBuf, RecordBatch) {
    let path = folder.join(name);
    let batches: Vec<_> = (0..NUM_BATCHES).map(|k| numbered(k * BATCH_ROWS)).collect();
    let mut writer =
        FileWriter::try_new(File::create(&path).unwrap(), &batches[0].schema()).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    (
        path,
        concat_batches(&batches[0].schema(), &batches).unwrap(),
    )
}

fn survey(path: &Path) -> Survey {
    survey_file(File::open(path).unwrap(), &Limits::default()).unwrap()
}

/// How many batches of `outcome` have the body of a batch of the file.
fn num_as_they_stand(path: &Path, outcome: &Outcome) -> usize {
    let file = fs::read(path).unwrap();
    let surveyed = survey(path).messages;
    let in_file: HashSet<_> = surveyed
        .iter()
        .map(|message| &file[message.body_start as usize..message.end as usize])
        .collect();
    messages(&outcome.body)
        .iter()
        .filter(|message| in_file.contains(message.body))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn record_batches_leave_as_they_stand_in_the_file() {
    let folder = TempDir::new().unwrap();
    let (path, all) = written(folder.path(), "t.arrow");
    let config = AppConfig {
        memory_bytes: 1 << 30,
        ..config()
    };
    let server = Server::following(&config, &[path.display().to_string()]).await;
    let rows = "/v1/tables/t/rows";

    let whole = server.get(&format!("{rows}?checksum=xxh3")).await;
    assert_eq!(whole.rows(), all);
    let num_batches = NUM_BATCHES as usize;
    assert!(num_as_they_stand(&path, &whole) > num_batches / 2);

    // From the middle of a batch to the middle of another.
    for (offset, limit) in [(100_001, 300_000), (320_000, 32_000), (639_999, 5)] {
        let some = server
            .get(&format!("{rows}?offset={offset}&limit={limit}"))
            .await;
        let expected = all.slice(offset, limit.min(all.num_rows() - offset));
        assert_eq!(some.rows(), expected, "{offset} {limit}");
    }

    // With other columns, another order, another size or compression, the batches are encoded again.
    for question in ["columns=t,row", "batch_bytes=65536", "batch_bytes=4194304"] {
        let other = server.get(&format!("{rows}?{question}")).await;
        let expected = match question {
            "columns=t,row" => all.project(&[2, 0]).unwrap(),
            _ => all.clone(),
        };
        assert_eq!(other.rows(), expected, "{question}");
        assert_eq!(num_as_they_stand(&path, &other), 0, "{question}");
    }
    let accept = format!("{ARROW}; codecs=zstd");
    let compressed = server.ask("GET", rows, &[("accept", &accept)], b"").await;
    let compressed = read(compressed).await;
    assert_eq!(compressed.rows(), all);
    let compressed = messages(&compressed.body);
    let mut batches = compressed.iter().filter(|message| message.num_rows > 0);
    assert!(batches.all(|message| message.codec.is_some()));
}

/// A value that must not be sent ends the stream before it, without a marker.
#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_not_sound_do_not_pass() {
    const AT: usize = 30;
    let folder = TempDir::new().unwrap();
    let (path, _) = written(folder.path(), "sound.arrow");
    let message = survey(&path).messages[AT];
    let bytes = fs::read(&path).unwrap();
    let body = message.body_start as usize..message.end as usize;
    let text = bytes[body.clone()]
        .windows(4)
        .position(|w| w == "räw".as_bytes());
    let text = body.start + text.unwrap();
    // The offsets of the texts are before them, the last one before the padding.
    let last = text - 64
        + bytes[text - 64..text]
            .iter()
            .rposition(|byte| *byte != 0)
            .unwrap();
    // The header counts the rows and the nulls of each column, here of the numbers.
    let num_nulls = numbered(AT as i64 * BATCH_ROWS).column(1).null_count() as i64;
    let counts = [BATCH_ROWS.to_le_bytes(), num_nulls.to_le_bytes()].concat();
    let header = message.start as usize..message.body_start as usize;
    let nulls = bytes[header.clone()].windows(16).position(|w| w == counts);
    let nulls = header.start + nulls.unwrap() + 8;
    let broken = [
        ("utf8", text + 1, 0xFF),
        ("offset", last, 0x7F),
        ("nulls", nulls, bytes[nulls] ^ 1),
    ];
    for (name, at, byte) in broken {
        let mut broken = bytes.clone();
        broken[at] = byte;
        fs::write(folder.path().join(format!("{name}.arrow")), broken).unwrap();
    }
    let server = Server::of_files(&[folder.path().display().to_string()]).await;
    for (number, (name, ..)) in broken.iter().enumerate() {
        let id = id(700 + number as u32);
        let outcome = server.get(&format!("/v1/tables/{name}/rows?id={id}")).await;
        assert!(!outcome.is_complete(), "{name}");
        let record = server.until_state(&id, "failed").await;
        assert_eq!(
            record["error"]["code"], "source_unreadable",
            "{name}: {record}"
        );
        let rows = readable(&outcome.body);
        assert!(rows.into_iter().eq(0..AT as i64 * BATCH_ROWS), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_null_of_a_dictionary_is_null() {
    let values = StringArray::from(vec![Some("a"), None, Some("b")]);
    let words = DictionaryArray::new(Int8Array::from(vec![0, 1, 2]), Arc::new(values));
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(Int64Array::from(vec![0, 1, 2]))),
        ("word", Arc::new(words)),
        ("view", Arc::new(StringViewArray::from(vec!["b", "b", "b"]))),
    ];
    let rows = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    );
    let rows = rows.unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.arrow");
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    let server = Server::of_files(&[path.display().to_string()]).await;
    for (condition, expected) in [
        ("word < view", vec![0]),
        ("word is null", vec![1]),
        ("arrow_cast(word, 'Utf8View') is null", vec![1]),
        ("word <> 'a'", vec![2]),
    ] {
        let sql = format!("select n from t where {condition}");
        assert_eq!(server.sql(&sql).await.numbers(), expected, "{sql}");
    }
}
