//! The usual names of fields in Portuguese, Spanish and English, likeliest first, folded:
//! without case, accents, spaces and signs. The mapping converter of Leadhost guesses by
//! the same lists.

/// Objects in which sources put the lead, or a part of it.
#[rustfmt::skip]
pub const CONTAINERS: &[&str] = &[
    "lead", "contact", "contato", "contacto", "person", "pessoa", "persona", "customer",
    "cliente", "applicant", "prospect", "inquirer", "enquirer", "interessado", "interesado",
    "comprador", "buyer", "guest", "data", "dados", "datos", "payload", "body", "submission",
    "formresponse", "rawrequest", "fields", "campos", "formdata", "formfields", "answers",
    "responses", "respostas", "respuestas", "values", "valores", "properties", "attributes",
    "inquiry", "enquiry", "message", "mensagem", "leaddata", "userdata", "adf", "facebook",
    "tiktok", "summary", "info", "contactinfo", "contactdetails", "personaldetails", "record",
    "visitor", "visitante", "current", "item", "entry", "result", "json", "leads", "contatos",
    "contactos", "contacts", "datajson",
];

/// Texts that may be JSON: form builders send the whole answer in one field.
#[rustfmt::skip]
pub const JSON_TEXTS: &[&str] = &[
    "rawrequest", "datajson", "message", "payload", "data", "json", "lead", "body",
];

/// Containers that are a person: their `id` is the person's, not the lead's.
#[rustfmt::skip]
pub const PERSONS: &[&str] = &[
    "contatos", "contactos", "contacts", "visitor", "visitante", "contact", "contato",
    "contacto", "person", "pessoa", "persona", "customer", "cliente", "interessado",
    "interesado", "comprador", "buyer", "guest", "contactinfo", "userdata", "inquirer",
    "enquirer", "contactdetails", "personaldetails",
];

/// Containers of single fields: an `id` in one is a field's, not the lead's.
pub const FIELD_GROUPS: &[&str] = &["fields", "campos", "formfields", "message", "mensagem"];

/// Containers whose names are questions, which the author of the form wrote.
#[rustfmt::skip]
pub const QUESTION_GROUPS: &[&str] = &[
    "answers", "responses", "respostas", "respuestas", "rawrequest", "fields", "campos",
    "formdata", "formfields",
];

/// Ids of the lead.
#[rustfmt::skip]
pub const IDS: &[&str] = &[
    "leadid", "idlead", "originleadid", "leadgenid", "submissionid", "responseid", "entryid",
    "leaduuid", "externalid", "externalleadid", "idmensagem", "idmensaje", "leadref",
    "leadreference", "inquiryid", "enquiryid", "idcontato", "idcontacto", "conversionid",
    "idexterno", "uniqueid",
];

/// Ids of the lead outside of a person and of single fields.
pub const PLAIN_IDS: &[&str] = &["id", "uuid", "guid"];

/// Names in one piece.
#[rustfmt::skip]
pub const FULL_NAMES: &[&str] = &[
    "fullname", "nomecompleto", "nombrecompleto", "nombreyapellido", "nombreyapellidos",
    "nomeesobrenome", "seunome", "seunomecompleto", "yourname", "yourfullname", "tunombre",
    "sunombre", "leadname", "nomelead", "nomedolead", "customername", "contactname",
    "contactperson", "pessoadecontato", "personadecontacto",
    "nomecontato", "nomedocontato", "nombrecontacto", "nomecliente", "nomedocliente",
    "nombrecliente", "nomeinteressado", "displayname",
];

/// The first part of a name.
#[rustfmt::skip]
pub const FIRST_NAMES: &[&str] = &[
    "firstname", "first", "fname", "givenname", "primeironome", "primernombre", "nome",
    "nombre", "nombres", "name", "yourfirstname",
];

/// The last part of a name.
#[rustfmt::skip]
pub const LAST_NAMES: &[&str] = &[
    "lastname", "last", "lname", "surname", "familyname", "sobrenome", "ultimonome",
    "apellido", "apellidos", "yourlastname", "apelido",
];

/// Names in one piece, or objects of a name's parts.
pub const NAMES: &[&str] = &[
    "name", "nome", "nombre", "names", "contato", "contacto", "contact",
];

/// Parts of questions for the whole name.
#[rustfmt::skip]
pub const NAME_PARTS: &[&str] = &[
    "fullname", "nomecompleto", "nombrecompleto", "yourname", "seunome", "tunombre",
    "sunombre",
];

