//! The lead of an id: made up, and always the same.

use serde_json::{Value, json};

use crate::double::selected;

const DEFAULT_FIELDS: &str = "id,created_time,field_data";

const FIRST_NAMES: [&str; 8] = [
    "Alba", "Bento", "Ciro", "Dalva", "Élida", "Fausto", "Graça", "Heitor",
];
const LAST_NAMES: [&str; 7] = [
    "Moura", "Seixas", "Quadros", "Vilela", "Aragão", "Pontes", "Tavares",
];
const AREA_CODES: [&str; 6] = ["11", "21", "31", "41", "51", "71"];
const ANSWERS: [&str; 4] = [
    "este mês",
    "em até 3 meses",
    "em até 6 meses",
    "só pesquisando",
];

/// The lead with the requested fields; unknown ones are left out, as the node
/// does.
pub fn lead(id: &str, fields: Option<&str>) -> Value {
    let fields = fields.filter(|fields| !fields.is_empty());
    selected(&all_fields(id), fields.unwrap_or(DEFAULT_FIELDS))
}

fn all_fields(id: &str) -> Value {
    let seed = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let first = pick(&FIRST_NAMES, seed);
    let last = pick(&LAST_NAMES, seed / 8);
    let email = format!(
        "{}.{}.{}@example.com",
        plain(first),
        plain(last),
        seed % 1000
    );
    let phone = format!(
        "+55{}9{:08}",
        pick(&AREA_CODES, seed / 56),
        60_000_000 + seed % 30_000_000
    );
    json!({
        "id": id,
        "created_time": format!("2026-{:02}-{:02}T{:02}:{:02}:00+0000",
            1 + seed % 12, 1 + seed / 12 % 28, seed / 336 % 24, seed / 8064 % 60),
        "ad_id": "120200000000000001",
        "ad_name": "Lançamento Vista Mar",
        "adset_id": "120200000000000002",
        "adset_name": "Litoral",
        "campaign_id": "120200000000000003",
        "campaign_name": "Verão",
        "form_id": "920000000000001",
        "is_organic": false,
        "platform": if seed.is_multiple_of(2) { "fb" } else { "ig" },
        "field_data": [
            { "name": "full_name", "values": [format!("{first} {last}")] },
            { "name": "email", "values": [email] },
            { "name": "phone_number", "values": [phone] },
            { "name": "quando_pretende_comprar?", "values": [pick(&ANSWERS, seed / 5)] },
        ],
    })
}

fn pick<'a>(from: &[&'a str], seed: u64) -> &'a str {
    let index = usize::try_from(seed % from.len() as u64).expect("an index below the length fits");
    from[index]
}

/// A name in the form of an e-mail address.
fn plain(name: &str) -> String {
    name.to_lowercase()
        .replace('ç', "c")
        .replace('ã', "a")
        .replace('é', "e")
}
