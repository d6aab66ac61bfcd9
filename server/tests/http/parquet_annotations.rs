//! Columns of Parquet whose annotation is an extension type of Arrow.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::parquet::basic::{
    EdgeInterpolationAlgorithm, LogicalType, Repetition, Type as PhysicalType,
};
use datafusion::parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType,
};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::parser::parse_message_type;
use datafusion::parquet::schema::types::{Type, TypePtr};
use tempfile::TempDir;

use crate::support::*;

/// `{'a': 1, 'b': [1, 2]}` as DuckDB writes it: the names, then the values.
const VARIANT: [&[u8]; 2] = [
    b"\x01\x02\x00\x01\x02ab",
    b"\x02\x02\x00\x01\x00\x05\x14\x14\x01\x00\x00\x00\x03\x02\x00\x05\x0a\x14\x01\x00\x00\x00\x14\x02\x00\x00\x00",
];

/// `POINT (1 2)` as well-known binary.
const POINT: &[u8] =
    b"\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40";

/// Writes a row. All columns are required.
fn write(path: &Path, schema: TypePtr, metadata: Vec<KeyValue>, row: &[&[u8]]) {
    let properties = WriterProperties::builder().set_key_value_metadata(Some(metadata));
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for value in row {
        let mut column = group.next_column().unwrap().unwrap();
        if value.len() == 16 {
            let value = FixedLenByteArray::from(value.to_vec());
            let typed = column.typed::<FixedLenByteArrayType>();
            typed.write_batch(&[value], None, None).unwrap();
        } else {
            let value = ByteArray::from(value.to_vec());
            let typed = column.typed::<ByteArrayType>();
            typed.write_batch(&[value], None, None).unwrap();
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// The rows of table `t`, read in two ways.
async fn read_twice(server: &Server) -> [RecordBatch; 2] {
    [
        server.get("/v1/tables/t/rows").await.rows(),
        server.sql("select * from t").await.rows(),
    ]
}

/// The types of the columns of table `t`.
async fn types(server: &Server) -> Vec<String> {
    let table = server.json("/v1/tables/t").await;
    let fields = table["fields"].as_array().unwrap().iter();
    let types = fields.map(|field| field["type"].as_str().unwrap().to_owned());
    types.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn annotated_columns_have_the_extension_type() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = "message rows {
        required fixed_len_byte_array(16) u (UUID);
        required binary j (JSON);
        required binary s (STRING);
        required group v (VARIANT) { required binary metadata; required binary value; }
        required binary g (GEOMETRY);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let [names, values] = VARIANT;
    let row = [&[7; 16], b"{}".as_slice(), b"text", names, values, POINT];
    write(&path, schema, vec![], &row);

    let server = Server::of_files(&[path.display().to_string()]).await;
    let expected = [
        "extension<arrow.uuid>",
        "extension<arrow.json>",
        "string",
        "extension<arrow.parquet.variant[storage_type=struct<metadata: binary not null, value: binary not null>]>",
        "extension<geoarrow.wkb[storage_type=binary]>",
    ];
    assert_eq!(types(&server).await, expected);
    for rows in read_twice(&server).await {
        let schema = rows.schema();
        let names = schema
            .fields()
            .iter()
            .map(|field| field.extension_type_name());
        assert!(names.eq([
            Some("arrow.uuid"),
            Some("arrow.json"),
            None,
            Some("arrow.parquet.variant"),
            Some("geoarrow.wkb"),
        ]));
        let variant = rows.column(3).as_struct().columns().iter();
        let bytes = variant.map(|column| column.as_binary::<i32>().value(0));
        assert!(bytes.eq(VARIANT));
        assert_eq!(rows.column(4).as_binary::<i32>().value(0), POINT);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_geometry_has_its_reference_system() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let vincenty = Some(EdgeInterpolationAlgorithm::VINCENTY);
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (
            LogicalType::geometry(None),
            r#"{"crs":"OGC:CRS84","crs_type":"authority_code"}"#,
        ),
        (LogicalType::geometry(text("srid:0")), "{}"),
        (
            LogicalType::geometry(text("srid:3857")),
            r#"{"crs":"3857","crs_type":"srid"}"#,
        ),
        (
            LogicalType::geometry(text("projjson:mine")),
            r#"{"crs":{"id":1},"crs_type":"projjson"}"#,
        ),
        (
            LogicalType::geometry(text("projjson:other")),
            r#"{"crs":"projjson:other"}"#,
        ),
        (
            LogicalType::geography(None, None),
            r#"{"crs":"OGC:CRS84","crs_type":"authority_code","edges":"spherical"}"#,
        ),
        (
            LogicalType::geography(text("EPSG:4326"), vincenty),
            r#"{"crs":"EPSG:4326","edges":"vincenty"}"#,
        ),
    ];
    let fields = cases.iter().enumerate().map(|(index, (logical, _))| {
        let name = format!("g{index}");
        let field = Type::primitive_type_builder(&name, PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(logical.clone()));
        Arc::new(field.build().unwrap())
    });
    let schema = Type::group_type_builder("rows").with_fields(fields.collect());
    let metadata = vec![KeyValue::new("mine".to_owned(), text(r#"{"id": 1}"#))];
    let row = [POINT; 7];
    write(&path, Arc::new(schema.build().unwrap()), metadata, &row);

    let server = Server::of_files(&[path.display().to_string()]).await;
    for rows in read_twice(&server).await {
        for (field, (logical, expected)) in rows.schema().fields().iter().zip(&cases) {
            assert_eq!(field.extension_type_name(), Some("geoarrow.wkb"));
            let metadata = field.extension_type_metadata();
            assert_eq!(metadata, Some(*expected), "{logical:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn geometries_of_geoparquet_are_annotated_in_the_footer() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = "message rows {
        required binary a; required binary b; required binary c; required binary d; required binary t (STRING);
    }";
    let geo = r#"{"version": "1.1.0", "primary_column": "a", "columns": {
        "a": {"encoding": "WKB", "geometry_types": []},
        "b": {"encoding": "WKB", "crs": null, "edges": "spherical"},
        "c": {"encoding": "WKB", "crs": {"id": {"code": 5514}}},
        "d": {"encoding": "point"},
        "t": {"encoding": "WKB"}
    }}"#;
    let metadata = vec![KeyValue::new("geo".to_owned(), Some(geo.to_owned()))];
    let schema = Arc::new(parse_message_type(schema).unwrap());
    write(&path, schema, metadata, &[POINT, POINT, POINT, b"d", b"t"]);

    let server = Server::of_files(&[path.display().to_string()]).await;
    let wkb = "extension<geoarrow.wkb[storage_type=binary]>";
    assert_eq!(types(&server).await, [wkb, wkb, wkb, "binary", "string"]);
    for rows in read_twice(&server).await {
        let schema = rows.schema();
        let fields = schema.fields().iter();
        let metadata = fields.map(|field| field.extension_type_metadata());
        assert!(metadata.eq([
            Some(r#"{"crs":"OGC:CRS84","crs_type":"authority_code"}"#),
            Some(r#"{"edges":"spherical"}"#),
            Some(r#"{"crs":{"id":{"code":5514}},"crs_type":"projjson"}"#),
            None,
            None,
        ]));
    }
}
