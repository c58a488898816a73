//! The cost of a write, and the division of a large conversion into parts, so that no
//! delivery occupies the writer for long.

use std::collections::HashSet;

use super::write::{
    ConversionPart, ConversionResult, DedupeKey, ItemResult, NewItem, Reconversion, Write,
};
use crate::FetchOutcome;
use leadhost_domain::id::ConnectionId;
use leadhost_domain::limits;

/// Returns the approximate cost of an item: a lead is read and written in about ten
/// tables, an event and a pointer in about four, and an item that is only reported in
/// one.
fn cost(item: &ItemResult) -> usize {
    match item {
        ItemResult::Lead(lead) => {
            limits::LEAD_COST + (lead.contact_keys.len() + lead.products.len()) / 4
        }
        ItemResult::Event(_) | ItemResult::Fetch(_) => limits::LEAD_COST / 2,
        ItemResult::Ignored(_) | ItemResult::Invalid(_) | ItemResult::Unrouted(_) => 1,
    }
}

fn cost_of<'a>(items: impl Iterator<Item = &'a NewItem>) -> usize {
    items.map(|item| cost(&item.result)).sum()
}

impl ConversionResult {
    pub fn is_large(&self) -> bool {
        cost_of(self.items.iter()) > limits::WRITE_COST
    }
}

impl Write {
    /// Returns the approximate cost of the write. A write without items counts as a lead.
    pub fn cost(&self) -> usize {
        let of_items = match self {
            Self::Accept(acceptance) => cost_of(acceptance.result.items.iter()),
            Self::Convert(again) => cost_of(again.result.items.iter()),
            Self::Settle(settlement) => match &settlement.outcome {
                FetchOutcome::Items(items) => items.iter().map(cost).sum(),
                _ => 0,
            },
            Self::PartContact(part) => part.leads.len() * limits::LEAD_COST,
            // Each is a row of a feed and a mark.
            Self::UndoRepair(undo) => undo.changes.len() * limits::LEAD_COST / 2,
            _ => 0,
        };
        of_items.max(limits::LEAD_COST)
    }
}

impl Reconversion {
    /// Returns the writes that commit this conversion, in order: only itself unless it is
    /// large.
    pub fn in_parts(self) -> Vec<Self> {
        if !self.result.is_large() {
            return vec![self];
        }
        let Self {
            delivery,
            lease,
            mode,
            mut result,
            ..
        } = self;
        let items = std::mem::take(&mut result.items);
        let of = items.last().map_or(0, |item| item.index + 1);
        let mut parts = Vec::new();
        let mut used: HashSet<(ConnectionId, String)> = HashSet::new();
        let mut add = |items: Vec<NewItem>| {
            let (Some(first), Some(last)) = (items.first(), items.last()) else {
                return;
            };
            let places = (first.index, last.index);
            let keys: Vec<_> = items.iter().filter_map(key).collect();
            let repeats = keys.iter().filter(|key| used.contains(*key)).cloned();
            let part = ConversionPart {
                of,
                places,
                used: repeats.collect(),
                until: None,
            };
            used.extend(keys);
            parts.push(Self {
                delivery,
                lease,
                mode,
                result: ConversionResult {
                    items,
                    ..result.clone()
                },
                part: Some(part),
            });
        };
        let mut part = Vec::new();
        let mut size = 0;
        for item in items {
            let more = cost(&item.result);
            if size + more > limits::PART_COST && !part.is_empty() {
                add(std::mem::take(&mut part));
                size = 0;
            }
            size += more;
            part.push(item);
        }
        add(part);
        parts
    }
}

fn key(item: &NewItem) -> Option<(ConnectionId, String)> {
    let of =
        |connection: &ConnectionId, dedupe: &DedupeKey| (connection.clone(), dedupe.key.clone());
    match &item.result {
        ItemResult::Lead(lead) => Some(of(&lead.connection, lead.dedupe.as_ref()?)),
        ItemResult::Fetch(fetch) => Some(of(&fetch.connection, fetch.dedupe.as_ref()?)),
        _ => None,
    }
}
