//! Rows of feeds, each with its stamp: people, their deals, what is said, what is handed to
//! people. What is new here may have been made by another host just before: then it is
//! left out, and missing in the count.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::LazyLock;

use crate::domain::id::WorkspaceId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::store::StoreError;
use crate::store::decide::{
    Change, Contact, Conversation, Deal, Known, Message, MessageError, Ticket,
};
use crate::store::operations::stamp::{self, Stamps};
use crate::store::schema::{self, Met};
use crate::store::sql::{Arg, Sql, Together, Tx, args, json, listed, made};

/// Stamps and saves what changed, each kind in the order in which it did.
pub async fn changed(tx: &mut Tx, known: &Known) -> Result<(), StoreError> {
    let dialogue = &known.dialogue;
    let contacts = rows(&known.changed_contacts, &known.contacts);
    let deals = rows(&known.changed_deals, &known.deals);
    let conversations = rows(&dialogue.changed_conversations, &dialogue.conversations);
    let messages = rows(&dialogue.changed_messages, &dialogue.messages);
    let errors = rows(&dialogue.changed_errors, &dialogue.errors);
    let tickets = rows(&dialogue.changed_tickets, &dialogue.tickets);
    let mut changes = BTreeMap::new();
    count(&mut changes, &contacts);
    count(&mut changes, &deals);
    count(&mut changes, &conversations);
    count(&mut changes, &messages);
    count(&mut changes, &errors);
    count(&mut changes, &tickets);
    if changes.is_empty() {
        return Ok(());
    }
    let mut stamps = stamp::allocate(tx, &changes).await?;
    let now = known.now;
    let contacts = stamped(&mut stamps, contacts)?;
    let deals = stamped(&mut stamps, deals)?;
    people(tx, &split(now, &contacts)?, &split(now, &deals)?).await?;
    // One that closes, or is resolved, comes before the next one of its two opens: what is
    // changed is saved before what is new.
    save(tx, now, &stamped(&mut stamps, conversations)?).await?;
    save(tx, now, &stamped(&mut stamps, messages)?).await?;
    save(tx, now, &stamped(&mut stamps, errors)?).await?;
    save(tx, now, &stamped(&mut stamps, tickets)?).await
}

/// A row of a feed: how it is written.
trait Fed<const N: usize> {
    type Id: Copy;
    const FEED: Entity;
    fn workspace(&self) -> WorkspaceId;
    fn change(&self) -> Change;
    /// Whether it makes room for another one of its kind.
    fn is_over(&self) -> bool {
        false
    }
    /// Whether another host may make one of the same at the same time.
    const MAY_MEET: bool;
    fn insert() -> &'static Sql;
    fn update() -> &'static Sql;
    /// All of its columns; `at` is when it is written.
    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; N], StoreError>;
}

/// A row that is to be saved.
struct Stamped<'a, I, R> {
    id: I,
    stamp: i64,
    row: &'a R,
}

fn rows<'a, I: Copy + Eq + Hash, R>(changed: &[I], rows: &'a HashMap<I, R>) -> Vec<(I, &'a R)> {
    let row = |id: &I| Some((*id, rows.get(id)?));
    changed.iter().filter_map(row).collect()
}

fn count<const N: usize, R: Fed<N>>(
    changes: &mut BTreeMap<(WorkspaceId, Entity), i64>,
    rows: &[(R::Id, &R)],
) {
    for (_, row) in rows {
        *changes.entry((row.workspace(), R::FEED)).or_default() += 1;
    }
}

fn stamped<'a, const N: usize, R: Fed<N>>(
    stamps: &mut Stamps,
    rows: Vec<(R::Id, &'a R)>,
) -> Result<Vec<Stamped<'a, R::Id, R>>, StoreError> {
    rows.into_iter()
        .map(|(id, row)| {
            let next = stamps.get_mut(&(row.workspace(), R::FEED));
            let next = next.ok_or_else(|| StoreError::Inconsistent {
                what: "a changed row without a stamp".to_owned(),
            })?;
            *next += 1;
            let stamp = *next - 1;
            Ok(Stamped { id, stamp, row })
        })
        .collect()
}

