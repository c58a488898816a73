//! From a component's bytes to machine code, away from everything that serves:
//! in a child process of the same program, with limits that the child sets on
//! itself, so that a component made to break compilers breaks only that.
//!
//! The result is kept in `compiled/` of the data folder under the component's
//! digest and what the engine is built for. A kept file begins with the SHA-256
//! of the rest: one that is damaged, or half-written before a power cut, is
//! noticed and made anew. The folder is for the service's user alone, because
//! whoever can write there decides what the service executes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use tokio::sync::{Semaphore, oneshot};

use super::engine;
use super::error::{EngineError, LoadError};
use super::schedule::aside;
use crate::domain::plugin::Digest;
use crate::limits;

/// Where compilation happens.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// In a child process: this program, called as `leadhost compile`.
    Child(PathBuf),
    /// On a thread of this process, for programs that only embed the library.
    /// It cannot be killed when it takes too long, only left behind.
    InProcess,
}

impl Compiler {
    /// A child where this is the service itself.
    pub fn of_this_program() -> Self {
        let own = std::env::current_exe().ok();
        let name = own.as_deref().and_then(Path::file_stem);
        if name.is_some_and(|name| name == "leadhost") {
            // Still the same program when its file was replaced by an upgrade.
            Self::Child(PathBuf::from("/proc/self/exe"))
        } else {
            Self::InProcess
        }
    }
}

/// The exit code by which the child says that the component is at fault.
pub const EXIT_INVALID: u8 = 65;

pub struct Compilation {
    compiler: Compiler,
    folder: PathBuf,
    compatibility: String,
    timeout: Duration,
    memory_mib: u64,
    /// Bytes of machine code that are loaded: the memory of the service, which the
    /// child's own bound says nothing about.
    most_code: u64,
    /// Compilations at once: they are hungry.
    permits: Semaphore,
}

impl Compilation {
    pub fn new(
        compiler: Compiler,
        data_dir: &Path,
        compatibility: String,
        timeout: Duration,
        memory_mib: u64,
        most_code: u64,
    ) -> Result<Self, EngineError> {
        let folder = data_dir.join("compiled");
        prepare_folder(&folder).map_err(|source| EngineError::Cache {
            path: folder.display().to_string(),
            source,
        })?;
        Ok(Self {
            compiler,
            folder,
            compatibility,
            timeout,
            memory_mib,
            most_code,
            permits: Semaphore::new(2),
        })
    }

    /// The kept code of a component, if it is there and whole.
    pub fn kept(&self, digest: &Digest) -> Option<Vec<u8>> {
        let path = self.path(digest);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a compiled plugin cannot be read; compiling it again");
                return None;
            }
        };
        if bytes.len() > HASH && bytes[..HASH] == Sha256::digest(&bytes[HASH..])[..] {
            bytes.drain(..HASH);
            return Some(bytes);
        }
        tracing::warn!(path = %path.display(), "a compiled plugin is damaged; compiling it again");
        self.forget(digest);
        None
    }

    /// Compiles and keeps. A disk that is full costs the keeping, not the plugin.
    pub async fn compile(&self, digest: &Digest, wasm: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        let permit = self.permits.acquire().await;
        let code = match &self.compiler {
            Compiler::Child(program) => self.compile_in_child(program, wasm).await?,
            Compiler::InProcess => self.compile_on_thread(wasm).await?,
        };
        drop(permit);
        let (folder, path, digest) = (self.folder.clone(), self.path(digest), digest.clone());
        // A hash over all of it, and a wait for the disk.
        aside(move || {
            if let Err(error) = keep(&folder, &path, &code) {
                tracing::warn!(%error, digest = digest.short(), "a compiled plugin cannot be kept; the next start compiles it again");
            }
            code
        })
        .await
    }

    /// Removes kept code that turned out not to fit.
    pub fn forget(&self, digest: &Digest) {
        let _ = fs::remove_file(self.path(digest));
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(format!("{digest}-{}.cwasm", self.compatibility))
    }

    async fn compile_in_child(&self, program: &Path, wasm: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        let folder = self.folder.clone();
        let (input, output) = aside(move || files_of_child(&folder, &wasm)).await??;
        let child = tokio::process::Command::new(program)
            .arg("compile")
            .arg(input.path())
            .arg(output.path())
            .arg(self.memory_mib.to_string())
            .arg(self.timeout.as_secs().to_string())
            // The child sees none of the service's environment, which may hold keys.
            .env_clear()
            // Each thread reserves address space, which is bounded.
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
                seconds: self.timeout.as_secs(),
            })?
            .map_err(|error| LoadError::Compiler(format!("it cannot be waited for: {error}")))?;
        if !finished.status.success() {
            let said = message(&finished.stderr);
            return Err(match (finished.status.code(), finished.status.signal()) {
                (Some(code), _) if code == i32::from(EXIT_INVALID) => LoadError::Invalid(said),
                (Some(code), _) => LoadError::Compiler(format!("exit code {code}: {said}")),
                // Somebody stops the service and all that it started.
                (None, Some(libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT)) => {
                    LoadError::Compiler(format!("it was ended from outside ({})", finished.status))
                }
                (None, _) => LoadError::Invalid(format!(
                    "compiling it took more than {} MiB of memory or {} seconds of processor time, or broke the compiler ({}): {said}",
                    self.memory_mib,
                    self.timeout.as_secs(),
                    finished.status,
                )),
            });
        }
        let most = self.most_code;
        aside(move || {
            let read = |error| host("reading the compiler's output", error);
            fits(output.as_file().metadata().map_err(read)?.len(), most)?;
            fs::read(output.path()).map_err(read)
        })
        .await?
    }

    async fn compile_on_thread(&self, wasm: Vec<u8>) -> Result<Vec<u8>, LoadError> {
        let (answer, answered) = oneshot::channel();
        std::thread::Builder::new()
            .name("plugin-compile".to_owned())
            .spawn(move || {
                let _ = answer.send(translate(&wasm));
            })
            .map_err(|error| LoadError::Compiler(format!("no thread for it: {error}")))?;
        match tokio::time::timeout(self.timeout, answered).await {
            Ok(Ok(result)) => {
                let code = result.map_err(LoadError::Invalid)?;
                fits(code.len() as u64, self.most_code)?;
                Ok(code)
            }
            Ok(Err(_)) => Err(LoadError::Invalid("it broke the compiler".to_owned())),
            Err(_) => Err(LoadError::CompileTimeout {
                seconds: self.timeout.as_secs(),
            }),
        }
    }
}

/// What the child reads, and where it writes to.
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

fn keep(folder: &Path, path: &Path, code: &[u8]) -> std::io::Result<()> {
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&Sha256::digest(code))?;
    file.write_all(code)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

/// Compiles in this process, on an engine that is dropped after it. The error
/// is about the component.
pub fn translate(wasm: &[u8]) -> Result<Vec<u8>, String> {
    let engine = engine::compiling().map_err(|error| format!("{error:#}"))?;
    engine
        .precompile_component(wasm)
        .map_err(|error| format!("{error:#}"))
}

/// Bytes of the hash that a kept file begins with.
const HASH: usize = 32;

fn prepare_folder(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn message(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let mut text = text.trim().to_owned();
    if text.len() > limits::COMPILER_MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(limits::COMPILER_MESSAGE_BYTES));
        text.push_str("...");
    }
    text
}
