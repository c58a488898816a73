//! A partner creates a deal with its contact, and with a conversation if there is a
//! message. The answer is known at the commit, and is stored in it.

use super::super::conversation::{self, ConversationOpening};
use super::super::notify;
use super::super::people::{self, PersonDetails};
use super::edit::{Before, DealChanges, answered, earlier_use, history};
use crate::decide::prelude::*;
use crate::{CreatedDeal, DealCreated, DealMessage, NewDeal};
use leadhost_domain::contact::SAID;
use leadhost_domain::deal::DealStage;
use leadhost_domain::said::INSTRUCTIONS;

/// Creates a deal, with its contact and, if there is a message, its conversation. A repeat
/// with the same idempotency key gets the same answer. A request that is refused changes
/// nothing.
pub fn create(set: &mut WorkingSet, new: &NewDeal) -> DealCreated {
    match earlier_use(set, new.idempotency.as_ref()) {
        Some(Before::Answered(answer)) => return DealCreated::Replayed(answer),
        Some(Before::Another) => return DealCreated::KeyReused,
        None => {}
    }
    let workspace = new.by.workspace;
    let id = new.external_id.clone();
    let external_id = id.map(|id| (workspace, new.by.partner, id));
    if let Some(id) = external_id.as_ref().and_then(|id| set.external_ids.get(id)) {
        return DealCreated::ExternalIdTaken(*id);
    }
    let product = product_of(set, new);
    if product.is_none() && new.product.is_some() && !new.bypass_product_check {
        return if names_two(set, new) {
            DealCreated::TwoProducts
        } else {
            DealCreated::NoProduct
        };
    }
    let found = people::find(set, workspace, &new.contact_keys);
    if new.message.is_some() && found.is_some_and(|id| people::is_banned(set, id)) {
        return DealCreated::Banned;
    }
    let phone = new.phone.as_ref().and_then(|phone| phone.e164.as_deref());
    let details = PersonDetails {
        keys: &new.contact_keys,
        name: Some(&new.name),
        email: new.email.as_deref(),
        phone_number: phone,
        ..PersonDetails::default()
    };
    let contact = people::find_or_create(set, workspace, &details);
    let mut props = new.props.clone();
    if let (None, Some(reference)) = (product, &new.product) {
        let named = [
            ("productId", reference.id.map(|id| json!(id))),
            (
                "productExternalId",
                reference.external_id.as_ref().map(|id| json!(id)),
            ),
        ];
        let named = named
            .into_iter()
            .filter_map(|(key, id)| Some((key.to_owned(), id?)));
        props.extend(named);
    }
    let of_message = new.message.as_ref().map(|message| message.channel.agent);
    let agent = new
        .agent
        .or(of_message)
        .or_else(|| set.first_agents.get(&workspace).copied());
    let mut changes = DealChanges::default();
    let (status, stage) = (DealStatus::Open, DealStage::FIRST);
    changes.note("status", Value::Null, json!(status.as_str()));
    changes.note("stage_code", Value::Null, json!(stage.as_str()));
    changes.note("product_id", Value::Null, json!(product));
    set.add_deal(
        new.id,
        DealRecord {
            agent,
            status,
            stage,
            props,
            product,
            external_id: new.external_id.clone(),
            partner: Some(new.by.partner),
            ..DealRecord::new(workspace, contact)
        },
    );
    set.external_ids.extend(external_id.map(|id| (id, new.id)));
    history(set, workspace, new.id, new.by.changed_by(), changes.0);
    let mut created = CreatedDeal {
        id: new.id,
        begun: None,
    };
    if let (Some(message), Some(recipient)) = (&new.message, phone) {
        let source = new.props.get("source").and_then(Value::as_str);
        let opening = ConversationOpening {
            contact,
            source,
            deal: Some(new.id),
            transfer: message.transfer,
            special_instructions: message.special_instructions.as_deref(),
            said: Some((new.by.partner, said(new, message))),
        };
        let conversation = conversation::for_sending(set, &message.channel, &opening);
        let place = (contact, conversation);
        notify::put(
            set,
            &message.channel,
            place,
            recipient,
            &message.message,
            None,
        );
        created.begun = Some((conversation, message.message.id));
    } else {
        conversation::adopt(set, new.id, new.agent);
    }
    let answer = (new.answer)(&created);
    answered(set, new.idempotency.as_ref(), &answer);
    DealCreated::Done(answer)
}

