//! The contents of messages: metadata entries, compression, dictionaries.

use std::sync::Arc;

use colonnade_core::wire::integrity::xxh3_64;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{Int32Type, Schema};
use datafusion::arrow::ipc::{CompressionType, MessageHeader};
use serde_json::json;

use crate::messages::{joined, messages, rows};
use crate::support::*;

pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";

fn two_parts(num_rows: i64) -> Vec<Vec<Step>> {
    let part = |start| vec![Step::Rows { start, num_rows }];
    vec![part(0), part(num_rows)]
}

/// A batch with these words as dictionary; row k has word k modulo their number.
pub(crate) fn words(start: i64, num_rows: i64, words: &[&str]) -> RecordBatch {
    let keys = (0..num_rows).map(|k| (k % words.len() as i64) as i32);
    let dictionary = DictionaryArray::<Int32Type>::new(
        Int32Array::from_iter_values(keys),
        Arc::new(StringArray::from(words.to_vec())),
    );
    RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(start..start + num_rows)) as ArrayRef,
        ),
        ("d", Arc::new(dictionary) as ArrayRef),
    ])
    .unwrap()
}

/// Dictionaries that stay, grow and change, within a partition and between partitions.
pub(crate) fn dictionary_parts() -> (Arc<Schema>, Vec<Vec<Step>>) {
    let part = |batches: &[RecordBatch]| batches.iter().cloned().map(Step::Batch).collect();
    let first = [
        words(0, 3000, &["a", "b"]),
        words(3000, 3000, &["a", "b"]),
        words(6000, 3000, &["a", "b", "c"]),
    ];
    let second = [
        words(9000, 3000, &["x", "y", "z"]),
        words(12_000, 3000, &["x", "y", "z", "ü"]),
    ];
    let third = [words(15_000, 3000, &["x", "y", "z", "ü"])];
    let schema = first[0].schema();
    (schema, vec![part(&first), part(&second), part(&third)])
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<String> {
    let dictionary = batch.column(column).as_dictionary::<Int32Type>();
    let values = dictionary.values().as_string::<i32>();
    dictionary
        .keys_iter()
        .map(|key| values.value(key.unwrap()).to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_say_where_they_belong() {
    let (server, _) = Server::of_scripts(two_parts(40_000)).await;
    let outcome = server
        .get("/v1/tables/t/rows?checksum=xxh3&batch_bytes=16384&offset=700")
        .await;
    assert!(outcome.is_complete());
    let messages = messages(&outcome.body);
    let (schema, batches) = messages.split_first().unwrap();
    assert_eq!(schema.kind, MessageHeader::Schema);
    assert_eq!(schema.labels.seq, None);
    let mut row = 700;
    for (seq, message) in batches.iter().enumerate() {
        assert_eq!(message.labels.seq, Some(seq as u64));
        assert_eq!(message.labels.first_row, Some(row));
        assert_eq!(message.labels.xxh3, Some(xxh3_64(message.body)));
        row += message.num_rows;
    }
    assert_eq!(row, 80_000);
    let (last, before) = batches.split_last().unwrap();
    assert_eq!(last.num_rows, 0);
    assert_eq!(last.labels.total_rows, Some(80_000));
    assert_eq!(last.labels.total_batches, Some(before.len() as u64));
    assert!(
        before
            .iter()
            .all(|m| m.labels.total_rows.is_none() && m.num_rows > 0)
    );

    let plain = server.get("/v1/tables/t/rows?limit=5").await;
    let messages = crate::messages::messages(&plain.body);
    assert!(messages.iter().all(|message| message.labels.xxh3.is_none()));
    assert_eq!(messages.last().unwrap().labels.total_rows, Some(5));
    let refused = server.get("/v1/tables/t/rows?checksum=md5").await;
    refused.assert_refused(400, "bad_parameter");
    let body = json!({ "table": "t", "limit": 5, "checksum": "xxh3" });
    let posted = server.post(&body).await;
    let messages = crate::messages::messages(&posted.body);
    assert!(
        messages[1..]
            .iter()
            .all(|message| message.labels.xxh3.is_some())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_that_may_be_joined_say_so() {
    let snapshot = async |server: &Server, body: serde_json::Value| {
        let outcome = server.post(&body).await;
        let messages = messages(&outcome.body);
        assert!(messages[2..].iter().all(|m| m.labels.snapshot.is_none()));
        messages[1].labels.snapshot.unwrap()
    };
    let (first, _) = Server::of_scripts(two_parts(1000)).await;
    let (second, _) = Server::of_scripts(two_parts(1000)).await;
    let sorted = json!({ "table": "t", "sort": ["-n"] });
    let from_row = json!({ "table": "t", "sort": ["-n"], "offset": 77 });
    let one = snapshot(&first, sorted.clone()).await;
    assert_eq!(one, snapshot(&second, from_row).await, "the same rows");
    assert_ne!(one, snapshot(&first, json!({ "table": "t" })).await);
    let any_order = json!({ "sql": "select n % 9, count(*) from t group by 1" });
    assert_ne!(
        snapshot(&first, any_order.clone()).await,
        snapshot(&first, any_order).await,
        "another run may have another order"
    );
    let kept = json!({ "sql": "select n % 9, count(*) from t group by 1", "id": id(1) });
    let one = snapshot(&first, kept.clone()).await;
    assert_eq!(one, snapshot(&first, kept).await, "the same run");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_compressed_as_the_client_likes() {
    let (server, _) = Server::of_scripts(two_parts(40_000)).await;
    let plain = server.get("/v1/tables/t/rows").await;
    for (codecs, name, codec) in [
        ("; codecs=\"lz4, zstd\"", "lz4", CompressionType::LZ4_FRAME),
        ("; codecs=zstd", "zstd", CompressionType::ZSTD),
    ] {
        let accept = format!("{ARROW}{codecs}");
        let path = "/v1/tables/t/rows";
        let response = server.ask("GET", path, &[("accept", &accept)], b"").await;
        let outcome = read(response).await;
        assert_eq!(
            outcome.header("content-type"),
            format!("{ARROW}; codecs={name}")
        );
        assert_eq!(outcome.header("content-encoding"), "");
        assert_eq!(outcome.rows(), plain.rows());
        assert!(
            outcome.body.len() < plain.body.len() * 3 / 4,
            "{}",
            outcome.body.len()
        );
        let codecs: Vec<_> = messages(&outcome.body)
            .iter()
            .filter(|message| message.num_rows > 0)
            .map(|message| message.codec)
            .collect();
        assert!(codecs.iter().all(|c| *c == Some(codec)), "{codecs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_no_codec_is_given_none() {
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 50_000)]]).await;
    let accept = format!("{ARROW}; codecs=lz4");
    let path = format!("/v1/tables/t/rows?id={}", id(1));
    let first = read(server.ask("GET", &path, &[("accept", &accept)], b"").await).await;
    let again = server
        .get(&format!("/v1/query/{}/rows?offset=123", id(1)))
        .await;
    assert_eq!(again.header("content-type"), ARROW);
    let kinds = messages(&again.body);
    assert!(kinds.iter().all(|message| message.codec.is_none()));
    assert_eq!(again.rows(), first.rows().slice(123, 50_000 - 123));
    let same = format!("/v1/query/{}/rows", id(1));
    let same = read(server.ask("GET", &same, &[("accept", &accept)], b"").await).await;
    assert_eq!(same.body, first.body, "kept messages are sent unchanged");
}

#[tokio::test(flavor = "multi_thread")]
async fn dictionaries_stay_grow_and_change() {
    let (schema, parts) = dictionary_parts();
    let (table, _) = scripted_as("t", &schema, parts);
    let server = Server::of(vec![table]).await;
    let fields = server.json("/v1/tables/t").await;
    assert_eq!(
        fields["fields"][1]["type"],
        "dictionary<values=string, indices=int32, ordered=0>"
    );
    let path = format!("/v1/tables/t/rows?id={}&batch_bytes=16384", id(1));
    let outcome = server.get(&path).await;
    let kinds = messages(&outcome.body);
    let dictionaries: Vec<_> = kinds
        .iter()
        .filter(|message| message.kind == MessageHeader::DictionaryBatch)
        .collect();
    let deltas = dictionaries
        .iter()
        .filter(|message| message.is_delta)
        .count();
    assert!(deltas >= 1, "a dictionary that grows is sent as a delta");
    assert!(
        (3..=6).contains(&dictionaries.len()),
        "a dictionary is sent when it changes: {}",
        dictionaries.len()
    );
    let whole = outcome.rows();
    assert_eq!(numbers(&whole, 0), (0..18_000).collect::<Vec<_>>());
    let expected = texts(&whole, 1);
    assert_eq!(&expected[6000..6004], ["a", "b", "c", "a"]);
    assert_eq!(&expected[12_003..12_005], ["ü", "x"]);

    let mut random = Random(7);
    for _ in 0..40 {
        let offset = random.below(18_100);
        let limit = 1 + random.below(7000);
        let path = format!("/v1/query/{}/rows?offset={offset}&limit={limit}", id(1));
        let window = server.get(&path).await;
        assert!(window.is_complete(), "{path}");
        let (schema, batches) = rows(&window.body).unwrap();
        let window = joined(&schema, &batches);
        let start = offset.min(18_000) as usize;
        let end = (offset + limit).min(18_000) as usize;
        assert_eq!(texts(&window, 1), expected[start..end], "{path}");
        assert_eq!(window.num_rows(), end - start);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_result_has_its_dictionaries() {
    let (schema, parts) = dictionary_parts();
    let (table, _) = scripted_as("t", &schema, parts);
    let server = Server::of(vec![table]).await;
    let outcome = server.sql("select * from t where n < 0").await;
    let rows = outcome.rows();
    assert_eq!((rows.num_rows(), rows.num_columns()), (0, 2));
    assert!(rows.column(1).is_empty());
}
