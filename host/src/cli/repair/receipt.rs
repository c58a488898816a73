use crate::cli::prelude::*;
use leadhost_admin_api::repairs::{RepairUndoView, RepairView, RepairedDeliveries, RepairedRows};
use leadhost_domain::repair::RepairState;

pub fn show(repair: &RepairView, flags: &ServiceFlags) {
    for line in lines(repair, flags) {
        say(&safe(&line));
    }
}

fn lines(repair: &RepairView, flags: &ServiceFlags) -> Vec<String> {
    let facts = &repair.facts;
    let (id, state) = (facts.id, facts.state);
    let mut lines = vec![format!(
        "Repair {id} of the deliveries that {} converted: {state}.",
        facts.version_named()
    )];
    lines.push(format!(
        "Started by {} at {}.",
        facts.started_by,
        seconds(facts.started_at)
    ));
    if let Some(why) = &facts.why {
        let begin = match state {
            RepairState::Incomplete => "Not everything is repaired",
            _ => "It ended early",
        };
        lines.push(format!("{begin}: {why}."));
    }
    if facts.found == Some(0) && facts.deliveries.sum() == 0 {
        lines.push("No stored delivery was converted last by the version: there is nothing to repair. Deliveries past their retention are no longer stored.".into());
        return lines;
    }
    lines.push(deliveries(facts.found, &facts.deliveries));
    lines.push(changes(repair));
    lines.extend(repair.undo.as_ref().map(undone));
    lines.extend(staying(repair));
    let is_any = repair.deals.rows + repair.contacts.rows + repair.created > 0;
    let ended = state.stands();
    let command = |words: &str| flags.command(&format!("repair {words} {id}"));
    if state.is_open() {
        lines.push(format!("To end it: `{}`", command("cancel")));
    } else if ended && is_any && facts.apply {
        let what = match &repair.undo {
            None => "the changes",
            Some(_) => "the changes that are left",
        };
        lines.push(format!("To take {what} back: `{}`", command("undo")));
    } else if ended && is_any {
        lines.push("Nothing was written: run the same command with --apply to do so.".to_owned());
    }
    lines
}

fn deliveries(found: Option<u64>, deliveries: &RepairedDeliveries) -> String {
    let replayed = deliveries.replayed;
    let others = deliveries.others();
    let others: Vec<String> = others
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let of = found.map_or(String::new(), |found| format!(" of {found}"));
    let noun = if found == Some(1) {
        "delivery"
    } else {
        "deliveries"
    };
    if others.is_empty() {
        format!("Replayed {replayed}{of} {noun}.")
    } else {
        format!("Replayed {replayed}{of} {noun}; {}.", others.join(", "))
    }
}

fn changes(repair: &RepairView) -> String {
    let contacts = rows(&repair.contacts, "contact", "contacts");
    let deals = rows(&repair.deals, "deal", "deals");
    let created = count(repair.created, "deal", "deals");
    let is_written = repair.facts.apply;
    let mut parts = vec![match is_written {
        true => format!("Changed {contacts} and {deals}"),
        false => format!("It would change {contacts} and {deals}"),
    }];
    if repair.created > 0 {
        parts.push(if is_written {
            format!("created {created}")
        } else {
            format!("create {created}")
        });
    }
    if repair.merged > 0 {
        let merged = count(repair.merged, "contact", "contacts");
        parts.push(format!("merged {merged} into others"));
    }
    let kept = repair.facts.kept;
    if kept > 0 {
        parts.push(count(
            kept,
            "field that a person edited is kept",
            "fields that people edited are kept",
        ));
    }
    format!("{}.", parts.join("; "))
}

/// Returns a text such as `2 deals (person 2, title 1)`.
fn rows(rows: &RepairedRows, one: &str, many: &str) -> String {
    let fields = rows.fields.iter();
    let fields: Vec<String> = fields.map(|(name, n)| format!("{name} {n}")).collect();
    let rows = count(rows.rows, one, many);
    match fields.as_slice() {
        [] => rows,
        fields => format!("{rows} ({})", fields.join(", ")),
    }
}

/// Returns the changes that could not be undone, each with its reason.
fn staying(repair: &RepairView) -> Vec<String> {
    let all = repair.undo.as_ref().map_or(0, |undo| undo.stays);
    let lines = repair.staying.iter();
    let mut lines: Vec<String> = lines
        .map(|one| {
            let (kind, row, field) = (one.kind, one.row_id, &one.field);
            format!("  {kind} {row}, {field}: {}.", one.why)
        })
        .collect();
    let more = all.saturating_sub(repair.staying.len() as u64);
    if more > 0 {
        let id = repair.facts.id;
        lines.push(format!(
            "  and {more} more: `stays` in `leadhost repair show {id} --changes`."
        ));
    }
    lines
}

