//! The installed PostgreSQL server, and the account that may run it. A server
//! refuses to run as root, so tests of root switch to an account without
//! privileges.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const OLDEST: u32 = 15;

const PROGRAMS: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// Accounts that a server may run as, the best first; any other account but
/// root follows them.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

#[derive(Clone, Debug)]
pub struct Binaries {
    pub folder: PathBuf,
    pub release: u32,
    /// The account to switch to; `None`: the account that runs the tests.
    pub account: Option<Account>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
}

impl Binaries {
    /// Returns the newest installed release, or the reason why there is none.
    pub fn find() -> Result<Self, String> {
        let account = account()?;
        let installed = folders()
            .into_iter()
            .filter_map(|folder| Some((release(&folder)?, folder)))
            .max();
        match installed {
            None => Err(
                "no programs of a PostgreSQL server on the PATH or under /usr/lib/postgresql"
                    .to_owned(),
            ),
            Some((release, folder)) if release < OLDEST => Err(format!(
                "{} is PostgreSQL {release}; {OLDEST} is the oldest that serves",
                folder.display()
            )),
            Some((release, folder)) => Ok(Self {
                folder,
                release,
                account,
            }),
        }
    }

    /// A call of one of the programs, as the account that may run it. It
    /// ignores the terminal's Ctrl-C: the owner of the server stops it.
    pub fn command(&self, program: &str) -> Command {
        self.as_account(self.folder.join(program))
    }

    /// A call of any program in the same way.
    pub fn as_account(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir("/")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .process_group(0);
        // A setting for clients must not reach the server's own tools.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        if let Some(account) = &self.account {
            command.gid(account.gid).uid(account.uid);
        }
        command
    }

    /// Returns a place where this account may have a folder: the usual one, unless it is
    /// closed to others.
    pub fn temporary(&self) -> PathBuf {
        let usual = std::env::temp_dir();
        if self.reaches(&usual) {
            usual
        } else {
            PathBuf::from("/tmp")
        }
    }

    /// Whether this account reaches what is in a folder: that and its parents are open to others.
    pub fn reaches(&self, folder: &Path) -> bool {
        let is_open = |folder: &Path| {
            let found = folder.metadata();
            found.is_ok_and(|found| found.mode() & 0o001 != 0)
        };
        self.account.is_none() || folder.ancestors().all(is_open)
    }

    /// Gives a file or a folder to this account.
    pub fn give(&self, path: &Path) -> Result<(), String> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        chown(path, Some(account.uid), Some(account.gid))
            .map_err(|error| format!("giving {} to the server: {error}", path.display()))
    }
}

/// Folders that may contain the programs.
fn folders() -> BTreeSet<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: BTreeSet<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(releases) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(releases.flatten().map(|release| release.path().join("bin")));
    }
    let asked = Command::new("pg_config").arg("--bindir").output();
    if let Ok(answer) = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        && !answer.trim().is_empty()
    {
        folders.insert(PathBuf::from(answer.trim()));
    }
    folders
        .retain(|folder| folder.is_absolute() && PROGRAMS.iter().all(|p| folder.join(p).is_file()));
    folders
}

/// The major release of the server in this folder.
fn release(folder: &Path) -> Option<u32> {
    let output = Command::new(folder.join("postgres"))
        .arg("--version")
        .output()
        .ok()?;
    // "postgres (PostgreSQL) 15.18 (Debian 15.18-1)", "... 19beta1"
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = said.split_whitespace().nth(2)?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The account for a server, if root runs the tests.
fn account() -> Result<Option<Account>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let file = "/etc/passwd";
    let accounts = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    best(&accounts)
        .map(Some)
        .ok_or_else(|| format!("a server must not run as root, and {file} lists no other account"))
}

fn best(accounts: &str) -> Option<Account> {
    let known = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        (uid != 0).then_some((name, Account { uid, gid }))
    };
    accounts
        .lines()
        .filter_map(known)
        .min_by_key(|(name, _)| {
            ACCOUNTS
                .iter()
                .position(|best| best == name)
                .unwrap_or(ACCOUNTS.len())
        })
        .map(|(_, account)| account)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_runs_as_postgres_or_another_account_but_never_as_root() {
        let uid = |accounts: &str| best(accounts).map(|account| account.uid);
        let root = "root:x:0:0:root:/root:/bin/sh\n";
        let daemon = "daemon:x:1:1::/:/bin/false\n";
        let nobody = "nobody:x:65534:65534::/:/bin/false\n";
        let postgres = "postgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(
            best(&format!("{root}{daemon}{nobody}{postgres}")),
            Some(Account { uid: 101, gid: 104 })
        );
        assert_eq!(uid(&format!("{root}{daemon}{nobody}")), Some(65534));
        assert_eq!(uid(&format!("{root}{daemon}")), Some(1));
        assert_eq!(uid(root), None);
    }
}
