//! Deploys a wrong version of a converter on the built service, as an operator would, and checks
//! what the service promises about it: a comparison refuses it, a guard rolls it back, and what it
//! did without guards is found and repaired. `examples/bad-deploy` has the converter.

mod hosts;
mod portal;
mod terminal;
mod workspace;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::postgres::{self, Database, Postgres};
use crate::{plugins, repository, run};
use hosts::Hosts;
use portal::Portal;
use terminal::Terminal;
use workspace::{Lead, Workspace};

pub const HELP: &str = "\
Deploys a wrong version of a converter on the built service while leads arrive, has it stopped,
and repairs what it did. Each step is shown as the command that an operator types, with its real
output. It checks each claim, and exits with 1 at the first one that does not hold.

    cargo xtask bad-deploy [--postgres] [--debug] [--no-install]

    --postgres     three hosts on one PostgreSQL database: the server that the tests use
    --debug        builds the service without optimisation: builds faster, runs slower
    --no-install   never install anything; report what is missing

Without --postgres it is one host with a SQLite file. It uses free ports of the loopback
interface, and keeps its files and logs in target/bad-deploy until the next run.
See examples/bad-deploy/README.md.
";

/// The two versions and their files.
const RIGHT: &str = "1.0.0";
const WRONG: &str = "1.1.0";
const RIGHT_FILE: &str = "portal-1.0.0.wasm";
const WRONG_FILE: &str = "portal-1.1.0.wasm";

/// The plans of its rollouts.
const GUARDED: &str = "--steps 50,100 --every 30s";
const UNGUARDED: &str = "--steps 50,100 --every 5m --no-guards";

/// Leads before anything is deployed, with which a version is compared.
const FIRST: u64 = 40;

/// Leads that lose their phone before the wrong version is promoted, and before it is noticed.
const HARMED_BY_CANARY: usize = 10;
const HARMED: usize = 30;

/// The values that a person sets in a deal whose lead has lost its phone.
const OWNER: &str = "nilda@example.com";
const PROPERTY: &str = "CA-0007";

/// The longest wait for the service.
const PATIENCE: Duration = Duration::from_secs(180);

/// Runs the task with its arguments.
///
/// # Errors
///
/// [`Failure`] if a build fails, a host or a command fails, or a claim does not hold.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let install = Install::from_args(&mut args);
    let on_postgres = args.flag("--postgres");
    let profile = if args.flag("--debug") {
        "dev"
    } else {
        "release"
    };
    args.nothing_more()?;
    run_scenario(install, profile, on_postgres)
}

/// Runs the scenario on a SQLite file. Leaves nothing out.
///
/// # Errors
///
/// [`Failure`] if a build fails, a host or a command fails, or a claim does not hold.
pub fn on_sqlite(install: Install) -> Result<Vec<String>, Failure> {
    run_scenario(install, "dev", false).map(|()| Vec::new())
}

/// Runs the scenario on a SQLite file, and with three hosts on PostgreSQL. Leaves nothing out.
///
/// # Errors
///
/// As for [`on_sqlite`], and if there is no PostgreSQL.
pub fn on_both(install: Install) -> Result<Vec<String>, Failure> {
    on_sqlite(install)?;
    run_scenario(install, "dev", true).map(|()| Vec::new())
}

fn run_scenario(install: Install, profile: &str, on_postgres: bool) -> Result<(), Failure> {
    let folder = repository::target().join("bad-deploy");
    let _alone = alone(&folder)?;
    for (version, file) in [(RIGHT, RIGHT_FILE), (WRONG, WRONG_FILE)] {
        plugins::build_bad_deploy(version, &folder.join(file), install)?;
    }
    let declared = repository::root().join("examples/bad-deploy/workspace.toml");
    let declared = fs::read(&declared).context(format!("reading {}", declared.display()))?;
    repository::write_if_changed(&folder.join("workspace.toml"), &declared)?;
    let program = run::build_program(profile)?;
    if !on_postgres {
        return on(&program, &folder, None);
    }
    postgres::prepare(install, Postgres::Required)?;
    let outcome = Database::start().and_then(|database| on(&program, &folder, Some(&database.url)));
    postgres::sweep();
    outcome
}

