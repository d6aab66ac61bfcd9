//! Results with several columns of one name.

use std::fs::File;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::writer::FileWriter;
use serde_json::json;
use tempfile::TempDir;

use crate::query::small;
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_a_statement_can_have_the_same_name() {
    let server = small().await;
    let limited = "from t order by n desc limit 2";
    for (sql, names, rows) in [
        (
            "select count(*), count(*) from t",
            &["count(*)", "count(*) (2)"][..],
            1,
        ),
        ("select n, n from t", &["n", "n (2)"], 1000),
        (
            "select t.n, n + 1, n, n + 1 from t",
            &["n", "n + 1", "n (2)", "n + 1 (2)"],
            1000,
        ),
        (&format!("select *, n {limited}"), &["n", "t", "n (2)"], 2),
        (
            &format!("select n as a, n + 1 as a {limited}"),
            &["a", "a (2)"],
            2,
        ),
        (
            "select n, n from t union all select n, n from t",
            &["n", "n (2)"],
            2000,
        ),
        (
            "select n = 1.50, n = 1.5 from t",
            &["n = 1.50", "n = 1.5"],
            1000,
        ),
        (
            "select a.n, b.n from t a join t b on a.n = b.n",
            &["n", "n (2)"],
            1000,
        ),
    ] {
        let batch = server.sql(sql).await.rows();
        let schema = batch.schema();
        let fields = schema.fields().iter().map(|field| field.name().as_str());
        assert_eq!(fields.collect::<Vec<_>>(), names, "{sql}");
        assert_eq!(batch.num_rows(), rows, "{sql}");
    }
    let sql = format!("select n, n + 1 as n {limited}");
    server.post(&json!({ "sql": sql, "id": id(1) })).await;
    let again = json!({ "query": id(1), "columns": ["n (2)"], "sort": ["n (2)"] });
    assert_eq!(server.post(&again).await.numbers(), [999, 1000]);
    let plan = server.sql("explain select n, n from t").await.rows();
    assert!(plan.num_rows() > 0);
    let nested = "select * from (select n, n from t)";
    server.sql(nested).await.assert_refused(400, "sql_error");
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_a_file_can_have_the_same_name() {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(
            (0..3000).map(|row| format!("row {row}")),
        )),
        Arc::new(Int64Array::from_iter_values(0..3000)),
        Arc::new(Int64Array::from_iter_values((0..3000).rev())),
    ];
    let fields: Vec<_> = columns
        .iter()
        .map(|column| Field::new("n", column.data_type().clone(), true))
        .collect();
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("arrow.arrow");
    let mut writer = FileWriter::try_new(File::create(&path).unwrap(), &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    let parquet = write_parquet(folder.path(), "parquet.parquet", &rows);
    let server = Server::of_files(&[path.display().to_string(), parquet]).await;
    for table in ["arrow", "parquet"] {
        let all = server.get(&format!("/v1/tables/{table}/rows")).await.rows();
        let types = [DataType::Utf8, DataType::Int64, DataType::Int64];
        for (field, (name, data_type)) in all
            .schema()
            .fields()
            .iter()
            .zip(["n", "n (2)", "n (3)"].into_iter().zip(types))
        {
            assert_eq!(
                (field.name().as_str(), field.data_type()),
                (name, &data_type)
            );
        }
        assert_eq!(all.columns(), rows.columns(), "{table}");
        let third = "columns=n+(3)";
        for (query, expected) in [
            (format!("{third}&offset=2998"), vec![1, 0]),
            (format!("{third}&filter=%22n+(2)%22%3C2"), vec![2999, 2998]),
            (format!("{third}&sort=n+(3)&limit=2"), vec![0, 1]),
        ] {
            let answer = server
                .get(&format!("/v1/tables/{table}/rows?{query}"))
                .await;
            assert_eq!(answer.numbers(), expected, "{table}: {query}");
        }
        let sql = format!("select sum(\"n (2)\" + \"n (3)\") from {table} where n = 'row 7'");
        assert_eq!(server.sql(&sql).await.numbers(), [2999]);
    }
}
