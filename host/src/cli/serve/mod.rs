//! `leadhost serve`: the service. The parts start in the order in which they
//! need each other and stop in the other: first nothing new comes in, then what
//! is in flight ends, then what was decided is written.

mod first_apply;
mod first_key;
mod said;
mod sealing;
mod turn;

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use self::turn::Turn;
use super::failure::Failure;
use super::output::say;
use crate::app::App;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::domain::phone;
use crate::http::server::{self, Addresses, StartError};
use crate::limits;
use crate::memory;
use crate::pipeline::{self, deploy, fleet};
use crate::shutdown::{self, Shutdown};
use crate::store;
use crate::telemetry;

#[derive(Args)]
pub struct Serve {
    /// The configuration file; `leadhost config` prints every key
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    config: Option<PathBuf>,
    /// Where the gateway listens, and the data API unless it has its own address
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where the data API listens
    #[arg(long, value_name = "ADDRESS")]
    data_listen: Option<String>,
    /// Where the admin API and the metrics listen; keep it on loopback
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
    /// Where the state lives
    #[arg(long, value_name = "DIR", env = "LEADHOST_DATA_DIR")]
    data_dir: Option<String>,
    /// The database, if it is not a SQLite file in the data folder: postgres://user@host/database
    #[arg(
        long,
        value_name = "URL",
        env = "LEADHOST_STORE_URL",
        hide_env_values = true
    )]
    store_url: Option<String>,
    /// A folder whose component files are taken in and activated, once each
    #[arg(long, value_name = "DIR")]
    inbox: Option<String>,
    /// Any other key of the configuration; may be repeated
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    /// Make one more admin key and write it to the data folder, where the first one is lost
    #[arg(long)]
    new_admin_key: bool,
    /// A workspace file to apply when the keys file is not there yet
    #[arg(long, value_name = "FILE")]
    first_apply: Option<PathBuf>,
    /// Where the keys of the first apply go [default: keys.json in the data folder]
    #[arg(long, value_name = "FILE", requires = "first_apply")]
    keys_file: Option<PathBuf>,
}

impl Serve {
    pub fn run(self) -> Result<(), Failure> {
        memory::give_back_what_is_large();
        let config = self.configuration()?;
        // Leads are in every file that this process makes: their owner's only.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        telemetry::init_logging(&config.log).map_err(|error| Failure::new(error.to_string()))?;
        let config = within_files(config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        let served = runtime.block_on(self.serve(config));
        // All that was decided is written: what is left on a thread is nobody's.
        runtime.shutdown_timeout(THREAD_PATIENCE);
        served
    }

    fn configuration(&self) -> Result<Config, Failure> {
        let mut overrides = Vec::new();
        for text in &self.set {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                Failure::usage(format!(
                    "`--set {text}`: expected section.key=value, as worker.concurrency=8"
                ))
            })?;
            overrides.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        for (key, value) in [
            ("server.listen", &self.listen),
            ("server.data_listen", &self.data_listen),
            ("server.admin_listen", &self.admin_listen),
            ("store.data_dir", &self.data_dir),
            ("store.url", &self.store_url),
            ("plugins.inbox", &self.inbox),
        ] {
            if let Some(value) = value {
                overrides.push((key.to_owned(), value.clone()));
            }
        }
        Config::load(self.config.as_deref(), &overrides).map_err(|error| {
            Failure::new(error.to_string()).hint("`leadhost config` prints every key")
        })
    }

    async fn serve(self, config: Config) -> Result<(), Failure> {
        let folder = config.store.data_dir.clone();
        // The first phone costs some forty milliseconds: not a sender's.
        let phones = tokio::task::spawn_blocking(phone::warm_up);
        let app = open(config).await?;
        // From here on a signal stops the service in order.
        let patience = app.config.server.drain_seconds + limits::STOP_SECONDS;
        shutdown::on_signals(app.shutdown.clone(), Duration::from_secs(patience))
            .map_err(|error| Failure::new(format!("cannot listen to signals: {error}")))?;
        deploy::load_active(&app)
            .await
            .map_err(|error| Failure::new(error.to_string()))?;
        fleet::join(&app)
            .await
            .map_err(|error| Failure::new(error.to_string()))?;
        // From here on the others reckon with this host.
        let mut tasks = fleet::start(&app, &app.shutdown);
        let turn = Turn::wait(&app).await?;
        first_key::ensure(&app, &folder, self.new_admin_key).await?;
        if let Some(file) = &self.first_apply {
            let keys = self.keys_file(&folder);
            first_apply::run(&app, &folder, file, &keys).await?;
        }
        turn.end(&app).await;
        let addresses = server::start(&app).await.map_err(|error| {
            let failure = Failure::new(error.to_string());
            match error {
                StartError::Bind { .. } => failure.hint("another program has that address: name others with --listen and --admin-listen, or in the configuration"),
                StartError::Tls(_) => failure.hint("the two are PEM files, the certificate first in its chain, the key without a password"),
            }
        })?;
        // It only fills a table; without it the first lead would.
        let _ = phones.await;
        tasks.extend(pipeline::start(&app, &app.shutdown));
        let said = said::Said::write(&folder, &addresses)?;
        self.announce(&folder, &addresses);
        app.shutdown.begun().await;
        stop(&app, tasks).await;
        drop(said);
        Ok(())
    }

