//! Sender checks of a connection, and the sealed proof of a sender, stored so that it can be
//! checked later.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::check::{self, CheckError, Presented};
use super::failure::ConvertError;
use super::mask::Mask;
use crate::prelude::*;
use leadhost_domain::delivery::DeliveryBody;
use leadhost_domain::exchange::{Place, SenderChecks, ValueLocation};
use leadhost_telemetry::CallSubject;

#[leadhost_boxed::boxed]
pub async fn checks(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Arc<Loaded>,
    budget: CallBudget,
) -> Result<Arc<SenderChecks>, ConvertError> {
    if let Some(checks) = live.checks_of(&plugin.digest) {
        return Ok(checks);
    }
    let declared = declared(pipeline, live, plugin, budget).await?;
    Ok(live.with_own(&plugin.digest, &declared))
}

/// Returns the sender checks that this version declares for the connection's configuration, without the
/// connection's own.
pub async fn declared(
    pipeline: &Pipeline,
    live: &Live,
    plugin: &Arc<Loaded>,
    budget: CallBudget,
) -> Result<Arc<SenderChecks>, ConvertError> {
    let known = &pipeline.connections.declared;
    if let Some(declared) = known.get(&live.connection, &plugin.digest) {
        return Ok(declared);
    }
    let lane = live.lane(budget);
    let ask = pipeline
        .plugins
        .sender_checks(plugin, lane, &live.connection.config, budget);
    let declared = pipeline
        .metrics
        .plugins
        .calling_for(budget, plugin, CallSubject::Connection, ask)
        .await?
        .map_err(ConvertError::Configuration)?;
    Ok(known.keep(&live.connection, &plugin.digest, declared))
}

#[derive(Clone)]
pub struct Unmasked {
    pub delivery: NewDelivery,
    /// The URL as the sender sees it, with the query.
    pub public_url: String,
    /// The received bytes if they were compressed: the headers describe these.
    pub sent: Option<Bytes>,
}

impl Unmasked {
    pub fn verify(&self, checks: &SenderChecks, live: &Live) -> Result<(), CheckError> {
        let delivery = &self.delivery;
        let presented = Presented {
            method: &delivery.method,
            public_url: &self.public_url,
            query: &delivery.query,
            headers: &delivery.headers,
            body: &delivery.body,
            sent: self.sent.as_deref().unwrap_or(&delivery.body),
        };
        verify(presented, checks, live, delivery.received_at)
    }

    pub fn masked(self, carried: &SenderChecks, live: &Live) -> NewDelivery {
        let delivery = redacted(self.into_stored(), carried, live);
        // Its body remembers it.
        delivery.body.depth();
        delivery
    }

    pub fn put_away(
        self,
        pipeline: &Pipeline,
        carried: &SenderChecks,
        live: &Live,
    ) -> (NewDelivery, Vec<u8>) {
        let came = &self.delivery;
        let mask = Mask::new(&live.secrets);
        let carried = &carried.carried_secrets;
        let body = mask.body(&came.body, carried);
        let differs = body.as_ref().is_some_and(|masked| came.body != *masked);
        let plain = serde_json::to_vec(&Evidence {
            public_url: Cow::Borrowed(self.public_url.as_str()),
            query: Cow::Borrowed(came.query.as_slice()),
            headers: Cow::Borrowed(came.headers.as_slice()),
            body: differs.then(|| STANDARD.encode(&came.body)),
            sent: self.sent.clone(),
        })
        .expect("texts are always JSON");
        let sealed = pipeline.sealer.seal(&plain, context(came).as_bytes());
        (
            redacted_to(self.into_stored(), &mask, carried, body),
            sealed,
        )
    }

    fn into_stored(self) -> NewDelivery {
        let mut delivery = self.delivery;
        if self.sent.is_some() {
            // These headers describe the received bytes, not the stored body.
            delivery.headers.retain(|(name, _)| {
                !matches!(name.as_str(), "content-encoding" | "content-length")
            });
        }
        delivery
    }
}

/// The full proof of the sender, sealed beside a delivery that could not be checked, so that
/// it can be checked later.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Evidence<'a> {
    public_url: Cow<'a, str>,
    query: Cow<'a, [(String, String)]>,
    headers: Cow<'a, [(String, String)]>,
    /// In base64, if something in the stored body is masked: a signature covers the body as
    /// received.
    #[serde(default)]
    body: Option<String>,
    /// The received bytes, if they were compressed.
    #[serde(default, with = "in_base64")]
    sent: Option<Bytes>,
}

impl Evidence<'static> {
    /// Opens a sealed proof. Returns `None` if it belongs to another delivery, no key of this
    /// host opens it, or it is damaged.
    pub fn open(pipeline: &Pipeline, delivery: &NewDelivery, sealed: &[u8]) -> Option<Self> {
        let plain = pipeline
            .sealer
            .open(sealed, context(delivery).as_bytes())
            .ok()?;
        serde_json::from_slice(&plain).ok()
    }

    pub fn verify(
        &self,
        checks: &SenderChecks,
        live: &Live,
        delivery: &NewDelivery,
    ) -> Result<(), CheckError> {
        let own = self
            .body
            .as_deref()
            .and_then(|body| STANDARD.decode(body).ok())
            .map(DeliveryBody::from);
        let body = own.as_ref().unwrap_or(&delivery.body);
        let presented = Presented {
            method: &delivery.method,
            public_url: &self.public_url,
            query: &self.query,
            headers: &self.headers,
            body,
            sent: self.sent.as_deref().unwrap_or(body),
        };
        verify(presented, checks, live, delivery.received_at)
    }
}

/// The time of signing must have been valid at the time of receipt.
fn verify(
    presented: Presented<'_>,
    checks: &SenderChecks,
    live: &Live,
    received_at: Micros,
) -> Result<(), CheckError> {
    check::verify(&checks.checks, &live.secrets, presented, received_at)
}

/// Bytes as text of JSON, encoded only when they are sealed.
mod in_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &Option<Bytes>, to: S) -> Result<S::Ok, S::Error> {
        let text = bytes.as_ref().map(|bytes| STANDARD.encode(bytes));
        text.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let bytes = text.map(|text| STANDARD.decode(text).map(Bytes::from));
        bytes.transpose().map_err(de::Error::custom)
    }
}

fn context(delivery: &NewDelivery) -> String {
    format!("presented:{}", delivery.id)
}

pub fn redacted(delivery: NewDelivery, carried: &SenderChecks, live: &Live) -> NewDelivery {
    let mask = Mask::new(&live.secrets);
    let carried = &carried.carried_secrets;
    let body = mask.body(&delivery.body, carried);
    redacted_to(delivery, &mask, carried, body)
}

/// The same with a known masked body; `None` leaves the body as it is.
fn redacted_to(
    mut delivery: NewDelivery,
    mask: &Mask<'_>,
    carried: &[ValueLocation],
    body: Option<Vec<u8>>,
) -> NewDelivery {
    mask.own(&mut delivery.path);
    mask.pairs(Some(Place::Query), &mut delivery.query, carried);
    mask.pairs(Some(Place::Header), &mut delivery.headers, carried);
    if let Some(body) = body {
        delivery.body = body.into();
    }
    delivery
}
