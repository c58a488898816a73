//! Options that stand before the name of the command, as in `leadhost --data-dir /srv/leads status`. Each
//! command declares its own options, and most take those that name the service: these are moved behind
//! the command, which accepts or refuses them there.

use std::ffi::OsString;

use clap::{Arg, Args as _, CommandFactory as _};

use super::Arguments;
use super::client::ServiceAddress;

/// Returns the arguments of the process with the options that name the service behind the last word of
/// the command.
pub fn behind_command(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let program = Arguments::command();
    let service = ServiceAddress::augment_args(clap::Command::new(""));
    let option = |text: &str| {
        let name = text.strip_prefix("--")?.split('=').next();
        service.get_arguments().find(|one| one.get_long() == name)
    };
    let takes_next =
        |option: &Arg, text: &str| option.get_action().takes_values() && !text.contains('=');
    let mut command = &program;
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
    words.extend(early);
    words.extend(rest);
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn moved(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let moved = behind_command(words);
        let texts: Vec<&str> = moved.iter().filter_map(|word| word.to_str()).collect();
        texts.join(" ")
    }

    #[test]
    fn options_before_a_command_are_those_of_the_command() {
        for (line, expect) in [
            (
                "leadhost --data-dir d delivery list --status failed",
                "leadhost delivery list --data-dir d --status failed",
            ),
            (
                "leadhost --json delivery --data-dir=d list",
                "leadhost delivery list --json --data-dir=d",
            ),
            (
                "leadhost plugin list --data-dir d",
                "leadhost plugin list --data-dir d",
            ),
            (
                "leadhost plugin activate list --json",
                "leadhost plugin activate list --json",
            ),
            ("leadhost --version", "leadhost --version"),
        ] {
            assert_eq!(moved(line), expect);
        }
        let accepted = |line: &str| {
            let words = behind_command(line.split(' ').map(OsString::from));
            Arguments::try_parse_from(words).map(drop)
        };
        accepted("leadhost --data-dir d status").expect("it is one");
        accepted("leadhost --data-dir d serve").expect("it is one");
        // A command without a service says so itself.
        for line in [
            "leadhost --data-dir d plugin new ana --lang go",
            "leadhost --data-dir",
            "leadhost --datadir d status",
        ] {
            accepted(line).expect_err("it is refused");
        }
    }
}
