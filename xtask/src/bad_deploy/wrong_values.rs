//! Versions that write wrong values into the leads of many people, the repair of what they did,
//! its undo, and the repair after it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::workspace::Lead;
use super::{RIGHT, Scenario, Wrong, harmed};
use crate::failure::Failure;

impl Scenario {
    /// The version is forced; what it did is repaired, undone and repaired again.
    pub(super) fn wrong_values(
        &self,
        wrong: &Wrong,
        version: &str,
        leads: u64,
    ) -> Result<(), Failure> {
        let edited = self.forced(wrong, version, leads)?;
        let before = self.workspace.snapshot()?;
        let repair = self.mended(version, &edited)?;
        self.undone(&repair, &before)?;
        self.mended(version, &edited).map(|_| ())
    }

    /// It serves although it was refused, until a person has edited a deal. Some people have
    /// written before, and some write again after the rollback. Returns the lead of the edited
    /// deal.
    fn forced(&self, wrong: &Wrong, version: &str, leads: u64) -> Result<Lead, Failure> {
        let terminal = &self.terminal;
        let (first, some) = (self.portal.people() + 1, leads / 5);
        terminal.chapter(&format!(
            "Version {} is forced, and converts {leads} leads",
            wrong.version
        ));
        self.portal.send_first(some);
        terminal.runs(&format!("plugin publish {version} --accept all"))?;
        self.serves(wrong.version)?;
        self.portal.send_first(some);
        self.portal.send_again(first..first + some / 2);
        self.portal.send_first(leads - some - some / 2);
        let stored = self.complete()?;
        let harmed = harmed(&stored);
        terminal.claim(
            harmed.len() as u64 >= leads / 2,
            &format!("{} of {} leads are wrong", harmed.len(), stored.len()),
        )?;
        let edited = harmed.into_iter().next_back();
        let edited = edited.ok_or_else(|| Failure::new("there is no harmed lead"))?;
        self.edits(&edited)?;
        terminal.runs("plugin rollback portal")?;
        self.serves(RIGHT)?;
        // Of those with a lead from before, from the wrong version, and from both.
        self.portal.send_again((first..first + 2 * some).step_by(2));
        self.settled()?;
        Ok(edited)
    }

    /// The undo brings back each row that was before the repair.
    fn undone(&self, repair: &str, before: &BTreeMap<String, Value>) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("Undone");
        terminal.runs(&format!("repair undo {repair}"))?;
        let receipt = terminal.reads(&format!("repair show {repair}"))?;
        let after = self.workspace.snapshot()?;
        let ids: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let others = ids
            .into_iter()
            .filter(|id| before.get(*id) != after.get(*id));
        let others = others.count();
        terminal.claim(
            receipt["state"] == "undone" && others == 0,
            &format!(
                "of {} deals and contacts, {others} are not as before the repair",
                before.len()
            ),
        )
    }

    /// A repair of what the version did leaves no lead wrong. Returns its id.
    fn mended(&self, version: &str, edited: &Lead) -> Result<String, Failure> {
        let terminal = &self.terminal;
        terminal.chapter("Repaired");
        let digest = version.strip_prefix("portal@").unwrap_or(version);
        let said = terminal.runs(&format!("delivery replay --converted-by {digest} --apply"))?;
        let id = said.split_whitespace().nth(1).unwrap_or_default();
        let receipt = terminal.reads(&format!("repair show {id}"))?;
        terminal.claim(receipt["state"] == "done", "the repair is done")?;
        self.unharmed()?;
        self.keeps(edited, &said)?;
        Ok(id.to_owned())
    }
}
