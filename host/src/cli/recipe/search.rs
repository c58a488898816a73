//! The search for expressions that give the values of a lead: a value is put together from the places that
//! the mapping converter names, until it is the one of the lead.

use leadhost_sdk::nothing::name_in;
use leadhost_sdk::path::{Path, Step, joined, key};
use leadhost_sdk::serde_json::{self, Value};
use leadhost_sdk::{Lead, at, is_absent, text, text_of, yes};

use super::{Expression, Field, Line, Place, below, text_at};

/// Attributes that a new converter names; a person adds others.
const MAX_ATTRIBUTES: usize = 40;

/// The search for expressions that give the values of one lead.
pub struct Search<'a> {
    pub body: &'a Value,
    pub item: &'a Value,
    /// The explanations of this item.
    pub notes: Vec<&'a Value>,
}

impl Search<'_> {
    /// Returns the lines that give the values of a lead.
    pub fn lines(&self, lead: &Lead) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut add = |field: Field, value: Option<Expression>| {
            lines.extend(value.map(|value| Line { field, value }));
        };
        let text = |name: &str, target: &Option<String>| {
            let target = target.as_ref()?;
            Some(self.text(self.places(name), |text| text == target))
        };
        add(Field::ExternalId, text("externalId", &lead.external_id));
        add(Field::IsTest, self.truth(lead.is_test));
        // The host takes a name out of its text, whatever the converter is.
        let name = lead.name.as_ref();
        let name = name.map(|name| {
            let is_name = |text: &str| text == name || name_in(text).as_ref() == Some(name);
            self.text(self.places("name"), is_name)
        });
        add(Field::Name, name);
        for phone in self.each("phones", &lead.phones, Self::phone) {
            add(Field::Phone, Some(phone));
        }
        for email in self.each("emails", &lead.emails, Self::email) {
            add(Field::Email, Some(email));
        }
        add(Field::Message, text("message", &lead.message));
        for listing in &lead.listings {
            let value = self.text(self.places("listings"), |text| text == listing.reference);
            add(Field::Listing(listing.kind.clone()), Some(value));
        }
        add(
            Field::OccurredAt,
            lead.occurred_at.as_ref().map(|target| self.time(target)),
        );
        add(Field::Source, text("source", &lead.source));
        for (name, target) in &lead.campaign {
            let value = self.text(self.places_of_part("campaign", name), |text| text == target);
            add(Field::Campaign(name.clone()), Some(value));
        }
        for (name, json) in &lead.attributes {
            let value = serde_json::from_str(json).unwrap_or_default();
            lines.extend(self.attributes(name, &value));
        }
        let is_attribute = |line: &Line| matches!(line.field, Field::Attribute(_));
        let others = lines.iter().filter(|line| !is_attribute(line)).count();
        lines.truncate(others + MAX_ATTRIBUTES);
        lines
    }

    /// Returns the places at which the converter read a field, down to their scalars.
    fn places(&self, field: &str) -> Vec<Place> {
        self.places_of_part(field, "")
    }

    /// Returns the places of one part of a field, such as the id of a campaign; of all parts, if `part` is
    /// empty.
    fn places_of_part(&self, field: &str, part: &str) -> Vec<Place> {
        let of_field = self.notes.iter().filter(|note| note["field"] == field);
        let paths = of_field.flat_map(|note| {
            let paths = note["from"].as_array().into_iter().flatten().enumerate();
            let of_part = paths.filter(|(at, _)| part.is_empty() || note["parts"][at] == part);
            of_part.map(|(_, path)| path)
        });
        let mut places = Vec::new();
        for path in paths.filter_map(Value::as_str) {
            let place = match path.strip_prefix("$.") {
                Some(path) => Place {
                    in_body: true,
                    path: path.to_owned(),
                },
                None => Place {
                    in_body: false,
                    path: path.to_owned(),
                },
            };
            if let Some(value) = at(place.root(self.item, self.body), &place.path) {
                scalars(place, value, &mut places);
            }
        }
        let labelled = places.into_iter().map(|place| self.labelled(place));
        labelled.collect()
    }

    /// Returns a place in a list of questions by its question in place of its index: the order may change.
    fn labelled(&self, place: Place) -> Place {
        let Ok(path) = Path::parse(&place.path) else {
            return place;
        };
        let mut value = place.root(self.item, self.body);
        let mut out = String::new();
        for (at, step) in path.steps.iter().enumerate() {
            let next = below(value, step);
            out = match step {
                Step::Key(name) => joined(&out, &key(name)),
                Step::Index(index) => {
                    let filter = value
                        .as_array()
                        .and_then(|list| filter(list, *index, &path.steps[at + 1..]));
                    let step = filter.unwrap_or_else(|| format!("[{index}]"));
                    joined(&out, &step)
                }
                _ => return place,
            };
            value = next;
        }
        Place { path: out, ..place }
    }

    fn read(&self, place: &Place) -> Option<String> {
        text_at(place, self.item, self.body)
    }

    fn is(&self, expression: &Expression, target: &str) -> bool {
        expression.text(self.item, self.body).as_deref() == Some(target)
    }

    fn text(&self, places: Vec<Place>, is_target: impl Fn(&str) -> bool) -> Expression {
        let single = places.iter().cloned().map(Expression::Text);
        let pairs = pairs(&places).map(Expression::Join);
        let mut all = single.chain(pairs);
        let found = all.find(|expression| {
            let text = expression.text(self.item, self.body);
            text.is_some_and(|text| is_target(&text))
        });
        drop(all);
        found.unwrap_or(Expression::Unknown(places))
    }

    /// Returns the expressions of a list. Values that are equal in the sample may differ in the next body, so each
    /// place has its own.
    fn each(
        &self,
        field: &str,
        targets: &[String],
        find: fn(&Self, &[Place], &[Place], &str) -> Option<Expression>,
    ) -> Vec<Expression> {
        let places = self.places(field);
        let mut left = places.clone();
        let mut found = Vec::new();
        for target in targets {
            let mut next = find(self, &places, &places, target);
            if next.is_none() {
                found.push(Expression::Unknown(places.clone()));
            }
            while let Some(value) = next {
                left.retain(|place| !value.places().contains(&place));
                found.push(value);
                next = find(self, &left, &places, target);
            }
        }
        self.as_list(found, targets)
    }

    fn phone(&self, numbers: &[Place], places: &[Place], target: &str) -> Option<Expression> {
        let codes: Vec<Option<&Place>> =
            [None].into_iter().chain(places.iter().map(Some)).collect();
        let all = codes.iter().flat_map(|country| {
            codes.iter().flat_map(|area| {
                numbers.iter().map(|number| Expression::Phone {
                    number: number.clone(),
                    area: area.cloned(),
                    country: country.cloned(),
                })
            })
        });
        // Codes that are equal in the sample may differ in the next body: each phone has its own beside it.
        let fitting = all.filter(|expression| self.is(expression, target));
        fitting.min_by_key(distance_of_codes)
    }

    /// Returns the expression of a list in place of its elements' expressions, because there may be more
    /// elements.
    fn as_list(&self, values: Vec<Expression>, targets: &[String]) -> Vec<Expression> {
        let place = match values.first() {
            Some(Expression::Email(place)) => place,
            Some(Expression::Phone {
                number,
                area: None,
                country: None,
            }) => number,
            _ => return values,
        };
        let Some((list, rest)) = place.path.rsplit_once("[0]") else {
            return values;
        };
        let mut places = values.iter().flat_map(Expression::places);
        let is_list = places.all(|place| place.path.starts_with(&format!("{list}[")));
        let each = Expression::Each(Place {
            in_body: place.in_body,
            path: format!("{list}[*]{rest}"),
        });
        let texts = each.texts(self.item, self.body);
        let all = texts.iter().enumerate();
        let first = all.filter(|(at, text)| !texts[..*at].contains(text));
        if is_list && first.map(|(_, text)| text).eq(targets) {
            vec![each]
        } else {
            values
        }
    }

    fn email(&self, places: &[Place], _: &[Place], target: &str) -> Option<Expression> {
        let mut all = places.iter().cloned().map(Expression::Email);
        all.find(|expression| self.is(expression, target))
    }

    fn time(&self, target: &str) -> Expression {
        let places = self.places("occurredAt");
        let single = places.iter().map(|place| vec![place.clone()]);
        let mut all = single.chain(pairs(&places)).map(Expression::Time);
        let found = all.find(|expression| self.is(expression, target));
        drop(all);
        found.unwrap_or(Expression::Unknown(places))
    }

    fn truth(&self, is_test: bool) -> Option<Expression> {
        let mut places = self.places("isTest").into_iter();
        places
            .find(|place| yes(self.read(place)) == is_test)
            .map(Expression::Yes)
    }

    /// Returns the lines for an attribute: one, or, if fields of the object were read, one for each member
    /// that is left.
    fn attributes(&self, name: &str, value: &Value) -> Vec<Line> {
        let line = |name: String, value: Expression| Line {
            field: Field::Attribute(name),
            value,
        };
        let own = [(false, self.item), (true, self.body)];
        for (in_body, root) in own {
            let member = root.as_object().and_then(|fields| fields.get(name));
            let place = Place {
                in_body,
                path: key(name),
            };
            if member == Some(value) {
                return vec![line(name.to_owned(), Expression::Value(place))];
            }
            if let (Some(all), Value::Object(_)) = (member, value) {
                return left_of(name, &place, all, value);
            }
        }
        let path = answer_to(self.item, name, value);
        let place = path.map(|path| {
            Expression::Value(Place {
                in_body: false,
                path,
            })
        });
        vec![line(
            name.to_owned(),
            place.unwrap_or(Expression::Unknown(Vec::new())),
        )]
    }
}

