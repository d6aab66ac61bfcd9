//! Arrow's extension types for annotated columns: UUID, JSON, VARIANT, GEOMETRY and GEOGRAPHY, and the geometries of
//! GeoParquet, which annotates them in the footer's metadata.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::parquet::basic::{
    ConvertedType, EdgeInterpolationAlgorithm, GeographyType, LogicalType,
};
use datafusion::parquet::file::metadata::{FileMetaData, ParquetMetaData};
use datafusion::parquet::schema::types::BasicTypeInfo;
use serde_json::{Map, Value, json};

const EXTENSION_NAME: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

const UUID: &str = "arrow.uuid";
const JSON: &str = "arrow.json";
/// A struct of the binary columns `metadata` and `value`, and of `typed_value` if the variant is shredded.
const VARIANT: &str = "arrow.parquet.variant";
/// A geometry as well-known binary.
const WKB: &str = "geoarrow.wkb";

/// The key of GeoParquet's metadata.
const GEO: &str = "geo";

/// The columns of a file, with the extension types that their annotations mean.
pub(super) fn with_extension_types(schema: &Schema, footer: &ParquetMetaData) -> SchemaRef {
    let file = footer.file_metadata();
    let stored = file.schema().get_fields();
    let geo = entry(file, GEO);
    let fields = schema.fields().iter().zip(stored).map(|(field, stored)| {
        let has_type = field.metadata().contains_key(EXTENSION_NAME);
        let extension = extension_type(stored.get_basic_info(), field.data_type(), file);
        let extension = extension.or_else(|| geometry_type(field, geo.as_ref()?));
        match extension {
            Some(extension) if !has_type => Arc::new(with_extension_type(field, extension)),
            _ => Arc::clone(field),
        }
    });
    let metadata = schema.metadata().clone();
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        metadata,
    ))
}

/// The name of an extension type, and its metadata.
type ExtensionType = (&'static str, Option<String>);

fn extension_type(
    stored: &BasicTypeInfo,
    data_type: &DataType,
    file: &FileMetaData,
) -> Option<ExtensionType> {
    let is_json = stored.converted_type() == ConvertedType::JSON;
    match (stored.logical_type_ref(), data_type) {
        (Some(LogicalType::Uuid), DataType::FixedSizeBinary(16)) => Some((UUID, None)),
        (Some(LogicalType::Variant(_)), DataType::Struct(_)) => {
            Some((VARIANT, Some(String::new())))
        }
        (Some(LogicalType::Geometry(geometry)), data_type) if is_binary(data_type) => {
            let metadata = crs_metadata(geometry.crs.as_deref(), file);
            Some((WKB, Some(Value::from(metadata).to_string())))
        }
        (Some(LogicalType::Geography(geography)), data_type) if is_binary(data_type) => {
            let mut metadata = crs_metadata(geography.crs.as_deref(), file);
            metadata.insert("edges".to_owned(), edges(geography).into());
            Some((WKB, Some(Value::from(metadata).to_string())))
        }
        (logical, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
            if is_json || logical == Some(&LogicalType::Json) =>
        {
            Some((JSON, None))
        }
        _ => None,
    }
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

/// The coordinate reference system of a geometry as GeoArrow's metadata states it.
///
/// Parquet has `OGC:CRS84` by default, `srid:0` for none, `srid:NUMBER`, and `projjson:KEY` for the JSON with
/// that key in the footer. Everything else is kept as it is.
fn crs_metadata(crs: Option<&str>, file: &FileMetaData) -> Map<String, Value> {
    let (crs, kind) = match crs {
        None => return default_crs(),
        Some("srid:0") => return Map::new(),
        Some(crs) => match (crs.strip_prefix("srid:"), crs.strip_prefix("projjson:")) {
            (Some(number), _) => (number.into(), Some("srid")),
            (_, Some(key)) => match entry(file, key) {
                Some(json) => (json, Some("projjson")),
                None => (crs.into(), None),
            },
            _ => (crs.into(), None),
        },
    };
    of_crs(crs, kind)
}

fn default_crs() -> Map<String, Value> {
    of_crs("OGC:CRS84".into(), Some("authority_code"))
}

fn of_crs(crs: Value, kind: Option<&str>) -> Map<String, Value> {
    let mut metadata = Map::from_iter([("crs".to_owned(), crs)]);
    metadata.extend(kind.map(|kind| ("crs_type".to_owned(), json!(kind))));
    metadata
}

/// The JSON with that key in the footer's metadata.
fn entry(file: &FileMetaData, key: &str) -> Option<Value> {
    let entries = file.key_value_metadata().into_iter().flatten();
    let mut entries = entries.filter(|entry| entry.key == key);
    let text = entries.find_map(|entry| entry.value.as_deref())?;
    serde_json::from_str(text).ok()
}

/// The type of a column that GeoParquet's metadata calls a geometry in well-known binary.
fn geometry_type(field: &Field, geo: &Value) -> Option<ExtensionType> {
    let column = geo.get("columns")?.get(field.name())?;
    if column.get("encoding") != Some(&json!("WKB")) || !is_binary(field.data_type()) {
        return None;
    }
    let mut metadata = match column.get("crs") {
        None => default_crs(),
        Some(Value::Null) => Map::new(),
        Some(crs) => of_crs(crs.clone(), Some("projjson")),
    };
    if column.get("edges") == Some(&json!("spherical")) {
        metadata.insert("edges".to_owned(), json!("spherical"));
    }
    Some((WKB, Some(Value::from(metadata).to_string())))
}

/// The edges of a geography as GeoArrow names them.
fn edges(geography: &GeographyType) -> String {
    let algorithm = geography.algorithm();
    let algorithm = algorithm.unwrap_or(EdgeInterpolationAlgorithm::SPHERICAL);
    algorithm.to_string().to_lowercase()
}

fn with_extension_type(field: &Field, (name, details): ExtensionType) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION_NAME.to_owned(), name.to_owned());
    metadata.extend(details.map(|details| (EXTENSION_METADATA.to_owned(), details)));
    field.clone().with_metadata(metadata)
}
