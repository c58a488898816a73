//! `leadhost plugin dev`: builds a project after each change, runs its golden cases, and serves it in a
//! private service on this machine. A build or a case that fails is shown, and the version before it
//! stays active. This file decides what follows what.

pub mod builder;
mod calls;
mod candidate;
mod checking;
mod files;
mod keys;
mod requests;
mod sample;
mod sends;
mod service;
mod setup;
mod workspace;

use std::time::{Instant, SystemTime};

use serde_json::Map;

use self::builder::BuildOutcome;
use self::calls::CallBoard;
use self::candidate::{DevCandidate, FailingCase};
use self::checking::Checking;
use self::files::{FilesState, ProjectFiles};
use self::sample::CurlSample;
use self::service::{PrivateService, SwapError};
use super::component_file::BUILT;
use super::language::Language;
use super::local;
use super::project::{self, ProjectFile};
use super::toolchain::{NEEDS, ToolState};
use crate::cli::prelude::*;
use crate::cli::serve::first_apply;
use crate::cli::workspace_file;
use leadhost_config::shutdown::{self, Shutdown};
use leadhost_domain::clock::Clock as _;
use leadhost_domain::connection::Connection;
use leadhost_pipeline::apply::ApplyOutcome;
use leadhost_pipeline::deploy::DeployError;
use leadhost_plugin::{LoadError, Loaded};
use leadhost_telemetry as telemetry;

/// The file with the fields of the connection, in the project's folder.
const CONNECTION_FILE: &str = "dev.toml";

/// The name of the sandbox adapter, by its description.
const SANDBOX: &str = "sandbox";

/// Filters the log of the service on standard error. Every concern is accepted, which is the command's
/// purpose, and calls that fail are shown with their requests.
const LOG_FILTER: &str = "warn,sqlx_core::pool=error,leadhost_pipeline::deploy=error,leadhost_pipeline::intake=error,leadhost_pipeline::worker=error,leadhost_plugin::breaker=error,leadhost_pipeline::redrive=error,leadhost_pipeline::source_changes=error";

/// Timeout for blocking threads, which cannot be cancelled, at the very end.
const THREAD_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub struct Dev {
    /// The folder of the project
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Port of the private service on this machine [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// A TOML file with fields of the connection, or of the instance of an adapter, as a workspace file has them: config, secrets, allow, … [default: dev.toml in the project's folder, if it is there]
    #[arg(long, value_name = "FILE")]
    connection: Option<PathBuf>,
    /// Build, test and serve once, then end; the exit code after a failure is 1
    #[arg(long)]
    once: bool,
    /// Show one line for each request
    #[arg(long)]
    quiet: bool,
    /// The service's configuration file, for the limits of plugins
    #[arg(long, value_name = "FILE", env = "LEADHOST_CONFIG")]
    service_config: Option<PathBuf>,
}

impl Dev {
    pub fn run(self) -> CommandResult {
        project::read(&self.folder)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| failed!("cannot start: {error}"))?;
        let ended = runtime.block_on(self.serve());
        runtime.shutdown_timeout(THREAD_PATIENCE);
        ended
    }

    async fn serve(&self) -> CommandResult {
        let limits = Config::load(self.service_config.as_deref(), &[])?.plugins;
        let (layer, requests) = requests::layer();
        let _log = telemetry::init_with(LOG_FILTER, layer)
            .map_err(|error| CommandFailure::new(error.to_string()))?;
        let shutdown = Shutdown::new();
        shutdown::on_signals(
            shutdown.clone(),
            limits::STOP_DEADLINE,
            telemetry::flush_log,
        )
        .map_err(|error| failed!("cannot listen for signals: {error}"))?;
        let service = PrivateService::start(self.port, limits, shutdown.clone()).await?;
        let calls = service.app.core.plugins.watch_calls();
        let project = project::read(&self.folder)?;
        if project.kind == PluginKind::Converter && !service.has_sandbox {
            service::say_missing_sandbox();
        }
        // The sandbox is the author's own only in its own project.
        let is_own = project.name == SANDBOX;
        let hidden = (service.has_sandbox && !is_own).then_some(SANDBOX);
        let board = CallBoard::new(Arc::clone(&service.app.core.store), hidden, self.quiet);
        let stop = shutdown.clone();
        let board = tokio::spawn(async move {
            board.run(calls, requests).await;
            stop.begin();
        });
        let mut session = DevSession {
            flags: self,
            shutdown,
            service,
            served: None,
            declared: None,
            shown: String::new(),
            built: None,
            checking: Checking::default(),
            differing: Vec::new(),
        };
        let ended = session.watch().await;
        session.service.stop().await;
        board.abort();
        ended
    }

    fn connection_file(&self) -> Option<PathBuf> {
        let usual = || self.folder.join(CONNECTION_FILE);
        let named = self.connection.clone();
        named.or_else(|| Some(usual()).filter(|file| file.is_file()))
    }

    fn connection(&self, kind: PluginKind) -> CommandResult<Map<String, Value>> {
        let Some(file) = self.connection_file() else {
            return Ok(Map::new());
        };
        match workspace_file::read_one(&file)? {
            Value::Object(fields) => {
                workspace::refuse_own(&fields, kind, &file)?;
                Ok(fields)
            }
            _ => Ok(Map::new()),
        }
    }
}

