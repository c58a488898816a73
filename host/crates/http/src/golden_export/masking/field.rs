//! Which fields have personal data, by their names: sources name them freely, in several languages.

/// What a field has of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personal {
    Name,
    Phone,
    /// What the person wrote.
    Text,
    /// An e-mail address, a document, a date of birth, an address, an id.
    Other,
}

/// A field with one of these words has nothing of a person: the name of a form, the type of a phone.
const OF_NOBODY: &str = "ad ads adgroup adset agency campaign campaña campanha column company empresa event field file form format \
    formulario formulário imovel imóvel listing page pagina página platform plugin portal produto product property question source status template \
    tipo type utm valid verified version";
/// Words of labels and of test submissions, which some people type as a name.
const LABELS: &str = "assunto completo contact contato customer data demo dummy example exemplo first full last lead leads \
    number pessoa test teste testing user usuario usuário";
// A star stands for other letters.
const PHONES: &str = "cel cell cellphone cellulare cels celular* contactnumber fax *fone *fones gsm handy* mobil mobile* \
    mobiltelefon movil* móvil* msisdn numerowpp numerozap *phone *phones phonenum* portable rufnummer* tel telef* teléf* telem* tels tlf \
    tlm waid whats* wpp zap";
const NAMES: &str = "apelido apellido* cliente comprador interessado *name names nom nombre* *nome person prenom prénom remetente sender";
const TEXTS: &str =
    "coment* comment* mensage* mensaje* message* messaggio nachricht notas obs observ*";
const OTHERS: &str = "*address adresse anschrift birth* calle cep cnh cnpj complemento correo* courriel cpf direcci* dni \
    dob document documento endere* geburt* indirizzo ip ipaddress logradouro *mail *mails nacimiento naissance nascimento \
    nascita nif passport plz postal postcode postleitzahl psid remoteaddr rg rua rue ssn strasse street* zip zipcode \
    *clientid *clienteid *contactid *customerid *personid *senderid *userid";

impl Personal {
    pub fn from_name(name: &str) -> Option<Self> {
        let mut words = words(name);
        let any = |words: &[String], list| words.iter().any(|word| is_in(word, list));
        if any(&words, OF_NOBODY) {
            return None;
        }
        let is_id = any(&words, "id ids");
        words.push(words.concat());
        // An e-mail address is also an address, and the phone of a client is not a name.
        let kinds = [
            (PHONES, Self::Phone),
            (OTHERS, Self::Other),
            (TEXTS, Self::Text),
            (NAMES, Self::Name),
        ];
        let found = kinds.into_iter().find(|(list, _)| any(&words, list));
        let (_, kind) = found?;
        // `phone_number_id` and `message_id` are ids of the source.
        let is_persons = kind == Self::Other || any(&words, "waid");
        (!is_id || is_persons).then_some(kind)
    }
}

/// Returns whether a word, in lower case, says what a field is: it names no person.
pub fn is_label(word: &str) -> bool {
    let lists = [OF_NOBODY, LABELS, PHONES, NAMES, TEXTS, OTHERS];
    lists.iter().any(|list| is_in(word, list))
}

pub fn is_in(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|one| {
        let ends = one.strip_prefix('*').map(|end| word.ends_with(end));
        let begins = one.strip_suffix('*').map(|begin| word.starts_with(begin));
        ends.or(begins).unwrap_or(word == one)
    })
}

/// Splits a name into its words: `leadPhone-Number` into `lead`, `phone` and `number`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for one in name.chars().take(LONGEST) {
        if !one.is_alphanumeric() || (one.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| one.is_alphanumeric()) {
            word.extend(one.to_lowercase());
        }
        was_lower = one.is_lowercase() || one.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Characters of a name that are read.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_field_tells_what_it_has() {
        let check = |names: &str, expect: Option<Personal>| {
            for name in names.split(", ") {
                assert_eq!(Personal::from_name(name), expect, "{name}");
            }
        };
        check(
            "name, Nome completo, first_name, leadName, contact.name, fullName, prénom, nom, Nachname, cognome",
            Some(Personal::Name),
        );
        check(
            "phone, Phone_Number, telefone, Celular/WhatsApp, tel:, Móvil, telefono_movil, telemóvel, fone, cel, handy, GSM, \
             contactFone, whats_lead, wa_id",
            Some(Personal::Phone),
        );
        check(
            "E-mail, emailAddress, user_email, cpf, CEP, zip_code, Endereço, street_address, contact_id, userId, ip_address, \
             data de nascimento, birthDate",
            Some(Personal::Other),
        );
        check("message, Mensagem, obs, comments", Some(Personal::Text));
        check(
            ", id, lead_id, form_name, listing, phone_number_id, phone_type, utm_source, message_id, price, immobilie",
            None,
        );
    }
}
