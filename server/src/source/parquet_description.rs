//! Describes the storage of a table from its Parquet footers.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::parquet::errors::Result;
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use serde::Serialize;

use crate::source::parquet::ParquetFile;

/// The maximum number of files that are described.
const MAX_FILES: usize = 512;
/// The maximum number of row groups that are listed; further ones are only counted.
const MAX_ROW_GROUPS: usize = 1000;
/// The maximum number of characters of a metadata value; longer ones are left out.
const MAX_VALUE_CHARS: usize = 4096;
/// The key of the writer's Arrow schema, which is not text.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// The storage of a table's files. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct ParquetDescription {
    /// The number of files of the table.
    pub files: usize,
    /// The number of files that the other members describe: at most the first 512.
    pub files_read: usize,
    /// The programs that wrote the files.
    pub created_by: BTreeSet<String>,
    /// The key-value metadata of the first file.
    pub metadata: Vec<(String, String)>,
    /// The number of row groups.
    pub num_row_groups: usize,
    /// The first 1000 row groups, in order.
    pub row_groups: Vec<RowGroupDescription>,
    /// The leaf columns, in order.
    pub columns: Vec<ColumnDescription>,
}

/// A row group.
#[derive(Debug, Serialize)]
pub struct RowGroupDescription {
    /// The index of its file, from 0.
    pub file: usize,
    /// The number of rows.
    pub rows: i64,
    /// Its size in the file.
    pub bytes: i64,
    /// Its size before compression.
    pub uncompressed_bytes: i64,
}

/// A leaf column, summed over all row groups.
#[derive(Debug, Serialize)]
pub struct ColumnDescription {
    /// Its path, joined with dots.
    pub name: String,
    /// Its Parquet type, e.g. `INT64`.
    pub physical_type: String,
    /// The codecs of its pages, e.g. `ZSTD`.
    pub compression: BTreeSet<String>,
    /// The encodings of its pages, e.g. `RLE_DICTIONARY`.
    pub encodings: BTreeSet<String>,
    /// Its size in the files.
    pub bytes: i64,
    /// Its size before compression.
    pub uncompressed_bytes: i64,
    /// Whether each row group has the minimum and the maximum.
    pub statistics: bool,
    /// Whether each row group has a bloom filter.
    pub bloom_filter: bool,
}

impl ParquetDescription {
    /// Reads the footers and describes the files. Blocks.
    ///
    /// # Errors
    /// A footer cannot be read any more.
    pub(super) fn read(files: &[Arc<ParquetFile>]) -> Result<Self> {
        let mut description = Self::of(files.len());
        for (index, file) in files.iter().take(MAX_FILES).enumerate() {
            description.add(index, &*file.plain_footer()?);
        }
        Ok(description)
    }

    /// An empty description of `files` files.
    fn of(files: usize) -> Self {
        Self {
            files,
            files_read: files.min(MAX_FILES),
            created_by: BTreeSet::new(),
            metadata: Vec::new(),
            num_row_groups: 0,
            row_groups: Vec::new(),
            columns: Vec::new(),
        }
    }

    fn add(&mut self, file: usize, footer: &ParquetMetaData) {
        let whole = footer.file_metadata();
        self.created_by
            .extend(whole.created_by().map(str::to_owned));
        if file == 0 {
            self.metadata = whole
                .key_value_metadata()
                .into_iter()
                .flatten()
                .filter(|entry| entry.key != ARROW_SCHEMA)
                .filter_map(|entry| Some((entry.key.clone(), entry.value.clone()?)))
                .filter(|(_, value)| value.chars().nth(MAX_VALUE_CHARS).is_none())
                .collect();
        }
        for group in footer.row_groups() {
            self.num_row_groups += 1;
            if self.row_groups.len() < MAX_ROW_GROUPS {
                self.row_groups.push(RowGroupDescription {
                    file,
                    rows: group.num_rows(),
                    bytes: group.compressed_size(),
                    uncompressed_bytes: group.total_byte_size(),
                });
            }
            for (index, chunk) in group.columns().iter().enumerate() {
                let column = self.column(index, chunk);
                let codec = format!("{:?}", chunk.compression_codec());
                column.compression.insert(codec);
                let encodings = chunk.encodings().map(|encoding| encoding.to_string());
                column.encodings.extend(encodings);
                column.bytes = column.bytes.saturating_add(chunk.compressed_size());
                column.uncompressed_bytes = column
                    .uncompressed_bytes
                    .saturating_add(chunk.uncompressed_size());
                column.statistics &= chunk.statistics().is_some();
                column.bloom_filter &= chunk.bloom_filter_offset().is_some();
            }
        }
    }

    /// The description of a chunk's column. Files can have the columns at different positions, so the
    /// name decides.
    fn column(&mut self, index: usize, chunk: &ColumnChunkMetaData) -> &mut ColumnDescription {
        let name = chunk.column_path().string();
        let is_named = |column: &ColumnDescription| column.name == name;
        let known = match self.columns.get(index) {
            Some(column) if is_named(column) => Some(index),
            _ => self.columns.iter().position(is_named),
        };
        let index = known.unwrap_or_else(|| {
            self.columns.push(ColumnDescription {
                name,
                physical_type: chunk.column_type().to_string(),
                compression: BTreeSet::new(),
                encodings: BTreeSet::new(),
                bytes: 0,
                uncompressed_bytes: 0,
                statistics: true,
                bloom_filter: true,
            });
            self.columns.len() - 1
        });
        &mut self.columns[index]
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use datafusion::parquet::arrow::ArrowWriter;

    use super::*;

    /// The footer of a file with columns `id` and `name` in the given order.
    fn footer(names: [&str; 2]) -> ParquetMetaData {
        let columns = names.map(|name| {
            let column: ArrayRef = match name {
                "id" => Arc::new(Int64Array::from(vec![1, 2, 3])),
                _ => Arc::new(StringArray::from(vec!["a long text", "b", "c"])),
            };
            (name, column)
        });
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap()
    }

    fn description(footers: &[ParquetMetaData]) -> Vec<(String, String, i64)> {
        let mut description = ParquetDescription::of(footers.len());
        for (file, footer) in footers.iter().enumerate() {
            description.add(file, footer);
        }
        let columns = description.columns.into_iter();
        columns
            .map(|column| (column.name, column.physical_type, column.uncompressed_bytes))
            .collect()
    }

    #[test]
    fn columns_of_files_in_another_order_are_counted_by_name() {
        let same = description(&[footer(["id", "name"]), footer(["id", "name"])]);
        let other = description(&[footer(["id", "name"]), footer(["name", "id"])]);
        assert_eq!(other, same);
        assert_ne!(same[0].2, same[1].2);
    }
}
