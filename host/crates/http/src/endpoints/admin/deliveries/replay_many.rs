use std::collections::HashSet;
use std::time::Instant;

use super::list;
use super::{with_filters, with_version};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::replays::{NamedDeliveries, ReplayManyRequest, ReplayedMany};
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_pipeline::replay::{self, ReplayError, ReplayOptions};
use leadhost_store::{DeliveryFilter, DeliveryOutcome, DeliverySummary};

describe!(run, |operation| {
    with_version(with_filters(operation))
        .summary("Converts the deliveries of a list again, or releases those in quarantine")
        .describe(
            "The oldest first. At least one of `connection`, `instance`, `status`, `since` and `version` is given. \
             Without `apply`, finished items show what would change, deliveries that have made nothing yet are counted, and a release only counts. Deliveries that wait \
             for their conversion are left out. A request handles at most 500 deliveries in 20 seconds, and says \
             what is left: ask again with its `after` and `until`.",
        )
        .may_take::<ReplayManyRequest>(&[
            ("apply", "Write the changes", json!({"apply": true})),
            ("release", "Release from quarantine", json!({"apply": true, "release": true})),
        ])
        .answers::<ReplayedMany>(200, "The results, counted by status.")
        .refuses(&[400, 404, 409])
});
pub async fn run(call: &Call<'_>, body: UnreadBody) -> ApiResult {
    let request: ReplayManyRequest = read_json(call, body).await?;
    let mut filter = list::filter(call).await?;
    if call.query().filled(&["q"]).is_some() {
        return Err(ApiError::BadRequest(
            "The deliveries that `q` finds cannot be replayed together: replay each by its id."
                .to_owned(),
        ));
    }
    match (request.release, filter.status) {
        (true, None) => filter.status = Some(DeliveryStatus::Quarantined),
        (true, Some(DeliveryStatus::Quarantined)) => {}
        (true, Some(_)) => {
            return Err(ApiError::BadRequest(
                "`release` takes only deliveries in quarantine: name no other status.".to_owned(),
            ));
        }
        (false, Some(DeliveryStatus::Quarantined)) => {
            return Err(ApiError::BadRequest(
                "Deliveries in quarantine are released, not converted again: set `release`."
                    .to_owned(),
            ));
        }
        (false, _) => {}
    }
    let is_narrow = filter.connection.is_some()
        || filter.since.is_some()
        || filter.version.is_some()
        || filter.status.is_some();
    if !is_narrow {
        return Err(ApiError::BadRequest(
            "Name a connection, a status, a version or `since`.".to_owned(),
        ));
    }
    // Deliveries that arrive from now on are converted as usual. The end is exclusive.
    let next = call.http.core.clock.now().plus(Duration::from_millis(1));
    let until = filter.until.unwrap_or(next);
    filter.until = Some(until);
    let named = find(&call.http.core.store, filter, request.after).await?;
    let mut answer = ReplayedMany {
        connections: by_connection(&call.http.core.store, &named).await?,
        until,
        ..ReplayedMany::default()
    };
    let (apply, release) = (request.apply, request.release);
    let filters = list::filters(call, !named.is_empty());
    call.audit(json!({ "apply": apply, "release": release, "filters": filters }));
    if release && !apply {
        answer.left = named.len() as u64;
        call.audit(json!({ "handled": 0, "left": answer.left }));
        return reply::ok(&answer);
    }
    let running = call.to_end(|http| async move {
        let done = replay(&http, &named, &request, &mut answer).await;
        done.map(|()| answer)
    });
    let answer = running.await??;
    call.audit(json!({
        "handled": answer.handled,
        "statuses": answer.statuses,
        "refused": answer.refused,
        "left": answer.left,
    }));
    reply::ok(&answer)
}

