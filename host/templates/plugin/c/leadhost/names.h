// The usual names of fields in Portuguese, Spanish and English, folded: letters and
// digits in lower case without accents. The same as in the host's mapping converter.
// Each list ends in NULL.

// Objects in which sources put the lead, or a part of it.
static const char *const names_containers[] = {
    "lead", "contact", "contato", "contacto", "person", "pessoa", "persona", "customer",
    "cliente", "applicant", "prospect", "inquirer", "enquirer", "interessado",
    "interesado", "comprador", "buyer", "guest", "data", "dados", "datos", "payload",
    "body", "submission", "formresponse", "rawrequest", "fields", "campos", "formdata",
    "formfields", "answers", "responses", "respostas", "respuestas", "values", "valores",
    "properties", "attributes", "inquiry", "enquiry", "message", "mensagem", "leaddata",
    "userdata", "adf", "facebook", "tiktok", "summary", "info", "contactinfo",
    "contactdetails", "personaldetails", "record", "visitor", "visitante", "current",
    "item", "entry", "result", "json", "leads", "contatos", "contactos", "contacts",
    "datajson", NULL,
};

// Texts that may be JSON: form builders send the whole answer in one field.
static const char *const names_json_texts[] = {
    "rawrequest", "datajson", "message", "payload", "data", "json", "lead", "body", NULL,
};

// Containers that are a person: their `id` is the person's, not the lead's.
static const char *const names_persons[] = {
    "contatos", "contactos", "contacts", "visitor", "visitante", "contact", "contato",
    "contacto", "person", "pessoa", "persona", "customer", "cliente", "interessado",
    "interesado", "comprador", "buyer", "guest", "contactinfo", "userdata", "inquirer",
    "enquirer", "contactdetails", "personaldetails", NULL,
};

// Containers of single fields: an `id` in one is a field's, not the lead's.
static const char *const names_field_groups[] = {
    "fields", "campos", "formfields", "message", "mensagem", NULL,
};

// Containers whose names are questions, which the author of the form wrote.
static const char *const names_question_groups[] = {
    "answers", "responses", "respostas", "respuestas", "rawrequest", "fields", "campos",
    "formdata", "formfields", NULL,
};

// Names of the lead's id.
static const char *const names_ids[] = {
    "leadid", "idlead", "originleadid", "leadgenid", "submissionid", "responseid",
    "entryid", "leaduuid", "externalid", "externalleadid", "idmensagem", "idmensaje",
    "leadref", "leadreference", "inquiryid", "enquiryid", "idcontato", "idcontacto",
    "conversionid", "idexterno", "uniqueid", NULL,
};

// Names of an id that is the lead's outside of a person and of single fields.
static const char *const names_plain_ids[] = {
    "id", "uuid", "guid", NULL,
};

// Names of a person's whole name.
static const char *const names_full_names[] = {
    "fullname", "nomecompleto", "nombrecompleto", "nombreyapellido", "nombreyapellidos",
    "nomeesobrenome", "seunome", "seunomecompleto", "yourname", "yourfullname",
    "tunombre", "sunombre", "leadname", "nomelead", "nomedolead", "customername",
    "contactname", "contactperson", "pessoadecontato", "personadecontacto",
    "nomecontato", "nomedocontato", "nombrecontacto", "nomecliente",
    "nomedocliente", "nombrecliente", "nomeinteressado", "displayname", NULL,
};

// Names of the first part of it.
static const char *const names_first_names[] = {
    "firstname", "first", "fname", "givenname", "primeironome", "primernombre", "nome",
    "nombre", "nombres", "name", "yourfirstname", NULL,
};

// Names of the last part of it.
static const char *const names_last_names[] = {
    "lastname", "last", "lname", "surname", "familyname", "sobrenome", "ultimonome",
    "apellido", "apellidos", "yourlastname", "apelido", NULL,
};

// Names of a name that may also be something else's.
static const char *const names_plain_names[] = {
    "name", "nome", "nombre", "names", "contato", "contacto", "contact", NULL,
};

// Words for the lead, in names such as `buyer_name`.
static const char *const names_lead_words[] = {
    "lead", "contact", "contato", "contacto", "customer", "cliente", "person", "pessoa",
    "persona", "prospect", "buyer", "comprador", "compradora", "visitor", "visitante",
    "inquirer", "enquirer", "interessado", "interessada", "interesado", "interesada",
    "applicant", "guest", "requester", "solicitante", "candidato", "candidate",
    "consumidor", "consumer", "aluno", "student", "paciente", "patient", "participante",
    "participant", "attendee", "inscrito", NULL,
};

