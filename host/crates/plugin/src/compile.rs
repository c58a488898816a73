//! Compiles the bytes of a component, or of a library that is taken out of it, to machine code, away from everything that serves requests:
//! in a child process of the same program, under limits that the child sets on itself, so
//! that a component made to break compilers breaks only the child.
//!
//! The result is kept in `compiled/` of the data folder, under the component's digest and
//! the engine's compatibility hash. A kept file begins with the SHA-256 of the rest, so a
//! file that is damaged, or half-written before a power cut, is detected and compiled
//! again. Only the service's user may use the folder, because anyone who can write there
//! decides what the service executes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use tempfile::NamedTempFile;
use tokio::sync::{Semaphore, oneshot};

use super::core_module::is_core_module;
use super::engine::{self, CodeUse};
use super::error::EngineError;
use super::function_cache::FunctionCache;
use super::hashed_file;
use super::schedule::in_background;
use crate::prelude::*;
use leadhost_config::PluginsSection;

#[derive(Clone, Debug)]
pub enum Compiler {
    /// In a child process: this program, called as `leadhost compile`.
    Child(PathBuf),
    /// On a thread of this process, for programs that embed the library. A compilation that
    /// takes too long cannot be killed, only abandoned.
    InProcess,
}

impl Compiler {
    /// Returns [`Compiler::Child`] if this program is the service itself.
    pub fn for_this_program() -> Self {
        let own = std::env::current_exe().ok();
        let name = own.as_deref().and_then(Path::file_stem);
        if name.is_some_and(|name| name == "leadhost") {
            // This stays the same program even if an upgrade replaces its file.
            Self::Child(PathBuf::from("/proc/self/exe"))
        } else {
            Self::InProcess
        }
    }
}

/// The exit code with which the child reports that the component is at fault.
pub const EXIT_INVALID: u8 = 65;

/// Compiles components, and keeps their machine code in a folder.
pub struct Compilation {
    compiler: Compiler,
    code: CodeUse,
    folder: PathBuf,
    compatibility: String,
    timeout: Duration,
    memory_mib: u64,
    /// Most bytes of machine code that are loaded into the memory of the service. The
    /// child's own limits do not cover it.
    most_code: u64,
    /// The file with the functions of the last compilation, if they are kept.
    functions: Option<PathBuf>,
    /// Compilations at once: each needs much memory and processor time.
    permits: Semaphore,
}

impl Compilation {
    /// Prepares the folder `compiled/` in the data folder.
    pub fn new(
        compiler: Compiler,
        code: CodeUse,
        data_dir: &Path,
        compatibility: String,
        config: &PluginsSection,
    ) -> Result<Self, EngineError> {
        let folder = data_dir.join("compiled");
        prepare_folder(&folder).map_err(|source| EngineError::Cache {
            path: folder.display().to_string(),
            source,
        })?;
        Ok(Self {
            compiler,
            code,
            folder,
            compatibility,
            timeout: config.compile_time(),
            memory_mib: config.compile_memory_mib,
            most_code: (config.component_mib << 20).saturating_mul(limits::CODE_PER_COMPONENT_BYTE)
                as u64,
            functions: config.compiled_functions.clone(),
            permits: Semaphore::new(2),
        })
    }

    pub fn compatibility(&self) -> &str {
        &self.compatibility
    }

    /// Returns whether only what changed is compiled again, for one developer's own components.
    pub fn is_for_rebuilds(&self) -> bool {
        self.functions.is_some()
    }

