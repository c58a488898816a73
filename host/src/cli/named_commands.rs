//! Tests that each command which a guide, a page of the console or a message names is one of this
//! program, with options that it has.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use super::Arguments;
use super::early_options::behind_command;

const PROGRAM: &str = "leadhost ";

/// Texts that begin like a command and are none: they keep keys and signatures of different uses apart.
const NONE: [&str; 3] = [
    "component, version 1",
    "fingerprint key:",
    "sealing key id:",
];

#[test]
fn every_command_that_a_guide_or_a_message_names_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Not the changelog: it names former commands.
    let mut files = vec![root.join("README.md")];
    for folder in ["docs", "examples", "host", "xtask/src"] {
        collect(&root.join(folder), &mut files);
    }
    let mut named = 0;
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a text");
        for command in commands(&file, &text) {
            named += 1;
            if let Err(why) = check(&command) {
                wrong.push(format!("{}: leadhost {command}: {why}", file.display()));
            }
        }
    }
    assert!(named > 300, "only {named} commands are named");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_named_command_that_is_none_is_found() {
    let wrong = |command: &str| check(command).is_err();
    assert!(wrong("plugin rollbakc portal"));
    assert!(wrong("plugin rollback portal --fast"));
    assert!(wrong("delivery list --limit many"));
    assert!(!wrong("delivery list --limit N"));
    assert!(wrong("delivery list --failed"));
    assert!(!wrong("tail [--status STATUS | --failed] # all"));
    assert!(!wrong("plugin rollout"));
    assert!(!wrong("--data-dir DIR status"));
    assert!(!wrong("delivery show ID --json > delivery.json"));
    let guide = "Run `leadhost status`.\n\n```\nleadhost audit \\\n  --export\n```\n";
    let found = commands(Path::new("guide.md"), guide);
    assert_eq!(
        found,
        BTreeSet::from(["status".to_owned(), "audit --export".to_owned()])
    );
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let is_built = ["node_modules", "target"].contains(&name.as_str());
            if !is_built && !name.starts_with('.') {
                collect(&path, files);
            }
        } else if [".md", ".rs", ".html", ".yml"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            // This file has wrong ones.
            if name != "named_commands.rs" {
                files.push(path);
            }
        }
    }
}

fn commands(file: &Path, text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut prose = String::new();
    let is_guide = file.extension().is_some_and(|one| one == "md");
    let mut is_fenced = false;
    for line in text.replace("\\\n", " ").lines() {
        let trimmed = line.trim_start();
        if is_guide && trimmed.starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced {
            let command = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
            found.extend(command.strip_prefix(PROGRAM).map(words));
        } else {
            // A command may go on in the next line of a comment.
            let own = ["///", "//!", "//"]
                .iter()
                .find_map(|mark| trimmed.strip_prefix(mark));
            prose += own.unwrap_or(line);
            prose.push('\n');
        }
    }
    let literals = if is_guide { "" } else { prose.as_str() };
    let marked = [
        (prose.as_str(), "`", "`"),
        (literals, "\"", "\""),
        (literals, "<code>", "</code>"),
    ];
    for (text, begin, end) in marked {
        let begin = format!("{begin}{PROGRAM}");
        let quoted = text.split(&begin).skip(1);
        found.extend(quoted.filter_map(|rest| Some(words(rest.split_once(end)?.0))));
    }
    found.extend(unprefixed(literals));
    found.retain(|command| !command.is_empty() && !NONE.contains(&command.as_str()));
    found
}

/// Returns the literals that are a command without the name of the program, which is put before them
/// elsewhere.
fn unprefixed(source: &str) -> Vec<String> {
    let program = Arguments::command();
    let is_command = |literal: &&str| {
        let mut words = literal.split_whitespace();
        let (Some(group), Some(word)) = (words.next(), words.next()) else {
            return false;
        };
        let group = program.find_subcommand(group);
        group.is_some_and(|group| group.find_subcommand(word).is_some())
    };
    let literals = source.split('"').filter(is_command);
    literals.map(words).collect()
}

fn words(text: &str) -> String {
    let text = text.trim_end_matches('\\').replace("\\n", " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses a command as the program does. Values that are left open and arguments that are left out
/// are no mistake.
fn check(command: &str) -> Result<(), String> {
    let has_choice = command.contains('[');
    let mut arguments: Vec<String> = vec!["leadhost".to_owned()];
    for word in split(&command.replace(['[', ']'], "")) {
        match word.as_str() {
            "|" | "…" | "..." if has_choice => {}
            "#" | "|" | ">" | "<" | "&&" | "--" => break,
            _ => {
                let is_last = word.ends_with(';');
                arguments.push(word.trim_end_matches(';').to_owned());
                if is_last {
                    break;
                }
            }
        }
    }
    // The command itself is left open.
    if arguments.get(1).is_none_or(|word| is_open(word)) {
        return Ok(());
    }
    let parsed = behind_command(&Arguments::command(), arguments.iter().map(OsString::from));
    let Err(error) = Arguments::try_parse_from(parsed) else {
        return Ok(());
    };
    let ends_in_option = arguments.last().is_some_and(|word| word.starts_with('-'));
    // A placeholder may stand for a command.
    let names_none = arguments[1..].iter().take(3).any(|word| is_open(word));
    let is_right = match error.kind() {
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion => true,
        ErrorKind::ArgumentConflict => has_choice || names_none,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            ends_in_option || arguments.iter().any(|word| is_open(word))
        }
        ErrorKind::InvalidSubcommand => names_none,
        ErrorKind::UnknownArgument => {
            let unknown = error.get(ContextKind::InvalidArg);
            unknown.is_some_and(|word| word.to_string().contains('{'))
        }
        _ => false,
    };
    if is_right {
        Ok(())
    } else {
        let text = error.to_string();
        Err(text.lines().next().unwrap_or_default().to_owned())
    }
}

/// Returns whether a word stands for a value: `NAME`, `{name}`.
fn is_open(word: &str) -> bool {
    let is_name = |one: char| one.is_ascii_uppercase() || "_-@/".contains(one);
    word.contains(['{', '…', '$']) || word.chars().all(is_name)
}

/// Splits as a shell does. Quoted text is one word.
fn split(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut is_escaped = false;
    for one in command.replace("\\\"", "\"").chars() {
        if std::mem::take(&mut is_escaped) {
            words.last_mut().expect("a word").push(one);
            continue;
        }
        match quote {
            None if one == '\\' => is_escaped = true,
            Some(open) if open == one => quote = None,
            None if one == '"' || one == '\'' => quote = Some(one),
            None if one == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(one),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_arguments_fit_together() {
    Arguments::command().debug_assert();
}
