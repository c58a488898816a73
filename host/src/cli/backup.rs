//! `leadhost backup`: copies a SQLite store, whether the service runs or not. It reads the file
//! itself instead of calling the service, so it needs no key and works on a machine whose
//! service no longer starts.

use std::time::Instant;

use crate::cli::prelude::*;
use leadhost_domain::clock::Clock as _;
use leadhost_egress::seal::{self, Environment};
use leadhost_store::{self as store, StoreLocation};

#[derive(Args)]
pub struct Backup {
    /// The new file, or an existing folder: the file in it is then named after the time
    to: PathBuf,
    /// The service's data folder
    #[arg(long, value_name = "DIR", env = "LEADHOST_DATA_DIR")]
    data_dir: Option<String>,
    /// The service's configuration file
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    config: Option<PathBuf>,
    /// The store, if it is neither in the data folder nor in the configuration
    #[arg(
        long,
        value_name = "URL",
        env = "LEADHOST_STORE_URL",
        hide_env_values = true
    )]
    store_url: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub async fn run(self) -> CommandResult {
        let overrides = self.overrides();
        let file = self.config.as_deref();
        let config = Config::load(file, &overrides)?;
        let location = StoreLocation::from_config(&config.store)
            .map_err(|error| CommandFailure::for_key("store.url", &overrides, file, &error))?;
        let file = match location {
            StoreLocation::File(file) => file,
            StoreLocation::Postgres { url, .. } => {
                return Err(failed!(
                    "the store is {url}: `leadhost backup` copies SQLite stores only"
                )
                .hint("use the tools of PostgreSQL: pg_dump, or a base backup with its log; the section Back up and restore of docs/operators.md names the user to run them as"));
            }
        };
        let to = self.name()?;
        // The copy contains leads, so only its owner may read it.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let started = Instant::now();
        let progress = ProgressLine::start("copying");
        let done = store::backup(&file, &to, |done, about| {
            progress.update(&format!(
                "copying: {} of about {}",
                size::readable(done),
                size::readable(about)
            ));
        })
        .await;
        drop(progress);
        let done = done.map_err(|error| CommandFailure::new(error.to_string()))?;
        let took = started.elapsed();
        let key = SealingKeyRef::find(&config.store.data_dir, &Environment::read());
        if self.json {
            say_json(&json!({
                "from": file,
                "to": to,
                "store": done.store,
                "bytes": done.bytes,
                "seconds": took.as_secs_f64(),
                "rows": done.rows.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
                "newest": done.newest,
                "sealingKey": key.id,
                "sealingKeyAt": key.place,
            }));
            return Ok(());
        }
        let rows: Vec<String> = done
            .rows
            .iter()
            .map(|&(kind, rows)| count(rows, &one_of(kind), kind))
            .collect();
        say!(
            "{}: {} of {} in {:.1} s, checked\n  {}\n  {}",
            to.display(),
            size::readable(done.bytes),
            file.display(),
            took.as_secs_f64(),
            rows.join(", "),
            match done.newest {
                Some(newest) => format!("with every change up to {newest}"),
                None => "it has no leads".to_owned(),
            },
        );
        say!(
            "\nNot in the copy: {}. Keep it separately; without it the secrets of connections are lost.",
            key.words()
        );
        say!(
            "\nTo restore: stop the service, move {file} away, and {file}-wal and {file}-shm if they are there, put the copy there as {file}, and start the service.",
            file = file.display()
        );
        Ok(())
    }

    fn overrides(&self) -> Vec<(String, String)> {
        let mut overrides = Vec::new();
        for (key, value) in [
            ("store.data_dir", &self.data_dir),
            ("store.url", &self.store_url),
        ] {
            if let Some(value) = value {
                overrides.push((key.to_owned(), value.clone()));
            }
        }
        overrides
    }

    /// Returns the path of the copy. Its folder is never created.
    fn name(&self) -> CommandResult<PathBuf> {
        if !self.to.is_dir() {
            let is_folder = self.to.as_os_str().as_encoded_bytes().ends_with(b"/");
            let folder = if is_folder {
                Some(self.to.as_path())
            } else {
                self.to.parent().filter(|path| !path.as_os_str().is_empty())
            };
            return match folder {
                Some(folder) if matches!(folder.try_exists(), Ok(false)) => Err(failed!(
                    "the folder {} does not exist: create it",
                    folder.display()
                )),
                _ => Ok(self.to.clone()),
            };
        }
        // To the microsecond, since a backup never replaces another one.
        let now = SystemClock.now().text().replace(['-', ':'], "");
        Ok(self.to.join(format!("leadhost-{now}.db")))
    }
}

/// The sealing key of the copy, which the copy does not contain.
struct SealingKeyRef {
    id: Option<String>,
    place: String,
}

impl SealingKeyRef {
    fn find(folder: &Path, environment: &Environment) -> Self {
        Self {
            id: seal::marker(folder).ok().flatten(),
            place: match environment.key {
                Some(_) => seal::KEY_VARIABLE.to_owned(),
                None => folder.join(seal::KEY_FILE).display().to_string(),
            },
        }
    }

    fn words(&self) -> String {
        match &self.id {
            Some(id) => format!("the sealing key {} (id {id})", self.place),
            None => format!("the sealing key {}", self.place),
        }
    }
}

/// Returns the noun for a single row of a kind: `deal` for `deals`.
fn one_of(kind: &str) -> String {
    match kind.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => kind.trim_end_matches('s').to_owned(),
    }
}
