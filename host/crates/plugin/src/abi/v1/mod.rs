//! Version 1 of the contracts. Answers are converted to the domain's types here.

mod adapter;
mod converter;
pub(super) mod types;

use super::guest::{Guest, Offer};
use leadhost_domain::plugin::PluginKind;

pub const CONVERTER: Offer = Offer {
    contract: converter::CONTRACT,
    export: converter::EXPORT,
    kind: PluginKind::Converter,
    world: "lead-converter",
    file: "leadhost-converter-1.0.0.wit",
    published: include_str!("../../../../../../wit/published/leadhost-converter-1.0.0.wit"),
    link: |pre| Ok(Guest::Converter(Box::new(converter::Converter::new(pre)?))),
};

pub const ADAPTER: Offer = Offer {
    contract: adapter::CONTRACT,
    export: adapter::EXPORT,
    kind: PluginKind::Adapter,
    world: "channel-adapter",
    file: "leadhost-adapter-1.0.0.wit",
    published: include_str!("../../../../../../wit/published/leadhost-adapter-1.0.0.wit"),
    link: |pre| Ok(Guest::Adapter(Box::new(adapter::Adapter::new(pre)?))),
};
