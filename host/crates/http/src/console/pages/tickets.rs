use crate::console::pages::prelude::*;
use leadhost_admin_api::outbox::{MessageView, Messages};
use leadhost_admin_api::people::{TicketSummary, Tickets};
use leadhost_domain::message::Actor;
use leadhost_domain::ticket::TicketStatus;

pub static ROUTES: &[Route] = pages! {
    GET "/tickets" => answer list();
    GET "/tickets/{ticket}" => page show(ticket);
};

#[derive(Template)]
#[template(path = "console/tickets.html")]
pub struct TicketListPage {
    frame: Frame,
    filters: Filters,
    statuses: [TicketStatus; TicketStatus::ALL.len()],
    workspaces: Vec<Workspace>,
    tickets: Vec<TicketSummary>,
    next: Option<String>,
    problem: Option<ApiRefusal>,
}

async fn list(visit: &Visit<'_>) -> PageResult {
    let filters = Filters::read(visit, &["status", "contact", "deal", "workspace", "before"]);
    let workspaces: Workspaces = visit.api().get("/workspaces").await?;
    let path = format!("/tickets{}", filters.query());
    let Filtered { found, problem } = Filtered::<Tickets>::list(visit, &path).await?;
    let shown = TicketListPage {
        frame: visit.frame("tickets", "Tickets"),
        next: filters.next_page("/tickets", found.next),
        filters,
        statuses: TicketStatus::ALL,
        workspaces: workspaces.workspaces,
        tickets: found.tickets,
        problem,
    };
    page(status_of(shown.problem.as_ref()), &shown)
}

const LAST_MESSAGES: &str = "20";

#[derive(Template)]
#[template(path = "console/ticket.html")]
pub struct TicketPage {
    frame: Frame,
    ticket: TicketSummary,
    /// The last ones of its conversation, the newest last.
    messages: Vec<MessageView>,
}

async fn show(visit: &Visit<'_>, id: &str) -> PageResult<TicketPage> {
    let api = visit.api();
    let ticket: TicketSummary = api.get(&format!("/tickets/{}", encoded(id))).await?;
    let mut messages = match ticket.conversation_id {
        Some(id) => {
            let path = format!("/outbox?conversation={id}&limit={LAST_MESSAGES}");
            api.get::<Messages>(&path).await?.messages
        }
        None => Vec::new(),
    };
    messages.reverse();
    Ok(TicketPage {
        frame: visit.frame("tickets", format!("Ticket of {}", ticket.contact.shown())),
        ticket,
        messages,
    })
}

/// Returns the class of a message: which side it is on.
fn side(actor: Actor) -> &'static str {
    match actor {
        Actor::Contact => "theirs",
        _ => "ours",
    }
}
