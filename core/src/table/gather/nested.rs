//! Types with children.

use std::sync::Arc;

use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, FieldRef};

use super::{
    Gather, Result, RowRange, gather, integers, number, push, push_range, sort, with_room,
};

impl Gather<'_> {
    pub(super) fn fixed_size_lists(
        &self,
        builder: ArrayDataBuilder,
        size: i32,
    ) -> Result<ArrayDataBuilder> {
        let size = size.unsigned_abs() as usize;
        let mut ranges = Vec::new();
        for range in self.ranges {
            let (start, end) = (range.start * size, range.end * size);
            let source = range.source;
            push_range(&mut ranges, RowRange { source, start, end })?;
        }
        Ok(self.nested(builder, vec![self.child(0, &ranges)?]))
    }

    pub(super) fn lists(
        &self,
        builder: ArrayDataBuilder,
        width: usize,
    ) -> Result<ArrayDataBuilder> {
        let (offsets, ranges) = self.offsets(width)?;
        let child = self.child(0, &ranges)?;
        Ok(self.nested(builder.add_buffer(offsets), vec![child]))
    }

    /// Views may overlap and lie in any order. Each item is copied once.
    pub(super) fn list_views(
        &self,
        builder: ArrayDataBuilder,
        width: usize,
    ) -> Result<ArrayDataBuilder> {
        let (starts, lens) = (self.buffers(0), self.buffers(1));
        let view = |(source, row): (usize, usize)| {
            let start = number(&starts[source], width, row);
            let end = start + number(&lens[source], width, row);
            RowRange { source, start, end }
        };
        let mut items = with_room(self.num_rows)?;
        items.extend(self.rows().map(view).filter(|view| view.len() > 0));
        sort(&mut items);
        let items = merged(items);
        let mut positions = with_room(items.len())?;
        let mut num_items = 0;
        for range in &items {
            positions.push(num_items);
            num_items += range.len();
        }
        let (mut offsets, mut sizes) = (with_room(self.num_rows)?, with_room(self.num_rows)?);
        for view in self.rows().map(view) {
            let index = items
                .partition_point(|range| (range.source, range.end) <= (view.source, view.start));
            let offset = match items.get(index).filter(|_| view.len() > 0) {
                Some(range) => positions[index] + view.start - range.start,
                None => 0,
            };
            offsets.push(offset);
            sizes.push(view.len());
        }
        let builder = builder
            .add_buffer(integers(&offsets, width)?)
            .add_buffer(integers(&sizes, width)?);
        Ok(self.nested(builder, vec![self.child(0, &items)?]))
    }

    pub(super) fn dense_union(&self, builder: ArrayDataBuilder) -> Result<ArrayDataBuilder> {
        let DataType::Union(fields, _) = self.field.field.data_type() else {
            return Ok(builder);
        };
        let type_ids = self.buffers(0);
        let buffers = self.buffers(1);
        let child_of = |(source, row): (usize, usize)| usize::from(type_ids[source][row]);
        let value_of = |(source, row): (usize, usize)| {
            RowRange::of_row(source, number(&buffers[source], 4, row))
        };
        let mut offsets = with_room(self.num_rows)?;
        offsets.resize(self.num_rows, 0);
        let mut children = Vec::with_capacity(fields.len());
        for (index, (id, _)) in fields.iter().enumerate() {
            let id = usize::from(id.unsigned_abs());
            let rows = || self.rows().enumerate();
            let mut used = with_room(rows().filter(|(_, row)| child_of(*row) == id).count())?;
            for (_, row) in rows().filter(|(_, row)| child_of(*row) == id) {
                used.push(value_of(row));
            }
            sort(&mut used);
            for (position, row) in rows().filter(|(_, row)| child_of(*row) == id) {
                offsets[position] = used.binary_search(&value_of(row)).unwrap_or(0);
            }
            children.push(self.child(index, &merged(used))?);
        }
        let builder = builder
            .add_buffer(self.fixed(1)?)
            .add_buffer(integers(&offsets, 4)?);
        Ok(self.nested(builder, children))
    }

    /// Run ends of 16 bits become 32 bits wide if there are more rows than they can count.
    pub(super) fn runs(
        &self,
        builder: ArrayDataBuilder,
        ends: &FieldRef,
    ) -> Result<ArrayDataBuilder> {
        let width = ends.data_type().primitive_width().unwrap_or(8);
        let sources: Vec<_> = self.sources.iter().map(|source| source.child(0)).collect();
        let buffers: Vec<_> = sources.iter().map(|ends| ends.buffer(0)).collect();
        let (mut values, mut new_ends) = (Vec::new(), Vec::new());
        let mut num_rows = 0;
        for range in self.ranges {
            let buffer = &buffers[range.source];
            let num_runs = sources[range.source].slot.node.num_rows;
            let end_of = |run| number(buffer, width, run);
            let mut run = partition_point(num_runs, |run| end_of(run) <= range.start);
            let mut row = range.start;
            while row < range.end {
                let end = end_of(run).min(range.end);
                num_rows += end - row;
                row = end;
                let range = RowRange::of_row(range.source, run);
                // Rows of one run that are not next to each other.
                match values.last() {
                    Some(RowRange { source, end, .. })
                        if (*source, *end) == (range.source, range.end) =>
                    {
                        new_ends.pop();
                    }
                    _ => push_range(&mut values, range)?,
                }
                push(&mut new_ends, num_rows)?;
                run += 1;
            }
        }
        let num_runs = new_ends.len();
        let (ends_type, width) = match ends.data_type() {
            DataType::Int16 if i16::try_from(num_rows).is_err() => (DataType::Int32, 4),
            ends_type => (ends_type.clone(), width),
        };
        let ends = ArrayDataBuilder::new(ends_type)
            .len(num_runs)
            .add_buffer(integers(&new_ends, width)?);
        // SAFETY: there are as many ends as the length states.
        let ends = unsafe { ends.build_unchecked() };
        Ok(self.nested(builder, vec![ends, self.child(1, &values)?]))
    }

    fn child(&self, index: usize, ranges: &[RowRange]) -> Result<ArrayData> {
        let sources: Vec<_> = self
            .sources
            .iter()
            .map(|source| source.child(index))
            .collect();
        gather(&self.field.children[index], &sources, ranges)
    }

    /// Children that have the rows of their parent.
    pub(super) fn each_child(&self, builder: ArrayDataBuilder) -> Result<ArrayDataBuilder> {
        let children = 0..self.field.children.len();
        let children = children.map(|index| self.child(index, self.ranges));
        Ok(self.nested(builder, children.collect::<Result<_>>()?))
    }

    /// Adds children, whose types may have wider run ends or keys than in the schema.
    fn nested(&self, builder: ArrayDataBuilder, children: Vec<ArrayData>) -> ArrayDataBuilder {
        let data_type = retyped(self.field.field.data_type(), &children);
        builder.data_type(data_type).child_data(children)
    }
}

