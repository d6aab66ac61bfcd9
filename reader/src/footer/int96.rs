//! Timestamps of Parquet's old type INT96, which Arrow lacks: nanoseconds of a day, and the number of the day.
//!
//! Arrow's nanoseconds hold the years 1677 to 2262 only, and its microseconds lack three digits. So the values
//! decide the unit.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use parquet::basic::Type;
use parquet::column::page::PageReader;
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::data_type::{Int96, Int96Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::ColumnDescPtr;

/// The key of the metadata in which Spark, whose timestamps are microseconds, writes its version.
const SPARK_VERSION: &str = "org.apache.spark.version";

/// The day 1970-01-01 in INT96.
const EPOCH_DAY: i64 = 2_440_588;

const DAY_NANOS: i128 = 86_400_000_000_000;

/// The number of values that are read at once.
const NUM_VALUES: usize = 8192;

/// What the INT96 columns of a file hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Int96Values {
    /// Whether a value has digits below a microsecond.
    pub needs_nanos: bool,
    /// Whether a value is outside the years that nanoseconds hold.
    pub needs_micros: bool,
}

impl Int96Values {
    /// What the writer of a file says: Spark's timestamps are microseconds. `None` if only the values can tell.
    #[must_use]
    pub fn of_writer(footer: &ParquetMetaData) -> Option<Self> {
        let mut entries = footer
            .file_metadata()
            .key_value_metadata()
            .into_iter()
            .flatten();
        let is_of_spark = entries.any(|entry| entry.key == SPARK_VERSION);
        is_of_spark.then_some(Self {
            needs_nanos: false,
            needs_micros: true,
        })
    }

    /// Adds all values of a column.
    ///
    /// # Errors
    /// A page cannot be read, or a value is outside the years that microseconds hold.
    pub fn add(&mut self, column: ColumnDescPtr, pages: Box<dyn PageReader>) -> Result<()> {
        let pages = get_column_reader(column, pages);
        let mut reader = get_typed_column_reader::<Int96Type>(pages);
        let (mut levels, mut lists, mut values) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let (levels_to, lists_to) = (Some(&mut levels), Some(&mut lists));
            let (num_rows, ..) =
                reader.read_records(NUM_VALUES, levels_to, lists_to, &mut values)?;
            values.iter().try_for_each(|value| self.add_value(value))?;
            if num_rows == 0 {
                return Ok(());
            }
            levels.clear();
            lists.clear();
            values.clear();
        }
    }

    /// Adds the values of a dictionary: 12 bytes each.
    ///
    /// # Errors
    /// A value is outside the years that microseconds hold.
    pub fn add_plain(&mut self, values: &[u8]) -> Result<()> {
        let (values, _) = values.as_chunks::<12>();
        values.iter().try_for_each(|value| {
            let [low, high, day] = [0, 4, 8].map(|at| {
                let mut word = [0; 4];
                word.copy_from_slice(&value[at..at + 4]);
                u32::from_le_bytes(word)
            });
            let mut number = Int96::new();
            number.set_data(low, high, day);
            self.add_value(&number)
        })
    }

    fn add_value(&mut self, value: &Int96) -> Result<()> {
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

    /// Whether the values are read as microseconds; otherwise as nanoseconds.
    ///
    /// # Errors
    /// Neither unit holds all values.
    pub fn are_micros(self) -> std::result::Result<bool, String> {
        if self.needs_micros && self.needs_nanos {
            return Err(
                "some INT96 timestamps have digits below a microsecond, and others are outside the years 1677 to 2262; write them as INT64"
                    .to_owned(),
            );
        }
        Ok(self.needs_micros)
    }
}

/// The columns of a file, with microseconds for INT96.
#[must_use]
pub fn with_int96_micros(fields: &Fields, footer: &ParquetMetaData) -> Fields {
    let columns = footer.file_metadata().schema_descr().columns();
    let mut types = columns.iter().map(|column| column.physical_type());
    with_micros(fields, &mut types)
}

fn with_micros(fields: &Fields, types: &mut impl Iterator<Item = Type>) -> Fields {
    fields
        .iter()
        .map(|field| field_with_micros(field, types))
        .collect()
}

/// The field, with the types of its leaves taken from the front of `types`, which has them in the same order.
fn field_with_micros(field: &FieldRef, types: &mut impl Iterator<Item = Type>) -> FieldRef {
    let mut item = |item: &FieldRef| field_with_micros(item, types);
    let data_type = match field.data_type() {
        DataType::List(inner) => DataType::List(item(inner)),
        DataType::LargeList(inner) => DataType::LargeList(item(inner)),
        DataType::ListView(inner) => DataType::ListView(item(inner)),
        DataType::LargeListView(inner) => DataType::LargeListView(item(inner)),
        DataType::FixedSizeList(inner, length) => DataType::FixedSizeList(item(inner), *length),
        DataType::Map(inner, is_sorted) => DataType::Map(item(inner), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(item).collect()),
        leaf => match (types.next(), leaf) {
            (Some(Type::INT96), DataType::Timestamp(_, zone)) => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            _ => return Arc::clone(field),
        },
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
