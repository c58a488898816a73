//! Shows what arrives at the private service: each request with the calls that were made for it, and
//! the calls that the service makes on its own. Nothing is masked: it is the author's own data. A call
//! that fails is shown once: the service makes it again and again.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::requests::AnsweredRequest;
use super::sends::{line_within, outcome_lines, step_lines};
use crate::cli::output::is_closed;
use crate::cli::plugin::run::milliseconds;
use crate::cli::prelude::*;
use leadhost_domain::channel::{EventBody, TemplatePage, TemplateStep};
use leadhost_domain::lead::Lead;
use leadhost_domain::plugin::{ConversionOutcome, ConvertedItem};
use leadhost_plugin::{Watched, WatchedCall, WatchedOutput, WatchedSend, with_innermost_place};
use leadhost_store::{DeliveryDetail, Store};

/// Calls that wait for the answer to their request, requests that later calls may belong to, and failures
/// that are remembered.
const WAITING: usize = 64;

const ITEMS: usize = 20;

/// Characters of a text that are shown.
const CHARACTERS: usize = 200;

/// Characters of a text that are shown of a call that failed: the message of a panic may be anywhere in it.
const FAILURE_CHARACTERS: usize = 2_000;

pub struct CallBoard {
    store: Arc<Store>,
    /// The plugin that is no work of the author's, if the service has one.
    hidden: Option<&'static str>,
    /// One line for each request or call.
    is_quiet: bool,
    /// Calls whose request is not answered yet.
    waiting: VecDeque<WatchedCall>,
    /// Deliveries whose request was answered: what is called for them now is later work.
    answered: VecDeque<String>,
    failures: ShownFailures,
}

/// Calls that failed and were shown: of each function and delivery, the last one.
#[derive(Default)]
struct ShownFailures(VecDeque<ShownFailure>);

/// A call that failed.
#[derive(PartialEq, Eq)]
struct ShownFailure {
    digest: Digest,
    function: &'static str,
    /// The id of the delivery or of the message.
    id: String,
    error: String,
}

impl CallBoard {
    /// Returns a board without calls.
    ///
    /// `hidden`: the plugin whose calls are not shown.
    pub fn new(store: Arc<Store>, hidden: Option<&'static str>, is_quiet: bool) -> Self {
        Self {
            store,
            hidden,
            is_quiet,
            waiting: VecDeque::new(),
            answered: VecDeque::new(),
            failures: ShownFailures::default(),
        }
    }

    /// Prints requests and calls until the reader of the output is gone.
    pub async fn run(
        mut self,
        mut calls: mpsc::Receiver<Watched>,
        mut requests: mpsc::Receiver<AnsweredRequest>,
    ) {
        while !is_closed() {
            tokio::select! {
                // The calls for a request end before its answer.
                biased;
                Some(ended) = calls.recv() => match ended {
                    Watched::Call(call) => self.called(call),
                    Watched::Send(send) => self.sent(&send),
                },
                Some(request) = requests.recv() => self.answered(request).await,
                else => return,
            }
        }
    }

    fn called(&mut self, call: WatchedCall) {
        if self.hidden.is_some_and(|hidden| call.plugin == hidden) {
            return;
        }
        if self.failures.is_repeated(&call) {
            return;
        }
        match call.function {
            // They are made for every delivery and every list; only a failure is news.
            "sender-checks" | "routes" => {
                if call.output.is_err() {
                    self.show("", &[call], None);
                }
            }
            "convert" | "read-webhook" | "handshake" if !self.answered.contains(&call.id) => {
                self.waiting.push_back(call);
                if self.waiting.len() > WAITING
                    && let Some(oldest) = self.waiting.pop_front()
                {
                    self.show("", &[oldest], None);
                }
            }
            // The outcome is the one line of a message.
            "send" | "read-answer" if self.is_quiet && call.output.is_ok() => {}
            _ => self.show("", &[call], None),
        }
    }

