//! The import of a workspace's products, in parts: each is a transaction of its
//! own, small enough that a lead that comes in between does not wait for it. One
//! import of a workspace runs at a time, on whichever host.
//!
//! A line that is wrong is told and does not stop the others. What the import did
//! not name is removed only after all of it was read, and only if that was asked
//! for: an import that breaks off has removed nothing, and may be repeated.

mod check;
mod csv;
mod ndjson;
mod reader;

pub use reader::{Format, Reader, Row, Wrong};

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::domain::id::{HostId, WorkspaceId};
use crate::limits;
use crate::pipeline::fleet::Job;
use crate::pipeline::state::Pipeline;
use crate::store::{ImportId, PlannedProduct, StoreError};

/// Whether products go that the import does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    No,
    /// If every line was taken, and there was one.
    Yes,
    /// In any case.
    Force,
}

#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub created: u64,
    pub changed: u64,
    /// They were so before.
    pub kept: u64,
    pub removed: u64,
    /// Lines that were not taken, all of them.
    pub refused: u64,
    /// The first of those, by line.
    pub problems: Vec<Problem>,
    /// Columns that no product has, some of them.
    pub ignored: Vec<String>,
    /// What was not named is gone.
    pub replaced: bool,
    /// Why it is not, though that was asked for.
    pub note: Option<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct Problem {
    pub line: u64,
    pub message: String,
}

/// Why an import ended early.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error(transparent)]
    Wrong(#[from] Wrong),
    #[error("another import of this workspace's products is under way")]
    Taken,
    #[error("the service is stopping")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Attempts at one part, while its failure may pass, and the pause after the first,
/// doubled each time.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

pub struct Import<'a> {
    pipeline: &'a Pipeline,
    workspace: WorkspaceId,
    id: ImportId,
    /// It holds its job under a name of its own: two imports on one host are two.
    by: HostId,
    held: Instant,
    rows: usize,
    part: Vec<PlannedProduct>,
    bytes: usize,
    /// The lines of what is in the part, by external id.
    lines: HashMap<String, u64>,
    named: u64,
    report: Report,
}

impl<'a> Import<'a> {
    /// `Stopped::Taken` while another one runs.
    pub async fn begin(pipeline: &'a Pipeline, workspace: WorkspaceId) -> Result<Self, Stopped> {
        let now = pipeline.core.clock.now();
        let mut import = Self {
            pipeline,
            workspace,
            id: ImportId(now),
            by: HostId::new(now),
            held: Instant::now(),
            rows: if pipeline.core.store.is_shared() {
                limits::IMPORT_ROWS
            } else {
                limits::IMPORT_ROWS_ALONE
            },
            part: Vec::new(),
            bytes: 0,
            lines: HashMap::new(),
            named: 0,
            report: Report::default(),
        };
        import.hold().await?;
        Ok(import)
    }

    /// Takes lines, and writes as many of them as make whole parts.
    pub async fn take(&mut self, rows: &mut Vec<Row>) -> Result<(), Stopped> {
        for Row { line, read } in rows.drain(..) {
            if line > limits::IMPORT_LINES {
                return Err(Stopped::Wrong(Wrong(format!(
                    "The import has more than {} lines; those before are taken. Import the rest on its own.",
                    limits::IMPORT_LINES
                ))));
            }
            let product = match read {
                Ok(product) => product,
                Err(message) => {
                    self.refuse(line, message);
                    continue;
                }
            };
            if let Some(first) = self.lines.get(&product.external_id) {
                let message = format!(
                    "externalId `{}` is on line {first} already, which counts",
                    product.external_id
                );
                self.refuse(line, message);
                continue;
            }
            self.bytes += size(&product);
            self.lines.insert(product.external_id.clone(), line);
            self.part.push(product);
            if self.part.len() >= self.rows || self.bytes >= limits::IMPORT_PART_BYTES {
                self.write().await?;
            }
        }
        Ok(())
    }

