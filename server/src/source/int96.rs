//! Timestamps of Parquet's old type INT96, which Arrow lacks: nanoseconds of a day, and the number of the day.
//!
//! Arrow's nanoseconds hold the years 1677 to 2262 only, and its microseconds lack three digits. So the values
//! decide the unit.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef, TimeUnit};
use datafusion::datasource::physical_plan::parquet::Int96Coercer;
use datafusion::parquet::basic::Type;
use datafusion::parquet::column::reader::{get_column_reader, get_typed_column_reader};
use datafusion::parquet::data_type::{Int96, Int96Type};
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::parquet::file::serialized_reader::SerializedPageReader;
use serde::{Deserialize, Serialize};

use crate::source::SourceFile;
use crate::source::page_walk::Chunks;

/// The key of the metadata in which Spark, whose timestamps are microseconds, writes its version.
const SPARK_VERSION: &str = "org.apache.spark.version";

/// The day 1970-01-01 in INT96.
const EPOCH_DAY: i64 = 2_440_588;

const DAY_NANOS: i128 = 86_400_000_000_000;

/// The number of values that are read at once.
const NUM_VALUES: usize = 8192;

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
    /// Whether a value has digits below a microsecond.
    needs_nanos: bool,
    /// Whether a value is outside the years that nanoseconds hold.
    needs_micros: bool,
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
        let whole = footer.file_metadata();
        let micros = Int96Coercer::new(whole.schema_descr(), schema, &TimeUnit::Microsecond);
        let Some(micros_schema) = micros.coerce() else {
            return Ok(None);
        };
        let mut entries = whole.key_value_metadata().into_iter().flatten();
        let is_of_spark = entries.any(|entry| entry.key == SPARK_VERSION);
        let mut range = Self {
            needs_nanos: false,
            needs_micros: is_of_spark,
            micros_schema: Arc::new(micros_schema),
        };
        if !is_of_spark {
            range.add_values(file, footer)?;
        }
        Ok(Some(range))
    }

    fn add_values(&mut self, file: &SourceFile, footer: &ParquetMetaData) -> Result<()> {
        let chunks = Arc::new(Chunks(file.clone()));
        for group in footer.row_groups() {
            let columns = group.columns().iter();
            for column in columns.filter(|column| column.column_type() == Type::INT96) {
                let num_rows = usize::try_from(group.num_rows()).unwrap_or(0);
                let pages = SerializedPageReader::new(Arc::clone(&chunks), column, num_rows, None)?;
                let pages = get_column_reader(column.column_descr_ptr(), Box::new(pages));
                let mut reader = get_typed_column_reader::<Int96Type>(pages);
                let (mut levels, mut lists, mut values) = (Vec::new(), Vec::new(), Vec::new());
                loop {
                    let (levels_to, lists_to) = (Some(&mut levels), Some(&mut lists));
                    let (num_rows, ..) =
                        reader.read_records(NUM_VALUES, levels_to, lists_to, &mut values)?;
                    values.iter().try_for_each(|value| self.add(value))?;
                    if num_rows == 0 {
                        break;
                    }
                    levels.clear();
                    lists.clear();
                    values.clear();
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, value: &Int96) -> Result<()> {
        let &[low, high, day] = value.data() else {
            return Ok(());
        };
        let nanos = i128::from(u64::from(high) << 32 | u64::from(low));
        let nanos = (i128::from(day as i32) - i128::from(EPOCH_DAY)) * DAY_NANOS + nanos;
        self.needs_nanos |= nanos % 1000 != 0;
        self.needs_micros |= i64::try_from(nanos).is_err();
        if i64::try_from(nanos / 1000).is_err() {
            let error = "an INT96 timestamp is outside the years that microseconds can hold";
            return Err(ParquetError::General(error.to_owned()));
        }
        Ok(())
    }
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
    let is_micros = ranges().any(|range| range.needs_micros);
    if is_micros && ranges().any(|range| range.needs_nanos) {
        return Err(
            "some INT96 timestamps have digits below a microsecond, and others are outside the years 1677 to 2262; write them as INT64"
                .to_owned(),
        );
    }
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
