use tokio::sync::mpsc;

use super::sessions::Session;
use super::visit::Visit;
use crate::auth;
use crate::prelude::*;
use leadhost_domain::repair::Repair;
use leadhost_store::DeliveryFilter;

const EVENTS: &str = "text/event-stream; charset=utf-8";

const TEXT: &str = "text/plain; charset=utf-8";

/// The event after which the page reads itself again.
const CHANGED: Bytes = Bytes::from_static(b"event: changed\ndata:\n\n");

/// Sets the time that a browser waits before it connects again.
const BEGIN: Bytes = Bytes::from_static(b"retry: 5000\n\n");

/// Returns the answer after which a browser does not ask again.
pub fn over() -> ApiResponse {
    reply::empty(StatusCode::NO_CONTENT)
}

/// Returns the refusal of one stream too many, after which a browser does not ask again either.
fn full() -> ApiResponse {
    let text = format!(
        "{} open pages of this host already receive updates, which is the limit. Reload this page with its link.\n",
        limits::CONSOLE_STREAMS
    );
    reply::bytes_of(StatusCode::SERVICE_UNAVAILABLE, TEXT, text)
}

/// Opens a stream for a page of the session, unless there are as many as there may be.
pub fn open(visit: &Visit<'_>) -> ApiResponse {
    let http = Arc::clone(visit.call.http);
    let Ok(place) = Arc::clone(&http.console_streams).try_acquire_owned() else {
        return full();
    };
    let session = visit.session.clone();
    let (to_page, pieces) = mpsc::channel(2);
    let shutdown = http.core.shutdown.clone();
    tokio::spawn(async move {
        let _place = place;
        tokio::select! {
            () = shutdown.begun() => {}
            () = to_page.closed() => {}
            () = follow(&http, &session, &to_page) => {}
        }
    });
    reply::with_payload(StatusCode::OK, EVENTS, Payload::live(pieces))
}

/// Sends an event for each change, until the session has ended or the page does not read.
async fn follow(http: &Http, session: &Session, to_page: &mpsc::Sender<Bytes>) {
    if to_page.send(BEGIN).await.is_err() {
        return;
    }
    let mut last = Newest::read(http).await.ok();
    let mut looks = 0;
    let mut every = tokio::time::interval(limits::CONSOLE_LOOK);
    loop {
        every.tick().await;
        let is_live = http.sessions.is_live(session, http.core.clock.now());
        if !is_live || !matches!(auth::is_signed_in(http, &session.key).await, Ok(true)) {
            return;
        }
        looks += 1;
        let found = Newest::read(http).await.ok();
        let is_news = found.is_some() && found != last;
        if !is_news && looks < limits::CONSOLE_BEAT {
            continue;
        }
        (last, looks) = (found.or(last), 0);
        if to_page.send(CHANGED).await.is_err() {
            return;
        }
    }
}

/// What shows that something happened. Most of it comes with a delivery; what changes in no row of these is
/// seen at the beat.
#[derive(PartialEq, Eq)]
struct Newest {
    delivery: Option<DeliveryId>,
    repair: Option<Repair>,
    /// The generations of the rollouts by their plugins.
    rollouts: Vec<(String, i64)>,
}

impl Newest {
    async fn read(http: &Http) -> Result<Self, StoreError> {
        let store = &http.core.store;
        let filter = DeliveryFilter {
            limit: 1,
            ..DeliveryFilter::default()
        };
        let deliveries = store.deliveries(&filter).await?;
        let repairs = store.repairs(None, 1).await?;
        let rollouts = store.rollouts().await?.into_iter();
        Ok(Self {
            delivery: deliveries.first().map(|delivery| delivery.id),
            repair: repairs.into_iter().next(),
            rollouts: rollouts.map(|one| (one.name, one.generation)).collect(),
        })
    }
}