    /// The import was read to its end: writes what is left, and removes what it did
    /// not name if that was asked for.
    pub async fn finish(
        &mut self,
        replace: Replace,
        ignored: &[String],
    ) -> Result<Report, Stopped> {
        self.write().await?;
        let mut report = std::mem::take(&mut self.report);
        report.problems.sort_by_key(|problem| problem.line);
        report.ignored = ignored.to_vec();
        report.note = match replace {
            Replace::No | Replace::Force => None,
            Replace::Yes if report.refused > 0 => Some(
                "Lines were refused, so nothing was removed. Mend them and import again, or send replace=force to remove what is not among the others.",
            ),
            Replace::Yes if self.named == 0 => Some(
                "The import names no product, so nothing was removed. replace=force empties the catalogue.",
            ),
            Replace::Yes => None,
        };
        report.replaced = replace != Replace::No && report.note.is_none();
        if report.replaced {
            report.removed = self.remove_unseen().await?;
        }
        tracing::info!(
            workspace = %self.workspace,
            created = report.created,
            changed = report.changed,
            kept = report.kept,
            removed = report.removed,
            refused = report.refused,
            "products were imported"
        );
        Ok(report)
    }

    /// Lets another import begin at once.
    pub async fn leave(self) {
        let left = self
            .pipeline
            .core
            .store
            .leave_job(&self.job(), self.by)
            .await;
        if let Err(error) = left {
            tracing::debug!(workspace = %self.workspace, %error, "the next import begins when this one's time is up");
        }
    }

    async fn write(&mut self) -> Result<(), Stopped> {
        if self.part.is_empty() {
            return Ok(());
        }
        self.go_on().await?;
        let mut attempt = 1;
        let done = loop {
            let store = &self.pipeline.core.store;
            match store
                .import_products(self.workspace, self.id, &self.part)
                .await
            {
                Ok(done) => break done,
                Err(error) => attempt = next_attempt(error, attempt).await?,
            }
        };
        self.report.created += done.created;
        self.report.changed += done.changed;
        self.report.kept += done.kept;
        self.named += self.part.len() as u64;
        for external_id in done.repeated {
            if attempt > 1 {
                // An attempt whose answer was lost has written it.
                self.report.kept += 1;
                continue;
            }
            let line = self.lines.get(&external_id).copied().unwrap_or_default();
            let message = format!("externalId `{external_id}` is on an earlier line, which counts");
            self.refuse(line, message);
        }
        self.part.clear();
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }

    async fn remove_unseen(&mut self) -> Result<u64, Stopped> {
        let limit = u32::try_from(self.rows).unwrap_or(u32::MAX);
        let (mut after, mut removed) = (0, 0);
        loop {
            self.go_on().await?;
            let mut attempt = 1;
            // What an attempt whose answer was lost has removed is gone, and not counted.
            let step = loop {
                let store = &self.pipeline.core.store;
                match store
                    .remove_unseen_products(self.workspace, self.id, after, limit)
                    .await
                {
                    Ok(step) => break step,
                    Err(error) => attempt = next_attempt(error, attempt).await?,
                }
            };
            removed += step.removed;
            match step.next {
                Some(next) => after = next,
                None => return Ok(removed),
            }
        }
    }

    fn refuse(&mut self, line: u64, message: String) {
        self.report.refused += 1;
        if self.report.problems.len() < limits::IMPORT_PROBLEMS_TOLD {
            self.report.problems.push(Problem { line, message });
        }
    }

    /// Before each part: whether there may be one more.
    async fn go_on(&mut self) -> Result<(), Stopped> {
        if self.pipeline.core.shutdown.has_begun() {
            return Err(Stopped::Stopping);
        }
        if self.held.elapsed() >= Job::period() {
            self.hold().await?;
        }
        // The writer of a single connection serves in turn; others get theirs.
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn hold(&mut self) -> Result<(), Stopped> {
        let job = self.job();
        let store = &self.pipeline.core.store;
        self.held = Instant::now();
        match store.hold_job(&job, self.by, limits::JOB_SECONDS).await? {
            Some(_) => Ok(()),
            None => Err(Stopped::Taken),
        }
    }

    fn job(&self) -> String {
        format!("import-products:{}", self.workspace)
    }
}

/// After a pause, where the failure may pass; else the failure.
async fn next_attempt(error: StoreError, attempt: u32) -> Result<u32, StoreError> {
    let passes = error.is_passing() && !matches!(error, StoreError::Full);
    if attempt >= ATTEMPTS || !passes {
        return Err(error);
    }
    tracing::debug!(%error, attempt, "a part of an import is tried again");
    tokio::time::sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
    Ok(attempt + 1)
}

fn size(product: &PlannedProduct) -> usize {
    let description = product.description.as_ref().map_or(0, String::len);
    product.external_id.len() + product.name.len() + description
}