/// One task at a time: a second one would remove the first one's data.
fn alone(folder: &Path) -> Result<fs::File, Failure> {
    fs::create_dir_all(folder).context(format!("creating {}", folder.display()))?;
    let path = folder.join("lock");
    let file = fs::File::create(&path).context(format!("opening {}", path.display()))?;
    file.try_lock().map_err(|_| {
        Failure::new(format!("this task already runs in {}", folder.display()))
            .hint("wait for its end, or stop it with Ctrl-C in its terminal")
    })?;
    Ok(file)
}

/// Starts the hosts, and runs the scenario on them.
fn on(program: &Path, folder: &Path, store: Option<&str>) -> Result<(), Failure> {
    let outcome = Hosts::start(program, folder, store)
        .and_then(|hosts| Scenario::begin(program, folder, &hosts)?.run());
    outcome.map_err(|failure| {
        let logs = folder.display();
        failure.hint(format!("the logs of the hosts are {logs}/*.log"))
    })
}

struct Scenario {
    terminal: Terminal,
    workspace: Workspace,
    portal: Portal,
}

impl Scenario {
    /// The right version is activated, and the workspace is applied.
    fn begin(program: &Path, folder: &Path, hosts: &Hosts) -> Result<Self, Failure> {
        let terminal = Terminal::new(program, folder, hosts.data());
        let gateways = hosts.gateways()?;
        terminal.chapter(&format!("Version {RIGHT} serves"));
        println!(
            "\nHosts: {}. The commands are typed in {}, with\nLEADHOST_DATA_DIR={}.",
            gateways.len(),
            folder.display(),
            hosts.data().display()
        );
        terminal.runs(&format!("plugin activate {RIGHT_FILE}"))?;
        let applied = terminal.runs("apply workspace.toml")?;
        let workspace = Workspace::applied(&gateways[0], &applied)?;
        Ok(Self {
            portal: Portal::new(gateways, workspace.connection.clone()),
            terminal,
            workspace,
        })
    }

    fn run(&self) -> Result<(), Failure> {
        self.first_leads()?;
        self.refused()?;
        let version = self.stored()?;
        self.guarded(&version)?;
        let since = self.unguarded(&version)?;
        let edited = self.found(&version, &since)?;
        self.repaired(&version, &since, &edited)?;
        self.audited()?;
        println!("\nAll {} claims hold.", self.terminal.claims());
        Ok(())
    }

