//! The errors of values that a column cannot hold, with the words of the `types` option.

use arrow_schema::{DataType, Field};

use super::cursor::{Class, Cursor, Numeral};
use super::facts::Facts;
use super::fault::{Fault, Parsed};
use crate::json_field::is_json;
use crate::number::NumberFacts;

/// The word for the type of a field: that of [`crate::type_word`], or `json`, `struct` or `list`.
fn type_word(field: &Field) -> String {
    match field.data_type() {
        DataType::Utf8 if is_json(field) => "json".to_owned(),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(_) => "list".to_owned(),
        data_type => crate::type_word(data_type),
    }
}

/// The error of the next value, which a column of this type cannot hold.
#[cold]
pub(super) fn misfit(cursor: &mut Cursor, field: &Field) -> Fault {
    match describe_misfit(cursor, field) {
        Ok((value, fitting)) => Fault::misfit(value, &type_word(field), &fitting),
        Err(fault) => fault,
    }
}

fn describe_misfit<'a>(cursor: &mut Cursor<'a>, field: &Field) -> Parsed<(&'a str, String)> {
    let is_number = cursor.class()? == Class::Number && field.data_type().is_numeric();
    let start = cursor.position();
    let value = cursor.skip_value()?;
    if !is_number {
        return Ok((value, "json".to_owned()));
    }
    cursor.rewind(start);
    let mut facts = NumberFacts::holding(field.data_type());
    match cursor.number()? {
        Numeral::Finite(number) => facts.observe_number(&number),
        Numeral::NonFinite(word, _) => {
            facts.observe_non_finite(word);
        }
    }
    let fitting = facts
        .data_type()
        .map_or("json".to_owned(), |fitting| crate::type_word(&fitting));
    Ok((value, fitting))
}

/// The error of the next value, which is of a field that the schema does not have.
#[cold]
pub(super) fn unknown_field(cursor: &mut Cursor, name: &str) -> Fault {
    let mut facts = Facts::default();
    let start = cursor.position();
    let value = facts.observe(cursor).and_then(|()| {
        cursor.rewind(start);
        cursor.skip_value()
    });
    match value {
        Ok(value) => Fault::new_field(value, &type_word(&facts.field(name))).within(name),
        Err(fault) => fault,
    }
}
