//! The JSON filter as a tree over columns: `{"op": …, "column": …, "value": …}`, combined by `and`,
//! `or`, `not`. The server reads the same JSON with the same meaning.

use arrow_schema::DataType;
use serde_json::{Map, Value};

use super::column::{Column, column_index, value_type};
use super::error::KernelError;
use super::key::Physical;
use super::literal::{Literal, parse_literal};
use crate::table::Table;
use crate::text::TimeZones;

/// How deep `and`, `or` and `not` may nest.
const MAX_DEPTH: usize = 32;

/// How many values `in` takes, and how many predicates `and` and `or`.
const MAX_ITEMS: usize = 10_000;

#[derive(Debug)]
pub(super) enum Predicate {
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
    Leaf(Box<Leaf>),
}

/// A test of one column.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) column: Column,
    pub(super) test: Test,
}

#[derive(Debug)]
pub(super) enum Test {
    Compare(Op, Literal),
    In(Vec<Literal>),
    /// Also true and false of null.
    IsNull {
        negated: bool,
    },
    Contains(Box<memchr::memmem::Finder<'static>>),
    StartsWith(Vec<u8>),
    /// The same for every row, null or not.
    Constant(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Reads the JSON.
///
/// # Errors
/// `bad_filter` or `unknown_column`, with what would be right.
pub(super) fn parse_predicate(
    json: &str,
    table: &Table,
    zones: &dyn TimeZones,
) -> Result<Predicate, KernelError> {
    let value = serde_json::from_str(json)
        .map_err(|error| bad(format!("the filter is no JSON: {error}")))?;
    Reader { table, zones }.predicate(&value, 0)
}

struct Reader<'a> {
    table: &'a Table,
    zones: &'a dyn TimeZones,
}

impl Reader<'_> {
    fn predicate(&self, value: &Value, depth: usize) -> Result<Predicate, KernelError> {
        if depth > MAX_DEPTH {
            return Err(bad(format!(
                "the filter nests deeper than {MAX_DEPTH} levels; write it flatter"
            )));
        }
        let form = "write {\"op\": …, \"column\": …, \"value\": …}, {\"and\": […]}, {\"or\": […]} or {\"not\": …}";
        let Value::Object(object) = value else {
            return Err(bad(format!("{value} is no predicate; {form}")));
        };
        let only = |key| (object.len() == 1).then(|| object.get(key)).flatten();
        if let Some(Value::Array(items)) = only("and") {
            return self.items(items, depth).map(Predicate::And);
        }
        if let Some(Value::Array(items)) = only("or") {
            return self.items(items, depth).map(Predicate::Or);
        }
        if let Some(inner) = only("not") {
            let inner = self.predicate(inner, depth + 1)?;
            return Ok(Predicate::Not(Box::new(inner)));
        }
        let is_known = |key: &String| ["op", "column", "value"].contains(&key.as_str());
        match (object.get("op"), object.get("column")) {
            (Some(Value::String(op)), Some(Value::String(column)))
                if object.keys().all(is_known) =>
            {
                self.leaf(op, column, object)
                    .map(|leaf| Predicate::Leaf(Box::new(leaf)))
            }
            _ => Err(bad(format!("{value} is no predicate; {form}"))),
        }
    }

    fn items(&self, items: &[Value], depth: usize) -> Result<Vec<Predicate>, KernelError> {
        if items.len() > MAX_ITEMS {
            return Err(bad(format!(
                "the filter joins more than {MAX_ITEMS} predicates; write a shorter one"
            )));
        }
        items
            .iter()
            .map(|item| self.predicate(item, depth + 1))
            .collect()
    }

    fn leaf(&self, op: &str, name: &str, object: &Map<String, Value>) -> Result<Leaf, KernelError> {
        let column = Column::try_new(self.table, column_index(self.table, name)?)?;
        let given = object.get("value").filter(|value| !value.is_null());
        let value = || {
            given.ok_or_else(|| {
                bad(format!(
                    "the filter on {name:?} has no value; give \"value\", or use is_null or not_null"
                ))
            })
        };
        let text = || match value()? {
            Value::String(text) => Ok(text.as_bytes()),
            other => Err(bad(format!(
                "the filter on {name:?} looks for {other}, which is no text; give \"value\" as a string"
            ))),
        };
        let compare = |op| Ok(Test::Compare(op, self.literal(value()?, &column)?));
        let test = match op {
            "eq" => compare(Op::Eq),
            "ne" => compare(Op::Ne),
            "lt" => compare(Op::Lt),
            "le" => compare(Op::Le),
            "gt" => compare(Op::Gt),
            "ge" => compare(Op::Ge),
            "is_null" | "not_null" if given.is_some() => Err(bad(format!(
                "is_null and not_null on {name:?} take no value; leave \"value\" out"
            ))),
            "is_null" => Ok(Test::IsNull { negated: false }),
            "not_null" => Ok(Test::IsNull { negated: true }),
            "contains" => {
                let finder = memchr::memmem::Finder::new(text()?).into_owned();
                has_plain_text(&column).map(|()| Test::Contains(Box::new(finder)))
            }
            "starts_with" => {
                let start = text()?.to_vec();
                has_plain_text(&column).map(|()| Test::StartsWith(start))
            }
            "in" => match value()? {
                Value::Array(values) if values.is_empty() => Ok(Test::Constant(false)),
                Value::Array(values) if values.len() <= MAX_ITEMS => values
                    .iter()
                    .map(|value| self.literal(value, &column))
                    .collect::<Result<_, _>>()
                    .map(Test::In),
                Value::Array(_) => Err(bad(format!(
                    "in takes at most {MAX_ITEMS} values; write a shorter list"
                ))),
                _ => Err(bad(format!(
                    "in on {name:?} takes a list; give \"value\" as an array"
                ))),
            },
            _ => Err(bad(format!(
                "there is no op {op:?}; use eq, ne, lt, le, gt, ge, in, is_null, not_null, contains or starts_with"
            ))),
        };
        Ok(Leaf {
            test: test?,
            column,
        })
    }

    /// A JSON value as a value of the column's type; exact, or an error.
    fn literal(&self, value: &Value, column: &Column) -> Result<Literal, KernelError> {
        let name = &column.name;
        let target = value_type(&column.data_type);
        if column.physical() == Physical::Unordered {
            return Err(bad(format!(
                "column {name:?} is {}, whose values are not compared; use is_null or not_null",
                crate::wire::type_name(target)
            )));
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            other => {
                return Err(bad(format!(
                    "the filter on {name:?} compares with {other}; give a string, a number or a boolean"
                )));
            }
        };
        parse_literal(&text, target, self.zones).ok_or_else(|| {
            let hint = match target {
                DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_) => "give bytes as hex digits".into(),
                DataType::Duration(_) | DataType::Interval(_) => {
                    "durations and intervals are not compared".into()
                }
                target => format!("give a value of type {}", crate::wire::type_name(target)),
            };
            bad(format!(
                "{text:?} is not a value of column {name:?}; {hint}"
            ))
        })
    }
}

/// Whether the column's values have one text everywhere, in every program.
fn has_plain_text(column: &Column) -> Result<(), KernelError> {
    let data_type = value_type(&column.data_type);
    let is_plain = matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean
    ) || data_type.is_integer();
    if is_plain {
        return Ok(());
    }
    Err(bad(format!(
        "contains and starts_with look at text, integers and booleans; column {:?} is {}",
        column.name,
        crate::wire::type_name(data_type)
    )))
}

fn bad(message: String) -> KernelError {
    KernelError::new("bad_filter", message)
}