/// Words of a name, which with one of `LEAD_WORDS` say whose it is: `buyer_name`.
#[rustfmt::skip]
pub const NAME_WORDS: &[&str] = &[
    "fullname", "nomecompleto", "nombrecompleto", "nome", "nombre", "name",
];

/// Such words of its first part.
#[rustfmt::skip]
pub const FIRST_NAME_WORDS: &[&str] = &[
    "firstname", "givenname", "fname", "primeironome", "primernombre",
];

/// Such words of its last part.
#[rustfmt::skip]
pub const LAST_NAME_WORDS: &[&str] = &[
    "lastname", "familyname", "surname", "lname", "sobrenome", "ultimonome", "apellido",
    "apellidos",
];

/// Words for the lead.
#[rustfmt::skip]
pub const LEAD_WORDS: &[&str] = &[
    "lead", "contact", "contato", "contacto", "customer", "cliente", "person", "pessoa",
    "persona", "prospect", "buyer", "comprador", "compradora", "visitor", "visitante",
    "inquirer", "enquirer", "interessado", "interessada", "interesado", "interesada",
    "applicant", "guest", "requester", "solicitante", "candidato", "candidate", "consumidor",
    "consumer", "aluno", "student", "paciente", "patient", "participante", "participant",
    "attendee", "inscrito",
];

/// Phones, likeliest first.
#[rustfmt::skip]
pub const PHONES: &[&str] = &[
    "whatsapp", "whatsappnumber", "numerowhatsapp", "numerodewhatsapp", "telefonewhatsapp",
    "whatsapptelefone", "celular", "celularwhatsapp", "telefonecelular", "telefonocelular",
    "telefonomovil", "movil", "mobilephone", "mobile", "mobilenumber", "mobilephonenumber",
    "cellphone", "cellphonenumber", "cell", "phonemobile", "telemovel", "phonenumber",
    "phone", "phones", "fullphone", "telefone", "telefones", "telefon", "telefonnummer", "telefono", "telefonos",
    "telephone", "telephonenumber", "tel", "fone", "seutelefone", "yourphone", "tutelefono",
    "contactphone", "contactnumber", "telefonecontato", "telefonedecontato",
    "telefonocontacto", "leadphone", "customerphone", "telefonecliente", "celularcliente",
    "userphone", "telefone1", "phone1", "personalphone", "homephone", "phonehome",
    "telefoneresidencial", "daytimephone", "eveningphone", "personphonemain", "telefone2",
    "phone2", "telefone3", "secondaryphone", "otherphone", "workphone", "workphonenumber",
    "phonework", "telefonecomercial", "companyphone", "companyphonemain", "yourtel", "zap",
    "wpp", "whats", "numerowpp", "numerozap", "msisdn", "fones", "celulares", "moviles",
    "mobiles",
];

/// Parts of other names of phones.
#[rustfmt::skip]
pub const PHONE_PARTS: &[&str] = &[
    "telefone", "telefono", "celular", "whatsapp", "phone", "fone", "mobile", "movil",
];

/// The number in an object that is a phone.
#[rustfmt::skip]
pub const NUMBERS: &[&str] = &[
    "value", "number", "full", "numero", "phone", "telefone", "telefono", "phonenumber",
    "raw", "e164", "internationalnumber", "nationalnumber", "formatted", "num",
];

/// Numbers that are a phone beside an area code; alone they are that of a house.
pub const BARE_NUMBERS: &[&str] = &["numero", "number", "num"];

/// Area codes that make a number beside them a phone.
pub const BARE_AREA_CODES: &[&str] = &["ddd", "areacode"];

/// Area codes beside a phone.
pub const AREA_CODES: &[&str] = &["ddd", "areacode", "codigoarea", "codigodearea"];

/// The area code in an object that is nothing but a phone; elsewhere it is that of a house.
pub const PHONE_AREAS: &[&str] = &["area"];

/// What else is in such an object.
pub const PHONE_DETAILS: &[&str] = &["country", "type", "tipo", "extension", "ext"];

/// Country codes beside a phone.
pub const COUNTRY_CODES: &[&str] = &["ddi", "countrycode", "phonecountrycode", "dialcode"];

