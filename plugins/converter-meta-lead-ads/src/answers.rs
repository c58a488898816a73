//! Converts the answers of a form to a lead.
//!
//! Forms name their fields in the form's language, in any case, and in the
//! advertiser's own words. Known names become a name, phone, e-mail or message;
//! every other answer is kept as an attribute under its own name.

use leadhost_sdk::{
    Lead, is_absent,
    serde_json::{Map, Value},
    text_at, text_of, time_text,
};

/// Returns the lead of a Graph API response, of a webhook's value that contains the
/// answers, or of one row of a list. `state` supplies values that the response leaves
/// out; `claimed` is the id under which the lead is already known.
pub fn lead(answer: &Value, state: &Map<String, Value>, claimed: Option<String>) -> Lead {
    let text = |names: &[&str]| {
        text_at(answer, names).or_else(|| {
            let known = names.iter().filter_map(|name| state.get(*name));
            known.filter_map(text_of).next()
        })
    };
    let id = claimed.or_else(|| text_at(answer, &["leadgen_id", "id"]));
    let created = ["created_time"].iter().find_map(|name| {
        answer
            .get(*name)
            .or_else(|| state.get(*name))
            .and_then(time_text)
    });

    let filled = Filled::read(answer.get("field_data"));
    let mut lead = Lead::new()
        .external_id(id)
        .is_test(filled.is_test)
        .name(filled.name())
        .message(filled.message.clone())
        .occurred_at(created)
        .listing("client", text(&["retailer_item_id"]))
        .listing("home-listing", text(&["home_listing.id", "home_listing"]));
    for phone in filled.phones.iter().chain(&filled.likely_phones) {
        lead = lead.phone(phone.clone());
    }
    for email in filled.emails.iter().chain(&filled.likely_emails) {
        lead = lead.email(email.clone());
    }
    for (name, keys) in CAMPAIGN {
        // An organic or test lead has `0` as its ad.
        lead = lead.campaign(name, text(keys).filter(|value| value != "0"));
    }
    lead = consents(lead, answer.get("custom_disclaimer_responses"));
    for (name, value) in filled.others {
        lead = lead.attribute(name, &value);
    }
    if let Value::Object(fields) = answer {
        for (name, value) in fields {
            if !KNOWN.contains(&name.as_str()) && !is_absent(value) {
                lead = lead.attribute(name, value);
            }
        }
    }
    lead
}

const CAMPAIGN: [(&str, &[&str]); 10] = [
    ("campaign-id", &["campaign_id"]),
    ("campaign-name", &["campaign_name"]),
    ("adset-id", &["adset_id"]),
    ("adset-name", &["adset_name"]),
    // In a webhook `adgroup_id` is another name for the ad.
    ("ad-id", &["ad_id", "adgroup_id"]),
    ("ad-name", &["ad_name"]),
    ("form-id", &["form_id"]),
    ("page-id", &["page_id"]),
    ("platform", &["platform"]),
    ("is-organic", &["is_organic"]),
];

/// Fields of a response that have their own field in a lead.
const KNOWN: [&str; 18] = [
    "id",
    "leadgen_id",
    "created_time",
    "field_data",
    "custom_disclaimer_responses",
    "retailer_item_id",
    "home_listing",
    "campaign_id",
    "campaign_name",
    "adset_id",
    "adset_name",
    "ad_id",
    "adgroup_id",
    "ad_name",
    "form_id",
    "page_id",
    "platform",
    "is_organic",
];

const FULL_NAMES: [&str; 10] = [
    "full_name",
    "fullname",
    "nome_completo",
    "seu_nome_completo",
    "nome_e_sobrenome",
    "nombre_completo",
    "nombre_y_apellido",
    "nombre_y_apellidos",
    "your_name",
    "seu_nome",
];
const FIRST_NAMES: [&str; 6] = [
    "first_name",
    "primeiro_nome",
    "primer_nombre",
    "name",
    "nome",
    "nombre",
];
const LAST_NAMES: [&str; 5] = [
    "last_name",
    "sobrenome",
    "ultimo_nome",
    "apellido",
    "apellidos",
];
const PHONES: [&str; 22] = [
    "phone_number",
    "phone",
    "mobile",
    "mobile_number",
    "mobile_phone",
    "cell_phone",
    "work_phone_number",
    "work_phone",
    "whatsapp",
    "whatsapp_number",
    "telefone",
    "telefone_celular",
    "telefone_com_ddd",
    "numero_de_telefone",
    "numero_do_telefone",
    "numero_de_whatsapp",
    "numero_do_whatsapp",
    "celular",
    "telefono",
    "telefono_celular",
    "numero_de_telefono",
    "movil",
];
const EMAILS: [&str; 12] = [
    "email",
    "e_mail",
    "mail",
    "email_address",
    "work_email",
    "endereco_de_email",
    "endereco_de_e_mail",
    "email_comercial",
    "e_mail_comercial",
    "correo",
    "correo_electronico",
    "direccion_de_correo_electronico",
];
const MESSAGES: [&str; 4] = ["message", "mensagem", "mensaje", "sua_mensagem"];

/// The e-mail of leads of Meta's testing tool.
const TEST_EMAILS: [&str; 2] = ["test@fb.com", "test@meta.com"];

/// The answers, sorted by field.
#[derive(Default)]
struct Filled {
    is_test: bool,
    full_name: Option<String>,
    first_name: Option<String>,
    last_name: Option<String>,
    message: Option<String>,
    phones: Vec<String>,
    emails: Vec<String>,
    /// Answers to the advertiser's own questions that ask for a phone; they are also
    /// kept as attributes.
    likely_phones: Vec<String>,
    likely_emails: Vec<String>,
    others: Vec<(String, Value)>,
}