    fn first_leads(&self) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.typed(&format!(
            "curl {} -H 'Content-Type: application/json' -d '{}'",
            self.portal.address(1),
            portal::body(1)
        ));
        if let Some(answer) = self.portal.send() {
            terminal.shows(&answer.body);
        }
        println!(
            "\n{} more leads arrive; every fifth leaves no phone.",
            FIRST - 1
        );
        for _ in 1..FIRST {
            self.portal.send();
        }
        self.unharmed()
    }

    fn refused(&self) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter(&format!(
            "Version {WRONG}, which forgets the phone, is refused"
        ));
        let said = terminal.tries(&format!("plugin activate {WRONG_FILE}"))?;
        terminal.claim(
            !said.succeeded && said.err.contains("lose a phone"),
            "the activation is refused, and the refusal names the lost phones",
        )?;
        terminal.claim(
            said.out.contains("phone: lost"),
            "the refusal shows the difference",
        )?;
        self.serves(RIGHT)
    }

    /// A rollout of the file is refused too, and stores it. Returns its name for commands.
    fn stored(&self) -> Result<String, Failure> {
        let terminal = &self.terminal;
        let said = terminal.tries(&format!("plugin rollout start {WRONG_FILE} {GUARDED}"))?;
        terminal.claim(
            !said.succeeded && said.err.contains("lose a phone"),
            "a rollout is refused for the same reason",
        )?;
        terminal.runs("plugin list")?;
        let list = terminal.reads("plugin list")?;
        let stored = version(&list, WRONG);
        terminal.claim(
            stored.is_some_and(|stored| stored["state"] == "stored"),
            &format!("version {WRONG} is stored, and not active"),
        )?;
        self.serves(RIGHT)?;
        let digest = stored.and_then(|stored| stored["digest"].as_str()?.get(..12));
        let digest = digest.ok_or_else(|| Failure::new("the version has no digest"))?;
        Ok(format!("portal@{digest}"))
    }

    /// A canary with guards: it is rolled back, and no lead is harmed.
    fn guarded(&self, version: &str) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("An operator insists: a canary, while leads arrive");
        let before = self.portal.sent();
        let flow = self.portal.flow();
        terminal.runs(&format!(
            "plugin rollout start {version} {GUARDED} --accept drift"
        ))?;
        let ended = wait("the guard ends the canary", || {
            let rollout = self.rollout()?;
            Ok(rollout["why"].is_string().then_some(rollout))
        })?;
        // The hosts make their last reports, and the stable version stays active.
        let then = self.portal.sent();
        wait("leads arrive afterwards", || {
            Ok((self.portal.sent() >= then + 20).then_some(()))
        })?;
        drop(flow);
        terminal.runs("plugin rollout portal")?;
        let why = ended["why"].as_str().unwrap_or_default();
        terminal.claim(
            ended["stage"] == "rolled-back" && why.contains("lose a phone"),
            "a guard has rolled the canary back because of the lost phones",
        )?;
        let rollout = self.rollout()?;
        let saved = rollout["saved"].as_u64().unwrap_or_default();
        terminal.claim(
            saved >= 3,
            &format!("{saved} deliveries were given to {WRONG}, and saved by {RIGHT}"),
        )?;
        self.serves(RIGHT)?;
        println!(
            "\n{} leads have arrived meanwhile.",
            self.portal.sent() - before
        );
        self.unharmed()
    }

    /// A canary without guards, which is promoted. Returns when it began.
    fn unguarded(&self, version: &str) -> Result<String, Failure> {
        let terminal = &self.terminal;
        terminal.chapter("Without guards it does harm");
        let flow = self.portal.flow();
        terminal.runs(&format!(
            "plugin rollout start {version} {UNGUARDED} --accept drift"
        ))?;
        let started = self.rollout()?["startedAt"].clone();
        let started = started.as_str().and_then(|text| text.get(..19));
        let started = started.ok_or_else(|| Failure::new("the rollout has no `startedAt`"))?;
        self.harmed_at_least(HARMED_BY_CANARY)?;
        terminal.runs("plugin rollout portal")?;
        terminal.runs("plugin rollout promote portal")?;
        self.serves(WRONG)?;
        self.harmed_at_least(HARMED)?;
        drop(flow);
        let leads = self.complete()?;
        let harmed = harmed(&leads).len();
        terminal.claim(
            harmed >= HARMED,
            &format!("{harmed} of {} leads have lost their phone", leads.len()),
        )?;
        Ok(format!("{started}Z"))
    }

    /// The harmed leads are found, and a person edits the deal of one of them. Returns that lead.
    fn found(&self, version: &str, since: &str) -> Result<Lead, Failure> {
        let terminal = &self.terminal;
        terminal.chapter("The harm is found, and a person edits a deal meanwhile");
        let impact = format!("plugin impact {version} --since {since}");
        terminal.runs(&impact)?;
        let impact = terminal.reads(&impact)?;
        let harmed = harmed(&self.settled()?);
        let phones = impact["fields"].as_array().into_iter().flatten();
        let phones = phones
            .filter(|field| field["field"] == "phone" && field["change"] == "lost")
            .filter_map(|field| field["count"].as_u64())
            .sum::<u64>();
        terminal.claim(
            phones == harmed.len() as u64,
            &format!("it finds {phones} lost phones: as many as leads are without theirs"),
        )?;
        let number = |name: &str| impact[name].as_u64().unwrap_or_default();
        terminal.claim(
            number("compared") == number("chosen") && number("compared") - number("same") == phones,
            &format!(
                "of the {} deliveries that {WRONG} converted, it finds {} unharmed",
                number("compared"),
                number("same")
            ),
        )?;

        let lead = harmed.into_iter().next();
        let lead = lead.ok_or_else(|| Failure::new("there is no harmed lead"))?;
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
        )?;
        Ok(lead)
    }

    /// The right version serves again, and repairs the leads while others arrive.
    fn repaired(&self, version: &str, since: &str, edited: &Lead) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("Back, and repaired");
        terminal.runs("plugin rollback portal")?;
        self.serves(RIGHT)?;
        let before = self.settled()?;
        let flow = self.portal.flow();
        let digest = version.strip_prefix("portal@").unwrap_or(version);
        let repair = format!("delivery replay --converted-by {digest} --since {since} --apply");
        let said = terminal.runs(&repair)?;
        drop(flow);
        terminal.claim(
            said.contains("1 field that a person edited is kept"),
            "the repair says that it kept an edited field",
        )?;

        let after = self.settled()?;
        let changed = before.iter().filter(|lead| {
            let now = after.iter().find(|other| other.id == lead.id);
            now.is_none_or(|now| now.stamps != lead.stamps)
        });
        let changed: BTreeSet<&String> = changed.map(|lead| &lead.id).collect();
        let harmed = before.iter().filter(|lead| lead.is_harmed());
        let harmed: BTreeSet<&String> = harmed.map(|lead| &lead.id).collect();
        terminal.claim(
            changed == harmed,
            &format!(
                "of the {} leads before the repair, exactly the {} harmed ones are changed",
                before.len(),
                harmed.len()
            ),
        )?;
        self.receipt(&said, harmed.len())?;
        self.unharmed()?;
        let impact = terminal.reads(&format!("plugin impact {version} --since {since}"))?;
        terminal.claim(
            impact["chosen"] == 0,
            &format!("no delivery counts as converted by {WRONG} any more"),
        )?;

        terminal.typed(&format!(
            "curl {} -H 'x-service-api-key: {}'",
            self.workspace.address(&edited.deal),
            self.workspace.partner_key,
        ));
        let answer = self.workspace.deal(&edited.deal, None)?;
        terminal.shows(&answer.body);
        let deal = answer.json()?;
        terminal.claim(
            deal["deal"]["ownerEmail"] == OWNER && deal["property"]["externalId"] == PROPERTY,
            &format!("lead {} keeps what the person edited", edited.id),
        )?;
        terminal.claim(
            deal["person"]["phoneNumber"].is_string(),
            &format!("lead {} has its phone again", edited.id),
        )
    }

    /// The receipt has each harmed lead, and the command that would take the repair back.
    fn receipt(&self, said: &str, harmed: usize) -> Result<(), Failure> {
        let terminal = &self.terminal;
        let id = said.split_whitespace().nth(1).unwrap_or_default();
        terminal.runs(&format!("repair show {id}"))?;
        terminal.runs(&format!("repair show {id} --changes --limit 3"))?;
        let receipt = terminal.reads(&format!("repair show {id}"))?;
        let phones = &receipt["contacts"]["fields"]["phone_number"];
        terminal.claim(
            receipt["state"] == "done" && *phones == harmed,
            &format!("its receipt has the phones of {harmed} contacts"),
        )?;
        terminal.claim(
            said.contains(&format!("leadhost repair undo {id}")),
            "it names the command that takes the repair back",
        )
    }

    /// Every step is in the audit.
    fn audited(&self) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("Everything is in the audit");
        let export = terminal.saves("audit --export", "audit.ndjson")?;
        terminal.claim(export.succeeded, "no row was changed or removed")?;
        let rows = export.out.lines().map(serde_json::from_str::<Value>);
        let rows = rows
            .collect::<Result<Vec<_>, _>>()
            .context("reading audit.ndjson")?;
        terminal.runs("audit --limit 100")?;
        let acts = acts(&rows);
        let mut left = acts.iter();
        let is_there =
            |step: &(&str, &str)| left.any(|(act, outcome)| (act.as_str(), *outcome) == *step);
        terminal.claim(STEPS.iter().all(is_there), "it has every step, in order")
    }

    /// Claims that every lead that was sent is stored once, with its phone.
    fn unharmed(&self) -> Result<(), Failure> {
        let leads = self.complete()?;
        self.terminal.claim(
            harmed(&leads).is_empty(),
            &format!("none of {} leads lacks the phone that it left", leads.len()),
        )
    }

    /// Claims that every lead that was sent is stored once. Returns them.
    fn complete(&self) -> Result<Vec<Lead>, Failure> {
        let (sent, leads) = (self.portal.sent(), self.settled()?);
        let ids: BTreeSet<&String> = leads.iter().map(|lead| &lead.id).collect();
        let all = (1..=sent).all(|number| ids.contains(&portal::id(number)));
        self.terminal.claim(
            all && leads.len() as u64 == sent,
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
        wait("all leads are stored", || {
            let leads = self.workspace.leads()?;
            Ok((leads.len() as u64 >= sent).then_some(leads))
        })
    }

    fn harmed_at_least(&self, least: usize) -> Result<(), Failure> {
        wait("leads lose their phone", || {
            let leads = self.workspace.leads()?;
            Ok((harmed(&leads).len() >= least).then_some(()))
        })
    }

    /// Claims that this version is active.
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

/// Returns a version of the converter in the list of plugins.
fn version<'a>(list: &'a Value, number: &str) -> Option<&'a Value> {
    let mut plugins = list["plugins"].as_array()?.iter();
    let portal = plugins.find(|plugin| plugin["name"] == "portal")?;
    let mut versions = portal["versions"].as_array()?.iter();
    versions.find(|version| version["version"] == number)
}

