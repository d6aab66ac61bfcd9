use serde_json::{Map, Value};

use super::{Refusal, check_find};

/// The maximum nesting depth of `and`, `or` and `not`.
const MAX_DEPTH: usize = 32;

/// The maximum number of values of `in`, and of predicates of `and` and `or`.
const MAX_ITEMS: usize = 10_000;

/// A filter: `{"op": …, "column": …, "value": …}`, combined by `and`, `or`, `not`.
#[derive(Debug, PartialEq, Eq)]
pub enum Predicate<'a> {
    /// True if all are true, or if there are none.
    And(Vec<Predicate<'a>>),
    /// True if one is true; false if there are none.
    Or(Vec<Predicate<'a>>),
    /// The opposite.
    Not(Box<Predicate<'a>>),
    /// A test of one column.
    Test {
        /// The column's name.
        column: &'a str,
        /// The condition on its values.
        test: Test<'a>,
    },
    /// True if a cell contains a text, as a search finds it; otherwise false.
    Matches(Matches<'a>),
}

/// A search for rows, as a condition.
#[derive(Debug, PartialEq, Eq)]
pub struct Matches<'a> {
    /// The text to find, which a search accepts.
    pub text: &'a str,
    /// The names of the columns to search; `None` means all.
    pub columns: Option<Vec<&'a str>>,
    /// Whether upper and lower case differ.
    pub match_case: bool,
}

/// A condition on the values of a column. It is null for a null value, except for [`Test::IsNull`] and
/// an empty list.
#[derive(Debug, PartialEq, Eq)]
pub enum Test<'a> {
    /// In this relation to the given value.
    Compare(Comparison, &'a Value),
    /// One of these values; an empty list is false for every row.
    In(&'a [Value]),
    /// Null, or not null if `negated`.
    IsNull {
        /// Whether the condition is the opposite.
        negated: bool,
    },
    /// A text that contains this one.
    Contains(&'a str),
    /// A text that begins with this one.
    StartsWith(&'a str),
}

/// A relation between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less than or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater than or equal.
    Ge,
}

impl<'a> Predicate<'a> {
    /// Parses the JSON. The caller, who knows the schema, checks columns and values.
    ///
    /// # Errors
    /// The JSON is not a predicate, nests too deeply, or is too long.
    pub fn parse(json: &'a Value) -> Result<Self, Refusal> {
        parse(json, 0)
    }
}

/// The refusal of `contains` and `starts_with` for a column of this type. Only text, integers and
/// booleans have the same text in every program.
#[must_use]
pub fn no_plain_text(column: &str, type_name: &str) -> Refusal {
    Refusal::new(
        format!("column {column:?} is {type_name}"),
        "contains and starts_with search only text, integers and booleans",
    )
}

fn parse(json: &Value, depth: usize) -> Result<Predicate<'_>, Refusal> {
    if depth > MAX_DEPTH {
        return Err(Refusal::new(
            format!("the filter nests deeper than {MAX_DEPTH} levels"),
            "reduce the nesting",
        ));
    }
    let no_predicate = || {
        Refusal::new(
            format!("{} is not a predicate", shown(json)),
            "write {\"op\": …, \"column\": …, \"value\": …}, {\"and\": […]}, {\"or\": […]} or {\"not\": …}",
        )
    };
    let Value::Object(object) = json else {
        return Err(no_predicate());
    };
    let only = |key| (object.len() == 1).then(|| object.get(key)).flatten();
    if let Some(Value::Array(items)) = only("and") {
        return parse_all(items, depth).map(Predicate::And);
    }
    if let Some(Value::Array(items)) = only("or") {
        return parse_all(items, depth).map(Predicate::Or);
    }
    if let Some(inner) = only("not") {
        return Ok(Predicate::Not(Box::new(parse(inner, depth + 1)?)));
    }
    let is_known = |key: &String| ["op", "column", "value"].contains(&key.as_str());
    match (object.get("op"), object.get("column")) {
        (Some(Value::String(op)), _) if op == "matches" => {
            parse_matches(object).map(Predicate::Matches)
        }
        (Some(Value::String(op)), Some(Value::String(column))) if object.keys().all(is_known) => {
            let test = parse_test(op, column, object)?;
            Ok(Predicate::Test { column, test })
        }
        _ => Err(no_predicate()),
    }
}

fn parse_all(items: &[Value], depth: usize) -> Result<Vec<Predicate<'_>>, Refusal> {
    if items.len() > MAX_ITEMS {
        return Err(Refusal::new(
            format!("the filter joins more than {MAX_ITEMS} predicates"),
            "give fewer predicates",
        ));
    }
    items.iter().map(|item| parse(item, depth + 1)).collect()
}

fn parse_test<'a>(
    op: &str,
    column: &str,
    object: &'a Map<String, Value>,
) -> Result<Test<'a>, Refusal> {
    let given = object.get("value").filter(|value| !value.is_null());
    let value = || {
        given.ok_or_else(|| {
            Refusal::new(
                format!("the filter on {column:?} has no value"),
                "give \"value\", or use is_null or not_null",
            )
        })
    };
    let text = || match value()? {
        Value::String(text) => Ok(text.as_str()),
        other => Err(Refusal::new(
            format!(
                "the filter on {column:?} searches for {}, which is not a string",
                shown(other)
            ),
            "give \"value\" as a string",
        )),
    };
    let compare = |comparison| Ok(Test::Compare(comparison, value()?));
    match op {
        "eq" => compare(Comparison::Eq),
        "ne" => compare(Comparison::Ne),
        "lt" => compare(Comparison::Lt),
        "le" => compare(Comparison::Le),
        "gt" => compare(Comparison::Gt),
        "ge" => compare(Comparison::Ge),
        "is_null" | "not_null" if given.is_some() => Err(Refusal::new(
            format!("is_null and not_null on {column:?} take no value"),
            "leave \"value\" out",
        )),
        "is_null" => Ok(Test::IsNull { negated: false }),
        "not_null" => Ok(Test::IsNull { negated: true }),
        "contains" => text().map(Test::Contains),
        "starts_with" => text().map(Test::StartsWith),
        "in" => match value()? {
            Value::Array(values) if values.len() <= MAX_ITEMS => Ok(Test::In(values)),
            Value::Array(_) => Err(Refusal::new(
                format!("in takes at most {MAX_ITEMS} values"),
                "give fewer values",
            )),
            _ => Err(Refusal::new(
                format!("in on {column:?} takes a list"),
                "give \"value\" as an array",
            )),
        },
        _ => Err(Refusal::new(
            format!("unknown op {op:?}"),
            "use eq, ne, lt, le, gt, ge, in, is_null, not_null, contains, starts_with or matches",
        )),
    }
}