/// E-mail addresses, likeliest first.
#[rustfmt::skip]
pub const EMAILS: &[&str] = &[
    "email", "emails", "emailaddress", "emailaddresses", "mail", "contactmail", "courriel", "correo",
    "correoelectronico", "enderecodeemail", "seuemail", "youremail", "tuemail", "useremail",
    "personalemail", "contactemail", "emailcontato", "emailcontacto", "leademail",
    "emaillead", "customeremail", "emailcliente", "emaildocliente", "email1", "primaryemail",
    "workemail", "businessemail", "email2", "secondaryemail",
];

/// Parts of other names of e-mail addresses.
pub const EMAIL_PARTS: &[&str] = &["email", "correo"];

/// What the lead wrote.
#[rustfmt::skip]
pub const MESSAGES: &[&str] = &[
    "message", "mensagem", "mensaje", "messagetext", "textomensagem", "suamensagem",
    "deixesuamensagem", "contactmessage", "enquirymessage", "inquirymessage", "txtmensagem",
    "contactcomments", "contactcomment", "nachricht", "messaggio",
    "yourmessage", "tumensaje", "msg", "comments", "comment", "comentarios", "comentario",
    "observacoes", "observacao", "observaciones", "observacion", "obs", "enquiry", "inquiry",
    "consulta", "duvida", "pergunta", "pregunta", "question", "notes", "note", "notas",
    "nota", "texto", "text",
];

/// The client's own reference of the listing.
#[rustfmt::skip]
pub const CLIENT_LISTINGS: &[&str] = &[
    "clientlistingid", "codigodoanunciante", "codigoanunciante", "claveinterna",
    "codigoimovel", "codigodoimovel", "imovelcodigo", "codimovel", "referenciaimovel",
    "imovelreferencia", "referencia", "reference", "codigopropiedad", "codigointerno",
    "propertyreference", "propertyref", "propertycode", "propertyid", "listingref",
    "listingreference", "listingcode", "listingid", "idimovel", "imovelid", "idpropiedad",
    "productid", "productcode", "sku", "mlsnumber", "mlsid", "stocknumber", "imovel",
    "inmueble", "propiedad", "property", "empreendimento",
];

/// The portal's reference of the listing.
#[rustfmt::skip]
pub const PORTAL_LISTINGS: &[&str] = &[
    "originlistingid", "portallistingid", "adlistingid", "idanuncio", "anuncioid", "idaviso",
    "codigoanuncio",
];

/// Objects that describe the listing.
#[rustfmt::skip]
pub const LISTING_OBJECTS: &[&str] = &[
    "ad", "anuncio", "aviso", "imovel", "inmueble", "propiedad", "property", "listing",
    "listingdetails", "product", "produto", "producto", "unit", "unidade", "empreendimento",
];

/// The client's own reference in such an object.
#[rustfmt::skip]
pub const LISTING_REFERENCES: &[&str] = &[
    "clientlistingid", "clientreference", "reference", "referencia", "ref", "externalid",
    "codigo", "mlsnumber", "mlsid", "sku", "code",
];

/// The portal's reference in such an object.
pub const LISTING_IDS: &[&str] = &["id", "listingid"];

/// Times of the lead, likeliest first.
#[rustfmt::skip]
pub const TIMES: &[&str] = &[
    "createdat", "createdtime", "createdon", "created", "datecreated", "creationdate",
    "submittedat", "submissiondate", "leadsubmittime", "submittime", "submitteddate",
    "timestamp", "occurredat", "requestdate", "createdatepochseconds", "dataregistro",
    "fecharegistro", "datacadastro", "datacriacao", "datahora", "dataehora",
    "datahoracadastro", "datacontato", "dataenvio", "fechacreacion", "fechahora",
    "fechacontacto", "datetime", "criadoem", "receivedat", "eventtimestamp", "eventtime",
    "date", "data", "fecha", "time", "carimbodedatahora",
];

/// Dates, with the time of day in a field of its own.
pub const DATES: &[&str] = &["date", "data", "fecha", "datacadastro"];

/// Times of day beside a date.
pub const HOURS: &[&str] = &["time", "hora", "ora", "hour", "horario"];

/// Names of the source of the lead.
#[rustfmt::skip]
pub const SOURCES: &[&str] = &[
    "leadorigin", "leadsource", "origemlead", "origemdolead", "origem", "origen", "origin",
    "source", "fonte", "fuente", "canal", "midia", "portal", "utmsource",
];

