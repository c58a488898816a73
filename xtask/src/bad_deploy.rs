//! Deploys wrong versions of a converter on the built service, as an operator would, and checks
//! what the service promises about them: a comparison refuses them, a guard rolls them back, and
//! what they did without guards is found and repaired. `examples/bad-deploy` has the converter.

mod lost_phone;
mod portal;
mod stopped;
mod terminal;
mod workspace;
mod wrong_values;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use xtask::double::proof::base64;

use crate::args::Args;
use crate::failure::{Failure, Hint};
use crate::install::Install;
use crate::postgres::{self, Database, Postgres};
use crate::service::Service;
use crate::{client, files, plugins, repository, run, wait};
use portal::Portal;
use terminal::Terminal;
use workspace::{Lead, Workspace};

pub const HELP: &str = "\
Deploys wrong versions of a converter on the built service while leads arrive, has them stopped,
and repairs what they did: one drops phones, one changes a digit of each phone, one writes one
phone into all leads, one swaps names and messages. The repairs of the last three are undone, and
made again. Each step is shown as the command that an operator types, with its real output. It
checks each claim, and exits with 1 at the first one that does not hold.

    cargo xtask bad-deploy [--leads N] [--postgres] [--debug] [--no-install]

    --leads N      leads that each version with wrong values converts: 40, unless set
    --postgres     three hosts on one PostgreSQL database: the server that the tests use
    --debug        builds the service without optimisation: builds faster, runs slower
    --no-install   never install anything; report what is missing

Without --postgres it is one host with a SQLite file. It uses free ports of the loopback
interface, and keeps its files and logs in target/bad-deploy until the next run.
See examples/bad-deploy/README.md.
";

const RIGHT: &str = "1.0.0";

struct Wrong {
    version: &'static str,
    does: &'static str,
    /// The words of a refusal, and of a guard, for its harm.
    harm: &'static str,
    /// The words of a comparison for it.
    difference: &'static str,
}

#[rustfmt::skip]
const LOST_PHONE: Wrong =
    Wrong { version: "1.1.0", does: "forgets the phone", harm: "lose a phone", difference: "phone: lost" };

/// The versions that lose nothing, and write wrong values.
#[rustfmt::skip]
const WRONG_VALUES: [Wrong; 3] = [
    Wrong { version: "1.2.0", does: "changes the last digit of each phone", harm: "change a phone", difference: "phone: changed" },
    Wrong { version: "1.3.0", does: "writes one broker's phone into all leads", harm: "change a phone", difference: "phone: changed" },
    Wrong { version: "1.4.0", does: "swaps names and messages", harm: "change their name", difference: "name: changed" },
];

/// Leads before anything is deployed, with which a version is compared.
const FIRST: u64 = 40;

/// Leads that each version with wrong values converts, unless the command says another number.
const LEADS: u64 = 40;

/// The values that a person sets in a deal whose lead is harmed.
const OWNER: &str = "nilda@example.com";
const PROPERTY: &str = "CA-0007";

const PATIENCE: Duration = Duration::from_secs(180);

pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let on_postgres = args.flag("--postgres");
    let profile = args.profile();
    let leads = match args.number("--leads")?.unwrap_or(LEADS) {
        leads @ LEADS.. => leads,
        _ => {
            return Err(Failure::usage(format!(
                "--leads needs a number from {LEADS}"
            )));
        }
    };
    args.nothing_more()?;
    run_scenario(install, profile, on_postgres, (leads, &WRONG_VALUES))
}

/// Runs the scenario on a SQLite file, with one of the versions that write wrong values. Returns what it
/// leaves out.
pub fn on_sqlite(install: Install) -> Result<Vec<String>, Failure> {
    let one = &WRONG_VALUES[1..2];
    run_scenario(install, "dev", false, (LEADS, one))?;
    let others = WRONG_VALUES
        .iter()
        .filter(|wrong| wrong.version != one[0].version);
    let others = others.map(|wrong| format!("version {} of bad-deploy", wrong.version));
    Ok(others.collect())
}

/// Runs the scenario on a SQLite file, and with three hosts on PostgreSQL. Leaves nothing out.
pub fn on_both(install: Install) -> Result<Vec<String>, Failure> {
    for on_postgres in [false, true] {
        run_scenario(install, "dev", on_postgres, (LEADS, &WRONG_VALUES))?;
    }
    Ok(Vec::new())
}

