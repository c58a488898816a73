//! How a batch changes a row: the mark that every row of a working set has.

/// How a batch has changed a row since the row was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowChange {
    #[default]
    None,
    New,
    Changed,
    Removed,
}

impl RowChange {
    /// Marks a change. A new row stays new.
    pub fn touch(&mut self) {
        if *self == Self::None {
            *self = Self::Changed;
        }
    }
}
