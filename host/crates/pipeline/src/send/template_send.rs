//! A message in the form that an adapter gets.

use crate::connections::{self, Live};
use crate::state::Pipeline;
use leadhost_domain::channel::TemplateSend;
use leadhost_domain::exchange::Pairs;
use leadhost_domain::id::{ConversationId, MessageId};

/// A message to a recipient, as the store has it.
pub struct Addressed {
    pub message: MessageId,
    pub conversation: ConversationId,
    pub recipient: String,
    /// JSON text in the shape of the interface.
    pub payload: String,
}

/// Returns a message as the adapter of this instance gets it.
pub fn template_send(pipeline: &Pipeline, live: &Live, addressed: Addressed) -> TemplateSend {
    TemplateSend {
        message_id: addressed.message.to_string(),
        recipient: addressed.recipient,
        template: addressed.payload,
        config: live.connection.config.clone(),
        context: context(pipeline, live, addressed.conversation),
    }
}

fn context(pipeline: &Pipeline, live: &Live, conversation: ConversationId) -> Pairs {
    let connection = &live.connection;
    let mut context = live.context();
    context.push(("conversation-id".to_owned(), conversation.to_string()));
    let Some(agent) = connection.agent else {
        return context;
    };
    context.push(("instance-id".to_owned(), agent.to_string()));
    let webhook = connections::webhook_path(agent, &connection.id);
    // Without a public address there is no callback URL.
    if let Some(url) = pipeline.core.config.server.public(&webhook) {
        context.push(("callback-url".to_owned(), url));
    }
    context
}
