//! Rows of feeds, each with its stamp: people, their deals, conversations, messages, errors and
//! tickets. Another host may have created one of the new rows just before. Such a row is skipped,
//! and missing in the count.

use std::hash::Hash;
use std::sync::LazyLock;

use super::made::all_made;
use crate::decide::{
    ContactRecord, ConversationRecord, DealRecord, MessageErrorRecord, MessageRecord, TicketRecord,
};
use crate::fed::record::Fed;
use crate::operations::prelude::*;
use crate::operations::stamp::{self, Stamps};
use crate::sql::{Together, listed};

/// Stamps and saves the changed rows. Rows of a kind are saved in the order in which they changed.
/// Fails with [`StoreError::Contended`] if another host created one of the rows in the meantime.
pub async fn changed(tx: &mut Tx, set: &WorkingSet) -> Result<(), StoreError> {
    let dialogue = &set.dialogue;
    let contacts = rows(&set.changed_contacts, &set.contacts);
    let deals = rows(&set.changed_deals, &set.deals);
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
    let now = set.now;
    let contacts = stamped(&mut stamps, contacts)?;
    let deals = stamped(&mut stamps, deals)?;
    people(tx, &split(now, &contacts)?, &split(now, &deals)?).await?;
    // A conversation is closed, or a ticket resolved, before the next one for the same parties
    // opens, so changed rows are saved before new ones.
    save(tx, now, &stamped(&mut stamps, conversations)?).await?;
    save(tx, now, &stamped(&mut stamps, messages)?).await?;
    save(tx, now, &stamped(&mut stamps, errors)?).await?;
    save(tx, now, &stamped(&mut stamps, tickets)?).await
}

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
                what: "a changed row has no stamp".to_owned(),
            })?;
            *next += 1;
            let stamp = *next - 1;
            Ok(Stamped { id, stamp, row })
        })
        .collect()
}

/// Rows, grouped by how they are written.
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
        // A stamp may be ahead of the clock or behind it. A time never exceeds the stamp.
        let at = now.min(Micros(*stamp));
        let of = match row.change() {
            RowChange::New => &mut new,
            _ if row.is_over() => &mut over,
            _ => &mut changed,
        };
        of.push(row.values(*id, *stamp, at)?);
    }
    Ok(Split { over, changed, new })
}

// None of these rows has to end before another one of its kind can be created.
static PEOPLE: LazyLock<Together> = LazyLock::new(|| {
    Together::new(vec![
        ContactRecord::update(),
        ContactRecord::insert(),
        DealRecord::update(),
        DealRecord::insert(),
    ])
});

async fn people<const C: usize, const D: usize>(
    tx: &mut Tx,
    contacts: &Split<'_, C>,
    deals: &Split<'_, D>,
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
    if R::MAY_MEET {
        all_made(new.len(), made)?;
    }
    Ok(())
}

pub fn statements() -> Vec<&'static Sql> {
    vec![
        ContactRecord::insert(),
        ContactRecord::update(),
        DealRecord::insert(),
        DealRecord::update(),
        ConversationRecord::insert(),
        ConversationRecord::update(),
        MessageRecord::insert(),
        MessageRecord::update(),
        MessageErrorRecord::insert(),
        MessageErrorRecord::update(),
        TicketRecord::insert(),
        TicketRecord::update(),
    ]
}