/// Rows that follow or overlap one another, in one range; `ranges` are in ascending order.
fn merged(mut ranges: Vec<RowRange>) -> Vec<RowRange> {
    ranges.dedup_by(|next, last| {
        let overlaps = next.source == last.source && next.start <= last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    ranges
}

/// The first index below `len` for which `is_before` is false.
fn partition_point(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (0, len);
    while start < end {
        let middle = start + (end - start) / 2;
        if is_before(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

/// `data_type` with the types of `children`.
pub(in crate::table) fn retyped(data_type: &DataType, children: &[ArrayData]) -> DataType {
    let of = |field: &FieldRef, index: usize| -> FieldRef {
        let child = children[index].data_type();
        match field.data_type() == child {
            true => Arc::clone(field),
            false => Arc::new(field.as_ref().clone().with_data_type(child.clone())),
        }
    };
    match data_type {
        DataType::List(item) => DataType::List(of(item, 0)),
        DataType::LargeList(item) => DataType::LargeList(of(item, 0)),
        DataType::ListView(item) => DataType::ListView(of(item, 0)),
        DataType::LargeListView(item) => DataType::LargeListView(of(item, 0)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(of(item, 0), *size),
        DataType::Map(entries, is_sorted) => DataType::Map(of(entries, 0), *is_sorted),
        DataType::Struct(fields) => {
            let fields = fields.iter().enumerate();
            DataType::Struct(fields.map(|(index, field)| of(field, index)).collect())
        }
        DataType::Union(fields, mode) => {
            let fields = fields.iter().enumerate();
            let fields = fields.map(|(index, (id, field))| (id, of(field, index)));
            DataType::Union(fields.collect(), *mode)
        }
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(of(ends, 0), of(values, 1))
        }
        other => other.clone(),
    }
}
