use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::CONTENT_DISPOSITION;

use super::super::answer::BLANKS;
use super::super::archive;
use super::super::shown::ShownBody;
use super::replays;
use crate::console::pages::prelude::*;
use leadhost_admin_api::captures::GoldenExport;
use leadhost_admin_api::connections::ConnectionView;
use leadhost_admin_api::deliveries::{
    AnswerView, Deliveries, DeliveryDetailView, DeliveryView, ListedDelivery, ReplayRequest,
    Replayed, RequestView, differences,
};
use leadhost_admin_api::senders::WorkspacesOfSenders;
use leadhost_domain::delivery::{DeliveryStatus, ItemOutcome};
use leadhost_domain::text::is_active;

pub static ROUTES: &[Route] = pages! {
    GET "/deliveries" => answer find();
    GET "/deliveries/{delivery}" => page show(delivery);
    POST "/deliveries/{delivery}/replay" => form "/deliveries/{}" replay(delivery, form);
    POST "/deliveries/{delivery}/golden" => form "/deliveries/{}" export(delivery);
};

#[derive(Template)]
#[template(path = "console/deliveries.html")]
pub struct DeliveriesPage {
    frame: Frame,
    filters: Filters,
    statuses: [DeliveryStatus; DeliveryStatus::ALL.len()],
    connections: Vec<ConnectionView>,
    deliveries: Vec<DeliveryView>,
    senders: WorkspacesOfSenders,
    /// Whether the filters are narrow enough for all of their deliveries to be converted again.
    may_replay: bool,
    /// Whether it lists those in quarantine, which are released.
    may_release: bool,
    /// The address of the next page, below `/console`.
    next: Option<String>,
    /// The time back to which the page has looked, if older ones may match too.
    searched_until: Option<Micros>,
    /// The time before which only deliveries that became leads are searched.
    only_leads_before: Option<Micros>,
    problem: Option<ApiRefusal>,
}

pub fn table(deliveries: &[DeliveryView], senders: &WorkspacesOfSenders) -> Table {
    let listed = deliveries.iter().map(|delivery| ListedDelivery {
        delivery,
        sender: senders.shown(&delivery.facts),
    });
    Table::of(&listed.collect::<Vec<_>>(), "No delivery.")
}

/// Shows the list, or the one delivery whose id was typed.
async fn find(visit: &Visit<'_>) -> PageResult {
    let shown = list(visit).await?;
    match shown.deliveries.as_slice() {
        [only] if only.facts.id.to_string() == shown.filters.get("q") => {
            Ok(see_other(&format!("/console/deliveries/{}", only.facts.id)))
        }
        _ => page(status_of(shown.problem.as_ref()), &shown),
    }
}

async fn list(visit: &Visit<'_>) -> PageResult<DeliveriesPage> {
    let names = [&replays::FILTERS[..], &["q", "before"]].concat();
    let filters = Filters::read(visit, &names);
    let api = visit.api();
    let connections: Connections = api.get("/connections").await?;
    let instances: Instances = api.get("/instances").await?;
    let path = format!("/deliveries{}", filters.query());
    let Filtered { found, problem } = Filtered::<Deliveries>::list(visit, &path).await?;
    let next = filters.next_page("/deliveries", found.next);
    let is_search = !filters.get("q").is_empty();
    let quarantined = filters.get("status") == DeliveryStatus::Quarantined.as_str();
    let queued = filters.get("status") == DeliveryStatus::Queued.as_str();
    let mut narrowing = ["status", "connection", "instance", "version", "since"].into_iter();
    let is_narrow = narrowing.any(|name| !filters.get(name).is_empty());
    let is_any = !is_search && !found.deliveries.is_empty();
    Ok(DeliveriesPage {
        may_replay: is_any && is_narrow && !quarantined && !queued,
        may_release: is_any && quarantined,
        frame: visit.frame("deliveries", "Deliveries"),
        filters,
        statuses: DeliveryStatus::ALL,
        senders: WorkspacesOfSenders::new(&connections.connections, &instances.instances),
        connections: connections.connections,
        deliveries: found.deliveries,
        next,
        searched_until: found.searched_until,
        only_leads_before: found.only_leads_before,
        problem,
    })
}

