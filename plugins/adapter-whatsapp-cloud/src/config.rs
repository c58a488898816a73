//! The configuration of an instance: one number of the Cloud API.

use leadhost_sdk::{HttpRequest, Problem, lit, secret, secret_argument};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    pub phone_number_id: String,
    /// The account whose templates are listed. Without it templates are not checked.
    pub waba_id: Option<String>,
    /// The address of the Graph API; relays and tests use another one.
    pub graph_url: String,
    pub graph_version: String,
    /// Send `appsecret_proof`, which an app can require of its calls.
    pub appsecret_proof: bool,
    /// The payload of a quick reply without parameters.
    pub quick_reply_payload: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            phone_number_id: String::new(),
            waba_id: None,
            graph_url: "https://graph.facebook.com".into(),
            graph_version: "v24.0".into(),
            appsecret_proof: false,
            quick_reply_payload: None,
        }
    }
}

impl Config {
    /// Checks what the schema requires, in case the host did not.
    ///
    /// # Errors
    ///
    /// [`Problem`] with the place of the first wrong value.
    pub fn check(&self) -> Result<(), Problem> {
        if self.phone_number_id.trim().is_empty() {
            return Err(
                Problem::new("the configuration has no `phoneNumberId`").at("phoneNumberId")
            );
        }
        HttpRequest::get(&self.graph_url).map(|_| ())
    }

    /// Returns a call to the Graph API about one of its objects, with the token.
    ///
    /// # Errors
    ///
    /// [`Problem`] if `graphUrl` is not an absolute URL.
    pub fn call(&self, method: &str, object: &str, edge: &str) -> Result<HttpRequest, Problem> {
        let request = HttpRequest::new(method, &self.graph_url)?
            .step(&self.graph_version)
            .step(object)
            .step(edge)
            .header("authorization", [lit("Bearer "), secret(TOKEN)]);
        Ok(if self.appsecret_proof {
            request.query(
                "appsecret_proof",
                leadhost_sdk::hmac_hex(APP_SECRET, [secret_argument(TOKEN)]),
            )
        } else {
            request
        })
    }
}

/// The secret that authenticates calls.
pub const TOKEN: &str = "access-token";
/// The secret that Meta signs with.
pub const APP_SECRET: &str = "app-secret";

pub const SCHEMA: &str = include_str!("config.schema.json");
