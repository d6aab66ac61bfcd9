//! Columns without dictionaries.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, make_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;

/// The column as `data_type`, which has the types of values where the column has dictionaries, at any depth. (The cast
/// of arrow-rs cannot change members of unions.)
///
/// # Errors
/// `data_type` differs otherwise.
pub(super) fn unpack(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == data_type {
        return Ok(Arc::clone(column));
    }
    let child_types = child_types(data_type);
    if matches!(column.data_type(), DataType::Dictionary(..)) || child_types.is_empty() {
        return cast(column, data_type);
    }
    let data = column.to_data();
    let children = data.child_data().iter().zip(child_types);
    let children = children.map(|(child, data_type)| {
        let unpacked = unpack(&make_array(child.clone()), data_type)?;
        Ok(unpacked.to_data())
    });
    let children = children.collect::<Result<_, ArrowError>>()?;
    let unpacked = data
        .into_builder()
        .data_type(data_type.clone())
        .child_data(children);
    Ok(make_array(unpacked.build()?))
}

fn child_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![item.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::unpacked_schema;
    use datafusion::arrow::array::{
        AsArray, DictionaryArray, Int32Array, ListArray, StructArray, UnionArray,
    };
    use datafusion::arrow::buffer::OffsetBuffer;
    use datafusion::arrow::datatypes::{Field, Int8Type, Schema, UnionFields};

    #[test]
    fn dictionaries_in_unions_in_lists_in_structs() {
        let words: DictionaryArray<Int8Type> = ["a", "b", "a", "c"].into_iter().collect();
        let numbers = Int32Array::from(vec![0, 1, 2, 3]);
        let fields = UnionFields::from_fields(vec![
            Field::new("word", words.data_type().clone(), true),
            Field::new("number", DataType::Int32, true),
        ]);
        let members: Vec<ArrayRef> = vec![Arc::new(words), Arc::new(numbers)];
        let union = UnionArray::try_new(fields, vec![0, 1, 0, 0].into(), None, members).unwrap();
        let item = Arc::new(Field::new("item", union.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([1, 3]);
        let lists = ListArray::try_new(item, offsets, Arc::new(union), None).unwrap();
        let field = Arc::new(Field::new("lists", lists.data_type().clone(), true));
        let column: ArrayRef = Arc::new(StructArray::from(vec![(
            field,
            Arc::new(lists) as ArrayRef,
        )]));

        let schema = Schema::new(vec![Field::new("c", column.data_type().clone(), true)]);
        let wanted = unpacked_schema(&schema).field(0).data_type().clone();
        let unpacked = unpack(&column.slice(1, 1), &wanted).unwrap();
        let list = unpacked.as_struct().column(0).as_list::<i32>().value(0);
        let members = list.as_any().downcast_ref::<UnionArray>().unwrap();
        let texts = [1, 2].map(|row| members.value(row).as_string::<i32>().value(0).to_owned());
        assert_eq!(texts, ["a", "c"]);
    }
}
