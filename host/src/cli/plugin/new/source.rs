//! Writes a recipe in the language of a project: a line for each field.

use crate::cli::plugin::language::Language;
use crate::cli::recipe::{Expression, Field, Line, Place, Recipe};

/// The longest line before a list is written over several.
const WIDTH: usize = 120;

/// The parts of a converter's source that say what a source sends.
pub struct Written {
    /// The expression with the values that are leads.
    pub items: String,
    /// The lines of the fields.
    pub lead: String,
    /// The name of the body in the function that reads a lead.
    pub body: &'static str,
}

pub fn write(recipe: &Recipe, language: Language) -> Written {
    let spelling = Spelling { language };
    let write = |recipe: &Recipe| match language {
        Language::Rust | Language::Go => spelling.statements(recipe),
        Language::Typescript | Language::Python => spelling.record(recipe),
    };
    let lines = match recipe.lines.as_slice() {
        [] => spelling.commented(write(&example())),
        _ => write(recipe),
    };
    let mut places = recipe.lines.iter().flat_map(|line| line.value.places());
    Written {
        items: spelling.leads(&recipe.leads),
        lead: lines.join("\n"),
        body: match language {
            // An unused name would be a warning.
            Language::Rust if places.all(|place| !place.in_body) => "_body",
            _ => "body",
        },
    }
}

/// What a person writes in a converter whose sample has no lead.
fn example() -> Recipe {
    let place = |path: &str| Place {
        in_body: false,
        path: path.to_owned(),
    };
    let line = |field, value| Line { field, value };
    let phone = Expression::Phone {
        number: place("contact.phone"),
        area: None,
        country: None,
    };
    Recipe {
        lines: vec![
            line(Field::ExternalId, Expression::Text(place("id"))),
            line(Field::Name, Expression::Text(place("contact.name"))),
            line(Field::Phone, phone),
            line(Field::Email, Expression::Email(place("contact.email"))),
        ],
        ..Recipe::default()
    }
}

/// How a language spells calls and fields.
struct Spelling {
    language: Language,
}

impl Spelling {
    fn call(&self, function: &str, arguments: &[String]) -> String {
        let arguments = arguments.join(", ");
        match self.language {
            Language::Rust | Language::Typescript => format!("{function}({arguments})"),
            Language::Python => format!("sdk.{function}({arguments})"),
            Language::Go => format!("leadhost.{}({arguments})", capital(function)),
        }
    }

    fn read(&self, function: &str, place: &Place) -> String {
        let root = if place.in_body { "body" } else { "item" };
        let path = quoted(&place.path);
        match self.language {
            Language::Go => format!("{root}.{}({path})", capital(function)),
            _ => self.call(function, &[root.to_owned(), path]),
        }
    }

    fn text(&self, place: &Place) -> String {
        self.read("text", place)
    }

    fn leads(&self, path: &str) -> String {
        let path = quoted(path);
        match (self.language, path.as_str()) {
            (Language::Rust, _) => format!("list(&body, {path})"),
            (Language::Go, "\"\"") => "body.List()".to_owned(),
            (Language::Go, _) => format!("body.List({path})"),
            (Language::Typescript, "\"\"") => "list(body)".to_owned(),
            (Language::Typescript, _) => format!("list(body, {path})"),
            (Language::Python, "\"\"") => "sdk.list_(body)".to_owned(),
            (Language::Python, _) => format!("sdk.list_(body, {path})"),
        }
    }

    fn joined(&self, places: &[Place]) -> String {
        let texts: Vec<String> = places.iter().map(|place| self.text(place)).collect();
        match (texts.as_slice(), self.language) {
            ([one], _) => one.clone(),
            (_, Language::Rust) => format!("join([{}])", texts.join(", ")),
            _ => self.call("join", &texts),
        }
    }

    /// `None`: no expression is known.
    fn expression(&self, value: &Expression) -> Option<String> {
        Some(match value {
            Expression::Text(place) => self.text(place),
            Expression::Join(places) => self.joined(places),
            Expression::Email(place) => self.call("email", &[self.text(place)]),
            Expression::Each(place) => self.read("texts", place),
            Expression::Time(places) => self.call("time", &[self.joined(places)]),
            Expression::Yes(place) => self.call("yes", &[self.text(place)]),
            Expression::Value(place) => self.read("at", place),
            Expression::Phone {
                number,
                area,
                country,
            } => self.phone(number, area.as_ref(), country.as_ref()),
            Expression::Unknown(_) => return None,
        })
    }

