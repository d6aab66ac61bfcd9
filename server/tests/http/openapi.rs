//! `docs/openapi.json` describes the methods, the parameters and the request members that the server takes.
//! `scripts/check-openapi.mjs` compares it with the requests and responses of all tests.

use std::collections::BTreeSet;
use std::time::Duration;

use colonnade_server::AppConfig;
use colonnade_server::http::GuardConfig;
use serde_json::{Value, json};

use crate::client;
use crate::support::*;

const DESCRIPTION: &str = include_str!("../../../docs/openapi.json");

const TOKEN: &str = "0123456789abcdef";

fn document() -> Value {
    serde_json::from_str(DESCRIPTION).unwrap()
}

/// The node, or the one that it refers to.
fn resolved<'a>(document: &'a Value, node: &'a Value) -> &'a Value {
    match node["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => node,
    }
}

/// A path of the description with a table and a result in it.
fn concrete(path: &str) -> String {
    path.replace("{name}", "t").replace("{id}", &id(1))
}

/// Method and path of each call that is described.
fn calls() -> Vec<(String, String)> {
    let document = document();
    let paths = document["paths"].as_object().unwrap().iter();
    let calls = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(|method| (method.to_ascii_uppercase(), concrete(path)))
    });
    calls.collect()
}

async fn server() -> Server {
    let (server, _) = Server::of_scripts(vec![vec![Step::rows(0, 5)]]).await;
    let rows = format!("/v1/tables/t/rows?id={}", id(1));
    assert_eq!(server.get(&rows).await.status, 200);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_is_described() {
    let server = server().await;
    for (path, item) in document()["paths"].as_object().unwrap() {
        let described: BTreeSet<_> = item.as_object().unwrap().keys().cloned().collect();
        let response = server.ask("PATCH", &concrete(path), &[], b"").await;
        assert_eq!(response.status, 405, "{path}");
        let allowed = response.headers["allow"].to_str().unwrap();
        let allowed = allowed.split(',').map(str::to_ascii_lowercase);
        // A GET route answers HEAD too.
        assert_eq!(
            described,
            allowed.filter(|method| method != "head").collect(),
            "{path}"
        );
    }
}

/// The names that the server says in its refusal of an unknown parameter are those that are described.
#[tokio::test(flavor = "multi_thread")]
async fn every_parameter_is_described() {
    let server = server().await;
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let described: BTreeSet<_> = parameters
                .map(|parameter| resolved(&document, parameter))
                .filter(|parameter| parameter["in"] == "query")
                .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
                .collect();
            let asked = format!("{}?no_such_parameter=1", concrete(path));
            let method = method.to_ascii_uppercase();
            // Not recorded, because a call without parameters passes over this one.
            let response = client::ask(&server.url, &method, &asked, &[], b"").await;
            let outcome = read(response.unwrap()).await;
            let mut known = BTreeSet::new();
            let is_problem = outcome.header("content-type") == "application/problem+json";
            if is_problem && outcome.problem()["detail"].to_string().contains("no_such") {
                let hint = outcome.problem()["hint"].as_str().unwrap().to_owned();
                let names = hint.strip_prefix("use ").unwrap().replace(" or ", ", ");
                known.extend(names.split(", ").map(str::to_owned));
            }
            assert_eq!(described, known, "{method} {path}");
        }
    }
}

/// The text between each pair of backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    let names = text.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_of_a_query_is_described() {
    let server = server().await;
    let schemas = &document()["components"]["schemas"];
    let refused = server.post(&json!({ "no_such_member": 1 })).await;
    let detail = refused.problem()["detail"].as_str().unwrap().to_owned();
    let mut named = quoted(&detail);
    assert!(named.remove("no_such_member"), "{detail}");
    let members = schemas["QueryRequest"]["properties"].as_object().unwrap();
    assert_eq!(members.keys().cloned().collect::<BTreeSet<_>>(), named);

    let predicate = json!({ "op": "no such op", "column": "n" });
    let refused = server
        .post(&json!({ "table": "t", "filter": predicate }))
        .await;
    let hint = refused.problem()["hint"].as_str().unwrap().to_owned();
    let named = hint.strip_prefix("use ").unwrap().replace(" or ", ", ");
    let named: BTreeSet<_> = named.split(", ").collect();
    let tests = [
        "Comparison",
        "TextTest",
        "InTest",
        "NullTest",
        "MatchesTest",
    ];
    let ops = tests.map(|name| &schemas[name]["properties"]["op"]);
    let described = ops.iter().flat_map(|op| op["enum"].as_array().unwrap());
    let described: BTreeSet<_> = described.map(|op| op.as_str().unwrap()).collect();
    assert_eq!(described, named);

    let key = json!({ "column": "n", "no_such_member": true });
    let refused = server.post(&json!({ "table": "t", "sort": [key] })).await;
    refused.assert_refused(400, "bad_json");
}

