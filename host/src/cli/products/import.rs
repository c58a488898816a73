use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::ValueEnum;

use super::send::SentFile;
use crate::cli::prelude::*;
use crate::cli::table::list;
use leadhost_admin_api::workspaces::ImportReport;
use leadhost_pipeline::import;

/// Refused lines that are printed.
const SHOWN: usize = 20;

#[derive(Args)]
pub struct ImportProducts {
    /// The catalogue: CSV with the columns externalId, name and description, or NDJSON with those fields; `-` for standard input
    file: PathBuf,
    /// The workspace's slug
    #[arg(long, value_name = "SLUG")]
    workspace: String,
    /// Remove products that the catalogue does not name, if all of its lines were imported
    #[arg(long)]
    replace: bool,
    /// With --replace: remove even if lines were refused or the file has no lines
    #[arg(long, requires = "replace")]
    force: bool,
    /// The format of the file [default: by its name, else by its content]
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// Write every refused line to this file, as NDJSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FileFormat {
    Csv,
    Ndjson,
}

impl ServiceCommand for ImportProducts {
    async fn run(self, client: AdminClient) -> CommandResult {
        let format = self.format.map(|format| match format {
            FileFormat::Csv => import::ImportFormat::Csv,
            FileFormat::Ndjson => import::ImportFormat::Ndjson,
        });
        let source = SentFile::open(&self.file, format)?;
        let kind = match source.format {
            import::ImportFormat::Csv => "text/csv",
            import::ImportFormat::Ndjson => "application/x-ndjson",
        };
        let replace = match (self.replace, self.force) {
            (false, _) => "false",
            (true, false) => "true",
            (true, true) => "force",
        };
        let path = format!(
            "/admin/v1/workspaces/{}/products?replace={replace}",
            encoded(&self.workspace)
        );
        let progress = ProgressLine::start("sending");
        let began = Instant::now();
        let (body, lines, reading) = source.send(self.report.clone());
        let answer = {
            let mut asking = Box::pin(client.put_stream(&path, kind, body));
            let mut look = tokio::time::interval(Duration::from_millis(250));
            loop {
                tokio::select! {
                    answer = &mut asking => break answer,
                    _ = look.tick() => {
                        let lines = lines.load(Ordering::Relaxed);
                        let sent = count(lines, "line", "lines");
                        progress.update(&format!("{sent}, {} a second", rate(lines, began)));
                    }
                }
            }
        };
        drop(progress);
        let answer = match answer {
            // A mistake in a file is a failure, not wrong usage.
            Ok(Err(refusal)) => return Err(CommandFailure::from(refusal).with_code(1)),
            answer => answer,
        };
        // If the file could not be read to its end, that error is the cause of the service's.
        let written = reading.await.unwrap_or_else(|_| {
            Err(CommandFailure::new(
                "the thread that read the file panicked",
            ))
        })?;
        let report = answer?.map_err(CommandFailure::from)?;
        client.print(&report, |report| {
            show(report, rate(lines.load(Ordering::Relaxed), began));
        });
        self.judge(&report, written)
    }
}

impl ImportProducts {
    fn judge(&self, report: &ImportReport, written: Option<u64>) -> CommandResult {
        let refused = report.refused;
        let kept = self.replace && !report.replaced;
        let file = self.report.as_ref().map(|path| path.display().to_string());
        if refused > 0 {
            let what = count(refused, "line was refused", "lines were refused");
            let mut message = format!("{what}; the others were imported");
            let mut hint = match (file, written) {
                (Some(file), Some(_)) => format!("all of them are in {file}"),
                _ => "--report FILE writes all of them".to_owned(),
            };
            if kept {
                message += ", and nothing was removed";
                hint += "; correct them and import again, or use --replace --force to remove products that are not among the others";
            }
            return Err(CommandFailure::new(message).hint(hint));
        }
        if kept {
            return Err(CommandFailure::new(
                "the catalogue names no product, so nothing was removed",
            )
            .hint("--replace --force empties the workspace's catalogue"));
        }
        Ok(())
    }
}

fn rate(lines: u64, began: Instant) -> u64 {
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    lines.saturating_mul(1_000) / millis.max(1)
}

fn show(report: &ImportReport, rate: u64) {
    say!(
        "{} created, {} changed, {} kept, {} removed, {} refused ({} a second).",
        report.created,
        report.changed,
        report.kept,
        report.removed,
        report.refused,
        count(rate, "line", "lines"),
    );
    if !report.ignored.is_empty() {
        let ignored = list(&report.ignored);
        complain_line!("Columns not imported: {ignored}.");
    }
    for problem in report.problems.iter().take(SHOWN) {
        complain_line!("line {}: {}", problem.line, problem.message);
    }
}
