//! Writes down what the mapping converter finds in a sample: from which place each field of its lead comes. The
//! converter says where it read (`explain`); here a value is put together from these places until it is the
//! one of the lead, so that a new project names its places and guesses nothing.

mod blank;
mod doubled;
mod search;

use converter_mapping::Mapping;
use leadhost_admin_api::tried;
use leadhost_golden::Case;
use leadhost_sdk::path::{Path, Step, joined, key};
use leadhost_sdk::serde_json::{self, Value, json};
use leadhost_sdk::testing;
use leadhost_sdk::{
    Conversion, Converter as _, Delivery, Item, Lead, Outcome, at, email, join, list,
    phone_with_codes, text, texts, time, yes,
};

use self::search::Search;

/// Where the leads of a source are, and from where each field comes.
#[derive(Debug, Default)]
pub struct Recipe {
    /// The path of the leads in the body; empty: the body is one, or a list of them.
    pub leads: String,
    pub lines: Vec<Line>,
    /// Why the sample has no lead.
    pub no_lead: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub field: Field,
    pub value: Expression,
}

/// In the order in which they are written.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub enum Field {
    ExternalId,
    IsTest,
    Name,
    Phone,
    Email,
    Message,
    /// With the kind of the reference.
    Listing(String),
    OccurredAt,
    Source,
    /// With the name of the campaign's field.
    Campaign(String),
    /// With the name of the attribute.
    Attribute(String),
}

impl Field {
    /// The field without what stands beside its value.
    fn kind(&self) -> Self {
        match self {
            Self::Listing(_) => Self::Listing(String::new()),
            Self::Campaign(_) => Self::Campaign(String::new()),
            Self::Attribute(_) => Self::Attribute(String::new()),
            other => other.clone(),
        }
    }

    /// The name of the contract, and what stands beside its value.
    pub fn name(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::ExternalId => ("externalId", None),
            Self::IsTest => ("isTest", None),
            Self::Name => ("name", None),
            Self::Phone => ("phones", None),
            Self::Email => ("emails", None),
            Self::Message => ("message", None),
            Self::Listing(kind) => ("listings", Some(kind)),
            Self::OccurredAt => ("occurredAt", None),
            Self::Source => ("source", None),
            Self::Campaign(name) => ("campaign", Some(name)),
            Self::Attribute(name) => ("attributes", Some(name)),
        }
    }
}

/// How a value is put together from places.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Text(Place),
    Join(Vec<Place>),
    Phone {
        number: Place,
        area: Option<Place>,
        country: Option<Place>,
    },
    Email(Place),
    /// All texts of a list, each a value of the field.
    Each(Place),
    Time(Vec<Place>),
    Yes(Place),
    /// Any value, with its type.
    Value(Place),
    /// No such expression gives the value that the mapping converter found at these places.
    Unknown(Vec<Place>),
}

/// A path in the lead's item, or in the body around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub in_body: bool,
    pub path: String,
}

/// Reads the body of a case with a configuration of the mapping converter. An error says why it cannot be read
/// at all.
pub fn find(case: &Case, config: &Value) -> Result<Recipe, String> {
    let sample = Sample::new(case, config);
    let delivery = testing::delivery(&sample.case);
    let body = delivery.tree().map_err(|problem| problem.message)?;
    let read = Mapping::convert(&sample.config()?, &delivery).map_err(|problem| problem.message)?;
    let leads = Found::all(&body, &read);
    if leads.is_empty() {
        return Ok(Recipe {
            no_lead: Some(why_no_lead(&read)),
            ..Recipe::default()
        });
    }
    let (body, leads, are_keys) = sample.with_second_leads(body, leads);
    let path = path_of_list(leads.first().map_or(&[], |lead| &lead.steps));
    let items = list(&body, &path);
    let is_outside = |lead: &&Found| {
        !items
            .iter()
            .any(|item| std::ptr::eq(*item, lead.item(&body)))
    };
    if let Some(outside) = leads.iter().find(is_outside) {
        let outside = path_of_list(&outside.steps);
        return Ok(Recipe {
            no_lead: Some(format!(
                "it has leads in several places, and no path leads to all of them: `{path}` and `{outside}`"
            )),
            ..Recipe::default()
        });
    }
    let mut leads = leads.into_iter();
    let first = leads.next().unwrap_or_default();
    let mut recipe = Recipe {
        leads: path,
        lines: first.lines,
        no_lead: None,
    };
    for line in leads.flat_map(|lead| lead.lines) {
        recipe.add(line);
    }
    blank::add_lines(&mut recipe, &sample, &body, &first.steps);
    sample.keep_apart(&mut recipe, &body);
    if are_keys {
        recipe.leads = joined(&recipe.leads, "[*]");
    }
    Ok(recipe)
}