fn parse_matches(object: &Map<String, Value>) -> Result<Matches<'_>, Refusal> {
    let wrong = |what: &str| {
        let hint = "write {\"op\": \"matches\", \"value\": TEXT, \"columns\": [NAME, …], \"match_case\": BOOLEAN}";
        Refusal::new(format!("in a filter with matches, {what}"), hint)
    };
    let is_known = |key: &&String| ["op", "value", "columns", "match_case"].contains(&key.as_str());
    if let Some(key) = object.keys().find(|key| !is_known(key)) {
        return Err(wrong(&format!("{key:?} has no meaning")));
    }
    let given = |key| object.get(key).filter(|value| !value.is_null());
    let Some(Value::String(text)) = given("value") else {
        return Err(wrong("\"value\" is no text"));
    };
    check_find(text, 1)?;
    let columns = match given("columns") {
        None => None,
        Some(Value::Array(names)) if (1..=MAX_ITEMS).contains(&names.len()) => {
            let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
            Some(names.ok_or_else(|| wrong("\"columns\" has an item that is no name"))?)
        }
        Some(_) => return Err(wrong("\"columns\" is no list of names")),
    };
    let match_case = match given("match_case") {
        None => false,
        Some(Value::Bool(match_case)) => *match_case,
        Some(_) => return Err(wrong("\"match_case\" is neither true nor false")),
    };
    Ok(Matches {
        text,
        columns,
        match_case,
    })
}

/// The first 100 characters of a JSON value, for messages.
fn shown(json: &Value) -> String {
    let text = json.to_string();
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn predicates() {
        let one = json!({"op": "lt", "column": "n", "value": 1});
        let parsed = Predicate::parse(&one).unwrap();
        let test = Test::Compare(Comparison::Lt, &one["value"]);
        assert_eq!(parsed, Predicate::Test { column: "n", test });
        let both = json!({"not": {"or": [one, {"op": "in", "column": "t", "value": []}]}});
        let Predicate::Not(inner) = Predicate::parse(&both).unwrap() else {
            panic!("{both}");
        };
        assert!(matches!(*inner, Predicate::Or(items) if items.len() == 2));
    }

    #[test]
    fn refusals() {
        for wrong in [
            json!(null),
            json!([]),
            json!({}),
            json!({"and": {}}),
            json!({"and": [], "or": []}),
            json!({"op": "eq", "column": "n", "value": 1, "more": 1}),
            json!({"op": "eq", "column": 1, "value": 1}),
            json!({"op": "like", "column": "t", "value": "a"}),
            json!({"op": "eq", "column": "n"}),
            json!({"op": "eq", "column": "n", "value": null}),
            json!({"op": "in", "column": "n", "value": 5}),
            json!({"op": "in", "column": "n", "value": vec![0; MAX_ITEMS + 1]}),
            json!({"op": "contains", "column": "t", "value": 5}),
            json!({"op": "is_null", "column": "t", "value": 5}),
            json!({"op": "matches", "column": "t", "value": "a"}),
            json!({"op": "matches", "value": ""}),
            json!({"op": "matches", "value": 5}),
            json!({"op": "matches"}),
            json!({"op": "matches", "value": "a", "columns": []}),
            json!({"op": "matches", "value": "a", "columns": "t"}),
            json!({"op": "matches", "value": "a", "columns": [1]}),
            json!({"op": "matches", "value": "a", "match_case": 1}),
            json!({"op": "matches", "value": "a", "matchCase": true}),
        ] {
            let refusal = Predicate::parse(&wrong).unwrap_err();
            assert!(refusal.message.len() < 500, "{refusal:?}");
        }
        let deep = |depth| (0..depth).fold(json!({"and": []}), |inner, _| json!({ "not": inner }));
        assert!(Predicate::parse(&deep(MAX_DEPTH)).is_ok());
        assert!(Predicate::parse(&deep(MAX_DEPTH + 1)).is_err());
    }
}
