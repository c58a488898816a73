//! The usual names of fields, folded, likeliest first, in Portuguese, Spanish
//! and English. A name is listed only if its meaning does not depend on the source: names
//! that some source uses for the advertiser, the owner or the salesperson are left out.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Objects in which sources put the lead, or a part of it.
pub const CONTAINERS: &[&str] = &[
    "lead",
    "contact",
    "contato",
    "contacto",
    "person",
    "pessoa",
    "persona",
    "customer",
    "cliente",
    "applicant",
    "prospect",
    "inquirer",
    "enquirer",
    "interessado",
    "interesado",
    "comprador",
    "buyer",
    "guest",
    "data",
    "dados",
    "datos",
    "payload",
    "body",
    "submission",
    "formresponse",
    "rawrequest",
    "fields",
    "campos",
    "formdata",
    "formfields",
    "answers",
    "responses",
    "respostas",
    "respuestas",
    "values",
    "valores",
    "properties",
    "attributes",
    "inquiry",
    "enquiry",
    "message",
    "mensagem",
    "leaddata",
    "userdata",
    "adf",
    "facebook",
    "tiktok",
    "summary",
    "info",
    "contactinfo",
    "contactdetails",
    "personaldetails",
    "record",
    "visitor",
    "visitante",
    "current",
    "item",
    "entry",
    "result",
    "json",
    "leads",
    "contatos",
    "contactos",
    "contacts",
    "datajson",
];

/// Containers that are a person: their `id` is the person's, and one person may send
/// several leads.
pub const PERSONS: &[&str] = &[
    "contatos",
    "contactos",
    "contacts",
    "visitor",
    "visitante",
    "contact",
    "contato",
    "contacto",
    "person",
    "pessoa",
    "persona",
    "customer",
    "cliente",
    "interessado",
    "interesado",
    "comprador",
    "buyer",
    "guest",
    "contactinfo",
    "userdata",
    "inquirer",
    "enquirer",
    "contactdetails",
    "personaldetails",
];

/// Containers whose names are questions, written by the author of the form.
pub const QUESTIONS: &[&str] = &[
    "answers",
    "responses",
    "respostas",
    "respuestas",
    "rawrequest",
    "fields",
    "campos",
    "formdata",
    "formfields",
];

/// Lists of questions and answers.
pub const PAIR_LISTS: &[&str] = &[
    "submissions",
    "usercolumndata",
    "fielddata",
    "leadform",
    "answers",
    "fields",
    "campos",
    "formfields",
    "formdata",
    "questions",
    "perguntas",
    "preguntas",
    "responses",
    "respostas",
    "respuestas",
    "columns",
    "inputs",
    "leadfields",
    "data",
    "values",
    "questionsandanswers",
    "customquestions",
    "formresponses",
    "questionanswers",
    "changes",
];

/// Parts of the names of lists of fields.
pub const FIELD_LISTS: &[&str] = &[
    "field",
    "campo",
    "custom",
    "extra",
    "adiciona",
    "additional",
    "detail",
    "detalhe",
    "detalle",
    "contat",
    "contact",
    "question",
    "pergunta",
    "pregunta",
    "answer",
    "resposta",
    "respuesta",
    "info",
    "form",
    "atribut",
    "attribut",
    "propert",
    "meta",
    "dado",
    "dato",
    "data",
    "value",
    "valor",
    "param",
    "variab",
    "variav",
    "input",
    "channel",
    "canal",
    "canais",
    "phone",
    "fone",
    "email",
];

/// Parts of the names of what the source sets, not a person.
pub const SETTINGS: &[&str] = &[
    "setting",
    "config",
    "header",
    "cookie",
    "option",
    "preference",
    "preferencia",
];
/// Parts of the names of lists of goods.
pub const GOODS: &[&str] = &["product", "produto", "item", "itens", "cart", "carrinho"];

/// Names beside which `name` is a deal's or a form's.
pub const DEALS: &[&str] = &[
    "stage",
    "stageid",
    "dealstage",
    "etapa",
    "funil",
    "pipeline",
    "pipelineid",
    "amount",
    "dealid",
    "formid",
    "questions",
];

/// Places of a batch of leads.
pub const BATCHES: &[&str] = &[
    "leads",
    "data",
    "items",
    "contacts",
    "contatos",
    "contactos",
    "results",
    "records",
    "rows",
    "entries",
    "lead",
    "submissions",
    "events",
    "prospects",
    "body",
    "payload",
    "prospect",
    "entry",
];

/// Objects that contain a batch.
pub const ENVELOPES: &[&str] = &[
    "data", "payload", "body", "result", "response", "dados", "datos", "adf", "leads",
];

