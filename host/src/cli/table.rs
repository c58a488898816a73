//! Aligned columns for people. Control characters in values are escaped: a lead's name may contain
//! some that move the terminal's cursor.

use std::fmt::Display;

use super::output::say;
use leadhost_admin_api::columns::{Column, Described, Place};
use leadhost_domain::text::written_out;
use leadhost_domain::time::Micros;

/// Formats rows under headings, with columns two spaces apart; the last column is not padded.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| safe(cell)).collect())
        .collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .chain([headings[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (cell, width) in cells.zip(&widths) {
            let pad = width - cell.chars().count();
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', pad + 2));
        }
        text.trim_end().to_owned()
    };
    let mut lines = vec![line(&mut headings.iter().copied())];
    for row in &rows {
        lines.push(line(&mut row.iter().map(String::as_str)));
    }
    lines.join("\n")
}

pub fn described<T: Described>(rows: &[T]) -> String {
    let mut columns = T::columns();
    columns.retain(|column| matches!(column.place, Place::Everywhere | Place::Commands));
    let heading = |column: &Column<T>| column.heading.to_uppercase();
    let headings: Vec<String> = columns.iter().map(heading).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let cells = |row: &T| {
        columns
            .iter()
            .map(|column| (column.value)(row).written())
            .collect()
    };
    table(&headings, &rows.iter().map(cells).collect::<Vec<_>>())
}

pub fn say_rows<T: Described>(rows: &[T]) {
    say(&described(rows));
}

pub fn say_more_rows<T: Described>(rows: &[T]) {
    if !rows.is_empty() {
        say("");
        say_rows(rows);
    }
}

pub fn say_facts<T: Described>(row: &T) {
    for column in T::columns()
        .iter()
        .filter(|column| !matches!(column.place, Place::Pages | Place::Lists))
    {
        let cell = (column.value)(row);
        let written = cell.written();
        if !cell.is_missing() && !written.is_empty() {
            let name = column.heading.to_lowercase();
            say(&format!("{name:<13} {}", safe(&written)));
        }
    }
}

/// Returns the text on one line, with control characters escaped.
pub fn safe(text: &str) -> String {
    written_out(text, &[]).into_owned()
}

/// Formats a value that may be missing: a missing one as a dash.
pub fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Formats values with commas between them: none as a dash.
pub fn list(values: impl IntoIterator<Item = impl Display>) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    optional((!values.is_empty()).then(|| values.join(", ")))
}

pub fn seconds(time: Micros) -> String {
    time.to_the_second()
}

pub use leadhost_domain::time::rounded;

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::time;

    #[test]
    fn columns_align_by_characters_and_control_characters_are_escaped() {
        let rows = vec![
            vec!["é".to_owned(), "1".to_owned()],
            vec!["a\u{1b}[2J".to_owned(), "22".to_owned()],
        ];
        assert_eq!(
            table(&["NAME", "N"], &rows),
            "NAME        N\né           1\na\\u001b[2J  22"
        );
    }

    #[test]
    fn a_time_is_truncated_to_the_second() {
        let time = time::parse("2026-01-02T03:04:05.000006Z").expect("a time");
        assert_eq!(seconds(time), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn a_missing_value_and_an_empty_list_are_a_dash() {
        assert_eq!(optional(Some(7)), "7");
        assert_eq!(optional(None::<&str>), "-");
        assert_eq!(list(["a", "b"]), "a, b");
        assert_eq!(list([] as [&str; 0]), "-");
    }
}
