//! `leadhost serve`: runs the service. The parts start in the order of their dependencies and stop
//! in reverse: the service first accepts nothing new, then finishes the work in flight, then
//! writes its pending decisions.

pub(super) mod first_apply;
pub(super) mod first_key;
pub(super) mod local_files;
pub(super) mod sealing;
mod start_turn;

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};

use self::start_turn::StartTurn;
use crate::app::App;
use crate::cli::prelude::*;
use leadhost_config::memory;
use leadhost_config::shutdown::{self, Shutdown};
use leadhost_domain::clock::{DatabaseClock, SharedClock};
use leadhost_domain::phone;
use leadhost_http::listen::{Addresses, Listeners, StartError};
use leadhost_pipeline::core::Core;
use leadhost_pipeline::{self as pipeline, Pipeline, deploy, fleet};
use leadhost_store::{self as store, StoreLocation};
use leadhost_telemetry as telemetry;

#[derive(Args)]
pub struct Serve {
    /// The configuration file; `leadhost config` prints every key
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    config: Option<PathBuf>,
    /// Address of the gateway, and of the data API unless it has its own
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Address of the data API
    #[arg(long, value_name = "ADDRESS")]
    data_listen: Option<String>,
    /// Address of the admin API and the metrics; keep it on loopback
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
    /// The data folder, for all state of the service
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
    /// A folder to watch: the service activates each component file in it once
    #[arg(long, value_name = "DIR")]
    inbox: Option<String>,
    /// Any other key of the configuration; may be repeated
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    /// Create another admin key and write it to the data folder, if the first one is lost
    #[arg(long)]
    new_admin_key: bool,
    /// Start with another sealing key, if the old one is lost: the secrets of connections have to be applied again
    #[arg(long)]
    new_sealing_key: bool,
    /// A workspace file to apply if the keys file does not exist
    #[arg(long, value_name = "FILE")]
    first_apply: Option<PathBuf>,
    /// The file for the keys of the first apply [default: keys.json in the data folder]
    #[arg(long, value_name = "FILE", requires = "first_apply")]
    keys_file: Option<PathBuf>,
}

impl Serve {
    pub fn run(self) -> CommandResult {
        memory::give_back_what_is_large();
        let overrides = self.overrides()?;
        let file = self.config.as_deref();
        let config = Config::load(file, &overrides)?;
        let location = StoreLocation::from_config(&config.store)
            .map_err(|error| CommandFailure::for_key("store.url", &overrides, file, &error))?;
        // Every file of this process may contain leads, so only its owner may read it.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let _log = telemetry::init_logging(&config.log)
            .map_err(|error| CommandFailure::for_key("log.filter", &overrides, file, &error))?;
        let config = within_files(config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| failed!("cannot start: {error}"))?;
        let served = runtime.block_on(self.serve(config, &location));
        // All decisions are written. Work that remains on a thread can be dropped.
        runtime.shutdown_timeout(THREAD_PATIENCE);
        served
    }

