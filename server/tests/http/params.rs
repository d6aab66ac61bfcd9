//! Parameters of statements.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

/// A table of the numbers 0 to 9, with a decimal, a day, a moment and a name for each.
async fn server(folder: &TempDir) -> Server {
    let file = folder.path().join("t.csv");
    let rows = (0..10).map(|n| {
        format!(
            "{n},{n}.50,2024-01-0{},2024-01-01T00:00:0{n}.250,name {n}\n",
            n % 9 + 1
        )
    });
    let text: String = rows.collect();
    std::fs::write(&file, format!("n,d,day,at,name\n{text}")).unwrap();
    let schema = folder.path().join("t.csv.schema.json");
    std::fs::write(schema, r#"{"types": {"d": "decimal128(5, 2)"}}"#).unwrap();
    Server::of_files(&[file.display().to_string()]).await
}

async fn numbers_of(server: &Server, sql: &str, params: Value) -> Vec<i64> {
    let outcome = server.post(&json!({ "sql": sql, "params": params })).await;
    assert_eq!(
        outcome.status,
        200,
        "{sql}: {}",
        String::from_utf8_lossy(&outcome.body)
    );
    assert!(outcome.is_complete(), "{sql}");
    outcome.numbers()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_have_the_types_with_which_they_are_compared() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    for (condition, params, expected) in [
        ("n >= :min", json!({"min": "8"}), vec![8, 9]),
        ("n >= :min", json!({"min": 7.5}), vec![8, 9]),
        ("n = $1 or n = $2", json!({"1": 1, "2": "3"}), vec![1, 3]),
        ("n = $2 or n = $1", json!([1, 3]), vec![1, 3]),
        ("d > $x", json!({"x": "8.50"}), vec![9]),
        // No digit is rounded away.
        ("d > :x", json!({"x": "8.4999"}), vec![8, 9]),
        ("d = :x", json!({"x": "8.5001"}), vec![]),
        ("day = :day", json!({"day": "2024-01-02"}), vec![1]),
        (
            "at < :at",
            json!({"at": "2024-01-01T00:00:01.251"}),
            vec![0, 1],
        ),
        ("at < :at", json!({"at": "2024-01-01T00:00:01.25"}), vec![0]),
        (
            "at < :at",
            json!({"at": "2024-01-01T00:00:01.250000001"}),
            vec![0, 1],
        ),
        ("name = :name", json!({"name": "name 3"}), vec![3]),
        ("name = :name", json!({"name": "' or true --"}), vec![]),
        ("n = :n and :n < 5", json!({"n": 4}), vec![4]),
        ("n = :n", json!({"n": null}), vec![]),
        (
            "n in (select n from t where n < :max)",
            json!({"max": 2}),
            vec![0, 1],
        ),
    ] {
        let sql = format!("select n from t where {condition} order by n");
        assert_eq!(
            numbers_of(&server, &sql, params.clone()).await,
            expected,
            "{condition}, {params}"
        );
    }
    let limited = numbers_of(
        &server,
        "select n from t order by n limit :n",
        json!({"n": 2}),
    )
    .await;
    assert_eq!(limited, [0, 1]);
    let outcome = server
        .post(&json!({"sql": "select :a as a, :b as b", "params": {"a": 1, "b": "1"}}))
        .await;
    let rows = outcome.rows();
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().value(0), 1);
    assert_eq!(rows.column(1).data_type(), &DataType::Utf8);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_are_refused() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    for (body, words) in [
        (
            json!({"sql": "select n from t where n > :a"}),
            "has no value",
        ),
        (
            json!({"sql": "select :a", "params": {"b": 1}}),
            "no parameter \"b\"",
        ),
        (
            json!({"sql": "select n from t where n > :a", "params": {"a": "x"}}),
            "not Int64",
        ),
        (
            json!({"sql": "select :a", "params": {"a": [1]}}),
            "not a value",
        ),
        (json!({"table": "t", "params": {"a": 1}}), "belong to sql"),
    ] {
        let refused = server.post(&body).await;
        refused.assert_refused(400, "bad_parameter");
        let detail = refused.problem()["detail"].to_string();
        assert!(detail.replace('\\', "").contains(words), "{detail}");
    }
    let refused = server.post(&json!({"sql": "select :a", "params": 1})).await;
    refused.assert_refused(400, "bad_json");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_belongs_to_the_values_too() {
    let folder = TempDir::new().unwrap();
    let server = server(&folder).await;
    let asked = |value: i64| json!({"sql": "select n from t where n = :n", "params": {"n": value}, "id": id(1)});
    assert_eq!(server.post(&asked(3)).await.numbers(), [3]);
    assert_eq!(server.post(&asked(3)).await.numbers(), [3]);
    server
        .post(&asked(4))
        .await
        .assert_refused(409, "id_in_use");
    let rows = server.get(&format!("/v1/query/{}/rows", id(1))).await;
    assert_eq!(rows.numbers(), [3]);
    let status = server.json(&format!("/v1/query/{}", id(1))).await;
    assert_eq!(status["request"]["params"], json!({"n": 3}));
}
