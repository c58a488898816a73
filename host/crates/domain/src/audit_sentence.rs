//! A row of the audit as a sentence. The words of an act are its verb and its object, so that the acts of other
//! versions of the service are sentences, too.

use serde_json::Value;

use super::audit::{ActOutcome, AuditRow};
use super::plugin::Digest;
use super::text::noun;
use super::time::Micros;

/// The verbs whose past does not end in `ed`, and those that have other words here.
const VERBS: [(&str, [&str; 2]); 10] = [
    ("apply", ["apply", "applied"]),
    ("next", ["take", "took"]),
    ("play", ["simulate", "simulated"]),
    ("put", ["set", "set"]),
    ("rebuild", ["rebuild", "rebuilt"]),
    ("roll-back", ["roll back", "rolled back"]),
    ("run", ["run", "ran"]),
    ("sync", ["read", "read"]),
    ("undo", ["undo", "undid"]),
    ("verify", ["compare", "compared"]),
];

/// The objects that have other words here.
const OBJECTS: [(&str, &str); 6] = [
    ("", "workspace file"),
    ("audit", "old rows"),
    ("etl", "counts of analytics"),
    ("golden", "golden cases"),
    ("rollout-step", "next rollout step"),
    ("upload", "component"),
];

/// The members of the detail that the sentence has.
pub const SAID: [&str; 4] = ["reason", "count", "since", "version"];

impl AuditRow {
    /// Returns the label of the key, or its id: rows of former releases have no label if the key has none.
    pub fn actor(&self) -> String {
        match (self.label.trim(), self.key_id) {
            ("", Some(key)) => key.to_string(),
            _ => self.label.clone(),
        }
    }

    /// Returns who did what (`ana rolled back the plugin portal to 1.0.0 (3f9c01ab42de)`), and what is known of the
    /// outcome beside its word, which may be nothing.
    pub fn sentence(&self) -> (String, String) {
        let detail: Value = serde_json::from_str(&self.detail).unwrap_or_default();
        let [verb, past, object] = words(&self.act);
        let verb = match self.outcome {
            ActOutcome::Done => past,
            ActOutcome::Begun => format!("began to {verb}"),
            _ => format!("tried to {verb}"),
        };
        let what = named(&object, &self.target, &detail);
        let to = version(&object, &detail).map(|version| {
            if self.act.starts_with("roll-back") {
                format!(" to {version}")
            } else {
                format!(" {version}")
            }
        });
        let act = format!("{} {verb} {what}{}", self.actor(), to.unwrap_or_default());
        (act, self.more(&detail))
    }

    fn more(&self, detail: &Value) -> String {
        if self.outcome == ActOutcome::Begun {
            return "no outcome is known: it is still running, or the service stopped or the client left before its end".to_owned();
        }
        let mut parts: Vec<String> = Vec::new();
        let apply = detail.get("apply").or(detail["plan"].get("apply"));
        if detail["dryRun"] == true || apply.is_some_and(|apply| apply == false) {
            parts.push("as a dry run, which changes nothing".to_owned());
        }
        if let Some(count) = detail["count"].as_u64() {
            let since: Micros = serde_json::from_value(detail["since"].clone()).unwrap_or(self.at);
            let since = since.to_the_second().replace('T', " ");
            let times = noun(&count, "time", "times");
            parts.push(format!(
                "{count} {times} since {}",
                since.replace('Z', " UTC")
            ));
        }
        parts.extend(detail["reason"].as_str().map(str::to_owned));
        parts.join(": ")
    }
}

/// Returns the verb, its past, and the object of an act.
fn words(act: &str) -> [String; 3] {
    for (word, [verb, past]) in VERBS {
        let rest = act.strip_prefix(word);
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('-')) {
            return [verb, past, rest.trim_start_matches('-')].map(str::to_owned);
        }
    }
    let (verb, object) = act.split_once('-').unwrap_or((act, ""));
    let past = format!("{}ed", verb.strip_suffix('e').unwrap_or(verb));
    [verb.to_owned(), past, object.to_owned()]
}

