//! The format of a page: its rows, as JSON or as lines, compressed or not.

use leadhost_tests::{Answer, Host, On, lacks};
use serde_json::Value;

use super::{export, leads, page, rows};

leadhost_tests::on_every_store! {
    rows_come_as_lines_when_asked_for,
    no_json_has_a_character_at_which_readers_end_a_line,
    large_answers_are_compressed_for_clients_that_accept_it,
}

async fn no_json_has_a_character_at_which_readers_end_a_line(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let name = "Ana\u{2028}Souza\u{85}e\u{2029}Lima";
    let email = "ana@example.com";
    host.leads_with(&seeded, &[(name, "", email)], |lead| {
        lead.deal_props.insert(name.to_owned(), name.into());
    })
    .await;
    let partner = |target: &str| {
        let ask = host.get(target);
        ask.partner(&seeded.partner_key)
    };
    let asks = [
        export(&host, &seeded, "deals").header("accept", "application/x-ndjson"),
        export(&host, &seeded, "contacts").header("accept", "application/x-ndjson"),
        export(&host, &seeded, "deals"),
        partner("/deal?email=ana@example.com"),
    ];
    for ask in asks {
        let answer = ask.send().await.expect(200);
        let text = answer.text();
        lacks!(text, '\u{85}', '\u{2028}', '\u{2029}');
        assert!(text.contains(r"Ana\u2028Souza\u0085e\u2029Lima"), "{text}");
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let has_name = value.to_string().contains(name);
            assert!(has_name || value.get("count").is_some(), "{value}");
        }
    }
}

async fn rows_come_as_lines_when_asked_for(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 3).await;
    let json = page(&host, &seeded, "deals?limit=2").await;
    let ask = export(&host, &seeded, "deals?limit=2").header("accept", "application/x-ndjson");
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let lines: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(&lines[..2], &rows(&json)[..]);
    assert_eq!(lines[2]["count"], 2);
    assert!(lines[2]["next_cursor"].is_string());
    assert_eq!(lines.len(), 3);
}

async fn large_answers_are_compressed_for_clients_that_accept_it(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 200).await;
    let get = async |accept: &str| {
        let ask = export(&host, &seeded, "deals?limit=200").header("accept-encoding", accept);
        ask.send().await.expect(200)
    };
    let plain = get("identity").await;
    assert_eq!(plain.header("content-encoding"), "");
    for (accept, coding) in [
        ("gzip, deflate", "gzip"),
        ("gzip, zstd", "zstd"),
        ("zstd;q=0, gzip", "gzip"),
    ] {
        let answer = get(accept).await;
        assert_eq!(answer.header("content-encoding"), coding, "{accept}");
        assert!(answer.body.len() * 3 < plain.body.len(), "{accept}");
        let magic: &[u8] = if coding == "gzip" {
            &[0x1f, 0x8b]
        } else {
            &[0x28, 0xb5, 0x2f, 0xfd]
        };
        assert!(answer.body.starts_with(magic), "{accept}");
        assert!(varies_by(&answer, "accept-encoding"));
    }
    assert!(varies_by(&plain, "accept-encoding") && varies_by(&plain, "accept"));
    let small = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    let ask = small.header("accept-encoding", "gzip");
    let small = ask.send().await.expect(200);
    assert_eq!(small.header("content-encoding"), "");
    assert!(varies_by(&small, "accept-encoding"));
    let page = export(&host, &seeded, "deals?limit=1").send().await;
    let page = page.expect(200);
    assert_eq!(page.header("vary"), "accept, accept-encoding");
    assert_eq!(page.headers.get_all("vary").iter().count(), 1);
}

fn varies_by(answer: &Answer, name: &str) -> bool {
    let values = answer.headers.get_all("vary").iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(name))
}
