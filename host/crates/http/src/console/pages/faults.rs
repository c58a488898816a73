//! The faults of the typed entry of a connection, by the fields of its form.

use serde::Deserialize as _;

use super::change::line;
use crate::console::pages::prelude::*;
use leadhost_admin_api::apply::{FileProblem, RefusedFile};

/// The faults by field. Those that belong to no field are under an empty name.
#[derive(Default)]
pub struct Faults(BTreeMap<String, Vec<String>>);

impl Faults {
    /// Returns the problems of a refusal. `input_of` returns the field of the form for a key of the entry, or
    /// an empty name.
    pub fn from_refusal(refusal: ApiRefusal, input_of: fn(&str) -> &str) -> Self {
        let problems = match RefusedFile::deserialize(&refusal.body) {
            Ok(refused) => refused.problems,
            Err(_) => vec![FileProblem {
                path: None,
                message: refusal.message,
            }],
        };
        let mut faults = Self::default();
        for problem in problems {
            let (field, line) = at_field(problem, input_of);
            faults.add(&field, line);
        }
        faults
    }

    /// Adds a fault of a field. The same words are said once.
    pub fn add(&mut self, field: &str, fault: String) {
        let faults = self.0.entry(field.to_owned()).or_default();
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn below(&self, field: &str) -> &[String] {
        self.0.get(field).map_or(&[], Vec::as_slice)
    }

    /// Returns the attributes of an input whose field has a fault: they name the place that says which.
    pub fn attributes(&self, field: &str) -> String {
        match self.below(field) {
            [] => String::new(),
            _ => format!(" aria-invalid=\"true\" aria-describedby=\"{field}-fault\""),
        }
    }

    pub fn all(self) -> Vec<String> {
        self.0.into_values().flatten().collect()
    }
}

/// Returns the field of a problem, and what to say there. A path of another part of the file has no field.
fn at_field(problem: FileProblem, input_of: fn(&str) -> &str) -> (String, String) {
    let path = problem.path.as_deref().unwrap_or_default();
    // A form declares one partner, and names it in one field.
    if path.starts_with("partners[0]") {
        return ("partner".to_owned(), problem.message);
    }
    let Some(within) = path.strip_prefix("connections[0].") else {
        return (String::new(), line(problem));
    };
    let end = within.find(['.', '[']).unwrap_or(within.len());
    let input = input_of(&within[..end]);
    let line = match input {
        "" => return (String::new(), line(problem)),
        input if input == within => problem.message.clone(),
        _ => format!("{within}: {}", problem.message),
    };
    (input.to_owned(), line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_shown_at_its_field() {
        let input_of = |key: &str| match key {
            "plugin" => "plugin",
            "checks" => "checks",
            "secrets" => "secrets",
            "allow" => "more",
            _ => "",
        };
        let check = |path: Option<&str>, field: &str, line: &str| {
            let problem = FileProblem {
                path: path.map(str::to_owned),
                message: "is wrong".to_owned(),
            };
            let found = at_field(problem, input_of);
            assert_eq!(found, (field.to_owned(), line.to_owned()), "{path:?}");
        };
        check(Some("connections[0].plugin"), "plugin", "is wrong");
        let path = "connections[0].checks[1].secret";
        check(Some(path), "checks", "checks[1].secret: is wrong");
        let path = "connections[0].secrets.app-key";
        check(Some(path), "secrets", "secrets.app-key: is wrong");
        check(Some("connections[0].allow"), "more", "allow: is wrong");
        check(Some("partners[0].name"), "partner", "is wrong");
        let path = "connections[0].name";
        check(Some(path), "", "connections[0].name: is wrong");
        check(Some("workspace.slug"), "", "workspace.slug: is wrong");
        check(None, "", "is wrong");
    }
}
