//! CORS: which pages may post to a connection and read the answer.

use leadhost_tests::{Ask, On};

use super::{FORM, lead, with_form};
use leadhost_tests::Host;

leadhost_tests::on_every_store! {
    a_page_of_a_named_origin_may_post_and_read_the_answer,
    pages_of_other_origins_may_not,
    an_asterisk_stands_for_every_origin,
}

const SITE: &str = "https://www.example.com";

fn preflight(host: &Host, address: &str, origin: &str) -> Ask {
    host.ask("OPTIONS", address)
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,x-form")
}

async fn a_page_of_a_named_origin_may_post_and_read_the_answer(on: On) {
    let host = Host::working(on).await;
    with_form(&host).await;
    let file = format!("{FORM}origins = [\"{SITE}\"]\n");
    let declared = host.declare(&file).await;
    let address = declared.address("form");
    let answer = preflight(&host, &address, SITE).send().await.expect(204);
    assert_eq!(answer.header("access-control-allow-origin"), SITE);
    assert_eq!(answer.header("access-control-allow-methods"), "POST");
    let expect = "content-type,x-form";
    assert_eq!(answer.header("access-control-allow-headers"), expect);
    let lead = lead("f-1", "Ana", "11 98888-0003").to_string();
    let ask = host.post(&address).header("origin", SITE).body(lead);
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), SITE);
    assert_eq!(answer.json()["status"], "converted");
    // A refusal can be read too.
    let ask = host.post(&address).header("origin", SITE).body("no JSON");
    let answer = ask.send().await.expect(400);
    assert_eq!(answer.header("access-control-allow-origin"), SITE);
}

async fn pages_of_other_origins_may_not(on: On) {
    let host = Host::working(on).await;
    let declared = with_form(&host).await;
    let address = declared.address("form");
    // Without origins, and with another one.
    for origins in ["[]".to_owned(), format!("[\"{SITE}\"]")] {
        host.declare(&format!("{FORM}origins = {origins}\n")).await;
        for origin in ["https://example.com", "http://www.example.com", "null"] {
            let answer = preflight(&host, &address, origin).send().await.expect(403);
            assert_eq!(answer.header("access-control-allow-origin"), "", "{origin}");
            let lead = lead("f-1", "Ana", "11 98888-0003").to_string();
            let ask = host.post(&address).header("origin", origin).body(lead);
            // The browser has sent it anyway: a lead is a lead.
            let answer = ask.send().await.expect(200);
            assert_eq!(answer.header("access-control-allow-origin"), "", "{origin}");
        }
    }
    let unknown = "/ingest-lead/AAAAAAAAAAAAAAAAAAAAAA";
    preflight(&host, unknown, SITE).send().await.expect(404);
}

async fn an_asterisk_stands_for_every_origin(on: On) {
    let host = Host::working(on).await;
    with_form(&host).await;
    let declared = host.declare(&format!("{FORM}origins = [\"*\"]\n")).await;
    let address = declared.address("form");
    for origin in [SITE, "null"] {
        let answer = preflight(&host, &address, origin).send().await.expect(204);
        assert_eq!(answer.header("access-control-allow-origin"), origin);
    }
}