    /// Returns the kept code of a component or a library, if it is there and intact.
    pub fn cached(&self, digest: &Digest) -> Option<Vec<u8>> {
        let path = self.path(digest);
        match hashed_file::read(&path) {
            Ok(Some(code)) => return Some(code),
            Ok(None) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "compiled plugin cannot be read; compiling it again");
                return None;
            }
        }
        tracing::warn!(path = %path.display(), "compiled plugin is damaged; compiling it again");
        self.forget(digest);
        None
    }

    /// Compiles a component, or a library of one, and keeps the code. On a full disk the code is
    /// not kept, but the plugin still loads.
    pub async fn compile(&self, digest: &Digest, wasm: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        let permit = self.permits.acquire().await;
        let code = match &self.compiler {
            Compiler::Child(program) => self.compile_in_child(program, wasm).await?,
            Compiler::InProcess => self.compile_on_thread(wasm).await?,
        };
        drop(permit);
        let (path, digest) = (self.path(digest), digest.clone());
        // It computes a hash over all of the code and waits for the disk.
        in_background(move || {
            if let Err(error) = hashed_file::write(&path, &code) {
                tracing::warn!(%error, digest = digest.short(), "compiled plugin not saved; the next start compiles it again");
            }
            code
        })
        .await
    }

    pub fn forget(&self, digest: &Digest) {
        let _ = fs::remove_file(self.path(digest));
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(format!("{digest}-{}.cwasm", self.compatibility))
    }

    /// Returns the file with the functions of the last compilation. A library has none: it is compiled
    /// once, and the file is for what changes.
    fn functions_for(&self, wasm: &[u8]) -> Option<&Path> {
        let functions = self.functions.as_deref();
        functions.filter(|_| !is_core_module(wasm))
    }

    async fn compile_in_child(&self, program: &Path, wasm: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        let (folder, functions) = (self.folder.clone(), self.functions_for(&wasm));
        let (input, output) = in_background(move || files_of_child(&folder, &wasm)).await??;
        let child = tokio::process::Command::new(program)
            .arg("compile")
            .arg(input.path())
            .arg(output.path())
            .arg(self.memory_mib.to_string())
            .arg(self.timeout.as_secs().to_string())
            .args(functions)
            .args((self.code == CodeUse::Counting).then_some("--counting"))
            // The child gets nothing of the service's environment, which may hold keys.
            .env_clear()
            // Each thread reserves address space, which is limited.
            .env("RAYON_NUM_THREADS", "4")
            .env("MALLOC_ARENA_MAX", "2")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| LoadError::Compiler(format!("it cannot be started: {error}")))?;
        let finished = tokio::time::timeout(self.timeout, child.wait_with_output())
            .await
            .map_err(|_| LoadError::CompileTimeout {
                budget: self.timeout,
            })?
            .map_err(|error| LoadError::Compiler(format!("waiting for it failed: {error}")))?;
        if !finished.status.success() {
            let said = message(&finished.stderr);
            return Err(match (finished.status.code(), finished.status.signal()) {
                (Some(code), _) if code == i32::from(EXIT_INVALID) => LoadError::Invalid(said),
                (Some(code), _) => LoadError::Compiler(format!(
                    "exit code {code} with {} MiB of memory (raise `plugins.compile_memory_mib` if that is too little): {said}",
                    self.memory_mib
                )),
                // The service and its child processes are being stopped.
                (None, Some(libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT)) => {
                    LoadError::Compiler(format!(
                        "it was stopped from outside ({})",
                        finished.status
                    ))
                }
                (None, _) => LoadError::Invalid(format!(
                    "compiling it took more than {} MiB of memory or {} seconds of processor time, or crashed the compiler ({}): {said}",
                    self.memory_mib,
                    self.timeout.as_secs(),
                    finished.status,
                )),
            });
        }
        let most = self.most_code;
        in_background(move || {
            let read = |error| host("reading the compiler's output", error);
            fits(output.as_file().metadata().map_err(read)?.len(), most)?;
            fs::read(output.path()).map_err(read)
        })
        .await?
    }

    async fn compile_on_thread(&self, wasm: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        let (answer, answered) = oneshot::channel();
        let (code, functions) = (self.code, self.functions_for(&wasm).map(Path::to_owned));
        std::thread::Builder::new()
            .name("plugin-compile".to_owned())
            .spawn(move || {
                let _ = answer.send(translate(code, &wasm, functions.as_deref()));
            })
            .map_err(|error| {
                LoadError::Compiler(format!("no thread could be started for it: {error}"))
            })?;
        match tokio::time::timeout(self.timeout, answered).await {
            Ok(Ok(result)) => {
                let code = result.map_err(LoadError::Invalid)?;
                fits(code.len() as u64, self.most_code)?;
                Ok(code)
            }
            Ok(Err(_)) => Err(LoadError::Invalid("it crashed the compiler".to_owned())),
            Err(_) => Err(LoadError::CompileTimeout {
                budget: self.timeout,
            }),
        }
    }
}

fn files_of_child(folder: &Path, wasm: &[u8]) -> Result<(NamedTempFile, NamedTempFile), LoadError> {
    let mut input = NamedTempFile::new_in(folder)
        .map_err(|error| host("creating the compiler's input", error))?;
    input
        .write_all(wasm)
        .map_err(|error| host("writing the compiler's input", error))?;
    let output = NamedTempFile::new_in(folder)
        .map_err(|error| host("creating the compiler's output", error))?;
    Ok((input, output))
}

fn fits(code: u64, most: u64) -> Result<(), LoadError> {
    if code > most {
        return Err(LoadError::NeedsTooMuch {
            what: format!(
                "{code} bytes of machine code; the limit is {most}, {} times plugins.component_mib",
                limits::CODE_PER_COMPONENT_BYTE
            ),
        });
    }
    Ok(())
}

fn host(what: &str, error: std::io::Error) -> LoadError {
    LoadError::Host(format!("{what}: {error}"))
}

/// Compiles a component or a core module in this process, on an engine that is dropped afterwards.
/// `functions`: the file with the functions of the last compilation; functions that did not change are
/// not compiled again.
pub fn translate(code: CodeUse, wasm: &[u8], functions: Option<&Path>) -> Result<Vec<u8>, String> {
    let cache = functions.map(FunctionCache::read);
    let engine = engine::compiling(code, cache.clone()).map_err(|error| format!("{error:#}"))?;
    let compiled = if is_core_module(wasm) {
        engine.precompile_module(wasm)
    } else {
        engine.precompile_component(wasm)
    };
    let compiled = compiled.map_err(|error| format!("{error:#}"))?;
    if let Some((cache, path)) = cache.zip(functions) {
        // Without the file, the next compilation takes as long as this one.
        let _ = cache.write(path);
    }
    Ok(compiled)
}

fn prepare_folder(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn message(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    // A panic of the compiler begins with its place in the compiler's source, which an operator does not have.
    let lines = text.lines().filter(|line| {
        !line.starts_with("thread '") && !line.starts_with("note: run with `RUST_BACKTRACE")
    });
    let mut text = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
    if text.len() > limits::COMPILER_MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(limits::COMPILER_MESSAGE_BYTES));
        text.push_str("...");
    }
    text
}