/// Returns a line for each member of an object, at any depth, that no field was read from.
fn left_of(name: &str, place: &Place, all: &Value, left: &Value) -> Vec<Line> {
    let line = |value: Expression| {
        vec![Line {
            field: Field::Attribute(name.to_owned()),
            value,
        }]
    };
    if all == left {
        return line(Expression::Value(place.clone()));
    }
    let (Value::Object(all), Value::Object(left)) = (all, left) else {
        return line(Expression::Unknown(vec![place.clone()]));
    };
    let inner = left.iter().flat_map(|(member, left)| {
        let place = Place {
            in_body: place.in_body,
            path: joined(&place.path, &key(member)),
        };
        let whole = all.get(member).unwrap_or(&Value::Null);
        left_of(&format!("{name}.{member}"), &place, whole, left)
    });
    inner.collect()
}

/// Adds the places of the scalars in a value.
fn scalars(place: Place, value: &Value, out: &mut Vec<Place>) {
    const MOST: usize = 16;
    let inner = |step: &str| Place {
        in_body: place.in_body,
        path: joined(&place.path, step),
    };
    match value {
        _ if out.len() >= MOST => {}
        Value::Object(fields) if !fields.contains_key("#text") => {
            for (name, value) in fields {
                scalars(inner(&key(name)), value, out);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                scalars(inner(&format!("[{index}]")), value, out);
            }
        }
        value if is_absent(value) || out.contains(&place) => {}
        value => {
            // An element of XML: its text, and its attributes.
            let fields = value.as_object().into_iter().flatten();
            let beside = fields.filter(|(name, _)| name.starts_with('@'));
            let beside: Vec<Place> = beside.map(|(name, _)| inner(&key(name))).collect();
            out.push(place);
            out.extend(beside);
        }
    }
}

