//! The contact of a lead.

use super::world::*;

pub async fn two_leads_of_one_batch_with_one_phone_are_one_person(world: &World) {
    let new = || lead(with_phone(world.lead(), "+551191"));
    let outcome = world.deliver(vec![new(), new()]).await;
    assert_eq!(outcome.items[0].contact_id, outcome.items[1].contact_id);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
}

pub async fn only_the_empty_fields_of_a_known_person_are_filled(world: &World) {
    let mut first = with_phone(world.lead(), "+551191");
    first.name = Some("Rita".to_owned());
    first.contact_props = object(json!({"city": "Recife", "age": null}));
    world.bring(first).await;
    world.advance(5).await;
    let mut second = with_email(with_phone(world.lead(), "+551191"), "rita@example.com");
    second.name = Some("Somebody".to_owned());
    second.contact_props = object(json!({"city": "Natal", "age": 40}));
    world.bring(second).await;
    let contacts = world.all(Entity::Contacts).await;
    fields!(contacts[0], {
        "name": "Rita", "email": "rita@example.com", "props": {"city": "Recife", "age": 40},
        "cursor_at": world.now(),
    });
}

pub async fn a_person_without_new_data_gets_no_stamp(world: &World) {
    world.bring(with_phone(world.lead(), "+551191")).await;
    let before = world.clock(Entity::Contacts).await;
    world.advance(5).await;
    world.bring(with_phone(world.lead(), "+551191")).await;
    let after = world.clock(Entity::Contacts).await;
    assert_eq!(before, after);
}

pub async fn an_address_finds_a_person_when_one_of_the_two_has_no_phone(world: &World) {
    let by_mail = || with_email(world.lead(), "casa@example.com");
    let mail_only = world.bring(by_mail()).await;
    let with_first_phone = world.bring(with_phone(by_mail(), "+551191")).await;
    assert_eq!(with_first_phone.contact_id, mail_only.contact_id);
    // Two people who share an address, each with their own phone.
    let other_phone = world.bring(with_phone(by_mail(), "+551192")).await;
    assert_ne!(other_phone.contact_id, mail_only.contact_id);
    let mail_again = world.bring(by_mail()).await;
    assert_eq!(mail_again.contact_id, mail_only.contact_id);
    let phone_only = world.bring(with_phone(world.lead(), "+551191")).await;
    assert_eq!(
        phone_only.contact_id, mail_only.contact_id,
        "the key was added"
    );
}

pub async fn a_phone_decides_before_an_address(world: &World) {
    let by_mail = world.bring(with_email(world.lead(), "a@example.com")).await;
    let by_phone = world.bring(with_phone(world.lead(), "+551191")).await;
    let both = with_email(with_phone(world.lead(), "+551191"), "a@example.com");
    let both = world.bring(both).await;
    assert_eq!(both.contact_id, by_phone.contact_id);
    assert_ne!(both.deal_id, by_phone.deal_id);
    assert_ne!(both.contact_id, by_mail.contact_id);
}

pub async fn an_impossible_phone_is_no_phone(world: &World) {
    let mut new = world.lead();
    new.phones.push(leadhost_domain::phone::Phone {
        raw: "12".to_owned(),
        e164: None,
        match_key: None,
    });
    world.bring(new).await;
    let contacts = world.all(Entity::Contacts).await;
    assert_eq!(contacts[0]["phone_number"], json!(null));
}

pub async fn contacts_of_two_workspaces_are_separate(world: &World) {
    let new = with_phone(world.known_as("L1"), "+551191");
    let here = world.bring(new.clone()).await;
    let other = world.elsewhere("other").await;
    let connection = other.connections["site"].clone();
    let delivery = NewDelivery {
        workspace: other.workspace_id,
        connection: connection.clone(),
        ..world.delivery()
    };
    let items = vec![lead(NewLead { connection, ..new })];
    let there = world.commit_one(world.accept_as(delivery, items)).await;
    assert_ne!(there.items[0].contact_id, here.contact_id);
    assert_ne!(there.items[0].deal_id, here.deal_id);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
    let scope = scope(&world.store, other.workspace_id).await;
    let page = world.export(&scope, Entity::Deals, 0, None, 10).await;
    let rows = json_of(&page.unwrap());
    assert_eq!(rows.len(), 1);
    fields!(rows[0], {"id": there.items[0].deal_id, "agent_id": other.instances["Ana"]});
}
