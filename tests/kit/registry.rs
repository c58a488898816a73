//! A registry of container images, Debian's `docker-registry`, in a temporary folder and on a free
//! port of loopback. Nothing of it outlives the tests: the shell that starts it ends it when the pipe
//! to this process breaks.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use tempfile::TempDir;

/// The name and the password that [`Registry::closed`] asks for.
pub const NAME: &str = "ana";
pub const PASSWORD: &str = "made-up-secret";

/// The line of the password file for them. The registry reads only bcrypt.
const USERS: &str = "ana:$2y$05$leadhostleadhostleadheuO.Doeu0nqly9fV53U7hnKjLa5j.sXC\n";

/// If it is 1, a missing program fails the tests.
const REQUIRE: &str = "LEADHOST_REQUIRE_REGISTRY";

/// The shell's script: $1 is the configuration.
const WATCH: &str = r#"
docker-registry serve "$1" &
cat > /dev/null
kill $!
wait
"#;

pub struct Registry {
    /// Deleted with the registry.
    _folder: TempDir,
    watch: Child,
    /// Read no more: what it logs is small.
    _log: BufReader<ChildStderr>,
    address: String,
}

impl Registry {
    /// Starts one that everybody may use. `None`: the program is not on this machine, which is said
    /// aloud.
    pub fn open() -> Option<Self> {
        Self::start(false)
    }

    /// Starts one that asks for [`NAME`] and [`PASSWORD`]. `None` as for [`Self::open`].
    pub fn closed() -> Option<Self> {
        Self::start(true)
    }

    #[expect(clippy::print_stderr, reason = "a test that is left out is said aloud")]
    #[track_caller]
    fn start(is_closed: bool) -> Option<Self> {
        if Command::new("docker-registry")
            .arg("--version")
            .output()
            .is_err()
        {
            let is_required = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
            assert!(
                !is_required,
                "{REQUIRE} is 1, and there is no docker-registry"
            );
            eprintln!("LEFT OUT: the tests of registries need docker-registry");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.yml");
        std::fs::write(&file, configuration(folder.path(), is_closed)).expect("a file");
        let mut watch = Command::new("/bin/sh")
            .args(["-c", WATCH, "watch"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the shell starts");
        let mut log = BufReader::new(watch.stderr.take().expect("it is piped"));
        let mut said = String::new();
        let address = loop {
            let before = said.len();
            let read = log.read_line(&mut said).expect("text");
            assert!(read > 0, "the registry ended:\n{said}");
            let listening = said[before..].split_once("listening on ");
            if let Some((_, after)) = listening {
                let end = after.find('"').expect("the end of the message");
                break after[..end].to_owned();
            }
        };
        Some(Self {
            _folder: folder,
            watch,
            _log: log,
            address,
        })
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // The pipe breaks, and the shell ends the registry.
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

fn configuration(folder: &Path, is_closed: bool) -> String {
    let place = folder.display();
    let mut text = format!(
        "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: {place}/store}}\nhttp: {{addr: \"127.0.0.1:0\"}}\n"
    );
    if is_closed {
        let users = folder.join("users");
        std::fs::write(&users, USERS).expect("a file");
        text += &format!(
            "auth:\n  htpasswd: {{realm: made-up, path: {}}}\n",
            users.display()
        );
    }
    text
}
