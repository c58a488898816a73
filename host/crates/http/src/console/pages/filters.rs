//! The filters of a list, as the address of its page has them, and what the admin API returns for them.

use serde::de::DeserializeOwned;

use crate::console::pages::prelude::*;

/// What the admin API returns for the filters of a page's address. If it refuses them, `found` is what the
/// page shows instead, with the refusal above the form that keeps what was typed.
pub struct Filtered<T> {
    pub found: T,
    pub problem: Option<ApiRefusal>,
}

impl<T: DeserializeOwned> Filtered<T> {
    /// Asks for a list. A page with a refusal has no rows.
    pub async fn list(visit: &Visit<'_>, path: &str) -> PageResult<Self>
    where
        T: Default,
    {
        match visit.api().get(path).await {
            Err(problem) if is_of_filters(&problem) => Ok(Self {
                found: T::default(),
                problem: Some(problem),
            }),
            found => Ok(Self {
                found: found?,
                problem: None,
            }),
        }
    }

    /// Asks for the period that the address names. A page with a refusal has the usual one.
    pub async fn for_period(visit: &Visit<'_>, path: &str) -> PageResult<Self> {
        let query = Filters::read(visit, &["period"]).query();
        match visit.api().get(&format!("{path}{query}")).await {
            Err(problem) if is_of_filters(&problem) => Ok(Self {
                found: visit.api().get(path).await?,
                problem: Some(problem),
            }),
            found => Ok(Self {
                found: found?,
                problem: None,
            }),
        }
    }
}

fn is_of_filters(refusal: &ApiRefusal) -> bool {
    let of_filters = [
        StatusCode::BAD_REQUEST,
        StatusCode::NOT_FOUND,
        StatusCode::CONFLICT,
    ];
    of_filters.contains(&refusal.status)
}

pub fn status_of(problem: Option<&ApiRefusal>) -> StatusCode {
    problem.map_or(StatusCode::OK, |problem| problem.status)
}

/// The filters of a list, as the page's address has them.
pub struct Filters(pub Vec<(&'static str, String)>);

impl Filters {
    pub fn read(visit: &Visit<'_>, names: &[&'static str]) -> Self {
        let query = visit.call.query();
        let value = |name: &&'static str| Some((*name, query.filled(&[name])?.trim().to_owned()));
        Self(names.iter().filter_map(value).collect())
    }

    pub fn from_form(form: &Form, names: &[&'static str]) -> Self {
        let value = |name: &&'static str| Some((*name, form.filled(name)?));
        Self(names.iter().filter_map(value).collect())
    }

    /// Returns the names and values that are set, but for the place in the list.
    pub fn set(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = self.0.iter();
        let all = all.map(|(name, value)| (*name, value.as_str()));
        all.filter(|(name, _)| *name != "before")
    }

    pub fn put(&mut self, name: &'static str, value: String) {
        self.0.retain(|(key, _)| *key != name);
        self.0.push((name, value));
    }

    /// Returns a value, or an empty text.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    }

    pub fn default(&mut self, name: &'static str, value: &str) {
        if self.get(name).is_empty() {
            self.0.push((name, value.to_owned()));
        }
    }

    /// Returns the query with these values, with its `?`, or an empty text.
    pub fn query(&self) -> String {
        self.query_with(&[])
    }

    /// Returns the address of the next page of a list, below `/console`: the rows before this one.
    pub fn next_page(&self, path: &str, last: Option<impl ToString>) -> Option<String> {
        let before = last?.to_string();
        Some(format!("{path}{}", self.query_with(&[("before", &before)])))
    }

    pub fn query_with(&self, others: &[(&str, &str)]) -> String {
        let own = self.0.iter().map(|(name, value)| (*name, value.as_str()));
        let others = others.iter().copied();
        let pairs: Vec<String> = own
            .filter(|(name, _)| others.clone().all(|(other, _)| other != *name))
            .chain(others.clone())
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        if pairs.is_empty() {
            return String::new();
        }
        format!("?{}", pairs.join("&"))
    }
}
