//! The fields of a webhook. Twilio sends empty fields for absent values.

use leadhost_sdk::{Delivery, Problem, body_bytes, form};

pub struct Form(Vec<(String, String)>);

impl Form {
    /// Returns the fields of a body; refuses a body that is not a form.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the body is empty, or JSON or XML.
    pub fn parse(delivery: &Delivery) -> Result<Self, Problem> {
        let body = body_bytes(&delivery.body);
        if body.trim_ascii().is_empty() {
            return Err(Problem::new("the body is empty, a form was expected"));
        }
        if matches!(body.trim_ascii().first(), Some(b'{' | b'[' | b'<')) {
            return Err(Problem::new(
                "the body is no form: Twilio's webhooks are urlencoded forms",
            ));
        }
        Ok(Self(form::fields(body)))
    }

    /// Returns the first of these fields that is not empty.
    pub fn get(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|wanted| {
            self.0
                .iter()
                .find(|(name, value)| name == wanted && !value.trim().is_empty())
                .map(|(_, value)| value.trim())
        })
    }

    /// Like [`Form::get`] for one field, as an owned text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(&[name]).map(str::to_owned)
    }

    /// Whether the form has a field of this name, possibly empty.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// Returns the fields with this prefix, and the rest of their names.
    pub fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(name, value)| {
            let rest = name.strip_prefix(prefix)?;
            let value = value.trim();
            (!rest.is_empty() && !value.is_empty()).then_some((rest, value))
        })
    }
}