    fn phone(&self, number: &Place, area: Option<&Place>, country: Option<&Place>) -> String {
        let (function, absent) = match self.language {
            Language::Rust => ("phone_with_codes", "None"),
            Language::Typescript => ("phone", "undefined"),
            Language::Python => ("phone", "None"),
            Language::Go => ("phone", "\"\""),
        };
        let text = |place: Option<&Place>| {
            place.map_or_else(|| absent.to_owned(), |place| self.text(place))
        };
        let number = self.text(number);
        match (area, country) {
            (None, None) => self.call("phone", &[number]),
            (area, None) if self.language != Language::Rust => {
                self.call(function, &[number, text(area)])
            }
            (area, country) => self.call(function, &[number, text(area), text(country)]),
        }
    }

    /// Returns the fields as the calls of a builder, or as assignments: a field on each line.
    fn statements(&self, recipe: &Recipe) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (name, values) in self.grouped(recipe) {
            lines.extend(match self.language {
                Language::Go => self.assignments(name, &values),
                _ => values.iter().map(|value| self.built(name, value)).collect(),
            });
        }
        lines.extend(self.unknown(recipe));
        lines.push(match self.language {
            Language::Go => "\t// lead.AddAttribute(\"floor\", item.At(\"unit.floor\"))".to_owned(),
            _ => "        // .attribute(\"floor\", at(item, \"unit.floor\"))".to_owned(),
        });
        lines
    }

    fn built(&self, name: &str, value: &FieldValue) -> String {
        let call = match name {
            name if value.is_list => name,
            "phones" | "emails" | "listings" | ATTRIBUTES => &name[..name.len() - 1],
            name => name,
        };
        format!("        .{}({})", snake(call), value.arguments())
    }

    fn assignments(&self, name: &str, values: &[FieldValue]) -> Vec<String> {
        let add = match name {
            "listings" => "AddListing",
            "campaign" => "AddCampaign",
            ATTRIBUTES => "AddAttribute",
            "phones" | "emails" => {
                let field = format!("lead.{}", capital(name));
                let texts = || values.iter().map(|one| one.value.as_str());
                let are_lists = values.iter().any(|one| one.is_list);
                return match values {
                    [one] if one.is_list => vec![format!("\t{field} = {}", one.value)],
                    _ if !are_lists => {
                        let texts: Vec<&str> = texts().collect();
                        vec![format!("\t{field} = []string{{{}}}", texts.join(", "))]
                    }
                    _ => texts()
                        .zip(values)
                        .map(|(text, one)| {
                            if one.is_list {
                                format!("\t{field} = append({field}, {text}...)")
                            } else {
                                format!("\t{field} = append({field}, {text})")
                            }
                        })
                        .collect(),
                };
            }
            name => {
                let name = capital(name).replace("Id", "ID");
                return values
                    .iter()
                    .map(|one| format!("\tlead.{name} = {}", one.value))
                    .collect();
            }
        };
        let lines = values
            .iter()
            .map(|one| format!("\tlead.{add}({})", one.arguments()));
        lines.collect()
    }

    /// Returns the fields as a record.
    fn record(&self, recipe: &Recipe) -> Vec<String> {
        const INDENT: &str = "        ";
        let step = if self.language == Language::Python {
            "    "
        } else {
            "  "
        };
        let mut lines: Vec<String> = self.unknown(recipe).collect();
        let mut fields = self.grouped(recipe);
        if fields.last().is_none_or(|(name, _)| *name != ATTRIBUTES) {
            fields.push((ATTRIBUTES, Vec::new()));
        }
        for (name, values) in fields {
            let field = match self.language {
                Language::Python => format!("{INDENT}{}=", snake(name)),
                _ => format!("{INDENT}{name}: "),
            };
            let values: Vec<String> = values.iter().map(|one| self.element(name, one)).collect();
            let line = if LISTS.contains(&name) {
                format!("{field}[{}],", values.join(", "))
            } else {
                format!("{field}{},", values.concat())
            };
            if name != ATTRIBUTES && (line.len() <= WIDTH || !LISTS.contains(&name)) {
                lines.push(line);
                continue;
            }
            lines.push(format!("{field}["));
            lines.extend(values.iter().map(|value| format!("{INDENT}{step}{value},")));
            if name == ATTRIBUTES {
                let example = Place {
                    in_body: false,
                    path: "unit.floor".to_owned(),
                };
                let example = self.call("attribute", &[quoted("floor"), self.read("at", &example)]);
                lines.push(format!("{INDENT}{step}{} {example},", self.comment()));
            }
            lines.push(format!("{INDENT}],"));
        }
        lines
    }

    /// Returns the value of a field as it is in a record, or as an element of its list.
    fn element(&self, name: &str, value: &FieldValue) -> String {
        match (name, self.language) {
            ("listings", _) => self.call("listing", &[value.arguments()]),
            (ATTRIBUTES, _) => self.call("attribute", &[value.arguments()]),
            ("campaign", Language::Python) => format!("({})", value.arguments()),
            ("campaign", _) => format!("[{}]", value.arguments()),
            _ => value.value.clone(),
        }
    }

    /// Returns the fields with their values, in order.
    fn grouped(&self, recipe: &Recipe) -> Vec<(&'static str, Vec<FieldValue>)> {
        let mut fields: Vec<(&str, Vec<FieldValue>)> = Vec::new();
        for Line { field, value } in &recipe.lines {
            let Some(written) = self.expression(value) else {
                continue;
            };
            let (name, part) = field.name();
            let value = FieldValue {
                part: part.map(quoted),
                is_list: matches!(value, Expression::Each(_)),
                value: written,
            };
            match fields.last_mut() {
                Some((last, values)) if *last == name => values.push(value),
                _ => fields.push((name, vec![value])),
            }
        }
        fields
    }

    /// Returns comments for the lines without a known expression, with their places.
    fn unknown(&self, recipe: &Recipe) -> impl Iterator<Item = String> {
        let lines = recipe.lines.iter().filter_map(|Line { field, value }| {
            let Expression::Unknown(places) = value else {
                return None;
            };
            let (name, part) = field.name();
            let part = part.map_or_else(String::new, |part| format!(" {}", quoted(part)));
            let places: Vec<String> = places.iter().map(|place| self.text(place)).collect();
            let from = if places.is_empty() {
                String::new()
            } else {
                format!(", from {}", places.join(" and "))
            };
            let indent = if self.language == Language::Go {
                "\t"
            } else {
                "        "
            };
            let comment = self.comment();
            Some(format!(
                "{indent}{comment} {name}{part} is put together{from}: write how."
            ))
        });
        lines.collect::<Vec<_>>().into_iter()
    }

    /// Comments out the lines of fields; the lines of attributes stay.
    fn commented(&self, lines: Vec<String>) -> Vec<String> {
        let first = lines
            .iter()
            .position(|line| line.trim_start().starts_with("attributes"));
        let fields = first.unwrap_or(lines.len());
        let commented = lines.into_iter().enumerate().map(|(index, line)| {
            let code = line.trim_start();
            let indent = &line[..line.len() - code.len()];
            if index < fields && !code.starts_with(self.comment()) {
                format!("{indent}{} {code}", self.comment())
            } else {
                line
            }
        });
        commented.collect()
    }

    fn comment(&self) -> &'static str {
        match self.language {
            Language::Python => "#",
            _ => "//",
        }
    }
}