/// Campaign data: the name that the host knows, and the usual names of the field.
#[rustfmt::skip]
pub const CAMPAIGN: &[(&str, &[&str])] = &[
    ("campaign-id", &["campaignid", "idcampanha", "idcampana"]),
    ("campaign-name", &["campaignname", "campaign", "campanha", "campana", "nomecampanha"]),
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

/// Whether the lead is a test.
pub const TESTS: &[&str] = &["istest", "test", "teste", "testlead", "prueba", "isteste"];

/// Folded words for yes.
#[rustfmt::skip]
pub const YES: &[&str] = &[
    "true", "1", "yes", "y", "sim", "s", "si", "on", "test", "teste", "aceito", "accepted",
    "granted",
];

/// Names that only events have.
#[rustfmt::skip]
pub const EVENTS: &[&str] = &[
    "event", "eventname", "eventtype", "tipoevento", "tipowebhook", "evento",
    "subscriptiontype", "action", "hook", "webhook", "webhookevent", "ping", "topic", "trigger",
    "challenge", "verification", "leadaction",
];

/// Usual names of lists of questions and answers.
#[rustfmt::skip]
pub const QUESTION_LISTS: &[&str] = &[
    "submissions", "usercolumndata", "fielddata", "leadform", "answers", "fields", "campos",
    "formfields", "formdata", "questions", "perguntas", "preguntas", "responses", "respostas",
    "respuestas", "columns", "inputs", "leadfields", "data", "values", "questionsandanswers",
    "customquestions", "formresponses", "questionanswers",
];

/// In such a list, the question, most readable first.
#[rustfmt::skip]
pub const QUESTION_NAMES: &[&str] = &[
    "columnname", "label", "fieldlabel", "title", "titulo", "question", "pergunta", "pregunta",
    "friendlyname", "text", "rotulo", "etiqueta", "name", "nome", "nombre", "field", "campo",
    "questionname", "fieldname", "key", "slug", "chave", "clave", "columnid", "attribute",
    "atributo", "column", "property", "propriedade", "parameter", "variable", "fieldkey",
    "fieldcode", "code", "ref", "questionid", "id",
];

/// In such a list, the type of an answer.
pub const KINDS: &[&str] = &["type", "tipo", "kind", "channel", "canal"];

/// In such a list, the answer. A text is the question if there is another answer.
#[rustfmt::skip]
pub const ANSWERS: &[&str] = &[
    "stringvalue", "value", "values", "answer", "answers", "resposta", "respostas",
    "respuesta", "respuestas", "response", "valor", "valores", "fieldvalue", "answervalue",
    "answerdetails", "textanswers", "content", "conteudo", "texto", "text",
];

/// Parts of names of another person's contact, such as the broker's.
#[rustfmt::skip]
pub const OTHERS: &[&str] = &[
    "corretor", "broker", "agent", "agente", "owner", "propriet", "dono", "duen", "vendor",
    "vended", "seller", "advert", "anunciante", "imobiliaria", "inmobiliaria", "agency",
    "agencia", "recipient", "destin", "user", "usuario", "respondent", "account", "store",
    "loja", "tienda", "dealer", "provider", "assign", "responsavel", "responsable", "manager",
    "gerente", "sender", "support", "captador", "secretaria", "parceiro", "partner", "admin",
    "friend", "amigo", "referr", "indica", "salesman", "salesperson", "consultor",
    "atendente", "realtor", "notif", "from", "landlord", "office", "escritorio", "branch",
    "conjuge", "spouse", "organizer", "organizador", "creator", "createdby", "criadopor",
    "updatedby", "staff", "employee", "funcionario", "displayphone", "remetente", "suporte",
];

/// Parts of such names that are a private person's, and neither the advertiser's nor its staff's.
#[rustfmt::skip]
pub const PRIVATE: &[&str] = &[
    "propriet", "dono", "duen", "landlord", "friend", "amigo", "referr", "indica", "conjuge",
    "spouse",
];

/// Objects that are no person, though they may have a phone or an address; so are listings.
#[rustfmt::skip]
pub const THINGS: &[&str] = &[
    "company", "empresa", "organization", "organizacao", "condominio", "projeto", "project",
    "form", "formulario", "page", "pagina", "site", "source", "origem", "campaign", "campanha",
    "conta",
];

/// Objects in these that have their own contact.
#[rustfmt::skip]
pub const CONTACT_OBJECTS: &[&str] = &[
    "contact", "contato", "contacto", "contatos", "contactos", "contacts", "contactinfo",
    "contactdetails", "info",
];