/// A body that a source sends, and the configuration with which it is read.
struct Sample {
    case: Case,
    config: Value,
}

impl Sample {
    fn new(case: &Case, config: &Value) -> Self {
        let mut config = config.clone();
        config["explain"] = true.into();
        let case = case.clone();
        Self { case, config }
    }

    fn is_xml(&self) -> bool {
        self.case.body.trim_ascii_start().starts_with(b"<")
    }

    fn config(&self) -> Result<converter_mapping::Config, String> {
        serde_json::from_value(self.config.clone()).map_err(|error| error.to_string())
    }

    /// Returns the leads of a changed body, which is read as JSON.
    fn leads_of(&self, body: &Value) -> Vec<Found> {
        let mut other = Self::new(&self.case, &self.config);
        if let Some(config) = other.config.as_object_mut() {
            config.remove("format");
        }
        other.case.body = serde_json::to_vec(body).unwrap_or_default();
        let headers = &mut other.case.delivery.headers;
        headers.retain(|(name, _)| name != "content-type");
        let delivery = testing::delivery(&other.case);
        let config = other.config().ok();
        let read = config.and_then(|config| Mapping::convert(&config, &delivery).ok());
        read.map_or_else(Vec::new, |read| Found::all(body, &read))
    }
}

/// A lead that the mapping converter finds.
#[derive(Default)]
struct Found {
    /// The way to its item.
    steps: Vec<Step>,
    lines: Vec<Line>,
    lead: Option<Lead>,
}

impl Found {
    fn has_contacts_of(&self, other: &Self) -> bool {
        let contacts = |found: &Self| {
            let lead = found.lead.clone()?;
            Some((lead.name, lead.phones, lead.emails))
        };
        contacts(self) == contacts(other)
    }

    fn item<'b>(&self, body: &'b Value) -> &'b Value {
        self.steps
            .iter()
            .fold(body, |value, step| below(value, step))
    }

    /// Returns the leads of a body that are explained.
    fn all(body: &Value, read: &Conversion) -> Vec<Self> {
        let noted = json!({"notes": read.notes});
        let (explained, _) = tried::explained(&noted);
        let leads = read.items.iter().enumerate();
        let leads = leads.filter_map(|(index, item)| match &item.outcome {
            Outcome::Lead(lead) => Some((index, lead)),
            _ => None,
        });
        let leads = leads.enumerate().map_while(|(at, (index, lead))| {
            let of_item = |note: &&Value| note["item"] == json!(index);
            let notes: Vec<&Value> = explained.iter().filter(of_item).collect();
            let place = notes.first().and_then(|note| note["at"].as_str());
            let is_explained = at == 0 || !notes.is_empty();
            let steps = steps_to(body, place.unwrap_or_default());
            let item = steps.iter().fold(body, |value, step| below(value, step));
            let search = Search { body, item, notes };
            let lines = search.lines(lead);
            let lead = Some(lead.clone());
            is_explained.then_some(Self { steps, lines, lead })
        });
        leads.collect()
    }
}