#[derive(Template)]
#[template(path = "console/delivery.html")]
pub struct DeliveryPage {
    frame: Frame,
    delivery: DeliveryDetailView,
    body: ShownBody,
    command: String,
    /// The stored answers to its fetches, each with its body as people read it.
    answers: Vec<(AnswerView, ShownBody)>,
    is_quarantined: bool,
    /// Whether converting it again counts at once, so that nothing can be shown before.
    is_tried_again: bool,
    /// Whether it has made nothing until it is converted again.
    has_made_nothing: bool,
    /// The result of a replay that was only tried.
    replayed: Option<Replayed>,
}

impl DeliveryPage {
    fn items(&self) -> &[ItemOutcome] {
        first_of(&self.delivery.items)
    }

    fn items_of<'r>(&self, replayed: &'r Replayed) -> &'r [ItemOutcome] {
        first_of(&replayed.items)
    }

    fn would_change(&self, replayed: &Replayed) -> bool {
        let changes = |item: &ItemOutcome| {
            item.is_fetched() || item.diff.iter().any(|diff| !diff.edited_by_person)
        };
        replayed.status != self.delivery.facts.status || replayed.items.iter().any(changes)
    }
}

fn first_of(items: &[ItemOutcome]) -> &[ItemOutcome] {
    &items[..items.len().min(limits::SHOWN_ITEMS)]
}

async fn show(visit: &Visit<'_>, id: &str) -> PageResult<DeliveryPage> {
    with_replay(visit, id, None).await
}

async fn with_replay(
    visit: &Visit<'_>,
    id: &str,
    replayed: Option<Replayed>,
) -> PageResult<DeliveryPage> {
    let mut delivery: DeliveryDetailView = visit.api().get(&format!("/deliveries/{id}")).await?;
    let answers = std::mem::take(&mut delivery.answers).into_iter();
    let answers = answers.map(|answer| {
        let (text, note) = text_of(answer.body.as_deref(), answer.body_base64.as_deref());
        let shown = ShownBody::new(&text, note);
        (answer, shown)
    });
    Ok(DeliveryPage {
        answers: answers.collect(),
        is_quarantined: delivery.facts.status == DeliveryStatus::Quarantined,
        frame: visit.frame(
            "deliveries",
            format!("Delivery of {}", delivery.facts.connection),
        ),
        body: pretty(&delivery.request),
        command: as_command(&delivery),
        is_tried_again: delivery.facts.status.is_tried_again(),
        has_made_nothing: delivery.facts.status.has_made_nothing(),
        delivery,
        replayed,
    })
}

/// Converts a delivery again: first only to show what would change, then with `apply`.
async fn replay(visit: &Visit<'_>, id: &str, form: &Form) -> PageResult<FormOutcome> {
    let request = ReplayRequest {
        apply: form.has("apply"),
        release: form.has("release"),
        // An unknown word is of no form of this page.
        expected: DeliveryStatus::from_text(form.get("status")),
    };
    let (apply, release) = (request.apply, request.release);
    let path = format!("/deliveries/{}/replay", encoded(id));
    let replayed: Replayed = visit.api().post(&path, &request).await?;
    if apply || release {
        let act = if release {
            "released"
        } else {
            "converted again"
        };
        let mut notice = Notice::of_delivery(act, replayed.status, release);
        // A delivery that has made leads keeps its status when its conversion fails.
        if let Some(error) = replayed.stays() {
            notice = Notice {
                tone: Tone::Bad,
                text: format!("The delivery was not {act}, and stays as it was: {error}"),
            };
        }
        return Ok(FormOutcome::done(format!("/deliveries/{id}"), notice));
    }
    let shown = with_replay(visit, id, Some(replayed)).await?;
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}

