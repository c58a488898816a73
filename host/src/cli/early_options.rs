//! Options that stand before the name of the command, as in `leadhost --data-dir /srv/leads status`. Each
//! command declares its own options, and most take those that name the service: these are moved behind
//! the command, which accepts or refuses them there.

use std::ffi::OsString;

use clap::{Arg, Args as _, Command};

use crate::cli::prelude::*;

/// Returns the arguments of this program with the options that name the service behind the last word of
/// the command. Without a command they are left out, so that the help or what is missing is said, and
/// not that they are unexpected.
pub fn behind_command(
    program: &Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let service = ServiceAddress::augment_args(Command::new(""));
    let option = |text: &str| {
        let name = text.strip_prefix("--")?.split('=').next();
        service.get_arguments().find(|one| one.get_long() == name)
    };
    let takes_next =
        |option: &Arg, text: &str| option.get_action().takes_values() && !text.contains('=');
    let mut command = program;
    let mut rest = arguments.into_iter();
    let mut words: Vec<OsString> = rest.by_ref().take(1).collect();
    let mut early = Vec::new();
    let mut rest = rest.peekable();
    while let Some(text) = rest.peek().and_then(|next| next.to_str()) {
        if let Some(option) = option(text) {
            let many = 1 + usize::from(takes_next(option, text));
            early.extend(rest.by_ref().take(many));
        } else if let Some(found) = command.find_subcommand(text) {
            command = found;
            words.extend(rest.next());
        } else {
            break;
        }
    }
    let has_command = words.len() > 1;
    let asks = rest
        .peek()
        .is_none_or(|next| ["-h", "--help", "help"].iter().any(|help| next == help));
    if has_command || !asks {
        words.extend(early);
    }
    words.extend(rest);
    words
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::Arguments;

    fn words(line: &str) -> impl Iterator<Item = OsString> {
        ["leadhost"]
            .into_iter()
            .chain(line.split(' '))
            .map(OsString::from)
    }

    fn moved(line: &str) -> Vec<OsString> {
        behind_command(&Arguments::command(), words(line))
    }

    #[test]
    fn options_before_a_command_are_those_of_the_command() {
        for (line, expect) in [
            (
                "--data-dir d delivery list --status failed",
                "delivery list --data-dir d --status failed",
            ),
            (
                "--json delivery --data-dir=d list",
                "delivery list --json --data-dir=d",
            ),
            ("plugin list --data-dir d", "plugin list --data-dir d"),
            ("plugin publish list --json", "plugin publish list --json"),
            ("--version", "--version"),
            ("--data-dir d --help", "--help"),
        ] {
            let expect: Vec<OsString> = words(expect).collect();
            assert_eq!(moved(line), expect);
        }
        let accepted = |line: &str| Arguments::try_parse_from(moved(line));
        for line in ["--data-dir d status", "--data-dir d serve"] {
            assert!(accepted(line).is_ok(), "{line}");
        }
        // A command without a service refuses them.
        for line in [
            "--data-dir d plugin new ana --lang go",
            "--data-dir d --nosuch",
            "--data-dir",
            "--datadir d status",
        ] {
            assert!(accepted(line).is_err(), "{line}");
        }
    }
}