impl Recipe {
    /// Adds a line of another lead, or puts it in place of one that reads fewer places: of the fields that have
    /// one value, the first line stays. Returns whether it was added.
    fn add(&mut self, line: Line) -> bool {
        let places = line.value.places();
        if places.is_empty() {
            return false;
        }
        let is_list = matches!(line.field, Field::Phone | Field::Email);
        let same = |known: &&mut Line| known.field == line.field;
        for known in self.lines.iter_mut().filter(same) {
            let of_known = known.value.places();
            if places.iter().all(|place| of_known.contains(place)) {
                return false;
            }
            if of_known.iter().all(|place| places.contains(place)) {
                *known = line;
                return true;
            }
            if !is_list {
                return false;
            }
        }
        let kind = line.field.kind();
        let at = self
            .lines
            .partition_point(|known| known.field.kind() <= kind);
        self.lines.insert(at, line);
        true
    }

    /// The texts by which paths find their elements, as the questions of a form.
    pub fn labels(&self) -> Vec<String> {
        let places = self.lines.iter().flat_map(|line| line.value.places());
        let paths = places.filter_map(|place| Path::parse(&place.path).ok());
        let steps = paths.flat_map(|path| path.steps);
        let labels = steps.filter_map(|step| match step {
            Step::Where(_, text) => Some(text),
            _ => None,
        });
        labels.collect()
    }

    /// Whether a person's value was found, and no expression gives it.
    pub fn lacks_a_contact(&self) -> bool {
        let is_contact = |field: &Field| {
            let contacts = [Field::ExternalId, Field::Name, Field::Phone, Field::Email];
            contacts.contains(field)
        };
        let mut lines = self.lines.iter();
        lines.any(|line| matches!(line.value, Expression::Unknown(_)) && is_contact(&line.field))
    }
}

/// Returns what a converter with this recipe makes of a case.
pub fn answer(recipe: &Recipe, case: &Case) -> Value {
    let converted = convert(recipe, &testing::delivery(case));
    testing::plain(&converted)
}

fn convert(recipe: &Recipe, delivery: &Delivery) -> Result<Conversion, leadhost_sdk::Problem> {
    let body = delivery.tree()?;
    let items = list(&body, &recipe.leads).into_iter();
    let items: Vec<Item> = items.map(|item| lead(recipe, item, &body).into()).collect();
    Ok(Conversion::of_list(items))
}

fn lead(recipe: &Recipe, item: &Value, body: &Value) -> Lead {
    let lines = recipe.lines.iter();
    lines.fold(Lead::new(), |lead, Line { field, value }| {
        let text = || value.text(item, body);
        match field {
            Field::ExternalId => lead.external_id(text()),
            Field::IsTest => lead.is_test(
                matches!(value, Expression::Yes(place) if yes(text_at(place, item, body))),
            ),
            Field::Name => lead.name(text()),
            Field::Phone => lead.phones(value.texts(item, body)),
            Field::Email => lead.emails(value.texts(item, body)),
            Field::Message => lead.message(text()),
            Field::Listing(kind) => lead.listing(kind, text()),
            Field::OccurredAt => lead.occurred_at(text()),
            Field::Source => lead.source(text()),
            Field::Campaign(name) => lead.campaign(name, text()),
            Field::Attribute(name) => match value {
                Expression::Value(place) => {
                    lead.attribute(name, at(place.root(item, body), &place.path))
                }
                _ => lead,
            },
        }
    })
}

fn text_at(place: &Place, item: &Value, body: &Value) -> Option<String> {
    text(place.root(item, body), &place.path)
}

impl Place {
    fn root<'a>(&self, item: &'a Value, body: &'a Value) -> &'a Value {
        if self.in_body { body } else { item }
    }
}

impl Expression {
    pub fn places(&self) -> Vec<&Place> {
        match self {
            Self::Text(place)
            | Self::Email(place)
            | Self::Each(place)
            | Self::Yes(place)
            | Self::Value(place) => {
                vec![place]
            }
            Self::Join(places) | Self::Time(places) => places.iter().collect(),
            Self::Phone {
                number,
                area,
                country,
            } => [Some(number), area.as_ref(), country.as_ref()]
                .into_iter()
                .flatten()
                .collect(),
            Self::Unknown(_) => Vec::new(),
        }
    }