pub const IDS: &[&str] = &[
    "leadid",
    "idlead",
    "originleadid",
    "leadgenid",
    "submissionid",
    "responseid",
    "entryid",
    "leaduuid",
    "externalid",
    "externalleadid",
    "idmensagem",
    "idmensaje",
    "leadref",
    "leadreference",
    "inquiryid",
    "enquiryid",
    "idcontato",
    "idcontacto",
    "conversionid",
    "idexterno",
    "uniqueid",
];
/// Names that refer to the lead only outside of a person.
pub const PLAIN_IDS: &[&str] = &["id", "uuid", "guid"];

pub const FULL_NAMES: &[&str] = &[
    "fullname",
    "nomecompleto",
    "nombrecompleto",
    "nombreyapellido",
    "nombreyapellidos",
    "nomeesobrenome",
    "seunome",
    "seunomecompleto",
    "yourname",
    "yourfullname",
    "tunombre",
    "sunombre",
    "leadname",
    "nomelead",
    "nomedolead",
    "customername",
    "contactname",
    "contactperson",
    "pessoadecontato",
    "personadecontacto",
    "nomecontato",
    "nomedocontato",
    "nombrecontacto",
    "nomecliente",
    "nomedocliente",
    "nombrecliente",
    "nomeinteressado",
    "displayname",
];
pub const NAMES: &[&str] = &[
    "name", "nome", "nombre", "names", "contato", "contacto", "contact",
];

/// Words for the lead, in names such as `buyer_name`.
pub const LEAD_WORDS: &[&str] = &[
    "lead",
    "contact",
    "contato",
    "contacto",
    "customer",
    "cliente",
    "person",
    "pessoa",
    "persona",
    "prospect",
    "buyer",
    "comprador",
    "compradora",
    "visitor",
    "visitante",
    "inquirer",
    "enquirer",
    "interessado",
    "interessada",
    "interesado",
    "interesada",
    "applicant",
    "guest",
    "requester",
    "solicitante",
    "candidato",
    "candidate",
    "consumidor",
    "consumer",
    "aluno",
    "student",
    "paciente",
    "patient",
    "participante",
    "participant",
    "attendee",
    "inscrito",
];
pub const NAME_WORDS: &[&str] = &[
    "fullname",
    "nomecompleto",
    "nombrecompleto",
    "nome",
    "nombre",
    "name",
];
pub const FIRST_NAME_WORDS: &[&str] = &[
    "firstname",
    "givenname",
    "fname",
    "primeironome",
    "primernombre",
];
pub const LAST_NAME_WORDS: &[&str] = &[
    "lastname",
    "familyname",
    "surname",
    "lname",
    "sobrenome",
    "ultimonome",
    "apellido",
    "apellidos",
];
/// Names of a phone or an e-mail address, but also of a name or an id.
pub const CONTACT_TEXTS: &[&str] = &["contato", "contacto", "contact"];

pub const PHONES: &[&str] = &[
    "whatsapp",
    "whatsappnumber",
    "numerowhatsapp",
    "numerodewhatsapp",
    "telefonewhatsapp",
    "whatsapptelefone",
    "celular",
    "celularwhatsapp",
    "movil",
    "mobile",
    "cell",
    "phonenumber",
    "phone",
    "phones",
    "fullphone",
    "telefone",
    "telefones",
    "telefono",
    "telefonos",
    "telephone",
    "telephonenumber",
    "telefon",
    "telefonnummer",
    "tel",
    "fone",
    "seutelefone",
    "yourphone",
    "tutelefono",
    "contactphone",
    "contactnumber",
    "telefonecontato",
    "telefonedecontato",
    "telefonocontacto",
    "leadphone",
    "customerphone",
    "telefonecliente",
    "celularcliente",
    "userphone",
    "telefone1",
    "phone1",
    "personalphone",
    "homephone",
    "phonehome",
    "telefoneresidencial",
    "daytimephone",
    "eveningphone",
    "personphonemain",
    "telefone2",
    "phone2",
    "telefone3",
    "secondaryphone",
    "otherphone",
    "workphone",
    "workphonenumber",
    "phonework",
    "telefonecomercial",
    "companyphone",
    "companyphonemain",
    "yourtel",
    "zap",
    "wpp",
    "whats",
    "numerowpp",
    "numerozap",
    "msisdn",
    "fones",
    "celulares",
    "moviles",
    "mobiles",
];
/// Names of several contacts, whose members say what kind each is.
pub const PLURALS: &[&str] = &[
    "phones",
    "telefones",
    "telefonos",
    "fones",
    "celulares",
    "emails",
    "emailaddresses",
];
pub const AREA_CODES: &[&str] = &["ddd", "areacode", "codigoarea", "codigodearea", "area"];
pub const COUNTRY_CODES: &[&str] = &["ddi", "countrycode", "phonecountrycode", "dialcode"];
/// Names of the country of a phone: its ISO code or its dialling code, or an object of these.
pub const COUNTRIES: &[&str] = &[
    "country",
    "phonecountry",
    "countryiso",
    "countryiso2",
    "countryisocode",
    "iso2",
    "pais",
    "codigopais",
    "callingcode",
];
/// Whether a folded name says that a phone has its country code.
pub fn is_international(name: &str) -> bool {
    let parts = ["e164", "international", "formatted", "full"];
    parts.iter().any(|part| name.contains(part))
}