/// The private service, and what it serves.
struct DevSession<'a> {
    flags: &'a Dev,
    shutdown: Shutdown,
    service: PrivateService,
    /// Name, version and digest of the version that serves.
    served: Option<String>,
    declared: Option<DevWorkspace>,
    /// The lines of `curl` that were printed last.
    shown: String,
    /// The sources of the last build that succeeded.
    built: Option<[u8; 32]>,
    /// The checks of the project, beside the last build.
    checking: Checking,
    /// The golden cases that fail on the version that serves.
    differing: Vec<FailingCase>,
}

/// The workspace as it was declared last.
struct DevWorkspace {
    file: Value,
    partner_key: Option<String>,
    outcome: ApplyOutcome,
}

enum RoundEnd {
    Serving,
    /// It was shown why.
    Failed,
    Stopped,
}

impl DevSession<'_> {
    async fn watch(&mut self) -> CommandResult {
        let folder = self.flags.folder.as_path();
        let files = ProjectFiles::of(folder);
        let mut keys = keys::renewals();
        loop {
            // Before the build: a change while it runs causes another one.
            let state = tokio::task::block_in_place(|| files.state())?;
            let end = match self.round(state).await {
                Ok(end) => end,
                Err(failure) if self.flags.once => return Err(failure),
                Err(failure) => {
                    // Without its folder everything fails.
                    files.check_root()?;
                    complain(&failure.to_string());
                    RoundEnd::Failed
                }
            };
            match end {
                RoundEnd::Stopped => return Ok(()),
                RoundEnd::Serving if self.flags.once => {
                    self.checking.done().await;
                    return Ok(());
                }
                RoundEnd::Failed if self.flags.once => {
                    return Err(failed!("{} is not served", folder.display()));
                }
                RoundEnd::Serving => {}
                RoundEnd::Failed => {
                    files.check_root()?;
                    self.say_what_serves();
                }
            }
            tokio::select! {
                changed = files.changed(state) => changed?,
                Some(()) = keys.recv() => self.renew()?,
                () = self.shutdown.begun() => return Ok(()),
            }
        }
    }

    /// Makes a build and serves it. A change of golden cases alone needs no other build.
    async fn round(&mut self, state: FilesState) -> CommandResult<RoundEnd> {
        let folder = self.flags.folder.as_path();
        let project = project::read(folder)?;
        self.differing.clear();
        let is_built = self.built == Some(state.sources);
        let took = if is_built {
            None
        } else {
            match self.make(&project).await? {
                Ok(took) => Some(took),
                Err(end) => return Ok(end),
            }
        };
        self.built = Some(state.sources);
        let built = Instant::now();
        let mut candidate =
            tokio::task::block_in_place(|| candidate::read(folder)).map_err(|failure| {
                if folder.join(BUILT).is_file() {
                    failure
                } else {
                    failure.also(&format!(
                        "the build is to write {}",
                        folder.join(BUILT).display()
                    ))
                }
            })?;
        if !self.service.is_serving(&candidate.wasm) {
            // A large component takes long to compile.
            let Some(mut swapped) = self.swap(&candidate).await else {
                return Ok(RoundEnd::Stopped);
            };
            if let Err(SwapError::Deploy(DeployError::Load(LoadError::Golden { .. }))) = &swapped {
                let failing = candidate.failing(&self.service.app.core.plugins).await?;
                if failing.iter().any(|case| case.output.is_none()) {
                    candidate::show(&failing);
                    complain(&candidate::counts(&failing, candidate.cases.len()));
                    return Ok(RoundEnd::Failed);
                }
                if !failing.is_empty() {
                    candidate = candidate.without(&failing)?;
                    self.differing = failing;
                    let Some(again) = self.swap(&candidate).await else {
                        return Ok(RoundEnd::Stopped);
                    };
                    swapped = again;
                }
            }
            match swapped {
                Ok(()) => {}
                Err(SwapError::Checked(failure)) => return Err(failure),
                Err(SwapError::Deploy(error)) => {
                    show_refusal(&error);
                    return Ok(RoundEnd::Failed);
                }
            }
        }
        let loaded = self.loaded(&candidate)?;
        // The file of the project may have changed since this build was swapped in.
        project::check_built(folder, &loaded)?;
        self.served = Some(format!("{loaded:?}"));
        let line = self.connect(&candidate, &loaded).await?;
        self.say_serving(&candidate, took, built.elapsed());
        self.say_differing();
        if self.shown != line {
            say!("\n{line}\n");
            self.shown = line;
        }
        Ok(RoundEnd::Serving)
    }

    /// Sets the project up if that is needed, and builds it. Its checks run beside what follows.
    async fn make(&mut self, project: &ProjectFile) -> CommandResult<Result<Duration, RoundEnd>> {
        self.built = None;
        let folder = self.flags.folder.as_path();
        if let Some(setup) = setup::needed(folder, project) {
            setup.begin(folder);
            match self.build(project, &project.setup, "setting up").await? {
                Ok(_) => setup.done(folder),
                Err(end) => return Ok(Err(end)),
            }
        }
        let begun = SystemClock.now().0.cast_unsigned();
        let begun = SystemTime::UNIX_EPOCH + Duration::from_micros(begun);
        let made = self.build(project, &project.build, "building").await?;
        if made.is_ok() {
            made_since(&folder.join(BUILT), begun);
            self.checking = Checking::start(folder, &project.check, &self.shutdown);
        }
        Ok(made)
    }

    /// Runs commands of the project. Returns how long they took, or how the round ends.
    async fn build(
        &self,
        project: &ProjectFile,
        commands: &[String],
        what: &str,
    ) -> CommandResult<Result<Duration, RoundEnd>> {
        let folder = self.flags.folder.as_path();
        let built = builder::run(folder, commands, what, &self.shutdown).await;
        let built =
            built.map_err(|error| failed!("cannot run the commands of the build: {error}"))?;
        Ok(match built {
            BuildOutcome::Built(took) => Ok(took),
            BuildOutcome::Failed { took, how, said } => {
                complain(&said);
                let took = seconds(took);
                complain!("FAILED {what}, after {took}: {how}");
                if let Some(language) = project.language() {
                    say_missing(language).await;
                }
                Err(RoundEnd::Failed)
            }
            BuildOutcome::Stopped(took) => {
                complain!("Stopped while {what}, after {}.", seconds(took));
                Err(RoundEnd::Stopped)
            }
        })
    }

    /// Swaps a build in. `None` if the command is to stop.
    async fn swap(&mut self, candidate: &DevCandidate) -> Option<Result<(), SwapError>> {
        let folder = self.flags.folder.as_path();
        let check = |loaded: &Loaded| project::check_built(folder, loaded);
        tokio::select! {
            swapped = self.service.swap(candidate.wasm.clone(), check) => Some(swapped),
            () = self.shutdown.begun() => None,
        }
    }

    /// Shows the golden cases that have another result than expected.
    fn say_differing(&self) {
        candidate::show_differences(&self.differing);
        self.say_advice();
    }

    /// Makes the results that were shown the expected ones.
    fn renew(&mut self) -> CommandResult {
        let renewed = candidate::renew(&self.flags.folder, &self.differing)?;
        say!(
            "Renewed: {}.",
            count(renewed as u64, "golden case", "golden cases")
        );
        self.differing.retain(|case| !case.lost.is_empty());
        self.say_advice();
        Ok(())
    }

    fn say_advice(&self) {
        if !self.differing.is_empty() {
            let folder = quoted(&self.flags.folder.to_string_lossy());
            complain(&candidate::advice(&self.differing, &folder));
        }
    }

    fn loaded(&self, candidate: &DevCandidate) -> CommandResult<Arc<Loaded>> {
        let digest = Digest::compute(&candidate.wasm);
        let loaded = self.service.app.core.plugins.by_digest(&digest);
        loaded.ok_or_else(|| CommandFailure::new("the version is no longer loaded"))
    }

    /// Makes the workspace with the plugin's connection. Returns the lines that send to it.
    async fn connect(
        &mut self,
        candidate: &DevCandidate,
        loaded: &Arc<Loaded>,
    ) -> CommandResult<String> {
        let plugins = &self.service.app.core.plugins;
        let mut fields = self.flags.connection(loaded.kind)?;
        let sample = CurlSample::find(&self.flags.folder, loaded.kind);
        let config = fields.entry("config").or_insert_with(|| {
            sample
                .as_ref()
                .map_or_else(|| json!({}), |one| one.config.clone())
        });
        let generated = workspace::generated_secrets(plugins, loaded, config).await?;
        let file = workspace::declaration(loaded, &fields, generated, self.service.has_sandbox);
        if self.declared.as_ref().is_none_or(|last| last.file != file) {
            let declared = self.service.declare(&file).await;
            let outcome = declared.map_err(|failure| match self.flags.connection_file() {
                Some(file) => failure.about(&file),
                None => failure,
            })?;
            let made = outcome.keys.iter().find_map(|made| made.key.clone());
            let before = self.declared.take().and_then(|last| last.partner_key);
            self.declared = Some(DevWorkspace {
                file,
                partner_key: made.or(before),
                outcome,
            });
        }
        match &self.declared {
            Some(declared) => {
                let has_unwritten = !candidate.unwritten.is_empty();
                self.lines(loaded, declared, sample.as_ref(), has_unwritten)
                    .await
            }
            None => Ok(String::new()),
        }
    }

    async fn lines(
        &self,
        loaded: &Loaded,
        declared: &DevWorkspace,
        sample: Option<&CurlSample>,
        has_unwritten: bool,
    ) -> CommandResult<String> {
        let failed = |error: &dyn std::fmt::Display| CommandFailure::new(error.to_string());
        let (core, outcome) = (&self.service.app.core, &declared.outcome);
        let all = core.store.connections(Some(outcome.workspace_id)).await;
        let all = all.map_err(|error| failed(&error))?;
        let own = all.into_iter().find(|one| one.name == workspace::NAME);
        let own: Connection = own.ok_or_else(|| failed(&"the connection is not stored"))?;
        let sealer = &core.sealer;
        let secrets = sealer.open_secrets(own.workspace, &own.name, &own.sealed);
        let secrets = secrets.map_err(|error| failed(&error))?;
        let checks = first_apply::checks(&self.service.app.pipeline, &own).await;
        let gateway = format!("http://{}", self.service.addresses.gateway);
        let url = match outcome.channels.get(workspace::NAME) {
            Some(webhooks) => format!("{gateway}{webhooks}"),
            None => format!("{gateway}/ingest-lead/{}", own.id),
        };
        let mut lines = Vec::new();
        match sample {
            Some(sample) => {
                let (line, unproven) = sample.curl(&url, &checks, &secrets);
                lines.push(line);
                for check in unproven {
                    lines.push(format!(
                        "# It also needs the proof of the check {} in {}; its secret {} is {}",
                        check.scheme,
                        check.proof,
                        check.secret,
                        secrets.get(&check.secret).unwrap_or("missing"),
                    ));
                }
            }
            None => lines.push(format!("curl -sS {url} --data-binary @BODY")),
        }
        if loaded.kind == PluginKind::Adapter
            && let Some((instance, key)) = outcome
                .instances
                .get(workspace::NAME)
                .zip(declared.partner_key.as_ref())
        {
            lines.push(format!(
                "curl -sS {gateway}/send-notification -H 'x-service-api-key: {key}' -H 'content-type: application/json' -d '{{\"name\":\"Ana\",\"phoneNumber\":\"+5511900000002\",\"instanceId\":{instance},\"source\":\"dev\",\"template\":{{\"name\":\"TEMPLATE\",\"language\":{{\"code\":\"pt_BR\"}}}}}}'"
            ));
        }
        if !self.flags.once {
            let folder = self.service.data_dir();
            let folder = quoted(&folder.to_string_lossy());
            lines.push(format!(
                "# Other commands reach this service with --data-dir {folder}, such as `leadhost delivery list`."
            ));
            if let Some(instance) = outcome.instances.get(workspace::NAME) {
                lines.push(format!(
                    "# Its templates: leadhost instance sync-templates {instance} --data-dir {folder}"
                ));
            }
            let project = quoted(&self.flags.folder.to_string_lossy());
            let write = if has_unwritten {
                format!("leadhost plugin test {project} --write; review the cases; then ")
            } else {
                String::new()
            };
            lines.push(format!(
                "# To publish it: {write}leadhost plugin publish {project} --to https://HOST --admin-key KEY"
            ));
        }
        Ok(lines.join("\n"))
    }

    fn say_serving(&self, candidate: &DevCandidate, built: Option<Duration>, swapped: Duration) {
        let served = self.served.as_deref().unwrap_or_default();
        let cases = count(candidate.cases.len() as u64, "golden case", "golden cases");
        say_line!(
            "{served}: {}{cases} passed, serving after {}.",
            built.map_or_else(String::new, |took| format!("built in {}, ", seconds(took))),
            seconds(swapped),
        );
        if !candidate.unwritten.is_empty() {
            say_line!(
                "Without an expectation, and not run: {}. `leadhost plugin test {} --write` writes the output into them.",
                candidate.unwritten.join(", "),
                quoted(&self.flags.folder.to_string_lossy()),
            );
        }
    }

    fn say_what_serves(&self) {
        complain(&match &self.served {
            Some(served) => safe(&format!("{served} is still active. Waiting for a change.")),
            None => "Nothing is served yet. Waiting for a change.".to_owned(),
        });
    }
}

fn show_refusal(error: &DeployError) {
    match error {
        DeployError::Load(error) => complain(&local::refused(error).to_string()),
        error => complain(&safe(&error.to_string())),
    }
}

/// Names the tools that the builds of a language need and that are missing on this machine.
async fn say_missing(language: Language) {
    for need in NEEDS
        .iter()
        .filter(|need| need.languages.contains(&language))
    {
        if let ToolState::Missing(why) = need.find().await {
            complain_line!(
                "The build needs {} ({why}). On Debian: {}; elsewhere: {}",
                need.what,
                need.debian,
                need.elsewhere
            );
        }
    }
}

/// Marks a file as one of a build that has begun at this time: a compiler that finds nothing changed leaves the
/// older file, which would seem to lack a source that was only touched.
fn made_since(file: &Path, begun: SystemTime) {
    let is_older = |time: SystemTime| time < begun;
    let modified = std::fs::metadata(file).and_then(|file| file.modified());
    if modified.is_ok_and(is_older)
        && let Ok(file) = std::fs::File::options().append(true).open(file)
    {
        let _ = file.set_modified(begun);
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
