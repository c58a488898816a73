//! Which fields have personal data, by their names: sources name them freely, in several languages.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

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

/// Some words, and the ends and beginnings of others: a star stands for other letters.
pub struct Words {
    text: &'static str,
    list: OnceLock<WordList>,
}

#[derive(Default)]
struct WordList {
    whole: HashSet<&'static str>,
    begins: Vec<&'static str>,
    ends: Vec<&'static str>,
}

impl Words {
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            list: OnceLock::new(),
        }
    }

    /// Returns whether it is one of them, in lower case.
    pub fn have(&self, word: &str) -> bool {
        let list = self.list.get_or_init(|| {
            let mut list = WordList::default();
            for word in self.text.split_whitespace() {
                match (word.strip_prefix('*'), word.strip_suffix('*')) {
                    (Some(end), _) => list.ends.push(end),
                    (None, Some(begin)) => list.begins.push(begin),
                    (None, None) => drop(list.whole.insert(word)),
                }
            }
            list
        });
        list.whole.contains(word)
            || list.ends.iter().any(|end| word.ends_with(end))
            || list.begins.iter().any(|begin| word.starts_with(begin))
    }
}

/// A field with one of these words has nothing of a person: the name of a form, the type of a phone.
static OF_NOBODY: Words = Words::new(
    "ad ads adgroup adset agency campaign campaña campanha column company empresa event field file form format \
    formulario formulário imovel imóvel listing page pagina página platform plugin portal produto product property question source status template \
    tipo type utm valid verified version",
);
/// Words of labels and of test submissions, which some people type as a name.
static LABELS: Words = Words::new(
    "address apelidos apellidos assunto celular celulares comentario comentário comentarios comentários comment comments completo \
    bairro cidade city contact contato correo country customer data demo direccion dirección dummy email emails endereco endereço estado example exemplo fone full first last \
    lead leads login mail mensagem mensagens mensaje mensajes message messages mobile movil móvil name nascimento nombre nombres nome number \
    observacao observação observacoes observações observaciones pessoa phone telefon telefone telefones telefono teléfono telefonos \
    teléfonos telemovel telemóvel test teste testing state user usuario usuário whatsapp",
);
static PHONES: Words = Words::new(
    "cel cell cellphone cellulare cels celular* contactnumber fax *fone *fones gsm handy* mobil mobile* \
    mobiltelefon movil* móvil* msisdn numerowpp numerozap *phone *phones phonenum* portable rufnummer* tel telef* teléf* telem* tels tlf \
    tlm waid whats* wpp zap",
);
static NAMES: Words = Words::new(
    "apelido apellido* cliente comprador interessado *name names nom nombre* *nome person prenom prénom remetente sender \
    *edby *dapor *dopor agente amig* avalista broker conjug* cônjug* contactperson corretor* dueñ* esposa esposo fiador* friend guardian hijo husband \
    indicação indicacao indicad* indicou landlord marido owner padre pai parent parente propriet* referente referido* referred \
    referrer responsable responsavel responsável seller solicitante spouse testemunha vended* wife mae mãe madre mother father",
);
static TEXTS: Words =
    Words::new("coment* comment* mensage* mensaje* message* messaggio nachricht notas obs observ*");
static OTHERS: Words = Words::new(
    "*address adresse anschrift birth* calle cep cnh cnpj complemento correo* courriel cpf direcci* dni \
    dob document documento endere* geburt* indirizzo ip ipaddress logradouro *mail *mails nacimiento naissance nascimento \
    handle insta instagram licenseplate linkedin nascita nif passport placa plate skype twitter username plz postal postcode postleitzahl psid remoteaddr rg rua rue ssn strasse street* zip zipcode \
    *clientid *clienteid *contactid *customerid *personid *senderid *userid",
);
/// Beside [`OF_NOBODY`], what is written as the names of people are, such as the name of a city.
static CAPITALS: Words = Words::new(
    "bairro barrio canal categoria category channel cidade city ciudad country estado interes interesse interest label medium origem \
    origen pais país plan plano state subject assunto title titulo título",
);
/// Whatever else the name says: `form_token`.
static CREDENTIALS: Words =
    Words::new("*apikey *secret *token authorization credential* jwt passw* pwd senha");
