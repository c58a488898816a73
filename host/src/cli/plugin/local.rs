//! The engine of the service on this machine, for integrators: the same limits and the same trial, but
//! no store and no connections.

use std::error::Error as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::time::SystemTime;

use leadhost_golden::Case;

use super::project;
use crate::cli::prelude::*;
use leadhost_admin_api::status::ServiceStatus;
use leadhost_config::PluginsSection;
use leadhost_pipeline::deploy::DeployError;
use leadhost_plugin::{EngineError, LoadError, Plugins, PreparedVersion, signature};

/// Files of machine code that the cache keeps, the newest ones: each build of a plugin makes one, or two
/// if its instructions are counted, of several megabytes.
const CODE_FILES: usize = 64;

/// A call whose instructions are counted has so many times the processor time of the service's.
const COUNTING_FACTOR: u64 = 5;

// How to start the engine.
#[derive(Args)]
pub struct EngineFlags {
    /// Folder for compiled code, on this machine [default: leadhost in your cache folder]
    #[arg(long, value_name = "DIR", env = "LEADHOST_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// Also print the fingerprint of the engine of this machine, or of the service if it makes the trial: engines with the same fingerprint run the same machine code
    #[arg(long)]
    engine: bool,
}

impl EngineFlags {
    /// Starts the engine with the limits of the service's configuration file, or with the default
    /// ones.
    pub fn start(&self, service_config: Option<&Path>) -> CommandResult<LocalEngine> {
        let limits = Config::load(service_config, &[])?.plugins;
        let folder = match &self.cache_dir {
            Some(folder) => folder.clone(),
            None => user_cache()?.join("leadhost"),
        };
        make_private(&folder)?;
        let plugins = Plugins::new(&limits, &folder, Arc::new(SystemClock))
            .map_err(|error| not_started(&error))?;
        Ok(LocalEngine {
            plugins,
            limits,
            folder,
        })
    }

    pub fn show(&self, engine: &LocalEngine) {
        if self.engine {
            complain!("engine {}", engine.fingerprint());
        }
    }

    /// Prints the fingerprint of the engine of a service, if it is asked for.
    pub async fn show_of(&self, client: &AdminClient) -> CommandResult {
        if self.engine {
            let status = client.get::<ServiceStatus>("/admin/v1/status").await?;
            complain_line!("engine {}", status.engine);
        }
        Ok(())
    }
}

/// The output of a conversion or a webhook, as golden cases write it.
#[derive(Deserialize)]
pub struct ConversionOutput {
    /// The items of a converter, or the events of an adapter.
    #[serde(alias = "events")]
    pub items: Vec<Value>,
    pub reply: Option<Value>,
    #[serde(default)]
    pub notes: Vec<String>,
}

impl ConversionOutput {
    /// Reads the output of a call. `None` if the plugin refused the body, or if it is the output of
    /// another function.
    pub fn from_output(output: &Value) -> Option<Self> {
        Self::deserialize(output.get("ok")?).ok()
    }
}

pub struct LocalEngine {
    pub plugins: Plugins,
    pub limits: PluginsSection,
    folder: PathBuf,
}

