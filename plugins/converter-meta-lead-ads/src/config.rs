//! The configuration of a connection to Meta.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// The address of the Graph API; relays and tests use another one.
    pub graph_url: String,
    pub graph_version: String,
    /// The requested fields. By default the Graph API returns no names of ads and
    /// campaigns.
    pub fields: Vec<String>,
    pub page_token: PageToken,
    /// Send `appsecret_proof`, which an app can require of its calls.
    pub appsecret_proof: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageToken {
    /// The secret `page-token/<page id>`.
    ByPage,
    /// The secret `page-token`: a system user's token that reaches all pages.
    Single,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            graph_url: "https://graph.facebook.com".into(),
            graph_version: "v24.0".into(),
            fields: FIELDS.iter().map(|field| (*field).to_owned()).collect(),
            page_token: PageToken::ByPage,
            appsecret_proof: true,
        }
    }
}

const FIELDS: [&str; 15] = [
    "id",
    "created_time",
    "field_data",
    "form_id",
    "ad_id",
    "ad_name",
    "adset_id",
    "adset_name",
    "campaign_id",
    "campaign_name",
    "is_organic",
    "platform",
    "custom_disclaimer_responses",
    "home_listing",
    "retailer_item_id",
];

pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "graphUrl": {
      "type": "string",
      "pattern": "^https?://[^/?# ]+[^?# ]*$",
      "default": "https://graph.facebook.com",
      "description": "The address of the Graph API."
    },
    "graphVersion": {
      "type": "string",
      "pattern": "^v[0-9]+\\.[0-9]+$",
      "default": "v24.0",
      "description": "The version of the Graph API."
    },
    "fields": {
      "type": "array",
      "items": { "type": "string", "pattern": "^[a-z_]+$" },
      "minItems": 1,
      "description": "The fields of a lead to request."
    },
    "pageToken": {
      "enum": ["by-page", "single"],
      "default": "by-page",
      "description": "One secret `page-token/<page id>` a page, or one secret `page-token` for all."
    },
    "appsecretProof": {
      "type": "boolean",
      "default": true,
      "description": "Prove the app with each fetch; needs the secret `app-secret`."
    }
  }
}"#;
