//! Tables and lists of facts of pages, as the description of their rows gives them.

use leadhost_admin_api::columns::{Cell, Column, Described, Place};

/// A table, which `parts::table` writes.
pub struct Table {
    pub headings: Vec<Heading>,
    pub rows: Vec<Row>,
    pub has_forms: bool,
    /// Whether a row is a card on a phone, by the marks of its columns. Otherwise it stays a table.
    pub is_list: bool,
    /// What it says without a row.
    pub empty: &'static str,
}

pub struct Heading {
    pub text: &'static str,
    pub class: &'static str,
    /// What a phone shows before the value. Empty for nothing.
    pub label: String,
}

pub struct Row {
    pub cells: Vec<Cell>,
    pub form: Option<RowForm>,
}

pub struct RowForm {
    /// Below `/console`.
    pub action: String,
    pub buttons: Vec<RowButton>,
}

#[derive(Default)]
pub struct RowButton {
    pub words: &'static str,
    /// What a screen reader says in place of the words.
    pub label: String,
    /// What the page asks before it sends the form.
    pub ask: String,
    pub is_risky: bool,
    /// The value of the field `verdict`.
    pub verdict: &'static str,
}

impl Table {
    pub fn of<T: Described>(rows: &[T], empty: &'static str) -> Self {
        Self::with_forms(rows, empty, |_| None)
    }

    pub fn with_forms<T: Described>(
        rows: &[T],
        empty: &'static str,
        form: impl Fn(&T) -> Option<RowForm>,
    ) -> Self {
        let mut columns = T::columns();
        columns.retain(|column| !matches!(column.place, Place::Commands | Place::Facts));
        let heading = |column: &Column<T>| Heading {
            text: column.heading,
            class: column.class,
            label: if column.is_named {
                column.heading.to_lowercase()
            } else {
                String::new()
            },
        };
        let row = |row: &T| Row {
            cells: columns.iter().map(|column| (column.value)(row)).collect(),
            form: form(row),
        };
        let rows: Vec<Row> = rows.iter().map(row).collect();
        Self {
            is_list: columns
                .iter()
                .any(|column| column.is_named || column.class == "main"),
            headings: columns.iter().map(heading).collect(),
            has_forms: rows.iter().any(|row| row.form.is_some()),
            rows,
            empty,
        }
    }

    pub fn cells<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = (&'a Heading, &'a Cell)> {
        self.headings.iter().zip(&row.cells)
    }
}

/// What is known of one thing, by name: `parts::facts` writes it.
pub struct Facts(pub Vec<(String, Cell)>);

impl Facts {
    pub fn of<T: Described>(row: &T) -> Self {
        let columns = T::columns().into_iter();
        let shown =
            columns.filter(|column| !matches!(column.place, Place::Commands | Place::Lists));
        let facts = shown.map(|column| (column.heading.to_owned(), (column.value)(row)));
        Self(facts.filter(|(_, cell)| !cell.is_empty()).collect())
    }
}
