//! Arithmetic beyond the type of its result is an error, and everything else is exact.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Decimal128Array, Int8Array, Int32Array, Int64Array, RecordBatch, UInt64Array,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

const MAX: i64 = i64::MAX;

/// Rows whose values together are beyond their types.
async fn server(folder: &TempDir) -> Server {
    let decimals = |values: [i128; 4]| Decimal128Array::from_iter_values(values);
    let most = 10_i128.pow(38) - 1;
    let rows = RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..4)) as ArrayRef,
        ),
        (
            "big",
            Arc::new(Int64Array::from_iter_values([MAX, 1, MAX, -5])),
        ),
        (
            "least",
            Arc::new(Int64Array::from_iter_values([i64::MIN, 0, 0, 0])),
        ),
        (
            "int",
            Arc::new(Int32Array::from_iter_values([i32::MAX, 1, 2, 3])),
        ),
        (
            "byte",
            Arc::new(Int8Array::from_iter_values([100, 1, 2, 3])),
        ),
        (
            "up",
            Arc::new(UInt64Array::from_iter_values([u64::MAX, 1, 2, 3])),
        ),
        (
            "wide",
            Arc::new(
                decimals([most, 1, 2, 3])
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
        ),
        (
            "cents",
            Arc::new(
                decimals([100, 1, 2, 3])
                    .with_precision_and_scale(15, 2)
                    .unwrap(),
            ),
        ),
    ]);
    let file = write_parquet(folder.path(), "t.parquet", &rows.unwrap());
    Server::of_files(&[file]).await
}

/// The error of a statement; null if it ends well. A slow one may fail behind the head of its response.
async fn error_of(server: &Server, number: u32, sql: &str) -> Value {
    let outcome = server.post(&json!({ "sql": sql, "id": id(number) })).await;
    let state = if outcome.is_complete() {
        "done"
    } else {
        "failed"
    };
    server.until_state(&id(number), state).await["error"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn results_beyond_their_type_are_an_error() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    for (number, sql) in (0..).zip([
        "select 9223372036854775807 + 1",
        "select x + 1 from (select 9223372036854775807 as x)",
        "select 9223372036854775807 * 9223372036854775807",
        "select -9223372036854775807 - 2",
        "select - cast(-9223372036854775808 as bigint)",
        "values (9223372036854775807 + 1)",
        "select big + 1 from t",
        "select big + n from t",
        "select big * 2 from t",
        "select least - 1 from t",
        "select -least from t",
        "select int + arrow_cast(1, 'Int32') from t",
        "select byte + byte from t",
        "select byte * byte from t",
        "select up + up from t",
        "select n from t where big + 1 > 0",
        "select n from t order by big * 2",
        "select count(*) from t group by big + 1",
        "select sum(big + 1) from t",
        "select sum(big) from t",
        "select sum(big) from t having sum(big) > 0",
        "select sum(big) filter (where n <> 3) from t",
        "select sum(distinct v) from (select big + n % 2 * -1 as v from t where n <> 3 union all select big - 7 from t where n = 0)",
        "select n % 2, sum(big) from t group by n % 2",
        "select n % 2, sum(up) from (select up, n from t union all select up, n from t) group by n % 2",
        "select sum(up) from t",
        "select sum(big) over (order by n) from t",
        "select sum(big) over (order by n rows between 2 preceding and current row) from t",
        "select sum(big) over (partition by n % 2) from t",
        "select wide + 1 from t",
        "select wide * 10 from t",
        "select wide + wide from t",
        "select sum(wide) from t",
        "select sum(wide) over (order by n) from t",
        "select n % 2, sum(wide) from t group by n % 2",
    ]) {
        let error = error_of(&server, number, sql).await;
        assert_eq!(error["code"], "arithmetic_overflow", "{sql}: {error}");
        assert!(error["hint"].to_string().contains("cast"), "{sql}: {error}");
    }
    for (number, sql) in (100..).zip([
        "select abs(least) from t",
        "select factorial(30)",
        "select gcd(least, 0) from t",
        "select lcm(big, 2) from t",
        "select big / -1 * least from t",
        "select least / -1 from t",
        "select cast(big as int) from t",
        "select cast(sum(wide) as bigint) from t",
    ]) {
        let error = error_of(&server, number, sql).await;
        assert!(!error.is_null(), "{sql}");
    }
    let filter = server.get("/v1/tables/t/rows?filter=big%2B1%3E0").await;
    filter.assert_refused(422, "arithmetic_overflow");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_within_their_type_are_exact() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    for (sql, expected) in [
        ("select 9223372036854775806 + 1", vec![MAX]),
        ("select -9223372036854775808", vec![i64::MIN]),
        ("select 1 + 2 * 3 - -4", vec![11]),
        (
            "select big - 1 from t where n < 2 order by n",
            vec![MAX - 1, 0],
        ),
        // The sums on the way are beyond the type; the last one is not.
        (
            "select sum(v) from (select big as v from t where n <> 3 union all select least from t where n = 0 union all select least + 1 from t where n = 0)",
            vec![0],
        ),
        ("select sum(n) from t", vec![6]),
        (
            "select count(*) from (select sum(n) as s from t where n > 9) where s is null",
            vec![1],
        ),
        ("select cast(sum(cents) * 100 as bigint) from t", vec![106]),
        (
            "select cast(sum(int) as bigint) from t",
            vec![i64::from(i32::MAX) + 6],
        ),
        (
            "select sum(n) over (order by n) from t order by n",
            vec![0, 1, 3, 6],
        ),
        ("select sum(distinct n % 2) from t", vec![1]),
        ("select sum(n) from t group by n % 2 order by 1", vec![2, 4]),
        (
            "select sum(n) over (order by n rows between 1 preceding and current row) from t order by n",
            vec![0, 1, 3, 5],
        ),
        (
            "select sum(distinct n % 3) over (order by n rows between 1 preceding and current row) from t order by n",
            vec![0, 1, 3, 2],
        ),
    ] {
        assert_eq!(server.sql(sql).await.numbers(), expected, "{sql}");
    }
    for (sql, names) in [
        (
            "select n + 1, -n, n + 1 * 2 from t",
            vec!["t.n + Int64(1)", "(- t.n)", "t.n + Int64(1) * Int64(2)"],
        ),
        ("select n * 2 from t group by n * 2", vec!["t.n * Int64(2)"]),
        (
            "select n + 1, sum(n - 1) from t group by rollup (n + 1)",
            vec!["t.n + Int64(1)", "sum(t.n - Int64(1))"],
        ),
    ] {
        let rows = server.sql(sql).await.rows();
        let schema = rows.schema();
        let actual: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(actual, names, "{sql}");
    }
}
