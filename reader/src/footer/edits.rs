//! Parquet footers with other statements than the file has.

use arrow_schema::Schema;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::SchemaDescPtr;

/// What a footer states of the whole file.
pub(super) struct Stated {
    pub(super) num_rows: i64,
    pub(super) pairs: Option<Vec<KeyValue>>,
    pub(super) columns: SchemaDescPtr,
}

/// The footer with other statements.
pub(super) fn with_stated(
    footer: &ParquetMetaData,
    change: impl FnOnce(&mut Stated),
) -> ParquetMetaData {
    let before = footer.file_metadata();
    let mut stated = Stated {
        num_rows: before.num_rows(),
        pairs: before.key_value_metadata().cloned(),
        columns: before.schema_descr_ptr(),
    };
    change(&mut stated);
    ParquetMetaDataBuilder::new(FileMetaData::new(
        before.version(),
        stated.num_rows,
        before.created_by().map(str::to_owned),
        stated.pairs,
        stated.columns,
        before.column_orders().cloned(),
    ))
    .set_row_groups(footer.row_groups().to_vec())
    .set_column_index(footer.column_index().cloned())
    .set_offset_index(footer.offset_index().cloned())
    .build()
}

/// The footer with another stored schema.
pub(super) fn with_stored_schema(footer: &ParquetMetaData, schema: &Schema) -> ParquetMetaData {
    let schema = encode_arrow_schema(schema);
    with_stated(footer, |stated| {
        let pairs = stated.pairs.iter_mut().flatten();
        for pair in pairs.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY) {
            pair.value = Some(schema.clone());
        }
    })
}
