//! The rows of a catalogue file, and its faults, as the readers of each format return them.

use leadhost_domain::limits;
use leadhost_store::PlannedProduct;

#[derive(Debug)]
pub struct ImportRow {
    pub line: u64,
    pub read: Result<PlannedProduct, String>,
}

impl ImportRow {
    /// Returns the refusal of a line that is longer than `IMPORT_LINE_BYTES`. Lines count from
    /// 1.
    pub fn too_long(line: u64) -> Self {
        Self {
            line,
            read: Err(format!(
                "the line is longer than {} bytes",
                limits::IMPORT_LINE_BYTES
            )),
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImportFileError(pub String);

#[derive(Debug, Default)]
pub struct IgnoredColumns(Vec<String>);

impl IgnoredColumns {
    /// Notes the name of an ignored field, up to 100 characters of it. At most
    /// `IMPORT_NAMES_SHOWN` different names are kept.
    pub fn note(&mut self, name: &str) {
        // Cut to the length that is shown: a long name recurs with every row.
        let end = name
            .char_indices()
            .nth(100)
            .map_or(name.len(), |(at, _)| at);
        let name = &name[..end];
        if self.0.len() < limits::IMPORT_NAMES_SHOWN && !self.0.iter().any(|one| one == name) {
            self.0.push(name.to_owned());
        }
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }
}
