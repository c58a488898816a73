//! A partner adds a log entry to a deal. All entries are kept; the deal shows the newest.

use super::super::working_set::NewLog;
use super::edit::{Before, DealChanges, answered, earlier_use, edited, history, is_edited, own};
use crate::decide::prelude::*;
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
    use crate::{ByPartner, StoredAnswer, Write};

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
            answer: note_answer,
        }
    }

    /// An answer that contains its inputs, so that a test can compare them.
    fn note_answer(created: &CreatedDealLog) -> StoredAnswer {
        StoredAnswer {
            status: 201,
            headers: Vec::new(),
            body: format!("{created:?}"),
        }
    }

    fn log(set: &mut WorkingSet, new: NewDealLog) -> DealLogged {
        match decide(set, Write::LogDeal(Box::new(new))) {
            WriteOutcome::DealLogged(logged) => logged,
            other => panic!("no note: {other:?}"),
        }
    }

    fn shown(set: &WorkingSet, id: DealId) -> Vec<&str> {
        let logs = deal(set, id).props[LOGS].as_array().expect("a list");
        logs.iter()
            .map(|log| log["subject"].as_str().expect("text"))
            .collect()
    }

    #[test]
    fn a_note_is_kept_whole_and_shown_in_part() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let new = note(id, "sold");
        let note_id = new.id;
        let DealLogged::Done(answer) = log(set, new) else {
            panic!("not kept");
        };
        let created = CreatedDealLog {
            id: note_id,
            deal: id,
            created_at: set.now,
        };
        assert_eq!(answer, note_answer(&created));
        assert_eq!(
            deal(set, id).props[LOGS],
            json!([{
                "id": note_id, "type": "success", "subject": "sold",
                "metadata": {"salesPrice": "100.00"}, "createdAt": set.now
            }])
        );
        assert_eq!(set.changed_deals, [id]);
        assert_eq!(set.new_history.len(), 1);
        let kept = &set.new_logs[0];
        assert_eq!(kept.description.as_deref(), Some("all of it"));
        assert_eq!((kept.id, kept.deal), (note_id, id));
    }

    #[test]
    fn the_newest_five_are_shown_newest_first_and_all_are_kept() {
        let set = &mut working_set();
        let id = stored_deal(set);
        for subject in ["1", "2", "3", "4", "5", "6"] {
            log(set, note(id, subject));
        }
        assert_eq!(shown(set, id), ["6", "5", "4", "3", "2"]);
        assert_eq!(set.new_logs.len(), 6);
        assert_eq!(set.changed_deals, [id]);
    }

    #[test]
    fn a_property_of_the_source_is_not_a_log_entry() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let deal = set.deals.get_mut(&id).expect("it is there");
        let theirs = json!([{"subject": "theirs"}]);
        deal.props.insert(LOGS.to_owned(), theirs);
        log(set, note(id, "ours"));
        assert_eq!(shown(set, id), ["ours"]);
    }

    #[test]
    fn another_partners_deal_is_as_unknown_as_a_missing_one() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let other = uuid::Uuid::from_u128(9);
        let partner = PartnerId(other);
        let wrong = NewDealLog {
            by: ByPartner { partner, ..by() },
            ..note(id, "sold")
        };
        assert_eq!(log(set, wrong), DealLogged::NoDeal);
        let wrong = note(DealId(other), "sold");
        assert_eq!(log(set, wrong), DealLogged::NoDeal);
        assert!(set.new_logs.is_empty() && set.changed_deals.is_empty());
    }

    #[test]
    fn a_repeated_request_gets_the_same_answer_and_logs_nothing() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let claimed = |fingerprint| NewDealLog {
            idempotency: Some(claim("log-deal", fingerprint)),
            ..note(id, "sold")
        };
        let DealLogged::Done(first) = log(set, claimed("a")) else {
            panic!("not kept");
        };
        assert_eq!(log(set, claimed("a")), DealLogged::Replayed(first));
        assert_eq!(log(set, claimed("b")), DealLogged::KeyReused);
        assert_eq!(set.new_logs.len(), 1);
    }
}
