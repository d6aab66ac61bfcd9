//! Converts a request to the JSON of `POST /v1/query`.

use serde_json::{Map, Value, json};

use crate::backend::request::{Filter, Request, Source, TableQuery};

/// The members of a request that select its rows, without those that have no effect.
pub(super) fn request_to_json(request: &Request) -> Value {
    let mut members = Map::new();
    let mut rows = |kind: &str, query: &TableQuery| {
        members.insert(kind.to_owned(), json!(query.table));
        if let Some(columns) = &query.columns {
            members.insert("columns".to_owned(), json!(columns));
        }
        match &query.filter {
            None => {}
            Some(Filter::Text(text)) => drop(members.insert("filter".to_owned(), json!(text))),
            Some(Filter::Json(json)) => drop(members.insert("filter".to_owned(), json.clone())),
        }
        if !query.sort.is_empty() {
            members.insert("sort".to_owned(), json!(query.sort));
        }
    };
    match &request.source {
        Source::Sql(query) => {
            members.insert("sql".to_owned(), json!(query.sql));
            if !query.params.is_empty() {
                members.insert("params".to_owned(), json!(query.params));
            }
        }
        Source::Table(query) => rows("table", query),
        Source::Query(query) => rows("query", query),
    }
    if request.range.first_row > 0 {
        members.insert("offset".to_owned(), json!(request.range.first_row));
    }
    if let Some(limit) = request.range.limit {
        members.insert("limit".to_owned(), json!(limit));
    }
    Value::Object(members)
}
