//! The unit in which the INT96 columns of a table's files are read.

use std::sync::Arc;

use colonnade_reader::footer::{Int96Values, with_int96_micros};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::parquet::basic::Type;
use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::parquet::file::serialized_reader::SerializedPageReader;
use serde::{Deserialize, Serialize};

use crate::source::SourceFile;
use crate::source::page_walk::Chunks;

/// The unit in which the INT96 columns of a table are read.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Int96Unit {
    Nanoseconds,
    Microseconds,
}

impl Int96Unit {
    /// The engine's option for it.
    pub(super) fn option(self) -> Option<String> {
        match self {
            Self::Nanoseconds => None,
            Self::Microseconds => Some("us".to_owned()),
        }
    }
}

/// What the INT96 columns of a file hold.
#[derive(Debug, Clone)]
pub(super) struct Int96Range {
    values: Int96Values,
    /// The columns of the file, with microseconds for INT96.
    micros_schema: SchemaRef,
}

impl Int96Range {
    /// Reads the INT96 columns of a file; `None` if it has none. Blocks.
    ///
    /// # Errors
    /// A page cannot be read, or a value is outside the years that microseconds hold.
    pub(super) fn read(
        file: &SourceFile,
        footer: &ParquetMetaData,
        schema: &Schema,
    ) -> Result<Option<Self>> {
        let columns = footer.file_metadata().schema_descr().columns();
        if columns
            .iter()
            .all(|column| column.physical_type() != Type::INT96)
        {
            return Ok(None);
        }
        let values = match Int96Values::of_writer(footer) {
            Some(values) => values,
            None => read_values(file, footer)?,
        };
        let micros = with_int96_micros(schema.fields(), footer);
        Ok(Some(Self {
            values,
            micros_schema: Arc::new(Schema::new(micros)),
        }))
    }
}

fn read_values(file: &SourceFile, footer: &ParquetMetaData) -> Result<Int96Values> {
    let chunks = Arc::new(Chunks(file.clone()));
    let mut values = Int96Values::default();
    for group in footer.row_groups() {
        let columns = group.columns().iter();
        for column in columns.filter(|column| column.column_type() == Type::INT96) {
            let num_rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let pages = SerializedPageReader::new(Arc::clone(&chunks), column, num_rows, None)?;
            values.add(column.column_descr_ptr(), Box::new(pages))?;
        }
    }
    Ok(values)
}

/// The columns of files, with the unit of the INT96 columns of all, and that unit. Each item is a file's columns, and its
/// INT96 values if it has any.
///
/// # Errors
/// Neither unit holds all values.
pub(super) fn with_unit(
    files: &[(&SchemaRef, Option<&Int96Range>)],
) -> std::result::Result<(Vec<SchemaRef>, Int96Unit), String> {
    let ranges = || files.iter().filter_map(|(_, range)| *range);
    let values = Int96Values {
        needs_nanos: ranges().any(|range| range.values.needs_nanos),
        needs_micros: ranges().any(|range| range.values.needs_micros),
    };
    let is_micros = values.are_micros()?;
    let schemas = files.iter().map(|(schema, range)| match range {
        Some(range) if is_micros => {
            let micros = range.micros_schema.fields().iter();
            let fields = schema.fields().iter().zip(micros).map(|(field, micros)| {
                let data_type = micros.data_type().clone();
                field.as_ref().clone().with_data_type(data_type)
            });
            let metadata = schema.metadata().clone();
            Arc::new(Schema::new_with_metadata(
                fields.collect::<Vec<_>>(),
                metadata,
            ))
        }
        _ => Arc::clone(schema),
    });
    let unit = match is_micros {
        true => Int96Unit::Microseconds,
        false => Int96Unit::Nanoseconds,
    };
    Ok((schemas.collect(), unit))
}