// Words for a whole name in such names.
static const char *const names_name_words[] = {
    "fullname", "nomecompleto", "nombrecompleto", "nome", "nombre", "name", NULL,
};

// Words for a first name in such names.
static const char *const names_first_name_words[] = {
    "firstname", "givenname", "fname", "primeironome", "primernombre", NULL,
};

// Words for a last name in such names.
static const char *const names_last_name_words[] = {
    "lastname", "familyname", "surname", "lname", "sobrenome", "ultimonome", "apellido",
    "apellidos", NULL,
};

// Names of a phone, best first.
static const char *const names_phones[] = {
    "whatsapp", "whatsappnumber", "numerowhatsapp", "numerodewhatsapp",
    "telefonewhatsapp", "whatsapptelefone", "celular", "celularwhatsapp",
    "telefonecelular", "telefonocelular", "telefonomovil", "movil", "mobilephone",
    "mobile", "mobilenumber", "mobilephonenumber", "cellphone", "cellphonenumber",
    "cell", "phonemobile", "telemovel", "phonenumber", "phone", "phones", "fullphone",
    "telefone", "telefones", "telefon", "telefonnummer", "telefono", "telefonos", "telephone", "telephonenumber",
    "tel", "fone", "seutelefone", "yourphone", "tutelefono", "contactphone",
    "contactnumber", "telefonecontato", "telefonedecontato", "telefonocontacto",
    "leadphone", "customerphone", "telefonecliente", "celularcliente", "userphone",
    "telefone1", "phone1", "personalphone", "homephone", "phonehome",
    "telefoneresidencial", "daytimephone", "eveningphone", "personphonemain",
    "telefone2", "phone2", "telefone3", "secondaryphone", "otherphone", "workphone",
    "workphonenumber", "phonework", "telefonecomercial", "companyphone",
    "companyphonemain", "yourtel", "zap", "wpp", "whats", "numerowpp", "numerozap",
    "msisdn", "fones", "celulares", "moviles", "mobiles", NULL,
};

// Parts of other names of a phone.
static const char *const names_phone_parts[] = {
    "telefone", "telefono", "celular", "whatsapp", "phone", "fone", "mobile", "movil", NULL,
};

// Names of the number in an object that is a phone.
static const char *const names_phone_nodes[] = {
    "value", "number", "full", "numero", "phone", "telefone", "telefono", "phonenumber", "raw",
    "e164", "internationalnumber", "nationalnumber", "formatted", "num", NULL,
};

// Names of the area code beside a phone.
static const char *const names_area_codes[] = {
    "ddd", "areacode", "codigoarea", "codigodearea", NULL,
};

// The area code in an object that is nothing but a phone; elsewhere it is that of a house.
static const char *const names_phone_areas[] = {
    "area", NULL,
};

// What else is in such an object.
static const char *const names_phone_details[] = {
    "country", "type", "tipo", "extension", "ext", NULL,
};

// Names of the country code beside a phone.
static const char *const names_country_codes[] = {
    "ddi", "countrycode", "phonecountrycode", "dialcode", NULL,
};

// Names of a phone beside its area code; alone they are the number of a house.
static const char *const names_numbers[] = {
    "numero", "number", "num", NULL,
};

// Names of an e-mail address, best first.
static const char *const names_emails[] = {
    "email", "emails", "emailaddress", "emailaddresses", "mail", "contactmail", "courriel", "correo",
    "correoelectronico", "enderecodeemail", "seuemail", "youremail", "tuemail",
    "useremail", "personalemail", "contactemail", "emailcontato", "emailcontacto",
    "leademail", "emaillead", "customeremail", "emailcliente", "emaildocliente",
    "email1", "primaryemail", "workemail", "businessemail", "email2", "secondaryemail", NULL,
};

// Names of the message.
static const char *const names_messages[] = {
    "message", "mensagem", "mensaje", "messagetext", "textomensagem", "suamensagem",
    "deixesuamensagem", "contactmessage", "enquirymessage", "inquirymessage", "txtmensagem",
    "contactcomments", "contactcomment", "nachricht", "messaggio",
    "yourmessage", "tumensaje", "msg", "comments", "comment", "comentarios",
    "comentario", "observacoes", "observacao", "observaciones", "observacion", "obs",
    "enquiry", "inquiry", "consulta", "duvida", "pergunta", "pregunta", "question",
    "notes", "note", "notas", "nota", "texto", "text", NULL,
};

