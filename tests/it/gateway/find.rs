//! The search for deals.

use leadhost_domain::id::DealId;
use leadhost_tests::{Host, Json, On, Seeded};
use serde_json::Value;

leadhost_tests::on_every_store! {
    a_deal_is_found_by_each_key_and_by_all_together,
    the_newest_deal_comes_first_and_no_more_than_a_hundred,
    each_page_continues_after_the_last_row_of_the_page_before,
}

async fn find(host: &Host, seeded: &Seeded, query: &str) -> Vec<String> {
    let ask = host.get(&format!("/deal?{query}"));
    let ask = ask.partner(&seeded.partner_key);
    let answer = ask.send().await.expect(200).json();
    let deals = answer.as_array().expect("an array");
    deals.iter().map(|view| text(&view["deal"]["id"])).collect()
}

fn text(value: &Value) -> String {
    value.text().to_owned()
}

fn ids(deals: &[DealId]) -> Vec<String> {
    deals.iter().map(DealId::to_string).collect()
}

async fn a_deal_is_found_by_each_key_and_by_all_together(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let ana = host
        .lead(&seeded, "Ana", "11 98765-4321", "ana@example.com")
        .await;
    let bia = host
        .lead(&seeded, "Bia", "21 99876-5432", "bia@example.com")
        .await;
    let check = async |query: &str, expect: &[DealId]| {
        assert_eq!(find(&host, &seeded, query).await, ids(expect), "{query}");
    };
    for query in [
        "phoneNumber=%2B5511987654321",
        "phoneNumber=+5511987654321",
        "phone=11987654321",
        // Without the ninth digit it is the same person.
        "phoneNumber=%2B551187654321",
        "email=ANA@example.com",
        "externalId=lead-Ana",
        "externalIntegrationId=lead-Ana",
        &format!("dealId={ana}"),
        &format!("id={ana}&email=ana@example.com&externalId=lead-Ana&phone=11987654321"),
    ] {
        check(query, &[ana]).await;
    }
    check("email=bia@example.com", &[bia]).await;
    for query in [
        "email=ana@example.com&externalId=lead-Bia",
        "email=nobody@example.com",
        "phoneNumber=123",
        "dealId=17",
        "dealId=00000000-0000-7000-8000-000000000000",
        "externalId=lead-",
    ] {
        check(query, &[]).await;
    }
}

async fn the_newest_deal_comes_first_and_no_more_than_a_hundred(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let mut deals = Vec::new();
    let names: Vec<_> = (0..120).map(|number| format!("n{number}")).collect();
    for name in &names {
        host.advance(1).await;
        deals.push(host.lead(&seeded, name, "11 98765-4321", "").await);
    }
    deals.reverse();
    let found = find(&host, &seeded, "phone=11987654321").await;
    assert_eq!(found, ids(&deals[..100]));
}

async fn each_page_continues_after_the_last_row_of_the_page_before(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let mut deals = Vec::new();
    for number in 0..5 {
        host.advance(1).await;
        let name = format!("n{number}");
        deals.push(host.lead(&seeded, &name, "11 98765-4321", "").await);
    }
    deals.reverse();
    let expect = ids(&deals);
    let get = async |target: &str| {
        let answer = host.get(target).partner(&seeded.partner_key).send().await;
        let answer = answer.expect(200);
        let shown = answer.json();
        let shown = shown.as_array().expect("an array");
        let found: Vec<_> = shown.iter().map(|view| text(&view["deal"]["id"])).collect();
        let header = |name: &str| answer.header(name).to_owned();
        (found, header("link"), header("x-next-cursor"))
    };
    // By the link, and by the cursor; deals that come in meanwhile are left out.
    let mut target = "/deal?phone=(11)%2098765-4321&limit=2".to_owned();
    let mut found = Vec::new();
    while found.len() < expect.len() {
        let (page, link, cursor) = get(&target).await;
        found.extend(page);
        host.advance(1).await;
        let name = format!("later-{}", found.len());
        host.lead(&seeded, &name, "11 98765-4321", "").await;
        if link.is_empty() {
            assert_eq!(cursor, "");
            break;
        }
        let next = format!("/deal?phone=%2811%29+98765-4321&limit=2&cursor={cursor}");
        assert_eq!(link, format!("<{next}>; rel=\"next\""));
        target = next;
    }
    assert_eq!(found, expect);
    // A value out of range is adjusted.
    assert_eq!(get("/deal?phone=11987654321&limit=0").await.0.len(), 1);
    assert_eq!(get("/deal?phone=11987654321&limit=1000").await.0.len(), 8);
    assert_eq!(
        get("/deal?phone=11987654321&limit=&cursor=").await.0.len(),
        8
    );
    for wrong in ["limit=two", "limit=null", "cursor=abc", "cursor=null"] {
        let target = format!("/deal?phone=11987654321&{wrong}");
        let answer = host.get(&target).partner(&seeded.partner_key).send().await;
        assert_eq!(answer.expect(400).json()["statusCode"], 400, "{wrong}");
    }
}
