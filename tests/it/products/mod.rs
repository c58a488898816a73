//! Products: catalogues are imported, and partners search them by name.

mod import;
mod import_program;
mod index;
mod search;

use leadhost_store::{ImportId, PlannedProduct};
use leadhost_tests::{Ask, Host, Json, Seeded};
use serde_json::Value;

async fn put(host: &Host, seeded: &Seeded, products: &[(&str, &str)]) -> ImportId {
    let products: Vec<_> = products
        .iter()
        .map(|(external_id, name)| PlannedProduct {
            external_id: (*external_id).to_owned(),
            name: (*name).to_owned(),
            description: Some(format!("About {external_id}")),
        })
        .collect();
    put_all(host, seeded, &products).await
}

async fn put_all(host: &Host, seeded: &Seeded, products: &[PlannedProduct]) -> ImportId {
    // Each part is a separate import.
    host.advance(1).await;
    let import = ImportId(host.now());
    for part in products.chunks(leadhost_domain::limits::IMPORT_ROWS) {
        let store = host.store();
        let done = store.import_products(seeded.workspace, import, part).await;
        done.expect("it imports");
    }
    import
}

/// Removes all products but this import's.
async fn keep_only(host: &Host, seeded: &Seeded, import: ImportId) {
    let mut after = 0;
    loop {
        let store = host.store();
        let step = store
            .remove_unseen_products(seeded.workspace, import, after, 100)
            .await
            .expect("it removes");
        match step.next {
            Some(next) => after = next,
            None => return,
        }
    }
}

fn ask(host: &Host, seeded: &Seeded, query: &str) -> Ask {
    host.get(&format!("/products-by-name?{query}"))
        .partner(&seeded.partner_key)
}

async fn page(host: &Host, seeded: &Seeded, query: &str) -> Value {
    ask(host, seeded, query).send().await.expect(200).json()
}

/// Searches a second later, when the feed is read again.
async fn names(host: &Host, seeded: &Seeded, term: &str) -> Vec<String> {
    host.advance(1).await;
    let term: String = url(term);
    let page = page(host, seeded, &format!("name={term}&size=100")).await;
    let products = page["products"].list();
    assert_eq!(page["pagination"]["totalItems"], products.len());
    let name = |product: &Value| product["name"].text().to_owned();
    products.iter().map(name).collect()
}

fn url(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
