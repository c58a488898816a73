//! The search by name, and the format of its answer: the same bytes on each store.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Host, Json, On, fields, has};
use serde_json::json;

use super::{ask, names, page, put, url};

leadhost_tests::on_every_store! {
    a_product_is_found_by_its_external_id_as_well_as_its_name,
    the_answer_has_the_folded_term_the_products_and_the_position_of_the_page,
    pages_follow_each_other_without_gap_or_repeat,
    pages_and_sizes_that_are_none_are_refused_and_large_ones_are_not,
    a_term_without_a_letter_or_with_too_many_is_refused,
    a_term_without_matches_gets_an_empty_page,
    every_key_but_a_live_partner_key_gets_the_same_refusal,
}

const HOMES: [(&str, &str); 8] = [
    ("H-1", "Apartamento São João 304"),
    ("H-2", "Apartamento São José 3040"),
    ("H-3", "Cobertura Jardim Botânico"),
    ("H-4", "Casa na praia"),
    ("H-5", "Casa no campo"),
    ("H-6", "Loft 2q Vila Olímpia"),
    ("H-7", "דירה בתל אביב"),
    ("H-8", "Chácara 🏡 Recanto"),
];

async fn the_answer_has_the_folded_term_the_products_and_the_position_of_the_page(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    put(&host, &seeded, &HOMES).await;
    let answer = ask(&host, &seeded, "name=%20CASA%20%20n%C3%A3&size=1");
    let answer = answer.send().await.expect(200);
    let id = answer.json()["products"][0]["id"].clone();
    let expect = format!(
        "{{\"term\":\"casa na\",\"products\":[{{\"id\":{id},\"externalId\":\"H-4\",\"name\":\"Casa na praia\",\"description\":\"About H-4\",\"similarityScore\":1.0}}],\
         \"pagination\":{{\"page\":1,\"size\":1,\"totalItems\":2,\"totalPages\":2,\"hasNextPage\":true,\"hasPreviousPage\":false}}}}"
    );
    assert_eq!(answer.text(), expect);
    let other = page(&host, &seeded, "term=casa+na&size=1&page=2").await;
    assert_eq!(other["products"][0]["similarityScore"], json!(1.0));
    assert_eq!(other["pagination"]["hasPreviousPage"], true);
    assert_eq!(other["pagination"]["hasNextPage"], false);
}

async fn a_product_is_found_by_its_external_id_as_well_as_its_name(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let other = host.workspace("other").await;
    let codes = [("AP-0042", "Flat"), ("xk 7", "Loja"), ("praia", "Galpão")];
    put(&host, &seeded, &[&HOMES[..], &codes].concat()).await;
    put(&host, &other, &[("AP-0099", "Loft")]).await;
    host.advance(1).await;
    for (term, id, name) in [
        ("AP-0042", "AP-0042", "Flat"),
        (" ap-0042 ", "AP-0042", "Flat"),
        ("h-4", "H-4", "Casa na praia"),
        ("XK 7", "xk 7", "Loja"),
    ] {
        let page = page(&host, &seeded, &format!("name={}", url(term))).await;
        let product = &page["products"][0];
        fields!(product, {"externalId": id, "name": name, "similarityScore": 1.0}; "{term}");
        assert_eq!(page["pagination"]["totalItems"], 1, "{page}");
    }
    // A name and an id of two products.
    let both = ["Galpão", "Casa na praia"];
    assert_eq!(names(&host, &seeded, "praia").await, both);
    assert_eq!(names(&host, &seeded, "AP-0099").await, [""; 0]);
    assert_eq!(names(&host, &seeded, "AP-004").await, [""; 0]);
}

async fn pages_follow_each_other_without_gap_or_repeat(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let made: Vec<_> = (0..57)
        .map(|number| (format!("N-{number}"), format!("Lote {} quadra", number % 7)))
        .collect();
    let made = made.iter().map(|(id, name)| (id.as_str(), name.as_str()));
    let made: Vec<_> = made.collect();
    put(&host, &seeded, &made).await;
    let mut ids = Vec::new();
    for number in 1..=6 {
        let page = page(&host, &seeded, &format!("name=lote+3&page={number}")).await;
        assert_eq!(page["pagination"]["totalItems"], 57);
        assert_eq!(page["pagination"]["totalPages"], 6);
        assert_eq!(page["pagination"]["hasNextPage"], number < 6);
        let products = page["products"].list();
        ids.extend(products.iter().map(|product| product["id"].to_string()));
    }
    let all = page(&host, &seeded, "name=lote+3&size=1000").await;
    assert_eq!(all["pagination"]["size"], 100);
    let of_all = all["products"].list().iter();
    let of_all: Vec<_> = of_all.map(|product| product["id"].to_string()).collect();
    assert_eq!(ids, of_all);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 57);
    fields!(all, {"products.0.name": "Lote 3 quadra", "products.8.name": "Lote 0 quadra"});
}

async fn pages_and_sizes_that_are_none_are_refused_and_large_ones_are_not(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    put(&host, &seeded, &HOMES).await;
    for wrong in ["0", "-1", "x", "null", "1.5"] {
        for name in ["page", "size"] {
            let ask = ask(&host, &seeded, &format!("name=casa&{name}={wrong}"));
            let body = ask.send().await.expect(400).json();
            assert_eq!(body["statusCode"], 400);
            has!(body["message"], name);
        }
    }
    let blank = page(&host, &seeded, "name=casa&page=&size=%20").await;
    fields!(blank, {"pagination.page": 1, "pagination.size": 10});
    let given = "name=casa&page=1000000000000&size=99999999999";
    let far = page(&host, &seeded, given).await;
    assert_eq!(far["products"], json!([]));
    assert_eq!(
        far["pagination"],
        json!({
            "page": 1_000_000_000_000u64, "size": 100, "totalItems": 2, "totalPages": 1,
            "hasNextPage": false, "hasPreviousPage": true,
        })
    );
}

async fn a_term_without_a_letter_or_with_too_many_is_refused(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let accents = format!("name={}", url("\u{301}\u{303}"));
    let emoji = format!("name={}", url("🏡 - !"));
    let long = format!("name={}", "a".repeat(201));
    for query in ["", "name=", "name=%20&term=", &accents, &emoji, &long] {
        let body = ask(&host, &seeded, query).send().await.expect(400).json();
        has!(body["message"], "name"; "{query}");
    }
    page(&host, &seeded, &format!("name={}", "a".repeat(200))).await;
    page(&host, &seeded, "name=&term=casa").await;
}

async fn a_term_without_matches_gets_an_empty_page(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let found = page(&host, &seeded, "name=zzzzz").await;
    let expect = json!({
        "term": "zzzzz",
        "products": [],
        "pagination": {
            "page": 1, "size": 10, "totalItems": 0, "totalPages": 0,
            "hasNextPage": false, "hasPreviousPage": false,
        },
    });
    assert_eq!(found, expect);
}

async fn every_key_but_a_live_partner_key_gets_the_same_refusal(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let ask = || host.get("/products-by-name?name=casa");
    let nothing = ask().send().await.expect(401);
    for wrong in [
        ask().partner(&PlainKey::generate(KeyKind::Partner)),
        ask().partner(&seeded.workspace_key),
        ask().bearer(&seeded.access_token),
    ] {
        assert_eq!(wrong.send().await.expect(401).body, nothing.body);
    }
}
