//! Functions whose result could be far larger than their arguments.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::parquet::arrow::ArrowWriter;
use tempfile::TempDir;

use colonnade_server::source::open_all;

use crate::support::*;

/// A server with a table `t` of rows 0 to 20,000, and `file` of the same in Parquet.
async fn server() -> (TempDir, Server) {
    let (table, _) = scripted("t", vec![vec![Step::rows(0, 20_000)]]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.parquet");
    let rows = batch(0, 20_000);
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let mut tables = open_all(&[path.display().to_string()]).unwrap();
    tables.push(table);
    (folder, Server::of(tables).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn none_makes_more_than_its_limit() {
    let (_folder, server) = server().await;
    for sql in [
        "select repeat('a', 2000000000)",
        "select repeat(t, 2000000000) from t",
        "select repeat(t, n * 100) from t",
        "select repeat('ab', 9223372036854775807)",
        "select lpad('a', 2000000000)",
        "select rpad('a', 2000000000)",
        "select lpad(t, 1000000) from t",
        "select rpad(t, 1000000, 'äöü') from t",
        "select replace(repeat('a', 1000000), 'a', repeat('b', 1000000))",
        "select replace(t, '', repeat(t, 1000)) from t",
        "select regexp_replace(repeat('a', 100000), '.', repeat('b', 100000), 'g')",
        "select regexp_replace(repeat('a', 1000000), '.*', repeat('\\0', 1000000))",
        "select array_repeat(1, 1000000000)",
        "select list_repeat(t, n * 1000) from t",
        "select array_repeat(array_repeat(array_repeat(n, 1000), 1000), 1000) from t",
        "select array_resize([1], 1000000000)",
        "select list_resize([n], 1000000000, n) from t",
        "select range(1, 1000000000)",
        "select range(9223372036854775807)",
        "select range(0, n * 1000) from t",
        "select generate_series(1, 1000000000)",
        "select generate_series(-9223372036854775808, 9223372036854775807, 2)",
        "select generate_series(timestamp '2000-01-01', timestamp '2020-01-01', interval '1' second)",
        "select array_to_string(range(0, 100000), repeat('a', 100000))",
        "select arrow_cast(null, 'FixedSizeBinary(2000000000)')",
        "select repeat('a', 1000000) from t",
        "select n, concat(t, repeat('a', 1000000)) from t",
    ] {
        let outcome = server.sql(sql).await;
        assert!(!outcome.is_complete(), "{sql}");
        let code = if outcome.status == 200 {
            // It failed after the schema was sent.
            let id = outcome.header("x-query-id");
            let record = server.until_state(id, "failed").await;
            record["error"]["code"].as_str().unwrap().to_owned()
        } else {
            outcome.code()
        };
        assert!(
            [
                "execution_error",
                "sql_error",
                "out_of_memory",
                "engine_died"
            ]
            .contains(&code.as_str()),
            "{sql}: {code}"
        );
    }
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn ordinary_calls_give_their_rows() {
    let (_folder, server) = server().await;
    for (expression, expected) in [
        ("repeat('ab', 3)", "ababab"),
        ("repeat('ab', -3)", ""),
        ("repeat(null, 3)", "null"),
        ("repeat('ab', null)", "null"),
        ("lpad('7', 3, '0')", "007"),
        ("lpad('7', -3)", ""),
        ("rpad('7', 3, 'äö')", "7äö"),
        ("rpad(null, 3, 'x')", "null"),
        ("replace('banana', 'an', 'AN')", "bANANa"),
        ("regexp_replace('banana', '(a)n', '<\\1>', 'g')", "b<a><a>a"),
        ("array_repeat('x', 2)", "[x, x]"),
        ("list_repeat(1, -2)", "[]"),
        ("array_repeat(null, 2)", "[, ]"),
        ("array_resize([1, 2], 3)", "[1, 2, ]"),
        ("list_resize([1], 3, 5)", "[1, 5, 5]"),
        ("range(1, 4)", "[1, 2, 3]"),
        ("range(3, 1)", "[]"),
        ("generate_series(3, 1, -1)", "[3, 2, 1]"),
        (
            "generate_series(date '2024-01-31', date '2024-03-31', interval '1' month)",
            "[2024-01-31, 2024-02-29, 2024-03-29]",
        ),
        ("array_to_string([1, null, 3], '-', '*')", "1-*-3"),
        ("arrow_cast('a', 'LargeUtf8')", "a"),
        ("length(repeat('a', 1000000))", "1000000"),
        ("cardinality(range(1, 1000001))", "1000000"),
    ] {
        let rows = server.sql(&format!("select {expression}")).await.rows();
        let column = rows.column(0);
        let text = if column.is_null(0) {
            "null".to_owned()
        } else {
            array_value_to_string(column, 0).unwrap()
        };
        assert_eq!(text, expected, "{expression}");
    }
    let expected: Vec<String> = (0..20_000).map(|n| format!("row {n}")).collect();
    type Oracle = fn(&str) -> String;
    let cases: [(&str, Oracle); 6] = [
        ("repeat(t, 2)", |t| t.repeat(2)),
        ("lpad(t, 12, '*')", |t| format!("{t:*>12}")),
        ("rpad(t, 12)", |t| format!("{t:<12}")),
        ("replace(t, '1', 'one')", |t| t.replace('1', "one")),
        ("regexp_replace(t, '[0-9]', '(\\0)')", |t| {
            format!("{}({}){}", &t[..4], &t[4..5], &t[5..])
        }),
        // Its bound exceeds the limit, but its result does not.
        ("replace(t, 'x', repeat('y', 4000))", str::to_owned),
    ];
    for (expression, oracle) in cases {
        let rows = server
            .sql(&format!("select {expression} from t"))
            .await
            .rows();
        let column = rows.column(0).as_string::<i32>();
        let found: Vec<&str> = column.iter().map(Option::unwrap).collect();
        let wanted: Vec<String> = expected.iter().map(|t| oracle(t)).collect();
        assert_eq!(found, wanted, "{expression}");
    }
    let total = "select sum(cardinality(array_repeat(t, n % 5 - 2))) from t";
    assert_eq!(server.sql(total).await.rows().num_rows(), 1);
    for (table, count) in [
        ("range(1, 100000)", 99_999),
        ("generate_series(1, 100000)", 100_000),
    ] {
        let rows = server.sql(&format!("select * from {table}")).await;
        assert_eq!(rows.numbers().len(), count, "{table}");
    }
}
