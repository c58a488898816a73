//! The check of a value. Whether a part fits a value is asked once and remembered, so the steps are at most
//! one for each part and value; and there is a bound of steps that ends any check. Only parts that do not fit
//! are walked again, for what is wrong.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Number, Value};

use crate::issue::{Issue, IssueKind, PathStep};
use crate::schema::{Keyword, Length, Rest, Schema};

/// Most steps of one check. A long configuration of the mapping converter takes some ten thousand. The bound
/// takes a few tenths of a second.
const STEPS: u64 = 2_000_000;

/// Parts within each other, of all values within each other: each takes some kilobytes of the stack.
const DEPTH: usize = 192;

/// Most issues of one check, including the issues of alternatives.
const ISSUES: usize = 500;

/// Most names of fields in one issue: more than its sentence shows.
const NAMES: usize = 600;

/// Characters of a number that are read in one step.
const DIGITS: usize = 64;

impl Schema {
    pub fn issues<'a>(&'a self, value: &'a Value) -> Vec<Issue<'a>> {
        let mut check = Check::new(self);
        check.is_silent = false;
        check.part(0, value);
        if check.is_spent {
            check.issues.clear();
            check.path.clear();
            check.add(value, IssueKind::TooMuchWork);
        }
        check.issues
    }

    pub fn fits(&self, value: &Value) -> bool {
        let mut check = Check::new(self);
        check.part(0, value) && !check.is_spent
    }
}

struct Check<'a> {
    schema: &'a Schema,
    /// Whether a part fits a value, by the part's number and the value's address.
    known: HashMap<(usize, *const Value), bool>,
    left: u64,
    depth: usize,
    /// The steps or the depth did not suffice: what was found does not count.
    is_spent: bool,
    /// Issues are not wanted: the first one ends the check of a part.
    is_silent: bool,
    issues: Vec<Issue<'a>>,
    found: usize,
    /// Where the value is that is being checked, if issues are wanted.
    path: Vec<PathStep<'a>>,
}

