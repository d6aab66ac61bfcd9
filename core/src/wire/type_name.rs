use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit, UnionMode};

fn unit(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

fn child(field: &Field) -> String {
    let not_null = if field.is_nullable() { "" } else { " not null" };
    format!("{}: {}{not_null}", field.name(), field_type_name(field))
}

/// The key of the extension type's name in a field's metadata.
pub const EXTENSION_NAME: &str = "ARROW:extension:name";

/// The type of a field as pyarrow prints it: as [`type_name`], or as the extension type in its
/// metadata: `extension<arrow.uuid>`. For an extension type that pyarrow does not know, or not with
/// this storage type, the name includes the storage: `extension<geoarrow.point[storage_type=struct<x:
/// double, y: double>]>`.
#[must_use]
pub fn field_type_name(field: &Field) -> String {
    extension_name(field, type_name(field.data_type()))
}

/// The type of a column as pyarrow prints it: as [`field_type_name`], with `ordered=1` for an ordered
/// dictionary.
#[must_use]
pub fn column_type_name(field: &Field, is_ordered: bool) -> String {
    let name = type_name(field.data_type());
    let name = match name.strip_suffix("ordered=0>") {
        Some(stem) if is_ordered => format!("{stem}ordered=1>"),
        _ => name,
    };
    extension_name(field, name)
}

fn extension_name(field: &Field, storage: String) -> String {
    let metadata = field.metadata();
    let Some(name) = metadata.get(EXTENSION_NAME) else {
        return storage;
    };
    let details = match (name.as_str(), field.data_type()) {
        ("arrow.uuid", DataType::FixedSizeBinary(16))
        | ("arrow.bool8", DataType::Int8)
        | ("arrow.json", DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            String::new()
        }
        ("arrow.opaque", _) => {
            let json = metadata
                .get("ARROW:extension:metadata")
                .map_or("", String::as_str);
            let [kind, vendor] = ["type_name", "vendor_name"].map(|key| member(json, key));
            format!("[storage_type={storage}, type_name={kind}, vendor_name={vendor}]")
        }
        _ => format!("[storage_type={storage}]"),
    };
    format!("extension<{name}{details}>")
}

/// The value of a text member of a flat JSON object; empty if it is absent.
fn member<'a>(json: &'a str, key: &str) -> &'a str {
    let mut texts = json.split('"').skip_while(|text| *text != key);
    texts.nth(2).unwrap_or_default()
}

/// The type's own name as pyarrow prints it, e.g. `timestamp[us, tz=UTC]`, `decimal128(12, 2)`,
/// `list<item: int64>`.
#[must_use]
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "null".into(),
        DataType::Boolean => "bool".into(),
        DataType::Int8 => "int8".into(),
        DataType::Int16 => "int16".into(),
        DataType::Int32 => "int32".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt8 => "uint8".into(),
        DataType::UInt16 => "uint16".into(),
        DataType::UInt32 => "uint32".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float16 => "halffloat".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Timestamp(time_unit, None) => format!("timestamp[{}]", unit(time_unit)),
        DataType::Timestamp(time_unit, Some(zone)) => {
            format!("timestamp[{}, tz={zone}]", unit(time_unit))
        }
        DataType::Date32 => "date32[day]".into(),
        DataType::Date64 => "date64[ms]".into(),
        DataType::Time32(time_unit) => format!("time32[{}]", unit(time_unit)),
        DataType::Time64(time_unit) => format!("time64[{}]", unit(time_unit)),
        DataType::Duration(time_unit) => format!("duration[{}]", unit(time_unit)),
        DataType::Interval(IntervalUnit::YearMonth) => "month_interval".into(),
        DataType::Interval(IntervalUnit::DayTime) => "day_time_interval".into(),
        DataType::Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval".into(),
        DataType::Binary => "binary".into(),
        DataType::FixedSizeBinary(width) => format!("fixed_size_binary[{width}]"),
        DataType::LargeBinary => "large_binary".into(),
        DataType::BinaryView => "binary_view".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Utf8View => "string_view".into(),
        DataType::List(item) => format!("list<{}>", child(item)),
        DataType::LargeList(item) => format!("large_list<{}>", child(item)),
        DataType::ListView(item) => format!("list_view<{}>", child(item)),
        DataType::LargeListView(item) => format!("large_list_view<{}>", child(item)),
        DataType::FixedSizeList(item, size) => format!("fixed_size_list<{}>[{size}]", child(item)),
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields.iter().map(|field| child(field)).collect();
            format!("struct<{}>", fields.join(", "))
        }
        DataType::Union(fields, mode) => {
            let mode = match mode {
                UnionMode::Sparse => "sparse",
                UnionMode::Dense => "dense",
            };
            let fields: Vec<_> = fields
                .iter()
                .map(|(id, field)| format!("{}={id}", child(field)))
                .collect();
            format!("{mode}_union<{}>", fields.join(", "))
        }
        DataType::Dictionary(index, value) => format!(
            "dictionary<values={}, indices={}, ordered=0>",
            type_name(value),
            type_name(index)
        ),
        DataType::Decimal32(precision, scale) => format!("decimal32({precision}, {scale})"),
        DataType::Decimal64(precision, scale) => format!("decimal64({precision}, {scale})"),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::Map(entries, sorted) => {
            let sorted = if *sorted { ", keys_sorted" } else { "" };
            match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => format!(
                    "map<{}, {}{sorted}>",
                    field_type_name(&fields[0]),
                    field_type_name(&fields[1])
                ),
                other => format!("map<{}{sorted}>", type_name(other)),
            }
        }
        DataType::RunEndEncoded(run_ends, values) => format!(
            "run_end_encoded<run_ends: {}, values: {}>",
            type_name(run_ends.data_type()),
            field_type_name(values)
        ),
    }
}
