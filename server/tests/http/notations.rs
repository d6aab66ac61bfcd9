//! Numbers and dates in the notations of other countries, and readings that a request asks for.

use std::fs;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

const ORDERS: &str = "Datum;Betrag;Menge;Preis;Tag\n\
    08.01.2026 14:05;2.535,04;1.000;1.234;01.02.2026\n\
    31.12.2025 09:30;-17,5;12.500;5.678;03.04.2026\n";

/// The type of each column, and its metadata about readings.
fn columns(rows: &RecordBatch) -> Vec<String> {
    let fields = rows.schema_ref().fields().iter();
    let shown = fields.map(|field| {
        let readings = field.metadata().values().cloned().collect::<String>();
        format!("{} {readings}", field.data_type())
    });
    shown.collect()
}

fn row(rows: &RecordBatch, row: usize) -> Vec<String> {
    let columns = rows.columns().iter();
    columns
        .map(|column| array_value_to_string(column, row).unwrap())
        .collect()
}

async fn serve(folder: &TempDir, text: &str, options: &str) -> Server {
    fs::write(folder.path().join("orders.csv"), text).unwrap();
    let path = path(folder.path(), "orders.csv");
    Server::of_files(&[format!("orders={path}{options}")]).await
}

const BOTH_NUMBERS: &str = r#"Utf8 ["number(.)","number(,)"]"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_only_reading_is_taken_and_others_are_named() {
    let folder = TempDir::new().unwrap();
    let server = serve(&folder, ORDERS, "").await;
    let rows = server.get("/v1/tables/orders/rows").await.rows();
    let expected = [
        "Timestamp(s) date(DD.MM.YYYY)",
        "Decimal128(18, 2) number(,)",
        BOTH_NUMBERS,
        BOTH_NUMBERS,
        r#"Utf8 ["date(DD.MM.YYYY)","date(MM.DD.YYYY)"]"#,
    ];
    assert_eq!(columns(&rows), expected);
    let first = [
        "2026-01-08T14:05:00",
        "2535.04",
        "1.000",
        "1.234",
        "01.02.2026",
    ];
    assert_eq!(row(&rows, 0), first);
    let sum = server
        .sql("SELECT sum(\"Betrag\") FROM orders")
        .await
        .rows();
    assert_eq!(row(&sum, 0), ["2517.54"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_says_how_columns_are_read() {
    let folder = TempDir::new().unwrap();
    let server = serve(&folder, ORDERS, "").await;
    let rows = "/v1/tables/orders/rows?columns=Menge,Preis,Tag";
    let types = "types=Menge:number(,),Tag:date(DD.MM.YYYY)";
    let read = server.get(&format!("{rows}&{types}")).await.rows();
    assert_eq!(row(&read, 1), ["12500", "5.678", "2026-04-03"]);
    let expected = ["Int64 number(,)", BOTH_NUMBERS, "Date32 date(DD.MM.YYYY)"];
    assert_eq!(columns(&read), expected);

    let all = server
        .get(&format!("{rows}&decimal=.&dates=mdy"))
        .await
        .rows();
    assert_eq!(row(&all, 1), ["12.5", "5.678", "2026-03-04"]);

    let written = "delimiter=;&quote=%22&escape=%5C&comment=%23&header=true&null=NA&nan=false&encoding=utf-8&thousands=.";
    let commas = server.get(&format!("{rows}&{written}")).await.rows();
    assert_eq!(row(&commas, 1), ["12500", "5678", "03.04.2026"]);

    let big = "filter=%22Menge%22%20%3E%205000&sort=-Menge";
    let big = server.get(&format!("{rows}&{types}&{big}")).await.rows();
    assert_eq!((big.num_rows(), row(&big, 0)[0].as_str()), (1, "12500"));

    let named = json!({"table": format!("orders?{types}"), "columns": ["Menge"]});
    assert_eq!(row(&server.post(&named).await.rows(), 0), ["1000"]);

    let plain = server.get(rows).await.rows();
    assert_eq!(row(&plain, 1), ["12.500", "5.678", "03.04.2026"]);
    let listed = server.json("/v1/tables").await;
    assert_eq!(listed["tables"].as_array().unwrap().len(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_follows_its_file_and_its_results_stay() {
    let folder = TempDir::new().unwrap();
    let server = serve(&folder, "a\n1.234\n", "").await;
    let id = id(1);
    let read = format!("/v1/tables/orders/rows?types=a:number(,)&id={id}");
    assert_eq!(row(&server.get(&read).await.rows(), 0), ["1234"]);
    assert_eq!(row(&server.get(&read).await.rows(), 0), ["1234"]);
    let again = format!("/v1/query/{id}/rows?offset=0");
    assert_eq!(row(&server.get(&again).await.rows(), 0), ["1234"]);

    fs::write(folder.path().join("orders.csv"), "a\n5.678\n9.000\n").unwrap();
    let other = "/v1/tables/orders/rows?types=a:number(,)";
    assert_eq!(row(&server.get(other).await.rows(), 1), ["9000"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_readings_are_refused() {
    let folder = TempDir::new().unwrap();
    let server = serve(&folder, ORDERS, "").await;
    let rows = "/v1/tables/orders/rows";
    for options in [
        "decimal=;",
        "dates=ydm",
        "thousands=x",
        "decimal=,&thousands=,",
        "types=nothing:number(,)",
    ] {
        let refused = server.get(&format!("{rows}?{options}")).await;
        refused.assert_refused(400, "bad_parameter");
    }
    let unknown = server.get("/v1/tables/other/rows?decimal=,").await;
    unknown.assert_refused(404, "unknown_table");
    let wrong = server.get(&format!("{rows}?types=Betrag:number(.)")).await;
    assert_eq!(wrong.code(), "broken_row");
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_and_schema_files_say_how_they_are_written() {
    let folder = TempDir::new().unwrap();
    let text = "a;d\n1'234;01.02.26\n5'678,5;03.04.99\n";
    let server = serve(&folder, text, "?thousands='&dates=DD.MM.YY").await;
    let rows = server.get("/v1/tables/orders/rows").await.rows();
    assert_eq!(row(&rows, 1), ["5678.5", "1999-04-03"]);

    let options = json!({"decimal": ",", "thousands": ".", "dates": "%d/%m/%Y"});
    let file = folder.path().join("orders.csv.schema.json");
    fs::write(file, options.to_string()).unwrap();
    let server = serve(&folder, "a;d\n1.234;01/02/2026\n", "").await;
    let rows = server.get("/v1/tables/orders/rows").await.rows();
    assert_eq!(row(&rows, 0), ["1234", "2026-02-01"]);
    let rows = server.get("/v1/tables/orders/rows?dates=mdy").await.rows();
    assert_eq!(row(&rows, 0), ["1234", "2026-01-02"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_value_that_contradicts_is_an_error_with_its_line() {
    let folder = TempDir::new().unwrap();
    let filler = "x".repeat(500);
    let mut text = "a;b\n".to_owned();
    text.push_str(&format!("1,5;{filler}\n").repeat(21_000));
    text.push_str(&format!("1,234.5;{filler}\n"));
    let server = serve(&folder, &text, "").await;
    let failed = server.get("/v1/tables/orders/rows").await;
    assert!(!failed.is_complete());
    let id = failed.header("x-query-id").to_owned();
    let record = server.until_state(&id, "failed").await;
    let message = record["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("line 21002") && message.contains("1,234.5"),
        "{message}"
    );
    let rows = server.get("/v1/tables/orders/rows?limit=1").await.rows();
    assert_eq!(columns(&rows)[0], "Utf8 ");
}