/// The acts of the story, and their outcomes.
const STEPS: [(&str, &str); 11] = [
    ("activate-plugin", "done"),
    ("apply", "done"),
    ("activate-plugin", "refused"),
    ("upload-plugin", "done"),
    ("start-rollout", "refused"),
    ("start-rollout", "done"),
    ("roll-back-rollout", "done"),
    ("start-rollout", "done"),
    ("change-rollout", "done"),
    ("roll-back-plugin", "done"),
    ("start-repair", "done"),
];

/// Returns the acts of the audit in the order in which they began, with their outcomes.
fn acts(rows: &[Value]) -> Vec<(String, &str)> {
    let begins = rows.iter().filter(|row| row["begun"].is_null());
    let ended = |begin: &Value| rows.iter().find(|row| row["begun"] == begin["number"]);
    begins
        .map(|begin| {
            let act = begin["act"].as_str().unwrap_or_default().to_owned();
            // An act of the service itself is one row.
            let end = ended(begin).unwrap_or(begin);
            (act, end["outcome"].as_str().unwrap_or_default())
        })
        .collect()
}

fn harmed(leads: &[Lead]) -> Vec<Lead> {
    let harmed = leads.iter().filter(|lead| lead.is_harmed());
    harmed.cloned().collect()
}

/// Looks until there is something.
fn wait<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() >= end {
            let seconds = PATIENCE.as_secs();
            return Err(Failure::new(format!(
                "still waiting after {seconds} s: {what}"
            )));
        }
        run::pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_has_the_place_of_its_beginning_and_the_outcome_of_its_end() {
        let row = |number: u64, act: &str, outcome: &str, begun: Option<u64>| json!({"number": number, "act": act, "outcome": outcome, "begun": begun});
        let rows = [
            row(1, "start-rollout", "begun", None),
            row(2, "roll-back-rollout", "done", None),
            row(3, "start-rollout", "done", Some(1)),
        ];
        let expect = [("start-rollout", "done"), ("roll-back-rollout", "done")];
        let expect = expect.map(|(act, outcome)| (act.to_owned(), outcome));
        assert_eq!(acts(&rows), expect);
    }
}
