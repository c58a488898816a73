//! Former names of commands. Each is told in one line with the command that does the same now.

use std::ffi::OsString;

use clap::Command;

const GROUP: &str = "plugin";

/// The former subcommands of `plugin`, and the commands of today.
const FORMER: [(&str, &str); 7] = [
    ("activate", "`leadhost plugin publish WHAT`"),
    (
        "check",
        "`leadhost plugin test WHAT`, on a service `leadhost plugin test WHAT --on`",
    ),
    ("pack", "`leadhost plugin publish FILE --golden DIR -o OUT`"),
    (
        "replay",
        "`leadhost plugin test WHAT --on HOST --here --connection NAME`",
    ),
    (
        "shadow",
        "`leadhost plugin rollout start WHAT --shadow --every 1h`",
    ),
    ("sign", "`leadhost plugin publish FILE --key PEM -o OUT`"),
    ("verify", "`leadhost plugin test WHAT --on`"),
];

/// Returns what to say instead of an error, if arguments that are refused name such a command: after the
/// group, or after options that stood before it.
pub fn say(program: &Command, arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().map_while(|word| word.to_str()).collect();
    let [_, GROUP, rest @ ..] = words.as_slice() else {
        return None;
    };
    let group = program.find_subcommand(GROUP)?;
    if group.find_subcommand(rest.first()?).is_some() {
        return None;
    }
    let is_named = |name: &str| rest.contains(&name);
    let (former, now) = FORMER.iter().find(|(former, _)| is_named(former))?;
    Some(format!(
        "leadhost: `{GROUP} {former}` has another name: {now}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Arguments;
    use crate::cli::early_options::behind_command;

    fn said(line: &str) -> Option<String> {
        let words = line.split(' ').map(OsString::from);
        let program = Arguments::command();
        say(&program, &behind_command(&program, words))
    }

    #[test]
    fn a_former_name_is_told_with_the_command_of_today() {
        for (former, now) in FORMER {
            for flags in ["", "--data-dir d "] {
                let line = ["leadhost ", flags, "plugin ", former, " a.wasm --json"].concat();
                assert!(
                    said(&line).is_some_and(|said| said.ends_with(now)),
                    "{line}"
                );
            }
        }
        for other in [
            "lead plugin tset a",
            "lead verify",
            "lead plugin list check",
        ] {
            assert_eq!(said(other), None, "{other}");
        }
    }
}