/// How many codes a phone takes from other places, and how far from its number they are.
fn distance_of_codes(phone: &Expression) -> (usize, usize) {
    let Expression::Phone {
        number,
        area,
        country,
    } = phone
    else {
        return (0, 0);
    };
    let codes: Vec<&Place> = area.iter().chain(country).collect();
    let common = |one: &str, other: &str| {
        let both = one.chars().zip(other.chars());
        both.take_while(|(one, other)| one == other).count()
    };
    let far = |code: &&Place| {
        if code.in_body == number.in_body {
            number.path.chars().count() - common(&number.path, &code.path)
        } else {
            usize::from(u16::MAX)
        }
    };
    (codes.len(), codes.iter().map(far).sum())
}

fn pairs(places: &[Place]) -> impl Iterator<Item = Vec<Place>> + '_ {
    places.iter().flat_map(move |first| {
        let others = places.iter().filter(move |second| *second != first);
        others.map(move |second| vec![first.clone(), second.clone()])
    })
}

/// The keys under which a question is, best first: a name of its own changes less than its wording.
const LABELS: [&str; 16] = [
    "@part",
    "column_id",
    "key",
    "slug",
    "field.ref",
    "name",
    "question",
    "pergunta",
    "pregunta",
    "label",
    "title",
    "column_name",
    "field_name",
    "field",
    "id",
    "field.id",
];

/// The keys under which an element has its kind, which no translation changes.
const KINDS: [&str; 4] = ["type", "@type", "tipo", "kind"];

/// The last words of the keys under which a question has a code beside its wording, which is translated.
const CODES: [&str; 11] = [
    "code",
    "codigo",
    "key",
    "slug",
    "ref",
    "alias",
    "variable",
    "identifier",
    "apiname",
    "internalname",
    "id",
];

