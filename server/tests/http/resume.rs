//! Readers that repeatedly lose their connection, and continue at their row.

use std::sync::Arc;

use colonnade_server::AppConfig;
use colonnade_server::source::open_all;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StructArray};
use datafusion::arrow::array::{ListBuilder, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field};
use serde_json::{Value, json};

use crate::messages::{joined, rows};
use crate::support::*;
use crate::wire::words;

const NUM_CUTS: u32 = 250;

/// How a connection ends early.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The reader disconnects in the middle of a message.
    Abort,
    /// The same, with a reset.
    Reset,
    /// The reader stops reading for a while, then disconnects.
    Stall,
    /// The server restarts with the same folder.
    Restart,
}

struct Case {
    body: Value,
    num_rows: usize,
}

fn nested(start: i64, num_rows: i64) -> RecordBatch {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for k in start..start + num_rows {
        for item in 0..k % 4 {
            lists.values().append_value(format!("item {item} of {k}"));
        }
        lists.append(k % 5 != 0);
    }
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(start..start + num_rows));
    let structs = StructArray::from(vec![(
        Arc::new(Field::new("k", DataType::Int64, true)),
        Arc::clone(&numbers),
    )]);
    RecordBatch::try_from_iter([
        ("n", numbers),
        ("l", Arc::new(lists.finish()) as ArrayRef),
        ("s", Arc::new(structs) as ArrayRef),
    ])
    .unwrap()
}

/// Reads a result over connections that break, and returns its rows.
async fn read_with_cuts(
    start: impl AsyncFn() -> Server,
    server: &mut Server,
    case: &Case,
    number: u32,
    random: &mut Random,
) -> (RecordBatch, usize) {
    let id = id(number);
    let mut batches = Vec::new();
    let mut schema = None;
    let mut num_rows = 0;
    let mut num_cuts = 0;
    let mut request = case.body.clone();
    request["id"] = json!(id);
    request["linger_s"] = json!(60);
    request["batch_bytes"] = json!(16384);
    let request = request.to_string();
    loop {
        let json = [("content-type", "application/json")];
        let mut response = if schema.is_none() {
            server
                .ask("POST", "/v1/query", &json, request.as_bytes())
                .await
        } else {
            let path = format!("/v1/query/{id}/rows?offset={num_rows}&linger_s=60");
            server.open(&path).await
        };
        assert_eq!(response.status, 200, "{id} at row {num_rows}");
        let is_cut = num_cuts < 4;
        let until = random.below(200_000) as usize;
        let mut body = Vec::new();
        let is_whole = loop {
            if is_cut && body.len() > until {
                body.truncate(until);
                break false;
            }
            match response.chunk().await {
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) => break true,
                Err(error) => panic!("{id} at row {num_rows}: {error}"),
            }
        };
        if let Some((found, read)) = rows(&body) {
            let read: Vec<_> = read
                .into_iter()
                .filter(|batch| batch.num_rows() > 0)
                .collect();
            num_rows += read.iter().map(RecordBatch::num_rows).sum::<usize>();
            batches.extend(read);
            schema.get_or_insert(found);
        }
        if is_whole {
            let schema = schema.unwrap();
            return (joined(&schema, &batches), num_cuts);
        }
        num_cuts += 1;
        match [Cut::Abort, Cut::Reset, Cut::Stall, Cut::Restart][random.below(13) as usize % 4] {
            Cut::Abort => drop(response),
            Cut::Reset => response.reset(),
            Cut::Stall => {
                tokio::time::sleep(std::time::Duration::from_millis(random.below(20))).await;
            }
            Cut::Restart if random.below(8) == 0 => {
                drop(response);
                server.stop_and_wait().await;
                *server = start().await;
            }
            Cut::Restart => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_cuts_lose_double_and_reorder_nothing() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let csv = path(folder.path(), "plain.csv");
    let lines: String = (0..20_000)
        .map(|k| format!("{k},{},text {}\n", (k * 7919) % 1000, k % 97))
        .collect();
    std::fs::write(&csv, format!("n,m,t\n{lines}")).unwrap();
    let sources = [csv];
    let config = AppConfig {
        data_dir: Some(folder.path().join("data")),
        ..config()
    };
    let start = async || {
        let mut tables = open_all(&sources).unwrap();
        let letters = ["a", "b", "c", "d", "e"];
        let dictionary = (0..5).map(|part: i64| {
            let batches = (0..8).map(|k| {
                let words_now = &letters[..1 + (k as usize + part as usize) % 5];
                Step::Batch(words(part * 4000 + k * 500, 500, words_now))
            });
            batches.collect()
        });
        let schema = words(0, 1, &["a"]).schema();
        tables.push(scripted_as("dictionary", &schema, dictionary.collect()).0);
        let parts = (0..4).map(|part| {
            let batches = (0..10).map(|k| Step::Batch(nested(part * 5000 + k * 500, 500)));
            batches.collect()
        });
        let schema = nested(0, 1).schema();
        tables.push(scripted_as("nested", &schema, parts.collect()).0);
        Server::start(&config, tables).await
    };
    let mut server = start().await;
    let cases = [
        json!({ "table": "plain" }),
        json!({ "table": "plain", "sort": ["m"] }),
        json!({ "table": "dictionary" }),
        json!({ "table": "nested" }),
    ]
    .map(|body| Case {
        body,
        num_rows: 20_000,
    });
    let mut random = Random(seed);
    let mut number = 1;
    for case in &cases {
        let expected = server.post(&case.body).await.rows();
        assert_eq!(expected.num_rows(), case.num_rows);
        let mut num_cuts = 0;
        while num_cuts < NUM_CUTS as usize {
            let (read, cuts) = read_with_cuts(&start, &mut server, case, number, &mut random).await;
            assert_eq!(read, expected, "{} as query {number}", case.body);
            server
                .ask("DELETE", &format!("/v1/query/{}", id(number)), &[], b"")
                .await;
            num_cuts += cuts;
            number += 1;
        }
    }
}
