use crate::console::pages::prelude::*;
use leadhost_admin_api::instances::InstanceView;
use leadhost_admin_api::outbox::{MessageView, Messages};
use leadhost_domain::message::Actor;

pub static ROUTES: &[Route] =
    pages! { GET "/conversations/{conversation}" => page show(conversation); };

#[derive(Template)]
#[template(path = "console/conversation.html")]
pub struct ConversationPage {
    frame: Frame,
    /// The newest last.
    messages: Vec<MessageView>,
    contact: String,
    instances: Instances,
    agent: Option<AgentId>,
    /// The message to which a contact of the sandbox answers. `None` if it is no sandbox.
    answered: Option<String>,
    older: Option<String>,
}

async fn show(visit: &Visit<'_>, id: &str) -> PageResult<ConversationPage> {
    let filters = Filters::read(visit, &["before"]);
    let api = visit.api();
    let query = filters.query_with(&[("conversation", id)]);
    let list: Messages = api.get(&format!("/outbox{query}")).await?;
    let Some(newest) = list.messages.first() else {
        let message = "There is no such conversation, or it has no message.";
        return Err(ApiRefusal::new(StatusCode::NOT_FOUND, message));
    };
    let contact = [&newest.contact_name, &newest.phone_number]
        .into_iter()
        .flatten()
        .next();
    let contact = contact.map_or("a contact", String::as_str).to_owned();
    let instances: Instances = api.get("/instances").await?;
    let agent = newest.instance_id;
    let is_sandbox =
        with(&instances, agent).is_some_and(|one| one.adapter.as_deref() == Some("sandbox"));
    let answered = is_sandbox.then(|| newest.id.to_string());
    let older = filters.next_page(&format!("/conversations/{}", encoded(id)), list.next);
    let mut messages = list.messages;
    messages.reverse();
    Ok(ConversationPage {
        frame: visit.frame("messages", format!("Conversation with {contact}")),
        messages,
        contact,
        instances,
        agent,
        answered,
        older,
    })
}

fn with(instances: &Instances, agent: Option<AgentId>) -> Option<&InstanceView> {
    let mut all = instances.instances.iter();
    all.find(|instance| Some(instance.id) == agent)
}

impl ConversationPage {
    fn instance(&self) -> Option<&InstanceView> {
        with(&self.instances, self.agent)
    }

    fn why(&self, message: &MessageView) -> Option<String> {
        message.why(Some(&self.instances))
    }
}

/// Returns the class of a message: which side it is on.
fn side(actor: Actor) -> &'static str {
    match actor {
        Actor::Contact => "theirs",
        _ => "ours",
    }
}