    fn sent(&self, send: &WatchedSend) {
        if self.hidden.is_some_and(|hidden| send.plugin == hidden) {
            return;
        }
        let mut lines = outcome_lines(send);
        if self.is_quiet {
            lines.retain(|line| line.starts_with("  outcome"));
        }
        say(&lines.join("\n"));
    }

    async fn answered(&mut self, request: AnsweredRequest) {
        // Those of operators, probes and documents are not for the plugin.
        let is_shown = ["ingest", "channel", "send", "none"]
            .iter()
            .any(|first| request.route.starts_with(first));
        if !is_shown {
            return;
        }
        let is_its_own = |call: &WatchedCall| match &request.delivery {
            Some(id) => call.id == *id,
            None => call.function == "handshake" && request.route.ends_with("handshake"),
        };
        let (mut own, others): (VecDeque<_>, VecDeque<_>) =
            self.waiting.drain(..).partition(is_its_own);
        self.waiting = others;
        let detail = self.detail(request.delivery.as_deref()).await;
        if let Some(id) = &request.delivery {
            self.answered.push_back(id.clone());
            while self.answered.len() > WAITING {
                self.answered.pop_front();
            }
        }
        let head = head(&request, detail.as_ref());
        self.show(&head, own.make_contiguous(), detail.as_ref());
    }

    async fn detail(&self, id: Option<&str>) -> Option<DeliveryDetail> {
        let id = id?.parse().ok()?;
        self.store.delivery(id).await.ok().flatten()
    }

    fn show(&self, head: &str, calls: &[WatchedCall], detail: Option<&DeliveryDetail>) {
        let mut lines = Vec::new();
        match (head, calls) {
            // Later work. Several calls may be under way.
            ("", [call, ..]) if !call.id.is_empty() => {
                lines.push(safe(&format!("{} of {}", call.function, call.id)));
            }
            ("", _) => {}
            (head, _) => lines.push(head.to_owned()),
        }
        for call in calls {
            lines.extend(call_lines(call));
        }
        if let Some(detail) = detail {
            lines.extend(detail_lines(detail, calls));
        }
        lines.truncate(if self.is_quiet { 1 } else { lines.len() });
        say(&lines.join("\n"));
    }
}

impl ShownFailures {
    /// Returns whether the call failed as the last one of its function for the same delivery did.
    fn is_repeated(&mut self, call: &WatchedCall) -> bool {
        let failed = call.output.as_ref().err().map(|error| ShownFailure {
            digest: call.digest.clone(),
            function: call.function,
            id: call.id.clone(),
            error: with_innermost_place(error).to_owned(),
        });
        let mut known = self.0.iter();
        let known = known.position(|one| one.function == call.function && one.id == call.id);
        let known = known.and_then(|at| self.0.remove(at));
        let is_repeated = known.is_some() && known == failed;
        self.0.extend(failed);
        if self.0.len() > WAITING {
            self.0.pop_front();
        }
        is_repeated
    }
}

/// Returns the line of a request, such as `POST ingest-lead: 200 converted, 4.1 ms`.
fn head(request: &AnsweredRequest, detail: Option<&DeliveryDetail>) -> String {
    let status = match (request.status, request.route.as_str(), detail) {
        (401, "ingest-lead" | "channel-webhook", _) => {
            " the proof of the sender is missing or wrong".to_owned()
        }
        (_, _, Some(detail)) => format!(" {}", detail.summary.status.as_str()),
        (404, _, None) => " there is nothing at this address".to_owned(),
        _ => String::new(),
    };
    let took = milliseconds(request.took);
    let delivery = request.delivery.as_ref();
    let delivery = delivery.map_or_else(String::new, |id| format!(", delivery {id}"));
    safe(&format!(
        "{} {}: {}{status}, {took}{delivery}",
        request.method, request.route, request.status
    ))
}

