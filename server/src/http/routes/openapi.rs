//! `GET /v1/openapi.json`.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;

/// The OpenAPI description of the HTTP interface.
const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");

/// Answers with the description.
pub(super) async fn description() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, DESCRIPTION)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::ValueEnum;
    use serde_json::Value;

    use super::*;
    use crate::error::ErrorKind;
    use crate::http::connections::REFUSAL;
    use crate::http::routes::routes;

    fn document() -> Value {
        serde_json::from_str(DESCRIPTION).unwrap()
    }

    /// The status of each code that the server can answer with.
    fn codes() -> BTreeMap<String, u64> {
        let kinds = ErrorKind::value_variants().iter();
        let mut codes: BTreeMap<_, _> = kinds
            .map(|kind| (kind.code().to_owned(), u64::from(kind.status())))
            .collect();
        let (_, refusal) = std::str::from_utf8(REFUSAL)
            .unwrap()
            .split_once("\r\n\r\n")
            .unwrap();
        let refusal: Value = serde_json::from_str(refusal).unwrap();
        let code = refusal["code"].as_str().unwrap();
        codes.insert(code.to_owned(), refusal["status"].as_u64().unwrap());
        codes
    }

    fn texts(list: &Value) -> BTreeSet<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_documentation_lists_every_code() {
        let documentation = include_str!("../../../../docs/http.md");
        for (code, status) in codes() {
            let start = format!("| `{code}` | {status} | ");
            assert!(documentation.contains(&start), "no line {start:?}");
        }
        for kind in ErrorKind::value_variants() {
            let line = format!(
                "| `{}` | {} | {} |",
                kind.code(),
                kind.status(),
                kind.title()
            );
            assert!(documentation.contains(&line), "no line {line:?}");
        }
    }

    #[test]
    fn every_route_is_described() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let described: BTreeSet<_> = paths.keys().map(String::as_str).collect();
        let routes = routes();
        let served: BTreeSet<_> = routes.iter().map(|(path, _)| *path).collect();
        assert_eq!(described, served);
    }

    #[test]
    fn every_problem_code_is_described() {
        let document = document();
        let codes = codes();
        let enumerated = texts(&document["components"]["schemas"]["ProblemCode"]["enum"]);
        assert_eq!(enumerated, codes.keys().cloned().collect());

        let mut used = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let response = match response["$ref"].as_str() {
                        Some(reference) => document.pointer(&reference[1..]).unwrap(),
                        None => response,
                    };
                    let problem = &response["content"]["application/problem+json"];
                    assert_eq!(problem.is_null(), status.as_str() < "400", "{path}");
                    if problem.is_null() {
                        continue;
                    }
                    for code in texts(&problem["schema"]["properties"]["code"]["enum"]) {
                        let place = format!("{method} {path}: {code}");
                        assert_eq!(status, &codes[&code].to_string(), "{place}");
                        used.insert(code);
                    }
                }
            }
        }
        // These are for addresses and methods that no operation has.
        used.extend(["not_found", "method_not_allowed"].map(str::to_owned));
        assert_eq!(used, enumerated);
    }
}