    fn keys_file(&self, folder: &Path) -> PathBuf {
        self.keys_file
            .clone()
            .unwrap_or_else(|| folder.join("keys.json"))
    }

    fn announce(&self, folder: &Path, addresses: &Addresses) {
        tracing::info!(
            gateway = %addresses.gateway,
            data = %addresses.data,
            admin = %addresses.admin,
            data_dir = %folder.display(),
            "ready"
        );
        if let Some(file) = &self.first_apply {
            let invitation = said::invitation(file, folder, &self.keys_file(folder));
            if let Some(invitation) = invitation {
                say(&invitation);
            }
        }
    }
}

/// Takes all the files that the system gives this process, and no more connections
/// than those are enough for.
fn within_files(mut config: Config) -> Config {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let most = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let Some(most) = most.and_then(|most| usize::try_from(most).ok()) else {
        return config;
    };
    let server = &mut config.server;
    let room = most.saturating_sub(limits::FILES_KEPT).max(most / 2);
    if room < server.connections {
        tracing::warn!(
            files = most,
            asked = server.connections,
            connections = room,
            "fewer connections are served at once than server.connections says: raise the limit of open files (ulimit -n) for more"
        );
        server.connections = room;
    }
    config
}

/// Opens the data folder and puts the parts together.
async fn open(config: Config) -> Result<Arc<App>, Failure> {
    let folder = config.store.data_dir.clone();
    make_folder(&folder)?;
    let clock = Arc::new(SystemClock);
    // It takes the folder's lock: everything else in the folder comes after.
    let store = async {
        let location = store::Location::of(&config.store)?;
        store::open_remembered(&location, clock.clone(), &folder).await
    };
    let store = store
        .await
        .map_err(|error| Failure::new(error.to_string()))?;
    let sealer = sealing::sealer(&*store, &folder).await?;
    App::new(config, clock, store, Arc::new(sealer), Shutdown::new())
        .map_err(|error| Failure::new(error.to_string()))
}

/// The data folder, its owner's alone: the store, the key of its secrets and the
/// admin key lie in it.
fn make_folder(folder: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format!(
            "cannot make the data folder {}: {error}",
            folder.display()
        ))
        .hint("name another with --data-dir")
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let found = std::fs::metadata(folder).map_err(failed)?;
    let (mode, owner) = (found.permissions().mode(), found.uid());
    let own = rustix::process::geteuid().as_raw();
    if owner != own {
        return Err(Failure::new(format!(
            "the data folder {} belongs to another user of this machine (id {owner}; the service runs as {own}), who may read and change it",
            folder.display()
        ))
        .hint(format!(
            "chown {own} {}, or run the service as its owner",
            folder.display()
        )));
    }
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(Failure::new(format!(
        "other users of this machine may use the data folder {} (mode {:o}), and it holds keys and people's data",
        folder.display(),
        mode & 0o777
    ))
    .hint(format!(
        "chmod 700 {}; a folder that is not yours to change gets one inside it: name that with --data-dir",
        folder.display()
    )))
}

/// Listeners are closed by now. Waits for requests and work in flight, as long
/// as the configuration says, then for what they decided to be written.
async fn stop(app: &Arc<App>, tasks: Vec<tokio::task::JoinHandle<()>>) {
    let limit = Duration::from_secs(app.config.server.drain_seconds);
    let dropped = app.shutdown.drain(limit).await;
    if dropped > 0 {
        tracing::warn!(
            dropped,
            "some work was still in flight when the time was up; it is taken up at the next start"
        );
    }
    let by = tokio::time::Instant::now() + TASK_PATIENCE;
    for task in tasks {
        if tokio::time::timeout_at(by, task).await.is_err() {
            tracing::warn!("a background task did not stop in time");
        }
    }
    app.writer.shutdown().await;
    app.plugins.close();
    if let Err(error) = app.http.keys.write_uses(&*app.store).await {
        tracing::warn!(%error, "when keys were last used could not be written down");
    }
    tracing::info!("stopped");
}

/// For tasks that were told to stop, after the drain: a claim that one holds is
/// taken up again when its lease runs out.
const TASK_PATIENCE: Duration = Duration::from_secs(5);

/// For work on threads that cannot be told to stop, at the very end.
const THREAD_PATIENCE: Duration = Duration::from_secs(1);
