//! A message in the form that an adapter gets.

use super::Outgoing;
use crate::connections;
use crate::prelude::*;
use leadhost_domain::channel::TemplateSend;

pub fn template_send(pipeline: &Pipeline, outgoing: &Outgoing) -> TemplateSend {
    let live = &outgoing.live;
    TemplateSend {
        message_id: outgoing.message.to_string(),
        recipient: outgoing.recipient.clone(),
        template: outgoing.payload.clone(),
        config: live.connection.config.clone(),
        context: context(pipeline, live, outgoing.conversation),
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
    if let Some(url) = pipeline.config.server.public(&webhook) {
        context.push(("callback-url".to_owned(), url));
    }
    context
}