/// Handles deliveries one by one until the bounds of a request are reached.
async fn replay(
    http: &Http,
    named: &[DeliverySummary],
    request: &ReplayManyRequest,
    answer: &mut ReplayedMany,
) -> ApiResult<()> {
    let began = Instant::now();
    let mut last = None;
    let mut made = HashSet::new();
    for summary in named.iter().take(limits::REPLAYED_AT_ONCE) {
        let is_over = began.elapsed() >= limits::REPLAYED_WITHIN || http.core.shutdown.has_begun();
        if is_over && answer.handled > 0 {
            break;
        }
        last = Some(summary.id);
        answer.handled += 1;
        if summary.status.has_made_nothing() && !request.apply {
            answer.unconverted += 1;
            continue;
        }
        let options = ReplayOptions {
            apply: request.apply,
            release: request.release,
            // If another operator has converted it meanwhile, what it would change was never shown.
            expected: summary.status.has_made_nothing().then_some(summary.status),
        };
        match replay::one(&http.pipeline, summary.id, options).await {
            // Its conversion failed, and the leads that it made before stay.
            Ok(DeliveryOutcome {
                status: DeliveryStatus::Converted | DeliveryStatus::Duplicate,
                error: Some(why),
                ..
            }) => {
                let reason = format!("delivery {} stays as it was: {why}", summary.id);
                answer.refuse(summary.id, reason, limits::REPLAYED_REFUSALS);
            }
            Ok(outcome) => {
                let items = outcome.items;
                answer.count(outcome.status, &items);
                if summary.status.has_made_nothing() {
                    let new = items
                        .iter()
                        .filter(|item| item.status == ItemStatus::Converted);
                    made.extend(new.filter_map(|item| item.deal_id));
                }
            }
            Err(ReplayError::Store(error)) => return Err(error.into()),
            // A host works on it, it was emptied, or its check still fails: the others go on.
            Err(error) => answer.refuse(summary.id, error.to_string(), limits::REPLAYED_REFUSALS),
        }
    }
    answer.made_deals = made.len() as u64;
    answer.left = named.len() as u64 - answer.handled;
    answer.after = last.filter(|_| answer.left > 0);
    Ok(())
}

async fn find(
    store: &Store,
    mut filter: DeliveryFilter,
    after: Option<DeliveryId>,
) -> ApiResult<Vec<DeliverySummary>> {
    filter.limit = limits::DELIVERIES_PER_PAGE;
    if list::looks_through(&filter) {
        filter.from = store
            .delivery_floor(&filter, limits::LOOKED_THROUGH)
            .await?;
    }
    filter.from = filter.from.max(after);
    let mut found: Vec<DeliverySummary> = Vec::new();
    loop {
        let page = store.deliveries(&filter).await?;
        let is_last = page.len() < filter.limit as usize;
        filter.before = page.last().map(|summary| summary.id);
        found.extend(page);
        if found.len() > limits::LOOKED_THROUGH as usize {
            return Err(ApiError::BadRequest(format!(
                "More than {} deliveries match: name a later `since`, or a connection.",
                limits::LOOKED_THROUGH
            )));
        }
        if is_last {
            break;
        }
    }
    // One that waits is converted soon. One in quarantine is released, not converted again.
    let is_released = filter.status == Some(DeliveryStatus::Quarantined);
    found.retain(|summary| match summary.status {
        DeliveryStatus::Queued => false,
        DeliveryStatus::Quarantined => is_released,
        _ => true,
    });
    found.retain(|summary| Some(summary.id) != after);
    // Ids sort by the time of receipt: what came last is written last.
    found.sort_unstable_by_key(|summary| summary.id);
    Ok(found)
}

async fn by_connection(
    store: &Store,
    named: &[DeliverySummary],
) -> ApiResult<Vec<NamedDeliveries>> {
    let mut counts: BTreeMap<&ConnectionId, (&str, u64)> = BTreeMap::new();
    for summary in named {
        let (_, count) = counts
            .entry(&summary.connection_id)
            .or_insert((&summary.connection, 0));
        *count += 1;
    }
    let workspaces = store.workspaces().await?;
    let connections = store.connections(None).await?;
    let name = |id: &ConnectionId, name: &str| {
        let connection = connections.iter().find(|one| one.id == *id);
        let workspace = connection
            .and_then(|connection| workspaces.iter().find(|one| one.id == connection.workspace));
        workspace.map_or_else(|| name.to_owned(), |one| format!("{}/{name}", one.slug))
    };
    let counts = counts
        .into_iter()
        .map(|(id, (own, count))| NamedDeliveries {
            connection_id: id.clone(),
            connection: name(id, own),
            deliveries: count,
        });
    Ok(counts.collect())
}