/// Returns the lines of a call. Of one that failed, what the plugin wrote comes first: the message of its
/// panic or its exception, with file and line.
fn call_lines(call: &WatchedCall) -> Vec<String> {
    let mut lines = Vec::new();
    let usage = &call.usage;
    if call.output.is_err() {
        let long = |text: &String| line_within(FAILURE_CHARACTERS, "plugin", text);
        lines.extend(usage.log.iter().map(long));
    }
    match &call.output {
        Ok(WatchedOutput::Conversion(output)) => {
            lines.extend(bounded(output.items.iter().map(item_line)));
            if output.items.is_empty() && output.reply.is_none() {
                lines.push("  no item: the sender gets `ignored`".to_owned());
            }
            lines.extend(output.notes.iter().map(|note| line("note", note)));
            let reply = output.reply.as_ref();
            lines.extend(reply.map(|reply| line("reply", &reply.status.to_string())));
        }
        Ok(WatchedOutput::Webhook(webhook)) => {
            lines.extend(bounded(
                webhook.events.iter().map(|event| event_line(&event.body)),
            ));
            lines.extend(webhook.notes.iter().map(|note| line("note", note)));
        }
        Ok(WatchedOutput::TemplateStep(step)) => match step {
            TemplateStep::Call(request) => {
                lines.push(line(
                    "templates",
                    &format!("asked of {}", request.authority),
                ));
            }
            TemplateStep::Page(page) => lines.extend(template_lines(page)),
            TemplateStep::Unlisted => {
                lines.push(line("templates", "the provider has no list of them"));
            }
        },
        Ok(WatchedOutput::Templates(page)) => lines.extend(template_lines(page)),
        Ok(WatchedOutput::Refused(problem)) if call.function == "list-templates" => {
            lines.push(line("the configuration is refused", &problem.to_string()));
        }
        Ok(WatchedOutput::Refused(problem)) => {
            lines.push(line("the body is refused", &problem.to_string()));
        }
        Ok(WatchedOutput::SendStep(step)) => lines.extend(step_lines(step)),
        Ok(WatchedOutput::Other) => {}
        Err(error) => lines.push(line_within(FAILURE_CHARACTERS, "FAILED", error)),
    }
    if call.output.is_ok() {
        lines.extend(usage.log.iter().map(|text| line("plugin", text)));
    }
    lines.push(format!(
        "  {}: {}, {} of the processor, {} of memory at most",
        call.function,
        milliseconds(call.elapsed),
        milliseconds(usage.processor),
        size::readable(usage.memory),
    ));
    lines
}

/// Returns what the store says about the items, where it is not what a lead usually becomes, and why
/// a delivery failed, unless the failure of a call says the same.
fn detail_lines(detail: &DeliveryDetail, calls: &[WatchedCall]) -> Vec<String> {
    let mut lines = Vec::new();
    let items = detail.items.iter().filter(|item| item.message.is_some());
    lines.extend(bounded(items.map(|item| {
        let message = item.message.as_deref().unwrap_or_default();
        line(
            &format!("item {} {}", item.index, item.status.as_str()),
            message,
        )
    })));
    let is_shown = |error: &&String| {
        let mut failures = calls.iter().filter_map(|call| call.output.as_ref().err());
        failures.any(|failure| error.starts_with(failure.as_str()))
    };
    let error = detail.summary.error.as_ref();
    let error = error.filter(|error| !is_shown(error));
    lines.extend(error.map(|error| line_within(FAILURE_CHARACTERS, "error", error)));
    lines
}

