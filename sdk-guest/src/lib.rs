//! The SDK for writing Leadhost plugins.
//!
//! A converter implements [`Converter`] and passes its type once to
//! [`export_converter!`]. An adapter implements [`Adapter`] and passes its type to
//! [`export_adapter!`]. Most functions have a default. Plugins only compute: they
//! describe what they need from outside (a request with a secret in it, a check of
//! the sender), and the host does it.
//!
//! The crate builds for `wasm32-unknown-unknown` and `wasm32-wasip2`, and natively,
//! where [`testing::run_golden`] and [`testing::run_golden_adapter`] run a plugin's
//! golden cases. Nothing in it panics on the input of a sender.

mod adapter;
mod answer;
mod bindings;
mod body;
mod config;
mod converter;
mod delivery;
mod describe;
mod event;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod heap;
mod item;
mod lead;
mod reading;
mod reply;
mod request;
mod sender;
mod template;
mod tree;

pub mod addresses;
pub mod form;
pub mod html;
pub mod json;
pub mod multipart;
pub mod nothing;
pub mod path;
pub mod requested;
#[cfg(test)]
mod shared_cases;
#[cfg(all(feature = "testing", not(target_family = "wasm")))]
pub mod testing;
pub mod text;
pub mod time;
pub mod values;
pub mod written_time;
pub mod xml;

pub use adapter::{Adapter, ExportedAdapter};
pub use bindings::adapter::exports::leadhost::adapter::adapter::{
    Accepted, ChannelError, ContactChange, Event, EventBody, InboundMessage, Placeholder, Refused,
    SendAnswer, SendStep, StatusUpdate, Template, TemplateChange, TemplatePage, TemplateSend,
    TemplateStep, Webhook,
};
pub use bindings::converter::exports::leadhost::converter::converter::{
    Completion, Consent, Conversion, Failure, Fetch, Item, Lead, Listing, Outcome,
};
pub use bindings::core::{
    Content, Delivery, Description, HandshakeAnswer, HttpRequest, HttpResponse, Location, Problem,
    Reply, Requirement, SecretDeclaration, Segment, SenderCheck, SenderPolicy, SignedPart, Slot,
    SlotArgument,
};
pub use body::JSON_TEXTS;
pub use config::NoConfig;
pub use converter::{Converter, Exported};
pub use delivery::{body_bytes, content_json, content_text, first_header};
pub use item::MAX_ITEMS;
pub use json::{first_of, is_absent, parse_json, text_at, text_of};
pub use lead::{
    AttributeValue, MAX_ATTRIBUTES, MAX_CAMPAIGN_FIELDS, MAX_EMAILS, MAX_LISTINGS, MAX_NAME_BYTES,
    MAX_PHONE_BYTES, MAX_PHONES, MAX_TEXT_BYTES, MAX_WORD_BYTES,
};
pub use request::{
    IntoSegments, basic, hmac_base64, hmac_hex, lit, literal_argument, secret, secret_argument,
};
pub use requested::RequestedTemplate;
pub use sender::USUAL_SECRETS;
pub use template::placeholders_in;
pub use text::digits;
pub use time::{epoch_to_rfc3339, time_text};
pub use tree::{at, list, number, text, texts};
pub use values::{email, join, phone, phone_with_codes, time, yes};

/// What a converter usually needs.
pub mod prelude {
    pub use serde_json::Value;

    pub use crate::{
        Conversion, Converter, Delivery, Description, Item, Lead, NoConfig, Problem, at, email,
        join, list, number, phone, phone_with_codes, text, texts, time, yes,
    };
}

/// The JSON crate that the helpers use, re-exported so that a plugin needs no
/// other version of it.
pub use serde_json;

#[doc(hidden)]
pub use bindings::adapter::__export_channel_adapter as __export_adapter_bindings;
#[doc(hidden)]
pub use bindings::converter::__export_lead_converter as __export_converter_bindings;
#[doc(hidden)]
pub mod __bindings {
    pub use crate::bindings::*;
}

/// Compiles the code in the integrators' guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/integrators.md")]
struct IntegratorsGuide;
