mod division;
mod small;

use std::ops::Range;
use std::sync::Arc;

use self::division::{Division, Group, Phase, State};
use self::small::Groups;
use super::error::{KernelError, filled, with_room};
use super::leading::Leading;
use super::row_order::RowOrder;
use super::sort_item::{Item, put_rows, reserve};
use super::sort_key::{Block, Level, SortColumn};

/// The rows of a group that is sorted by insertion.
const SMALL_ROWS: usize = 32;

/// Rows that are read together.
const READ_ROWS: usize = 4096;

/// One of so many rows is in the sample of texts, within these bounds.
const SAMPLED_PART: usize = 64;
const MIN_SAMPLE_ROWS: usize = 1024;
const MAX_SAMPLE_ROWS: usize = 16_384;

/// Rows that one step reads, moves or puts in their places.
const STEP_ROWS: usize = 65_536;

/// The rows of small groups that are put in their places together.
const MAX_NEARLY_ROWS: usize = 16_384;

/// A stable sort of rows by their keys, from the most significant digit on (MSD radix sort). Groups of
/// rows are divided by one digit, then each group by the next, until they are small. The leftmost group
/// goes first; before that, a few leading rows that the first read of the keys finds.
#[derive(Debug)]
pub(super) struct Radix {
    columns: Vec<SortColumn>,
    base: Arc<RowOrder>,
    items: Vec<Item>,
    /// The output of the division of a group.
    spare: Vec<Item>,
    /// The groups that are left; the leftmost one is last.
    groups: Vec<Group>,
    division: Option<Division>,
    /// The items and the division of all rows while the leading ones are sorted.
    parked: Option<(Vec<Item>, Division)>,
    /// The fraction of the first division that is done.
    divided: f64,
    /// The rows that have their places.
    order: Vec<u32>,
    block: Block,
    /// Room for the groups of rows with equal keys, and for those that they become.
    equal: (Groups, Groups),
}

