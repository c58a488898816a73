use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::deals::{DealSummary, ProductName};
use leadhost_admin_api::people::{
    AgentName, ContactName, ConversationSummary, OwnerName, TicketSummary,
};
use leadhost_domain::deal::PersonPart;
use leadhost_domain::ticket::TicketView;
use leadhost_store::{ConversationsOf, FoundConversation, FoundDeal, TicketFilter};

/// A workspace, with the names of the instances that its rows refer to.
pub struct WorkspaceNames {
    pub id: WorkspaceId,
    slug: String,
    agents: BTreeMap<AgentId, String>,
}

impl WorkspaceNames {
    pub async fn load(store: &Store, workspace: &Workspace) -> Result<Self, StoreError> {
        let agents = store.agents(workspace.id).await?;
        Ok(Self {
            id: workspace.id,
            slug: workspace.slug.clone(),
            agents: agents.into_iter().map(|one| (one.id, one.name)).collect(),
        })
    }

    fn agent(&self, id: AgentId) -> AgentName {
        let name = self.agents.get(&id).cloned();
        AgentName { id, name }
    }

    pub fn deal(&self, found: FoundDeal) -> DealSummary {
        let view = found.view;
        let text = |name: &str| view.deal.props[name].as_str().map(str::to_owned);
        let owner = view.deal.owner_id.as_deref().and_then(|id| id.parse().ok());
        let product = view.property.id.as_deref().and_then(|id| id.parse().ok());
        DealSummary {
            id: found.id,
            workspace: self.slug.clone(),
            title: found.title,
            stage: view.deal.stage_code,
            external_id: text("externalIntegrationId"),
            source: text("source"),
            status: view.deal.status,
            created_at: view.deal.created_at,
            updated_at: view.deal.updated_at,
            owner: owner.map(|id| OwnerName {
                id,
                name: view.deal.owner_name,
                email: view.deal.owner_email,
            }),
            contact: person(view.person),
            product: product.map(|id| ProductName {
                id,
                name: view.property.name,
                external_id: view.property.external_id,
            }),
            instance: view.agent.id.map(|id| self.agent(id)),
        }
    }

    pub fn ticket(&self, ticket: TicketView) -> TicketSummary {
        view! { TicketSummary from ticket: id, deal_id, conversation_id, special_instructions,
            opened_at, answered_at, resolved_at, updated_at;
            workspace: self.slug.clone(),
            status: ticket.status.as_str().to_owned(),
            contact: person(ticket.person),
            owner: ticket.owner.map(|owner| OwnerName {
                id: owner.id,
                name: Some(owner.name),
                email: Some(owner.email),
            }),
            instance: ticket.agent_id.map(|id| self.agent(id))
        }
    }

    fn conversation(&self, found: FoundConversation) -> ConversationSummary {
        view! { ConversationSummary from found: id, status, source, created_at, last_message_at;
            contact_id: found.contact,
            deal_id: found.deal,
            instance: found.agent.map(|id| self.agent(id))
        }
    }
}

/// Returns a contact by its names. The store has read its id as one.
fn person(person: PersonPart) -> ContactName {
    ContactName {
        id: person.id.parse().unwrap_or(ContactId(uuid::Uuid::nil())),
        name: person.name,
        phone_number: person.phone_number,
        email: person.email,
    }
}

pub async fn conversations(
    store: &Store,
    names: &WorkspaceNames,
    of: ConversationsOf,
) -> Result<Vec<ConversationSummary>, StoreError> {
    let found = store.conversations(names.id, of, limits::SHOWN_OF_PERSON);
    let found = found.await?.into_iter();
    Ok(found.map(|one| names.conversation(one)).collect())
}

pub async fn tickets(
    store: &Store,
    names: &WorkspaceNames,
    of: TicketFilter,
) -> Result<Vec<TicketSummary>, StoreError> {
    let filter = TicketFilter {
        limit: limits::SHOWN_OF_PERSON,
        ..of
    };
    let found = store.search_tickets(names.id, &filter).await?.into_iter();
    Ok(found.map(|one| names.ticket(one)).collect())
}