/// Rows by how they are written.
struct Split<'a, const N: usize> {
    over: Vec<[Arg<'a>; N]>,
    changed: Vec<[Arg<'a>; N]>,
    new: Vec<[Arg<'a>; N]>,
}

fn split<'a, const N: usize, R: Fed<N>>(
    now: Micros,
    rows: &[Stamped<'a, R::Id, R>],
) -> Result<Split<'a, N>, StoreError> {
    let (mut over, mut changed, mut new) = (Vec::new(), Vec::new(), Vec::new());
    for Stamped { id, stamp, row } in rows {
        // A stamp may be ahead of the clock, or behind it; a time never exceeds the stamp.
        let at = now.min(Micros(*stamp));
        let of = match row.change() {
            Change::New => &mut new,
            _ if row.is_over() => &mut over,
            _ => &mut changed,
        };
        of.push(row.args(*id, *stamp, at)?);
    }
    Ok(Split { over, changed, new })
}

// None of them makes room for another one of its kind.
static PEOPLE: LazyLock<Together> = LazyLock::new(|| {
    Together::of(vec![
        Contact::update(),
        Contact::insert(),
        Deal::update(),
        Deal::insert(),
    ])
});

async fn people(
    tx: &mut Tx,
    contacts: &Split<'_, 11>,
    deals: &Split<'_, 18>,
) -> Result<(), StoreError> {
    let rows = [
        listed(&contacts.changed),
        listed(&contacts.new),
        listed(&deals.changed),
        listed(&deals.new),
    ];
    tx.run_together(&PEOPLE, rows).await?;
    Ok(())
}

async fn save<const N: usize, R: Fed<N>>(
    tx: &mut Tx,
    now: Micros,
    rows: &[Stamped<'_, R::Id, R>],
) -> Result<(), StoreError> {
    let Split { over, changed, new } = split(now, rows)?;
    tx.run_each(R::update(), &over).await?;
    tx.run_each(R::update(), &changed).await?;
    let made = tx.run_each(R::insert(), &new).await?;
    if R::MAY_MEET && u64::try_from(new.len()).is_ok_and(|sent| made < sent) {
        return Err(StoreError::Contended);
    }
    Ok(())
}

/// The statements of a table of a feed.
macro_rules! written {
    ($table:ident, $met:expr, [$($changed:literal),* $(,)?]) => {
        fn insert() -> &'static Sql {
            static INSERT: Sql = made(|| schema::$table.insert(&[], $met));
            &INSERT
        }

        fn update() -> &'static Sql {
            static UPDATE: Sql = made(|| schema::$table.update(&[$($changed),*]));
            &UPDATE
        }
    };
}

impl Fed<11> for Contact {
    type Id = crate::domain::id::ContactId;
    const FEED: Entity = Entity::Contacts;
    const MAY_MEET: bool = false;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn change(&self) -> Change {
        self.change
    }

    written!(
        CONTACTS,
        Met::Never,
        [
            "cursor_us",
            "name",
            "email",
            "phone_number",
            "banned_at",
            "props",
            "updated_at"
        ]
    );

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 11], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            name: self.name.as_deref(),
            email: self.email.as_deref(),
            phone_number: self.phone_number.as_deref(),
            banned_at: self.banned_at,
            props: json(&self.props)?,
            edited: json(&self.edited)?,
            created_at: at,
            updated_at: at,
        })
    }
}

// Who made a deal and what it came from stays; the partner of one that came through a
// connection is the connection's.
impl Fed<18> for Deal {
    type Id = crate::domain::id::DealId;
    const FEED: Entity = Entity::Deals;
    const MAY_MEET: bool = false;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn change(&self) -> Change {
        self.change
    }

    written!(
        DEALS,
        Met::Never,
        [
            "cursor_us",
            "person_id",
            "owner_id",
            "status",
            "title",
            "props",
            "edited",
            "updated_at",
            "stage_code",
            "product_id",
        ]
    );

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 18], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            person_id: self.person,
            agent_id: self.agent,
            owner_id: self.owner,
            status: self.status.as_str(),
            title: self.title.as_deref(),
            props: json(&self.props)?,
            edited: json(&self.edited)?,
            created_at: at,
            updated_at: at,
            stage_code: self.stage.as_str(),
            product_id: self.product,
            external_id: self.external_id.as_deref(),
            connection_id: self.connection.as_ref(),
            delivery_id: self.delivery,
            partner_id: self.partner,
        })
    }
}

// Whose conversation it is, with which instance and where from, stays.
impl Fed<24> for Conversation {
    type Id = crate::domain::id::ConversationId;
    const FEED: Entity = Entity::Conversations;
    const MAY_MEET: bool = true;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn change(&self) -> Change {
        self.change
    }

