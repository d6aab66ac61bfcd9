//! TPC-H's tables in Parquet, as the demo table `lineitem` has them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::RecordBatchReader;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

pub(crate) const TPCH: [&str; 8] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
];

const GROUP_ROWS: usize = 1 << 16;

/// A folder with these tables. It is kept for the next run.
pub(crate) fn kept(scale: f64, tables: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tpch-{scale}"));
    fs::create_dir_all(&folder).unwrap();
    std::thread::scope(|scope| {
        for table in tables {
            let path = folder.join(format!("{table}.parquet"));
            if !path.exists() {
                scope.spawn(move || {
                    let unfinished = path.with_extension(std::process::id().to_string());
                    write(&unfinished, scale, table, usize::MAX);
                    fs::rename(unfinished, path).unwrap();
                });
            }
        }
    });
    folder
}

/// Writes the first rows of a table.
pub(crate) fn write(path: &Path, scale: f64, table: &str, num_rows: usize) {
    let reader = reader(scale, table);
    // Plain strings in place of string views.
    let fields = reader.schema().fields().clone();
    let fields = fields.iter().map(|field| match field.data_type() {
        DataType::Utf8View => Field::new(field.name(), DataType::Utf8, field.is_nullable()),
        _ => field.as_ref().clone(),
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).unwrap();
    let mut left = num_rows;
    for batch in reader {
        let batch = batch.unwrap();
        let batch = batch.slice(0, batch.num_rows().min(left));
        left -= batch.num_rows();
        let pairs = batch.columns().iter().zip(schema.fields());
        let columns = pairs.map(|(column, field)| cast(column, field.data_type()).unwrap());
        let plain = RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap();
        writer.write(&plain).unwrap();
        if left == 0 {
            break;
        }
    }
    writer.close().unwrap();
}

pub(crate) fn reader(scale: f64, table: &str) -> Box<dyn RecordBatchReader> {
    match table {
        "customer" => Box::new(CustomerArrow::new(CustomerGenerator::new(scale, 1, 1))),
        "lineitem" => Box::new(LineItemArrow::new(LineItemGenerator::new(scale, 1, 1))),
        "nation" => Box::new(NationArrow::new(NationGenerator::new(scale, 1, 1))),
        "orders" => Box::new(OrderArrow::new(OrderGenerator::new(scale, 1, 1))),
        "part" => Box::new(PartArrow::new(PartGenerator::new(scale, 1, 1))),
        "partsupp" => Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1))),
        "region" => Box::new(RegionArrow::new(RegionGenerator::new(scale, 1, 1))),
        "supplier" => Box::new(SupplierArrow::new(SupplierGenerator::new(scale, 1, 1))),
        other => panic!("{other} is no table of TPC-H"),
    }
}
