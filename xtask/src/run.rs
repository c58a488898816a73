//! Builds everything and starts the service for a demonstration: with the
//! converters, a demo workspace, and a double of the Graph API for the webhook of
//! a lead form. It ends when the service ends: signals are passed on, and work in
//! flight is drained.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use xtask::cargo::LINTER;
use xtask::double::graph::{GraphDouble, GraphOptions};

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{files, plugins, process, repository, wait};

pub const HELP: &str = "\
Builds the converters and the service, and starts it with a demo workspace.

    cargo xtask run [--debug] [--no-install] [-- FLAGS]

    FLAGS          passed to `leadhost serve`; default --listen 127.0.0.1:8080 --data-dir ./data
    --debug        builds the service without optimisation: builds faster, runs slower
    --no-install   never install anything; report what is missing

A new data folder gets the workspace of examples/quickstart/workspace.toml, and its keys
and ids are written to keys.json in that folder. A double of the Graph API listens on
127.0.0.1:8090 while the service runs. Ctrl-C drains the work in flight and stops.
";

const GRAPH: &str = "127.0.0.1:8090";
const LEAD_FORM: &str = "lead-form";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let profile = args.profile();
    let flags = args.after_dashes();
    args.nothing_more()?;

    let program = build(install, profile)?;
    let service = DemoService::new(program, &flags);
    let mut child = service.start(&flags)?;
    pass_signals_on(&child)?;
    // Until the first apply is done, which may have been in an earlier run.
    let keys = if wait::for_file(&service.keys, &mut child) {
        files::json(&service.keys).ok()
    } else {
        None
    };
    // It lives as long as this function.
    let _double = keys.and_then(|keys| start_double(&keys));
    let status = child.wait().context("waiting for the service")?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("the service ended with {status}")).hint("see its messages above"))
}

/// Builds the service and its converters. Returns the service's program.
pub fn build(install: Install, profile: &str) -> Result<PathBuf, Failure> {
    eprintln!("Building the converters and the service; the first build takes several minutes.");
    plugins::build_all(install)?;
    build_program(profile)
}

/// Builds the service alone. Returns its program. In the profile of the tests, with the features that
/// the whole workspace asks for: with others, the tests would build most dependencies again.
pub fn build_program(profile: &str) -> Result<PathBuf, Failure> {
    let (selected, folder): (&[&str], _) = match profile {
        "dev" => (&["--workspace", "--bin", "leadhost"], "debug"),
        other => (&["--package", "leadhost"], other),
    };
    let mut command = repository::cargo();
    if profile == "release" {
        command.env_remove(LINTER);
    }
    process::run(command.args(["build", "--profile", profile]).args(selected))?;
    Ok(repository::target().join(folder).join("leadhost"))
}

struct DemoService {
    program: PathBuf,
    data: PathBuf,
    /// The keys and ids of the first apply, for people and scripts.
    keys: PathBuf,
}

impl DemoService {
    fn new(program: PathBuf, flags: &[String]) -> Self {
        // A relative path of the user is relative to the user's folder.
        let here = std::env::current_dir().unwrap_or_default();
        let data = here.join(value_of(flags, "--data-dir").unwrap_or("data"));
        Self {
            program,
            keys: match value_of(flags, "--keys-file") {
                Some(keys) => here.join(keys),
                None => data.join("keys.json"),
            },
            data,
        }
    }

    fn start(&self, flags: &[String]) -> Result<Child, Failure> {
        use std::os::unix::process::CommandExt as _;

        let mut command = Command::new(&self.program);
        command.arg("serve");
        let inbox = repository::target().join("plugins");
        let workspace = repository::root().join("examples/quickstart/workspace.toml");
        let defaults = [
            ("--listen", "127.0.0.1:8080".to_owned()),
            ("--data-dir", self.data.display().to_string()),
            ("--inbox", inbox.display().to_string()),
            ("--first-apply", workspace.display().to_string()),
        ];
        for (name, value) in defaults {
            if value_of(flags, name).is_none() {
                command.arg(name).arg(value);
            }
        }
        command
            .args(flags)
            .stdin(Stdio::null())
            // The terminal's Ctrl-C reaches this program, which passes it on once.
            .process_group(0)
            .spawn()
            .context(format!("starting {}", self.program.display()))
    }
}

/// Starts the double of the Graph API, with the secrets of the first apply, if its
/// port is free.
pub fn start_double(keys: &Value) -> Option<GraphDouble> {
    let secrets = &keys["connectionSecrets"][LEAD_FORM];
    let (Some(app_secret), Some(token)) = (
        secrets["app-secret"].as_str(),
        secrets["page-token"].as_str(),
    ) else {
        eprintln!(
            "The workspace has no connection {LEAD_FORM}, so no double of the Graph API is started."
        );
        return None;
    };
    let options = GraphOptions {
        listen: GRAPH.parse().expect("an address and a port"),
        app_secret: app_secret.to_owned(),
        tokens: vec![token.to_owned()],
    };
    match GraphDouble::start(options) {
        Ok(double) => {
            eprintln!(
                "A double of Meta's Graph API listens on http://{GRAPH}: the connection {LEAD_FORM} \
                 fetches its leads there, made up from their ids.\n\
                 It is for trying things out and stops with the service; ids that end in 001 to 005 \
                 fail on purpose, see `cargo xtask double --help`.\n"
            );
            Some(double)
        }
        Err(error) => {
            eprintln!(
                "The double of the Graph API could not listen on {GRAPH}: {error}. Leads of lead forms will wait for it."
            );
            None
        }
    }
}

/// Passes interrupts and terminations on to the service.
fn pass_signals_on(child: &Child) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("listening for signals")?;
    let pid = Pid::from_child(child);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let signal = match signal {
                SIGINT => Signal::INT,
                _ => Signal::TERM,
            };
            // The service may have ended just now.
            let _ = rustix::process::kill_process(pid, signal);
        }
    });
    Ok(())
}

fn value_of<'a>(flags: &'a [String], name: &str) -> Option<&'a str> {
    let joined = format!("{name}=");
    flags.iter().enumerate().find_map(|(at, flag)| {
        flag.strip_prefix(&joined).or_else(|| {
            (flag == name).then(|| flags.get(at + 1).map(String::as_str).unwrap_or_default())
        })
    })
}
