//! docs/contract.md: every function and type of the published contracts as tables, for readers who do
//! not know WIT.

use std::path::Path;

use wit_parser::{Docs, Interface, PackageId, Resolve, Type, TypeDefKind, TypeId};

use crate::failure::{Context, Failure};

const HEAD: &str = "\
# The contract with plugins

Every function and type of the frozen contracts in [`wit/published`](../wit/published). `cargo xtask wit` writes this page;
[Writing a plugin](integrators.md) explains the contracts. Plugins spell a name as their language does: `external-id` is
`external_id` in Rust, Python, C and Zig, `externalId` in JavaScript and TypeScript, and `ExternalId` in Go.
";

/// Comments of the published contracts, which are frozen, and the plainer words that the page has for them.
fn plainer() -> Vec<[String; 2]> {
    serde_json::from_str(include_str!("plainer.json")).expect("JSON")
}

/// Returns the page about these contracts, whose texts are given. A package that several of them
/// contain comes once, at the end.
pub fn page(contracts: &[String]) -> Result<String, Failure> {
    let page = as_published(contracts)?;
    let reword = |page: String, [frozen, plain]: [String; 2]| page.replace(&frozen, &plain);
    Ok(plainer().into_iter().fold(page, reword))
}

fn as_published(contracts: &[String]) -> Result<String, Failure> {
    let mut own = String::new();
    let mut shared: Vec<(String, String)> = Vec::new();
    for text in contracts {
        let mut resolve = Resolve::default();
        let main = resolve
            .push_str(Path::new("contract.wit"), text)
            .context("parsing a published contract")?;
        own += &package(&resolve, main);
        for (id, found) in resolve.packages.iter().filter(|(id, _)| *id != main) {
            let name = found.name.to_string();
            if shared.iter().all(|(known, _)| *known != name) {
                shared.push((name, package(&resolve, id)));
            }
        }
    }
    let shared: String = shared.into_iter().map(|(_, text)| text).collect();
    Ok(format!("{HEAD}{own}{shared}"))
}

fn package(resolve: &Resolve, id: PackageId) -> String {
    let package = &resolve.packages[id];
    let mut text = format!("\n## {}\n{}", package.name, paragraph(&package.docs));
    for interface in package.interfaces.values() {
        text += &interface_table(resolve, &resolve.interfaces[*interface]);
    }
    text
}

fn interface_table(resolve: &Resolve, interface: &Interface) -> String {
    let mut text = String::new();
    if !interface.functions.is_empty() {
        text += "\n| Function | Takes | Returns | |\n|---|---|---|---|\n";
    }
    for function in interface.functions.values() {
        let takes = function
            .params
            .iter()
            .map(|one| format!("`{}: {}`", one.name, spelled(resolve, &one.ty)));
        text += &row(&[
            format!("`{}`", function.name),
            takes.collect::<Vec<_>>().join(", "),
            optional(resolve, function.result.as_ref()),
            line(&function.docs),
        ]);
    }
    for (name, id) in &interface.types {
        text += &type_table(resolve, name, *id);
    }
    text
}

/// Returns the table of a type; nothing of one that the interface only uses.
fn type_table(resolve: &Resolve, name: &str, id: TypeId) -> String {
    let one = &resolve.types[id];
    let (head, rows): (&str, Vec<[String; 3]>) = match &one.kind {
        TypeDefKind::Type(_) => return String::new(),
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|field| {
                let kind = optional(resolve, Some(&field.ty));
                [format!("`{}`", field.name), kind, line(&field.docs)]
            });
            ("Field", fields.collect())
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|case| {
                let kind = optional(resolve, case.ty.as_ref());
                [format!("`{}`", case.name), kind, line(&case.docs)]
            });
            ("Case", cases.collect())
        }
        TypeDefKind::Enum(one) => {
            let cases = one.cases.iter();
            let cases = cases.map(|case| {
                let name = format!("`{}`", case.name);
                [name, String::new(), line(&case.docs)]
            });
            ("Case", cases.collect())
        }
        // The contracts have no others; a new one shows its kind until it has a table.
        other => {
            return format!(
                "\n### `{name}`\n{}\nA {}.\n",
                paragraph(&one.docs),
                other.as_str()
            );
        }
    };
    let mut text = format!("\n### `{name}`\n{}", paragraph(&one.docs));
    text += &format!("\n| {head} | Type | |\n|---|---|---|\n");
    for cells in rows {
        text += &row(&cells);
    }
    text
}

fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| match cell.as_str() {
            "" => " ".to_owned(),
            cell => format!(" {} ", cell.replace('|', "\\|")),
        })
        .collect();
    format!("|{}|\n", cells.join("|"))
}

fn optional(resolve: &Resolve, kind: Option<&Type>) -> String {
    kind.map_or_else(String::new, |kind| format!("`{}`", spelled(resolve, kind)))
}

fn spelled(resolve: &Resolve, kind: &Type) -> String {
    let id = match kind {
        Type::Id(id) => *id,
        Type::Bool => return "bool".to_owned(),
        Type::U8 => return "u8".to_owned(),
        Type::U16 => return "u16".to_owned(),
        Type::U32 => return "u32".to_owned(),
        Type::U64 => return "u64".to_owned(),
        Type::S8 => return "s8".to_owned(),
        Type::S16 => return "s16".to_owned(),
        Type::S32 => return "s32".to_owned(),
        Type::S64 => return "s64".to_owned(),
        Type::F32 => return "f32".to_owned(),
        Type::F64 => return "f64".to_owned(),
        Type::Char => return "char".to_owned(),
        Type::String => return "string".to_owned(),
        Type::ErrorContext => return "error-context".to_owned(),
    };
    let one = &resolve.types[id];
    if let Some(name) = &one.name {
        return name.clone();
    }
    let inner = |kind: &Type| spelled(resolve, kind);
    match &one.kind {
        TypeDefKind::List(item) => format!("list<{}>", inner(item)),
        TypeDefKind::Option(item) => format!("option<{}>", inner(item)),
        TypeDefKind::Tuple(tuple) => {
            let items: Vec<String> = tuple.types.iter().map(inner).collect();
            format!("tuple<{}>", items.join(", "))
        }
        TypeDefKind::Result(result) => {
            let side = |side: &Option<Type>| side.as_ref().map_or_else(|| "_".to_owned(), inner);
            format!("result<{}, {}>", side(&result.ok), side(&result.err))
        }
        other => other.as_str().to_owned(),
    }
}

fn line(docs: &Docs) -> String {
    let text = docs.contents.as_deref().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a comment as a paragraph after a heading.
fn paragraph(docs: &Docs) -> String {
    match line(docs).as_str() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_and_type_has_a_row() {
        let contract = "
            /// What it is.
            package a:b@1.0.0;
            interface i {
              use c:d/e@1.0.0.{f};
              /// One | two
              /// lines.
              record r { x: option<list<tuple<string, u8>>>, y: f }
              variant v { one, two(r) }
              call: func(a: r, b: bool) -> result<list<v>, f>;
            }
            package c:d@1.0.0 { interface e { /// F.
              record f { z: string } } }
        ";
        let both = [contract.to_owned(), contract.to_owned()];
        let page = page(&both).expect("it parses");
        let expected = "
## a:b@1.0.0

What it is.

| Function | Takes | Returns | |
|---|---|---|---|
| `call` | `a: r`, `b: bool` | `result<list<v>, f>` | |

### `r`

One | two lines.

| Field | Type | |
|---|---|---|
| `x` | `option<list<tuple<string, u8>>>` | |
| `y` | `f` | |

### `v`

| Case | Type | |
|---|---|---|
| `one` | | |
| `two` | `r` | |
";
        let shared = "
## c:d@1.0.0

### `f`

F.

| Field | Type | |
|---|---|---|
| `z` | `string` | |
";
        assert_eq!(page, format!("{HEAD}{expected}{expected}{shared}"));
    }

    #[test]
    fn the_page_words_only_comments_that_a_contract_has() {
        let folder = crate::repository::root().join("wit/published");
        let files = std::fs::read_dir(folder).expect("the contracts are published");
        let contracts: Vec<String> = files
            .map(|file| file.expect("a readable folder").path())
            .map(|path| std::fs::read_to_string(path).expect("a readable contract"))
            .collect();
        let page = as_published(&contracts).expect("the contracts are read");
        for [frozen, _] in plainer() {
            assert!(page.contains(&frozen), "{frozen}");
        }
    }
}
