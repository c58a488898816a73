//! The kind of a contact in a list of several, as the words beside it say: a phone that is marked as the
//! first, then mobiles, then fixed lines. A fax and a pager are no phones.

use leadhost_sdk::{serde_json::Value, text_of};

use crate::fold::fold;
use crate::heuristics::is_truth;
use crate::names;
use crate::record::text_of_node;

const KINDS: [&str; 19] = [
    "type",
    "label",
    "kind",
    "valuetype",
    "rel",
    "tipo",
    "name",
    "nome",
    "category",
    "categoria",
    "use",
    "phonetype",
    "phonelabel",
    "numbertype",
    "phonenumbertype",
    "tipotelefone",
    "description",
    "descricao",
    "location",
];
const FIRST: [&str; 13] = [
    "primary",
    "preferred",
    "pref",
    "principal",
    "default",
    "main",
    "padrao",
    "preferido",
    "preferencial",
    "predeterminado",
    "favorite",
    "favorito",
    "favourite",
];
const NONE: [&str; 7] = [
    "fax",
    "pager",
    "beeper",
    "telex",
    "fernkopierer",
    "fx",
    "bip",
];

/// Returns the place of a contact among others, from 0; `None` if it is a fax or a pager.
pub fn rank(contact: &Value) -> Option<u8> {
    let mut best = rank_of_word("");
    for (name, value) in contact.as_object().into_iter().flatten() {
        let name = fold(name);
        // `{"primary": true}` and `{"fax": true}`.
        if text_of_node(value).is_some_and(|text| is_truth(&text)) {
            best = best.min(if is_first(&name) {
                Some(0)
            } else {
                rank_of_word(&name)
            });
        }
        let singular = name.strip_suffix('s').unwrap_or(&name);
        if [&name, singular].iter().any(|name| KINDS.contains(name)) {
            words(value, &mut |word| {
                best = best.min(rank_of_word(&fold(&word)))
            });
        } else if let Some(word) = text_of(value).map(|text| fold(&text))
            && (NONE.contains(&word.as_str()) || names::is_mobile(&word))
        {
            // Under any other name only a text that is nothing but the word.
            best = best.min(rank_of_word(&word));
        }
    }
    best
}

/// Whether a folded name marks the first of several: `isPrimary`, `primaryPhone`.
fn is_first(name: &str) -> bool {
    let name = name.strip_prefix("is").unwrap_or(name);
    let ends = ["", "number", "phone", "numero", "telefone", "telefono"];
    let mut marks = ends.iter().filter_map(|end| name.strip_suffix(end));
    marks.any(|mark| FIRST.contains(&mark))
}

/// Passes the texts of a kind, also of several or of an object with its name.
fn words(value: &Value, found: &mut impl FnMut(String)) {
    let members = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, word)| word);
    let words = value.as_array().into_iter().flatten().chain(members);
    let words = words.flat_map(|word| match word {
        Value::Object(fields) => fields.values().collect(),
        word => vec![word],
    });
    words.chain([value]).filter_map(text_of).for_each(found);
}

/// Returns the place that a folded word for its kind gives a contact.
pub fn rank_of_word(word: &str) -> Option<u8> {
    const MOBILE: [&str; 9] = [
        "mobile", "cell", "celular", "movil", "movel", "whatsapp", "wpp", "zap", "iphone",
    ];
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    match word {
        "fx" | "bip" => None,
        word if NONE[..5].iter().any(|none| word.contains(none)) => None,
        "pref" | "primary" | "principal" | "preferred" => Some(0),
        _ if has(&MOBILE) || names::is_mobile(word) => Some(1),
        _ => Some(2),
    }
}

/// Returns the contacts without faxes, likeliest first.
pub fn ranked<'a>(contacts: impl Iterator<Item = &'a Value>) -> Vec<&'a Value> {
    let ranked = contacts.filter_map(|contact| Some((rank(contact)?, contact)));
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, contact)| contact).collect()
}