/// Gives a delivery as golden cases, in an archive that the browser stores.
async fn export(visit: &Visit<'_>, id: &str) -> PageResult<FormOutcome> {
    let path = format!("/deliveries/{}/golden", encoded(id));
    let exported: GoldenExport = visit.api().post(&path, &serde_json::json!({})).await?;
    let mut files = Vec::new();
    for case in &exported.cases {
        for file in &case.files {
            files.push((format!("{}/{}", case.name, file.name), file.text.as_str()));
        }
    }
    let now = visit.call.http.core.clock.now();
    let archive = archive::tar(files, now.since(Micros(0)).as_secs());
    let archive = archive
        .ok_or_else(|| ApiRefusal::new(StatusCode::CONFLICT, "The name of a case is too long."))?;
    let mut reply = reply::bytes_of(StatusCode::OK, "application/x-tar", archive);
    // The id is one that the operation knows.
    let named = format!("attachment; filename=\"delivery-{id}.tar\"");
    let named = HeaderValue::from_str(&named).map_err(ApiError::internal)?;
    reply.headers_mut().insert(CONTENT_DISPOSITION, named);
    if !exported.notes.is_empty() {
        // The browser stays on its page, and the next one shows them.
        let notice = Notice {
            tone: Tone::Warn,
            text: exported.notes.join(" "),
        };
        visit.call.http.sessions.notify(visit.session, notice);
    }
    Ok(FormOutcome::Page(reply))
}

const NOT_UTF8: &str = "The body is not UTF-8. A � stands for bytes that are no text.";

const NO_TEXT: &str = "The body is no text. These are its bytes in Base64.";

fn text_of<'a>(body: Option<&'a str>, base64: Option<&'a str>) -> (Cow<'a, str>, &'static str) {
    let (None, Some(base64)) = (body, base64) else {
        return (body.unwrap_or_default().into(), "");
    };
    let bytes = STANDARD.decode(base64).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_odd = |c: &char| {
        let is_blank = matches!(c, '\t' | '\n' | '\r');
        *c == char::REPLACEMENT_CHARACTER || (c.is_control() && !is_blank)
    };
    let odd = text.chars().filter(is_odd).count();
    if odd * 10 <= text.chars().count() {
        (text.into_owned().into(), NOT_UTF8)
    } else {
        (base64.into(), NO_TEXT)
    }
}

/// Returns the body as a person reads it: a form by its fields, JSON indented, with the digits of its
/// numbers kept.
fn pretty(request: &RequestView) -> ShownBody {
    let (body, note) = text_of(request.body.as_deref(), request.body_base64.as_deref());
    let mut headers = request.headers.iter();
    let is_form = headers
        .any(|(name, value)| name.eq_ignore_ascii_case("content-type") && value.starts_with(FORM));
    if is_form {
        ShownBody::of_form(&body, note)
    } else {
        ShownBody::new(&body, note)
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the command that sends the request of a delivery again, as it was sent. Its secrets stay masked. A
/// long body is in a file that another command writes.
fn as_command(delivery: &DeliveryDetailView) -> String {
    let (request, is_long) = (
        &delivery.request,
        delivery.facts.bytes > limits::SHOWN_BODY_BYTES as u64,
    );
    let command = curl(request, is_long);
    if !is_long {
        return command;
    }
    let filter = match request.body {
        Some(_) => "jq -j .request.body",
        None => "jq -r .request.bodyBase64 | base64 -d",
    };
    let id = delivery.facts.id;
    format!("leadhost delivery show {id} --json | {filter} > body &&\n{command}")
}

fn curl(request: &RequestView, is_long: bool) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let query: Vec<String> = request
        .query
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    let query = if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    };
    let mut command = format!(
        "curl -X {} {}",
        request.method,
        quoted(&format!("$URL{}{query}", request.path)).replace("'$URL", "\"$URL\"'")
    );
    let mut has_type = false;
    for (name, value) in &request.headers {
        has_type |= name.eq_ignore_ascii_case("content-type");
        let is_own = ["host", "content-length", "connection", "accept-encoding"];
        if !is_own.contains(&name.to_ascii_lowercase().as_str()) {
            // curl leaves out a header whose value is empty, unless a semicolon ends its name.
            let header = match value.as_str() {
                "" => format!("{name};"),
                value => format!("{name}: {value}"),
            };
            command += &format!(" \\\n  -H {}", quoted(&header));
        }
    }
    let body = if is_long { None } else { body(request) };
    if body.is_none() && !is_long {
        return command;
    }
    if !has_type {
        // Otherwise curl would call it a form.
        command += " \\\n  -H 'Content-Type:'";
    }
    match body {
        None => command + " \\\n  --data-binary @body",
        // With `--data-binary`, a body that begins with `@` would name a file of the operator who runs it.
        Some(CommandBody::Text(text)) => command + &format!(" \\\n  --data-raw {}", quoted(text)),
        Some(CommandBody::Base64(text)) => {
            format!(
                "printf %s {} | base64 -d | {command} \\\n  --data-binary @-",
                quoted(&text)
            )
        }
    }
}

