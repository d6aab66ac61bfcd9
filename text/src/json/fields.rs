//! The fields of an object, found by their keys.

use std::collections::HashMap;

use super::cursor::{Cursor, duplicate_key};
use super::fault::Parsed;

/// A field that the object has next.
#[derive(Debug)]
pub(super) enum NextField {
    /// The field of this number.
    Known(usize),
    /// A field of a name that is not known.
    Unknown(String),
}

/// The names of the fields that an object may have, in order.
///
/// Objects mostly have the same fields in the same order, so that the field behind the last one is
/// compared first.
#[derive(Debug, Clone, Default)]
pub(super) struct FieldIndex {
    fields: Vec<IndexedField>,
    by_name: HashMap<Box<str>, usize>,
    /// The number of the object that is being read.
    object: u64,
    /// The field behind the last one.
    expected: usize,
    /// Known fields that the object has so far.
    num_seen: usize,
    is_first: bool,
}

#[derive(Debug, Clone)]
struct IndexedField {
    name: Box<str>,
    /// The name as a key, with quotes and colon.
    key: Box<[u8]>,
    /// The last object that had the field.
    last_object: u64,
}

impl FieldIndex {
    /// The number of fields.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Names of all fields in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_ref())
    }

    /// The name of a field.
    pub(super) fn name(&self, field: usize) -> &str {
        self.fields.get(field).map_or("", |field| &field.name)
    }

    /// The number of the field of this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Adds a field of a name that is not known, and marks that the object has it.
    pub(super) fn add(&mut self, name: &str) -> usize {
        let field = self.fields.len();
        let needs_escape = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
        // A key with a character that JSON escapes never equals its name.
        let key = if name.bytes().any(needs_escape) {
            String::from("\0")
        } else {
            format!("\"{name}\":")
        };
        self.fields.push(IndexedField {
            name: name.into(),
            key: key.into_bytes().into(),
            last_object: self.object,
        });
        self.by_name.insert(name.into(), field);
        self.num_seen += 1;
        self.expected = field + 1;
        field
    }

    /// Begins to read an object whose brace was read.
    #[inline]
    pub(super) fn begin_object(&mut self) {
        self.object += 1;
        self.expected = 0;
        self.num_seen = 0;
        self.is_first = true;
    }

    /// Whether the object that is being read has all fields.
    #[inline]
    pub(super) fn has_all(&self) -> bool {
        self.num_seen == self.fields.len()
    }

    /// Moves the cursor to the value of the next field; `None` if the object ends.
    #[inline]
    pub(super) fn next_field(&mut self, cursor: &mut Cursor) -> Parsed<Option<NextField>> {
        if !cursor.next_member(b'}', self.is_first)? {
            return Ok(None);
        }
        self.is_first = false;
        let field = match self.fields.get(self.expected) {
            Some(expected) if cursor.accept(&expected.key) => self.expected,
            _ => {
                let name = cursor.key()?;
                match self.by_name.get(name) {
                    Some(&field) => field,
                    None => return Ok(Some(NextField::Unknown(name.to_owned()))),
                }
            }
        };
        self.mark(field)?;
        Ok(Some(NextField::Known(field)))
    }

    /// Marks that the object has a field; an error if it had it before.
    #[inline]
    fn mark(&mut self, field: usize) -> Parsed<()> {
        if let Some(known) = self.fields.get_mut(field) {
            if known.last_object == self.object {
                return Err(duplicate_key(&known.name));
            }
            known.last_object = self.object;
        }
        self.num_seen += 1;
        self.expected = field + 1;
        Ok(())
    }
}