fn undone(undo: &RepairUndoView) -> String {
    let mut parts = vec![format!(
        "Undone: {}",
        count(undo.undone, "change", "changes")
    )];
    if undo.changed_since > 0 {
        parts.push(format!(
            "{} changed since, or gone, and stay as they are",
            undo.changed_since
        ));
    }
    if undo.stays > 0 {
        parts.push(format!("{} cannot be undone and are kept", undo.stays));
    }
    if undo.in_use > 0 {
        parts.push(format!(
            "{} of match keys that another lead names, which stay",
            undo.in_use
        ));
    }
    if undo.left > 0 {
        parts.push(format!("{} left", undo.left));
    }
    format!("{}.", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn repair() -> RepairView {
        serde_json::from_value(json!({
            "id": Uuid::nil(), "plugin": "portal", "convertedBy": "0123456789abcdef",
            "version": "1.1.0", "apply": true, "state": "done", "startedBy": "ana",
            "startedAt": Micros(0), "endedAt": Micros(0), "found": 31, "kept": 1,
            "deliveries": RepairedDeliveries {
                replayed: 30,
                gone: 1,
                ..RepairedDeliveries::default()
            },
            "deals": RepairedRows::default(),
            "contacts": {"rows": 30, "fields": {"phone_number": 30}},
            "created": 0, "merged": 0, "staying": [],
        }))
        .expect("a repair")
    }

    fn undo(changed_since: u64, stays: u64, in_use: u64, left: u64) -> Option<RepairUndoView> {
        Some(RepairUndoView {
            undone: 28,
            changed_since,
            stays,
            in_use,
            left,
        })
    }

    #[test]
    fn a_receipt_counts_rows_and_fields_and_names_the_undo() {
        let shown = lines(&repair(), &ServiceFlags::default());
        assert_eq!(shown[2], "Replayed 30 of 31 deliveries; 1 gone.");
        let changed = "Changed 30 contacts (phone_number 30) and 0 deals; 1 field that a person edited is kept.";
        assert_eq!(shown[3], changed);
        assert!(shown[4].contains("leadhost repair undo "), "{shown:?}");
    }

    #[test]
    fn a_repair_without_apply_says_that_it_wrote_nothing() {
        let mut repair = repair();
        repair.facts.apply = false;
        repair.created = 2;
        let shown = lines(&repair, &ServiceFlags::default());
        assert!(
            shown[3].starts_with("It would change 30 contacts"),
            "{shown:?}"
        );
        assert!(shown[3].contains("create 2 deals"), "{shown:?}");
        assert!(shown[4].starts_with("Nothing was written"), "{shown:?}");
    }

    #[test]
    fn an_undo_counts_the_changes_that_stay() {
        let mut repair = repair();
        repair.facts.state = RepairState::Undone;
        repair.undo = undo(2, 0, 1, 0);
        let shown = lines(&repair, &ServiceFlags::default());
        let undone = "Undone: 28 changes; 2 changed since, or gone, and stay as they are; 1 of match keys that another lead names, which stay.";
        assert_eq!(shown.last().map(String::as_str), Some(undone));
    }

    #[test]
    fn a_change_that_an_undo_leaves_is_shown_with_the_reason() {
        let mut repair = repair();
        repair.facts.state = RepairState::Undone;
        repair.undo = undo(0, 3, 0, 0);
        let deal = Uuid::max();
        let staying = json!([{
            "number": 7, "workspaceId": Uuid::nil(), "kind": "deal", "rowId": deal,
            "field": "deal.created", "why": "an undo removes no deal",
        }]);
        repair.staying = serde_json::from_value(staying).expect("a change");
        let shown = lines(&repair, &ServiceFlags::default());
        assert_eq!(
            shown[4],
            "Undone: 28 changes; 3 cannot be undone and are kept."
        );
        let line = format!("  deal {deal}, deal.created: an undo removes no deal.");
        assert_eq!(shown[5], line);
        assert!(shown[6].starts_with("  and 2 more"), "{shown:?}");
    }

    #[test]
    fn an_undo_that_ended_early_names_the_command_for_the_rest() {
        let mut repair = repair();
        repair.facts.state = RepairState::Cancelled;
        repair.facts.why = Some("an operator cancelled its undo".to_owned());
        repair.undo = undo(0, 0, 0, 2);
        let shown = lines(&repair, &ServiceFlags::default());
        assert!(shown[2].contains("cancelled its undo"), "{shown:?}");
        assert_eq!(shown[5], "Undone: 28 changes; 2 left.");
        assert!(shown[6].contains("changes that are left"), "{shown:?}");
        assert!(shown[6].contains("leadhost repair undo "), "{shown:?}");
    }

    #[test]
    fn a_version_that_converted_nothing_leaves_nothing_to_repair() {
        let mut repair = repair();
        repair.facts.found = Some(0);
        repair.facts.deliveries = RepairedDeliveries::default();
        let shown = lines(&repair, &ServiceFlags::default());
        assert!(shown[2].contains("nothing to repair"), "{shown:?}");
    }
}
