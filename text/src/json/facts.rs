//! Facts about all values of a field, and the type that they make.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

use super::cursor::{Class, Cursor, Numeral};
use super::fault::Parsed;
use super::fields::{FieldIndex, NextField};
use super::types::json_field;
use crate::number::NumberFacts;

/// The most fields of a struct. An object with more has keys that are data.
const MAX_STRUCT_FIELDS: usize = 1_000;

/// Facts about all values of a field, or about all items of its arrays.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    has_bools: bool,
    has_strings: bool,
    numbers: NumberFacts,
    objects: Option<Box<ObjectFacts>>,
    items: Option<Box<Facts>>,
}

impl Facts {
    /// Adds the next value.
    pub(super) fn observe(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        match cursor.class()? {
            Class::Null => cursor.null(),
            Class::Bool => {
                self.has_bools = true;
                cursor.boolean().map(|_| ())
            }
            Class::Number => {
                match cursor.number()? {
                    Numeral::Finite(number) => self.numbers.observe_number(&number),
                    Numeral::NonFinite(word, _) => {
                        self.numbers.observe_non_finite(word);
                    }
                }
                Ok(())
            }
            Class::String => {
                self.has_strings = true;
                cursor.skip_value().map(|_| ())
            }
            Class::Object => {
                let objects = self.objects.get_or_insert_default();
                let begin = cursor.bookmark();
                if objects.has_too_many_fields || !objects.observe(cursor, MAX_STRUCT_FIELDS)? {
                    objects.forget();
                    cursor.move_to(begin);
                    cursor.skip_value()?;
                }
                Ok(())
            }
            Class::Array => self.observe_items(cursor),
        }
    }

    fn observe_items(&mut self, cursor: &mut Cursor) -> Parsed<()> {
        let items = self.items.get_or_insert_default();
        cursor.open()?;
        let mut is_first = true;
        while cursor.next_member(b']', is_first)? {
            items.observe(cursor)?;
            is_first = false;
        }
        Ok(())
    }

    /// Adds the values of other facts.
    pub(super) fn merge(&mut self, other: Self) {
        self.has_bools |= other.has_bools;
        self.has_strings |= other.has_strings;
        self.numbers.merge(&other.numbers);
        if let Some(other) = other.objects {
            let objects = self.objects.get_or_insert_default();
            objects.merge(*other);
            if objects.has_too_many_fields || objects.num_fields() > MAX_STRUCT_FIELDS {
                objects.forget();
            }
        }
        if let Some(other) = other.items {
            self.items.get_or_insert_default().merge(*other);
        }
    }

    /// A field for all values.
    pub(super) fn field(&self, name: &str) -> Field {
        match self.data_type() {
            Some(data_type) => Field::new(name, data_type, true),
            None => json_field(name),
        }
    }

    /// The type that holds all values; `None` for JSON text.
    fn data_type(&self) -> Option<DataType> {
        let classes = [
            self.has_bools,
            self.has_strings,
            !self.numbers.is_empty(),
            self.objects.is_some(),
            self.items.is_some(),
        ];
        if classes.into_iter().filter(|&has_class| has_class).count() > 1 {
            None
        } else if self.has_bools {
            Some(DataType::Boolean)
        } else if !self.numbers.is_empty() {
            self.numbers.data_type()
        } else if let Some(objects) = &self.objects {
            let has_type = !objects.has_too_many_fields && objects.index.len() > 0;
            has_type.then(|| DataType::Struct(objects.fields()))
        } else if let Some(items) = &self.items {
            Some(DataType::List(Arc::new(
                items.field(Field::LIST_FIELD_DEFAULT_NAME),
            )))
        } else {
            Some(DataType::Utf8)
        }
    }
}

/// Facts about the fields of all objects, in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectFacts {
    index: FieldIndex,
    facts: Vec<Facts>,
    has_too_many_fields: bool,
}

impl ObjectFacts {
    /// Adds the next object. Returns false at the first field beyond `max_fields`, inside the object: an
    /// object can have millions of them.
    pub(super) fn observe(&mut self, cursor: &mut Cursor, max_fields: usize) -> Parsed<bool> {
        cursor.open()?;
        self.index.begin_object();
        while let Some(next) = self.index.next_field(cursor)? {
            let field = match next {
                NextField::Known(field) => field,
                NextField::Unknown(_) if self.num_fields() >= max_fields => return Ok(false),
                NextField::Unknown(name) => self.add(&name),
            };
            if let Some(facts) = self.facts.get_mut(field) {
                facts.observe(cursor)?;
            }
        }
        Ok(true)
    }

    fn add(&mut self, name: &str) -> usize {
        self.facts.push(Facts::default());
        self.index.add(name)
    }

    /// Adds the objects of other facts.
    pub(super) fn merge(&mut self, other: Self) {
        self.has_too_many_fields |= other.has_too_many_fields;
        for (name, facts) in other.index.names().zip(other.facts) {
            let field = self.index.find(name).unwrap_or_else(|| self.add(name));
            if let Some(known) = self.facts.get_mut(field) {
                known.merge(facts);
            }
        }
    }

    /// Forgets the fields, because there are too many.
    fn forget(&mut self) {
        *self = Self {
            has_too_many_fields: true,
            ..Self::default()
        };
    }

    /// The number of fields that were seen.
    pub(super) fn num_fields(&self) -> usize {
        self.facts.len()
    }

    /// A field for each field of the objects.
    pub(super) fn fields(&self) -> Fields {
        let fields = self.index.names().zip(&self.facts);
        fields.map(|(name, facts)| facts.field(name)).collect()
    }
}
