//! `leadhost migrate`: moves a whole store from a SQLite file into a PostgreSQL database. It shows
//! its progress, may be interrupted at any point and run again, and shows the row counts and
//! digests by which it compared both sides.

use std::time::Instant;

use crate::cli::prelude::*;
use leadhost_config::StoreUrl;
use leadhost_egress::seal;
use leadhost_store::moving::{self, MoveOptions, MoveProgress, Moved};
use leadhost_store::{StoreError, StoreLocation};

#[derive(Args)]
pub struct Migrate {
    /// The SQLite store, which no service may have open: sqlite:///var/lib/leadhost/leadhost.db
    #[arg(long, value_name = "URL")]
    from: String,
    /// An empty database, postgres://user@host/database; the password may be in PGPASSWORD or ~/.pgpass
    #[arg(
        long,
        value_name = "URL",
        env = "LEADHOST_STORE_URL",
        hide_env_values = true
    )]
    to: String,
    /// Discard an earlier move, if no host has served it since, and start over
    #[arg(long)]
    restart: bool,
    /// Rows per transaction
    #[arg(long, value_name = "N", default_value_t = limits::MOVED_ROWS, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rows: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub async fn run(self) -> CommandResult {
        let from = self.file()?;
        let to = StoreUrl::new(self.to.clone());
        match StoreLocation::parse(&to, 1) {
            Ok(StoreLocation::Postgres { .. }) => {}
            Err(error) if to.as_str().starts_with("postgres") => {
                return Err(CommandFailure::usage(format!("the value of --to: {error}")));
            }
            _ => {
                return Err(CommandFailure::usage(format!(
                    "`--to {to}` is not a PostgreSQL database: expected postgres://user@host/database"
                )));
            }
        }
        // Only the owner may read the files that the move writes beside the store.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let folder = from.parent().unwrap_or(Path::new(".")).to_owned();
        let key = seal::key_of(&folder).map_err(|error| CommandFailure::new(error.to_string()))?;
        let options = MoveOptions {
            from: &from,
            to: &to,
            rows: self.rows,
            again: self.restart,
            sealing_key: key.as_deref(),
        };
        let started = Instant::now();
        let mut shown = Shown::begin(self.json);
        let moved = moving::run(&options, &SystemClock, &mut |step| shown.show(&step)).await;
        drop(shown);
        let moved = moved.map_err(|error| failed(&from, &to, &error))?;
        if self.json {
            say_json(&report(&moved, key.as_deref(), started.elapsed()));
            return Ok(());
        }
        self.show(&moved, &from, &to, key.as_deref(), started.elapsed());
        Ok(())
    }

    fn file(&self) -> CommandResult<PathBuf> {
        let url = StoreUrl::new(self.from.clone());
        match StoreLocation::parse(&url, 1) {
            Ok(StoreLocation::File(file)) => Ok(file),
            _ => Err(CommandFailure::usage(format!(
                "`--from {url}` is not a SQLite file: expected sqlite:///var/lib/leadhost/leadhost.db"
            ))),
        }
    }

    fn show(&self, moved: &Moved, from: &Path, to: &StoreUrl, key: Option<&str>, took: Duration) {
        let rows: Vec<Vec<String>> = moved
            .tables
            .iter()
            .map(|table| {
                vec![
                    table.name.to_owned(),
                    table.rows.to_string(),
                    table.digest.clone(),
                ]
            })
            .collect();
        say(&table(
            &["TABLE", "ROWS", "DIGEST (SAME ON BOTH SIDES)"],
            &rows,
        ));
        let replaced: u64 = moved.tables.iter().map(|table| table.replaced).sum();
        if replaced > 0 {
            let places: Vec<String> = moved
                .tables
                .iter()
                .filter(|table| table.replaced > 0)
                .map(|table| format!("{} in {}", table.replaced, table.name))
                .collect();
            say!(
                "\n{} U+0000, which PostgreSQL cannot hold, became U+FFFD: {}.",
                count(replaced, "character", "characters"),
                places.join(", ")
            );
        }
        say(&if moved.before {
            format!(
                "\nThe store {} was moved to {to} before: nothing to do.",
                moved.store
            )
        } else {
            format!(
                "\nThe store {} was moved to {to} in {:.1} s.",
                moved.store,
                took.as_secs_f64()
            )
        });
        say(&match key {
            Some(id) => format!(
                "The sealing key stays the same: every host needs key {id}, which is {}, as {} or as {} in its data folder.",
                from.with_file_name(seal::KEY_FILE).display(),
                seal::KEY_VARIABLE,
                seal::KEY_FILE,
            ),
            None => format!(
                "No sealing key was found beside {}: every host needs the key of the store, as {}.",
                from.display(),
                seal::KEY_VARIABLE
            ),
        });
        say!(
            "Set store.url, then start the hosts. {} is unchanged and can no longer be served: keep it until you are sure.",
            from.display()
        );
    }
}

fn failed(from: &Path, to: &StoreUrl, error: &StoreError) -> CommandFailure {
    // The store knows the database by the key of the configuration.
    let why = error.to_string().replace("store.url", "--to");
    let failure = failed!("cannot move {} to {to}: {why}", from.display());
    match error {
        StoreError::Unavailable(_) | StoreError::Lost(_) | StoreError::Full => failure.hint(
            "the rows that were moved so far are kept: run the same command again to continue",
        ),
        _ => failure,
    }
}

fn report(moved: &Moved, key: Option<&str>, took: Duration) -> serde_json::Value {
    let tables: Vec<_> = moved
        .tables
        .iter()
        .map(|table| {
            json!({
                "table": table.name,
                "rows": table.rows,
                "digest": table.digest,
                "replaced": table.replaced,
            })
        })
        .collect();
    json!({
        "store": moved.store,
        "before": moved.before,
        "seconds": took.as_secs_f64(),
        "sealingKey": key,
        "tables": tables,
    })
}

/// Progress: one updated line on a terminal, otherwise one line per table.
struct Shown {
    line: ProgressLine,
    quiet: bool,
}

impl Shown {
    fn begin(quiet: bool) -> Self {
        Self {
            line: ProgressLine::start("opening"),
            quiet,
        }
    }

    fn show(&mut self, step: &MoveProgress<'_>) {
        match step {
            MoveProgress::GoesOn => self.done("continuing where the last run stopped"),
            MoveProgress::Copying {
                table,
                rows,
                of,
                speed,
            } => self.line.update(&format!(
                "{table}: {rows} of {} ({} %), {speed} rows/s",
                count(*of, "row", "rows"),
                percent(*rows, *of)
            )),
            MoveProgress::Copied { table, rows, took } => {
                self.done(&format!(
                    "{table}: {}, {:.1} s",
                    count(*rows, "row", "rows"),
                    took.as_secs_f64()
                ));
            }
            MoveProgress::Comparing { table, rows, of } => self
                .line
                .update(&format!("comparing {table}: {} %", percent(*rows, *of))),
        }
    }

    fn done(&self, text: &str) {
        if !self.quiet && !self.line.is_shown() {
            super::output::complain(text);
        }
    }
}

fn percent(part: u64, of: u64) -> u64 {
    (part.saturating_mul(100)).checked_div(of).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_counts_as_completely_moved() {
        assert_eq!(percent(0, 0), 100);
        assert_eq!(percent(1, 3), 33);
    }
}