/// The value of a field, with the name or the kind that some fields have beside it.
struct FieldValue {
    part: Option<String>,
    value: String,
    /// Whether it is a list of values.
    is_list: bool,
}

impl FieldValue {
    fn arguments(&self) -> String {
        let part = self.part.iter().map(|part| format!("{part}, "));
        format!("{}{}", part.collect::<String>(), self.value)
    }
}

const ATTRIBUTES: &str = "attributes";
const LISTS: [&str; 5] = ["phones", "emails", "listings", "campaign", ATTRIBUTES];

fn snake(name: &str) -> String {
    let letters = name.chars().flat_map(|letter| {
        let under = letter.is_ascii_uppercase().then_some('_');
        under.into_iter().chain([letter.to_ascii_lowercase()])
    });
    letters.collect()
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns a text in quotes, with the escapes that all languages have.
fn quoted(text: &str) -> String {
    let escaped = text.chars().flat_map(|letter| match letter {
        '"' | '\\' => vec!['\\', letter],
        '\n' => vec!['\\', 'n'],
        letter if letter.is_control() => vec![' '],
        letter => vec![letter],
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use leadhost_golden::{Call, Case};

    use super::*;
    use crate::cli::recipe;

    const SAMPLE: &str = r#"{"form": "Sales", "leads": [{"id": 17,
        "contact": {"first_name": "Ana", "last_name": "Prado", "ddd": "11", "phone": "90000-0001", "email": "ana@example.com"},
        "utm_source": "search", "budget": 450000}]}"#;

    fn written(language: Language) -> Written {
        let mut case = Case::new("sample", Call::Convert);
        case.body = SAMPLE.as_bytes().to_vec();
        write(
            &recipe::find(&case, &serde_json::json!({})).expect("it is read"),
            language,
        )
    }

    fn check(language: Language, items: &str, lines: &[&str]) {
        let written = written(language);
        assert_eq!(written.items, items);
        for line in lines {
            assert!(
                written.lead.lines().any(|one| one == *line),
                "{line}\n{}",
                written.lead
            );
        }
    }

    #[test]
    fn every_language_has_a_line_for_each_field() {
        check(
            Language::Rust,
            "list(&body, \"leads\")",
            &[
                "        .external_id(text(item, \"id\"))",
                "        .name(join([text(item, \"contact.first_name\"), text(item, \"contact.last_name\")]))",
                "        .phone(phone_with_codes(text(item, \"contact.phone\"), text(item, \"contact.ddd\"), None))",
                "        .campaign(\"utm-source\", text(item, \"utm_source\"))",
                "        .attribute(\"budget\", at(item, \"budget\"))",
                "        .attribute(\"form\", at(body, \"form\"))",
                "        // .attribute(\"floor\", at(item, \"unit.floor\"))",
            ],
        );
        check(
            Language::Typescript,
            "list(body, \"leads\")",
            &[
                "        externalId: text(item, \"id\"),",
                "        phones: [phone(text(item, \"contact.phone\"), text(item, \"contact.ddd\"))],",
                "        campaign: [[\"utm-source\", text(item, \"utm_source\")]],",
                "          attribute(\"budget\", at(item, \"budget\")),",
                "          // attribute(\"floor\", at(item, \"unit.floor\")),",
            ],
        );
        check(
            Language::Python,
            "sdk.list_(body, \"leads\")",
            &[
                "        external_id=sdk.text(item, \"id\"),",
                "        emails=[sdk.email(sdk.text(item, \"contact.email\"))],",
                "        campaign=[(\"utm-source\", sdk.text(item, \"utm_source\"))],",
                "            sdk.attribute(\"form\", sdk.at(body, \"form\")),",
                "            # sdk.attribute(\"floor\", sdk.at(item, \"unit.floor\")),",
            ],
        );
        check(
            Language::Go,
            "body.List(\"leads\")",
            &[
                "\tlead.ExternalID = item.Text(\"id\")",
                "\tlead.Phones = []string{leadhost.Phone(item.Text(\"contact.phone\"), item.Text(\"contact.ddd\"))}",
                "\tlead.AddCampaign(\"utm-source\", item.Text(\"utm_source\"))",
                "\tlead.AddAttribute(\"form\", body.At(\"form\"))",
            ],
        );
    }

    #[test]
    fn the_list_of_the_leads_is_named_in_every_language() {
        let mut case = Case::new("sample", Call::Convert);
        let body = r#"{"batch": [{"person": {"core": {"name": {"value": "Ana"}, "mobile": {"value": "+55 11 90000-0701"}}}}]}"#;
        case.body = body.as_bytes().to_vec();
        let recipe = recipe::find(&case, &serde_json::json!({})).expect("it is read");
        for (language, items) in [
            (Language::Rust, "list(&body, \"batch\")"),
            (Language::Typescript, "list(body, \"batch\")"),
            (Language::Python, "sdk.list_(body, \"batch\")"),
            (Language::Go, "body.List(\"batch\")"),
        ] {
            let written = write(&recipe, language);
            assert_eq!(written.items, items);
            let phone = "\"person.core.mobile.value\"";
            assert!(written.lead.contains(phone), "{}", written.lead);
        }
    }

    #[test]
    fn lists_and_single_values_of_a_field_are_added_in_order_in_go() {
        let place = |path: &str| Place {
            in_body: false,
            path: path.to_owned(),
        };
        let line = |value| Line {
            field: Field::Phone,
            value,
        };
        let single = Expression::Phone {
            number: place("c"),
            area: None,
            country: None,
        };
        let each = Expression::Each(place("a[*]"));
        let written = |values: &[Expression]| {
            let recipe = Recipe {
                lines: values.iter().cloned().map(line).collect(),
                ..Recipe::default()
            };
            let written = write(&recipe, Language::Go).lead;
            let lines = written.lines().filter(|line| line.starts_with("\tlead."));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let one = "\tlead.Phones = item.Texts(\"a[*]\")";
        assert_eq!(written(std::slice::from_ref(&each)), [one]);
        let lists = "\tlead.Phones = append(lead.Phones, item.Texts(\"a[*]\")...)";
        let phone = "\tlead.Phones = append(lead.Phones, leadhost.Phone(item.Text(\"c\")))";
        assert_eq!(
            written(&[each.clone(), single, each]),
            [lists, phone, lists]
        );
    }

    #[test]
    fn a_converter_without_a_lead_shows_what_is_to_be_written() {
        let check = |language: Language, lines: &[&str]| {
            let written = write(&Recipe::default(), language);
            for line in lines {
                let is_there = written.lead.lines().any(|one| one == *line);
                assert!(is_there, "{line}\n{}", written.lead);
            }
        };
        check(
            Language::Rust,
            &["        // .name(text(item, \"contact.name\"))"],
        );
        check(
            Language::Go,
            &["\t// lead.Name = item.Text(\"contact.name\")"],
        );
        let attributes = "        attributes=[";
        check(
            Language::Python,
            &["        # external_id=sdk.text(item, \"id\"),", attributes],
        );
        check(
            Language::Typescript,
            &[
                "        // name: text(item, \"contact.name\"),",
                "        attributes: [",
            ],
        );
    }

    #[test]
    fn a_text_is_quoted_for_every_language() {
        assert_eq!(quoted("a \"b\\\n\u{7}"), "\"a \\\"b\\\\\\n \"");
    }

    fn of(body: &str) -> Written {
        let mut case = Case::new("sample", Call::Convert);
        case.body = body.as_bytes().to_vec();
        write(
            &recipe::find(&case, &serde_json::json!({})).expect("it is read"),
            Language::Typescript,
        )
    }

    #[test]
    fn a_phone_takes_the_codes_beside_it_though_others_are_equal() {
        let phones =
            r#"[{"ddd": "11", "number": "900000001"}, {"ddd": "11", "number": "30000002"}]"#;
        let written = of(&format!(
            r#"{{"id": 1, "name": "Ana", "phones": {phones}}}"#
        ));
        let second = "phone(text(item, \"phones[1].number\"), text(item, \"phones[1].ddd\"))";
        assert!(written.lead.contains(second), "{}", written.lead);
    }

    #[test]
    fn a_list_in_xml_with_one_element_is_a_list() {
        let one = "<lead id='7'><name>Ana</name><phone>11900000001</phone></lead>";
        let written = of(&format!("<leads account='a'>{one}</leads>"));
        assert_eq!(written.items, "list(body, \"leads.lead\")");
        assert!(
            written.lead.contains("text(item, \"@id\")"),
            "{}",
            written.lead
        );
        let around = "at(body, \"leads.@account\")";
        assert!(written.lead.contains(around), "{}", written.lead);
        assert_eq!(of(one).items, "list(body)");
    }
}
