//! Bodies that are small to send and expensive to read: each is accepted or
//! refused with a reason, quickly, and the host uses little more memory than
//! before.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use leadhost_tests::{Answer, Hosts, Json, On, Service, eventually, figures};
use tokio::runtime::Handle;

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    hostile_json_harms_neither_the_host_nor_other_senders,
}

/// Nearly the largest body.
const SIZE: usize = 4_000_000;

/// The longest that a sender waits for its answer.
const LATEST: Duration = Duration::from_secs(60);

/// The memory that all of them together may need, one after the other.
const MOST: u64 = 256 << 20;

async fn hostile_json_harms_neither_the_host_nor_other_senders(on: On) {
    let hosts = Hosts::portal(on).apply().await;
    let service = hosts.start(0).await;
    let partner = hosts.partner_key();
    let bombs = bombs();
    let ingest = hosts.ingest("portal");
    let targets = [ingest.as_str(), "/deal", "/send-notification"];
    let act = || {
        Handle::current().block_on(async {
            let mut counts = AnswerCounts::default();
            for target in targets {
                for (name, bomb) in &bombs {
                    counts.add(name, one(&service, partner, target, bomb).await);
                }
            }
            counts
        })
    };
    let (counts, memory) = tokio::task::block_in_place(|| service.memory_during(act));
    assert!(memory < MOST, "{memory} bytes more than before");
    let lead =
        r#"{"leadOrigin":"Grupo OLX","originLeadId":"after","name":"Ana","phone":"11987654321"}"#;
    let after = service.ask("gateway", "POST", &ingest).body(lead);
    let answer = after.send().await.expect(200).json();
    // On a busy machine its conversion may end after the answer.
    let id = answer["deliveryId"].as_str().expect("an id");
    eventually("the lead after them is converted", async || {
        let shown = service.json(&format!("delivery show {id}"));
        let is_right = ["queued", "converted"].contains(&shown["status"].text());
        assert!(is_right, "{shown}");
        shown["status"] == "converted"
    })
    .await;
    assert!(service.stop());
    let figure = format!(
        "{} bodies of up to 4 MB to {} addresses (nesting, numbers, keys, elements, escapes, compressed): {} taken, {} refused with a reason, {} asked to retry, the slowest answer {:.1} s ({}), {} MiB more memory at most",
        bombs.len(),
        targets.len(),
        counts.taken,
        counts.refused,
        counts.busy,
        counts.slowest.0.as_secs_f64(),
        counts.slowest.1,
        memory >> 20
    );
    let bodies = counts.taken + counts.refused + counts.busy;
    assert!(counts.busy * 10 <= bodies, "{figure}");
    figures::record("bombs", Some(&hosts.on), None, &figure);
}

struct Bomb {
    coding: Option<&'static str>,
    body: Vec<u8>,
}

fn bombs() -> Vec<(&'static str, Bomb)> {
    let plain = |name, text: String| {
        let body = text.into_bytes();
        (name, Bomb { coding: None, body })
    };
    let many = |part: &str| part.repeat(SIZE / part.len());
    let lead = |field: &str| {
        format!(r#"{{"leadOrigin":"Grupo OLX","name":"Ana","phone":"11987654321",{field}}}"#)
    };
    let keys: String = (0..SIZE / 16)
        .map(|key| format!("\"k{key:08}\":1,"))
        .collect();
    let half = SIZE / 2;
    let nested = format!(
        r#""extra":{}1{}"#,
        r#"{"a":"#.repeat(SIZE / 6),
        "}".repeat(SIZE / 6)
    );
    let in_lead = |(name, field): (_, String)| plain(name, lead(&field));
    let mut bombs = vec![
        plain("lists that are never closed", many("[")),
        plain("objects that are never closed", many(r#"{"a":"#)),
        plain("lists in lists", "[".repeat(half) + &"]".repeat(half)),
        plain("a list of many leads", format!("[{}{{}}]", many("{},"))),
        plain("blanks", many(" ")),
    ];
    let fields = [
        ("objects in objects", nested),
        (
            "a number of many digits",
            format!(r#""originLeadId":{}"#, many("9")),
        ),
        (
            "a number with a large exponent",
            r#""originLeadId":1e999999999"#.to_owned(),
        ),
        (
            "a small number of many digits",
            format!(r#""price":0.{}1"#, many("0")),
        ),
        ("many keys", format!("{keys}\"end\":1")),
        (
            "one key many times",
            format!("{}\"end\":1", many("\"name\":\"Ana\",")),
        ),
        (
            "a list of many numbers",
            format!(r#""extra":[{}0]"#, many("0,")),
        ),
        (
            "a list of many objects",
            format!(r#""extra":[{}{{}}]"#, many("{},")),
        ),
        (
            "a text of escapes",
            format!(r#""message":"{}""#, many(r"\u0000")),
        ),
        (
            "halves of letters",
            format!(r#""message":"{}""#, many(r"\ud800")),
        ),
        ("one long text", format!(r#""message":"{}""#, many("x"))),
        ("a long key", format!(r#""{}":1"#, many("k"))),
    ];
    bombs.extend(fields.map(in_lead));
    let coding = Some("gzip");
    let body = zipped();
    bombs.push(("sixty-four megabytes in few", Bomb { coding, body }));
    bombs
}

/// 64 MB of blanks, compressed.
fn zipped() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let part = vec![b' '; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&part).expect("memory");
    }
    encoder.finish().expect("memory")
}

/// Returns the answer, or `None` if the connection was closed while the body was
/// still being sent.
async fn one(
    service: &Service,
    partner: &str,
    target: &str,
    bomb: &Bomb,
) -> (Option<Answer>, Duration) {
    let mut ask = service
        .ask("gateway", "POST", target)
        .header("content-type", "application/json")
        .header("x-service-api-key", partner)
        .body(bomb.body.clone());
    if let Some(coding) = bomb.coding {
        ask = ask.header("content-encoding", coding);
    }
    let begun = Instant::now();
    let answer = ask.try_send().await;
    (answer, begun.elapsed())
}

#[derive(Default)]
struct AnswerCounts {
    taken: usize,
    refused: usize,
    /// Refused for the moment, for a reason that is not in the body.
    busy: usize,
    slowest: (Duration, &'static str),
}

impl AnswerCounts {
    #[track_caller]
    fn add(&mut self, name: &'static str, (answer, took): (Option<Answer>, Duration)) {
        match &answer {
            None => self.refused += 1,
            Some(answer) if (200..300).contains(&answer.status) => self.taken += 1,
            Some(answer) if (400..500).contains(&answer.status) => self.refused += 1,
            // The disk of a busy machine is too slow for the moment: the sender retries.
            Some(answer) if answer.status == 503 && !answer.header("retry-after").is_empty() => {
                self.busy += 1;
            }
            Some(answer) => panic!("{name}: {} {}", answer.status, answer.text()),
        }
        assert!(took < LATEST, "{name}: {took:?}");
        self.slowest = self.slowest.max((took, name));
    }
}
