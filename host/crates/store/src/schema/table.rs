//! A table as the service describes it: its columns, when its rows end, and the statements made from that.

use crate::sql::SqlType;
use leadhost_domain::row::Entity;

/// A table that both databases have.
pub struct TableSchema {
    pub name: &'static str,
    /// The columns that identify a row. If a row has no natural key, the database numbers it.
    pub key: &'static [&'static str],
    /// Whether PostgreSQL's key begins with the workspace. If not, statements phrase the condition
    /// on the workspace so that the planner does not search by it, which would read all rows of the
    /// workspace.
    pub leads_with_workspace: bool,
    /// The feed that the stamps of the table belong to.
    pub feed: Option<Entity>,
    /// The rules that remove rows, apart from the operations that remove them by their keys.
    pub ends: &'static [Ends],
    /// In the order of the table, without the columns that the database fills in.
    pub columns: &'static [ColumnSchema],
    /// The columns that clients of the feed receive, in this order.
    pub exported: &'static [Exported],
}

/// An exported column and its key.
pub struct Exported {
    pub column: &'static str,
    pub key: &'static str,
}

/// Returns an exported column whose key is its own name.
pub const fn leaves(column: &'static str) -> Exported {
    leaves_as(column, column)
}

/// Returns an exported column with another key.
pub const fn leaves_as(column: &'static str, key: &'static str) -> Exported {
    Exported { column, key }
}

/// The reason why a row is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It is removed together with the row that this column names.
    With(&'static str),
    /// It is removed when the time in this column has passed.
    At(&'static str),
}

pub struct ColumnSchema {
    pub name: &'static str,
    pub kind: SqlType,
    pub is_nullable: bool,
    /// Whether PostgreSQL stores it as jsonb, which supports comparison.
    pub is_jsonb: bool,
}

/// Returns a column that is never null.
pub const fn column(name: &'static str, kind: SqlType) -> ColumnSchema {
    ColumnSchema {
        name,
        kind,
        is_nullable: false,
        is_jsonb: false,
    }
}

/// Returns a column that may be null.
pub const fn nullable(name: &'static str, kind: SqlType) -> ColumnSchema {
    ColumnSchema {
        is_nullable: true,
        ..column(name, kind)
    }
}

/// Returns a JSON column that is never null and that PostgreSQL stores as `jsonb`.
pub const fn jsonb(name: &'static str) -> ColumnSchema {
    ColumnSchema {
        is_jsonb: true,
        ..column(name, SqlType::Json)
    }
}

/// Returns a JSON column that may be null and that PostgreSQL stores as `jsonb`.
pub const fn nullable_jsonb(name: &'static str) -> ColumnSchema {
    ColumnSchema {
        is_nullable: true,
        ..jsonb(name)
    }
}

/// The treatment of a row whose key already exists.
#[derive(Clone, Copy)]
pub enum OnConflict {
    /// An error, because it is a defect.
    Fail,
    /// The new row is skipped and not counted.
    Skip,
    /// These columns of the existing row are changed.
    Update(&'static [&'static str]),
}

impl TableSchema {
    /// Returns the text of a statement that inserts rows with these columns, or with all columns if
    /// none is named.
    pub fn insert(&self, columns: &[&str], met: OnConflict) -> String {
        let columns = self.chosen(columns);
        let names: Vec<_> = columns.iter().map(|column| column.name).collect();
        let values: Vec<_> = names.iter().map(|name| format!(":{name}")).collect();
        let met = match met {
            OnConflict::Fail => String::new(),
            OnConflict::Skip => "\non conflict do nothing".to_owned(),
            OnConflict::Update(changed) => {
                let set = changed
                    .iter()
                    .map(|name| format!("{name} = excluded.{name}"));
                let own = self.key.join(", ");
                let led = match self.leads_with_workspace {
                    true => format!("{WORKSPACE}, {own}"),
                    false => own.clone(),
                };
                format!(
                    "\non conflict ({led}) -- postgres\n\
                     on conflict ({own}) -- sqlite\n\
                     do update set {}",
                    set.collect::<Vec<_>>().join(", ")
                )
            }
        };
        let names = names.join(", ");
        // SQLite runs the statement row by row, which is faster without the table `each`.
        format!(
            "{}insert into {} ({names})\n\
             select {names} from each where true -- postgres\n\
             values ({}) -- sqlite\n{met}",
            each(&columns),
            self.name,
            values.join(", "),
        )
    }