    fn texts(&self, item: &Value, body: &Value) -> Vec<String> {
        match self {
            Self::Each(place) => texts(place.root(item, body), &place.path),
            one => one.text(item, body).into_iter().collect(),
        }
    }

    /// Returns its text. [`Expression::Yes`] and [`Expression::Value`] have none.
    fn text(&self, item: &Value, body: &Value) -> Option<String> {
        let read = |place: &Place| text_at(place, item, body);
        let joined = |places: &[Place]| {
            let mut texts = places.iter().map(read);
            let first = texts.next()?;
            texts.fold(first, |all, text| join([all, text]))
        };
        match self {
            Self::Text(place) => read(place),
            Self::Join(places) => joined(places),
            Self::Phone {
                number,
                area,
                country,
            } => phone_with_codes(
                read(number),
                area.as_ref().and_then(read),
                country.as_ref().and_then(read),
            ),
            Self::Email(place) => email(read(place)),
            Self::Time(places) => time(joined(places)),
            Self::Each(_) | Self::Yes(_) | Self::Value(_) | Self::Unknown(_) => None,
        }
    }
}

fn why_no_lead(read: &Conversion) -> String {
    let mut items = read.items.iter();
    let why = items.find_map(|item| match &item.outcome {
        Outcome::Invalid(problem) => Some(problem.message.clone()),
        Outcome::Ignored(why) => Some(why.clone()),
        _ => None,
    });
    why.unwrap_or_else(|| "there is no item in it".to_owned())
}

/// Returns the steps to an item. The converter gives its path as keys and indexes joined by dots.
fn steps_to(body: &Value, path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut value, mut rest) = (body, path);
    while !rest.is_empty() {
        let Some((step, after)) = step(value, rest) else {
            return Vec::new();
        };
        value = below(value, &step);
        steps.push(step);
        rest = after;
    }
    steps
}

/// Returns the first step of such a path and what follows it. A key may have dots in it.
fn step<'p>(value: &Value, path: &'p str) -> Option<(Step, &'p str)> {
    let mut ends = path
        .match_indices('.')
        .map(|(at, _)| at)
        .chain([path.len()]);
    ends.find_map(|end| {
        let after = path.get(end + 1..).unwrap_or_default();
        let name = &path[..end];
        match value {
            Value::Array(items) => {
                let index: usize = name.parse().ok()?;
                items.get(index).map(|_| (Step::Index(index), after))
            }
            Value::Object(fields) => fields
                .contains_key(name)
                .then(|| (Step::Key(name.to_owned()), after)),
            _ => None,
        }
    })
}

fn below<'a>(value: &'a Value, step: &Step) -> &'a Value {
    match step {
        Step::Key(key) => &value[key],
        Step::Index(index) => &value[index],
        _ => value,
    }
}

fn place_in<'a>(body: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(body, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(*index),
        _ => None,
    })
}

