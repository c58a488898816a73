//! The program `leadhost` itself, in a process of its own: for what only a
//! process can show, such as its sudden end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::components::target;

/// The program, built once in a run.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            let built = Command::new(env!("CARGO"))
                .args([
                    "build",
                    "--quiet",
                    "--package",
                    "leadhost",
                    "--bin",
                    "leadhost",
                ])
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
                .status()
                .expect("cargo starts");
            assert!(built.success(), "the program builds");
            target().join("debug").join("leadhost")
        })
        .clone()
}

/// A running service. Dropped, it is killed.
pub struct Program {
    child: Child,
    pub gateway: std::net::SocketAddr,
    pub admin: std::net::SocketAddr,
}

/// How long a start may take on a busy machine, compilation of converters included.
const PATIENCE: Duration = Duration::from_secs(120);

impl Program {
    /// Starts `leadhost serve` on free ports and waits until it is ready.
    ///
    /// # Panics
    /// When it ends first, or is not ready in time.
    pub async fn serve(folder: &Path, flags: &[&str]) -> Self {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("serve.log"))
            .expect("the log opens");
        let mut child = Command::new(binary())
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(folder)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let since = Instant::now();
        loop {
            if let Some((gateway, admin)) = addresses(folder, child.id()) {
                return Self {
                    child,
                    gateway,
                    admin,
                };
            }
            if let Some(status) = child.try_wait().expect("the child is ours") {
                let log = std::fs::read_to_string(folder.join("serve.log")).unwrap_or_default();
                panic!("the service ended with {status}:\n{log}");
            }
            assert!(
                since.elapsed() < PATIENCE,
                "the service is not ready in time"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().expect("the child is ours");
        self.child.wait().expect("the child is ours");
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(mut self) -> std::process::ExitStatus {
        let id = i32::try_from(self.child.id()).expect("a process id");
        let id = rustix::process::Pid::from_raw(id).expect("a process id");
        rustix::process::kill_process(id, rustix::process::Signal::TERM)
            .expect("the child is ours");
        self.child.wait().expect("the child is ours")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The addresses that this very process took; an older one may have left its own.
fn addresses(folder: &Path, process: u32) -> Option<(std::net::SocketAddr, std::net::SocketAddr)> {
    let text = std::fs::read_to_string(folder.join("addresses.json")).ok()?;
    let said: Value = serde_json::from_str(&text).ok()?;
    if said["process"].as_u64() != Some(u64::from(process)) {
        return None;
    }
    let address = |name: &str| said[name].as_str()?.parse().ok();
    Some((address("gateway")?, address("admin")?))
}
