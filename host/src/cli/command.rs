//! Commands that messages name for the reader to run. A command that got `--data-dir`, `--config` or
//! `--admin` repeats these flags in them, so that they reach the same service.

use std::path::Path;

use leadhost_domain::text::quoted;

/// The flags that name the service, each after a space. A value from the environment is left out:
/// the next command has it too.
#[derive(Clone, Debug, Default)]
pub struct ServiceFlags {
    /// `--data-dir` and `--config`, which `serve` also has.
    folder: String,
    /// `--admin` and `--ca`.
    address: String,
}

impl ServiceFlags {
    pub fn new(data_dir: Option<&Path>, config: Option<&Path>, admin: Option<&str>) -> Self {
        let data_dir = data_dir.map(Path::to_string_lossy);
        let config = config.map(Path::to_string_lossy);
        Self {
            folder: flag("--data-dir", "LEADHOST_DATA_DIR", data_dir.as_deref())
                + &flag("--config", "LEADHOST_CONFIG", config.as_deref()),
            address: flag(ADMIN, "LEADHOST_ADMIN", admin),
        }
    }

    pub fn has_address(&self) -> bool {
        self.address.contains(ADMIN)
    }

    #[must_use]
    pub fn with_ca(mut self, ca: Option<&Path>) -> Self {
        let ca = ca.map(Path::to_string_lossy);
        self.address += &flag("--ca", "LEADHOST_CA", ca.as_deref());
        self
    }

    /// Returns the command with these words, such as `leadhost plugin list --data-dir /srv/leads`.
    pub fn command(&self, words: &str) -> String {
        let needs_none = WITHOUT_SERVICE.iter().any(|command| {
            let rest = words.strip_prefix(*command);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        if needs_none {
            return format!("leadhost {words}");
        }
        // It takes no `--admin`.
        let is_serve = words == "serve" || words.starts_with("serve ");
        let address = if is_serve { "" } else { self.address.as_str() };
        format!("leadhost {words}{}{address}", self.folder)
    }

    pub fn complete(&self, message: &str) -> String {
        let mut completed = String::new();
        let mut rest = message;
        while let Some((before, from)) = rest.split_once("`leadhost ") {
            let Some((words, after)) = from.split_once('`') else {
                break;
            };
            completed += &format!("{before}`{}`", self.command(words));
            rest = after;
        }
        completed + rest
    }
}

const ADMIN: &str = "--admin";

/// Commands that need no service and take none of these flags.
const WITHOUT_SERVICE: [&str; 8] = [
    "plugin dev",
    "plugin doctor",
    "plugin keygen",
    "plugin new",
    "plugin pull",
    "plugin push",
    "plugin run",
    "plugin test",
];

fn flag(name: &str, variable: &str, value: Option<&str>) -> String {
    match value.filter(|value| !is_from_environment(variable, value)) {
        Some(value) => format!(" {name} {}", quoted(value)),
        None => String::new(),
    }
}

/// Returns whether a flag has its value from an environment variable.
#[expect(
    clippy::disallowed_methods,
    reason = "only to name the origin of a value that the command line has already read"
)]
pub fn is_from_environment(variable: &str, value: &str) -> bool {
    std::env::var(variable).is_ok_and(|set| set == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_repeats_the_flags_that_were_given() {
        let check = |flags: [Option<&str>; 3], words: &str, expect: &str| {
            let [data_dir, config, admin] = flags;
            let flags = ServiceFlags::new(data_dir.map(Path::new), config.map(Path::new), admin);
            assert_eq!(flags.command(words), expect);
        };
        check([None; 3], "status", "leadhost status");
        let all = [Some("/srv/leads"), Some("its.toml"), Some("[::1]:8081")];
        check(
            all,
            "plugin list",
            "leadhost plugin list --data-dir /srv/leads --config its.toml --admin '[::1]:8081'",
        );
        check(
            all,
            "serve --new-admin-key",
            "leadhost serve --new-admin-key --data-dir /srv/leads --config its.toml",
        );
        let flags =
            ServiceFlags::new(None, None, Some("https://h")).with_ca(Some(Path::new("a b")));
        assert_eq!(
            flags.command("status"),
            "leadhost status --admin https://h --ca 'a b'"
        );
        assert_eq!(flags.command("serve"), "leadhost serve");
        check(
            [Some("Ana's leads"), None, None],
            "status",
            r"leadhost status --data-dir 'Ana'\''s leads'",
        );
    }

    #[test]
    fn the_commands_in_a_message_are_completed() {
        let flags = ServiceFlags::new(Some(Path::new("there")), None, None);
        let check = |message: &str, expect: &str| assert_eq!(flags.complete(message), expect);
        check("No `a`.", "No `a`.");
        check(
            "No `a`; `leadhost outbox` shows all, `leadhost status` counts.",
            "No `a`; `leadhost outbox --data-dir there` shows all, `leadhost status --data-dir there` counts.",
        );
        check("An open `leadhost outbox", "An open `leadhost outbox");
        check(
            "A key: `leadhost plugin keygen FILE`.",
            "A key: `leadhost plugin keygen FILE`.",
        );
    }
}