type Extent = (u64, &'static [Wrong]);

fn run_scenario(
    install: Install,
    profile: &str,
    on_postgres: bool,
    (leads, wrong): Extent,
) -> Result<(), Failure> {
    let folder = repository::target().join("bad-deploy");
    let _alone = files::lock(&folder)?;
    let all = wrong.iter().chain([&LOST_PHONE]);
    for version in all.map(|wrong| wrong.version).chain([RIGHT]) {
        plugins::build_bad_deploy(version, &folder.join(file(version)), install)?;
    }
    let declared = repository::root().join("examples/bad-deploy/workspace.toml");
    let declared = files::bytes(&declared)?;
    files::write_if_changed(&folder.join("workspace.toml"), &declared)?;
    let program = run::build_program(profile)?;
    if !on_postgres {
        return on(&program, &folder, None, (leads, wrong));
    }
    postgres::prepare(install, Postgres::Required)?;
    let outcome = Database::start()
        .and_then(|database| on(&program, &folder, Some(&database.url), (leads, wrong)));
    postgres::sweep();
    outcome
}

fn file(version: &str) -> String {
    format!("portal-{version}.wasm")
}

fn on(program: &Path, folder: &Path, store: Option<&str>, extent: Extent) -> Result<(), Failure> {
    let outcome = hosts(program, folder, store)
        .and_then(|hosts| Scenario::begin(program, folder, &hosts)?.run(extent));
    outcome.hint(format!(
        "the logs of the hosts are {}/*.log",
        folder.display()
    ))
}

/// Starts one host on SQLite, or three on the database that `store` names.
fn hosts(program: &Path, folder: &Path, store: Option<&str>) -> Result<Vec<Service>, Failure> {
    let names: &[&str] = match store {
        None => &["a"],
        Some(_) => &["a", "b", "c"],
    };
    let start = |name: &&str| {
        Service::start_as(name, program, folder, |command| {
            command
                .arg("--set")
                .arg(format!("server.name={name}"))
                // Three hosts and other tests share the server.
                .args(["--set", "store.connections=8"])
                .envs(store.map(|store| ("LEADHOST_STORE_URL", store)))
                // The same for all hosts of the database, which is dropped afterwards.
                .env("LEADHOST_SEALING_KEY", base64(&[7; 32]));
        })
    };
    // One after the other: the first makes the tables and the admin key.
    names.iter().map(start).collect()
}

struct Scenario {
    terminal: Terminal,
    workspace: Workspace,
    portal: Portal,
}

impl Scenario {
    /// The right version is activated, and the workspace is applied.
    fn begin(program: &Path, folder: &Path, hosts: &[Service]) -> Result<Self, Failure> {
        // Commands find the admin key in the data folder of the first host.
        let data = &hosts[0].data;
        let terminal = Terminal::new(program, folder, data);
        let gateways = hosts.iter().map(|host| host.address("gateway"));
        let gateways = gateways.collect::<Result<Vec<_>, _>>()?;
        terminal.chapter(&format!("Version {RIGHT} serves"));
        println!(
            "\nHosts: {}. The commands are typed in {}, with\nLEADHOST_DATA_DIR={}.",
            gateways.len(),
            folder.display(),
            data.display()
        );
        terminal.runs(&format!("plugin publish {}", file(RIGHT)))?;
        let applied = terminal.runs("apply workspace.toml")?;
        let workspace = Workspace::applied(&gateways[0], &applied)?;
        Ok(Self {
            portal: Portal::new(gateways, workspace.connection.clone()),
            terminal,
            workspace,
        })
    }

    fn run(&self, (leads, all): Extent) -> Result<(), Failure> {
        self.first_leads()?;
        let version = self.stopped(&LOST_PHONE)?;
        self.lost_phone(&version)?;
        for wrong in all {
            let version = self.stopped(wrong)?;
            self.wrong_values(wrong, &version, leads)?;
        }
        self.audited()?;
        println!("\nAll {} claims hold.", self.terminal.claims());
        Ok(())
    }

    fn audited(&self) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("The audit is whole");
        let export = terminal.saves("audit --export", "audit.ndjson")?;
        terminal.runs("audit --limit 100")?;
        terminal.claim(export.succeeded, "no row was changed or removed")
    }

    fn first_leads(&self) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.typed(&format!(
            "curl {} -H 'Content-Type: application/json' -d '{}'",
            self.portal.address(1),
            portal::body(1, &portal::id(1))
        ));
        if let Some(answer) = self.portal.send() {
            terminal.shows(&answer.body);
        }
        println!(
            "\n{} more leads arrive; every fifth leaves no phone.",
            FIRST - 1
        );
        self.portal.send_first(FIRST - 1);
        self.unharmed()
    }

    fn edits(&self, lead: &Lead) -> Result<(), Failure> {
        let terminal = &self.terminal;
        let change = json!({"ownerEmail": OWNER, "propertyExternalId": PROPERTY});
        terminal.typed(&format!(
            "curl -X PATCH {} -H 'x-service-api-key: {}' -H 'Content-Type: application/json' -d '{change}'",
            self.workspace.address(&lead.deal),
            self.workspace.partner_key,
        ));
        let answer = self.workspace.deal(&lead.deal, Some(&change))?;
        terminal.shows(&answer.body);
        terminal.claim(
            answer.status == 202,
            &format!("the deal of lead {} is edited", lead.id),
        )
    }

    /// Claims that the repair, which said this, has kept the edit of that lead.
    fn keeps(&self, edited: &Lead, said: &str) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.claim(
            said.contains("1 field that a person edited is kept"),
            "the repair says that it kept an edited field",
        )?;
        terminal.typed(&format!(
            "curl {} -H 'x-service-api-key: {}'",
            self.workspace.address(&edited.deal),
            self.workspace.partner_key,
        ));
        let answer = self.workspace.deal(&edited.deal, None)?;
        terminal.shows(&answer.body);
        let deal = client::json(&answer)?;
        terminal.claim(
            deal["deal"]["ownerEmail"] == OWNER && deal["property"]["externalId"] == PROPERTY,
            &format!("lead {} keeps what the person edited", edited.id),
        )
    }

    /// Claims that every lead that was sent is stored once, as its person sent it.
    fn unharmed(&self) -> Result<(), Failure> {
        let leads = self.complete()?;
        let terminal = &self.terminal;
        terminal.claim(
            harmed(&leads).is_empty(),
            &format!(
                "none of {} leads has another phone, name, e-mail address or message than was sent",
                leads.len()
            ),
        )?;
        let pairs = leads
            .iter()
            .map(|lead| (&lead.contact, portal::person(&lead.id)));
        let pairs: BTreeSet<_> = pairs.collect();
        let (contacts, people): (BTreeSet<_>, BTreeSet<_>) = pairs.iter().copied().unzip();
        let pairs = pairs.len();
        terminal.claim(
            contacts.len() == pairs && people.len() == pairs,
            &format!("{pairs} people have one contact each, and share none"),
        )
    }

    /// Claims that every lead that was sent is stored once. Returns them.
    fn complete(&self) -> Result<Vec<Lead>, Failure> {
        let (sent, leads) = (self.portal.sent(), self.settled()?);
        let ids: BTreeSet<&String> = leads.iter().map(|lead| &lead.id).collect();
        let mut people = 1..=self.portal.people();
        let all = people.all(|person| ids.contains(&portal::id(person)));
        self.terminal.claim(
            all && ids.len() as u64 == sent && leads.len() as u64 == sent,
            &format!("{sent} leads were sent, none was refused, and each is stored once"),
        )?;
        Ok(leads)
    }

    /// Waits until all leads that were sent are stored, and returns them. No lead is under way.
    fn settled(&self) -> Result<Vec<Lead>, Failure> {
        if let Some(refusal) = self.portal.refusals().first() {
            return Err(Failure::new(format!(
                "this does not hold: no lead is refused; {refusal}"
            )));
        }
        let sent = self.portal.sent();
        wait::until("all leads are stored", PATIENCE, || {
            let leads = self.workspace.leads()?;
            Ok((leads.len() as u64 >= sent).then_some(leads))
        })
    }

    fn serves(&self, version: &str) -> Result<(), Failure> {
        let list = self.terminal.reads("plugin list")?;
        let found = self::version(&list, version);
        let is_active = found.is_some_and(|found| found["state"] == "active");
        self.terminal
            .claim(is_active, &format!("version {version} is active"))
    }

    fn rollout(&self) -> Result<Value, Failure> {
        self.terminal.reads("plugin rollout portal")
    }
}

fn version<'a>(list: &'a Value, number: &str) -> Option<&'a Value> {
    let mut plugins = list["plugins"].as_array()?.iter();
    let portal = plugins.find(|plugin| plugin["name"] == "portal")?;
    let mut versions = portal["versions"].as_array()?.iter();
    versions.find(|version| version["version"] == number)
}

fn harmed(leads: &[Lead]) -> Vec<Lead> {
    let harmed = leads.iter().filter(|lead| lead.is_harmed());
    harmed.cloned().collect()
}
