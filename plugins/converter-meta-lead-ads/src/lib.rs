//! Meta Lead Ads: the webhook names leads, and the Graph API returns them.
//!
//! `webhook` reads a batch of changes into fetches (or leads, if a relay has
//! already inserted the answers), `graph` reads the Graph API's response,
//! `answers` makes a lead of a form's answers, `faults` classifies the Graph
//! API's errors by their remedy.
//!
//! Ids are text from end to end: Meta sends them as numbers and as strings, and
//! they exceed what a double holds.

mod answers;
mod config;
mod faults;
mod graph;
mod webhook;

use leadhost_sdk::{
    Completion, Conversion, Converter, Delivery, Description, Failure, HandshakeAnswer,
    HttpRequest, Item, Problem, SenderCheck, SenderPolicy,
};

pub use config::{Config, PageToken};

pub struct MetaLeadAds;

leadhost_sdk::export_converter!(MetaLeadAds);

impl Converter for MetaLeadAds {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "meta-lead-ads",
            env!("CARGO_PKG_VERSION"),
            "Leads of Facebook and Instagram lead ads",
        )
        .config_schema(config::SCHEMA)
        .optional_secret(
            "app-secret",
            "The app's secret: Meta signs with it, and fetches prove the app with it",
        )
        .optional_secret(
            "verify-token",
            "The token that Meta sends when it verifies the address",
        )
        .optional_secret(
            "page-token/*",
            "The access token of each page, by the page's id",
        )
        .optional_secret(
            "page-token",
            "The one access token, where `pageToken` is `single`",
        )
        .host("graph.facebook.com")
    }

    fn sender_checks(config: &Config) -> Result<SenderPolicy, Problem> {
        // Reject an address that cannot be fetched from when the connection is
        // created, and not with its first lead.
        HttpRequest::get(&config.graph_url)?;
        Ok(
            [SenderCheck::hmac_sha256_hex("app-secret", "x-hub-signature-256").prefix("sha256=")]
                .into(),
        )
    }

    fn handshake(_: &Config, delivery: &Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        HandshakeAnswer::hub_challenge(delivery, "verify-token")
    }

    fn convert(config: &Config, delivery: &Delivery) -> Result<Conversion, Problem> {
        Ok(webhook::items(config, &delivery.json()?)?.into())
    }

    fn complete(_: &Config, completion: &Completion) -> Result<Vec<Item>, Failure> {
        graph::items(completion)
    }
}

#[cfg(test)]
mod tests {
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

    #[test]
    fn golden_cases_hold() {
        leadhost_sdk::testing::run_golden::<super::MetaLeadAds>(CASES);
    }

    #[test]
    fn damaged_deliveries_do_not_panic() {
        leadhost_sdk::testing::run_damaged::<super::MetaLeadAds>(CASES);
    }
}
