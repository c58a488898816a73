//! A version that drops phones, with and without guards, and the repair of what it did.

use std::collections::BTreeSet;

use super::workspace::Lead;
use super::{LOST_PHONE, PATIENCE, RIGHT, Scenario, harmed};
use crate::failure::Failure;
use crate::wait;

const UNGUARDED: &str = "--steps 50,100 --every 5m --no-guards";

/// Leads that lose their phone before the wrong version is promoted, and before it is noticed.
const HARMED_BY_CANARY: usize = 10;
const HARMED: usize = 30;

impl Scenario {
    /// It serves without guards; what it did is found and repaired.
    pub(super) fn lost_phone(&self, version: &str) -> Result<(), Failure> {
        let since = self.unguarded(version)?;
        let edited = self.found(version, &since)?;
        self.repaired(version, &since, &edited)
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
        self.serves(LOST_PHONE.version)?;
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
                "of the {} deliveries that {} converted, it finds {} unharmed",
                number("compared"),
                LOST_PHONE.version,
                number("same")
            ),
        )?;

        let lead = harmed.into_iter().next();
        let lead = lead.ok_or_else(|| Failure::new("there is no harmed lead"))?;
        self.edits(&lead)?;
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
            &format!("no delivery counts as converted by {version}"),
        )?;

        self.keeps(edited, &said)
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

    fn harmed_at_least(&self, least: usize) -> Result<(), Failure> {
        wait::until("leads lose their phone", PATIENCE, || {
            let leads = self.workspace.leads()?;
            Ok((harmed(&leads).len() >= least).then_some(()))
        })
    }
}
