use std::fmt::{self, Write};

/// The kind of content in a cell; it decides the cell's appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CellKind {
    /// A value, written exactly.
    Value = 0,
    /// Null; it has no text.
    Null = 1,
    /// A float that is not a number or infinite.
    NonFinite = 2,
    /// A value that its type cannot show. The text is the raw integer and states that.
    Raw = 3,
}

impl CellKind {
    /// A bit that is added to the kind in a packed window if the text was cut.
    pub const CUT: u8 = 0x80;
}

/// Appends the text of one cell to a longer string, cut at a number of characters.
#[derive(Debug)]
pub struct CellText<'a> {
    out: &'a mut String,
    left_chars: usize,
    was_cut: bool,
    is_for_programs: bool,
}

impl<'a> CellText<'a> {
    /// Appends to `out` at most `max_chars` characters (Unicode scalar values); 0 means no limit.
    pub fn new(out: &'a mut String, max_chars: usize) -> Self {
        Self {
            out,
            left_chars: if max_chars == 0 {
                usize::MAX
            } else {
                max_chars
            },
            was_cut: false,
            is_for_programs: false,
        }
    }

    /// Appends everything to `out`, for programs that take a whole number for exact: floats whose digits are not exact get
    /// an exponent, where a cell has zeros behind the shortest digits that read back as the same float.
    pub fn for_programs(out: &'a mut String) -> Self {
        Self {
            is_for_programs: true,
            ..Self::new(out, 0)
        }
    }

    /// Appends to another text as to this one, without a limit.
    pub(super) fn beside<'b>(&self, out: &'b mut String) -> CellText<'b> {
        CellText {
            is_for_programs: self.is_for_programs,
            ..CellText::new(out, 0)
        }
    }

    pub(super) fn is_for_programs(&self) -> bool {
        self.is_for_programs
    }

    /// Appends `text` as far as it fits.
    pub fn push(&mut self, text: &str) {
        if text.len() <= self.left_chars {
            self.out.push_str(text);
            let chars = if text.is_ascii() {
                text.len()
            } else {
                text.chars().count()
            };
            self.left_chars -= chars;
            return;
        }
        match text.char_indices().nth(self.left_chars) {
            None => {
                self.left_chars -= text.chars().count();
                self.out.push_str(text);
            }
            Some((end, _)) => {
                self.out.push_str(&text[..end]);
                self.left_chars = 0;
                self.was_cut = true;
            }
        }
    }

    /// Appends the output of `format_args!`.
    pub(super) fn put(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.write_fmt(arguments);
    }

    /// Whether text was left out. All further text is left out, too.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }
}

impl Write for CellText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}
