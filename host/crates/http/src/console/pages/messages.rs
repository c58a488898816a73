//! Messages: sent, waiting, of unknown outcome, and received.

use std::collections::BTreeMap;

use askama::Template;
use hyper::StatusCode;

use super::super::api::ApiRefusal;
use super::super::form::{Form, encoded};
use super::super::frame::Frame;
use super::super::outcome::{Notice, Tone};
use super::super::{
    answer::{FormOutcome, page},
    visit::Visit,
};
use super::filters::{Filtered, Filters, status_of};
use crate::reply::ApiResponse;
use leadhost_admin_api::instances::Instances;
use leadhost_admin_api::outbox::{
    MessageView, Messages, ReplyRequest, ResolveManyRequest, ResolveRequest, Resolved,
    ResolvedMany, SimulatedEvent, Verdict,
};
use leadhost_domain::id::ConversationId;
use leadhost_domain::limits;
use leadhost_domain::message::MessageState;
use leadhost_domain::text::counted;
use leadhost_domain::workspace::name_in_workspace;

/// The filters of the list, and of the messages that are resolved together.
const FILTERS: [&str; 3] = ["contact", "state", "instance"];

#[derive(Template)]
#[template(path = "console/messages.html")]
pub struct MessagesPage {
    frame: Frame,
    filters: Filters,
    states: [MessageState; MessageState::ALL.len()],
    instances: Instances,
    messages: Vec<MessageView>,
    next: Option<String>,
    problem: Option<ApiRefusal>,
}

/// Shows the list.
pub async fn list(visit: &Visit<'_>) -> Result<ApiResponse, ApiRefusal> {
    let filters = Filters::read(visit, &[&FILTERS[..], &["before"]].concat());
    let instances: Instances = visit.api().get("/instances").await?;
    let path = format!("/outbox{}", filters.query());
    let Filtered { found, problem } = Filtered::<Messages>::list(visit, &path).await?;
    let shown = MessagesPage {
        frame: visit.frame("messages", "Messages"),
        next: filters.next_page("/messages", found.next),
        filters,
        states: MessageState::ALL,
        instances,
        messages: found.messages,
        problem,
    };
    page(status_of(shown.problem.as_ref()), &shown)
}

/// Returns `workspace/name` of the instance of a message.
fn instance_of(instances: &Instances, message: &MessageView) -> Option<String> {
    let mut all = instances.instances.iter();
    let own = all.find(|instance| Some(instance.id) == message.instance_id)?;
    Some(name_in_workspace(&own.workspace, &own.name))
}

impl MessagesPage {
    /// Returns whether the messages of the list are resolved together.
    fn may_resolve_all(&self) -> bool {
        let is_unknown = self.filters.get("state") == MessageState::Unknown.as_str();
        is_unknown && !self.messages.is_empty()
    }

    fn instance(&self, message: &MessageView) -> Option<String> {
        instance_of(&self.instances, message)
    }

    fn why(&self, message: &MessageView) -> Option<String> {
        message.why(Some(&self.instances))
    }
}

/// Simulates a contact of the sandbox who writes.
pub async fn reply(visit: &Visit<'_>, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let request = ReplyRequest {
        to: form.get("to").to_owned(),
        text: form.get("text").to_owned(),
        instance: form.filled("instance"),
    };
    let conversation = conversation_of(form);
    let simulated: SimulatedEvent = visit.api().post("/outbox/reply", &request).await?;
    let notice = Notice {
        tone: Tone::of(simulated.status),
        text: format!("The contact has written: {}.", simulated.status.as_str()),
    };
    if let Some(page) = conversation {
        return Ok(FormOutcome::done(page, notice));
    }
    let newest: Messages = visit.api().get("/outbox?limit=50").await?;
    // To the conversation, if the answer is to a message of it.
    let mut newest = newest.messages.into_iter();
    let answered = newest.find(|message| message.id.to_string() == request.to);
    let to = answered.map_or_else(
        || "/messages".to_owned(),
        |message| format!("/conversations/{}", message.conversation_id),
    );
    Ok(FormOutcome::done(to, notice))
}

/// Returns the page, below `/console`, from which an answer of a contact was sent.
pub fn origin_of_reply(form: &Form) -> String {
    conversation_of(form).unwrap_or_else(|| "/messages".to_owned())
}

/// Returns the page of the conversation on which the form stands.
fn conversation_of(form: &Form) -> Option<String> {
    let id: ConversationId = form.get("conversation").parse().ok()?;
    Some(format!("/conversations/{id}"))
}

/// Resolves a message whose outcome is unknown.
pub async fn resolve(visit: &Visit<'_>, id: &str, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let verdict = verdict_of(form);
    let path = format!("/outbox/{}/resolve", encoded(id));
    let resolved: Resolved = visit.api().post(&path, &ResolveRequest { verdict }).await?;
    let notice = format!("The message is resolved: {}.", resolved.state.as_str());
    Ok(FormOutcome::done("/messages?state=unknown", notice))
}

fn verdict_of(form: &Form) -> Verdict {
    match form.get("verdict") {
        "send-again" => Verdict::SendAgain,
        _ => Verdict::GiveUp,
    }
}

/// The question before several messages are resolved: it names each of them.
#[derive(Template)]
#[template(path = "console/resolve.html")]
pub struct ResolvePage {
    frame: Frame,
    filters: Filters,
    verdict: Verdict,
    messages: Vec<MessageView>,
    /// How many messages of which instance.
    instances: BTreeMap<String, usize>,
    /// Whether the filters name more messages, which are left to a next step.
    more: bool,
}

impl ResolvePage {
    fn is_sent_again(&self) -> bool {
        self.verdict == Verdict::SendAgain
    }

    fn number(&self) -> String {
        counted(self.messages.len() as u64, "message", "messages")
    }
}

/// Resolves the messages of a list whose outcome is unknown: first it asks, naming them, and then it
/// resolves those that the question named.
pub async fn resolve_many(visit: &Visit<'_>, form: &Form) -> Result<FormOutcome, ApiRefusal> {
    let mut filters = Filters::from_form(form, &FILTERS);
    filters.put("state", MessageState::Unknown.as_str().to_owned());
    let verdict = verdict_of(form);
    let named = form.all("message");
    if !named.is_empty() {
        let messages = named.iter().map(|id| id.parse()).collect::<Result<_, _>>();
        let messages =
            messages.map_err(|_| ApiRefusal::new(StatusCode::BAD_REQUEST, "No such message."))?;
        let request = ResolveManyRequest { verdict, messages };
        let resolved: ResolvedMany = visit.api().post("/outbox/resolve", &request).await?;
        let to = format!("/messages{}", filters.query());
        let (done, others) = (
            resolved.states.values().sum(),
            resolved.refused + resolved.left,
        );
        let notice = Notice {
            tone: Tone::of_counts(done, others),
            text: resolved.summary(),
        };
        return Ok(FormOutcome::done(to, notice));
    }
    let most = limits::RESOLVED_AT_ONCE.to_string();
    let query = filters.query_with(&[("limit", &most)]);
    let list: Messages = visit.api().get(&format!("/outbox{query}")).await?;
    let all: Instances = visit.api().get("/instances").await?;
    let mut instances = BTreeMap::new();
    for message in &list.messages {
        let name = instance_of(&all, message).unwrap_or_else(|| "no instance".to_owned());
        *instances.entry(name).or_default() += 1;
    }
    let shown = ResolvePage {
        frame: visit.frame("messages", "Resolve messages"),
        filters,
        verdict,
        messages: list.messages,
        instances,
        more: list.next.is_some(),
    };
    Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?))
}