impl Radix {
    /// A sort of the rows of `base`.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn try_new(
        columns: Vec<SortColumn>,
        base: Arc<RowOrder>,
    ) -> Result<Self, KernelError> {
        let group = Group {
            start: 0,
            len: base.len(),
            level: Level::of_column(0),
            state: State::Unlisted,
        };
        Ok(Self {
            columns,
            groups: vec![group],
            items: with_room(base.len())?,
            base,
            spare: Vec::new(),
            division: None,
            parked: None,
            divided: 0.0,
            order: Vec::new(),
            block: Block::default(),
            equal: Default::default(),
        })
    }

    pub(super) fn columns_mut(&mut self) -> &mut [SortColumn] {
        &mut self.columns
    }

    /// The fraction of the work that is done, from 0 to 1.
    pub(super) fn fraction(&self) -> f64 {
        let num_rows = self.base.len().max(1);
        0.5 * self.divided + 0.5 * self.order.len() as f64 / num_rows as f64
    }

    /// The rows that have their places, from the first one on.
    pub(super) fn placed(&self) -> &[u32] {
        &self.order
    }

    /// The rows in the order of their keys.
    pub(super) fn finish(self) -> Vec<u32> {
        self.order
    }

    /// Works for a few milliseconds at most. Returns true when everything is sorted.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(super) fn step(&mut self) -> Result<bool, KernelError> {
        let mut num_rows = 0;
        while num_rows < STEP_ROWS {
            if let Some(mut division) = self.division.take() {
                if division.phase == Phase::Done {
                    self.push_parts(&division);
                } else {
                    num_rows += self.divide(&mut division)?;
                    match division.take_leading() {
                        Some(leading) => self.sort_leading(leading, division),
                        None => self.division = Some(division),
                    }
                }
            } else if let Some(group) = self.groups.pop() {
                num_rows += self.begin(group)?;
            } else if let Some((items, division)) = self.parked.take() {
                self.items = items;
                self.division = Some(division);
            } else {
                return Ok(true);
            }
        }
        self.divided = match &self.division {
            _ if self.parked.is_some() => self.divided,
            Some(division) if division.group.len == self.base.len() => {
                self.divided.max(division.fraction())
            }
            _ => 1.0,
        };
        Ok(false)
    }

    /// Begins with a group. Returns how many rows it put in their places.
    fn begin(&mut self, group: Group) -> Result<usize, KernelError> {
        let Group {
            start,
            len,
            level,
            state,
        } = group;
        if len == 0 {
            return Ok(0);
        }
        if level.column == self.columns.len() {
            let num_rows = len.min(STEP_ROWS);
            self.groups.push(Group {
                start: start + num_rows,
                len: len - num_rows,
                ..group
            });
            return self.place(start, num_rows);
        }
        let is_small = len <= SMALL_ROWS;
        match state {
            State::Nearly => self.sort_read(start, len, level),
            State::Read if is_small => self.sort_read(start, len, level),
            State::Unread if is_small => self.sort_small(start, len, level),
            _ => {
                self.division = Some(self.division_of(group));
                return Ok(0);
            }
        }
        self.place(start, len)
    }

    fn division_of(&self, group: Group) -> Division {
        let mut division = Division::new(group, self.first_phase(group));
        let is_first = self.order.is_empty() && self.parked.is_none();
        if is_first && group.len == self.base.len() && group.len > Leading::MAX_ROWS {
            division.seen.leading = Some(Leading::default());
        }
        division
    }

    fn first_phase(&self, group: Group) -> Phase {
        let Group {
            len, level, state, ..
        } = group;
        let column = &self.columns[level.column];
        match state {
            State::Unlisted | State::Unread
                if column.wants_prefixes() && len == self.base.len() && level.part == 0 =>
            {
                Phase::Sample
            }
            // Texts, and rows in any order, are read only once.
            State::Unlisted if !column.is_text() && !matches!(*self.base, RowOrder::List(_)) => {
                Phase::Survey
            }
            State::Unlisted | State::Unread => Phase::Load,
            State::Read | State::Nearly => Phase::Survey,
        }
    }

    /// Puts the next rows in their places, unless leading rows are there already.
    fn place(&mut self, start: usize, len: usize) -> Result<usize, KernelError> {
        if self.order.is_empty() {
            self.order = with_room(self.base.len())?;
        }
        let end = start + len;
        let items = &self.items[start.max(self.order.len()).min(end)..end];
        self.order.extend(items.iter().map(|item| item.row));
        Ok(len)
    }

    /// Sorts the leading rows that a division of all rows has found, and then goes on with it.
    fn sort_leading(&mut self, leading: Leading, division: Division) {
        let level = division.group.level;
        let column = &self.columns[level.column];
        let leading = leading.finish(|key| column.after(level, key).column == self.columns.len());
        self.groups.push(Group {
            start: 0,
            len: leading.len(),
            level,
            state: State::Read,
        });
        let leading = leading.into_iter().map(|(key, row)| Item { key, row });
        let items = std::mem::replace(&mut self.items, leading.collect());
        self.parked = Some((items, division));
    }

    /// Whether rows with equal keys at `level` are equal.
    fn is_last(&self, level: Level) -> bool {
        let column = &self.columns[level.column];
        !column.is_text() && column.after(level, 0).column == self.columns.len()
    }

    /// Divides the next rows of a group. Returns how many.
    fn divide(&mut self, division: &mut Division) -> Result<usize, KernelError> {
        let mut rows = division.at..division.num_rows().min(division.at + READ_ROWS);
        match division.phase {
            Phase::List => self.list(rows.clone()),
            Phase::Sample => {
                self.list_sample(division.group);
                self.columns[division.group.level.column].set_prefixes(&self.block.rows);
                rows.end = division.num_rows();
            }
            Phase::Load => self.load(division, rows.clone())?,
            Phase::Survey => {
                if !self.survey(division, rows.clone()) {
                    *division = self.division_of(division.group);
                    return Ok(rows.len());
                }
            }
            Phase::Count => self.count(division, rows.clone())?,
            Phase::Move => self.move_rows(division, rows.clone()),
            Phase::Copy => {
                let start = division.group.start;
                let to = &mut self.items[start + rows.start..start + rows.end];
                to.copy_from_slice(&self.spare[rows.clone()]);
            }
            Phase::Done => {}
        }
        division.at = rows.end;
        if rows.end == division.num_rows() {
            division.phase = self.next_phase(division)?;
            division.at = 0;
        }
        Ok(rows.len().clamp(1, READ_ROWS))
    }

    fn next_phase(&mut self, division: &mut Division) -> Result<Phase, KernelError> {
        if division.phase == Phase::Load {
            division.group.state = State::Read;
        }
        let group = division.group;
        let is_listed = group.state != State::Unlisted;
        Ok(match division.phase {
            Phase::Sample => Phase::Load,
            Phase::Load | Phase::Survey => {
                let num_values = division.num_values();
                if is_listed {
                    let nulls = &mut self.items[group.start + num_values..group.start + group.len];
                    put_rows(nulls, division.nulls.iter().copied());
                }
                let is_sorted = division.seen.is_sorted && self.is_last(group.level);
                let is_whole = division.seen.least >= division.seen.most || is_sorted;
                // Rows of the base that are not items yet stay as they are only if none has to move.
                if is_whole && (is_listed || division.nulls.is_empty() || num_values == 0) {
                    return Ok(if is_listed { Phase::Done } else { Phase::List });
                }
                let span = division.seen.most - division.seen.least;
                let num_bits = u64::BITS - span.leading_zeros();
                division.shift = num_bits.saturating_sub(division.digit_bits());
                division.places = filled(0, (span >> division.shift) as usize + 1)?;
                Phase::Count
            }
            Phase::Count => {
                let mut start = 0;
                for place in &mut division.places {
                    (*place, start) = (start, start + *place);
                }
                Phase::Move
            }
            Phase::Move if !is_listed => {
                let nulls = &mut self.items[division.num_values()..];
                put_rows(nulls, division.nulls.iter().copied());
                Phase::Done
            }
            Phase::Move if group.len == self.items.len() => {
                self.items = std::mem::take(&mut self.spare);
                self.items.resize(group.len, Item::default());
                let nulls = &mut self.items[division.num_values()..];
                put_rows(nulls, division.nulls.iter().copied());
                Phase::Done
            }
            Phase::Move => Phase::Copy,
            Phase::List | Phase::Copy | Phase::Done => Phase::Done,
        })
    }

    fn list(&mut self, rows: Range<usize>) {
        self.list_base(rows);
        let items = self.block.rows.iter().map(|&row| Item { key: 0, row });
        self.items.extend(items);
    }

    #[inline(never)]
    fn load(&mut self, division: &mut Division, rows: Range<usize>) -> Result<(), KernelError> {
        let Group {
            start,
            state,
            level,
            ..
        } = division.group;
        self.list_rows(division.group, rows.clone());
        if self.items.len() < start + rows.end {
            self.items.resize(start + rows.end, Item::default());
        }
        let column = &mut self.columns[level.column];
        column.read(level, &mut self.block);
        let is_table = matches!(*self.base, RowOrder::All(_)) && state == State::Unlisted;
        if is_table && column.is_text() {
            column.read_ahead(level, &self.block)?;
        }
        let mut to = start + rows.start - division.nulls.len();
        division.seen.see(self.block.values());
        self.block.values().for_each(|(key, row)| {
            self.items[to] = Item { key, row };
            to += 1;
        });
        division.nulls.extend(self.block.null_rows());
        Ok(())
    }

    /// Returns false if the column's keys have more parts than was assumed.
    #[inline(never)]
    fn survey(&mut self, division: &mut Division, rows: Range<usize>) -> bool {
        let Group {
            start,
            state,
            level,
            ..
        } = division.group;
        if state == State::Unlisted {
            let column = &mut self.columns[level.column];
            if matches!(*self.base, RowOrder::All(_)) && column.is_plain() {
                let rows = rows.start as u32..rows.end as u32;
                return column.survey(level.part, rows, &mut division.seen);
            }
            self.read_base(division, rows);
            division.seen.see(self.block.values());
            division.nulls.extend(self.block.null_rows());
        } else {
            let items = &self.items[start + rows.start..start + rows.end];
            division
                .seen
                .see(items.iter().map(|item| (item.key, item.row)));
        }
        true
    }

    #[inline(never)]
    fn count(&mut self, division: &mut Division, rows: Range<usize>) -> Result<(), KernelError> {
        let Group { start, state, .. } = division.group;
        let (num_rows, end) = (division.num_rows(), rows.end);
        let mut places = std::mem::take(&mut division.places);
        let output = if state == State::Unlisted {
            self.read_base(division, rows);
            self.block
                .values()
                .for_each(|(key, _)| places[division.digit(key)] += 1);
            &mut self.items
        } else {
            let items = &self.items[start + rows.start..start + rows.end];
            let digits = items.iter().map(|item| division.digit(item.key));
            digits.for_each(|digit| places[digit] += 1);
            &mut self.spare
        };
        division.places = places;
        // Together with the counts, so that no step fills much memory at once.
        if output.len() < end {
            reserve(output, num_rows)?;
            output.resize(end, Item::default());
        }
        Ok(())
    }

    #[inline(never)]
    fn move_rows(&mut self, division: &mut Division, rows: Range<usize>) {
        let Group { start, state, .. } = division.group;
        let mut places = std::mem::take(&mut division.places);
        let mut put = |to: &mut [Item], item: Item| {
            let place = &mut places[division.digit(item.key)];
            to[*place] = item;
            *place += 1;
        };
        if state == State::Unlisted {
            self.read_base(division, rows);
            let items = &mut self.items;
            self.block
                .values()
                .for_each(|(key, row)| put(items, Item { key, row }));
        } else {
            let items = &self.items[start + rows.start..start + rows.end];
            items.iter().for_each(|&item| put(&mut self.spare, item));
        }
        division.places = places;
    }

    /// Reads rows of the base, with their keys.
    fn read_base(&mut self, division: &Division, rows: Range<usize>) {
        let level = division.group.level;
        self.list_base(rows);
        self.columns[level.column].read(level, &mut self.block);
    }

    /// Reads rows of a group, without keys.
    fn list_rows(&mut self, group: Group, rows: Range<usize>) {
        if group.state == State::Unlisted {
            return self.list_base(rows);
        }
        let items = &self.items[group.start + rows.start..group.start + rows.end];
        self.block.rows.clear();
        self.block.rows.extend(items.iter().map(|item| item.row));
    }

    /// Reads some rows of a group, spread evenly, without keys.
    fn list_sample(&mut self, group: Group) {
        let num_sampled = (group.len / SAMPLED_PART).clamp(MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS);
        let step = group.len.div_ceil(num_sampled);
        self.block.rows.clear();
        for at in (0..group.len).step_by(step) {
            match group.state {
                State::Unlisted => self.base.push_numbers(at..at + 1, &mut self.block.rows),
                _ => self.block.rows.push(self.items[group.start + at].row),
            }
        }
    }

    /// Reads rows of the base, without keys.
    fn list_base(&mut self, rows: Range<usize>) {
        self.block.rows.clear();
        self.base.push_numbers(rows, &mut self.block.rows);
    }

    /// Pushes the groups into which a group was divided.
    fn push_parts(&mut self, division: &Division) {
        let Group { start, level, .. } = division.group;
        let column = &self.columns[level.column];
        let num_values = division.num_values();
        self.groups.push(Group {
            start: start + num_values,
            len: division.nulls.len(),
            level: Level::of_column(level.column + 1),
            state: State::Unread,
        });
        if num_values == 0 {
            return;
        }
        let is_last = division.shift == 0 && self.is_last(level);
        if division.places.is_empty() || is_last {
            self.groups.push(Group {
                start,
                len: num_values,
                level: column.after(level, division.seen.least),
                state: State::Unread,
            });
            return;
        }
        // The places of digits are now the ends of their rows.
        let mut nearly: Option<Group> = None;
        for (digit, &part_end) in division.places.iter().enumerate().rev() {
            let part_start = digit
                .checked_sub(1)
                .map_or(0, |before| division.places[before]);
            let len = part_end - part_start;
            let mut part = Group {
                start: start + part_start,
                len,
                level,
                state: State::Read,
            };
            if len == 0 {
                continue;
            }
            if division.shift == 0 {
                part.level = column.after(level, division.seen.least + digit as u64);
                part.state = State::Unread;
            } else if len <= SMALL_ROWS {
                if let Some(right) = nearly.as_mut().filter(|right| right.len < MAX_NEARLY_ROWS) {
                    (right.start, right.len) = (part.start, right.len + len);
                    continue;
                }
                part.state = State::Nearly;
                self.groups.extend(nearly.replace(part));
                continue;
            }
            self.groups.extend(nearly.take());
            self.groups.push(part);
        }
        self.groups.extend(nearly);
    }
}
