//! Sorting planned products into new, changed and unchanged ones.

use crate::operations::prelude::*;
use crate::plan::RowEffect;
use crate::{ImportId, Imported, PlannedProduct};

#[derive(Clone, Copy)]
pub enum ProductWriter {
    Import(ImportId),
    /// The declaration of a workspace, at this time.
    Declaration(Micros),
}

impl ProductWriter {
    /// Returns the import, if one writes. A product that already has its mark is left alone.
    pub fn import(self) -> Option<ImportId> {
        match self {
            Self::Import(import) => Some(import),
            Self::Declaration(_) => None,
        }
    }

    /// Returns the mark that written products get. An import that began later treats a product with
    /// this mark as not named.
    pub fn mark(self) -> Micros {
        match self {
            Self::Import(import) => import.0,
            Self::Declaration(at) => at,
        }
    }
}

/// The stored product that a planned one matches.
#[derive(Clone, Copy)]
pub struct ExistingProduct {
    pub id: ProductId,
    /// Whether it already equals the plan.
    pub same: bool,
    /// Whether the same import has named it before.
    pub named: bool,
}

/// The work that brings the stored products in line with the plan.
#[derive(Default)]
pub struct Sorted<'a> {
    /// New and changed products, each with the id that it gets if it is new.
    pub written: Vec<(ProductId, &'a PlannedProduct)>,
    /// Products that already equal the plan.
    pub kept: Vec<ProductId>,
    /// In the order of the plan.
    pub effects: Vec<(&'a str, RowEffect)>,
    /// Products that are left alone because this import has named them before.
    pub repeated: Vec<&'a str>,
}

impl<'a> Sorted<'a> {
    /// Sorts the planned products. `found` holds the stored ones. If an external id is repeated in
    /// the plan, its last entry counts.
    pub fn new(
        planned: &'a [PlannedProduct],
        found: &HashMap<String, ExistingProduct>,
        now: Micros,
    ) -> Self {
        let mut last = HashMap::with_capacity(planned.len());
        for (place, product) in planned.iter().enumerate() {
            last.insert(product.external_id.as_str(), place);
        }
        let mut sorted = Self::default();
        for (place, product) in planned.iter().enumerate() {
            let name = product.external_id.as_str();
            if last[name] != place {
                continue;
            }
            let effect = match found.get(name) {
                Some(found) if found.named => {
                    sorted.repeated.push(name);
                    continue;
                }
                Some(found) if found.same => {
                    sorted.kept.push(found.id);
                    RowEffect::Kept
                }
                found => {
                    sorted.written.push((ProductId::new(now), product));
                    if found.is_some() {
                        RowEffect::Changed
                    } else {
                        RowEffect::Created
                    }
                }
            };
            sorted.effects.push((name, effect));
        }
        sorted
    }

    /// Returns how many products are created, changed and unchanged, and the repeated external
    /// ids.
    pub fn counted(&self) -> Imported {
        let count = |what| {
            let of = self.effects.iter().filter(|(_, effect)| *effect == what);
            u64::try_from(of.count()).unwrap_or(u64::MAX)
        };
        Imported {
            created: count(RowEffect::Created),
            changed: count(RowEffect::Changed),
            kept: count(RowEffect::Kept),
            repeated: self
                .repeated
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
        }
    }
}