/// What such a key may begin with: `fieldKey`, `question_code`.
const OF_QUESTIONS: [&str; 6] = [
    "field", "question", "pregunta", "pergunta", "campo", "column",
];

/// Returns the bracket that finds an element of a list by its question, if no other element has the same.
/// `read`: the steps from there to the value, which is no question.
fn filter(list: &[Value], index: usize, read: &[Step]) -> Option<String> {
    let element = list.get(index)?;
    let is_alone = |label: &str| {
        if Path::parse(label).is_ok_and(|label| label.steps == read) {
            return None;
        }
        let question = |element: &Value| text(element, label);
        let wanted = question(element)?;
        let same = list
            .iter()
            .filter(|element| question(element).as_deref() == Some(&wanted));
        (same.count() == 1 && text_of(at(element, label)?).is_some()).then_some(wanted)
    };
    let found = |label: &str| Some((label.to_owned(), is_alone(label)?));
    let question = || LABELS.iter().find_map(|label| found(label));
    let code = || codes(element).into_iter().find_map(|code| found(&code));
    // A lone element may have another kind in the next lead.
    let kind = || {
        KINDS
            .iter()
            .find_map(|kind| found(kind).filter(|_| list.len() > 1))
    };
    let (label, wanted) = code().or_else(kind).or_else(question)?;
    Some(format!("[?{label}={}]", written(&wanted)))
}

/// Returns the paths of the codes of a question, in the order of [`CODES`].
fn codes(element: &Value) -> Vec<String> {
    let members = element.as_object().into_iter().flatten();
    let places = members.flat_map(|(name, value)| {
        let is_question = OF_QUESTIONS.contains(&name.to_ascii_lowercase().as_str());
        let inner = value.as_object().filter(|_| is_question);
        let inner = inner.into_iter().flatten();
        let inner = inner.map(|(inner, value)| (inner, joined(&key(name), &key(inner)), value));
        inner.chain([(name, key(name), value)])
    });
    let mut found: Vec<(usize, String)> = places
        .filter_map(|(name, path, value)| {
            let code = value.as_str().filter(|text| is_code(text))?;
            let letters = name.chars().filter(char::is_ascii_alphanumeric);
            let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
            let mut bare = OF_QUESTIONS.iter().filter_map(|of| name.strip_prefix(of));
            let bare = bare.find(|bare| !bare.is_empty()).unwrap_or(&name);
            let rank = CODES.iter().position(|code| *code == bare)?;
            // An id with digits may be the answer's own.
            let is_id = bare == "id" && code.contains(|letter: char| letter.is_ascii_digit());
            (!is_id).then_some((rank, path))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Whether a text is a code: a word without spaces that begins with a letter.
fn is_code(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(is_part)
}

/// Returns a text as a filter has it.
fn written(text: &str) -> String {
    if text.contains([']', '"', '\\']) {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        text.to_owned()
    }
}

/// Returns the path of the answer to a question in a list under any name.
fn answer_to(value: &Value, question: &str, answer: &Value) -> Option<String> {
    let below = |step: String, inner: &Value| {
        let rest = answer_to(inner, question, answer)?;
        Some(joined(&step, &rest))
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, inner)| below(key(name), inner)),
        Value::Array(list) => {
            let mut elements = list.iter().enumerate();
            let own = elements.clone().find_map(|(index, element)| {
                asks(element, question).then_some(())?;
                let mut members = element.as_object()?.iter();
                let (member, value) = members.find(|(_, value)| is_answer(value, answer))?;
                let path = joined(
                    &filter(list, index, &[Step::Key(member.clone())])?,
                    &key(member),
                );
                Some(if value == answer {
                    path
                } else {
                    joined(&path, "[0]")
                })
            });
            own.or_else(|| {
                elements.find_map(|(index, element)| below(format!("[{index}]"), element))
            })
        }
        _ => None,
    }
}

/// Whether a question is among the members of an element, or in one of them.
fn asks(element: &Value, question: &str) -> bool {
    let is_it = |text: Option<String>| text.as_deref() == Some(question);
    let mut members = element.as_object().into_iter().flatten();
    members.any(|(_, value)| {
        is_it(text_of(value)) || LABELS.iter().any(|label| is_it(text(value, label)))
    })
}

/// Whether a value is the answer, or a list with it alone.
fn is_answer(value: &Value, answer: &Value) -> bool {
    value == answer
        || value
            .as_array()
            .is_some_and(|list| list.as_slice() == std::slice::from_ref(answer))
}