impl Filled {
    fn read(field_data: Option<&Value>) -> Self {
        let mut filled = Self::default();
        match field_data {
            Some(Value::Array(fields)) => {
                for field in fields {
                    if let Some(name) = text_at(field, &["name"]) {
                        let values = field.get("values").or_else(|| field.get("value"));
                        filled.take(name, values.map(present).unwrap_or_default());
                    }
                }
            }
            // Relays send names and answers as an object.
            Some(Value::Object(fields)) => {
                for (name, value) in fields {
                    filled.take(name.clone(), present(value));
                }
            }
            _ => {}
        }
        filled
    }

    fn take(&mut self, name: String, values: Vec<Value>) {
        let texts: Vec<String> = values.iter().filter_map(text_of).collect();
        self.is_test |= texts.iter().any(|text| is_dummy(text));
        let mut real = texts.iter().filter(|text| !is_dummy(text)).cloned();

        let key = folded(&name);
        let key = key.as_str();
        if FULL_NAMES.contains(&key) {
            keep(&mut self.full_name, real.next());
        } else if FIRST_NAMES.contains(&key) {
            keep(&mut self.first_name, real.next());
        } else if LAST_NAMES.contains(&key) {
            keep(&mut self.last_name, real.next());
        } else if MESSAGES.contains(&key) {
            keep(&mut self.message, real.next());
        } else if PHONES.contains(&key) {
            self.phones.extend(real);
        } else if EMAILS.contains(&key) {
            self.is_test |= texts
                .iter()
                .any(|text| TEST_EMAILS.contains(&text.as_str()));
            self.emails.extend(real);
        } else {
            if asks(key, &["phone", "telefon", "celular", "whatsapp", "movil"]) {
                self.likely_phones
                    .extend(real.filter(|text| looks_like_phone(text)));
            } else if asks(key, &["mail", "correo"]) {
                self.likely_emails
                    .extend(real.filter(|text| looks_like_email(text)));
            }
            match values.len() {
                0 => {}
                1 => self
                    .others
                    .extend(values.into_iter().map(|value| (name.clone(), value))),
                _ => self.others.push((name, Value::Array(values))),
            }
        }
    }

    fn name(&self) -> Option<String> {
        self.full_name.clone().or_else(|| {
            let parts = self.first_name.iter().chain(&self.last_name);
            let parts: Vec<&str> = parts.map(String::as_str).collect();
            Some(parts.join(" ")).filter(|name| !name.is_empty())
        })
    }
}

fn consents(lead: Lead, responses: Option<&Value>) -> Lead {
    let responses = responses.and_then(Value::as_array);
    responses
        .into_iter()
        .flatten()
        .fold(lead, |lead, response| {
            let Some(purpose) = text_at(response, &["checkbox_key"]) else {
                return lead;
            };
            let checked = text_at(response, &["is_checked"]);
            let granted = checked.is_some_and(|checked| checked == "1" || checked == "true");
            lead.consent(&purpose, granted, "")
        })
}

fn present(values: &Value) -> Vec<Value> {
    match values {
        Value::Array(values) => values
            .iter()
            .filter(|value| !is_absent(value))
            .cloned()
            .collect(),
        value if is_absent(value) => Vec::new(),
        value => vec![value.clone()],
    }
}

fn keep(place: &mut Option<String>, text: Option<String>) {
    if place.is_none() {
        *place = text;
    }
}

/// Whether Meta's testing tool filled in the value: `<test lead: dummy data for full_name>`.
fn is_dummy(text: &str) -> bool {
    text.trim_start()
        .to_ascii_lowercase()
        .starts_with("<test lead: dummy data for")
}

/// A field's name without case, accents and punctuation: `E-mail:` is `e_mail`.
fn folded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars().flat_map(char::to_lowercase) {
        let character = match character {
            'á' | 'à' | 'â' | 'ã' | 'ä' => 'a',
            'é' | 'è' | 'ê' | 'ë' => 'e',
            'í' | 'ì' | 'î' | 'ï' => 'i',
            'ó' | 'ò' | 'ô' | 'õ' | 'ö' => 'o',
            'ú' | 'ù' | 'û' | 'ü' => 'u',
            'ç' => 'c',
            'ñ' => 'n',
            other => other,
        };
        if character.is_alphanumeric() {
            out.push(character);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.truncate(out.trim_end_matches('_').len());
    out
}

fn asks(key: &str, words: &[&str]) -> bool {
    words.iter().any(|word| key.contains(word))
}

fn looks_like_phone(text: &str) -> bool {
    let digits = leadhost_sdk::digits(text).len();
    (8..=15).contains(&digits)
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '+' | '(' | ')' | '-' | '.' | ' '))
}

fn looks_like_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && host.contains('.') && !text.contains(char::is_whitespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_names_are_folded() {
        let check = |name: &str, expect: &str| assert_eq!(folded(name), expect);
        check("FULL_NAME", "full_name");
        check("E-mail:", "e_mail");
        check("Número de WhatsApp?", "numero_de_whatsapp");
        check("¿Teléfono?", "telefono");
        check("  ", "");
    }

    #[test]
    fn answers_that_only_mention_a_phone_are_not_phones() {
        assert!(looks_like_phone("+55 (11) 90000-0001"));
        assert!(!looks_like_phone("sim"));
        assert!(!looks_like_phone("depois das 18h, 11900000001"));
        assert!(looks_like_email("ana@example.com"));
        assert!(!looks_like_email("não tenho @"));
    }
}