/// Parts of an address: beside one of them, a country belongs to the address.
pub const ADDRESS_PARTS: &[&str] = &[
    "address",
    "street",
    "city",
    "state",
    "zip",
    "postalcode",
    "endereco",
    "rua",
    "cidade",
    "estado",
    "cep",
    "direccion",
    "calle",
    "ciudad",
];
/// Names of a phone without its codes; alone they are the number of a house.
pub const NUMBERS: &[&str] = &["numero", "number", "num"];

pub const EMAILS: &[&str] = &[
    "email",
    "emails",
    "emailaddress",
    "emailaddresses",
    "mail",
    "correo",
    "correoelectronico",
    "enderecodeemail",
    "seuemail",
    "youremail",
    "tuemail",
    "useremail",
    "personalemail",
    "contactemail",
    "contactmail",
    "courriel",
    "emailcontato",
    "emailcontacto",
    "leademail",
    "emaillead",
    "customeremail",
    "emailcliente",
    "emaildocliente",
    "email1",
    "primaryemail",
    "workemail",
    "businessemail",
    "email2",
    "secondaryemail",
];
/// Names under which a form tool sends the account that opened the form: used only if the
/// form asked for no address.
pub const LAST_EMAILS: &[&str] = &["respondentemail", "respondent", "replyto"];

pub const MESSAGES: &[&str] = &[
    "message",
    "mensagem",
    "mensaje",
    "messagetext",
    "textomensagem",
    "suamensagem",
    "yourmessage",
    "tumensaje",
    "deixesuamensagem",
    "contactmessage",
    "enquirymessage",
    "inquirymessage",
    "txtmensagem",
    "contactcomments",
    "contactcomment",
    "nachricht",
    "messaggio",
    "msg",
    "comments",
    "comment",
    "comentarios",
    "comentario",
    "observacoes",
    "observacao",
    "observaciones",
    "observacion",
    "obs",
    "enquiry",
    "inquiry",
    "consulta",
    "duvida",
    "pergunta",
    "pregunta",
    "question",
    "notes",
    "note",
    "notas",
    "nota",
    "texto",
    "text",
];

/// Names of a long answer, which is the message if nothing else is.
pub const LAST_MESSAGES: &[&str] = &["textarea"];

pub const CLIENT_LISTINGS: &[&str] = &[
    "clientlistingid",
    "codigodoanunciante",
    "codigoanunciante",
    "claveinterna",
    "codigoimovel",
    "codigodoimovel",
    "imovelcodigo",
    "codimovel",
    "qualocodigodoimovel",
    "refimovel",
    "referenciaimovel",
    "imovelreferencia",
    "referencia",
    "reference",
    "codigopropiedad",
    "codigointerno",
    "propertyreference",
    "propertyref",
    "propertycode",
    "propertyid",
    "agencyreference",
    "listingref",
    "listingreference",
    "listingcode",
    "listingid",
    "idimovel",
    "imovelid",
    "idpropiedad",
    "productid",
    "productcode",
    "sku",
    "mlsnumber",
    "mlsid",
    "stocknumber",
    "imovel",
    "inmueble",
    "propiedad",
    "property",
    "empreendimento",
    "imoveldeinteresse",
];
pub const PORTAL_LISTINGS: &[&str] = &[
    "originlistingid",
    "portallistingid",
    "adlistingid",
    "idanuncio",
    "anuncioid",
    "idaviso",
    "codigoanuncio",
    "adcode",
    "portalpropertyid",
    "exposeid",
];
/// Objects that describe the listing.
pub const LISTING_OBJECTS: &[&str] = &[
    "ad",
    "anuncio",
    "aviso",
    "imovel",
    "inmueble",
    "propiedad",
    "property",
    "listing",
    "listingdetails",
    "expose",
    "product",
    "produto",
    "producto",
    "unit",
    "unidade",
    "empreendimento",
];
/// Names of the client's own reference in such an object.
pub const LISTING_REFERENCES: &[&str] = &[
    "clientlistingid",
    "clientreference",
    "reference",
    "referencia",
    "ref",
    "externalid",
    "codigo",
    "mlsnumber",
    "mlsid",
    "sku",
    "code",
];

