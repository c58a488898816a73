use std::cmp::Reverse;

use super::{Channels, parse_id};
use super::{with_filters, with_version};
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::{connections, contacts, instances};
use leadhost_admin_api::deliveries::{Deliveries, DeliveryView};
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::id::time_of;
use leadhost_pipeline::search_keys;
use leadhost_store::{DeliveryFilter, DeliverySummary};

describe!(list, |operation| {
    let operation = with_filters(operation)
        .summary("Lists deliveries, newest first")
        .describe("All filters apply together, except that `instance` replaces `connection`.")
        .query("q", word(), "Only the delivery with this id, or deliveries whose leads have this external id, phone or e-mail address, or whose requests have it if they did not become leads. A phone without a country code is read as in leads of its workspace. `instance` is not applied to a search by id.");
    with_version(operation)
        .paged("deliveries")
        .answers::<Deliveries>(200, "A page of deliveries.")
        .refuses(&[400, 404, 409])
});
pub async fn list(call: &Call<'_>) -> ApiResult {
    let mut filter = filter(call).await?;
    let query = call.query();
    let store = &call.http.core.store;
    let (deliveries, only_leads_before) = match query.filled(&["q"]) {
        Some(text) => search(call, &filter, text.trim()).await?,
        None => {
            if looks_through(&filter) {
                filter.from = store
                    .delivery_floor(&filter, limits::LOOKED_THROUGH)
                    .await?;
            }
            (store.deliveries(&filter).await?, None)
        }
    };
    let last = last_of_full(&deliveries, filter.limit).map(|delivery| delivery.id);
    let (next, searched_until) = end(last, filter.from);
    let channels = Channels::load(&call.http.core.store).await?;
    let deliveries = deliveries
        .into_iter()
        .map(|delivery| DeliveryView {
            items: delivery.items,
            facts: channels.facts(delivery),
        })
        .collect();
    reply::ok(&Deliveries {
        deliveries,
        next,
        searched_until,
        only_leads_before,
    })
}

/// Returns the `before` of the next page, and the time back to which this one has looked if it is not full
/// although older deliveries are left. `last` is the last row of a full page, `floor` the last delivery
/// that was looked at.
fn end(
    last: Option<DeliveryId>,
    floor: Option<DeliveryId>,
) -> (Option<DeliveryId>, Option<Micros>) {
    match (last, floor) {
        (Some(last), _) => (Some(last), None),
        (None, Some(floor)) => (Some(floor), Some(time_of(floor.0))),
        (None, None) => (None, None),
    }
}

/// Returns whether no index leads to the deliveries of the filter. A version that has converted few of
/// them, or none, would have all of them read. The other statuses have few deliveries, or an index.
pub(super) fn looks_through(filter: &DeliveryFilter) -> bool {
    filter.version.is_some() && matches!(filter.status, None | Some(DeliveryStatus::Converted))
}

/// Finds deliveries by their id, or by the external id, the phone or the e-mail address of their leads;
/// without leads, by those in their requests. The time is the one before which these have no keys, while
/// such deliveries are kept.
async fn search(
    call: &Call<'_>,
    filter: &DeliveryFilter,
    text: &str,
) -> ApiResult<(Vec<DeliverySummary>, Option<Micros>)> {
    let core = &call.http.core;
    let store = &core.store;
    if let Ok(id) = text.parse()
        && let Some(found) = store.delivery(id).await?
    {
        return Ok((vec![found.summary], None));
    }
    let mut among = store.workspaces().await?;
    if let Some(connection) = &filter.connection {
        let connection = store.connection(connection).await?;
        among.retain(|one| {
            connection
                .as_ref()
                .is_some_and(|own| own.workspace == one.id)
        });
    }
    if among.len() > limits::SEARCHED_WORKSPACES {
        return Err(ApiError::BadRequest(format!(
            "A search looks in at most {} workspaces: choose a connection.",
            limits::SEARCHED_WORKSPACES
        )));
    }
    let mut found: Vec<DeliverySummary> = Vec::new();
    let mut keyed_from = None;
    for workspace in among {
        let contacts = contacts::named(store, &workspace, text).await?;
        let keys = search_keys::of_text(workspace.id, text, &workspace.region);
        let of = store.search_deliveries(filter, workspace.id, contacts, text.to_owned(), keys);
        let (some, from) = of.await?;
        found.extend(some);
        keyed_from = keyed_from.max(from);
    }
    found.sort_by_key(|summary| Reverse(summary.id));
    found.dedup_by_key(|summary| summary.id);
    found.truncate(filter.limit as usize);
    let kept = core.config.retention.deliveries();
    let now = core.clock.now();
    Ok((found, keyed_from.filter(|from| from.plus(kept) > now)))
}