/// Returns the path of the list that an item is in: with every element of the lists on the way. A list that is
/// in no other needs no bracket.
fn path_of_list(steps: &[Step]) -> String {
    let is_list = |step: &&Step| matches!(step, Step::Index(_));
    let steps = match steps {
        [list @ .., Step::Index(_)] if !list.iter().any(|step| is_list(&step)) => list,
        steps => steps,
    };
    steps.iter().fold(String::new(), |path, step| match step {
        Step::Key(name) => joined(&path, &key(name)),
        _ => joined(&path, "[*]"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path as FilePath;

    use leadhost_golden::{Call, load_dir};
    use leadhost_sdk::nothing::name_in;

    use super::*;

    const GOLDEN: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../plugins/converter-mapping/golden"
    );

    fn case(body: &str) -> Case {
        let mut case = Case::new("sample", Call::Convert);
        case.body = body.as_bytes().to_vec();
        case
    }

    fn found(body: &str) -> Recipe {
        find(&case(body), &json!({})).expect("it is read")
    }

    /// Returns the lines as `field: expression`, with the path of each place.
    fn lines(recipe: &Recipe) -> Vec<String> {
        let place = |place: &Place| {
            if place.in_body {
                format!("$.{}", place.path)
            } else {
                place.path.clone()
            }
        };
        let line = |Line { field, value }: &Line| {
            let value = match value {
                Expression::Text(at) => place(at),
                Expression::Email(at) => format!("email {}", place(at)),
                Expression::Each(at) => format!("each {}", place(at)),
                Expression::Yes(at) => format!("yes {}", place(at)),
                Expression::Value(at) => format!("any {}", place(at)),
                Expression::Join(at) => at.iter().map(place).collect::<Vec<_>>().join(" + "),
                Expression::Time(at) => {
                    format!(
                        "time {}",
                        at.iter().map(place).collect::<Vec<_>>().join(" + ")
                    )
                }
                Expression::Phone {
                    number,
                    area,
                    country,
                } => {
                    let codes =
                        [area, country].map(|code| code.as_ref().map_or_else(String::new, place));
                    format!("phone {} ({}) ({})", place(number), codes[0], codes[1])
                }
                Expression::Unknown(_) => "?".to_owned(),
            };
            format!("{field:?}: {value}")
        };
        recipe.lines.iter().map(line).collect()
    }

    #[test]
    fn a_nested_lead_in_a_list_is_written_down_with_its_envelope() {
        let recipe = found(
            r#"{"form_name": "Sales", "leads": [{
                "lead_id": 7, "contact": {"first_name": "Ana", "last_name": "Prado", "ddd": "11", "phone": "90000-0001"},
                "e-mail": "ana@example.com", "created_at": "02/03/2026 14:30", "utm_source": "search",
                "answers": [{"question": "Qual o prazo?", "answer": "3 meses"}, {"question": "Bairro", "answer": "Centro"}],
                "floor": {"number": 7, "view": ["sea"]}
            }]}"#,
        );
        assert_eq!(recipe.leads, "leads");
        let lines = lines(&recipe);
        for expect in [
            "ExternalId: lead_id",
            "Name: contact.first_name + contact.last_name",
            "Phone: phone contact.phone (contact.ddd) ()",
            "Email: email e-mail",
            "OccurredAt: time created_at",
            "Campaign(\"utm-source\"): utm_source",
            "Attribute(\"Qual o prazo?\"): any answers[?question=Qual o prazo?].answer",
            "Attribute(\"floor\"): any floor",
        ] {
            assert!(
                lines.iter().any(|line| line == expect),
                "{expect}: {lines:#?}"
            );
        }
    }

    #[test]
    fn places_of_lists_and_of_questions_do_not_depend_on_their_order() {
        let recipe = found(
            r#"{"entry": [{"changes": [{"value": {"leadgen_id": "1", "field_data": [
                {"name": "full_name", "values": ["Ana"]}, {"name": "email", "values": ["ana@example.com"]},
                {"name": "Prazo", "values": ["3 meses"]}
            ]}}]}]}"#,
        );
        let lines = lines(&recipe);
        assert_eq!(recipe.leads, "entry[*].changes[*]", "{lines:#?}");
        for expect in [
            "Email: each value.field_data[?name=email].values[*]",
            "Attribute(\"Prazo\"): any value.field_data[?name=Prazo].values[0]",
        ] {
            assert!(
                lines.iter().any(|line| line == expect),
                "{expect}: {lines:#?}"
            );
        }
        let recipe = found(r#"{"data": {"leads": [{"nome": "Ana", "fone": "11900000001"}]}}"#);
        assert_eq!(recipe.leads, "data.leads", "{recipe:#?}");
    }

    #[test]
    fn what_is_left_at_any_depth_is_named_and_a_list_may_have_more() {
        let recipe = found(
            r#"{"data": {"lead": {"leadId": 1, "phones": [{"number": "11988881234"}, {"number": "11988881235"}],
                "extra": 1, "unit": {"price": 5, "codigo": "AP-1"}}}}"#,
        );
        let lines = lines(&recipe);
        for expect in [
            "Phone: each data.lead.phones[*].number",
            "Attribute(\"data.lead.extra\"): any data.lead.extra",
        ] {
            let is_there = lines.iter().any(|line| line == expect);
            assert!(is_there, "{expect}: {lines:#?}");
        }
        let price = lines
            .iter()
            .any(|line| line.ends_with("any data.lead.unit.price"));
        let unit = lines
            .iter()
            .any(|line| line.ends_with("any data.lead.unit"));
        assert!(price || unit, "{lines:#?}");
        let recipe = found(r#"<lead><nome>Ana</nome><phone ddd="21">98888-1234</phone></lead>"#);
        let lines = self::lines(&recipe);
        let phone = "Phone: phone lead.phone (lead.phone.@ddd) ()";
        assert!(lines.iter().any(|line| line == phone), "{lines:#?}");
    }

    #[test]
    fn equal_values_of_a_sample_keep_their_own_places() {
        let recipe = found(
            r#"{"id": "1", "phone": "11900000001", "phone2": "11900000001", "email": "ana@example.com",
                "email2": "ana@example.com", "campaign_id": "7", "adset_id": "7", "ad_id": "7", "form_id": "7",
                "utm_source": "x", "utm_medium": "x", "utm_campaign": "x"}"#,
        );
        let lines = lines(&recipe);
        for expect in [
            "Phone: phone phone () ()",
            "Phone: phone phone2 () ()",
            "Email: email email",
            "Email: email email2",
            "Campaign(\"campaign-id\"): campaign_id",
            "Campaign(\"adset-id\"): adset_id",
            "Campaign(\"ad-id\"): ad_id",
            "Campaign(\"form-id\"): form_id",
            "Campaign(\"utm-source\"): utm_source",
            "Campaign(\"utm-medium\"): utm_medium",
            "Campaign(\"utm-campaign\"): utm_campaign",
        ] {
            let is_there = lines.iter().any(|line| line == expect);
            assert!(is_there, "{expect}: {lines:#?}");
        }
    }

    #[test]
    fn every_lead_of_a_sample_adds_its_lines() {
        let recipe = found(
            r#"{"leads": [{"id": 1, "name": "Ana", "phone": "11900000001"},
                {"id": 2, "name": "Bia", "phone": "11900000002", "email": "b@example.com", "tipo": "x"}]}"#,
        );
        let expect = [
            "ExternalId: id",
            "Name: name",
            "Phone: phone phone () ()",
            "Email: email email",
            "Attribute(\"tipo\"): any tipo",
        ];
        assert_eq!(lines(&recipe), expect);
    }

    #[test]
    fn what_is_blank_in_a_sample_is_read_from_the_next_body() {
        let check = |body: &str, expect: &[&str]| {
            let lines = lines(&found(body));
            assert_eq!(lines, expect, "{body}");
        };
        check(
            r#"{"id": "1", "nome": "Ana", "sobrenome": "", "ddd": null, "celular": "900000001", "telefone": "",
                "email": " ", "andar": null}"#,
            &[
                "ExternalId: id",
                "Name: nome + sobrenome",
                "Phone: phone celular (ddd) ()",
                "Phone: phone telefone () ()",
                "Email: email email",
                "Attribute(\"andar\"): any andar",
            ],
        );
        check(
            "<leads><lead><id>1</id><nome>Ana</nome><email/><phone>11900000001</phone></lead></leads>",
            &[
                "ExternalId: id",
                "Name: nome",
                "Phone: phone phone () ()",
                "Email: email email",
            ],
        );
    }

    /// A body with several people; a sample has only the first.
    type Shape = fn(&[Value]) -> Value;

    /// Returns a list in which each person is inside an object of this name.
    fn inside(name: &str, people: &[Value]) -> Value {
        let elements = people.iter().map(|one| json!({name: {"core": one}}));
        elements.collect()
    }

    /// Returns the phones of each lead that the recipe of the first person's body finds in the body of both.
    fn phones_of_two(shape: Shape) -> Vec<Vec<String>> {
        let person = |name: &str, number: &str| json!({"firstname": {"value": name}, "mobile": {"value": number}, "email": format!("{name}@example.com")});
        let people = [
            person("Ana", "+55 11 90000-0701"),
            person("Rui", "+55 21 90000-0802"),
        ];
        let recipe = found(&shape(&people[..1]).to_string());
        let answer = answer(&recipe, &case(&shape(&people).to_string()));
        let items = answer["ok"]["items"].as_array().expect("items").iter();
        let leads = items.filter_map(|item| item["outcome"].get("lead"));
        let phones = leads.map(|lead| serde_json::from_value(lead["phones"].clone()));
        phones.map(|phones| phones.expect("texts")).collect()
    }

    #[test]
    fn the_paths_of_one_lead_in_a_list_hold_for_two() {
        let shapes: [(&str, Shape); 6] = [
            (
                "a list",
                |people| json!({"batch": inside("person", people)}),
            ),
            (
                "an envelope with an id",
                |people| json!({"id": "evt-1", "rows": inside("who", people)}),
            ),
            (
                "a list in a list",
                |people| json!({"groups": [{"batch": inside("person", people)}]}),
            ),
            ("leads", |people| json!({"leads": people})),
            ("one lead in place of a list", |people| match people {
                [one] => json!({"form": 7, "leads": one}),
                people => json!({"form": 7, "leads": people}),
            }),
            ("numbered keys", |people| {
                let people = people.iter().enumerate();
                let people = people.map(|(at, one)| (format!("k{}", at + 1), one.clone()));
                json!({"id": "evt-1", "leads": people.collect::<serde_json::Map<_, _>>()})
            }),
        ];
        for (name, shape) in shapes {
            let expect = [["+55 11 90000-0701"], ["+55 21 90000-0802"]];
            assert_eq!(phones_of_two(shape), expect, "{name}");
        }
    }

    #[test]
    fn the_paths_of_one_element_of_xml_hold_for_two() {
        for (before, element, after) in [
            ("<entries>", "entry", "</entries>"),
            ("<entries n='1'><form>x</form>", "entry", "</entries>"),
            ("<reply><ok>1</ok><entries>", "entry", "</entries></reply>"),
            ("<data>", "prospect", "</data>"),
        ] {
            let body = |people: &[(&str, &str)]| {
                let people = people.iter().map(|(name, phone)| {
                    format!("<{element}><nome>{name}</nome><fone>{phone}</fone></{element}>")
                });
                format!("{before}{}{after}", people.collect::<String>())
            };
            let people = [("Ana", "11900000701"), ("Rui", "21900000802")];
            let recipe = found(&body(&people[..1]));
            let answer = answer(&recipe, &case(&body(&people)));
            let items = answer["ok"]["items"].as_array().expect("items").iter();
            let leads = items.map(|item| &item["outcome"]["lead"]);
            let leads: Vec<_> = leads.map(|lead| (&lead["name"], &lead["phones"])).collect();
            let names: Vec<_> = leads.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [Some("Ana"), Some("Rui")], "{before}: {recipe:#?}");
            let is_one = |phones: &Value| phones.as_array().is_some_and(|list| list.len() == 1);
            assert!(leads.iter().all(|(_, phones)| is_one(phones)), "{leads:?}");
        }
    }

    #[test]
    fn leads_in_places_that_no_path_joins_are_refused_with_the_places() {
        let recipe = found(
            r#"{"a": {"leads": [{"nome": "Ana", "fone": "11900000001"}]}, "b": {"leads": [{"nome": "Bia", "fone": "11900000002"}]}}"#,
        );
        let why = recipe.no_lead.unwrap_or_default();
        assert!(
            why.contains("`a.leads`") && why.contains("`b.leads`"),
            "{why}"
        );
        assert_eq!(recipe.lines, []);
    }

    #[test]
    fn a_lead_does_not_get_the_phone_of_the_second_of_its_people() {
        let phones = phones_of_two(|people| json!({"id": 7, "contact": people}));
        let are_apart = phones.iter().all(|phones| phones.len() == 1);
        assert!(are_apart && !phones.is_empty(), "{phones:?}");
    }

    #[test]
    fn a_question_is_found_by_its_code_and_not_by_its_wording() {
        let check = |code: &str, phone: &str| {
            let body = json!({"answers": [
                {"name": "Nombre", code: "NAME", "value": "Ana"},
                {"name": "Teléfono", code: "PHONE", "value": "+34600000701"},
                {"name": "Piso", code: "FLOOR", "value": "3"},
            ]});
            let lines = lines(&found(&body.to_string()));
            let expect = format!("Phone: phone answers[?{phone}].value () ()");
            assert!(lines.contains(&expect), "{expect}: {lines:#?}");
        };
        check("code", "code=PHONE");
        check("fieldKey", "fieldKey=PHONE");
        check("question_id", "question_id=PHONE");
        check("weight", "name=Teléfono");
    }

    #[test]
    fn an_element_of_a_list_is_found_by_its_kind_in_any_order() {
        let list = |kinds: &[(&str, &str)]| -> String {
            let all = kinds
                .iter()
                .map(|(kind, value)| json!({"tipo": kind, "valor": value}));
            json!({"nome": "Ana", "contatos": all.collect::<Vec<_>>()}).to_string()
        };
        let (phone, email) = (("celular", "11900000001"), ("email", "ana@example.com"));
        let recipe = found(&list(&[phone, email]));
        for order in [[phone, email], [email, phone]] {
            let lead = person(&answer(&recipe, &case(&list(&order)))).expect("a lead");
            assert_eq!(
                lead[2..],
                [json!(["11900000001"]), json!(["ana@example.com"])]
            );
        }
        let alone = lines(&found(&list(&[phone]))).concat();
        assert!(alone.contains("contatos[*].valor"), "{alone}");
    }

    #[test]
    fn a_sample_without_a_lead_says_why() {
        let recipe = found(r#"{"ping": true}"#);
        assert!(recipe.no_lead.is_some() && recipe.lines.is_empty());
        let refused = find(&case(""), &json!({})).expect_err("there is nothing");
        assert_eq!(refused, "the body is empty");
    }

    /// The person of the first lead in an answer, as the host takes it.
    fn person(answer: &Value) -> Option<[Value; 4]> {
        let mut items = answer["ok"]["items"].as_array()?.iter();
        let lead = items.find_map(|item| item["outcome"].get("lead"))?;
        let mut person =
            ["externalId", "name", "phones", "emails"].map(|field| lead[field].clone());
        person[1] = json!(person[1].as_str().and_then(name_in));
        Some(person)
    }

    #[test]
    fn what_the_mapping_converter_reads_unconfigured_is_read_alike_by_its_recipe() {
        let cases = load_dir(FilePath::new(GOLDEN)).expect("the cases");
        let is_plain =
            |case: &&Case| case.call == Call::Convert && case.delivery.config == json!({});
        let mut compared = 0;
        for case in cases.iter().filter(is_plain) {
            let expect = person(&testing::answer::<Mapping>(case));
            let Ok(recipe) = find(case, &json!({})) else {
                continue;
            };
            if let Some(expect) = expect {
                let came = person(&answer(&recipe, case));
                assert_eq!(
                    came.as_ref(),
                    Some(&expect),
                    "{}: {:#?}",
                    case.name,
                    lines(&recipe)
                );
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    }
}