pub const TIMES: &[&str] = &[
    "createdat",
    "createdtime",
    "createdon",
    "created",
    "datecreated",
    "creationdate",
    "submittedat",
    "submissiondate",
    "leadsubmittime",
    "submittime",
    "submitteddate",
    "timestamp",
    "occurredat",
    "requestdate",
    "createdatepochseconds",
    "dataregistro",
    "fecharegistro",
    "datacadastro",
    "datacriacao",
    "datahora",
    "dataehora",
    "datahoracadastro",
    "datacontato",
    "dataenvio",
    "fechacreacion",
    "fechahora",
    "fechacontacto",
    "datetime",
    "criadoem",
    "receivedat",
    "eventtimestamp",
    "eventtime",
    "date",
    "data",
    "fecha",
    "time",
    "carimbodedatahora",
];
pub const DATES: &[&str] = &["date", "data", "fecha", "datacadastro"];
pub const HOURS: &[&str] = &["time", "hora", "hour", "horario", "ora"];

pub const SOURCES: &[&str] = &[
    "leadorigin",
    "leadsource",
    "origemlead",
    "origemdolead",
    "origem",
    "origen",
    "origin",
    "source",
    "fonte",
    "fuente",
    "canal",
    "midia",
    "portal",
    "utmsource",
];

pub const TESTS: &[&str] = &["istest", "test", "teste", "testlead", "prueba", "isteste"];

pub const CAMPAIGN: &[(&str, &[&str])] = &[
    ("campaign-id", &["campaignid", "idcampanha", "idcampana"]),
    (
        "campaign-name",
        &[
            "campaignname",
            "campaign",
            "campanha",
            "campana",
            "nomecampanha",
        ],
    ),
    ("adset-id", &["adsetid"]),
    ("adset-name", &["adsetname"]),
    ("adgroup-id", &["adgroupid"]),
    ("asset-group-id", &["assetgroupid"]),
    ("ad-id", &["adid"]),
    ("ad-name", &["adname"]),
    ("creative-id", &["creativeid"]),
    ("form-id", &["formid", "leadformid"]),
    ("form-name", &["formname", "formtitle"]),
    ("page-id", &["pageid"]),
    ("gclid", &["gclid", "gclickid"]),
    ("fbclid", &["fbclid"]),
    ("utm-source", &["utmsource"]),
    ("utm-medium", &["utmmedium"]),
    ("utm-campaign", &["utmcampaign"]),
    ("utm-term", &["utmterm"]),
    ("utm-content", &["utmcontent"]),
];

/// Parts of names for another person's contact.
pub const OTHERS: &[&str] = &[
    "corretor",
    "broker",
    "agent",
    "agente",
    "owner",
    "propriet",
    "dono",
    "duen",
    "vendor",
    "vended",
    "seller",
    "advert",
    "anunciante",
    "imobiliaria",
    "inmobiliaria",
    "agency",
    "agencia",
    "recipient",
    "destin",
    "user",
    "usuario",
    "respondent",
    "account",
    "store",
    "loja",
    "tienda",
    "dealer",
    "provider",
    "assign",
    "responsavel",
    "responsable",
    "manager",
    "gerente",
    "sender",
    "support",
    "captador",
    "secretaria",
    "parceiro",
    "partner",
    "admin",
    "friend",
    "amigo",
    "referr",
    "indica",
    "salesman",
    "salesperson",
    "consultor",
    "atendente",
    "realtor",
    "notif",
    "from",
    "landlord",
    "office",
    "escritorio",
    "branch",
    "conjuge",
    "conyuge",
    "spouse",
    "emergenc",
    "organizer",
    "organizador",
    "creator",
    "createdby",
    "criadopor",
    "updatedby",
    "staff",
    "employee",
    "funcionario",
    "displayphone",
    "remetente",
    "suporte",
];

/// Parts of such names that refer to a private person rather than the advertiser or
/// its staff. `owner` is not one: in a CRM it is the salesperson.
pub const PRIVATE: &[&str] = &[
    "propriet",
    "dono",
    "duen",
    "landlord",
    "friend",
    "amigo",
    "referr",
    "indica",
    "indicou",
    "conjuge",
    "conyuge",
    "spouse",
    "emergenc",
    "fiador",
    "avalista",
    "guarantor",
];

