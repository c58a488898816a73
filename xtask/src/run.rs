//! Builds everything and starts the service as somebody would who wants to see
//! it work: with the converters, a demo workspace, and a double of the Graph
//! API where a lead form's webhook points. It ends as the service ends: a
//! signal is passed on, and what is in flight is finished.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use xtask::double::graph::{GraphDouble, GraphOptions, proof};

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{plugins, process, repository};

pub const HELP: &str = "\
Builds the converters and the service, and starts it with a demo workspace.

    cargo xtask run [--no-install] [-- FLAGS]

    FLAGS          go to `leadhost serve`; without them --listen 127.0.0.1:8080 and --data-dir ./data
    --no-install   never install anything; say what is missing

A new data folder gets the workspace of examples/quickstart/workspace.toml; its keys
and ids are then in keys.json in that folder. A double of the Graph API listens on
127.0.0.1:8090 while the service runs. Ctrl-C finishes what is in flight and stops.
";

/// Where the demo workspace expects the double.
const GRAPH: &str = "127.0.0.1:8090";
/// In the data folder: what the first apply made, for people and scripts.
const KEYS_FILE: &str = "keys.json";
/// Longest from the start of the service to its first answer. Converters are
/// compiled on the way, on a small machine some seconds each.
const PATIENCE: Duration = Duration::from_secs(180);

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let flags = args.after_dashes();
    args.nothing_more()?;

    plugins::build_all(install)?;
    process::run(repository::cargo().args(["build", "--release", "--package", "leadhost"]))?;

    let service = Service::new(&flags);
    // It lives as long as this function.
    let _double = start_double();
    let mut child = service.start(&flags)?;
    pass_signals_on(&child)?;
    let introduced = introduce(&service, &mut child);
    if let Err(failure) = &introduced {
        eprintln!("\n{failure}\n\nThe service runs on without the demo workspace.");
    }
    let status = child.wait().context("waiting for the service")?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("the service ended with {status}"))
        .hint("what it says about that is above"))
}

/// The service's program and where it keeps its state.
struct Service {
    program: PathBuf,
    data: PathBuf,
}

impl Service {
    fn new(flags: &[String]) -> Self {
        // What the user typed is relative to where the user is.
        let here = std::env::current_dir().unwrap_or_default();
        let data = value_of(flags, "--data-dir").unwrap_or("data");
        Self {
            program: repository::target().join("release/leadhost"),
            data: here.join(data),
        }
    }

    fn start(&self, flags: &[String]) -> Result<Child, Failure> {
        use std::os::unix::process::CommandExt as _;

        let mut command = Command::new(&self.program);
        command.arg("serve");
        let inbox = repository::target().join("plugins");
        let defaults = [
            ("--listen", "127.0.0.1:8080".to_owned()),
            ("--data-dir", self.data.display().to_string()),
            ("--plugins", inbox.display().to_string()),
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

    /// A command of the service's own command line, as JSON.
    fn ask(&self, arguments: &[&str]) -> Result<Value, Failure> {
        let text = process::output(
            Command::new(&self.program)
                .args(arguments)
                .arg("--json")
                .arg("--data-dir")
                .arg(&self.data),
        )?;
        serde_json::from_str(&text).context(format!("reading `leadhost {}`", arguments.join(" ")))
    }
}

/// Makes the demo workspace in a new data folder, and shows what to try.
fn introduce(service: &Service, child: &mut Child) -> Result<(), Failure> {
    let quickstart = repository::root().join("examples/quickstart");
    wait_until(child, || service.ask(&["status"]))?;
    let keys = service.data.join(KEYS_FILE);
    if !keys.exists() {
        let file = quickstart.join("workspace.toml");
        let file = file.display().to_string();
        // The converters may still be on their way in.
        let made = wait_until(child, || service.ask(&["apply", &file]))?;
        if made["keys"].as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        write_private(&keys, &pretty(&made))?;
    }
    let text = fs::read_to_string(&keys).context(format!("reading {}", keys.display()))?;
    let made = serde_json::from_str(&text).context(format!("reading {}", keys.display()))?;
    let address = address(service);
    println!("{}", invitation(&made, &address, &quickstart)?);
    Ok(())
}

/// Tries until it works, the service ends, or patience does.
fn wait_until<T>(
    child: &mut Child,
    mut attempt: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let start = Instant::now();
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(failure) if start.elapsed() > PATIENCE => return Err(failure),
            Err(_) => {}
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(Failure::new(format!("the service ended with {status}")));
        }
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "another program's readiness can only be asked for again"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(300));
}