impl LocalEngine {
    /// Refuses a component that the service of this configuration would not take, because none of its
    /// `plugins.trusted_keys` has signed it. A broken signature is left for the trial.
    pub fn check_trust(&self, component: &[u8]) -> CommandResult {
        match signature::signer(component) {
            Ok(signer) if !self.limits.trusted_keys.trust(signer) => {
                let digest = Digest::compute(component);
                let untrusted = DeployError::Untrusted { digest, signer };
                Err(CommandFailure::new(untrusted.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Compiles a component and makes the trial that every activation makes.
    pub async fn load(&self, wasm: Vec<u8>) -> CommandResult<PreparedVersion> {
        let prepared = self
            .plugins
            .prepare(wasm)
            .await
            .map_err(|error| refused(&error))?;
        forget_old_code(&self.folder.join("compiled"));
        Ok(prepared)
    }

    /// Loads the plugin of a file, and checks it against its project's file. Meanwhile shows `doing`.
    pub async fn load_of(
        &self,
        file: &Path,
        doing: &str,
        wasm: Vec<u8>,
    ) -> CommandResult<PreparedVersion> {
        let progress = ProgressLine::start(doing);
        let prepared = self.load(wasm).await;
        drop(progress);
        let prepared = prepared.map_err(|failure| failure.about(file))?;
        project::check_built(file, &prepared.loaded)?;
        Ok(prepared)
    }

    /// Returns the instructions that a call executes, by the fuel of the engine. They are counted in an
    /// engine of their own, because counting makes a call slower: the service's engine does not count.
    pub async fn count_instructions(
        &self,
        component: Vec<u8>,
        case: Arc<Case>,
    ) -> CommandResult<u64> {
        let limits = PluginsSection {
            deadline_ms: self.limits.deadline_ms.saturating_mul(COUNTING_FACTOR),
            // A single call is made, in an instance of its own.
            threads: 1,
            warm_mib: 0,
            ..self.limits.clone()
        };
        let plugins = Plugins::counting(&limits, &self.folder, Arc::new(SystemClock))
            .map_err(|error| not_started(&error))?;
        let prepared = plugins.prepare(component).await;
        let prepared = prepared.map_err(|error| CommandFailure::new(safe(&error.to_string())))?;
        let answer = plugins.answer_case(&prepared.loaded, case).await;
        plugins.close();
        let counted = answer.usage.instructions;
        counted.ok_or_else(|| CommandFailure::new("the call did not end in time"))
    }

    pub fn fingerprint(&self) -> &str {
        self.plugins.short_fingerprint()
    }
}

fn not_started(error: &EngineError) -> CommandFailure {
    let cause = error.source().map(|cause| format!(": {cause}"));
    failed!("{error}{}", cause.unwrap_or_default())
        .hint("choose another folder for compiled code with --cache-dir")
}

pub fn refused(error: &LoadError) -> CommandFailure {
    let LoadError::Tried { function, source } = error else {
        return CommandFailure::new(safe(&error.to_string()));
    };
    for line in source.log() {
        complain!("plugin: {}", safe(line));
    }
    failed!(
        "`{function}` returned no answer in the plugin's trial: {}",
        safe(&source.to_string())
    )
}

/// Returns the folder for what programs of this user may compute again.
fn user_cache() -> CommandResult<PathBuf> {
    // The specification has programs ignore a path that is not absolute.
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .ok_or_else(|| {
            CommandFailure::new("this user has no home folder, in which to keep compiled code")
                .hint("name a folder for it with --cache-dir")
        })
}

/// Creates the folder for this user alone. A user who can write there controls what the engine executes.
fn make_private(folder: &Path) -> CommandResult {
    let failed = |error: std::io::Error| {
        failed!(
            "the folder for compiled code, {}, cannot be used: {error}",
            folder.display()
        )
        .hint("choose another one with --cache-dir")
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let found = std::fs::metadata(folder).map_err(failed)?;
    let own = rustix::process::geteuid().as_raw();
    if found.uid() == own && found.permissions().mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(failed!(
        "other users of this machine may write to the folder for compiled code, {}",
        folder.display()
    )
    .hint(format!(
        "run chmod 700 {} if it is yours, or choose another one with --cache-dir",
        quoted(&folder.to_string_lossy())
    )))
}

/// Removes all machine code but the newest. Missing code is compiled again.
pub fn forget_old_code(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let modified = entry.metadata().ok()?.modified().ok()?;
            Some((modified, entry.path()))
        })
        .filter(|(_, path)| path.extension().is_some_and(|end| end == "cwasm"))
        .collect();
    files.sort();
    let old = files.len().saturating_sub(CODE_FILES);
    for (_, path) in &files[..old] {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_machine_code_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |number: u64| folder.path().join(format!("{number}.cwasm"));
        for number in 0..80 {
            let file = std::fs::File::create(path(number)).expect("a file");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number);
            file.set_modified(time).expect("a time");
        }
        std::fs::write(folder.path().join("other"), "").expect("a file");
        forget_old_code(folder.path());
        let kept: Vec<u64> = (0..80).filter(|number| path(*number).exists()).collect();
        assert_eq!(kept, (16..80).collect::<Vec<u64>>());
        assert!(folder.path().join("other").exists());
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("a/b");
        make_private(&folder).expect("it is created");
        let mode = |mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&folder, mode).expect("it is ours");
        };
        mode(0o755);
        make_private(&folder).expect("others may only read it");
        mode(0o770);
        let said = make_private(&folder).expect_err("others may write to it");
        assert!(said.to_string().contains("chmod 700"), "{said}");
    }
}