// Names of the workspace's own reference of a listing.
static const char *const names_client_listings[] = {
    "clientlistingid", "codigodoanunciante", "codigoanunciante", "claveinterna",
    "codigoimovel", "codigodoimovel", "imovelcodigo", "codimovel", "referenciaimovel",
    "imovelreferencia", "referencia", "reference", "codigopropiedad", "codigointerno",
    "propertyreference", "propertyref", "propertycode", "propertyid", "listingref",
    "listingreference", "listingcode", "listingid", "idimovel", "imovelid",
    "idpropiedad", "productid", "productcode", "sku", "mlsnumber", "mlsid",
    "stocknumber", "imovel", "inmueble", "propiedad", "property", "empreendimento", NULL,
};

// Names of the portal's reference of a listing.
static const char *const names_portal_listings[] = {
    "originlistingid", "portallistingid", "adlistingid", "idanuncio", "anuncioid",
    "idaviso", "codigoanuncio", NULL,
};

// Objects that describe a listing.
static const char *const names_listing_objects[] = {
    "ad", "anuncio", "aviso", "imovel", "inmueble", "propiedad", "property", "listing",
    "listingdetails", "product", "produto", "producto", "unit", "unidade",
    "empreendimento", NULL,
};

// Names of the workspace's own reference in such an object.
static const char *const names_listing_references[] = {
    "clientlistingid", "clientreference", "reference", "referencia", "ref", "externalid",
    "codigo", "mlsnumber", "mlsid", "sku", "code", NULL,
};

// Times of the lead, likeliest first.
static const char *const names_times[] = {
    "createdat", "createdtime", "createdon", "created", "datecreated", "creationdate",
    "submittedat", "submissiondate", "leadsubmittime", "submittime", "submitteddate",
    "timestamp", "occurredat", "requestdate", "createdatepochseconds", "dataregistro",
    "fecharegistro", "datacadastro", "datacriacao", "datahora", "dataehora",
    "datahoracadastro", "datacontato", "dataenvio", "fechacreacion", "fechahora",
    "fechacontacto", "datetime", "criadoem", "receivedat", "eventtimestamp",
    "eventtime", "date", "data", "fecha", "time", "carimbodedatahora", NULL,
};

// Dates, with the time of day in a field of its own.
static const char *const names_dates[] = {
    "date", "data", "fecha", "datacadastro", NULL,
};

// Times of day beside a date.
static const char *const names_hours[] = {
    "time", "hora", "ora", "hour", "horario", NULL,
};

// Names of the source of the lead.
static const char *const names_sources[] = {
    "leadorigin", "leadsource", "origemlead", "origemdolead", "origem", "origen",
    "origin", "source", "fonte", "fuente", "canal", "midia", "portal", "utmsource", NULL,
};

// Campaign data: the name that the host knows, and the usual names of the field.
static const struct {
    const char *name;
    const char *usual[6];
} names_campaign[] = {
    {"campaign-id", {"campaignid", "idcampanha", "idcampana", NULL}},
    {"campaign-name", {"campaignname", "campaign", "campanha", "campana", "nomecampanha", NULL}},
    {"adset-id", {"adsetid", NULL}},
    {"adset-name", {"adsetname", NULL}},
    {"adgroup-id", {"adgroupid", NULL}},
    {"asset-group-id", {"assetgroupid", NULL}},
    {"ad-id", {"adid", NULL}},
    {"ad-name", {"adname", NULL}},
    {"creative-id", {"creativeid", NULL}},
    {"form-id", {"formid", "leadformid", NULL}},
    {"form-name", {"formname", "formtitle", NULL}},
    {"page-id", {"pageid", NULL}},
    {"gclid", {"gclid", "gclickid", NULL}},
    {"fbclid", {"fbclid", NULL}},
    {"utm-source", {"utmsource", NULL}},
    {"utm-medium", {"utmmedium", NULL}},
    {"utm-campaign", {"utmcampaign", NULL}},
    {"utm-term", {"utmterm", NULL}},
    {"utm-content", {"utmcontent", NULL}},
};

// Parts of questions for the whole name.
static const char *const names_name_parts[] = {
    "fullname", "nomecompleto", "nombrecompleto", "yourname", "seunome", "tunombre",
    "sunombre", NULL,
};

