//! Parameters, SQL, filters and records.

use std::sync::Arc;
use std::time::Duration;

use colonnade_server::AppConfig;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::json;
use tempfile::TempDir;

use crate::support::*;

pub(crate) async fn small() -> Server {
    let rows = |start| {
        vec![Step::Rows {
            start,
            num_rows: 500,
        }]
    };
    let (table, _) = scripted("t", vec![rows(0), rows(500)]);
    let (dotted, _) = scripted("sub.Table", vec![rows(0)]);
    Server::of(vec![table, dotted]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_refused() {
    let server = small().await;
    for (parameters, code) in [
        ("limit=-1", "bad_parameter"),
        ("limit=1e3", "bad_parameter"),
        ("limit=99999999999999999999", "bad_parameter"),
        ("offset=+1", "bad_parameter"),
        ("batch_bytes=big", "bad_parameter"),
        ("batch_bytes=16383", "bad_parameter"),
        ("batch_bytes=16777217", "bad_parameter"),
        ("linger_s=601", "bad_parameter"),
        ("limit=1&limit=2", "bad_parameter"),
        ("limits=1", "bad_parameter"),
        ("id=1", "bad_parameter"),
        ("id=../../etc/passwd", "bad_parameter"),
        ("columns=", "bad_parameter"),
        ("columns=n,n", "bad_parameter"),
        ("columns=m", "unknown_column"),
        ("columns=N", "unknown_column"),
        ("sort=m", "unknown_column"),
        ("sort=n,", "bad_parameter"),
        ("filter=", "bad_filter"),
        ("filter=n", "bad_filter"),
        ("filter=n%3E5;drop table t", "bad_filter"),
        ("filter=n%3E5 limit 5", "bad_filter"),
        ("filter=n%3E5 or (select true)", "bad_filter"),
        ("filter=n in (select n from t)", "bad_filter"),
        ("filter=exists(select 1)", "bad_filter"),
        ("filter=sum(n)%3E5", "bad_filter"),
        ("filter=row_number() over ()%3E5", "bad_filter"),
        ("filter=n%3E5 as x", "bad_filter"),
        ("filter=m%3E5", "unknown_column"),
    ] {
        let outcome = server.get(&format!("/v1/tables/t/rows?{parameters}")).await;
        assert_eq!(
            (outcome.status, outcome.code().as_str()),
            (400, code),
            "{parameters}"
        );
        assert_ne!(outcome.problem()["hint"], "", "{parameters}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_are_no_text_are_refused() {
    let server = small().await;
    for (method, path) in [
        ("GET", "/v1/tables/%ff"),
        ("PUT", "/v1/tables/%ff"),
        ("DELETE", "/v1/tables/%ff"),
        ("GET", "/v1/tables/%ff/rows"),
        ("GET", "/v1/query/%ff"),
        ("DELETE", "/v1/query/%ff"),
        ("GET", "/v1/query/%ff/rows"),
        ("GET", "/v1/query/%ff/export"),
        ("GET", "/v1/query/%ff/find?text=a"),
        ("GET", "/v1/query/%ff/summary?column=a"),
    ] {
        let outcome = read(server.ask(method, path, &[], b"").await).await;
        outcome.assert_refused(400, "bad_parameter");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_may_have_an_empty_name() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![2, 1, 3]));
    let batch = RecordBatch::try_from_iter([("", values)]).unwrap();
    let (table, _) = scripted_as("t", &batch.schema(), vec![vec![Step::Batch(batch)]]);
    let server = Server::of(vec![table]).await;
    for path in ["columns=%22%22&sort=-%22%22", "sort=-%22%22"] {
        let outcome = server.get(&format!("/v1/tables/t/rows?{path}")).await;
        assert_eq!(outcome.numbers(), [3, 2, 1], "{path}");
    }
    for sort in [
        json!(["-"]),
        json!(["-\"\""]),
        json!([{"column": "", "descending": true}]),
    ] {
        let outcome = server.post(&json!({ "table": "t", "sort": sort })).await;
        assert_eq!(outcome.numbers(), [3, 2, 1], "{sort}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_taken() {
    let server = small().await;
    for (parameters, expected) in [
        ("filter=n%3E5&limit=3", vec![6, 7, 8]),
        (
            "filter=t%20like%20%27row%2099_%27&columns=n&limit=2",
            vec![990, 991],
        ),
        ("sort=-n&limit=2", vec![999, 998]),
        (
            "sort=-%22n%22,t&offset=1&limit=2&columns=%22n%22",
            vec![998, 997],
        ),
        ("offset=998&linger_s=60&batch_bytes=16384", vec![998, 999]),
        ("filter=n%3C0", vec![]),
    ] {
        assert_eq!(
            server
                .get(&format!("/v1/tables/t/rows?{parameters}"))
                .await
                .numbers(),
            expected,
            "{parameters}"
        );
    }
    let dotted = server.get("/v1/tables/sub.Table/rows?limit=1").await;
    assert_eq!(dotted.numbers(), [0]);
    assert_eq!(
        server
            .sql(r#"select n from "sub.Table" limit 1"#)
            .await
            .numbers(),
        [0]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn json_queries() {
    let server = small().await;
    let filter = json!({"and": [{"op": "ge", "column": "n", "value": "10"}, {"not": {"op": "eq", "column": "t", "value": "row 11"}}]});
    let outcome = server.post(&json!({"table": "t", "columns": ["n"], "sort": ["-n"], "filter": filter, "offset": 987, "limit": 9})).await;
    assert_eq!(outcome.numbers(), [12, 10]);
    let outcome = server
        .post(&json!({"table": "t", "sort": [{"column": "n", "descending": true}], "limit": 1}))
        .await;
    assert_eq!(outcome.numbers(), [999]);
    for (body, status, code) in [
        (json!({}), 400, "bad_parameter"),
        (
            json!({"sql": "select 1", "table": "t"}),
            400,
            "bad_parameter",
        ),
        (
            json!({"sql": "select 1", "columns": ["n"]}),
            400,
            "bad_parameter",
        ),
        (json!({"sql": 1}), 400, "bad_json"),
        (json!({"sql": "select 1", "more": 1}), 400, "bad_json"),
        (json!([]), 400, "bad_json"),
        (json!({"table": "x"}), 404, "unknown_table"),
        (json!({"table": "t", "limit": -1}), 400, "bad_json"),
        (
            json!({"table": "t", "filter": {"op": "nope", "column": "n"}}),
            400,
            "bad_filter",
        ),
        (
            json!({"table": "t", "filter": {"op": "eq", "column": "m", "value": 1}}),
            400,
            "unknown_column",
        ),
        (json!({"table": "t", "sort": ["m"]}), 400, "unknown_column"),
        (json!({"query": id(1)}), 404, "unknown_query"),
    ] {
        let outcome = server.post(&body).await;
        assert_eq!(
            (outcome.status, outcome.code().as_str()),
            (status, code),
            "{body}"
        );
    }
    let undeclared = server.ask("POST", "/v1/query", &[], b"{}").await;
    assert_eq!(read(undeclared).await.code(), "unsupported_media_type");
    for parameters in ["; charset=utf-8", ";;", "; profile=http://x"] {
        let declared = format!("application/json{parameters}");
        let headers = [("content-type", declared.as_str())];
        let body = br#"{"table": "t"}"#;
        let response = server.ask("POST", "/v1/query", &headers, body).await;
        assert_eq!(response.status, 200, "{declared}");
    }
    let json = [("content-type", "application/json")];
    let large = server
        .ask("POST", "/v1/query", &json, &vec![b' '; 2 << 20])
        .await;
    assert_eq!(large.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_only_reads() {
    let server = small().await;
    let target = tempfile::TempDir::new().unwrap();
    let copy = format!("copy t to '{}/out.csv'", target.path().display());
    let copy_select = format!(
        "copy (select 1) to '{}/out.parquet'",
        target.path().display()
    );
    for sql in [
        "drop table t",
        "insert into t values (1, 'a')",
        "delete from t",
        "update t set n = 1",
        "set datafusion.execution.batch_size = 1",
        "create table u as select 1",
        "create view u as select 1",
        "create external table u stored as csv location '/etc/passwd'",
        "create function f() returns int return 1",
        "explain analyze insert into t values (1, 'a')",
        "begin",
        "prepare p as select 1",
        "reset datafusion.execution.batch_size",
        copy.as_str(),
        copy_select.as_str(),
    ] {
        let outcome = server.sql(sql).await;
        assert_eq!(
            (outcome.status, outcome.code().as_str()),
            (403, "read_only"),
            "{sql}"
        );
    }
    assert_eq!(target.path().read_dir().unwrap().count(), 0);
    assert_eq!(
        server.sql("select n from t").await.numbers().len(),
        1000,
        "the table is unchanged"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_sql_says_what_would_be_right() {
    let server = small().await;
    let deep = format!("select {}1{}", "(".repeat(5000), ")".repeat(5000));
    let long = format!("select '{}'", "x".repeat(300 << 10));
    let null_percentile = "select approx_percentile_cont(n, null) from t";
    for (sql, status, code) in [
        ("", 400, "sql_error"),
        ("selec 1", 400, "sql_error"),
        ("select 1; select 2", 400, "sql_error"),
        ("select n from t where", 400, "sql_error"),
        ("select nope(n) from t", 400, "sql_error"),
        ("select m from t", 400, "unknown_column"),
        ("select * from tt", 404, "unknown_table"),
        ("select * from sub.Table", 404, "unknown_table"),
        ("select * from '/etc/passwd'", 404, "unknown_table"),
        ("select 1 / 0", 422, "execution_error"),
        ("select encode('', 'nope')", 422, "execution_error"),
        ("select regexp_like('a', 'a', 'g')", 422, "execution_error"),
        (null_percentile, 422, "execution_error"),
        (deep.as_str(), 422, "too_complex"),
        (long.as_str(), 422, "too_complex"),
    ] {
        let outcome = server.sql(sql).await;
        let shown: String = sql.chars().take(60).collect();
        assert_eq!(
            (outcome.status, outcome.code().as_str()),
            (status, code),
            "{shown}"
        );
        assert_ne!(outcome.problem()["hint"], "", "{shown}");
    }
    let hint = server.sql("select * from sub.Table").await.problem()["hint"].to_string();
    assert!(hint.contains("\\\"sub.Table\\\""), "{hint}");
    let hint = server.sql("select nn from t").await.problem()["hint"].to_string();
    assert!(hint.contains("did you mean"), "{hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn records() {
    let server = small().await;
    let outcome = server
        .get(&format!("/v1/tables/t/rows?offset=10&id={}", id(9)))
        .await;
    assert_eq!(outcome.header("x-query-id"), id(9));
    let record = server.until_state(&id(9), "done").await;
    assert_eq!(record["id"], id(9));
    assert_eq!(record["order"], "partition");
    assert_eq!(
        (&record["rows"], &record["first_row"], &record["rows_sent"]),
        (&json!(1000), &json!(10), &json!(990))
    );
    assert_eq!(record["bytes_sent"], outcome.body.len());
    assert_eq!(record["error"], json!(null));
    assert!(record["batches_sent"].as_u64() > Some(0) && record["elapsed_ms"].is_u64());
    let again = format!("/v1/tables/t/rows?id={}&sort=n", id(9));
    let again = server.get(&again).await;
    again.assert_refused(409, "id_in_use");
    server.get("/v1/tables/nope/rows").await;
    let list = server.json("/v1/query").await;
    let states: Vec<_> = list["queries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|q| q["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["failed", "done"], "the latest first");
    assert_eq!(
        server.get(&format!("/v1/query/{}", id(8))).await.code(),
        "unknown_query"
    );
    assert_eq!(server.get("/v1/query/8").await.code(), "bad_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_say_what_was_asked() {
    let server = small().await;
    let sql = "select n from t order by n desc";
    server.post(&json!({ "sql": sql, "id": id(1) })).await;
    let asked = json!({ "query": id(1), "columns": ["n"], "sort": ["-n"], "limit": 5,
        "filter": { "op": "lt", "column": "n", "value": 9 } });
    let mut body = asked.clone();
    body["id"] = json!(id(2));
    server.post(&body).await;
    let path = "/v1/tables/t/rows?filter=n%3E5&offset=3";
    server.get(&format!("{path}&id={}", id(3))).await;

    let record = server.until_state(&id(1), "done").await;
    assert_eq!(record["request"], json!({ "sql": sql }));
    assert!(record["memory_bytes"].as_u64() > Some(0), "{record}");
    assert_eq!(record["disk_bytes"], 0);
    let record = server.until_state(&id(2), "done").await;
    let mut expected = asked;
    expected["sort"] = json!([{ "column": "n", "descending": true }]);
    expected["filter"]["value"] = json!("9");
    assert_eq!(record["request"], expected);
    let record = server.until_state(&id(3), "done").await;
    let expected = json!({ "table": "t", "filter": "n>5", "offset": 3 });
    assert_eq!(record["request"], expected);

    // The request in the record can be sent again unchanged.
    let again = server
        .post(&server.json(&format!("/v1/query/{}", id(2))).await["request"])
        .await;
    assert_eq!(again.numbers(), [8, 7, 6, 5, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_have_an_etag() {
    let server = small().await;
    let list = server.get("/v1/tables").await;
    let etag = list.header("etag").to_owned();
    assert!(etag.starts_with('"') && etag.len() > 2);
    let again = server
        .ask("GET", "/v1/tables", &[("if-none-match", &etag)], b"")
        .await;
    assert_eq!(
        (again.status, again.headers["etag"].to_str().unwrap()),
        (304, etag.as_str())
    );
    let other = server
        .ask("GET", "/v1/tables", &[("if-none-match", "\"x\"")], b"")
        .await;
    assert_eq!(other.status, 200);
    let list: serde_json::Value = serde_json::from_slice(&list.body).unwrap();
    let table = &list["tables"][1];
    assert_eq!(table["name"], "t");
    assert_eq!(
        table["fields"],
        json!([{"name": "n", "type": "int64", "nullable": true}, {"name": "t", "type": "string", "nullable": true}])
    );
    assert_eq!(server.json("/v1/tables/t").await, *table);
    assert_eq!(server.get("/v1/tables/u").await.code(), "unknown_table");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_may_be_larger_than_256_mib() {
    let config = AppConfig {
        memory_bytes: 8 << 30,
        ..config()
    };
    let server = Server::start(&config, vec![scripted("t", numbered(1, 1000)).0]).await;
    let outcome = server
        .sql("select repeat(chr(n + 120), 280000000) from t where n = 0")
        .await;
    assert!(outcome.is_complete(), "{}", outcome.code());
    assert!(outcome.body.len() > 280_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_grow_are_made_a_few_rows_at_a_time() {
    let config = AppConfig {
        memory_bytes: 512 << 20,
        ..config()
    };
    let server = Server::start(&config, Vec::new()).await;
    for growing in [
        "repeat(chr(n % 26 + 97), 1000000)",
        "rpad(chr(n % 26 + 97), 1000000, 'x')",
        "replace('a', chr(97 + n - n), repeat('x', 1000000))",
    ] {
        let from = "(select value as n from generate_series(0, 399))";
        let sql = format!("select n, {growing} as large from {from}");
        let outcome = server.sql(&sql).await;
        assert!(outcome.is_complete(), "{growing}: {}", outcome.code());
        assert!(outcome.body.len() > 400_000_000, "{growing}");
        let sql = format!("select n from {from} where length({growing}) = 1000000");
        assert!(server.sql(&sql).await.has_numbers(0..400), "{growing}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_any_size_end() {
    let table = || scripted("t", numbered(1, 1000)).0;
    let impatient = AppConfig {
        planning_timeout: Duration::from_secs(6),
        ..config()
    };
    let server = Server::start(&impatient, vec![table()]).await;
    let chain = |item: &str, joint: &str, num: usize| vec![item; num].join(joint);
    let ctes = |num: usize| {
        let more: String = (1..num)
            .map(|k| format!(", c{k} as (select * from c{})", k - 1))
            .collect();
        format!("with c0 as (select 1){more} select * from c{}", num - 1)
    };
    let around = |before: &str, inner: &str, after: &str, num: usize| {
        format!("{}{inner}{}", before.repeat(num), after.repeat(num))
    };
    for sql in [
        format!("select {}1 from t", "1 + ".repeat(5000)),
        format!("select {}1 from t", "1 + ".repeat(50_000)),
        format!("select {}1 from t", "n = 1 or ".repeat(5000)),
        format!("select 1{}", "::int".repeat(2000)),
        format!("select {}true", "not ".repeat(5000)),
        format!("select true{}", " is true".repeat(5000)),
        format!("select 1{}", "[1]".repeat(5000)),
        chain("select 1", " union all ", 5000),
        format!("select * from {}", chain("t", " cross join ", 1000)),
        format!("select * from {}", chain("t", ", ", 1000)),
        ctes(1000),
        around("select * from (", "select 1", ")", 300),
        format!("select {}", around("cast(", "1", " as bigint)", 48)),
        format!("select {}", around("ceil(", "1", ")", 30_000)),
        format!("select {}", around("interval ", "'1 day'", "", 64)),
        format!("select {}", around("interval ", "'1 day'", "", 1950)),
        format!("select {}", around("interval - ", "'1 day'", "", 1950)),
        format!(
            "select arrow_cast(null, '{}')",
            around("List(", "Int64", ")", 10_600)
        ),
    ] {
        let outcome = server.sql(&sql).await;
        if outcome.is_complete() {
            continue;
        }
        let shape: String = sql.chars().take(60).collect();
        let code = outcome.code();
        let is_known = ["too_complex", "out_of_memory", "sql_error"].contains(&code.as_str());
        assert!(is_known, "{shape}: {code}");
    }
    assert_eq!(server.sql("select 1").await.rows().num_rows(), 1);

    let server = Server::of(vec![table()]).await;
    for (num, is_refused) in [(450, false), (1500, true)] {
        for sql in [
            format!("select sum({}) from t", chain("n", " + ", num)),
            format!("select {} from t limit 1", chain("t", " || ", num)),
            format!("explain select {}", chain("1", " - ", num)),
            chain("select 1", " union all ", num),
        ] {
            let outcome = server.sql(&sql).await;
            let is_right = match is_refused {
                true => outcome.code() == "too_complex",
                false => outcome.is_complete(),
            };
            let shape: String = sql.chars().take(40).collect();
            let answer = String::from_utf8_lossy(&outcome.body);
            assert!(is_right, "{num} of {shape}: {answer}");
        }
        let filter = format!("/v1/tables/t/rows?filter=n%3E{}1", "1%2B".repeat(num));
        let filtered = server.get(&filter).await;
        assert_eq!(filtered.is_complete(), !is_refused);
    }
    let list = around("List(", "Int64", ")", 5000);
    for cast in [
        format!("arrow_cast(null, '{list}')"),
        format!("\"arrow_cast\"(null, $${list}$$)"),
        format!("ARROW_TRY_CAST(null, E'{list}')"),
        format!("null::int{}", "[]".repeat(5000)),
        format!("cast(null as int{})", "[2]".repeat(5000)),
    ] {
        let nested = server.sql(&format!("select {cast} from t")).await;
        assert_eq!(nested.code(), "too_complex", "{}", &cast[..30]);
    }
    assert_eq!(server.sql("select 1").await.rows().num_rows(), 1);

    let server = small().await;
    let joins: String = (0..60)
        .map(|k| format!(" cross join (select 1 as b{k}) as t{k}"))
        .collect();
    for sql in [
        format!("select {}", chain("1", "+", 1000)),
        format!("select {} from t", chain("n", "-", 1000)),
        format!("select n from t where {}", chain("n=1", " or ", 500)),
        chain("select 1", " union all ", 100),
        format!("select count(*) from (select 1 as a) as a{joins}"),
        ctes(199),
    ] {
        let answer = server.sql(&sql).await;
        let shape: String = sql.chars().take(60).collect();
        assert!(
            answer.is_complete(),
            "{shape}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_shows_the_partitions_that_its_statement_has() {
    let spread = (0..3_000_000_i64).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64));
    let n = Arc::new(Int64Array::from_iter_values(spread)) as ArrayRef;
    let folder = TempDir::new().unwrap();
    let rows = RecordBatch::try_from_iter([("n", n)]).unwrap();
    let server = Server::of_files(&[write_parquet(folder.path(), "t", &rows)]).await;
    let num_partitions = async |sql: &str| -> usize {
        let plan = server.sql(&format!("explain {sql}")).await.rows();
        let text = format!("{:?}", plan.column(1));
        let (_, groups) = text.split_once("file_groups={").expect(&text);
        let (number, _) = groups.split_once(' ').unwrap();
        number.parse().unwrap()
    };
    assert_eq!(
        num_partitions("select n from t order by n").await,
        config().num_threads
    );
    assert_eq!(num_partitions("select n from t").await, 5);
}
