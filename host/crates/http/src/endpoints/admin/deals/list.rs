use std::cmp::Reverse;

use super::among;
use crate::endpoints::admin::people::WorkspaceNames;
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::workspaces;
use leadhost_admin_api::deals::{DealSummary, Deals};
use leadhost_domain::id::time_of;
use leadhost_domain::{contact, phone};
use leadhost_store::{DealFilter, FoundDeal, NewestDeals};

describe!(list, |operation| {
    operation
        .summary("Lists deals, newest first")
        .query("q", word(), "Only deals that this leads to: the id or external id of a deal, or the phone, e-mail address or id of a contact.")
        .workspace()
        .paged("deals")
        .answers::<Deals>(200, "A page of deals.")
        .refuses(&[400, 404])
});
pub async fn list(call: &Call<'_>) -> ApiResult {
    let query = call.query();
    let limit = page_limit(&query)?;
    let before = query.filled(&["before"]).map(|text| {
        text.parse()
            .map_err(|_| ApiError::BadRequest(format!("`before={text}` is not the id of a deal.")))
    });
    let before: Option<DealId> = before.transpose()?;
    let among = among(call).await?;
    let store = &call.http.core.store;
    let found = match query.filled(&["q"]) {
        Some(text) => {
            workspaces::few_enough(&among)?;
            let deals = search(store, &among, text.trim(), before, limit).await?;
            NewestDeals { deals, floor: None }
        }
        None => {
            let named = query.filled(&["workspace"]);
            let workspace = named.and_then(|_| among.first()).map(|one| one.id);
            store.newest_deals(workspace, before, limit).await?
        }
    };
    let last = last_of_full(&found.deals, limit).map(|deal| deal.id);
    reply::ok(&Deals {
        next: last.or(found.floor),
        searched_until: match (last, found.floor) {
            (None, Some(floor)) => Some(time_of(floor.0)),
            _ => None,
        },
        deals: named(store, &among, found.deals).await?,
    })
}

async fn named(
    store: &Store,
    among: &[Workspace],
    deals: Vec<FoundDeal>,
) -> Result<Vec<DealSummary>, StoreError> {
    let mut names: BTreeMap<WorkspaceId, WorkspaceNames> = BTreeMap::new();
    for workspace in among {
        if deals.iter().any(|deal| deal.workspace == workspace.id) {
            let of_one = WorkspaceNames::load(store, workspace).await?;
            names.insert(workspace.id, of_one);
        }
    }
    let view = |deal: FoundDeal| Some(names.get(&deal.workspace)?.deal(deal));
    Ok(deals.into_iter().filter_map(view).collect())
}

async fn search(
    store: &Store,
    among: &[Workspace],
    text: &str,
    before: Option<DealId>,
    limit: u32,
) -> Result<Vec<FoundDeal>, StoreError> {
    let mut found: Vec<FoundDeal> = Vec::new();
    for workspace in among {
        for mut filter in readings(text, &workspace.region) {
            filter.before = before;
            let of_one = store.search_deals(workspace.id, &filter, limit);
            found.extend(of_one.await?);
        }
    }
    found.sort_by_key(|deal| Reverse(deal.id));
    found.dedup_by_key(|deal| deal.id);
    found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(found)
}

fn readings(text: &str, region: &str) -> Vec<DealFilter> {
    let none = DealFilter::default;
    let mut all = Vec::new();
    if let Ok(deal) = text.parse() {
        all.push(DealFilter {
            deal: Some(deal),
            ..none()
        });
    }
    if let Ok(person) = text.parse() {
        all.push(DealFilter {
            person: Some(person),
            ..none()
        });
        return all;
    }
    // No id contains it, and not every store accepts it in a query.
    if !text.contains('\0') {
        all.push(DealFilter {
            external_id: Some(text.to_owned()),
            ..none()
        });
    }
    if let Some(email) = contact::email(text) {
        all.push(DealFilter {
            email: Some(email),
            ..none()
        });
    } else if let Some(key) = phone::normalise(text, region).match_key {
        all.push(DealFilter {
            phone_key: Some(contact::phone_key(&key)),
            ..none()
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_text_is_tried_as_id_email_phone_and_external_id() {
        let check = |text: &str, expect: &[&str]| {
            let found = readings(text, "BR");
            let kinds: Vec<&str> = found
                .iter()
                .map(|filter| match filter {
                    DealFilter { deal: Some(_), .. } => "deal",
                    DealFilter {
                        person: Some(_), ..
                    } => "contact",
                    DealFilter { email: Some(_), .. } => "email",
                    DealFilter {
                        phone_key: Some(_), ..
                    } => "phone",
                    _ => "external id",
                })
                .collect();
            assert_eq!(kinds, expect, "{text}");
        };
        check("019cae2b-3f61-7a52-8a10-6d4f3e2a1b88", &["deal", "contact"]);
        check("ana@example.com", &["external id", "email"]);
        check("(11) 98765-4321", &["external id", "phone"]);
        check("L-1", &["external id"]);
        check("a\0", &[]);
    }
}
