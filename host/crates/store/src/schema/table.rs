//! A table as the service describes it: its columns, when its rows end, and the statements made from that.

use crate::sql::{SqlType, Stored};
use leadhost_domain::row::Entity;

/// A table that both databases have.
pub struct TableSchema {
    pub name: &'static str,
    /// The columns that identify a row. If a row has no natural key, the database numbers it.
    pub key: &'static [&'static str],
    /// Whether PostgreSQL's key contains the workspace. If not, statements phrase the condition
    /// on the workspace so that the planner does not search by it, which would read all rows of the
    /// workspace.
    pub keyed_with_workspace: bool,
    /// The feed that the stamps of the table belong to.
    pub feed: Option<Entity>,
    /// The rules that remove rows, apart from the operations that remove them by their keys.
    pub ends: &'static [Ends],
    /// In the order of the table, without the columns that the database fills in.
    pub columns: &'static [ColumnSchema],
    /// The exported columns that clients receive first. The others follow in the order of the table.
    pub exported_first: &'static [&'static str],
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
    /// Whether no update of whole rows changes it.
    pub is_fixed: bool,
    /// The key under which clients of the feed receive it, if they do.
    pub exported: Option<&'static str>,
    /// Whether a field of the table's own record holds it.
    pub is_read: bool,
}

/// Returns a column of this type, which decides its kind and whether it may be null.
pub const fn column<T: Stored>(name: &'static str) -> ColumnSchema {
    ColumnSchema {
        name,
        kind: T::KIND,
        is_nullable: T::IS_NULLABLE,
        is_jsonb: false,
        is_fixed: false,
        exported: None,
        is_read: false,
    }
}

/// Returns a column of the type of a field, which holds it.
pub const fn field<R, T: Stored>(name: &'static str, _: fn(&R) -> &T) -> ColumnSchema {
    column::<T>(name).read()
}

// The marks of a column.
impl ColumnSchema {
    pub const fn jsonb(self) -> Self {
        Self {
            is_jsonb: true,
            ..self
        }
    }

    pub const fn fixed(self) -> Self {
        Self {
            is_fixed: true,
            ..self
        }
    }

    pub const fn read(self) -> Self {
        Self {
            is_read: true,
            ..self
        }
    }

    pub const fn exported(self) -> Self {
        let name = self.name;
        self.exported_as(name)
    }

    pub const fn exported_as(self, key: &'static str) -> Self {
        Self {
            exported: Some(key),
            ..self
        }
    }
}

/// The treatment of a row whose key already exists.
#[derive(Clone, Copy)]
pub enum OnConflict {
    /// An error, because it is a defect.
    Fail,
    /// The new row is skipped and not counted.
    Skip,
    /// The columns of the existing row are changed, except the key and the fixed ones.
    Update,
}

impl TableSchema {
    /// A table without anything, from which a description begins.
    pub const NONE: Self = Self {
        name: "",
        key: &[],
        keyed_with_workspace: false,
        feed: None,
        ends: &[],
        columns: &[],
        exported_first: &["id", WORKSPACE, "cursor_us"],
    };

    /// Returns the exported columns in the order in which clients receive them.
    pub fn exported(&self) -> Vec<&'static ColumnSchema> {
        let first = |column: &&ColumnSchema| {
            let mut first = self.exported_first.iter();
            first.position(|name| *name == column.name)
        };
        let exported = self
            .columns
            .iter()
            .filter(|column| column.exported.is_some());
        let mut exported: Vec<_> = exported.collect();
        exported.sort_by_key(|column| first(column).unwrap_or(usize::MAX));
        exported
    }

    /// Returns the text of a statement that inserts rows with these columns, or with all columns if
    /// none is named.
    pub fn insert(&self, columns: &[&str], met: OnConflict) -> String {
        let columns = self.chosen(columns);
        let names: Vec<_> = columns.iter().map(|column| column.name).collect();
        let values: Vec<_> = names.iter().map(|name| format!(":{name}")).collect();
        let met = match met {
            OnConflict::Fail => String::new(),
            OnConflict::Skip => "\non conflict do nothing".to_owned(),
            OnConflict::Update => {
                let changed = self.changed();
                let set = changed
                    .iter()
                    .map(|name| format!("{name} = excluded.{name}"));
                let own = self.key.join(", ");
                let led = if self.keyed_with_workspace {
                    format!("{WORKSPACE}, {own}")
                } else {
                    own.clone()
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

    pub fn changed(&self) -> Vec<&'static str> {
        let keys = self.found_by();
        let columns = self.columns.iter();
        columns
            .filter(|column| !column.is_fixed && !keys.contains(&column.name))
            .map(|column| column.name)
            .collect()
    }

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

    /// Returns the text of a statement that removes rows by their keys, if `also` holds for them. It looks
    /// rows up one by one. Otherwise PostgreSQL would read a young table as a whole.
    pub fn remove_one_by_one(&self, also: &str) -> String {
        let (name, key) = (self.name, self.key.join(", "));
        let own = self.key.iter().map(|name| format!("{name} = each.{name}"));
        let own = own.collect::<Vec<_>>().join(" and ");
        format!(
            "{}delete from {name}\n\
             where ({key}) in (select {key} from each){also} -- sqlite\n\
             where ctid = any (array( -- postgres\n\
             select found.ctid -- postgres\n\
             from each -- postgres\n\
             cross join lateral ( -- postgres\n\
             select ctid -- postgres\n\
             from {name} -- postgres\n\
             where {own}{also} -- postgres\n\
             offset 0 -- postgres\n\
             ) as found)) -- postgres",
            each(&self.chosen(self.key)),
        )
    }

    /// Returns the text of a statement that removes the rows whose column `by` names one of `each
    /// (workspace_id uuid, id uuid)`. The workspace is checked, but not searched by if no index
    /// begins with it.
    pub fn remove_with(&self, by: &str) -> String {
        let workspace = if self.keyed_with_workspace {
            "gone.workspace_id = each.workspace_id"
        } else {
            "(gone.workspace_id = each.workspace_id) is true"
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
            let is_led = name != WORKSPACE || self.keyed_with_workspace || self.key.contains(&name);
            if is_led {
                format!("{row}.{name} = each.{name}")
            } else {
                format!("({row}.{name} = each.{name}) is true")
            }
        });
        conditions.collect::<Vec<_>>().join(" and ")
    }

    fn values_of_key(&self) -> String {
        let keys = self.key.iter().map(|name| format!("{name} = :{name}"));
        keys.collect::<Vec<_>>().join(" and ")
    }

    /// Returns the key and the columns that the table's own record reads, except `but`, qualified with the
    /// alias `rows`.
    pub fn read(&self, rows: &str, but: &[&str]) -> String {
        let is_read = |column: &&ColumnSchema| {
            (column.is_read || self.key.contains(&column.name)) && !but.contains(&column.name)
        };
        let names = self.columns.iter().filter(is_read);
        let names = names.map(|column| format!("{rows}.{}", column.name));
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

/// A statement that reads records of a table: `{columns}` are the columns of `TABLE as "alias"`.
macro_rules! reading {
    ($table:ident as $alias:literal, $text:expr) => {
        $crate::sql::made(|| format!($text, columns = $crate::schema::$table.read($alias, &[])))
    };
}

pub(crate) use reading;

pub const WORKSPACE: &str = "workspace_id";

fn each(columns: &[&ColumnSchema]) -> String {
    let columns = columns
        .iter()
        .map(|column| format!("{} {}", column.name, column.kind.as_str()));
    format!("each ({})\n", columns.collect::<Vec<_>>().join(", "))
}
