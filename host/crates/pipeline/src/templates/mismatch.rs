//! Compares the parameters of a request with a template's placeholders: count, names and
//! types, component by component.

use serde_json::Value;

use super::requested::{Component, ComponentKind, QUICK_REPLY, TemplateParameter};
use leadhost_domain::channel::{Placeholder, Template};

/// The type of parameters that nearly all placeholders take.
const TEXT: &str = "text";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The component's index in the request; `None` if the component is missing.
    pub component: Option<usize>,
    pub kind: ComponentKind,
    pub what: Mismatch,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    Count {
        wanted: usize,
        given: usize,
    },
    /// The button is not a quick reply, or there is none. `wanted` is its type, if it is known.
    Button {
        wanted: Vec<String>,
    },
    Kind {
        parameter: usize,
        wanted: String,
        given: &'static str,
    },
    Name {
        parameter: usize,
        wanted: Vec<String>,
        given: Option<String>,
    },
}

pub(super) fn placeholders(
    template: &Template,
    kind: ComponentKind,
    index: u32,
) -> impl Iterator<Item = &Placeholder> + Clone {
    template
        .placeholders
        .iter()
        .filter(move |one| one.component == kind.as_str() && one.index == index)
}

pub(super) fn misfits(template: &Template, components: &[Component]) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let mut met: Vec<(ComponentKind, u32)> = Vec::new();
    let mut buttons = 0;
    for (place, component) in components.iter().enumerate() {
        let index = match component.kind {
            ComponentKind::Button => {
                let index = component.index.unwrap_or(buttons);
                buttons += 1;
                index
            }
            ComponentKind::Header | ComponentKind::Body => 0,
        };
        // The adapter defines its payload; a template has no placeholder for it.
        if component.sub_type == Some(QUICK_REPLY) {
            misfits.extend(other_button(template, place, index));
            continue;
        }
        if component.kind == ComponentKind::Button && component.sub_type.is_none() {
            misfits.extend(no_button(template, place, index));
        }
        let first = !met.contains(&(component.kind, index));
        met.push((component.kind, index));
        let wanted: Vec<_> = placeholders(template, component.kind, index)
            .filter(|_| first)
            .collect();
        let part = ComponentRef {
            template,
            kind: component.kind,
            index,
        };
        if !first && !component.parameters().is_empty() {
            misfits.push(part.again(place, component.parameters().len()));
            continue;
        }
        part.compare(Some(place), &wanted, component.parameters(), &mut misfits);
    }
    for placeholder in &template.placeholders {
        let Some(kind) = ComponentKind::from_text(&placeholder.component) else {
            continue;
        };
        let index = placeholder.index;
        if !met.contains(&(kind, index)) {
            met.push((kind, index));
            let wanted: Vec<_> = placeholders(template, kind, index).collect();
            let part = ComponentRef {
                template,
                kind,
                index,
            };
            part.compare(None, &wanted, &[], &mut misfits);
        }
    }
    misfits
}

/// Returns the mismatch of a quick reply with a template that is known to have no such button.
fn other_button(template: &Template, place: usize, index: u32) -> Option<Misfit> {
    let buttons = buttons(template)?;
    let wanted = match buttons.get(index as usize).map(String::as_str) {
        Some("" | QUICK_REPLY) => return None,
        Some(other) => vec![other.to_owned()],
        None => Vec::new(),
    };
    let part = ComponentRef {
        template,
        kind: ComponentKind::Button,
        index,
    };
    let what = Mismatch::Button { wanted };
    Some(part.misfit(Some(place), what, "is no quick reply"))
}

/// Returns the mismatch of a button without a type with a template that is known to have no such button.
fn no_button(template: &Template, place: usize, index: u32) -> Option<Misfit> {
    let has = buttons(template)?.len() > index as usize;
    (!has)
        .then(|| other_button(template, place, index))
        .flatten()
}

/// Returns the types of the template's buttons in lower case, empty if a button states none.
/// `None` if the provider does not describe the components.
fn buttons(template: &Template) -> Option<Vec<String>> {
    let kind = |part: &Value| part["type"].as_str().map(str::to_ascii_lowercase);
    let components: Vec<Value> = serde_json::from_str(&template.components).ok()?;
    let mut buttons = Vec::new();
    for component in &components {
        match kind(component)?.as_str() {
            "buttons" => {
                let list = component["buttons"].as_array()?;
                buttons.extend(list.iter().map(|button| kind(button).unwrap_or_default()));
            }
            "button" => buttons.push(String::new()),
            _ => {}
        }
    }
    (!components.is_empty()).then_some(buttons)
}

struct ComponentRef<'a> {
    template: &'a Template,
    kind: ComponentKind,
    index: u32,
}

impl ComponentRef<'_> {
    fn misfit(&self, component: Option<usize>, what: Mismatch, message: &str) -> Misfit {
        Misfit {
            component,
            kind: self.kind,
            what,
            message: format!("{} {message}", self.name()),
        }
    }

    fn again(&self, place: usize, given: usize) -> Misfit {
        let what = Mismatch::Count { wanted: 0, given };
        let message = "is repeated: put all its parameters into one component";
        self.misfit(Some(place), what, message)
    }

    fn compare(
        &self,
        component: Option<usize>,
        wanted: &[&Placeholder],
        given: &[TemplateParameter],
        misfits: &mut Vec<Misfit>,
    ) {
        let mut misfit = |what: Mismatch, message: String| {
            misfits.push(self.misfit(component, what, &message));
        };
        if wanted.len() != given.len() {
            let taken = match wanted {
                [one] if one.kind != TEXT => format!("1 parameter of type {}", one.kind),
                [_] => "1 parameter".to_owned(),
                more => format!("{} parameters", more.len()),
            };
            let (wanted, given) = (wanted.len(), given.len());
            let were = if given == 1 { "was" } else { "were" };
            let message = format!("takes {taken}, but {given} {were} given");
            return misfit(Mismatch::Count { wanted, given }, message);
        }
        let names: Vec<&str> = wanted
            .iter()
            .map(|one| one.name.as_str())
            .filter(|name| !name.is_empty())
            .collect();
        let mut used: Vec<&str> = Vec::new();
        for (place, parameter) in given.iter().enumerate() {
            let named = parameter.parameter_name.as_deref();
            let placeholder = if names.is_empty() {
                Some(wanted[place])
            } else {
                wanted
                    .iter()
                    .find(|one| Some(one.name.as_str()) == named && !used.contains(&&*one.name))
                    .copied()
            };
            let Some(placeholder) = placeholder else {
                let names_of_all = names.join(", ");
                let message =
                    format!("takes parameters with these names, each once: {names_of_all}");
                let what = Mismatch::Name {
                    parameter: place,
                    wanted: names.iter().map(|&name| name.to_owned()).collect(),
                    given: named.map(str::to_owned),
                };
                misfit(what, message);
                continue;
            };
            used.push(&placeholder.name);
            let kind = parameter.value.kind();
            if placeholder.kind != kind {
                let wanted = placeholder.kind.clone();
                let message = format!("takes a parameter of type {wanted} here");
                let what = Mismatch::Kind {
                    parameter: place,
                    wanted,
                    given: kind,
                };
                misfit(what, message);
            }
        }
    }

    fn name(&self) -> String {
        let (name, language) = (&self.template.name, &self.template.language);
        match self.kind {
            ComponentKind::Button => {
                format!("Button {} of template '{name}' ({language})", self.index)
            }
            kind => format!("The {} of template '{name}' ({language})", kind.as_str()),
        }
    }
}
