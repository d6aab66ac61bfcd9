//! Globs of files with other columns, another order of columns, or other types.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use colonnade_server::source::open_all;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{Field, Fields};
use tempfile::TempDir;

use crate::support::*;

type Write = fn(&Path, &str, &RecordBatch) -> String;

fn ints(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A struct of these fields.
fn nested(columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let fields = columns
        .iter()
        .map(|(name, values)| Field::new(*name, values.data_type().clone(), false));
    let fields: Fields = fields.collect();
    let columns = columns.into_iter().map(|(_, values)| values).collect();
    Arc::new(StructArray::new(fields, columns, None))
}

async fn serve(folder: &TempDir, pattern: &str) -> Server {
    Server::of_files(&[format!("t={}", path(folder.path(), pattern))]).await
}

/// The rows of the table as CSV.
async fn csv(server: &Server, number: u32) -> String {
    let id = id(number);
    let rows = server.get(&format!("/v1/tables/t/rows?id={id}")).await;
    assert!(
        rows.is_complete(),
        "{}",
        String::from_utf8_lossy(&rows.body)
    );
    let file = server
        .get(&format!("/v1/query/{id}/export?format=csv"))
        .await;
    String::from_utf8(file.body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_have_the_widest_type_and_are_null_where_a_file_lacks_them() {
    let formats: [(&str, Write); 2] = [("parquet", write_parquet), ("arrow", write_arrow)];
    for (extension, write) in formats {
        let folder = TempDir::new().unwrap();
        let put = |name: &str, columns| {
            write(
                folder.path(),
                &format!("{name}.{extension}"),
                &rows(columns),
            );
        };
        put(
            "a",
            vec![
                ("n", ints(&[1, 2])),
                ("at", Arc::new(TimestampMillisecondArray::from(vec![1, 2]))),
                ("s", nested(vec![("x", ints(&[5, 6]))])),
            ],
        );
        put(
            "b",
            vec![
                ("at", Arc::new(TimestampMicrosecondArray::from(vec![3, 4]))),
                ("n", Arc::new(Int64Array::from(vec![i64::MAX, -3]))),
            ],
        );
        put(
            "c",
            vec![
                ("n", ints(&[7])),
                (
                    "s",
                    nested(vec![
                        ("y", Arc::new(StringArray::from(vec!["why"]))),
                        ("x", Arc::new(Int64Array::from(vec![1 << 40]))),
                    ]),
                ),
                ("f", Arc::new(Float64Array::from(vec![0.5]))),
            ],
        );
        let server = serve(&folder, &format!("*.{extension}")).await;
        let table = server.json("/v1/tables/t").await;
        let types = table["fields"].as_array().unwrap().iter();
        let types: Vec<_> = types.map(|field| field["type"].as_str().unwrap()).collect();
        let expected = [
            "int64",
            "timestamp[us]",
            "struct<x: int64 not null, y: string>",
            "double",
        ];
        assert_eq!(types, expected);
        let text = csv(&server, 1).await;
        let expected = [
            "n,at,s,f",
            "1,1970-01-01 00:00:00.001000,\"{\"\"x\"\":5,\"\"y\"\":null}\",",
            "2,1970-01-01 00:00:00.002000,\"{\"\"x\"\":6,\"\"y\"\":null}\",",
            "9223372036854775807,1970-01-01 00:00:00.000003,,",
            "-3,1970-01-01 00:00:00.000004,,",
            "7,,\"{\"\"x\"\":1099511627776,\"\"y\"\":\"\"why\"\"}\",0.5",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{extension}");
        for (sql, expected) in [
            ("select n from t where n > 5 order by n", vec![7, i64::MAX]),
            ("select n from t where s.x > 5 order by n", vec![2, 7]),
            (
                "select n from t where f is null and at < '1970-01-01T00:00:00.002' order by n",
                vec![-3, 1, i64::MAX],
            ),
            ("select count(*) from t", vec![5]),
        ] {
            assert_eq!(
                server.sql(sql).await.numbers(),
                expected,
                "{extension} {sql}"
            );
        }
        let part = server
            .get("/v1/tables/t/rows?offset=3&limit=2&columns=f,n")
            .await;
        assert_eq!(numbers(&part.rows(), 1), [-3, 7], "{extension}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_texts_are_found_by_their_names() {
    let folder = TempDir::new().unwrap();
    for (name, text) in [
        ("a.csv", "n,t,u\n1,a,x\n2,b,y\n"),
        ("b.csv", "u,n\nz,3\n"),
        ("c.csv", "t,n,more\nc,4.5,2024-01-31\n"),
        ("d.csv", ""),
        ("e.csv", "n\n5\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let server = serve(&folder, "*.csv").await;
    let expected = "n,t,u,more\n1,a,x,\n2,b,y,\n3,,z,\n4.5,c,,2024-01-31\n5,,,\n";
    assert_eq!(csv(&server, 1).await, expected);
    let more = server
        .sql("select count(*), count(t), count(more) from t")
        .await;
    let counts = (0..3).map(|column| numbers(&more.rows(), column)[0]);
    assert_eq!(counts.collect::<Vec<_>>(), [5, 3, 1]);
}

#[test]
fn files_without_a_common_column_or_type_are_refused() {
    let folder = TempDir::new().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    // A file without a header beside one that has it.
    put("a.csv", "n,t\n1,a\n");
    put("b.csv", "2,b\n3,c\n");
    write_parquet(folder.path(), "a.parquet", &rows(vec![("n", ints(&[1]))]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    write_parquet(folder.path(), "b.parquet", &rows(vec![("n", texts)]));
    write_arrow(folder.path(), "a.arrow", &rows(vec![("n", ints(&[1]))]));
    write_arrow(folder.path(), "b.arrow", &rows(vec![("m", ints(&[1]))]));
    // A column that the name of a folder states for files that lack it.
    fs::create_dir_all(folder.path().join("k=1")).unwrap();
    put("k=1/a.tsv", "k\tn\n7\t1\n");
    put("k=1/b.tsv", "n\tm\n1\t1\n");
    for (extension, expected) in [
        ("tsv", "k=1/b.tsv: column \"k\" is in other files"),
        ("csv", "b.csv: it has the columns [\"2\", \"b\"]"),
        (
            "parquet",
            "b.parquet: column \"n\" is Utf8, but Int32 in the files before it",
        ),
        (
            "arrow",
            "b.arrow: it has none of the columns of the files before it",
        ),
    ] {
        let error = open_all(&[path(folder.path(), &format!("**/*.{extension}"))]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
