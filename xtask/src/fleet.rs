//! Starts the setup of `examples/postgres` for a demonstration: a PostgreSQL server of its own, two
//! hosts that share it, and a load balancer in front of them. The configuration is a real
//! deployment's; only the addresses are on the loopback interface.

mod server;

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::Args;
use crate::failure::{Context, Failure, Hint};
use crate::install::Install;
use crate::{files, process, repository, run, wait};
use server::DatabaseServer;

pub const HELP: &str = "\
Builds the converters and the service, and starts two hosts on one PostgreSQL database
behind a load balancer, all on the loopback interface.

    cargo xtask fleet [--debug] [--no-install] [--data-dir FOLDER]

    --data-dir     the folder for the state of all of them; default ./data-fleet
    --debug        builds the service without optimisation: builds faster, runs slower
    --no-install   never install anything; report what is missing

    127.0.0.1:8080         the load balancer: gateway and data API
    127.0.0.1:8101, 8102   hosts a and b; their admin APIs are on 8111 and 8112
    127.0.0.1:25432        the database

It installs postgresql and haproxy if they are missing and it may (root on Debian).
Ctrl-C stops everything in order. The data is kept for the next start.
";

const BALANCER: &str = "127.0.0.1:8080";

#[rustfmt::skip]
const HOSTS: [HostOf; 2] = [
    HostOf { name: "a", listen: "127.0.0.1:8101", admin: "127.0.0.1:8111" },
    HostOf { name: "b", listen: "127.0.0.1:8102", admin: "127.0.0.1:8112" },
];

#[derive(Clone, Copy)]
struct HostOf {
    name: &'static str,
    listen: &'static str,
    admin: &'static str,
}

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let profile = args.profile();
    let data = args.value("--data-dir")?;
    args.nothing_more()?;
    let here = std::env::current_dir().context("finding the current folder")?;
    let data = here.join(data.as_deref().unwrap_or("data-fleet"));

    let _alone = files::lock(&data)?;
    let programs = server::programs(install)?;
    let balancer = balancer(install);
    let service = run::build(install, profile)?;

    let server = DatabaseServer::start(programs, &data)?;
    let outcome = hosts_on(&server, &service, &data, balancer);
    if outcome.is_err() && server.was_running {
        // Hosts of a task that was killed may still use it.
        return outcome.hint("an earlier run may have left hosts behind: end the processes that service.json or service.json.before of the folders a and b name");
    }
    server.stop()?;
    outcome
}

fn hosts_on(
    server: &DatabaseServer,
    service: &Path,
    data: &Path,
    balancer: Option<PathBuf>,
) -> Result<(), Failure> {
    let url = server.database()?;
    // Of all hosts, made by the first run.
    let key = secret(
        &data.join("sealing.key"),
        "head -c 32 /dev/urandom | base64",
    )?;
    let mut hosts: Vec<(HostOf, Child)> = Vec::new();
    for host in HOSTS {
        let mut child = start(service, host, data, &url, &key)?;
        // One after the other, so that the second finds what the first has made.
        let ready = wait::for_file(&address_file(data, host), &mut child);
        hosts.push((host, child));
        if !ready {
            stop(&mut hosts);
            return Err(Failure::new(format!("host {} did not start", host.name))
                .hint("see its messages above"));
        }
    }
    let keys_file = data.join("a/keys.json");
    let double = files::json(&keys_file)
        .ok()
        .and_then(|keys| run::start_double(&keys));
    let mut balancing = balancer.and_then(|program| start_balancer(&program));
    say(service, data, &keys_file, balancing.is_some())?;

    watch(&mut hosts)?;
    // In this order: the source of requests, the hosts, the database.
    if let Some(child) = &mut balancing {
        wait::stop(child);
    }
    stop(&mut hosts);
    drop(double);
    Ok(())
}

/// Starts a host as `examples/postgres/README.md` does.
fn start(
    service: &Path,
    host: HostOf,
    data: &Path,
    url: &str,
    key: &str,
) -> Result<Child, Failure> {
    let folder = data.join(host.name);
    let mut command = Command::new(service);
    command
        .arg("serve")
        .args(["--listen", host.listen, "--admin-listen", host.admin])
        .arg("--data-dir")
        .arg(&folder)
        .arg("--set")
        .arg(format!("server.name={}", host.name))
        .arg("--set")
        .arg(format!("server.public_url=http://{BALANCER}"))
        .env("LEADHOST_STORE_URL", url)
        .env("LEADHOST_SEALING_KEY", key);
    if host.name == HOSTS[0].name {
        // One host watches the inbox and makes the demo workspace, for both.
        command
            .arg("--inbox")
            .arg(repository::target().join("plugins"))
            .arg("--first-apply")
            .arg(repository::root().join("examples/quickstart/workspace.toml"));
    }
    // Files that a crash has left would look like a host that is ready. A host
    // that still runs keeps its port, and this start fails.
    let _ = fs::rename(address_file(data, host), folder.join("service.json.before"));
    command
        .stdin(Stdio::null())
        // Its own instructions are for a single host.
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .context(format!("starting {}", service.display()))
}