enum CommandBody<'a> {
    Text(&'a str),
    Base64(Cow<'a, str>),
}

fn body(request: &RequestView) -> Option<CommandBody<'_>> {
    match (&request.body, &request.body_base64) {
        (Some(text), _) if text.is_empty() => None,
        // No argument of a program may have U+0000, and the page escapes the others.
        (Some(text), _) if text.contains(|c: char| is_active(c) && !BLANKS.contains(&c)) => {
            Some(CommandBody::Base64(STANDARD.encode(text).into()))
        }
        (Some(text), _) => Some(CommandBody::Text(text)),
        (None, Some(base64)) => Some(CommandBody::Base64(base64.into())),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
        body: Option<&str>,
        base64: Option<&str>,
    ) -> RequestView {
        let pairs = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            let owned = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            owned.collect()
        };
        RequestView {
            method: "POST".to_owned(),
            path: "/x".to_owned(),
            query: pairs(query),
            headers: pairs(headers),
            body: body.map(str::to_owned),
            body_base64: base64.map(str::to_owned),
        }
    }

    #[test]
    fn a_form_is_shown_by_its_fields() {
        let headers = [("Content-Type", &*format!("{FORM}; charset=utf-8"))];
        let body = "first=Rui&text=Quero+visitar%21";
        let shown = pretty(&request(&[], &headers, Some(body), None));
        assert_eq!(shown.text, "first = Rui\ntext = Quero visitar!");
    }

    #[test]
    fn a_body_that_is_not_utf8_says_so() {
        let check = |bytes: &[u8], expect: (&str, &str)| {
            let base64 = STANDARD.encode(bytes);
            let (text, note) = text_of(None, Some(&base64));
            assert_eq!((text.as_ref(), note), expect);
        };
        let latin = b"{\"name\":\"Jo\xe3o Prado\"}";
        check(latin, ("{\"name\":\"Jo\u{fffd}o Prado\"}", NOT_UTF8));
        check(b"\x00\x01\xff\xfe", ("AAH//g==", NO_TEXT));
        assert_eq!(text_of(Some("Jo\u{e3}o"), None), ("Jo\u{e3}o".into(), ""));
    }

    #[test]
    fn the_command_quotes_what_a_shell_would_read() {
        let headers = [("Host", "old"), ("X-Name", "it's")];
        let body = "{\"a\":\"$(id) 'x'\"}";
        let request = request(&[("a b", "c&d")], &headers, Some(body), None);
        let expect = "curl -X POST \"$URL\"'/x?a%20b=c%26d' \\\n  -H 'X-Name: it'\\''s' \\\n  -H 'Content-Type:' \\\n  --data-raw '{\"a\":\"$(id) '\\''x'\\''\"}'";
        assert_eq!(curl(&request, false), expect);
    }

    #[test]
    fn the_command_sends_the_body_and_no_file_of_the_one_who_runs_it() {
        let head =
            "curl -X POST \"$URL\"'/x' \\\n  -H 'content-type: text/plain' \\\n  -H 'X-Empty;'";
        let check = |body: Option<&str>, base64: Option<&str>, (before, after): (&str, &str)| {
            let headers = [("content-type", "text/plain"), ("X-Empty", "")];
            let command = curl(&request(&[], &headers, body, base64), false);
            assert_eq!(command, format!("{before}{head}{after}"));
        };
        let file = ("", " \\\n  --data-raw '@/etc/hosts'");
        check(Some("@/etc/hosts"), None, file);
        let decoded = " \\\n  --data-binary @-";
        check(
            None,
            Some("/w=="),
            ("printf %s '/w==' | base64 -d | ", decoded),
        );
        check(
            Some("a\0b"),
            None,
            ("printf %s 'YQBi' | base64 -d | ", decoded),
        );
        check(Some(""), None, ("", ""));
    }
}
