//! A partner adds a log entry to a deal. All entries are kept; the deal shows the newest.

use serde_json::{Value, json};

use super::super::working_set::{NewLog, WorkingSet};
use super::edit::{Before, DealChanges, answered, earlier_use, edited, history, is_edited, own};
use crate::{CreatedDealLog, DealLogged, NewDealLog};
use leadhost_domain::deal::{LOGS, LOGS_SHOWN};

/// Adds a log entry to a partner's deal. A repeat with the same idempotency key gets the same
/// answer.
pub fn log(set: &mut WorkingSet, new: &NewDealLog) -> DealLogged {
    match earlier_use(set, new.idempotency.as_ref()) {
        Some(Before::Answered(answer)) => return DealLogged::Replayed(answer),
        Some(Before::Another) => return DealLogged::KeyReused,
        None => {}
    }
    let now = set.now;
    let Some(deal) = own(set, &new.by, new.deal) else {
        return DealLogged::NoDeal;
    };
    let field = format!("props.{LOGS}");
    // A source may have set a property of that name. It is not a log entry.
    let before = Some(&deal.props).filter(|_| is_edited(deal, &field));
    let before = before.and_then(|props| props.get(LOGS)).cloned();
    let mut logs = vec![json!({
        "id": new.id,
        "type": new.kind,
        "subject": new.subject,
        "metadata": new.metadata,
        "createdAt": now,
    })];
    let older = before.as_ref().and_then(Value::as_array);
    logs.extend(older.into_iter().flatten().take(LOGS_SHOWN - 1).cloned());
    deal.props.insert(LOGS.to_owned(), Value::Array(logs));
    edited(deal, &field);
    set.touch_deal(new.deal);
    let mut changes = DealChanges::default();
    changes.note("log", Value::Null, json!(new.id));
    history(
        set,
        new.by.workspace,
        new.deal,
        new.by.changed_by(),
        changes.0,
    );
    set.new_logs.push(NewLog {
        by: new.by,
        deal: new.deal,
        id: new.id,
        kind: new.kind.clone(),
        subject: new.subject.clone(),
        description: new.description.clone(),
        metadata: new.metadata.clone(),
    });
    let answer = (new.answer)(&CreatedDealLog {
        id: new.id,
        deal: new.deal,
        created_at: now,
    });
    answered(set, new.idempotency.as_ref(), &answer);
    DealLogged::Done(answer)
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::*;
    use super::*;
    use crate::{StoredAnswer, Write, WriteOutcome};
    use leadhost_domain::id::{DealId, DealLogId};

    fn note(deal: DealId, subject: &str) -> NewDealLog {
        NewDealLog {
            by: by(),
            deal,
            id: DealLogId::new(NOW),
            kind: "success".to_owned(),
            subject: subject.to_owned(),
            description: Some("all of it".to_owned()),
            metadata: [("salesPrice".to_owned(), json!("100.00"))]
                .into_iter()
                .collect(),
            idempotency: None,
            answer: |_| StoredAnswer {
                status: 201,
                headers: Vec::new(),
                body: String::new(),
            },
        }
    }

    fn log(set: &mut WorkingSet, new: NewDealLog) -> DealLogged {
        match decide(set, Write::LogDeal(Box::new(new))) {
            WriteOutcome::DealLogged(logged) => logged,
            other => panic!("no note: {other:?}"),
        }
    }

    #[test]
    fn a_property_of_the_source_is_not_a_log_entry() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let deal = set.deals.get_mut(&id).expect("it is there");
        let theirs = json!([{"subject": "theirs"}]);
        deal.props.insert(LOGS.to_owned(), theirs);
        log(set, note(id, "ours"));
        let logs = set.deals[&id].props[LOGS].as_array().expect("a list");
        assert_eq!((logs.len(), &logs[0]["subject"]), (1, &json!("ours")));
    }
}
