//! Leads of the Grupo OLX portals (ZAP, Viva Real, OLX): one JSON object per
//! request, pushed with HTTP Basic.
//!
//! The portal sends empty strings for absent values, and the phone in halves
//! (`ddd` and `phone`) beside a deprecated whole (`phoneNumber`). It prefers
//! a 4xx for a lead without a listing. A lead is worth more than that, so
//! it is accepted unless the connection sets `requireListing`.

use leadhost_sdk::html::unescaped;
use leadhost_sdk::{
    Conversion, Converter, Delivery, Description, Item, Lead, MAX_ITEMS, Problem, SenderCheck,
    SenderPolicy, digits, is_absent,
    serde_json::{Map, Value},
    text_of, time_text,
};
use serde::Deserialize;

pub struct GrupoOlx;

leadhost_sdk::export_converter!(GrupoOlx);

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// Refuse a lead without the client's listing.
    require_listing: bool,
}

impl Converter for GrupoOlx {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "grupo-olx",
            env!("CARGO_PKG_VERSION"),
            "Leads of the Grupo OLX portals: ZAP, Viva Real, OLX",
        )
        .config_schema(CONFIG_SCHEMA)
        .optional_secret("basic", "user:password that the portal sends")
    }

    fn sender_checks(_config: &Config) -> Result<SenderPolicy, Problem> {
        Ok([SenderCheck::basic("basic")].into())
    }

    fn convert(config: &Config, delivery: &Delivery) -> Result<Conversion, Problem> {
        let items = match delivery.json()? {
            Value::Object(lead) => vec![Item::lead(lead_of(config, &lead)?)],
            Value::Array(leads) if leads.len() > MAX_ITEMS => {
                return Err(Problem::new(format!(
                    "the body has {} leads, at most {MAX_ITEMS} are taken at once",
                    leads.len()
                )));
            }
            // The portal sends one lead per request; relays batch them.
            Value::Array(leads) => leads
                .iter()
                .enumerate()
                .map(|(index, lead)| item(config, index, lead))
                .collect(),
            _ => return Err(Problem::new("the body must be a JSON object with one lead")),
        };
        Ok(items.into())
    }
}

const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "requireListing": {
      "type": "boolean",
      "default": false,
      "description": "Refuse a lead without clientListingId with 400, as the portal prefers."
    }
  }
}"#;

/// Keys that have their own field in a lead; others become attributes.
const KNOWN: [&str; 11] = [
    "leadOrigin",
    "timestamp",
    "originLeadId",
    "originListingId",
    "clientListingId",
    "name",
    "email",
    "ddd",
    "phone",
    "phoneNumber",
    "message",
];

fn item(config: &Config, index: usize, lead: &Value) -> Item {
    let Value::Object(lead) = lead else {
        return Item::invalid("a lead must be a JSON object", index.to_string());
    };
    match lead_of(config, lead) {
        Ok(lead) => Item::lead(lead),
        Err(problem) => {
            let path = match problem.path.as_str() {
                "" => index.to_string(),
                path => format!("{index}.{path}"),
            };
            Item::invalid(problem.message, path)
        }
    }
}

fn lead_of(config: &Config, fields: &Map<String, Value>) -> Result<Lead, Problem> {
    let text = |name: &str| fields.get(name).and_then(text_of);
    // The portal's forms leave references of HTML in what a person wrote.
    let plain = |name: &str| Some(unescaped(&text(name)?).into_owned());
    if config.require_listing && text("clientListingId").is_none() {
        return Err(Problem::new(
            "the lead names no listing of the client: `clientListingId` is missing",
        )
        .at("clientListingId"));
    }

    let mut lead = Lead::new()
        .external_id(text("originLeadId"))
        .name(plain("name"))
        .email(text("email"))
        .region("BR".to_owned())
        .listing("client", text("clientListingId"))
        .listing("portal", text("originListingId"))
        .message(plain("message"))
        .occurred_at(fields.get("timestamp").and_then(time_text))
        .source(text("leadOrigin"));
    for phone in phones(text("ddd"), text("phone"), text("phoneNumber")) {
        lead = lead.phone(phone);
    }
    if lead.external_id.is_none()
        && lead.name.is_none()
        && lead.phones.is_empty()
        && lead.emails.is_empty()
    {
        return Err(Problem::new(
            "the lead cannot be identified: `originLeadId`, `name`, `email` and `phone` are all missing",
        ));
    }
    for (name, value) in fields {
        if !KNOWN.contains(&name.as_str()) && !is_absent(value) {
            lead = lead.attribute(name, value);
        }
    }
    Ok(lead)
}

