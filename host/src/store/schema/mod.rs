//! Every table, described once: its columns with their kinds, its key, its feed. What is
//! the same for all tables is made from that: statements that insert rows, change and
//! remove them. A test compares the descriptions with what the migrations make.

mod declared;
mod kept;
mod leads;
mod messages;
mod rollups;

pub use declared::*;
pub use kept::*;
pub use leads::*;
pub use messages::*;
pub use rollups::*;

use crate::domain::row::Entity;
use crate::store::sql::{Kind, Sql};

/// A table of both databases.
pub struct Table {
    pub name: &'static str,
    /// What a row is found by. A row that has no key of its own is numbered by the database.
    pub key: &'static [&'static str],
    /// Whether PostgreSQL's key begins with the workspace. Elsewhere a condition on the
    /// workspace is kept from leading to all of its rows.
    pub leads_with_workspace: bool,
    /// The feed that its stamps are of.
    pub feed: Option<Entity>,
    /// In the order of the table, without those that the database fills in.
    pub columns: &'static [Column],
}

pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub is_nullable: bool,
    /// PostgreSQL keeps it as jsonb, which may be compared.
    pub is_jsonb: bool,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        is_nullable: false,
        is_jsonb: false,
    }
}

const fn nullable(name: &'static str, kind: Kind) -> Column {
    Column {
        is_nullable: true,
        ..column(name, kind)
    }
}

const fn jsonb(name: &'static str) -> Column {
    Column {
        is_jsonb: true,
        ..column(name, Kind::Json)
    }
}

const fn nullable_jsonb(name: &'static str) -> Column {
    Column {
        is_nullable: true,
        ..jsonb(name)
    }
}

/// What happens to a row whose key is there already.
#[derive(Clone, Copy)]
pub enum Met {
    /// It is a defect: an error.
    Never,
    /// The new one is left out, and missing in the count.
    Kept,
    /// These columns are changed.
    Changed(&'static [&'static str]),
}

impl Table {
    /// A statement that inserts rows with these columns; all of them where none is named.
    pub fn insert(&self, columns: &[&str], met: Met) -> Sql {
        let columns = self.chosen(columns);
        let names: Vec<_> = columns.iter().map(|column| column.name).collect();
        let values: Vec<_> = names.iter().map(|name| format!(":{name}")).collect();
        let met = match met {
            Met::Never => String::new(),
            Met::Kept => "\non conflict do nothing".to_owned(),
            Met::Changed(changed) => {
                let set = changed.iter().map(|name| format!("{name} = excluded.{name}"));
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
        // SQLite runs it row by row, and is quicker without the table `each`.
        Sql::of(format!(
            "{}insert into {} ({names})\n\
             select {names} from each where true -- postgres\n\
             values ({}) -- sqlite\n{met}",
            each(&columns),
            self.name,
            values.join(", "),
        ))
    }

    /// A statement that changes these columns of rows, which are found by their keys.
    pub fn update(&self, changed: &[&str]) -> Sql {
        let keys = self.found_by();
        let columns = self.chosen(&[keys.as_slice(), changed].concat());
        let from_each = changed.iter().map(|name| format!("{name} = each.{name}"));
        let values = changed.iter().map(|name| format!("{name} = :{name}"));
        Sql::of(format!(
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
        ))
    }

    /// A statement that removes rows by their keys.
    pub fn remove(&self) -> Sql {
        let columns = self.chosen(&self.found_by());
        Sql::of(format!(
            "{}delete from {} as gone\n\
             using each -- postgres\n\
             where {} -- postgres\n\
             where {} -- sqlite",
            each(&columns),
            self.name,
            self.condition("gone"),
            self.values_of_key(),
        ))
    }

    /// The key, and the workspace where the table has one.
    fn found_by(&self) -> Vec<&'static str> {
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

    fn chosen(&self, names: &[&str]) -> Vec<&'static Column> {
        if names.is_empty() {
            return self.columns.iter().collect();
        }
        let column = |name: &&str| {
            let found = self.columns.iter().find(|column| column.name == *name);
            found.unwrap_or_else(|| panic!("{} has no column {name}", self.name))
        };
        names.iter().map(column).collect()
    }
}

const WORKSPACE: &str = "workspace_id";

fn each(columns: &[&Column]) -> String {
    let columns = columns
        .iter()
        .map(|column| format!("{} {}", column.name, column.kind.word()));
    format!("each ({})\n", columns.collect::<Vec<_>>().join(", "))
}