fn item_line(item: &ConvertedItem) -> String {
    match &item.outcome {
        ConversionOutcome::Lead(lead) => {
            let words = [
                lead.name.clone(),
                (!lead.phones.is_empty()).then(|| lead.phones.join(" ")),
                (!lead.emails.is_empty()).then(|| lead.emails.join(" ")),
                lead.external_id.as_ref().map(|id| format!("id {id}")),
                lead.message.as_ref().map(|text| format!("{text:?}")),
            ];
            let words: Vec<String> = words.into_iter().flatten().collect();
            let mut lines = vec![line("lead", &words.join(", "))];
            lines.extend(
                other_fields(lead)
                    .into_iter()
                    .map(|(name, text)| format!("  {}", line(name, &text))),
            );
            lines.join("\n")
        }
        ConversionOutcome::Fetch(fetch) => {
            let id = fetch.external_id.as_deref().unwrap_or("no id");
            line("fetch", &format!("{id} from {}", fetch.request.authority))
        }
        ConversionOutcome::Ignored(why) => line("ignored", why),
        ConversionOutcome::Invalid(problem) => line("invalid", &problem.to_string()),
    }
}

/// Returns the other fields of a lead that are not empty, each under its name.
fn other_fields(lead: &Lead) -> Vec<(&'static str, String)> {
    let listings = lead.listings.iter();
    let listings = listings.map(|one| format!("{} {}", one.kind, one.reference));
    let campaign = lead.campaign.iter();
    let campaign = campaign.map(|(name, value)| format!("{name} {value}"));
    let attributes = lead.attributes.iter();
    let attributes = attributes.map(|(name, value)| format!("{name} {value}"));
    let joined = |texts: Vec<String>| texts.join(", ");
    let mut fields = vec![
        ("listings", joined(listings.collect())),
        ("source", lead.source.clone().unwrap_or_default()),
        ("occurred at", lead.occurred_at.clone().unwrap_or_default()),
        ("campaign", joined(campaign.collect())),
        ("attributes", joined(attributes.collect())),
    ];
    fields.retain(|(_, text)| !text.is_empty());
    fields
}

fn template_lines(page: &TemplatePage) -> Vec<String> {
    if page.templates.is_empty() {
        return vec![line("templates", "none")];
    }
    bounded(page.templates.iter().map(|template| {
        line(
            "template",
            &format!(
                "{} {} {}",
                template.name, template.language, template.status
            ),
        )
    }))
}

fn event_line(event: &EventBody) -> String {
    match event {
        EventBody::Status(status) => line(
            "status",
            &format!("{} of {}", status.status, status.external_id),
        ),
        EventBody::Inbound(message) => {
            let sender = message.sender_phone.as_ref().unwrap_or(&message.sender_id);
            let content = message.content.as_deref().unwrap_or_default();
            let kind = &message.kind;
            line("message", &format!("{kind} from {sender}: {content}"))
        }
        EventBody::Template(template) => line(
            "template",
            &format!("{} {}", template.name, template.status),
        ),
        EventBody::Contact(contact) => line(
            "contact",
            &format!("{} {}", contact.kind.as_str(), contact.sender_id),
        ),
        EventBody::Other(what) => line("other", what),
        EventBody::Invalid(problem) => line("invalid", &problem.to_string()),
    }
}

/// Returns an indented line of bounded length.
pub fn line(label: &str, text: &str) -> String {
    line_within(CHARACTERS, label, text)
}