/// Parts of the names of documents and dates that are a person's.
pub const DOCUMENTS: &[&str] = &[
    "cpf",
    "documento",
    "document",
    "passport",
    "passaporte",
    "nascimento",
    "birth",
    "nacimiento",
];

/// Parts of names that ask for no person, although they name one: `referral_source`.
pub const OF_NO_PERSON: &[&str] = &[
    "source", "origem", "origen", "canal", "channel", "tipo", "type", "campan", "campaign", "url",
    "code", "codigo",
];

/// Objects that are not a person, though they may have a phone or an address.
pub const THINGS: &[&str] = &[
    "company",
    "empresa",
    "organization",
    "organizacao",
    "condominio",
    "projeto",
    "project",
    "form",
    "formulario",
    "page",
    "pagina",
    "site",
    "source",
    "origem",
    "campaign",
    "campanha",
    "conta",
];

/// Objects with a company's own contact.
pub const CONTACT_PARTS: &[&str] = &[
    "contact",
    "contato",
    "contacto",
    "contatos",
    "contactos",
    "contacts",
    "contactinfo",
    "contactdetails",
    "info",
];

/// Lists that are leads by their name, in the documented places.
pub const LEADS: &[&str] = &[
    "leads",
    "lead",
    "prospects",
    "prospect",
    "entry",
    "submissions",
    "adf",
];

/// Names that only events have.
pub const EVENTS: &[&str] = &[
    "event",
    "eventname",
    "eventtype",
    "tipoevento",
    "tipowebhook",
    "evento",
    "subscriptiontype",
    "action",
    "hook",
    "webhook",
    "webhookevent",
    "ping",
    "topic",
    "trigger",
    "challenge",
    "verification",
    "leadaction",
];

/// Lists with which every field of a body is compared.
static IS_CONTAINER: LazyLock<BTreeSet<&str>> = LazyLock::new(|| set(CONTAINERS));
static IS_PHONE: LazyLock<BTreeSet<&str>> = LazyLock::new(|| set(PHONES));
static IS_EMAIL: LazyLock<BTreeSet<&str>> = LazyLock::new(|| set(EMAILS));

fn set(names: &[&'static str]) -> BTreeSet<&'static str> {
    names.iter().copied().collect()
}

/// Whether an object with this folded name contains the lead, or a part of it.
pub fn is_container(name: &str) -> bool {
    IS_CONTAINER.contains(name)
}

/// Whether a folded name is a usual one of the lead's id, name, contacts, message or listing.
pub fn is_usual(name: &str) -> bool {
    let lists = [
        IDS,
        PLAIN_IDS,
        FULL_NAMES,
        NAMES,
        MESSAGES,
        CLIENT_LISTINGS,
        PORTAL_LISTINGS,
    ];
    is_contact(name) || lists.iter().any(|list| list.contains(&name))
}

/// Whether a folded name is a usual one of a phone.
pub fn is_phone(name: &str) -> bool {
    IS_PHONE.contains(name) || is_mobile(name)
}

/// Whether a folded name has only words for a mobile and for a phone: `phone_cell`, `Mobiltelefon`, `celular2`.
pub fn is_mobile(name: &str) -> bool {
    // Of two that begin alike the longer one comes first.
    const MOBILE: [&str; 17] = [
        "whatsapp", "whats", "wpp", "zap", "celular", "cellular", "cell", "cel", "mobile", "mobil",
        "movil", "movel", "mob", "handy", "gsm", "sms", "tlm",
    ];
    const WORDS: [&str; 18] = [
        "telefone",
        "telefono",
        "telefon",
        "telephone",
        "tele",
        "tel",
        "phone",
        "fone",
        "funk",
        "numero",
        "number",
        "nummer",
        "num",
        "nr",
        "de",
        "do",
        "work",
        "home",
    ];
    let mut rest = name
        .strip_suffix(|c: char| c.is_ascii_digit())
        .unwrap_or(name);
    let mut is_mobile = false;
    while !rest.is_empty() {
        let after = |word: &&str| rest.strip_prefix(*word);
        let mobile = MOBILE.iter().find_map(after);
        is_mobile |= mobile.is_some();
        let Some(next) = mobile.or_else(|| WORDS.iter().find_map(after)) else {
            return false;
        };
        rest = next;
    }
    is_mobile
}

/// Whether a folded name is a usual one of an e-mail address.
pub fn is_email(name: &str) -> bool {
    IS_EMAIL.contains(name)
}

/// Whether a folded name asks for a phone or an e-mail address.
pub fn is_contact(name: &str) -> bool {
    is_phone(name) || is_email(name)
}
