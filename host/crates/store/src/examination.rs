//! The result of examining a database.

use leadhost_domain::time::Micros;

/// The state that a database reports about itself.
#[derive(Clone, Debug)]
pub struct Examination {
    /// The name and version of the database.
    pub server: String,
    /// The schema version. `None`: the first start will make it.
    pub schema: Option<i64>,
    /// The schema version that this program makes.
    pub newest_schema: i64,
    /// The time of the database's clock. `None` if it has none of its own.
    pub now: Option<Micros>,
}