fn bounded(mut lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut shown: Vec<String> = lines.by_ref().take(ITEMS).collect();
    let more = lines.count();
    if more > 0 {
        shown.push(format!("  and {more} more"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::InputProblem;
    use leadhost_domain::lead::Action;
    use leadhost_domain::plugin::ConverterOutput;
    use leadhost_plugin::CallUsage;

    fn call(output: Result<WatchedOutput, String>) -> WatchedCall {
        WatchedCall {
            digest: Digest::compute(b"form"),
            plugin: "form".to_owned(),
            function: "convert",
            id: "d-1".to_owned(),
            elapsed: Duration::from_micros(4_100),
            usage: CallUsage {
                processor: Duration::from_micros(1_200),
                memory: 3 << 20,
                instructions: None,
                log: vec!["a word".to_owned()],
            },
            output,
        }
    }

    fn item(outcome: ConversionOutcome) -> ConvertedItem {
        ConvertedItem {
            route: vec![],
            outcome,
        }
    }

    #[test]
    fn a_call_is_shown_with_items_notes_log_and_measures() {
        let ignored = item(ConversionOutcome::Ignored("a\nb".to_owned()));
        let output = ConverterOutput {
            items: vec![ignored; ITEMS + 2],
            reply: None,
            notes: vec!["n".repeat(2 * CHARACTERS)],
            memory: 0,
            processor: Duration::ZERO,
        };
        let lines = call_lines(&call(Ok(WatchedOutput::Conversion(output))));
        assert_eq!(lines[0], "  ignored: a\\nb");
        assert_eq!(lines[ITEMS], "  and 2 more");
        assert!(lines[ITEMS + 1].ends_with('…'));
        let expected = [
            "  plugin: a word",
            "  convert: 4.1 ms, 1.2 ms of the processor, 3 MiB of memory at most",
        ];
        assert_eq!(lines[ITEMS + 2..], expected);
    }

    #[test]
    fn a_failure_is_shown_once_until_the_delivery_the_error_or_the_version_is_another() {
        let mut failures = ShownFailures::default();
        let mut check = |id: &str, output: Result<WatchedOutput, &str>, build: &[u8], expect| {
            let call = WatchedCall {
                id: id.to_owned(),
                digest: Digest::compute(build),
                ..call(output.map_err(str::to_owned))
            };
            assert_eq!(failures.is_repeated(&call), expect, "{call:?}");
        };
        let crash = |place: &str| format!("it trapped, in {place} < main.run");
        let (read, phone) = (crash("main.read"), crash("main.phone"));
        check("d-1", Err(&read), b"one", false);
        check("d-1", Err(&read), b"one", true);
        let by_another = "it trapped, in main.read < main.start";
        check("d-1", Err(by_another), b"one", true);
        check("d-2", Err(&read), b"one", false);
        check("d-1", Err(&phone), b"one", false);
        check("d-1", Err(&phone), b"edited", false);
        check("d-1", Ok(WatchedOutput::Other), b"edited", false);
        check("d-1", Err(&phone), b"edited", false);
        for number in 0..2 * WAITING {
            check(&number.to_string(), Err(&read), b"one", false);
        }
        assert_eq!(failures.0.len(), WAITING);
    }

    #[test]
    fn the_fields_of_a_lead_are_shown_with_its_attributes() {
        let lead = Lead {
            external_id: None,
            action: Action::Create,
            is_test: false,
            name: Some("Lia Campos".to_owned()),
            phones: Vec::new(),
            emails: Vec::new(),
            region: None,
            listings: Vec::new(),
            message: None,
            occurred_at: None,
            source: Some("site".to_owned()),
            consents: Vec::new(),
            campaign: vec![("utm-term".to_owned(), "sea".to_owned())],
            attributes: serde_json::Map::from_iter([("unit".to_owned(), "AP-1".into())]),
            as_text: Vec::new(),
            cuts: Vec::new(),
        };
        let shown = item_line(&item(ConversionOutcome::Lead(Box::new(lead))));
        let expected = [
            "  lead: Lia Campos",
            "    source: site",
            "    campaign: utm-term sea",
            "    attributes: unit \"AP-1\"",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_call_without_items_says_why() {
        let problem = InputProblem {
            message: "no object".to_owned(),
            path: String::new(),
        };
        let refused = call_lines(&call(Ok(WatchedOutput::Refused(problem))));
        assert_eq!(refused[0], "  the body is refused: no object");
        // The words of the plugin come before the host's.
        let failed = call_lines(&call(Err("it trapped".to_owned())));
        assert_eq!(failed[..2], ["  plugin: a word", "  FAILED: it trapped"]);
        let long = "x".repeat(FAILURE_CHARACTERS);
        let failed = call_lines(&call(Err(long.clone())));
        assert_eq!(failed[1], format!("  FAILED: {long}"));
    }
}