    written!(
        CONVERSATIONS,
        Met::Kept,
        [
            "cursor_us",
            "deal_id",
            "status",
            "updated_at",
            "first_message_at",
            "answered_at",
            "last_message_at",
            "no_response_at",
            "transferred_at",
            "appointment_at",
            "closed_at",
            "props",
            "messaged_at",
            "transfer",
            "respond_by",
            "close_by",
        ]
    );

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 24], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            contact_id: self.contact,
            deal_id: self.deal,
            agent_id: self.agent,
            agent_type: self.agent_type.as_deref(),
            source: self.source.as_deref(),
            channel: self.channel.as_deref(),
            status: self.status().as_str(),
            created_at: at,
            updated_at: at,
            first_message_at: self.first_message_at,
            answered_at: self.answered_at,
            last_message_at: self.last_message_at,
            no_response_at: self.no_response_at,
            transferred_at: self.transferred_at,
            appointment_at: self.appointment_at,
            closed_at: self.closed_at,
            props: json(&self.props)?,
            messaged_at: self.messaged_at,
            transfer: self.transfer,
            respond_by: self.respond_by,
            close_by: self.close_by,
        })
    }
}

// What was said stays; how far it is changes.
impl Fed<14> for Message {
    type Id = crate::domain::id::MessageId;
    const FEED: Entity = Entity::Messages;
    const MAY_MEET: bool = false;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn change(&self) -> Change {
        self.change
    }

    written!(
        MESSAGES,
        Met::Never,
        ["cursor_us", "metadata", "state", "delivered_at", "read_at"]
    );

    fn args(&self, id: Self::Id, cursor_us: i64, _: Micros) -> Result<[Arg<'_>; 14], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            conversation_id: self.conversation,
            contact_id: self.contact,
            agent_id: self.agent,
            created_at: self.created_at,
            actor: self.actor.as_str(),
            kind: &self.kind,
            content: self.content.as_deref(),
            metadata: json(&self.metadata)?,
            state: &self.metadata.status,
            delivered_at: self.delivered_at,
            read_at: self.read_at,
        })
    }
}

impl Fed<16> for MessageError {
    type Id = crate::domain::id::MessageErrorId;
    const FEED: Entity = Entity::MessageErrors;
    const MAY_MEET: bool = true;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn change(&self) -> Change {
        self.change
    }

    written!(
        MESSAGE_ERRORS,
        Met::Kept,
        [
            "cursor_us",
            "conversation_id",
            "deal_id",
            "agent_id",
            "message_id",
            "external_id",
            "recipient_id",
            "code",
            "title",
            "description",
            "details",
            "template_name",
            "channel",
            "occurred_at",
        ]
    );

    fn args(&self, id: Self::Id, cursor_us: i64, _: Micros) -> Result<[Arg<'_>; 16], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            conversation_id: self.conversation,
            deal_id: self.deal,
            agent_id: self.agent,
            message_id: self.message,
            external_id: self.external_id.as_deref(),
            recipient_id: self.recipient_id.as_deref(),
            code: &self.code,
            title: self.title.as_deref(),
            description: self.description.as_deref(),
            details: self.details.as_deref(),
            template_name: self.template_name.as_deref(),
            channel: self.channel.as_deref(),
            occurred_at: self.occurred_at,
        })
    }
}

// What is in people's hands stays; how far they are changes.
impl Fed<16> for Ticket {
    type Id = crate::domain::id::TicketId;
    const FEED: Entity = Entity::Tickets;
    const MAY_MEET: bool = true;

    fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    fn change(&self) -> Change {
        self.change
    }

    fn is_over(&self) -> bool {
        self.resolved_at.is_some()
    }

    written!(
        TICKETS,
        Met::Kept,
        [
            "cursor_us",
            "owner_id",
            "status",
            "answered_at",
            "resolved_at",
            "updated_at"
        ]
    );

    fn args(&self, id: Self::Id, cursor_us: i64, at: Micros) -> Result<[Arg<'_>; 16], StoreError> {
        Ok(args! {
            workspace_id: self.workspace,
            cursor_us,
            id,
            conversation_id: self.conversation,
            deal_id: self.deal,
            contact_id: self.contact,
            agent_id: self.agent,
            agent_type: self.agent_type.as_deref(),
            source: self.source.as_deref(),
            owner_id: self.owner,
            status: self.status.as_str(),
            special_instructions: self.special_instructions.as_deref(),
            opened_at: self.opened_at,
            answered_at: self.answered_at,
            resolved_at: self.resolved_at,
            updated_at: at,
        })
    }
}

pub fn statements() -> Vec<&'static Sql> {
    vec![
        Contact::insert(),
        Contact::update(),
        Deal::insert(),
        Deal::update(),
        Conversation::insert(),
        Conversation::update(),
        Message::insert(),
        Message::update(),
        MessageError::insert(),
        MessageError::update(),
        Ticket::insert(),
        Ticket::update(),
    ]
}
