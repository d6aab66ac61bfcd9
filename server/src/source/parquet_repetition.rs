//! States the repetition of columns in footers that leave it out: some writers do not write the first value of
//! an enum, which is `REQUIRED`. Arrow C++ and DuckDB read such a column as required; the library refuses it.
//!
//! Spec: `SchemaElement` in `parquet.thrift`.

use bytes::Bytes;

use crate::source::thrift::{FieldHeader, I32, LIST, MAX_DEPTH, STRUCT, list_header};

/// The id of `FileMetaData.schema`.
const SCHEMA: i64 = 2;

/// The id of `SchemaElement.repetition_type`.
const REPETITION_TYPE: i64 = 3;

/// The same footer with each repetition; `None` if none is missing, or if the bytes are no footer.
pub(super) fn with_repetition(footer: &Bytes) -> Option<Bytes> {
    let mut rest = footer.clone();
    let num_elements = find_schema(&mut rest)?;
    let mut stated = Vec::new();
    let mut num_copied = 0;
    for index in 0..num_elements {
        let Some(gap) = Gap::find(footer, &mut rest)? else {
            continue;
        };
        // The root has no repetition.
        if index > 0 {
            stated.extend_from_slice(footer.get(num_copied..gap.start)?);
            num_copied = gap.write(&mut stated)?;
        }
    }
    if num_copied == 0 {
        return None;
    }
    stated.extend_from_slice(footer.get(num_copied..)?);
    Some(stated.into())
}

/// Skips the fields before the schema, and returns the number of its elements.
fn find_schema(footer: &mut Bytes) -> Option<u64> {
    let mut id = 0;
    loop {
        let field = FieldHeader::read(footer, id)??;
        id = field.id;
        if id == SCHEMA && field.kind == LIST {
            let (num_elements, kind) = list_header(footer)?;
            return (kind == STRUCT).then_some(num_elements);
        }
        field.skip_value(footer, MAX_DEPTH)?;
    }
}

/// Where an element lacks its repetition.
struct Gap {
    /// The position in the footer.
    start: usize,
    /// The id of the field before, 0 if there is none.
    previous_id: i64,
    /// The field behind, and the end of its header.
    next: Option<(FieldHeader, usize)>,
}

impl Gap {
    /// Reads the element with which `rest`, the end of `footer`, begins. The inner `None` is an element with a
    /// repetition.
    fn find(footer: &Bytes, rest: &mut Bytes) -> Option<Option<Self>> {
        let mut id = 0;
        let mut gap = None;
        let mut has_repetition = false;
        loop {
            let start = footer.len() - rest.len();
            let field = FieldHeader::read(rest, id)?;
            if field.is_none_or(|field| field.id > REPETITION_TYPE) && gap.is_none() {
                let header_end = footer.len() - rest.len();
                gap = Some(Self {
                    start,
                    previous_id: id,
                    next: field.map(|field| (field, header_end)),
                });
            }
            let Some(field) = field else {
                return Some(gap.filter(|_| !has_repetition));
            };
            id = field.id;
            has_repetition |= id == REPETITION_TYPE;
            field.skip_value(rest, MAX_DEPTH)?;
        }
    }

    /// Writes `repetition_type = REQUIRED` and the header behind it; returns the position from which the footer
    /// goes on unchanged.
    fn write(&self, out: &mut Vec<u8>) -> Option<usize> {
        out.extend([header(REPETITION_TYPE - self.previous_id, I32)?, 0]);
        let Some((next, header_end)) = self.next else {
            return Some(self.start);
        };
        out.push(header(next.id - REPETITION_TYPE, next.kind)?);
        Some(header_end)
    }
}

/// The header of a field whose id is `delta` more than that of the field before.
fn header(delta: i64, kind: u8) -> Option<u8> {
    let delta = u8::try_from(delta)
        .ok()
        .filter(|delta| (1..16).contains(delta))?;
    Some(delta << 4 | kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer: the version, then a schema of these elements, then an empty field 3.
    fn footer(elements: &[&[u8]]) -> Bytes {
        let mut bytes = vec![0x15, 0x04, 0x19, (elements.len() as u8) << 4 | STRUCT];
        bytes.extend(elements.concat());
        bytes.extend(b"\x16\x08\x00");
        bytes.into()
    }

    #[test]
    fn only_missing_repetitions_are_added() {
        let root = b"\x48\x01r\x15\x06\x00".as_slice();
        let stated = b"\x15\x0C\x25\x00\x18\x01a\x00".as_slice();
        let optional = b"\x15\x0C\x25\x02\x18\x01a\x00".as_slice();
        let missing = b"\x15\x0C\x38\x01a\x00".as_slice();
        // A group has no type, so its first field can be its name.
        let (group, stated_group) = (
            b"\x48\x01g\x15\x02\x00".as_slice(),
            b"\x35\x00\x18\x01g\x15\x02\x00".as_slice(),
        );
        let whole = footer(&[root, stated, optional]);
        assert_eq!(with_repetition(&whole), None);
        let gaps = footer(&[root, missing, optional, group, missing]);
        let expected = footer(&[root, stated, optional, stated_group, stated]);
        assert_eq!(with_repetition(&gaps), Some(expected));
        for end in 0..gaps.len() - 3 {
            assert_eq!(with_repetition(&gaps.slice(..end)), None, "{end}");
        }
        assert_eq!(with_repetition(&Bytes::new()), None);
    }
}