/// The double of the Graph API, if its port is free.
fn start_double() -> Option<GraphDouble> {
    let options = GraphOptions {
        listen: GRAPH.parse().expect("an address and a port"),
        ..GraphOptions::default()
    };
    match GraphDouble::start(options) {
        Ok(double) => Some(double),
        Err(error) => {
            eprintln!("No double of the Graph API, {GRAPH}: {error}. Lead forms will wait for it.");
            None
        }
    }
}

/// Passes interrupts and terminations on to the service.
fn pass_signals_on(child: &Child) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("listening for signals")?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let signal = if signal == SIGINT {
                    Signal::INT
                } else {
                    Signal::TERM
                };
                if let Some(pid) = pid {
                    // It may have ended just now; then there is nobody to tell.
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
        })
        .context("listening for signals")?;
    Ok(())
}

/// Where the service says that it listens.
fn address(service: &Service) -> String {
    fs::read_to_string(service.data.join("service.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|said| said["gateway"].as_str().map(str::to_owned))
        .unwrap_or_else(|| "127.0.0.1:8080".to_owned())
}

/// Lines that work as pasted, by what the first apply made.
fn invitation(made: &Value, address: &str, quickstart: &Path) -> Result<String, Failure> {
    let connection = |name: &str| made["connections"][name].as_str().unwrap_or_default();
    let key = |kind: &str| {
        made["keys"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|key| key["kind"] == kind)
            .and_then(|key| key["key"].as_str())
            .unwrap_or_default()
    };
    let portal_lead = quickstart.join("portal-lead.json");
    let lead_form = quickstart.join("lead-form.json");
    let body =
        fs::read_to_string(&lead_form).context(format!("reading {}", lead_form.display()))?;
    let signature = proof(&GraphOptions::default().app_secret, &body);
    Ok(format!(
        "
The service runs. In another terminal:

# A portal pushes a lead
curl -i http://{address}/ingest-lead/{portal} -H 'content-type: application/json' \\
  --data-binary @{portal_lead}

# A lead form's webhook, signed; the lead itself is fetched from the double
curl -i http://{address}/ingest-lead/{form} -H 'content-type: application/json' \\
  -H 'x-hub-signature-256: sha256={signature}' \\
  --data-binary @{lead_form}

# The deal of the portal's lead, by its phone
curl -G http://{address}/deal -H 'x-service-api-key: {partner}' --data-urlencode 'phoneNumber=+5511900000001'

# All deals
curl http://{address}/v1/export/deals -H 'authorization: Bearer {workspace}'

Ctrl-C finishes what is in flight and stops.
",
        portal = connection("portal"),
        form = connection("lead-form"),
        partner = key("partner"),
        workspace = key("workspace"),
        portal_lead = portal_lead.display(),
        lead_form = lead_form.display(),
    ))
}

/// Writes a file that only its owner reads.
fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .context(format!("writing {}", path.display()))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The value of a flag in `--name value` or `--name=value`.
fn value_of<'a>(flags: &'a [String], name: &str) -> Option<&'a str> {
    let joined = format!("{name}=");
    flags.iter().enumerate().find_map(|(at, flag)| {
        flag.strip_prefix(&joined).or_else(|| {
            (flag == name).then(|| flags.get(at + 1).map(String::as_str).unwrap_or_default())
        })
    })
}