/// Returns the object with its name.
fn named(object: &str, target: &str, detail: &Value) -> String {
    let known = OBJECTS.iter().find(|(word, _)| *word == object);
    let what = known.map_or_else(|| object.replace('-', " "), |(_, what)| (*what).to_owned());
    // A repair is known by its id, and a file of the inbox by its plugin.
    let names = ["repair", "plugin", "label", "contactId", "workspace"];
    let mut names = names
        .iter()
        .filter(|name| target.is_empty() || **name == object);
    let name = names
        .find_map(|name| detail[*name].as_str())
        .unwrap_or(target);
    match name {
        "" if what.ends_with('s') => what,
        "" => format!("a {what}"),
        name if object.is_empty() || what.ends_with('s') || what.contains("rollout") => {
            format!("the {what} of {name}")
        }
        name => format!("the {what} {name}"),
    }
}

/// Returns the version of a plugin that the act was about.
fn version(object: &str, detail: &Value) -> Option<String> {
    let digest = Digest(detail["digest"].as_str()?.to_owned());
    match (object, detail["version"].as_str()) {
        ("plugin", Some(version)) => Some(format!("{version} ({})", digest.short())),
        ("plugin" | "rollout", _) => Some(digest.short().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Act, AuditActor, OperatorAct, SERVICE};

    fn row(act: &str, target: &str, outcome: ActOutcome, detail: &Value) -> AuditRow {
        let by = AuditActor {
            label: "ana".to_owned(),
            ..AuditActor::service(SERVICE)
        };
        let done = Act::done(by, Micros(0), (OperatorAct::Apply, target), detail);
        let act = Act {
            act: act.to_owned(),
            outcome,
            ..done
        };
        AuditRow::new(None, act)
    }

    /// The act, its target (`-` for none), its outcome and its detail; then the sentence.
    const SENTENCES: &str = r#"
roll-back-plugin portal done {"digest": "3f9c01ab42de7716", "version": "1.0.0"}
    ana rolled back the plugin portal to 1.0.0 (3f9c01ab42de): done
roll-back-plugin portal done {"digest": "3f9c01ab42de7716"}
    ana rolled back the plugin portal to 3f9c01ab42de: done
activate-plugin 3f9c01ab42de7716 done {"digest": "3f9c01ab42de7716", "version": "2.0.0", "plugin": "portal"}
    ana activated the plugin portal 2.0.0 (3f9c01ab42de): done
activate-plugin portal refused {"status": 409, "reason": "a rollout is open"}
    ana tried to activate the plugin portal: refused: a rollout is open
roll-back-plugin portal refused {"count": 312, "since": "2026-03-02T12:15:30.000000Z", "reason": "needs the role operator"}
    ana tried to roll back the plugin portal: refused: 312 times since 2026-03-02 12:15:30 UTC: needs the role operator
pause-connection form begun {}
    ana began to pause the connection form: begun: no outcome is known: it is still running, or the service stopped or the client left before its end
apply - done {"workspace": "acme", "dryRun": true}
    ana applied the workspace file of acme: done: as a dry run, which changes nothing
apply - failed {}
    ana tried to apply a workspace file: failed
import-products acme partly-done {}
    ana tried to import the products of acme: partly-done
create-key - done {"label": "night shift"}
    ana created the key night shift: done
start-rollout portal done {"digest": "3f9c01ab42de7716"}
    ana started the rollout of portal 3f9c01ab42de: done
next-rollout-step portal done {}
    ana took the next rollout step of portal: done
put-owners acme done {}
    ana set the owners of acme: done
verify-upload portal done {"plugin": "portal"}
    ana compared the component portal: done
undo-repair 019c done {}
    ana undid the repair 019c: done
end-repair portal done {"repair": "019c"}
    ana ended the repair 019c: done
replay-deliveries - done {"apply": false}
    ana replayed deliveries: done: as a dry run, which changes nothing
export-golden 019c done {}
    ana exported the golden cases of 019c: done
sync-templates bot done {}
    ana read the templates of bot: done
remove-audit - done {}
    ana removed old rows: done
"#;

    #[test]
    fn a_row_is_a_sentence() {
        let lines: Vec<&str> = SENTENCES.trim().lines().collect();
        for case in lines.chunks(2) {
            let words: Vec<&str> = case[0].splitn(4, ' ').collect();
            let outcome = words[2].parse().expect("an outcome");
            let detail = serde_json::from_str(words[3]).expect("JSON");
            let target = words[1].trim_start_matches('-');
            let (act, more) = row(words[0], target, outcome, &detail).sentence();
            let said = format!("{act}: {outcome}: {more}");
            assert_eq!(said.trim_end_matches(": "), case[1].trim());
        }
    }
}
