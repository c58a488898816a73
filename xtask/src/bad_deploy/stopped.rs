//! A wrong version that a comparison refuses, and that a guard rolls back.

use super::{PATIENCE, RIGHT, Scenario, Wrong, file, version};
use crate::failure::Failure;
use crate::wait;

/// The plan of a rollout with guards. It begins with a tenth of the leads.
const GUARDED: &str = "--steps 10,100 --every 30s";

impl Scenario {
    /// A wrong version is refused, and a guard rolls it back. Returns its name for commands.
    pub(super) fn stopped(&self, wrong: &Wrong) -> Result<String, Failure> {
        self.refused(wrong)?;
        let version = self.stored(wrong)?;
        self.guarded(wrong, &version)?;
        Ok(version)
    }

    fn refused(&self, wrong: &Wrong) -> Result<(), Failure> {
        let terminal = &self.terminal;
        let (version, does) = (wrong.version, wrong.does);
        terminal.chapter(&format!("Version {version}, which {does}, is refused"));
        let said = terminal.tries(&format!("plugin publish {}", file(version)))?;
        terminal.claim(
            !said.succeeded && said.err.contains(wrong.harm),
            &format!("the activation is refused: leads {}", wrong.harm),
        )?;
        terminal.claim(
            said.out.contains(wrong.difference),
            "the refusal shows the difference",
        )?;
        self.serves(RIGHT)
    }

    /// A rollout of the file is refused too, and stores it. Returns its name for commands.
    fn stored(&self, wrong: &Wrong) -> Result<String, Failure> {
        let terminal = &self.terminal;
        let said = terminal.tries(&format!(
            "plugin rollout start {} {GUARDED}",
            file(wrong.version)
        ))?;
        terminal.claim(
            !said.succeeded && said.err.contains(wrong.harm),
            "a rollout is refused for the same reason",
        )?;
        terminal.runs("plugin list")?;
        let list = terminal.reads("plugin list")?;
        let stored = version(&list, wrong.version);
        terminal.claim(
            stored.is_some_and(|stored| stored["state"] == "stored"),
            &format!("version {} is stored, and not active", wrong.version),
        )?;
        self.serves(RIGHT)?;
        let digest = stored.and_then(|stored| stored["digest"].as_str()?.get(..12));
        let digest = digest.ok_or_else(|| Failure::new("the version has no digest"))?;
        Ok(format!("portal@{digest}"))
    }

    /// A canary with guards: it is rolled back, and no lead is harmed.
    fn guarded(&self, wrong: &Wrong, version: &str) -> Result<(), Failure> {
        let terminal = &self.terminal;
        terminal.chapter("An operator insists: a canary, while leads arrive");
        let before = self.portal.sent();
        let flow = self.portal.flow();
        terminal.runs(&format!(
            "plugin rollout start {version} {GUARDED} --accept drift"
        ))?;
        let ended = wait::until("the guard ends the canary", PATIENCE, || {
            let rollout = self.rollout()?;
            Ok(rollout["why"].is_string().then_some(rollout))
        })?;
        // The hosts make their last reports, and the stable version stays active.
        let then = self.portal.sent();
        wait::until("leads arrive afterwards", PATIENCE, || {
            Ok((self.portal.sent() >= then + 20).then_some(()))
        })?;
        drop(flow);
        terminal.runs("plugin rollout portal")?;
        let why = ended["why"].as_str().unwrap_or_default();
        terminal.claim(
            ended["stage"] == "rolled-back" && why.contains(wrong.harm),
            &format!("a guard has rolled the canary back: leads {}", wrong.harm),
        )?;
        let rollout = self.rollout()?;
        let saved = rollout["saved"].as_u64().unwrap_or_default();
        terminal.claim(
            saved >= 3,
            &format!(
                "{saved} deliveries were given to {}, and saved by {RIGHT}",
                wrong.version
            ),
        )?;
        self.serves(RIGHT)?;
        println!(
            "\n{} leads have arrived meanwhile.",
            self.portal.sent() - before
        );
        self.unharmed()
    }
}
