//! The index follows the products: new, renamed and removed products show within
//! two seconds, on every host; and the index stays within its memory limit.

use leadhost_domain::key::PlainKey;
use leadhost_domain::time::Micros;
use leadhost_store::{ImportId, PlannedProduct};
use leadhost_tests::{Ask, Host, On, Options, Seeded, fields, has};
use serde_json::Value;

use super::{ask, keep_only, names, page, put, put_all};

leadhost_tests::on_every_store! {
    new_renamed_and_removed_products_show_a_second_later,
    within_the_second_the_feed_is_not_asked_again,
    many_changes_are_found_while_the_index_is_rebuilt,
    searches_at_the_same_moment_load_once,
    an_index_that_has_no_room_is_refused_and_one_that_has_is_served,
    the_longest_unused_index_makes_room,
}

async fn new_renamed_and_removed_products_show_a_second_later(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    assert_eq!(names(&host, &seeded, "sobrado").await, [""; 0]);
    let given = [("A-1", "Sobrado azul"), ("A-2", "Sobrado verde")];
    put(&host, &seeded, &given).await;
    let expect = ["Sobrado azul", "Sobrado verde"];
    assert_eq!(names(&host, &seeded, "sobrado").await, expect);
    let import = put(&host, &seeded, &[("A-1", "Kitnet azul")]).await;
    assert_eq!(names(&host, &seeded, "sobrado").await, ["Sobrado verde"]);
    assert_eq!(names(&host, &seeded, "kitnet").await, ["Kitnet azul"]);
    keep_only(&host, &seeded, import).await;
    assert_eq!(names(&host, &seeded, "sobrado").await, [""; 0]);
    assert_eq!(names(&host, &seeded, "azul").await, ["Kitnet azul"]);
    put(&host, &seeded, &[("A-2", "Sobrado verde")]).await;
    assert_eq!(names(&host, &seeded, "sobrado").await, ["Sobrado verde"]);
}

async fn within_the_second_the_feed_is_not_asked_again(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let given = [("A-1", "Sobrado azul"), ("A-2", "Sobrado verde")];
    put(&host, &seeded, &given).await;
    assert_eq!(names(&host, &seeded, "sobrado").await.len(), 2);
    // Removed without the feed: a product that is gone meanwhile is left out of
    // the page.
    keep_only(&host, &seeded, LATER).await;
    let page = page(&host, &seeded, "name=sobrado").await;
    fields!(page, {"products": serde_json::json!([]), "pagination.totalItems": 2});
    assert_eq!(names(&host, &seeded, "sobrado").await, [""; 0]);
}

/// Later than every import.
const LATER: ImportId = ImportId(Micros(4_000_000_000_000_000));

fn homes(count: usize, kind: &str) -> Vec<PlannedProduct> {
    (0..count)
        .map(|number| PlannedProduct {
            external_id: format!("M-{number}"),
            name: format!("{kind} numero {number}"),
            description: None,
        })
        .collect()
}

async fn many_changes_are_found_while_the_index_is_rebuilt(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    put_all(&host, &seeded, &homes(3_000, "Sobrado")).await;
    let total = async |term: &str| {
        host.advance(1).await;
        let page = page(&host, &seeded, &format!("name={term}&size=1")).await;
        page["pagination"]["totalItems"].as_u64().expect("a number")
    };
    assert_eq!(total("sobrado").await, 3_000);
    put_all(&host, &seeded, &homes(2_500, "Kitnet")).await;
    for _ in 0..3 {
        assert_eq!(total("sobrado").await, 500);
        assert_eq!(total("kitnet").await, 2_500);
    }
    put(&host, &seeded, &[("M-0", "Loft numero 0")]).await;
    leadhost_tests::eventually("the index is rebuilt", async || {
        assert_eq!(total("kitnet").await, 2_499);
        assert_eq!(names(&host, &seeded, "loft").await, ["Loft numero 0"]);
        let index = metric(&host, "leadhost_search_index_bytes").await;
        // The index is smaller without the names of the changed products.
        index < 200_000.0
    })
    .await;
}

