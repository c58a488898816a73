//! Products as they are read, and what becomes of those that are to be written,
//! the same in every store.

use std::collections::HashMap;

use super::Columns;
use crate::domain::id::ProductId;
use crate::domain::time::Micros;
use crate::store::operations::apply::Became;
use crate::store::{ImportId, Imported, PlannedProduct, Product, ProductChange, StoreError};

pub fn product(row: &impl Columns) -> Result<Product, StoreError> {
    Ok(Product {
        id: row.id("id")?,
        external_id: row.text("external_id")?,
        name: row.text("name")?,
        description: row.text_if("description")?,
    })
}

pub fn change(row: &impl Columns) -> Result<ProductChange, StoreError> {
    Ok(ProductChange {
        stamp: row.number("stamp")?,
        id: row.id("id")?,
        name: row.text_if("name")?,
    })
}

/// Who writes products.
#[derive(Clone, Copy)]
pub enum By {
    Import(ImportId),
    /// A declared workspace, at this time.
    Declaration(Micros),
}

impl By {
    /// What is left alone if it has the mark already.
    pub fn import(self) -> Option<ImportId> {
        match self {
            Self::Import(import) => Some(import),
            Self::Declaration(_) => None,
        }
    }

    /// What an import that began later takes for not named.
    pub fn mark(self) -> Micros {
        match self {
            Self::Import(import) => import.0,
            Self::Declaration(at) => at,
        }
    }
}

/// What a store has of a planned product.
#[derive(Clone, Copy)]
pub struct Found {
    pub id: ProductId,
    /// It is as planned.
    pub same: bool,
    /// The same import has named it before.
    pub named: bool,
}

/// What is to be done to make products as they are planned.
#[derive(Default)]
pub struct Sorted<'a> {
    /// New ones and changed ones, each with the id that it has if it is new.
    pub written: Vec<(ProductId, &'a PlannedProduct)>,
    /// Those that are so already.
    pub kept: Vec<ProductId>,
    /// In the order of the plan.
    pub became: Vec<(&'a str, Became)>,
    /// What is left alone.
    pub repeated: Vec<&'a str>,
}

impl<'a> Sorted<'a> {
    /// `found`: those that are there. Of an external id that comes twice the last
    /// counts.
    pub fn of(planned: &'a [PlannedProduct], found: &HashMap<String, Found>, now: Micros) -> Self {
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
            let became = match found.get(name) {
                Some(found) if found.named => {
                    sorted.repeated.push(name);
                    continue;
                }
                Some(found) if found.same => {
                    sorted.kept.push(found.id);
                    Became::Kept
                }
                found => {
                    sorted.written.push((ProductId::new(now), product));
                    if found.is_some() {
                        Became::Changed
                    } else {
                        Became::Created
                    }
                }
            };
            sorted.became.push((name, became));
        }
        sorted
    }

    pub fn counted(&self) -> Imported {
        let count = |what| {
            let of = self.became.iter().filter(|(_, became)| *became == what);
            u64::try_from(of.count()).unwrap_or(u64::MAX)
        };
        Imported {
            created: count(Became::Created),
            changed: count(Became::Changed),
            kept: count(Became::Kept),
            repeated: self
                .repeated
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
        }
    }
}