fn said(new: &NewDeal, message: &DealMessage) -> Map<String, Value> {
    let said = new.props.get(SAID).and_then(Value::as_object);
    let mut said = said.cloned().unwrap_or_default();
    let instructions = message.special_instructions.as_ref();
    said.extend(instructions.map(|text| (INSTRUCTIONS.to_owned(), json!(text))));
    said
}

/// Returns the product that both ids name, or the one that is given.
fn product_of(set: &WorkingSet, new: &NewDeal) -> Option<ProductId> {
    let workspace = new.by.workspace;
    let reference = new.product.as_ref()?;
    let by_external = |external_id: &String| {
        let key = (workspace, external_id.clone());
        set.products.get(&key).copied()
    };
    match (reference.id, &reference.external_id) {
        (None, None) => None,
        (None, Some(external_id)) => by_external(external_id),
        (Some(id), given) => {
            let external_id = set.product_ids.get(&(workspace, id))?;
            let agrees = given.as_ref().is_none_or(|given| given == external_id);
            agrees.then_some(id)
        }
    }
}

/// Returns whether each of the two ids names a product. They did not name the same one.
fn names_two(set: &WorkingSet, new: &NewDeal) -> bool {
    let workspace = new.by.workspace;
    let Some((Some(id), Some(external_id))) = new
        .product
        .as_ref()
        .map(|reference| (reference.id, reference.external_id.clone()))
    else {
        return false;
    };
    set.product_ids.contains_key(&(workspace, id))
        && set.products.contains_key(&(workspace, external_id))
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::*;
    use super::*;
    use crate::{NewMessage, ProductReference};

    fn done(created: DealCreated) -> Value {
        match created {
            DealCreated::Done(answer) => {
                assert_eq!(answer.status, 201);
                serde_json::from_str(&answer.body).expect("JSON")
            }
            other => panic!("not made: {other:?}"),
        }
    }

    fn with_message() -> NewDeal {
        let notification = notification();
        NewDeal {
            message: Some(DealMessage {
                channel: notification.channel,
                message: NewMessage {
                    id: MessageId::new(NOW),
                    ..notification.message
                },
                transfer: false,
                special_instructions: Some("be brief".to_owned()),
            }),
            ..new_deal()
        }
    }

    fn for_product(id: Option<ProductId>, external_id: Option<&str>) -> NewDeal {
        NewDeal {
            product: Some(ProductReference {
                id,
                external_id: external_id.map(str::to_owned),
            }),
            id: DealId::new(NOW),
            ..new_deal()
        }
    }

    #[test]
    fn a_new_deal_belongs_to_its_partner_and_is_open() {
        let set = &mut working_set();
        set.first_agents.insert(by().workspace, channel().agent);
        let new = NewDeal {
            external_id: Some("crm-7".to_owned()),
            props: [("source".to_owned(), json!("crm"))].into_iter().collect(),
            ..new_deal()
        };
        let id = new.id;
        let body = done(make(set, new));
        assert_eq!(body, json!({"id": id, "begun": null}));
        let made = deal(set, id);
        assert_eq!(
            (made.status, made.stage),
            (DealStatus::Open, DealStage::FIRST)
        );
        assert_eq!(made.partner, Some(by().partner));
        assert_eq!(made.agent, Some(channel().agent));
        assert_eq!(made.external_id.as_deref(), Some("crm-7"));
        assert_eq!(made.props["source"], json!("crm"));
        let contact = &set.contacts[&made.person];
        assert_eq!(contact.name.as_deref(), Some("Rita"));
        assert_eq!(set.changed_deals, [id]);
        assert_eq!(set.new_history.len(), 1);
        assert!(set.dialogue.conversations.is_empty());
    }

    #[test]
    fn a_deal_with_a_message_begins_a_conversation_that_the_worker_sends() {
        let set = &mut working_set();
        let mut new = with_message();
        new.props.insert("source".to_owned(), json!("crm"));
        let (id, sent) = (new.id, new.message.as_ref().map(|new| new.message.id));
        let sent = sent.expect("a message");
        let DealCreated::Done(answer) = make(set, new) else {
            panic!("not made");
        };
        let begun = conversation(set, sent);
        assert_eq!(begun.deal, Some(id));
        assert_eq!(begun.contact, deal(set, id).person);
        assert_eq!(begun.source.as_deref(), Some("crm"));
        assert_eq!(begun.props["specialInstructions"], json!("be brief"));
        assert!(!begun.transfer);
        let send = set.dialogue.live_send(sent).expect("it waits");
        assert_eq!((send.lease, send.lease_until), (0, None));
        let created = CreatedDeal {
            id,
            begun: Some((message(set, sent).conversation, sent)),
        };
        assert_eq!(answer, deal_answer(&created));
    }

    #[test]
    fn a_product_is_named_by_one_of_its_names_or_by_both() {
        let set = &mut working_set();
        stored_deal(set);
        for (id, external_id) in [
            (Some(product()), None),
            (None, Some("P-1")),
            (Some(product()), Some("P-1")),
        ] {
            let new = for_product(id, external_id);
            let made = new.id;
            done(make(set, new));
            assert_eq!(deal(set, made).product, Some(product()));
            assert!(deal(set, made).props.is_empty());
        }
    }

    #[test]
    fn an_unknown_product_refuses_the_deal_unless_the_check_is_bypassed() {
        let set = &mut working_set();
        stored_deal(set);
        let other = ProductId(uuid::Uuid::from_u128(9));
        let key = (by().workspace, "P-2".to_owned());
        set.products.insert(key, other);
        for (id, external_id, expect) in [
            (Some(product()), Some("P-2"), DealCreated::TwoProducts),
            (Some(product()), Some("P-3"), DealCreated::NoProduct),
            (None, Some("P-3"), DealCreated::NoProduct),
            (
                Some(ProductId(uuid::Uuid::from_u128(8))),
                None,
                DealCreated::NoProduct,
            ),
        ] {
            let new = || for_product(id, external_id);
            assert_eq!(make(set, new()), expect);
            assert!(set.changed_deals.is_empty() && set.new_history.is_empty());
            let bypassing = NewDeal {
                bypass_product_check: true,
                ..new()
            };
            let made = bypassing.id;
            done(make(set, bypassing));
            let made = deal(set, made);
            assert_eq!(made.product, None);
            let named = |key: &str| made.props.get(key).cloned();
            assert_eq!(named("productId"), id.map(|id| json!(id)));
            assert_eq!(named("productExternalId"), external_id.map(|id| json!(id)));
            saved(set);
        }
    }

    #[test]
    fn a_contact_who_opted_out_gets_a_deal_and_no_message() {
        let set = &mut working_set();
        let id = stored_deal(set);
        let person = deal(set, id).person;
        people::ban(set, person, NOW);
        saved(set);
        assert_eq!(make(set, with_message()), DealCreated::Banned);
        assert!(set.changed_deals.is_empty());
        let new = NewDeal {
            id: DealId::new(NOW),
            ..new_deal()
        };
        done(make(set, new));
    }

    #[test]
    fn a_repeated_request_gets_the_same_answer_and_creates_nothing() {
        let set = &mut working_set();
        let claimed = |fingerprint| NewDeal {
            id: DealId::new(NOW),
            idempotency: Some(claim("create-deal", fingerprint)),
            ..with_message()
        };
        let DealCreated::Done(first) = make(set, claimed("a")) else {
            panic!("not made");
        };
        assert_eq!(make(set, claimed("a")), DealCreated::Replayed(first));
        assert_eq!(make(set, claimed("b")), DealCreated::KeyReused);
        assert_eq!((set.deals.len(), set.dialogue.sends.len()), (1, 1));
        // On another route the same key is a different one.
        let mut elsewhere = claimed("b");
        elsewhere.idempotency = Some(claim("elsewhere", "b"));
        assert!(matches!(make(set, elsewhere), DealCreated::Done(_)));
    }

    #[test]
    fn an_external_id_is_of_one_deal_of_its_partner() {
        let set = &mut working_set();
        let named = || NewDeal {
            id: DealId::new(NOW),
            external_id: Some("crm-7".to_owned()),
            ..new_deal()
        };
        let first = NewDeal {
            idempotency: Some(claim("create-deal", "a")),
            ..named()
        };
        let id = first.id;
        let repeat = first.clone();
        done(make(set, first));
        assert_eq!(make(set, named()), DealCreated::ExternalIdTaken(id));
        assert!(matches!(make(set, repeat), DealCreated::Replayed(_)));
        let partner = PartnerId(uuid::Uuid::from_u128(9));
        let other = NewDeal {
            by: crate::ByPartner { partner, ..by() },
            ..named()
        };
        done(make(set, other));
        assert_eq!(set.deals.len(), 2);
    }

    #[test]
    fn a_refusal_is_not_kept_under_its_key() {
        let set = &mut working_set();
        let new = || NewDeal {
            idempotency: Some(claim("create-deal", "a")),
            ..for_product(None, Some("P-1"))
        };
        assert_eq!(make(set, new()), DealCreated::NoProduct);
        let key = (by().workspace, "P-1".to_owned());
        set.products.insert(key, product());
        done(make(set, new()));
    }
}
