//! Imports a workspace's products in parts: each part is a transaction, small enough that a
//! lead does not wait long for it. One import of a workspace runs at a time, on any host.
//!
//! A wrong line is reported and does not stop the others. Products that the import does not
//! name are removed only after all of it was read, and only if that was requested: an
//! interrupted import has removed nothing, and may be repeated.

mod check;
mod csv;
mod ndjson;
mod reader;
mod row;

pub use reader::{ImportFormat, ImportReader};
pub use row::{ImportFileError, ImportRow};

use crate::fleet::FleetJob;
use crate::prelude::*;
use leadhost_store::{ImportId, PlannedProduct};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    No,
    /// Only if every line was accepted, and there was at least one.
    Yes,
    Force,
}

#[derive(Debug, Default)]
pub struct ImportOutcome {
    pub created: u64,
    pub changed: u64,
    pub kept: u64,
    pub removed: u64,
    pub refused: u64,
    pub problems: Vec<ImportProblem>,
    /// Some of the columns that no product has.
    pub ignored: Vec<String>,
    pub replaced: bool,
    /// Why they were not removed although that was requested.
    pub note: Option<&'static str>,
}

impl ImportOutcome {
    pub fn has_changed(&self) -> bool {
        self.created + self.changed + self.removed > 0
    }
}

#[derive(Debug)]
pub struct ImportProblem {
    pub line: u64,
    pub message: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    File(#[from] ImportFileError),
    #[error("another import of this workspace's products is under way")]
    Taken,
    #[error("the service is stopping")]
    Stopping,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Attempts at one part while its failure may be temporary, and the pause after the first,
/// which doubles each time.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

pub struct ProductImport<'a> {
    pipeline: &'a Pipeline,
    workspace: WorkspaceId,
    id: ImportId,
    /// The holder of its job: each import has an id of its own, so that two on one host are
    /// distinct.
    by: HostId,
    held: Instant,
    rows: usize,
    part: Vec<PlannedProduct>,
    bytes: usize,
    /// The lines of the current part, by external id.
    lines: HashMap<String, u64>,
    named: u64,
    report: ImportOutcome,
}

impl<'a> ProductImport<'a> {
    pub async fn begin(
        pipeline: &'a Pipeline,
        workspace: WorkspaceId,
    ) -> Result<Self, ImportError> {
        let now = pipeline.clock.now();
        let mut import = Self {
            pipeline,
            workspace,
            id: ImportId(now),
            by: HostId::new(now),
            held: Instant::now(),
            rows: if pipeline.store.is_shared() {
                limits::IMPORT_ROWS
            } else {
                limits::IMPORT_ROWS_ALONE
            },
            part: Vec::new(),
            bytes: 0,
            lines: HashMap::new(),
            named: 0,
            report: ImportOutcome::default(),
        };
        import.hold().await?;
        Ok(import)
    }

    /// Accepts lines, and writes as many of them as fill whole parts.
    pub async fn take(&mut self, rows: &mut Vec<ImportRow>) -> Result<(), ImportError> {
        for ImportRow { line, read } in rows.drain(..) {
            if line > limits::IMPORT_LINES {
                return Err(ImportError::File(ImportFileError(format!(
                    "The import has more than {} lines; those before this one were imported. Import the rest separately.",
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
                    "externalId `{}` is already on line {first}, which is used",
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

    /// Ends the import: writes the rest, and removes the products that it did not name if
    /// that was requested.
    pub async fn finish(
        &mut self,
        replace: Replace,
        ignored: &[String],
    ) -> Result<(), ImportError> {
        self.write().await?;
        let report = &mut self.report;
        report.problems.sort_by_key(|problem| problem.line);
        report.ignored = ignored.to_vec();
        report.note = match replace {
            Replace::No | Replace::Force => None,
            Replace::Yes if report.refused > 0 => Some(
                "Lines were refused, so nothing was removed. Correct them and import again, or send replace=force to remove every product that the accepted lines do not name.",
            ),
            Replace::Yes if self.named == 0 => Some(
                "The import names no product, so nothing was removed. Send replace=force to empty the catalogue.",
            ),
            Replace::Yes => None,
        };
        report.replaced = replace != Replace::No && report.note.is_none();
        if report.replaced {
            self.remove_unseen().await?;
        }
        let report = &self.report;
        tracing::info!(
            workspace = %self.workspace,
            created = report.created,
            changed = report.changed,
            kept = report.kept,
            removed = report.removed,
            refused = report.refused,
            "products imported"
        );
        Ok(())
    }

    /// Releases the lease, so that another import can begin at once. Returns the outcome, also of
    /// an import that failed.
    pub async fn leave(self) -> ImportOutcome {
        let left = self.pipeline.store.leave_job(&self.job(), self.by).await;
        if let Err(error) = left {
            tracing::debug!(workspace = %self.workspace, %error, "import lease not released, it will expire");
        }
        self.report
    }

    async fn write(&mut self) -> Result<(), ImportError> {
        if self.part.is_empty() {
            return Ok(());
        }
        self.go_on().await?;
        let mut attempt = 1;
        let done = loop {
            let store = &self.pipeline.store;
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
            let message =
                format!("externalId `{external_id}` is on an earlier line, which is used");
            self.refuse(line, message);
        }
        self.part.clear();
        self.lines.clear();
        self.bytes = 0;
        Ok(())
    }

    async fn remove_unseen(&mut self) -> Result<(), ImportError> {
        let limit = u32::try_from(self.rows).unwrap_or(u32::MAX);
        let mut after = 0;
        loop {
            self.go_on().await?;
            let mut attempt = 1;
            // Rows that were removed by an attempt whose answer was lost are not counted.
            let step = loop {
                let store = &self.pipeline.store;
                match store
                    .remove_unseen_products(self.workspace, self.id, after, limit)
                    .await
                {
                    Ok(step) => break step,
                    Err(error) => attempt = next_attempt(error, attempt).await?,
                }
            };
            self.report.removed += step.removed;
            match step.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    fn refuse(&mut self, line: u64, message: String) {
        self.report.refused += 1;
        if self.report.problems.len() < limits::IMPORT_PROBLEMS_SHOWN {
            self.report.problems.push(ImportProblem { line, message });
        }
    }

    /// Called before each part: fails if there may not be another one.
    async fn go_on(&mut self) -> Result<(), ImportError> {
        if self.pipeline.shutdown.has_begun() {
            return Err(ImportError::Stopping);
        }
        if self.held.elapsed() >= FleetJob::period() {
            self.hold().await?;
        }
        // Lets waiting writes use the single writer in between.
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn hold(&mut self) -> Result<(), ImportError> {
        let job = self.job();
        let store = &self.pipeline.store;
        self.held = Instant::now();
        match store.hold_job(&job, self.by, limits::JOB_LEASE).await? {
            Some(_) => Ok(()),
            None => Err(ImportError::Taken),
        }
    }

    fn job(&self) -> String {
        format!("import-products:{}", self.workspace)
    }
}

/// Pauses and returns the next attempt if the failure may be temporary; otherwise returns
/// the failure.
async fn next_attempt(error: StoreError, attempt: u32) -> Result<u32, StoreError> {
    let passes = error.is_temporary() && !matches!(error, StoreError::Full);
    if attempt >= ATTEMPTS || !passes {
        return Err(error);
    }
    tracing::debug!(%error, attempt, "import part not written, retrying");
    tokio::time::sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
    Ok(attempt + 1)
}

fn size(product: &PlannedProduct) -> usize {
    let description = product.description.as_ref().map_or(0, String::len);
    product.external_id.len() + product.name.len() + description
}