/// Returns area code and phone first, then the whole phone; only the longer one if
/// both are the same number.
fn phones(ddd: Option<String>, phone: Option<String>, whole: Option<String>) -> Vec<String> {
    let phone = phone.filter(|phone| !digits(phone).is_empty());
    let halves = match (ddd, phone) {
        (Some(ddd), Some(phone)) => Some(joined(&ddd, &phone)),
        (None, Some(phone)) => Some(phone),
        (_, None) => None,
    };
    let whole = whole.filter(|whole| !digits(whole).is_empty());
    match (halves, whole) {
        (Some(halves), Some(whole)) => {
            let (left, right) = (digits(&halves), digits(&whole));
            if left.ends_with(&right) {
                vec![halves]
            } else if right.ends_with(&left) {
                vec![whole]
            } else {
                vec![halves, whole]
            }
        }
        (halves, whole) => halves.into_iter().chain(whole).collect(),
    }
}

/// Returns `11` and `900000001` joined. An area code written `011`, or one that is
/// already in the phone, or a country code, is not doubled.
fn joined(ddd: &str, phone: &str) -> String {
    let ddd = digits(ddd);
    let ddd = ddd.trim_start_matches('0');
    let number = digits(phone);
    let complete = phone.starts_with('+') || (number.len() >= 10 && number.starts_with(ddd));
    if ddd.is_empty() || complete {
        phone.to_owned()
    } else {
        format!("{ddd}{phone}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

    #[test]
    fn golden_cases_hold() {
        leadhost_sdk::testing::run_golden::<GrupoOlx>(CASES);
    }

    #[test]
    fn damaged_deliveries_do_not_panic() {
        leadhost_sdk::testing::run_damaged::<GrupoOlx>(CASES);
    }

    #[test]
    fn a_batch_above_the_item_limit_is_refused() {
        let body = format!("[{}1]", "1,".repeat(MAX_ITEMS));
        let case = leadhost_golden::Case {
            body: body.into(),
            ..leadhost_golden::Case::new("large", leadhost_golden::Call::Convert)
        };
        let answer = leadhost_sdk::testing::answer::<GrupoOlx>(&case);
        let message = answer["err"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("10001 leads"), "{answer}");
    }

    #[test]
    fn references_of_html_are_read() {
        let case = leadhost_golden::Case {
            body: br#"{"originLeadId": "7", "name": "Jo&atilde;o", "message": "caf&eacute; &amp; p&#227;o"}"#.into(),
            ..leadhost_golden::Case::new("references", leadhost_golden::Call::Convert)
        };
        let answer = leadhost_sdk::testing::answer::<GrupoOlx>(&case);
        let lead = &answer["ok"]["items"][0]["outcome"]["lead"];
        assert_eq!(lead["name"], "João", "{answer}");
        assert_eq!(lead["message"], "café & pão", "{answer}");
    }

    #[test]
    fn phone_parts_are_joined_once() {
        let check = |ddd: &str, phone: &str, whole: &str, expect: &[&str]| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            assert_eq!(phones(text(ddd), text(phone), text(whole)), expect);
        };
        check("11", "900000001", "11900000001", &["11900000001"]);
        check("011", "90000-0001", "", &["1190000-0001"]);
        check("11", "11900000001", "", &["11900000001"]);
        check("11", "+5511900000001", "", &["+5511900000001"]);
        check("", "900000001", "11900000001", &["11900000001"]);
        check("", "", "11900000001", &["11900000001"]);
        check("11", "", "", &[]);
        check("11", "não informado", "x", &[]);
        check(
            "21",
            "900000002",
            "11900000001",
            &["21900000002", "11900000001"],
        );
    }
}
