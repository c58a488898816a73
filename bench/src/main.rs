//! The measurements behind Leadhost's performance claims. `cargo xtask bench` builds
//! everything in release and starts this program, which measures the requested
//! figures one after the other, prints them, and writes them to `bench/results`.
//!
//! Rules: the service is the real program in a process of its own, with its default
//! configuration except for what a figure states. The sides of a comparison are
//! measured in the same run, in alternating rounds. A figure counts the rows
//! afterwards and fails if an answered lead is not in the store. A missed aim is
//! printed as missed.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures elapsed time"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program speaks on its standard streams"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clap::builder::PossibleValuesParser;

mod figures;
mod host;
mod http;
mod lead;
mod load;
mod paced;
mod peer;
mod postgres;
mod process;
mod provider;
mod report;
mod round;
mod rows;
mod sample;
mod variant;

use report::Report;

/// Why a figure failed. No code matches on it.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(name = "leadhost-bench")]
pub struct Arguments {
    /// The figures; default: all of them
    #[arg(value_parser = PossibleValuesParser::new(FIGURES.map(|(name, _)| name)))]
    figures: Vec<String>,
    /// The service's program, built in release
    #[arg(long)]
    leadhost: PathBuf,
    /// Another build of it, such as one from before a change: `ingest`, `ingest-postgres`,
    /// `export`, `export-stores` and `memory` also measure it, in the same rounds
    #[arg(long, env = "LEADHOST_BENCH_BASELINE")]
    baseline: Option<PathBuf>,
    /// The folder of built components
    #[arg(long)]
    plugins: PathBuf,
    /// The repository's folder `bench`
    #[arg(long)]
    folder: PathBuf,
    /// Seconds of one round of load
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Alternating rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Comma-separated rows of `neighbours`; default: all of them
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(figures::neighbours::rows()))]
    rows: Vec<String>,
    /// Stored deliveries of `console`
    #[arg(long, default_value_t = 1_000_000)]
    deliveries: u64,
}

type Measure = fn(&Arguments) -> Result<Report, Failure>;

#[rustfmt::skip]
const FIGURES: [(&str, Measure); 19] = [
    ("conversion", figures::conversion::measure),
    ("guests", figures::guests::measure),
    ("ingest", figures::ingest::measure),
    ("ingest-postgres", figures::ingest::measure_on_postgres),
    ("export", figures::export::measure),
    ("export-peer", figures::export_peer::measure),
    ("export-stores", figures::export::measure_stores),
    ("swap", figures::swap::measure),
    ("swap-fleet", figures::swap_fleet::measure),
    ("rollout", figures::rollout::measure),
    ("start", figures::start::measure),
    ("memory", figures::memory::measure),
    ("messages", figures::messages::measure),
    ("search", figures::search::measure),
    ("deals", figures::deals::measure),
    ("analytics", figures::analytics::measure),
    ("console", figures::console::measure),
    ("traces", figures::traces::measure),
    ("neighbours", figures::neighbours::measure),
];

/// The name of a build of the service in results.
pub const SERVICE: &str = "Leadhost";
pub const BASELINE: &str = "baseline";

#[derive(Clone, Copy)]
pub struct Build<'a> {
    pub name: &'static str,
    pub program: &'a Path,
}

impl Arguments {
    pub fn builds(&self) -> Vec<Build<'_>> {
        let build = |name, program| Build { name, program };
        let baseline = self.baseline.as_deref();
        let baseline = baseline.map(|program| build(BASELINE, program));
        let service = build(SERVICE, &self.leadhost);
        std::iter::once(service).chain(baseline).collect()
    }

    pub fn round(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    pub fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// Returns an empty data folder beside the build's results, which is on a disk. A
    /// folder for temporary files may be in memory, where a sync costs nothing.
    pub fn scratch(&self) -> Result<tempfile::TempDir, Failure> {
        let parent = self.plugins.join("../bench");
        std::fs::create_dir_all(&parent)?;
        Ok(tempfile::tempdir_in(std::fs::canonicalize(parent)?)?)
    }

    /// Returns an empty data folder in memory, for measurements that do not concern the
    /// disk, see [`memory_note`].
    pub fn scratch_in_memory(&self) -> Result<tempfile::TempDir, Failure> {
        if has_memory() {
            Ok(tempfile::tempdir_in(MEMORY)?)
        } else {
            self.scratch()
        }
    }

    /// Returns whether the service's program is one of a release, by the folder that cargo puts it into.
    pub fn is_release(&self) -> bool {
        self.leadhost
            .parent()
            .is_none_or(|folder| !folder.ends_with("debug"))
    }

    pub fn component(&self) -> Result<Vec<u8>, Failure> {
        self.plugin("converter-grupo-olx.wasm")
    }

    pub fn plugin(&self, file: &str) -> Result<Vec<u8>, Failure> {
        let path = self.plugins.join(file);
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

const MEMORY: &str = "/dev/shm";

fn has_memory() -> bool {
    Path::new(MEMORY).is_dir()
}

/// Returns the note of a figure with a folder of [`Arguments::scratch_in_memory`].
pub fn memory_note() -> &'static str {
    if has_memory() {
        "The data folders were in memory: on this kind of machine the disk stalls for up to a second, which would hide the effect."
    } else {
        "The data folders were on the disk, since there is no /dev/shm here: its own stalls are part of the figures."
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let is_chosen = |name: &str| {
        arguments.figures.is_empty() || arguments.figures.iter().any(|figure| figure == name)
    };
    for (name, measure) in FIGURES.into_iter().filter(|(name, _)| is_chosen(name)) {
        eprintln!("\nMeasuring {name}.");
        let measured = measure(&arguments);
        let published = measured.and_then(|report| report.publish(&arguments.results()));
        if let Err(error) = published {
            eprintln!("\n{name} cannot be measured: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
