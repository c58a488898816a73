//! The lookup of deals.

use leadhost_domain::contact::phone_key;
use leadhost_domain::deal::DealView;

use super::*;

/// Finds deals of many megabytes, which a database on a busy machine may not read within the deadline.
async fn find_long(world: &World, filter: &DealFilter) -> Vec<DealView> {
    until(
        "the database reads them within its deadline",
        async || match world.deals(&world.scope, filter, 100).await {
            Err(StoreError::Unavailable(_)) => None,
            found => Some(found.expect("it reads").deals),
        },
    )
    .await
}

pub async fn a_deal_is_four_objects_with_nulls(world: &World) {
    let shown = async |deal| {
        let filter = DealFilter {
            deal,
            ..Default::default()
        };
        json!(found(world, &filter).await[0])
    };
    let new = with_email(world.known_as("L1"), "rita@example.com");
    let mut new = with_phone(new, "+551191");
    new.name = Some("Rita".to_owned());
    new.products = vec!["P-1".to_owned()];
    new.deal_props = object(json!({"message": "Oi"}));
    let item = world.bring(new).await;
    let whole = shown(item.deal_id).await;
    let product = whole["property"]["id"].text();
    let expect = json!({
        "deal": {
            "id": item.deal_id, "status": "open", "stageCode": "in_qualification",
            "createdAt": START, "updatedAt": START,
            "ownerId": null, "ownerName": null, "ownerEmail": null,
            "props": {"message": "Oi", "externalIntegrationId": "L1"}
        },
        "person": {
            "id": item.contact_id, "name": "Rita", "email": "rita@example.com",
            "phoneNumber": "+551191"
        },
        "property": {"id": product, "name": "Garden flat", "externalId": "P-1"},
        "agent": {"id": world.first_agent, "name": "Ana", "number": "+5511900000001"}
    });
    assert_eq!(whole, expect);
    let bare = world.bring(world.lead()).await;
    fields!(shown(bare.deal_id).await, {
        "property": {"id": null, "name": null, "externalId": null},
        "deal.props": {"externalIntegrationId": null}, "person.phoneNumber": null,
    });
}

pub async fn deals_are_found_by_each_filter_newest_first(world: &World) {
    let new = || with_phone(world.known_as("L1"), "+551191");
    let first = world.bring(with_email(new(), "Rita@example.com")).await;
    world.advance(1).await;
    let mut second = new();
    second.external_id = Some("L2".to_owned());
    second.dedupe = None;
    let second = world.bring(second).await;
    let (first, second) = (first.deal_id.unwrap(), second.deal_id.unwrap());
    let newest_first = [second.to_string(), first.to_string()];
    let filter = |text: &str| {
        let mut filter = DealFilter::default();
        for part in text.split(' ') {
            match part.split_once('=').expect("a value") {
                ("phone", number) => filter.phone_key = Some(phone_key(number)),
                ("email", email) => filter.email = Some(email.to_owned()),
                ("id", id) => filter.external_id = Some(id.to_owned()),
                (_, deal) => filter.deal = Some(deal.parse().expect("an id")),
            }
        }
        filter
    };
    // All given conditions must hold.
    let both = "phone=+551191 email=rita@example.com id=L2";
    for (text, expect) in [
        ("phone=+551191", &newest_first[..]),
        ("email=rita@example.com", &newest_first),
        (&format!("deal={first}"), &newest_first[1..]),
        ("id=L2", &newest_first[..1]),
        (both, &newest_first[..1]),
        (&format!("{both} deal={first}"), &[]),
        (&both.replace("91", "99"), &[]),
        ("phone=+551199", &[]),
        (&format!("deal={}", DealId::new(START)), &[]),
        ("email=x@example.com", &[]),
    ] {
        let found = found(world, &filter(text)).await;
        assert_eq!(ids(&found), expect, "{text}");
    }
    let limited = filter("phone=+551191");
    let limited = world.deals(&world.scope, &limited, 1).await.unwrap();
    assert_eq!(ids(&limited.deals), newest_first[..1]);
    assert!(limited.more);
}

pub async fn an_address_that_two_people_share_finds_the_deals_of_both(world: &World) {
    let of = |external_id: &str, phone: &str, emails: &[&str]| {
        let mut new = with_phone(world.known_as(external_id), phone);
        for email in emails {
            new = with_email(new, email);
        }
        lead(new)
    };
    let shared = "family@example.com";
    let first = world.item(of("L1", "+551191", &[shared])).await;
    world.advance(1).await;
    let second = world.item(of("L2", "+551192", &[shared])).await;
    world.advance(1).await;
    // Its own address comes first, and is the one that is shown.
    let third = world
        .item(of("L3", "+551193", &["own@example.com", shared]))
        .await;
    let people = [&first, &second, &third].map(|item| item.contact_id.expect("a person"));
    assert!(people[0] != people[1] && people[1] != people[2] && people[0] != people[2]);
    let [first, second, third] =
        [first, second, third].map(|item| item.deal_id.expect("a deal").to_string());
    let by = |phone: Option<&str>, email: Option<&str>| DealFilter {
        phone_key: phone.map(phone_key),
        email: email.map(str::to_owned),
        ..Default::default()
    };
    for (phone, email, expect) in [
        (None, shared, &[&third[..], &second, &first][..]),
        (Some("+551192"), shared, &[&second]),
        (None, "own@example.com", &[&third]),
    ] {
        let found = ids(&found(world, &by(phone, Some(email))).await);
        assert_eq!(found, expect, "{phone:?} {email}");
    }
    // Page by page it is the same.
    let mut filter = by(None, Some(shared));
    let mut paged = Vec::new();
    loop {
        let page = world.deals(&world.scope, &filter, 1).await.unwrap();
        assert_eq!(page.deals.len(), 1);
        paged.extend(ids(&page.deals));
        if !page.more {
            break;
        }
        filter.before = paged.last().map(|id| id.parse().expect("an id"));
    }
    assert_eq!(paged, [third, second, first]);
}

pub async fn the_newest_of_long_deals_are_shown(world: &World) {
    let text = "x".repeat(limits::DEALS_BYTES / 3);
    let items = (0..4).map(|number| {
        let mut new = with_phone(world.known_as(&format!("L{number}")), "+551191");
        new.deal_props = object(json!({"message": text}));
        lead(new)
    });
    let outcome = world.long_items(items.collect()).await;
    let filter = DealFilter {
        phone_key: Some(phone_key("+551191")),
        ..Default::default()
    };
    let deals = outcome.items.iter().map(|item| item.deal_id.unwrap());
    let mut newest: Vec<_> = deals.map(|deal| deal.to_string()).collect();
    newest.sort_by(|one, other| other.cmp(one));
    assert_eq!(ids(&find_long(world, &filter).await), newest[..2]);
    world.advance(1).await;
    // A deal longer than the bound for a page is shown alone, and the store still
    // works.
    let mut new = with_phone(world.known_as("L9"), "+551191");
    new.deal_props = object(json!({"message": text.repeat(4)}));
    let outcome = world.long_items(vec![lead(new)]).await;
    let longest = outcome.items[0].deal_id.unwrap();
    assert_eq!(ids(&find_long(world, &filter).await), [longest.to_string()]);
    assert_eq!(find_long(world, &filter).await.len(), 1);
}
