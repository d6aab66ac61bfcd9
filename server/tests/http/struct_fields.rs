//! A field of a struct is null where the struct is null, whatever values the file has there.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema};
use tempfile::TempDir;

use crate::support::*;

/// Structs `{a, t, b: {c}}` with required fields; rows 1 and 3 are null.
fn rows() -> RecordBatch {
    let number = |values: [i64; 4]| Arc::new(Int64Array::from_iter_values(values)) as ArrayRef;
    let c: Fields = vec![Field::new("c", DataType::Int64, false)].into();
    let b = StructArray::new(c.clone(), vec![number([10, 70, 20, 90])], None);
    let fields: Fields = vec![
        Field::new("a", DataType::Int64, false),
        Field::new("t", DataType::Utf8, false),
        Field::new("b", DataType::Struct(c), false),
    ]
    .into();
    let texts = Arc::new(StringArray::from_iter_values(["p", "q", "r", "s"]));
    let nulls = NullBuffer::from(vec![true, false, true, false]);
    let columns = vec![number([1, 7, 2, 9]), texts, Arc::new(b)];
    let st = StructArray::new(fields.clone(), columns, Some(nulls));
    let schema = Schema::new(vec![
        Field::new("n", DataType::Int64, false),
        Field::new("st", DataType::Struct(fields), true),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![number([0, 1, 2, 3]), Arc::new(st)]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_null_structs_are_null() {
    let folder = TempDir::new().unwrap();
    let rows = rows();
    let arrow = write_arrow(folder.path(), "arrow.arrow", &rows);
    let parquet = write_parquet(folder.path(), "parquet.parquet", &rows);
    let server = Server::of_files(&[arrow, parquet]).await;
    for table in ["arrow", "parquet"] {
        for (sql, expected) in [
            ("select n from T where st['a'] is null", vec![1, 3]),
            ("select n from T where st['a'] > 0", vec![0, 2]),
            ("select n from T where st['t'] is not null", vec![0, 2]),
            ("select n from T where st['b'] is null", vec![1, 3]),
            ("select n from T where st['b']['c'] is null", vec![1, 3]),
            (
                "select n from T where get_field(st, 'b', 'c') > 10",
                vec![2],
            ),
            ("select sum(st['a']) from T", vec![3]),
            ("select max(st['b']['c']) from T", vec![20]),
            ("select count(st['t']) from T", vec![2]),
            (
                "select coalesce(st['a'], -1) from T order by n",
                vec![1, -1, 2, -1],
            ),
            (
                "select count(*) from T group by st['a'] order by 1",
                vec![1, 1, 2],
            ),
        ] {
            let sql = sql.replace('T', table);
            assert_eq!(server.sql(&sql).await.numbers(), expected, "{sql}");
        }
        let filter = "filter=st['b']['c'] is null".replace(' ', "%20");
        let filtered = server
            .get(&format!("/v1/tables/{table}/rows?{filter}"))
            .await;
        assert_eq!(filtered.numbers(), [1, 3]);
    }
}