    /// Returns the text of a statement that changes these columns of rows found by their keys.
    pub fn update(&self, changed: &[&str]) -> String {
        let keys = self.found_by();
        let columns = self.chosen(&[keys.as_slice(), changed].concat());
        let from_each = changed.iter().map(|name| format!("{name} = each.{name}"));
        let values = changed.iter().map(|name| format!("{name} = :{name}"));
        format!(
            "{}update {} as changed\n\
             set {} -- postgres\n\
             from each -- postgres\n\
             where {} -- postgres\n\
             set {} -- sqlite\n\
             where {} -- sqlite",
            each(&columns),
            self.name,
            from_each.collect::<Vec<_>>().join(", "),
            self.condition("changed"),
            values.collect::<Vec<_>>().join(", "),
            self.values_of_key(),
        )
    }

    /// Returns the text of a statement that changes all columns except these and the key.
    pub fn update_but(&self, fixed: &[&str]) -> String {
        let keys = self.found_by();
        let names = self.columns.iter().map(|column| column.name);
        let changed = names.filter(|name| !fixed.contains(name) && !keys.contains(name));
        self.update(&changed.collect::<Vec<_>>())
    }

    /// Returns the text of a statement that removes rows by their keys.
    pub fn remove(&self) -> String {
        let columns = self.chosen(&self.found_by());
        format!(
            "{}delete from {} as gone\n\
             using each -- postgres\n\
             where {} -- postgres\n\
             where {} -- sqlite",
            each(&columns),
            self.name,
            self.condition("gone"),
            self.values_of_key(),
        )
    }

    /// Returns the text of a statement that removes the rows whose column `by` names one of `each
    /// (workspace_id uuid, id uuid)`. The workspace is checked, but not searched by if no index
    /// begins with it.
    pub fn remove_with(&self, by: &str) -> String {
        let workspace = match self.leads_with_workspace {
            true => "gone.workspace_id = each.workspace_id",
            false => "(gone.workspace_id = each.workspace_id) is true",
        };
        format!(
            "each (workspace_id uuid, id uuid)\n\
             delete from {} as gone\n\
             using each -- postgres\n\
             where {workspace} and gone.{by} = each.id -- postgres\n\
             where {by} = :id and (workspace_id = :workspace_id) is true -- sqlite",
            self.name,
        )
    }

    /// Returns the text of a statement that removes at most `:limit` rows whose time in this column
    /// is before `:before`, the oldest first. Rows locked by others are skipped.
    pub fn remove_past(&self, at: &str) -> String {
        let (name, key) = (self.name, self.key.join(", "));
        format!(
            "delete from {name}\n\
             where ({key}) in (\n\
             select {key} from {name}\n\
             where {at} < :before\n\
             order by {at}\n\
             limit :limit\n\
             for update skip locked -- postgres\n\
             )"
        )
    }

    /// Returns the key, plus the workspace if the table has one.
    pub fn found_by(&self) -> Vec<&'static str> {
        let mut names = self.key.to_vec();
        let has_workspace = self.columns.iter().any(|column| column.name == WORKSPACE);
        if has_workspace && !names.contains(&WORKSPACE) {
            names.push(WORKSPACE);
        }
        names
    }

    fn condition(&self, row: &str) -> String {
        let conditions = self.found_by().into_iter().map(|name| {
            let is_led = name != WORKSPACE || self.leads_with_workspace || self.key.contains(&name);
            match is_led {
                true => format!("{row}.{name} = each.{name}"),
                false => format!("({row}.{name} = each.{name}) is true"),
            }
        });
        conditions.collect::<Vec<_>>().join(" and ")
    }

    fn values_of_key(&self) -> String {
        let keys = self.key.iter().map(|name| format!("{name} = :{name}"));
        keys.collect::<Vec<_>>().join(" and ")
    }

    /// Returns the columns of the table except `but`, qualified with the alias `rows`.
    pub fn listed(&self, rows: &str, but: &[&str]) -> String {
        let names = self.columns.iter().map(|column| column.name);
        let names = names.filter(|name| !but.contains(name));
        let names = names.map(|name| format!("{rows}.{name}"));
        names.collect::<Vec<_>>().join(", ")
    }

    /// Returns a column of the table. Panics if there is none with this name.
    pub fn column(&self, name: &str) -> &'static ColumnSchema {
        let found = self.columns.iter().find(|column| column.name == name);
        found.unwrap_or_else(|| panic!("{} has no column {name}", self.name))
    }

    /// Returns the columns of these names, in their order.
    pub fn chosen(&self, names: &[&str]) -> Vec<&'static ColumnSchema> {
        if names.is_empty() {
            return self.columns.iter().collect();
        }
        names.iter().map(|name| self.column(name)).collect()
    }
}

pub const WORKSPACE: &str = "workspace_id";

fn each(columns: &[&ColumnSchema]) -> String {
    let columns = columns
        .iter()
        .map(|column| format!("{} {}", column.name, column.kind.word()));
    format!("each ({})\n", columns.collect::<Vec<_>>().join(", "))
}