pub(super) async fn filter(call: &Call<'_>) -> ApiResult<DeliveryFilter> {
    let query = call.query();
    let mut filter = DeliveryFilter {
        limit: page_limit(&query)?,
        ..DeliveryFilter::default()
    };
    filter.status = query.word(
        "status",
        "a status",
        &DeliveryStatus::ALL,
        DeliveryStatus::as_str,
    )?;
    if let Some(text) = query.filled(&["connection"]) {
        filter.connection = Some(connections::find(&call.http.core.store, text).await?.id);
    }
    if let Some(text) = query.filled(&["instance"]) {
        let instance = instances::find(&call.http.core.store, text).await?;
        filter.connection = Some(instance.channel()?.id.clone());
    }
    filter.since = moment(call, "since")?;
    filter.until = moment(call, "until")?;
    filter.version = version(&query)?;
    if let Some(text) = query.filled(&["before"]) {
        filter.before = Some(parse_id(text)?);
    }
    Ok(filter)
}

/// Returns the filters as the request has them, for the audit: only values that name something of the service. A
/// version does if it has deliveries.
pub(super) fn filters(call: &Call<'_>, has_deliveries: bool) -> BTreeMap<&'static str, String> {
    let query = call.query();
    let names = [
        "connection",
        "instance",
        "status",
        "since",
        "until",
        "before",
    ];
    let version = has_deliveries.then_some("version");
    names
        .into_iter()
        .chain(version)
        .filter_map(|name| Some((name, query.filled(&[name])?.to_owned())))
        .collect()
}

fn version(query: &Query<'_>) -> ApiResult<Option<String>> {
    let Some(text) = query.filled(&["version"]) else {
        return Ok(None);
    };
    let is_digest =
        text.len() >= Digest::SHORTEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest && !text.contains('.') {
        return Err(ApiError::BadRequest(format!(
            "`version={text}` is not a version: write 1.2.0, or at least {} characters of its digest.",
            Digest::SHORTEST
        )));
    }
    Ok(Some(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_full_continues_after_the_last_scanned_delivery() {
        let (early, late) = (Micros(1_700_000_000_000_000), Micros(1_700_000_060_000_000));
        let (floor, last) = (DeliveryId::new(early), DeliveryId::new(late));
        assert_eq!(end(Some(last), Some(floor)), (Some(last), None));
        assert_eq!(end(None, Some(floor)), (Some(floor), Some(early)));
        assert_eq!(end(None, None), (None, None));
    }

    #[test]
    fn deliveries_are_scanned_only_if_no_index_serves_the_filters() {
        let of = |status, version: Option<&str>| DeliveryFilter {
            status,
            version: version.map(str::to_owned),
            ..DeliveryFilter::default()
        };
        let version = Some("1.2.0");
        assert!(looks_through(&of(None, version)));
        assert!(looks_through(&of(Some(DeliveryStatus::Converted), version)));
        assert!(!looks_through(&of(Some(DeliveryStatus::Parked), version)));
        assert!(!looks_through(&of(Some(DeliveryStatus::Converted), None)));
    }
}
