//! Which fields have personal data, by their names: sources name them freely, in several languages.

/// The kind of personal data in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonalField {
    Name,
    Phone,
    Email,
    /// A number of a document, or a postal code.
    Number,
    Birth,
    Address,
    /// The source's id of a person.
    Id,
    /// An address on the network.
    Ip,
}

/// A name with one of these words is not that of a person: the name of a form, the type of a phone.
const OTHER: [&str; 34] = [
    "ad",
    "ads",
    "adgroup",
    "adset",
    "agency",
    "campaign",
    "campanha",
    "company",
    "empresa",
    "event",
    "field",
    "file",
    "form",
    "format",
    "formulario",
    "imovel",
    "listing",
    "page",
    "pagina",
    "platform",
    "plugin",
    "portal",
    "produto",
    "product",
    "property",
    "source",
    "status",
    "template",
    "tipo",
    "type",
    "utm",
    "valid",
    "verified",
    "version",
];

const EMAIL: [&str; 6] = ["correo", "courriel", "email", "emails", "mail", "mails"];
const PHONE: [&str; 54] = [
    "cel",
    "cell",
    "cellphone",
    "cellulare",
    "cels",
    "celular",
    "celulares",
    "contactnumber",
    "fax",
    "fone",
    "fones",
    "gsm",
    "handy",
    "handynummer",
    "homephone",
    "mobil",
    "mobile",
    "mobilenumber",
    "mobilephone",
    "mobiles",
    "mobiltelefon",
    "movil",
    "moviles",
    "msisdn",
    "numerowhatsapp",
    "numerowpp",
    "numerozap",
    "phone",
    "phonenumber",
    "phones",
    "portable",
    "rufnummer",
    "tel",
    "telefon",
    "telefone",
    "telefones",
    "telefoni",
    "telefonnummer",
    "telefonnummern",
    "telefono",
    "telefonos",
    "telemoveis",
    "telemovel",
    "telephone",
    "telephones",
    "tels",
    "tlf",
    "tlm",
    "whats",
    "whatsapp",
    "whatsappnumber",
    "workphone",
    "wpp",
    "zap",
];
const BIRTH: [&str; 10] = [
    "birth",
    "birthdate",
    "birthday",
    "dob",
    "geburtsdatum",
    "geburtstag",
    "nacimiento",
    "naissance",
    "nascimento",
    "nascita",
];
const NUMBER: [&str; 17] = [
    "cep",
    "cnh",
    "cnpj",
    "cpf",
    "dni",
    "document",
    "documento",
    "nif",
    "passport",
    "plz",
    "postal",
    "postcode",
    "postleitzahl",
    "rg",
    "ssn",
    "zip",
    "zipcode",
];
const IP: [&str; 3] = ["ip", "ipaddress", "remoteaddr"];
const ADDRESS: [&str; 14] = [
    "address",
    "adresse",
    "anschrift",
    "calle",
    "complemento",
    "direccion",
    "endereco",
    "indirizzo",
    "logradouro",
    "rua",
    "rue",
    "strasse",
    "street",
    "streetaddress",
];
const NAME: [&str; 25] = [
    "apelido",
    "apellido",
    "apellidos",
    "cliente",
    "cognome",
    "comprador",
    "firstname",
    "fullname",
    "interessado",
    "lastname",
    "nachname",
    "name",
    "names",
    "nom",
    "nombre",
    "nombres",
    "nome",
    "person",
    "prenom",
    "remetente",
    "sender",
    "sobrenome",
    "surname",
    "username",
    "vorname",
];
const PERSON_ID: [&str; 8] = [
    "contactid",
    "customerid",
    "personid",
    "psid",
    "senderid",
    "userid",
    "waid",
    "clientid",
];
const PERSONS: [&str; 8] = [
    "client", "cliente", "contact", "customer", "person", "sender", "user", "wa",
];

impl PersonalField {
    /// Returns the kind of personal data that a field of this name has, if any.
    pub fn from_name(name: &str) -> Option<Self> {
        let words = words(name);
        let joined = words.concat();
        let any = |list: &[&str]| {
            list.contains(&joined.as_str())
                || words.iter().any(|word| list.contains(&word.as_str()))
        };
        let is_id = words.iter().any(|word| word == "id" || word == "ids");
        // The kinds are tested from the rarest words to the most common ones, because `e-mail
        // address` contains a word for an address and `phone of the client` one for a name.
        if words.is_empty() || any(&OTHER) {
            None
        } else if any(&EMAIL) {
            Some(Self::Email)
        } else if any(&PHONE) {
            // `phone_number_id` is the number of an instance.
            (!is_id).then_some(Self::Phone)
        } else if any(&BIRTH) {
            Some(Self::Birth)
        } else if any(&NUMBER) {
            Some(Self::Number)
        } else if any(&IP) {
            Some(Self::Ip)
        } else if any(&PERSON_ID) || (is_id && any(&PERSONS)) {
            Some(Self::Id)
        } else if any(&ADDRESS) {
            Some(Self::Address)
        } else if any(&NAME) {
            Some(Self::Name)
        } else {
            None
        }
    }
}

/// Splits a name into its words: `leadPhone-Number` into `lead`, `phone` and `number`, without
/// accents.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for one in name.chars().take(LONGEST) {
        let starts = one.is_uppercase() && was_lower;
        if (starts || !one.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if one.is_alphanumeric() {
            word.extend(one.to_lowercase().map(plain));
        }
        was_lower = one.is_lowercase() || one.is_ascii_digit();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Characters of a name that are read.
const LONGEST: usize = 100;

fn plain(one: char) -> char {
    match one {
        'á' | 'à' | 'â' | 'ã' | 'ä' => 'a',
        'é' | 'è' | 'ê' => 'e',
        'í' => 'i',
        'ó' | 'ô' | 'õ' | 'ö' => 'o',
        'ú' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_field_tells_its_kind() {
        let check = |names: &[&str], expect: Option<PersonalField>| {
            for name in names {
                assert_eq!(PersonalField::from_name(name), expect, "{name}");
            }
        };
        check(
            &[
                "name",
                "Nome completo",
                "first_name",
                "leadName",
                "contact.name",
                "fullName",
                "prénom",
                "nom",
                "Nachname",
                "cognome",
            ],
            Some(PersonalField::Name),
        );
        check(
            &[
                "phone",
                "Phone_Number",
                "telefone",
                "Celular/WhatsApp",
                "tel:",
                "Móvil",
                "telefono_movil",
                "telemóvel",
                "fone",
                "cel",
                "handy",
                "GSM",
                "contactFone",
                "whats_lead",
            ],
            Some(PersonalField::Phone),
        );
        check(
            &["E-mail", "emailAddress", "user_email"],
            Some(PersonalField::Email),
        );
        check(&["cpf", "CEP", "zip_code"], Some(PersonalField::Number));
        check(
            &["Endereço", "street_address"],
            Some(PersonalField::Address),
        );
        check(&["contact_id", "userId", "wa_id"], Some(PersonalField::Id));
        check(&["ip_address", "ip"], Some(PersonalField::Ip));
        check(
            &["data de nascimento", "birthDate"],
            Some(PersonalField::Birth),
        );
        check(
            &[
                "",
                "id",
                "lead_id",
                "form_name",
                "listing",
                "phone_number_id",
                "phone_type",
                "utm_source",
                "message",
                "price",
            ],
            None,
        );
    }
}