fn address_file(data: &Path, host: HostOf) -> PathBuf {
    data.join(host.name).join("service.json")
}

/// Returns a secret in a file that only its owner can read. If the file is
/// missing, a shell command makes the secret.
fn secret(file: &Path, making: &str) -> Result<String, Failure> {
    if let Ok(text) = fs::read_to_string(file) {
        return Ok(text.trim().to_owned());
    }
    let made = process::output(Command::new("sh").args(["-c", making]))?;
    let mut open = fs::OpenOptions::new();
    open.write(true).create_new(true).mode(0o600);
    open.open(file)
        .and_then(|mut file| std::io::Write::write_all(&mut file, made.as_bytes()))
        .context(format!("writing {}", file.display()))?;
    Ok(made.trim().to_owned())
}

/// Finds or installs haproxy; without it the hosts run without a load balancer.
fn balancer(install: Install) -> Option<PathBuf> {
    let found = || {
        process::find("haproxy")
            .or_else(|| Some("/usr/sbin/haproxy".into()).filter(|path: &PathBuf| path.is_file()))
    };
    if found().is_none()
        && let Err(failure) = install.debian(&["haproxy"], "as the load balancer")
    {
        eprintln!("Running without a load balancer: {failure}");
    }
    found()
}

fn start_balancer(program: &Path) -> Option<Child> {
    let configuration = repository::root().join("examples/postgres/haproxy.cfg");
    let started = Command::new(program)
        .arg("-f")
        .arg(configuration)
        // In the foreground, without its own messages.
        .args(["-db", "-q"])
        .stdin(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!(
                "Running without a load balancer: {}: {error}",
                program.display()
            );
            None
        }
    }
}

/// Prints instructions, with commands that can be pasted.
fn say(service: &Path, data: &Path, keys: &Path, balanced: bool) -> Result<(), Failure> {
    let gateway = if balanced { BALANCER } else { HOSTS[0].listen };
    let said = data.join("service.json");
    let addresses = json!({"gateway": gateway, "data": gateway, "admin": HOSTS[0].admin});
    files::write_if_changed(&said, format!("{addresses:#}\n").as_bytes())?;
    let root = repository::root();
    let leadhost = service.display();
    println!(
        "
Two hosts serve one database. In another terminal:

# Send leads and read deals through {gateway}; any host may answer.
sh {script} {keys} {service}

# List the hosts, the plugin versions that each serves, and the deliveries; any host can answer.
export LEADHOST_DATA_DIR={a}
{leadhost} status
{leadhost} plugin list
{leadhost} delivery list

# Kill one host; the other keeps running. To bring it back, press Ctrl-C here and run this task again.
kill -9 $(sed -n 's/.*\"process\": \\([0-9]*\\).*/\\1/p' {b}/service.json)
",
        script = root.join("examples/quickstart/try-it.sh").display(),
        keys = keys.display(),
        service = said.display(),
        a = data.join("a").display(),
        b = data.join("b").display(),
    );
    Ok(())
}

/// Waits for a signal or until no host is left, and reports each host that ends.
fn watch(hosts: &mut Vec<(HostOf, Child)>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("listening for signals")?;
    loop {
        if signals.pending().next().is_some() {
            return Ok(());
        }
        hosts.retain_mut(|(host, child)| match child.try_wait() {
            Ok(Some(status)) => {
                eprintln!("Host {} ended: {status}.", host.name);
                false
            }
            _ => true,
        });
        if hosts.is_empty() {
            return Err(Failure::new("no host is running").hint("see their messages above"));
        }
        wait::pause();
    }
}

fn stop(hosts: &mut [(HostOf, Child)]) {
    for (_, child) in hosts.iter() {
        wait::signal(child, rustix::process::Signal::TERM);
    }
    for (_, child) in hosts.iter_mut() {
        let _ = child.wait();
    }
}
