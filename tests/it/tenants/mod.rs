//! Two workspaces on one service, each with its own word in every field. Requests with
//! the keys of one, for any ids, cursors and filters, show no byte of the other: not in a
//! body, a header, a line of the log or a metric.

mod crawl;
mod filled_workspace;
mod partners;

use leadhost_tests::{Host, Log, On, eventually, guests, has};
use serde_json::Value;

use crawl::{Request, Requests};
use filled_workspace::{FilledWorkspace, PHONES};

leadhost_tests::on_every_store! {
    requests_of_one_workspace_show_nothing_of_the_other,
    one_phone_in_two_workspaces_is_two_contacts,
}

/// The words and the prefixes of phones that mark the two. Random or measured values may contain the digits
/// of a prefix by chance, but not of a whole phone.
const MINE: (&str, &str) = ("Quixaba", "+551198646");
const THEIRS: (&str, &str) = ("Zwyrmark", "+551198817");

async fn workspaces(on: On) -> (Host, FilledWorkspace, FilledWorkspace) {
    let host = Host::working(on).await;
    host.converter(guests::sandbox()).await;
    host.converter(guests::example_form()).await;
    let theirs = FilledWorkspace::build(&host, THEIRS).await;
    let mine = FilledWorkspace::build(&host, MINE).await;
    host.count_analytics().await;
    comes_to_rest(&host).await;
    (host, mine, theirs)
}

/// Waits until no message is in flight: nothing changes by itself.
async fn comes_to_rest(host: &Host) {
    eventually("all messages are out or failed", async || {
        let sends = host.count("select count(*) from sends").await;
        sends == 0
    })
    .await;
}

/// Checks that no byte belongs to the other workspace.
#[track_caller]
fn is_clean(what: &str, text: &str) {
    let national = &THEIRS.1[3..];
    let mut marks = vec![THEIRS.0.to_lowercase()];
    marks.extend(PHONES.map(|end| format!("{national}{end}")));
    let lower = text.to_lowercase();
    for mark in marks {
        if let Some(at) = lower.find(&mark) {
            let from = text.floor_char_boundary(at.saturating_sub(200));
            let to = text.ceil_char_boundary((at + 200).min(text.len()));
            panic!("{what} shows `{mark}`: ..{}..", &text[from..to]);
        }
    }
}

async fn requests_of_one_workspace_show_nothing_of_the_other(on: On) {
    let (host, mine, theirs) = workspaces(on).await;
    let requests = Requests::new(&mine);
    let with_their_cursors = requests.with_cursors_of(&host, &theirs).await;
    let log = Log::capture();

    // Requests for one's own things: they show something, and only one's own.
    for request in requests.about(&mine) {
        let answer = request.send(&host).await;
        assert!(answer.status < 300, "{request}: {:?}", answer.body);
        is_clean(&request.to_string(), &whole(&answer));
        let is_so = !request.shows || shows_mine(&answer);
        assert!(is_so, "{request} shows nothing: {:?}", answer.body);
    }

    // Messages that the requests began go out in the background, and change the exports.
    comes_to_rest(&host).await;

    // Things of the other workspace look like unknown things.
    let unknown_workspace = mine.unknown_workspace();
    let foreign = requests.about(&theirs);
    for (foreign, unknown) in foreign.iter().zip(requests.about(&unknown_workspace)) {
        let (theirs_answer, unknown_answer) =
            (foreign.send(&host).await, unknown.send(&host).await);
        is_clean(&unknown.to_string(), &whole(&unknown_answer));
        // An answer may repeat what the request named, as it named it.
        let said = foreign.in_the_words_of(&unknown, &text(&theirs_answer.body));
        assert_eq!(said, text(&unknown_answer.body), "{foreign}");
        assert_eq!(theirs_answer.status, unknown_answer.status, "{foreign}");
        assert_eq!(
            headers(&theirs_answer),
            headers(&unknown_answer),
            "{foreign}"
        );
    }

    // Cursors of the other workspace are refused and reveal nothing.
    for (request, cursor) in with_their_cursors {
        let answer = request.send(&host).await;
        assert_eq!(answer.status, 400, "{request}");
        is_clean(&request.to_string(), &whole(&answer));
        assert!(!text(&answer.body).contains(&cursor));
    }

    let log = log.take();
    has!(log, "answered"; "the log was captured");
    is_clean("the log", &log);
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let metrics = without_connections(metrics.text());
    is_clean("the metrics", &metrics);
    assert!(!metrics.contains(MINE.0));
}

/// Metrics without the names of connections: operators choose these, and metrics are
/// counted by them.
fn without_connections(metrics: &str) -> String {
    let mut parts = metrics.split("connection=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (_, rest) = part.split_once('"').unwrap_or_default();
        text + rest
    })
}

async fn one_phone_in_two_workspaces_is_two_contacts(on: On) {
    let (host, mine, theirs) = workspaces(on).await;
    // The same phone and the same idempotency key, in the other workspace.
    let request = Request::notify(&mine, &theirs.phone, &theirs.idempotency_key);
    let answer = request.send(&host).await.expect(200);
    assert!(answer.headers.get("idempotency-replayed").is_none());
    let conversation = answer.json()["conversationId"].clone();
    assert_ne!(conversation, theirs.conversation.as_str());
    let contacts = mine.rows(&host, "contacts").await;
    let same: Vec<&Value> = contacts
        .iter()
        .filter(|row| row["phone_number"] == theirs.phone.as_str())
        .collect();
    assert_eq!(same.len(), 1);
    let contact = same[0].to_string();
    assert!(contact.contains(MINE.0), "{contact}");
    assert!(!contact.contains(THEIRS.0), "{contact}");
    let theirs_now = theirs.rows(&host, "contacts").await;
    assert!(!Value::from(theirs_now).to_string().contains(MINE.0));
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// Everything in the answer.
fn whole(answer: &leadhost_tests::Answer) -> String {
    let mut said = text(&answer.body);
    for (name, value) in &answer.headers {
        said.push_str(&format!("\n{name}: {}", text(value.as_bytes())));
    }
    said
}

fn shows_mine(answer: &leadhost_tests::Answer) -> bool {
    text(&answer.body).contains(MINE.0)
}

fn headers(answer: &leadhost_tests::Answer) -> Vec<(String, String)> {
    let mut headers: Vec<_> = answer
        .headers
        .iter()
        .map(|(name, value)| {
            let says = ["content-type", "allow", "www-authenticate", "vary"];
            let value = if says.contains(&name.as_str()) {
                text(value.as_bytes())
            } else {
                String::new()
            };
            (name.to_string(), value)
        })
        .collect();
    headers.sort();
    headers
}
