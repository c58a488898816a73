//! Reads the leads of {{name}}. Raise the version with each change.

use leadhost_sdk::prelude::*;

pub struct Form;

leadhost_sdk::export_converter!(Form);

impl Converter for Form {
    type Config = NoConfig;

    fn describe() -> Description {
        Description::new("{{name}}", "1.0.0", "Leads of {{name}}")
    }

    fn convert(_: &NoConfig, delivery: &Delivery) -> Result<Conversion, Problem> {
        let body = delivery.tree()?;
        let items = {{items}}.into_iter();
        Ok(Conversion::of_list(items.map(|item| read(item, &body).into()).collect()))
    }
}

/// Reads one lead. A value that is not there, or blank, is left out; an error makes this one item invalid.
fn read(item: &Value, {{body}}: &Value) -> Result<Lead, Problem> {
    Ok(Lead::new()
{{lead}}
    )
}