impl<'a> Check<'a> {
    fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            known: HashMap::new(),
            left: STEPS,
            depth: 0,
            is_spent: false,
            is_silent: true,
            issues: Vec::new(),
            found: 0,
            path: Vec::new(),
        }
    }

    fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps as u64);
        self.is_spent |= self.left == 0;
    }

    fn add(&mut self, value: &'a Value, kind: IssueKind<'a>) {
        self.found += 1;
        self.issues.push(Issue {
            path: self.path.clone(),
            found: value,
            kind,
        });
    }

    /// Adds an issue unless `holds`.
    fn demand(
        &mut self,
        holds: bool,
        value: &'a Value,
        kind: impl FnOnce() -> IssueKind<'a>,
    ) -> bool {
        if !holds && !self.is_silent && self.found < ISSUES {
            self.add(value, kind());
        }
        holds
    }

    /// Returns whether a part fits the value.
    fn part(&mut self, number: usize, value: &'a Value) -> bool {
        let fits = self.fits(number, value);
        if !fits && !self.is_silent && self.found < ISSUES && self.enters(1) {
            for keyword in &self.schema.parts[number].keywords {
                self.keyword(keyword, value);
            }
            self.depth -= 1;
        }
        fits
    }

    /// Goes one part deeper, and spends these steps. Returns false if they, or the depth, do not suffice.
    fn enters(&mut self, steps: usize) -> bool {
        self.spend(steps);
        self.is_spent |= self.depth == DEPTH;
        self.depth += usize::from(!self.is_spent);
        !self.is_spent
    }

    fn fits(&mut self, number: usize, value: &'a Value) -> bool {
        let part = &self.schema.parts[number];
        let key = (number, std::ptr::from_ref(value));
        self.spend(1);
        if let Some(fits) = self.known.get(&key) {
            return *fits;
        }
        if !self.enters(part.keywords.len()) {
            return true;
        }
        let was_silent = mem::replace(&mut self.is_silent, true);
        let mut keywords = part.keywords.iter();
        let fits = keywords.all(|keyword| self.keyword(keyword, value));
        self.is_silent = was_silent;
        self.depth -= 1;
        if part.is_inner {
            self.known.insert(key, fits);
        }
        fits
    }

    /// Returns whether all of these fit, up to the first that does not if issues are not wanted.
    fn all(&mut self, mut checks: impl Iterator<Item = (usize, &'a Value, PathStep<'a>)>) -> bool {
        let mut fits = true;
        while (fits || !self.is_silent)
            && !self.is_spent
            && let Some((part, value, step)) = checks.next()
        {
            self.path.push(step);
            fits &= self.part(part, value);
            self.path.pop();
        }
        fits
    }

    fn keyword(&mut self, keyword: &'a Keyword, value: &'a Value) -> bool {
        match (keyword, value) {
            (Keyword::Never, _) => self.demand(false, value, || IssueKind::Never),
            (Keyword::Type(types), _) => {
                self.spend_on_number(value.as_number());
                self.demand(types.fit(value), value, || IssueKind::Type(*types))
            }
            (Keyword::Options(options), _) => {
                let holds = options.iter().any(|option| self.is_same(option, value));
                self.demand(holds, value, || IssueKind::Options(options))
            }
            (Keyword::All(parts), _) => {
                let mut fits = true;
                for &part in parts {
                    fits &= self.part(part, value);
                    if self.is_spent || !fits && self.is_silent {
                        break;
                    }
                }
                fits
            }
            (Keyword::Choice { forms, exactly }, _) => self.choice(forms, *exactly, value),
            (Keyword::Not { form, fields }, _) => {
                let holds = !self.fits(*form, value);
                self.demand(holds, value, || IssueKind::Refused(fields))
            }
            (Keyword::If(condition, then, otherwise), _) => {
                let fits = self.fits(*condition, value);
                let branch = if fits { then } else { otherwise };
                branch.is_none_or(|part| self.part(part, value))
            }
            (Keyword::Least(limit, exclusive), Value::Number(number)) => {
                let order = self.compare(number, limit);
                let holds = order.is_gt() || order.is_eq() && !exclusive;
                self.demand(holds, value, || IssueKind::TooSmall(limit, *exclusive))
            }
            (Keyword::Most(limit, exclusive), Value::Number(number)) => {
                let order = self.compare(number, limit);
                let holds = order.is_lt() || order.is_eq() && !exclusive;
                self.demand(holds, value, || IssueKind::TooLarge(limit, *exclusive))
            }
            (Keyword::AtLeast(what, least), _) => {
                let holds = self.size(*what, value).is_none_or(|size| size >= *least);
                self.demand(holds, value, || IssueKind::TooFew(*what, *least))
            }
            (Keyword::AtMost(what, most), _) => {
                let holds = self.size(*what, value).is_none_or(|size| size <= *most);
                self.demand(holds, value, || IssueKind::TooMany(*what, *most))
            }
            (Keyword::Pattern(pattern), Value::String(text)) => {
                self.spend(pattern.steps(text));
                let holds = self.is_spent || pattern.is_match(text);
                self.demand(holds, value, || IssueKind::Pattern(pattern))
            }
            (Keyword::Items(first, rest), Value::Array(list)) => {
                let list = list.iter().enumerate();
                self.all(list.filter_map(|(index, value)| {
                    let part = first.get(index).or(rest.as_ref())?;
                    Some((*part, value, PathStep::Index(index)))
                }))
            }
            (Keyword::Names(part), Value::Object(fields)) => {
                let refused = fields.keys().find(|name| !self.name_fits(*part, name));
                self.demand(refused.is_none(), value, || {
                    IssueKind::Name(refused.map_or("", String::as_str))
                })
            }
            (Keyword::Required(names), Value::Object(fields)) => {
                self.required(names, fields, value, IssueKind::Missing)
            }
            (Keyword::Needs(needs), Value::Object(fields)) => {
                self.spend(needs.len());
                let needs = needs.iter().filter(|(by, _)| fields.contains_key(by));
                needs.fold(true, |holds, (by, names)| {
                    let needed = |name| IssueKind::Needed { by, name };
                    self.required(names, fields, value, needed) && holds
                })
            }
            (Keyword::Fields { named, rest }, Value::Object(fields)) => {
                self.spend(fields.len());
                let rest_part = match rest {
                    Rest::Checked(part) => Some(*part),
                    Rest::Free | Rest::Refused => None,
                };
                let checks = fields.iter().filter_map(|(name, field)| {
                    let part = named.get(name).copied().or(rest_part)?;
                    Some((part, field, PathStep::Field(name)))
                });
                let fits = self.all(checks);
                let is_refused =
                    |name: &&String| matches!(rest, Rest::Refused) && !named.contains_key(*name);
                let holds = !fields.keys().any(|name| is_refused(&name));
                self.demand(holds, value, || IssueKind::Unknown {
                    names: fields
                        .keys()
                        .filter(is_refused)
                        .map(String::as_str)
                        .take(NAMES)
                        .collect(),
                    known: named.keys().map(String::as_str).take(NAMES).collect(),
                }) && fits
            }
            _ => true,
        }
    }

    fn choice(&mut self, forms: &'a [usize], exactly: bool, value: &'a Value) -> bool {
        let fitting = forms.iter().filter(|&&form| self.fits(form, value));
        let fitting = fitting.take(1 + usize::from(exactly)).count();
        if fitting == 0 && !self.is_silent && !self.is_spent {
            let mut told = Vec::new();
            for &form in forms {
                let outer = mem::take(&mut self.issues);
                self.part(form, value);
                told.push(mem::replace(&mut self.issues, outer));
            }
            // None are found when there were too many before.
            told.retain(|issues| !issues.is_empty());
            self.add(value, IssueKind::NoForm(told));
            return false;
        }
        self.demand(fitting == 1, value, || IssueKind::SeveralForms)
    }

    /// A name is a value that exists only here: nothing of it is remembered.
    fn name_fits(&mut self, part: usize, name: &str) -> bool {
        let text = Value::String(name.to_owned());
        let mut check = Check {
            left: self.left,
            depth: self.depth,
            ..Check::new(self.schema)
        };
        let fits = check.part(part, &text);
        self.left = check.left;
        self.is_spent |= check.is_spent;
        fits
    }

    fn required(
        &mut self,
        names: &'a [String],
        fields: &Map<String, Value>,
        value: &'a Value,
        kind: impl Fn(&'a str) -> IssueKind<'a>,
    ) -> bool {
        self.spend(names.len());
        names.iter().fold(true, |holds, name| {
            let is_there = fields.contains_key(name);
            self.demand(is_there, value, || kind(name)) && holds
        })
    }

    /// Returns the characters of a text, the elements of a list or the fields of an object.
    fn size(&mut self, what: Length, value: &Value) -> Option<usize> {
        match (what, value) {
            (Length::Text, Value::String(text)) => {
                self.spend(text.len() / 64);
                Some(text.chars().count())
            }
            (Length::List, Value::Array(list)) => Some(list.len()),
            (Length::Object, Value::Object(fields)) => Some(fields.len()),
            _ => None,
        }
    }

    /// Whether two values are the same: numbers are, however they are written.
    fn is_same(&mut self, one: &Value, other: &Value) -> bool {
        self.spend(1);
        match (one, other) {
            (Value::Number(one), Value::Number(other)) => self.compare(one, other).is_eq(),
            (Value::Array(one), Value::Array(other)) => {
                let mut pairs = one.iter().zip(other);
                one.len() == other.len() && pairs.all(|(one, other)| self.is_same(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                let mut fields = one.iter();
                one.len() == other.len()
                    && fields.all(|(name, one)| {
                        let other = other.get(name);
                        other.is_some_and(|other| self.is_same(one, other))
                    })
            }
            _ => one == other,
        }
    }

    /// Spends what it takes to read the digits of a number.
    fn spend_on_number(&mut self, number: Option<&Number>) {
        self.spend(number.map_or(0, |number| number.as_str().len() / DIGITS));
    }

    fn compare(&mut self, one: &Number, other: &Number) -> Ordering {
        self.spend_on_number(Some(one));
        self.spend_on_number(Some(other));
        compared(one, other)
    }
}

fn compared(one: &Number, other: &Number) -> Ordering {
    let whole = |number: &Number| {
        let signed = number.as_i64().map(i128::from);
        signed.or_else(|| number.as_u64().map(i128::from))
    };
    // A number too large for a float is infinite.
    let float = |number: &Number| number.as_str().parse::<f64>().unwrap_or_default();
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => float(one)
            .partial_cmp(&float(other))
            .unwrap_or(Ordering::Equal),
    }
}