    fn overrides(&self) -> CommandResult<Vec<(String, String)>> {
        let mut overrides = Vec::new();
        for text in &self.set {
            let (key, value) = text.split_once('=').ok_or_else(|| {
                CommandFailure::usage(format!(
                    "`--set {text}`: expected section.key=value, such as worker.concurrency=8"
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
        Ok(overrides)
    }

    async fn serve(self, config: Config, location: &StoreLocation) -> CommandResult {
        let folder = config.store.data_dir.clone();
        let data_dir = self.data_dir.as_deref().map(Path::new);
        let flags = ServiceFlags::new(data_dir, self.config.as_deref(), None);
        // The first phone number takes some forty milliseconds; no sender should wait for it.
        let phones = tokio::task::spawn_blocking(phone::warm_up);
        make_folder(&folder)?;
        // Held until the end, so that no second service uses the folder.
        let _lock = store::lock_folder(&folder, location)
            .map_err(|error| CommandFailure::new(error.to_string()))?;
        let app = self.open(config, location, &flags).await?;
        // From here on a signal stops the service gracefully.
        let patience = app.core.config.server.drain_seconds + limits::STOP_DEADLINE.as_secs();
        let patience = Duration::from_secs(patience);
        shutdown::on_signals(app.core.shutdown.clone(), patience, telemetry::flush_log)
            .map_err(|error| failed!("cannot listen for signals: {error}"))?;
        // Plugins may take minutes to compile: a signal does not wait for them.
        tokio::select! {
            loaded = load(&app.pipeline) => loaded?,
            () = app.core.shutdown.begun() => {
                stop(&app, Vec::new()).await;
                return Ok(());
            }
        }
        // From here on the other hosts count this one as live.
        let mut tasks = fleet::start(&app.pipeline, &app.core.shutdown);
        let turn = StartTurn::wait(&app.pipeline).await?;
        first_key::ensure(&app.pipeline, &folder, self.new_admin_key, &flags).await?;
        if let Some(file) = &self.first_apply {
            let keys = self.keys_file(&folder);
            first_apply::run(&app.pipeline, &folder, file, &keys, &flags).await?;
        }
        turn.end(&app.pipeline).await;
        let listeners = Listeners::bind(&app.http).await.map_err(not_listening)?;
        let addresses = listeners.addresses;
        // The warm-up only fills a table, so its failure does not matter.
        let _ = phones.await;
        tasks.extend(pipeline::start(&app.pipeline, &app.core.shutdown));
        let addresses_file = local_files::AddressesFile::write(
            &folder,
            &addresses,
            &app.http.secret,
            app.core.config.server.has_tls(),
        )?;
        // A probe that finds the host ready finds the file too, and commands work.
        listeners.serve(&app.http).map_err(not_listening)?;
        self.announce(&folder, &addresses);
        app.core.shutdown.begun().await;
        stop(&app, tasks).await;
        drop(addresses_file);
        Ok(())
    }

    /// Opens the store, and builds the application. The data folder is locked.
    async fn open(
        &self,
        config: Config,
        location: &StoreLocation,
        flags: &ServiceFlags,
    ) -> CommandResult<App> {
        let folder = config.store.data_dir.clone();
        let clock: SharedClock = match location {
            StoreLocation::File(_) => Arc::new(SystemClock),
            StoreLocation::Postgres { .. } => Arc::new(DatabaseClock::default()),
        };
        let store = store::open_remembered(location, clock.clone(), &folder)
            .await
            .map_err(|error| CommandFailure::new(error.to_string()))?;
        let sealer = sealing::sealer(&store, &folder, self.new_sealing_key, flags).await?;
        Core::new(config, clock, store, Arc::new(sealer), Shutdown::new())
            .map(App::new)
            .map_err(|error| CommandFailure::new(error.to_string()))
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
        let keys = self.keys_file(folder);
        // On a shared store, the keys file is on the host that applied the workspace file.
        if let Some(file) = self.first_apply.as_ref().filter(|_| keys.exists()) {
            let invitation = local_files::invitation(file, folder, &keys);
            if let Some(invitation) = invitation {
                // A thread of its own, since the reader of standard output may stand still.
                let print = std::thread::Builder::new();
                let _ = print.spawn(move || say(&invitation));
            }
        }
    }
}

fn not_listening(error: StartError) -> CommandFailure {
    let failure = CommandFailure::new(error.to_string());
    match error {
        StartError::Bind { .. } => failure.hint("another program uses that address: choose others with --listen and --admin-listen, or in the configuration"),
        StartError::Tls(_) => failure.hint("both must be PEM files: the certificate first in its chain, the key without a password"),
    }
}

async fn load(pipeline: &Arc<Pipeline>) -> CommandResult {
    deploy::load_active(pipeline)
        .await
        .map_err(|error| CommandFailure::new(error.to_string()))?;
    fleet::join(pipeline)
        .await
        .map_err(|error| CommandFailure::new(error.to_string()))
}

/// Raises the limit of open files to its maximum, and lowers `server.connections` to what that
/// limit allows.
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
    let room = most.saturating_sub(limits::FILES_RESERVED).max(most / 2);
    if room < server.connections {
        tracing::warn!(
            files = most,
            asked = server.connections,
            connections = room,
            "server.connections lowered to fit the limit of open files; raise the limit (ulimit -n) for more"
        );
        server.connections = room;
        let key = "server.connections";
        for setting in config.settings.iter_mut().filter(|one| one.key == key) {
            setting.value = format!("{room} (lowered to fit the limit of open files)");
        }
    }
    config
}

/// Creates the data folder, accessible to its owner only: it holds the store, the sealing key and
/// the admin key.
fn make_folder(folder: &Path) -> CommandResult {
    let failed = |error: std::io::Error| {
        failed!(
            "cannot create the data folder {}: {error}",
            folder.display()
        )
        .hint("choose another one with --data-dir")
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
        return Err(failed!(
            "the data folder {} belongs to another user of this machine (id {owner}; the service runs as {own}), who may read and change it",
            folder.display()
        )
        .hint(format!(
            "run chown {own} {}, or run the service as the owner of the folder",
            quoted(&folder.to_string_lossy())
        )));
    }
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(failed!(
        "other users of this machine may use the data folder {} (mode {:o}), and it holds keys and people's data",
        folder.display(),
        mode & 0o777
    )
    .hint(format!(
        "run chmod 700 {}; if you may not change that folder, create one inside it and name it with --data-dir",
        quoted(&folder.to_string_lossy())
    )))
}

/// Drains the service after its listeners have closed: waits for requests and work in flight, at
/// most `server.drain_seconds`, then for their decisions to be written.
pub(super) async fn stop(app: &App, tasks: Vec<tokio::task::JoinHandle<()>>) {
    let limit = Duration::from_secs(app.core.config.server.drain_seconds);
    let dropped = app.core.shutdown.drain(limit).await;
    if dropped > 0 {
        tracing::warn!(
            dropped,
            "drain timed out with work in flight, which continues at the next start"
        );
    }
    let by = tokio::time::Instant::now() + TASK_PATIENCE;
    for task in tasks {
        if tokio::time::timeout_at(by, task).await.is_err() {
            tracing::warn!("background task did not stop in time");
        }
    }
    app.core.writer.shutdown().await;
    app.core.plugins.close();
    app.core.traces.stop().await;
    if let Err(error) = app.pipeline.keys.write_uses(&app.core.store).await {
        tracing::warn!(%error, "times of last use of keys not written");
    }
    // If it fails, the record is some seconds old, as after a kill.
    let _ = tokio::time::timeout(NOTE_PATIENCE, app.core.store.note_newest()).await;
    tracing::info!("stopped");
}

/// Timeout for background tasks to stop, after the drain. If a task still holds a claim, the work
/// is claimed again when its lease expires.
const TASK_PATIENCE: Duration = Duration::from_secs(5);

/// Timeout for the record of the store's last state, which must not hold up the end.
const NOTE_PATIENCE: Duration = Duration::from_secs(1);

/// Timeout for blocking threads, which cannot be cancelled, at the very end.
const THREAD_PATIENCE: Duration = Duration::from_secs(1);
