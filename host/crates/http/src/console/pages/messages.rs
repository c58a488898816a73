use super::super::table::{RowButton, RowForm};
use crate::console::pages::prelude::*;
use leadhost_admin_api::outbox::{
    ListedMessage, MessageView, Messages, ReplyRequest, ResolveManyRequest, ResolveRequest,
    Resolved, ResolvedMany, SimulatedEvent, Verdict,
};
use leadhost_domain::id::ConversationId;
use leadhost_domain::message::MessageState;
use leadhost_domain::text::counted;

pub static ROUTES: &[Route] = pages! {
    GET "/messages" => answer list();
    POST "/messages/reply" => form (origin_of_reply) reply(form);
    POST "/messages/resolve" => form "/messages" resolve_many(form);
    POST "/messages/{message}/resolve" => form "/messages" resolve(message, form);
};

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

async fn list(visit: &Visit<'_>) -> PageResult {
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

impl MessagesPage {
    fn may_resolve_all(&self) -> bool {
        let is_unknown = self.filters.get("state") == MessageState::Unknown.as_str();
        is_unknown && !self.messages.is_empty()
    }

    /// Returns the messages. An operator may resolve the ones whose outcome is unknown.
    fn table(&self) -> Table {
        let messages = self.messages.iter().map(|message| ListedMessage {
            message,
            instances: Some(&self.instances),
        });
        let messages: Vec<ListedMessage<'_>> = messages.collect();
        Table::with_forms(
            &messages,
            "No message.",
            |ListedMessage { message, .. }| {
                let may = message.is_unknown() && self.frame.may_operate();
                may.then(|| RowForm {
                    action: format!("/messages/{}/resolve", message.id),
                    buttons: vec![
                        RowButton {
                            words: "Send again",
                            ask: "Send it again? The contact may get it twice.".to_owned(),
                            verdict: "send-again",
                            ..RowButton::default()
                        },
                        RowButton {
                            words: "Give up",
                            verdict: "give-up",
                            ..RowButton::default()
                        },
                    ],
                })
            },
        )
    }
}

async fn reply(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
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
fn origin_of_reply(form: &Form) -> String {
    conversation_of(form).unwrap_or_else(|| "/messages".to_owned())
}

fn conversation_of(form: &Form) -> Option<String> {
    let id: ConversationId = form.get("conversation").parse().ok()?;
    Some(format!("/conversations/{id}"))
}

async fn resolve(visit: &Visit<'_>, id: &str, form: &Form) -> PageResult<FormOutcome> {
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
async fn resolve_many(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
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
        let listed = ListedMessage {
            message,
            instances: Some(&all),
        };
        let name = listed
            .instance()
            .unwrap_or_else(|| "no instance".to_owned());
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
