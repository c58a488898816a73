//! The signal by which an operator's act starts the job at once.

use tokio::sync::Notify;

#[derive(Default)]
pub struct Repairs {
    pub(super) begun: Notify,
}