/// What is described and no other test asks for, so that each part of the description is compared with a response.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_other_test_asks_for() {
    let config = AppConfig {
        writable: true,
        ..config()
    };
    let (server, _) = Server::start_scripts(&config, vec![vec![Step::rows(0, 5)]]).await;
    let sql = "select t, cast(n as double) as x from t";
    let run = server.post(&json!({ "sql": sql, "id": id(1) })).await;
    assert!(run.is_complete());
    let result = format!("/v1/query/{}", id(1));
    for call in [
        "rows?checksum=xxh3",
        "export?format=parquet&compression=snappy",
        "export?format=csv&escape_formulas=true",
        "export?format=csv&delimiter=%3B&decimal=,&bom=true",
        "find?text=ROW&case=exact",
        "summary?column=t",
        "summary?column=x",
    ] {
        let outcome = server.get(&format!("{result}/{call}")).await;
        assert_eq!(outcome.status, 200, "{call}");
        assert!(outcome.is_whole, "{call}");
    }
    let headers = [
        ("content-type", "text/csv"),
        ("content-encoding", "identity"),
    ];
    let put = server.ask("PUT", "/v1/tables/u", &headers, b"a\n1\n").await;
    assert_eq!(put.status, 201);
    for path in ["/", "/v1/tables/u"] {
        let first = server.get(path).await;
        // A server without its dashboard has another page, which has no ETag.
        if let Some(etag) = first.headers.get("etag") {
            let headers = [("if-none-match", etag.to_str().unwrap())];
            let second = server.ask("GET", path, &headers, b"").await;
            assert_eq!(second.status, 304, "{path}");
        }
    }
}

/// What is refused before a handler runs, for every call: the recorded responses are compared with the description.
#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_guarded() {
    let guard = GuardConfig {
        token: Some(TOKEN.into()),
        ..GuardConfig::default()
    };
    let guarded = AppConfig {
        guard,
        writable: true,
        body_timeout: Duration::from_millis(50),
        ..config()
    };
    let (server, _) = Server::start_scripts(&guarded, vec![vec![]]).await;
    let no_connections = AppConfig {
        max_connections: 0,
        max_streams: 0,
        ..config()
    };
    let full = Server::start(&no_connections, Vec::new()).await;
    let right = format!("Bearer {TOKEN}");
    let token = ("authorization", right.as_str());
    let calls = calls();
    let mut statuses = BTreeSet::new();
    for (method, path) in &calls {
        let mut refused = vec![
            (vec![("host", "evil.example")], &b""[..]),
            (vec![("origin", "https://evil.example")], b""),
            (vec![], b""),
        ];
        if method != "GET" {
            refused.extend([
                (vec![token, ("content-length", "2000000")], &b""[..]),
                (vec![token, ("content-length", "5")], b""),
                (
                    vec![token, ("transfer-encoding", "chunked")],
                    b"no length\r\n",
                ),
            ]);
        }
        for (headers, body) in refused {
            let outcome = read(server.ask(method, path, &headers, body).await).await;
            statuses.insert(outcome.status);
        }
        let outcome = read(full.ask(method, path, &[], b"").await).await;
        outcome.assert_refused(503, "too_many_connections");
    }
    let wrong = [("authorization", "Bearer wrong")];
    for _ in 0..100 {
        server.ask("GET", "/v1/tables", &wrong, b"").await;
    }
    for (method, path) in &calls {
        let outcome = read(server.ask(method, path, &wrong, b"").await).await;
        statuses.insert(outcome.status);
    }
    let expected = BTreeSet::from([400, 401, 403, 408, 413, 429]);
    assert!(statuses.is_superset(&expected), "{statuses:?}");
}

/// What becomes of every call for a result that failed, was deleted, or never was.
#[tokio::test(flavor = "multi_thread")]
async fn every_call_for_a_result_without_rows() {
    let (server, _) = Server::of_scripts(vec![vec![Step::Fail]]).await;
    let [failed, deleted, unknown] = [1, 2, 3].map(id);
    for id in [&failed, &deleted] {
        server.get(&format!("/v1/tables/t/rows?id={id}")).await;
        server.until_state(id, "failed").await;
    }
    let path = format!("/v1/query/{deleted}");
    assert_eq!(server.ask("DELETE", &path, &[], b"").await.status, 204);
    for (method, path) in calls() {
        let (true, "GET") = (path.contains(&id(1)), method.as_str()) else {
            continue;
        };
        let parameter = match path.rsplit('/').next() {
            Some("export") => "?format=csv",
            Some("find") => "?text=a",
            Some("summary") => "?column=n",
            _ => "",
        };
        for (id, statuses) in [
            (&failed, [200, 422]),
            (&deleted, [404, 410]),
            (&unknown, [404, 404]),
        ] {
            let path = format!("{}{parameter}", path.replace(&failed, id));
            let outcome = server.get(&path).await;
            assert!(
                statuses.contains(&outcome.status),
                "{path}: {}",
                outcome.status
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_shows_its_description_without_a_token() {
    let guard = GuardConfig {
        token: Some(TOKEN.into()),
        ..GuardConfig::default()
    };
    let server = Server::start(&AppConfig { guard, ..config() }, Vec::new()).await;
    let shown = server.get("/v1/openapi.json").await;
    assert_eq!(shown.status, 200);
    assert_eq!(shown.header("content-type"), "application/json");
    assert_eq!(shown.body, DESCRIPTION.as_bytes());
}
