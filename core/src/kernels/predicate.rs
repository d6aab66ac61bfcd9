//! The JSON filter as a tree of tests on columns.

use std::collections::{BinaryHeap, HashSet};

use arrow_schema::DataType;
use serde_json::Value;

use super::column::{Column, column_index};
use super::error::KernelError;
use super::find::Search;
use super::key::Physical;
use super::literal::{Literal, parse_literal};
use crate::semantics::{
    self, Comparison, Pattern, Refusal, literal_text, no_plain_text, value_type,
};
use crate::table::Table;
use crate::text::TimeZones;

#[derive(Debug)]
pub(super) enum Predicate {
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    Not(Box<Predicate>),
    Leaf(Box<Leaf>),
    /// A row with a cell that contains a text.
    Matches(Box<Search>),
}

/// A test of one column.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) column: Column,
    pub(super) test: Test,
}

#[derive(Debug)]
pub(super) enum Test {
    Compare(Comparison, Literal),
    /// In ascending order.
    In(Vec<Literal>),
    /// The same for text and binary.
    InBytes(HashSet<Vec<u8>>),
    /// True or false for null, too.
    IsNull {
        negated: bool,
    },
    /// Contains this text, which is not empty.
    Contains(Box<Pattern>),
    StartsWith(Vec<u8>),
    /// The same for every row, including nulls.
    Constant(bool),
}

/// Parses the JSON.
///
/// # Errors
/// `bad_filter` or `unknown_column`, with what would be right.
pub(super) fn parse_predicate(
    json: &str,
    table: &Table,
    zones: &dyn TimeZones,
) -> Result<Predicate, KernelError> {
    let value = semantics::exact_json(json).map_err(|error| refused(&error))?;
    let predicate = semantics::Predicate::parse(&value).map_err(|error| refused(&error))?;
    Binder { table, zones }.predicate(&predicate)
}

/// Resolves names to columns, and values to their types.
struct Binder<'a> {
    table: &'a Table,
    zones: &'a dyn TimeZones,
}

impl Binder<'_> {
    fn predicate(&self, predicate: &semantics::Predicate) -> Result<Predicate, KernelError> {
        use semantics::Predicate as P;
        let all = |items: &[P]| {
            let bound = items.iter().map(|item| self.predicate(item));
            bound.collect::<Result<Vec<_>, _>>()
        };
        Ok(match predicate {
            P::And(items) => Predicate::And(all(items)?),
            P::Or(items) => Predicate::Or(all(items)?),
            P::Not(inner) => Predicate::Not(Box::new(self.predicate(inner)?)),
            P::Test { column, test } => {
                let column = Column::try_new(self.table, column_index(self.table, column)?)?;
                let test = self.test(test, &column)?;
                Predicate::Leaf(Box::new(Leaf { column, test }))
            }
            P::Matches(matches) => Predicate::Matches(Box::new(Search::try_new(
                self.table,
                matches.text,
                matches.columns.as_deref(),
                matches.match_case,
            )?)),
        })
    }

    fn test(&self, test: &semantics::Test, column: &Column) -> Result<Test, KernelError> {
        use semantics::Test as T;
        Ok(match test {
            T::Compare(comparison, value) => {
                Test::Compare(*comparison, self.literal(value, column)?)
            }
            T::In([]) => Test::Constant(false),
            T::In(values) => {
                let literals = values.iter().map(|value| self.literal(value, column));
                let literals = literals.collect::<Result<Vec<_>, _>>()?;
                if column.physical() == Physical::Bytes {
                    let bytes = literals.into_iter().filter_map(|literal| match literal {
                        Literal::Bytes(bytes) => Some(bytes),
                        _ => None,
                    });
                    return Ok(Test::InBytes(bytes.collect()));
                }
                // A heap needs much less code than a sort does.
                Test::In(BinaryHeap::from(literals).into_sorted_vec())
            }
            T::IsNull { negated } => Test::IsNull { negated: *negated },
            T::Contains(text) => {
                has_plain_text(column)?;
                match text.is_empty() {
                    true => Test::StartsWith(Vec::new()),
                    false => Test::Contains(Box::new(Pattern::new(text, true))),
                }
            }
            T::StartsWith(text) => {
                has_plain_text(column)?;
                Test::StartsWith(text.as_bytes().to_vec())
            }
        })
    }

    /// A JSON value as an exact value of the column's type.
    fn literal(&self, value: &Value, column: &Column) -> Result<Literal, KernelError> {
        let name = &column.name;
        let target = value_type(&column.data_type);
        if column.physical() == Physical::Unordered {
            return Err(bad(format!(
                "column {name:?} is {}, which cannot be compared; use is_null or not_null",
                crate::wire::type_name(target)
            )));
        }
        let text = literal_text(value, name).map_err(|error| refused(&error))?;
        parse_literal(&text, target, self.zones).ok_or_else(|| {
            let hint = match target {
                DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_) => "give bytes as hex digits".into(),
                DataType::Duration(_) | DataType::Interval(_) => {
                    "durations and intervals cannot be compared".into()
                }
                target => format!("give a value of type {}", crate::wire::type_name(target)),
            };
            bad(format!(
                "{text:?} is not a value of column {name:?}; {hint}"
            ))
        })
    }
}

/// Checks that the column's values have the same text in every program.
fn has_plain_text(column: &Column) -> Result<(), KernelError> {
    let data_type = value_type(&column.data_type);
    let is_plain = matches!(
        data_type,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean
    ) || data_type.is_integer();
    if is_plain {
        return Ok(());
    }
    let type_name = crate::wire::type_name(data_type);
    Err(refused(&no_plain_text(&column.name, &type_name)))
}

fn refused(refusal: &Refusal) -> KernelError {
    KernelError::refused("bad_filter", refusal)
}

fn bad(message: String) -> KernelError {
    KernelError::new("bad_filter", message)
}