/// The ids of something.
static IDS: Words = Words::new("id ids");

impl Personal {
    pub fn from_name(name: &str) -> Option<Self> {
        let mut words = words(name);
        let any = |words: &[String], list: &Words| words.iter().any(|word| list.have(word));
        let is_of_nobody = any(&words, &OF_NOBODY);
        let is_id = any(&words, &IDS);
        words.push(words.concat());
        if any(&words, &CREDENTIALS) {
            return Some(Self::Other);
        }
        if is_of_nobody {
            return None;
        }
        // An e-mail address is also an address, and the phone of a client is not a name.
        let kinds = [
            (&PHONES, Self::Phone),
            (&OTHERS, Self::Other),
            (&TEXTS, Self::Text),
            (&NAMES, Self::Name),
        ];
        let found = kinds.into_iter().find(|(list, _)| any(&words, list));
        let (_, kind) = found?;
        // `phone_number_id` and `message_id` are ids of the source.
        let is_persons = kind == Self::Other || words.iter().any(|word| word == "waid");
        (!is_id || is_persons).then_some(kind)
    }
}

/// Returns whether a text in a field of this name, written like the name of a person, is one of something else.
pub fn is_of_nobody(name: &str) -> bool {
    let mut words = words(name).into_iter();
    words.any(|word| OF_NOBODY.have(&word) || CAPITALS.have(&word))
}

/// Returns whether a word, in lower case, says what a field is: it names no person. It is a whole word or two
/// of a list, such as `emailaddress`: the names of some people begin or end as others do, such as Ismail.
pub fn is_label(word: &str) -> bool {
    static WHOLE: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let lists = [&OF_NOBODY, &LABELS, &PHONES, &NAMES, &TEXTS, &OTHERS];
        let words = lists
            .into_iter()
            .flat_map(|list| list.text.split_whitespace());
        words.map(|word| word.trim_matches('*')).collect()
    });
    let joined = |at: usize| {
        let (begin, end) = word.split_at(at);
        let end = end.trim_start_matches(['_', '-', ' ']);
        WHOLE.contains(begin) && WHOLE.contains(end)
    };
    let mut places = word.char_indices().take(LONGEST).map(|(at, _)| at);
    WHOLE.contains(word) || places.any(joined)
}

/// Splits a name into its words: `leadPhone-Number` into `lead`, `phone` and `number`.
pub fn words(name: &str) -> Vec<String> {
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
    fn the_name_of_a_person_is_no_label_although_it_ends_or_begins_as_one() {
        for name in [
            "ismail",
            "birthe",
            "telemaco",
            "jerfone",
            "streeter",
            "handy-ann",
        ] {
            assert!(!is_label(name), "{name}");
        }
        for label in [
            "mail",
            "full_name",
            "firstname",
            "emailaddress",
            "telefone",
            "rua",
            "lead",
        ] {
            assert!(is_label(label), "{label}");
        }
    }

    #[test]
    fn the_name_of_a_field_tells_what_it_has() {
        let check = |names: &str, expect: Option<Personal>| {
            for name in names.split(", ") {
                assert_eq!(Personal::from_name(name), expect, "{name}");
            }
        };
        check(
            "indicado_por, referredBy, Quem indicou, corretor, cônjuge, owner, name, Nome completo, first_name, leadName, contact.name, fullName, prénom, nom, Nachname, cognome",
            Some(Personal::Name),
        );
        check(
            "phone, Phone_Number, telefone, Celular/WhatsApp, tel:, Móvil, telefono_movil, telemóvel, fone, cel, handy, GSM, \
             contactFone, whats_lead, wa_id",
            Some(Personal::Phone),
        );
        check(
            "E-mail, emailAddress, user_email, cpf, CEP, zip_code, Endereço, street_address, contact_id, userId, ip_address, \
             data de nascimento, birthDate, form_token, X-Portal-Api-Key",
            Some(Personal::Other),
        );
        check("message, Mensagem, obs, comments", Some(Personal::Text));
        check(
            ", id, lead_id, form_name, listing, phone_number_id, phone_type, utm_source, message_id, price, immobilie, \
             sort_by, valor_por_m2, owner_id, referral_source",
            None,
        );
    }
}