async fn metric(host: &Host, name: &str) -> f64 {
    let text = host.admin("GET", "/metrics").send().await.expect(200);
    let line = text.text().lines().find(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('{'))
    });
    let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("{name} is not in {}", text.text()))
}

async fn searches_at_the_same_moment_load_once(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    put(&host, &seeded, &[("A-1", "Sobrado azul")]).await;
    let search = || async {
        let found = page(&host, &seeded, "name=sobrado").await;
        assert_eq!(found["pagination"]["totalItems"], 1);
    };
    tokio::join!(search(), search(), search(), search(), search(), search());
    assert!((metric(&host, "leadhost_search_load_duration_seconds_count").await - 1.0).abs() < 0.1);
}

async fn an_index_that_has_no_room_is_refused_and_one_that_has_is_served(on: On) {
    let host = Host::start(Options::on(on).with("search.memory_mib", 0)).await;
    let seeded = host.workspace("demo").await;
    put(&host, &seeded, &[("A-1", "Sobrado azul")]).await;
    for _ in 0..2 {
        let answer = ask(&host, &seeded, "name=sobrado").send().await.expect(503);
        assert_eq!(answer.header("retry-after"), "60");
        has!(answer.json()["message"], "memory");
    }
    assert!(metric(&host, "leadhost_search_indexes").await.abs() < 0.1);
}

async fn the_longest_unused_index_makes_room(on: On) {
    let host = Host::start(Options::on(on).with("search.memory_mib", 1)).await;
    let homes = homes(15_000, "Sobrado");
    let mut workspaces = Vec::new();
    for slug in ["one", "two", "three"] {
        let seeded = host.workspace(slug).await;
        put_all(&host, &seeded, &homes).await;
        workspaces.push(seeded);
    }
    for seeded in workspaces.iter().chain(&workspaces) {
        let found = page(&host, seeded, "name=sobrado+numero+77").await;
        assert_eq!(found["products"][0]["name"], "Sobrado numero 77");
    }
    let kept = metric(&host, "leadhost_search_indexes").await;
    assert!((1.0..3.0).contains(&kept), "{kept}");
    assert!(metric(&host, "leadhost_search_index_bytes").await <= f64::from(1 << 20));
}

/// A request to another host with the key of the first.
fn ask_with(host: &Host, key: &PlainKey, query: &str) -> Ask {
    host.get(&format!("/products-by-name?{query}")).partner(key)
}

#[tokio::test]
async fn a_commit_of_one_host_is_found_by_another_and_both_answer_the_same() {
    let on = available!(On::postgres());
    let first = Host::new(on.clone()).await;
    let second = Host::new(on).await;
    let seeded: Seeded = first.workspace("demo").await;
    let both = async |term: &str| -> Value {
        // Each host has its own clock; the store has the later one.
        second.advance(1).await;
        first.advance(1).await;
        let query = format!("name={term}");
        let one = ask_with(&first, &seeded.partner_key, &query).send().await;
        let other = ask_with(&second, &seeded.partner_key, &query).send().await;
        assert_eq!(one.expect(200).body, other.expect(200).text().as_bytes());
        page(&first, &seeded, &query).await
    };
    assert_eq!(both("sobrado").await["pagination"]["totalItems"], 0);
    let given = [("A-1", "Sobrado azul"), ("A-2", "Sobrado verde")];
    put(&first, &seeded, &given).await;
    assert_eq!(both("sobrado").await["pagination"]["totalItems"], 2);
    put(&second, &seeded, &[("A-1", "Sobrado amarelo")]).await;
    let expect = "Sobrado amarelo";
    assert_eq!(both("sobrado").await["products"][0]["name"], expect);
    let import = put(&first, &seeded, &[("A-2", "Sobrado verde")]).await;
    keep_only(&second, &seeded, import).await;
    assert_eq!(both("sobrado").await["pagination"]["totalItems"], 1);
}
