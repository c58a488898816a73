//! The converter for sources without a converter of their own. A configuration says where
//! the leads are in a body and which of its paths fills which field; everything else is
//! searched under the usual names. Reads JSON, forms, multipart forms and XML.
//!
//! One bad item does not affect the others; a body that cannot be read at all is
//! refused. Ids keep their digits, and values without their own field become
//! attributes with their JSON value.

mod body;
mod bounds;
mod config;
mod explain;
mod fold;
mod guess;
mod heuristics;
mod items;
mod kind;
mod lead;
mod leftover;
mod loose;
mod names;
mod pairs;
mod people;
mod record;
mod secrets;
mod time_format;
mod view;

use leadhost_sdk::{Conversion, Converter, Delivery, Description, Problem, SenderPolicy};

pub use config::Config;

pub struct Mapping;

leadhost_sdk::export_converter!(Mapping);

impl Converter for Mapping {
    type Config = Config;

    fn describe() -> Description {
        Description::new(
            "mapping",
            env!("CARGO_PKG_VERSION"),
            "Leads of any source whose fields can be named in a configuration",
        )
        .config_schema(config::SCHEMA)
    }

    /// The connection configures how the sender proves itself; this only names the values
    /// to mask.
    fn sender_checks(config: &Config) -> Result<SenderPolicy, Problem> {
        let carried = config.carried_secrets.iter();
        Ok(
            carried.fold(SenderPolicy::none().usual_secrets(), |policy, at| {
                policy.carried_secret(&at.place, &at.name)
            }),
        )
    }

    fn convert(config: &Config, delivery: &Delivery) -> Result<Conversion, Problem> {
        let body = body::read(config, delivery)?;
        let read = items::read(config, delivery, &body);
        let conversion = bounds::keep(read.items, read.notes);
        let explained = read.explained.into_iter().take(explain::MAX_NOTES);
        Ok(explained.fold(conversion, Conversion::note))
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