// Names of whether the lead is a test.
static const char *const names_tests[] = {
    "istest", "test", "teste", "testlead", "prueba", "isteste", NULL,
};

// Folded words for yes.
static const char *const names_yes[] = {
    "true", "1", "yes", "y", "sim", "s", "si", "on", "test", "teste", "aceito", "accepted",
    "granted", NULL,
};

// Names that only events have.
static const char *const names_events[] = {
    "event", "eventname", "eventtype", "tipoevento", "tipowebhook", "evento",
    "subscriptiontype", "action", "hook", "webhook", "webhookevent", "ping", "topic",
    "trigger", "challenge", "verification", "leadaction", NULL,
};

// Usual names of lists of questions and answers.
static const char *const names_question_lists[] = {
    "submissions", "usercolumndata", "fielddata", "leadform", "answers", "fields",
    "campos", "formfields", "formdata", "questions", "perguntas", "preguntas",
    "responses", "respostas", "respuestas", "columns", "inputs", "leadfields", "data",
    "values", "questionsandanswers", "customquestions", "formresponses",
    "questionanswers", NULL,
};

// In such a list, the question, most readable first.
static const char *const names_question_names[] = {
    "columnname", "label", "fieldlabel", "title", "titulo", "question", "pergunta",
    "pregunta", "friendlyname", "text", "rotulo", "etiqueta", "name", "nome", "nombre",
    "field", "campo", "questionname", "fieldname", "key", "slug", "chave", "clave",
    "columnid", "attribute", "atributo", "column", "property", "propriedade",
    "parameter", "variable", "fieldkey", "fieldcode", "code", "ref", "questionid", "id",
    NULL,
};

// In such a list, the type of an answer.
static const char *const names_kinds[] = {
    "type", "tipo", "kind", "channel", "canal", NULL,
};

// In such a list, the answer. A text is the question if there is another answer.
static const char *const names_answers[] = {
    "stringvalue", "value", "values", "answer", "answers", "resposta", "respostas",
    "respuesta", "respuestas", "response", "valor", "valores", "fieldvalue",
    "answervalue", "answerdetails", "textanswers", "content", "conteudo", "texto",
    "text", NULL,
};

// Parts of names for another person's contact.
static const char *const names_others[] = {
    "corretor", "broker", "agent", "agente", "owner", "propriet", "dono", "duen",
    "vendor", "vended", "seller", "advert", "anunciante", "imobiliaria", "inmobiliaria",
    "agency", "agencia", "recipient", "destin", "user", "usuario", "respondent",
    "account", "store", "loja", "tienda", "dealer", "provider", "assign", "responsavel",
    "responsable", "manager", "gerente", "sender", "support", "captador", "secretaria",
    "parceiro", "partner", "admin", "friend", "amigo", "referr", "indica", "salesman",
    "salesperson", "consultor", "atendente", "realtor", "notif", "from", "landlord",
    "office", "escritorio", "branch", "conjuge", "spouse", "organizer", "organizador",
    "creator", "createdby", "criadopor", "updatedby", "staff", "employee", "funcionario",
    "displayphone", "remetente", "suporte", NULL,
};

// Parts of such names that are a private person's, and neither the advertiser's nor its staff's.
static const char *const names_private[] = {
    "propriet", "dono", "duen", "landlord", "friend", "amigo", "referr", "indica", "conjuge",
    "spouse", NULL,
};

// Objects that are no person, though they may have a phone or an address; so are listings.
static const char *const names_things[] = {
    "company", "empresa", "organization", "organizacao", "condominio", "projeto", "project",
    "form", "formulario", "page", "pagina", "site", "source", "origem", "campaign",
    "campanha", "conta", NULL,
};

// Objects in these that have their own contact.
static const char *const names_contact_objects[] = {
    "contact", "contato", "contacto", "contatos", "contactos", "contacts", "contactinfo",
    "contactdetails", "info", NULL,
};

// Credentials that sources send in a body, such as Google Ads; as they are written.
static const char *const names_usual_secrets[] = {
    "google_key", "apikey", "api_key", "api-key", "x-api-key", "access_token",
    "accessToken", "refresh_token", "refreshToken", "session_token", "id_token",
    "auth_token", "authToken", "client_secret", "clientSecret", "app_secret", "private_key",
    "password", "passwd", "senha", NULL,
};
