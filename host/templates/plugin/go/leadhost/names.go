package leadhost

// The usual names of fields in Portuguese, Spanish and English, folded: letters and
// digits in lower case without accents. The same as in the host's mapping converter.

var (
	// Objects in which sources put the lead, or a part of it.
	containers = []string{
		"lead", "contact", "contato", "contacto", "person", "pessoa", "persona", "customer",
		"cliente", "applicant", "prospect", "inquirer", "enquirer", "interessado",
		"interesado", "comprador", "buyer", "guest", "data", "dados", "datos", "payload",
		"body", "submission", "formresponse", "rawrequest", "fields", "campos", "formdata",
		"formfields", "answers", "responses", "respostas", "respuestas", "values", "valores",
		"properties", "attributes", "inquiry", "enquiry", "message", "mensagem", "leaddata",
		"userdata", "adf", "facebook", "tiktok", "summary", "info", "contactinfo",
		"contactdetails", "personaldetails", "record", "visitor", "visitante", "current",
		"item", "entry", "result", "json", "leads", "contatos", "contactos", "contacts",
		"datajson",
	}
	// Texts that may be JSON: form builders send the whole answer in one field.
	jsonTexts = []string{
		"rawrequest", "datajson", "message", "payload", "data", "json", "lead", "body",
	}
	// Containers that are a person: their `id` is the person's, not the lead's.
	persons = []string{
		"contatos", "contactos", "contacts", "visitor", "visitante", "contact", "contato",
		"contacto", "person", "pessoa", "persona", "customer", "cliente", "interessado",
		"interesado", "comprador", "buyer", "guest", "contactinfo", "userdata", "inquirer",
		"enquirer", "contactdetails", "personaldetails",
	}
	// Containers of single fields: an `id` in one is a field's, not the lead's.
	fieldGroups = []string{
		"fields", "campos", "formfields", "message", "mensagem",
	}
	// Containers whose names are questions, which the author of the form wrote.
	questionGroups = []string{
		"answers", "responses", "respostas", "respuestas", "rawrequest", "fields", "campos",
		"formdata", "formfields",
	}
	// Names of the lead's id.
	ids = []string{
		"leadid", "idlead", "originleadid", "leadgenid", "submissionid", "responseid",
		"entryid", "leaduuid", "externalid", "externalleadid", "idmensagem", "idmensaje",
		"leadref", "leadreference", "inquiryid", "enquiryid", "idcontato", "idcontacto",
		"conversionid", "idexterno", "uniqueid",
	}
	// Names of an id that is the lead's outside of a person and of single fields.
	plainIDs = []string{
		"id", "uuid", "guid",
	}
	// Names of a person's whole name.
	fullNames = []string{
		"fullname", "nomecompleto", "nombrecompleto", "nombreyapellido", "nombreyapellidos",
		"nomeesobrenome", "seunome", "seunomecompleto", "yourname", "yourfullname", "tunombre",
		"sunombre", "leadname", "nomelead", "nomedolead", "customername", "contactname",
		"contactperson", "pessoadecontato", "personadecontacto",
		"nomecontato", "nomedocontato", "nombrecontacto", "nomecliente", "nomedocliente",
		"nombrecliente", "nomeinteressado", "displayname",
	}
	// Names of the first part of it.
	firstNames = []string{
		"firstname", "first", "fname", "givenname", "primeironome", "primernombre", "nome",
		"nombre", "nombres", "name", "yourfirstname",
	}
	// Names of the last part of it.
	lastNames = []string{
		"lastname", "last", "lname", "surname", "familyname", "sobrenome", "ultimonome",
		"apellido", "apellidos", "yourlastname", "apelido",
	}
	// Names of a name that may also be something else's.
	plainNames = []string{
		"name", "nome", "nombre", "names", "contato", "contacto", "contact",
	}
	// Words for the lead, in names such as `buyer_name`.
	leadWords = []string{
		"lead", "contact", "contato", "contacto", "customer", "cliente", "person", "pessoa",
		"persona", "prospect", "buyer", "comprador", "compradora", "visitor", "visitante",
		"inquirer", "enquirer", "interessado", "interessada", "interesado", "interesada",
		"applicant", "guest", "requester", "solicitante", "candidato", "candidate",
		"consumidor", "consumer", "aluno", "student", "paciente", "patient", "participante",
		"participant", "attendee", "inscrito",
	}
	// Words for a whole name in such names.
	nameWords = []string{
		"fullname", "nomecompleto", "nombrecompleto", "nome", "nombre", "name",
	}
	// Words for a first name in such names.
	firstNameWords = []string{
		"firstname", "givenname", "fname", "primeironome", "primernombre",
	}
	// Words for a last name in such names.
	lastNameWords = []string{
		"lastname", "familyname", "surname", "lname", "sobrenome", "ultimonome", "apellido",
		"apellidos",
	}
	// Names of a phone, best first.
	phones = []string{
		"whatsapp", "whatsappnumber", "numerowhatsapp", "numerodewhatsapp", "telefonewhatsapp",
		"whatsapptelefone", "celular", "celularwhatsapp", "telefonecelular", "telefonocelular",
		"telefonomovil", "movil", "mobilephone", "mobile", "mobilenumber", "mobilephonenumber",
		"cellphone", "cellphonenumber", "cell", "phonemobile", "telemovel", "phonenumber",
		"phone", "phones", "fullphone", "telefone", "telefones", "telefon", "telefonnummer", "telefono", "telefonos",
		"telephone", "telephonenumber", "tel", "fone", "seutelefone", "yourphone",
		"tutelefono", "contactphone", "contactnumber", "telefonecontato", "telefonedecontato",
		"telefonocontacto", "leadphone", "customerphone", "telefonecliente", "celularcliente",
		"userphone", "telefone1", "phone1", "personalphone", "homephone", "phonehome",
		"telefoneresidencial", "daytimephone", "eveningphone", "personphonemain", "telefone2",
		"phone2", "telefone3", "secondaryphone", "otherphone", "workphone", "workphonenumber",
		"phonework", "telefonecomercial", "companyphone", "companyphonemain", "yourtel", "zap",
		"wpp", "whats", "numerowpp", "numerozap", "msisdn", "fones", "celulares", "moviles",
		"mobiles",
	}
	// Parts of other names of a phone.
	phoneParts = []string{
		"telefone", "telefono", "celular", "whatsapp", "phone", "fone", "mobile", "movil",
	}
	// Names of the number in an object that is a phone.
	phoneNodes = []string{
		"value", "number", "full", "numero", "phone", "telefone", "telefono", "phonenumber", "raw",
		"e164", "internationalnumber", "nationalnumber", "formatted", "num",
	}
	// Names of the area code beside a phone.
	areaCodes = []string{
		"ddd", "areacode", "codigoarea", "codigodearea",
	}
	// The area code in an object that is nothing but a phone; elsewhere it is that of a house.
	phoneAreas = []string{
		"area",
	}
	// What else is in such an object.
	phoneDetails = []string{
		"country", "type", "tipo", "extension", "ext",
	}
	// Names of the country code beside a phone.
	countryCodes = []string{
		"ddi", "countrycode", "phonecountrycode", "dialcode",
	}
	// Names of a phone beside its area code; alone they are the number of a house.
	numbers = []string{
		"numero", "number", "num",
	}
	// Names of an e-mail address, best first.
	emails = []string{
		"email", "emails", "emailaddress", "emailaddresses", "mail", "contactmail", "courriel", "correo",
		"correoelectronico", "enderecodeemail", "seuemail", "youremail", "tuemail",
		"useremail", "personalemail", "contactemail", "emailcontato", "emailcontacto",
		"leademail", "emaillead", "customeremail", "emailcliente", "emaildocliente", "email1",
		"primaryemail", "workemail", "businessemail", "email2", "secondaryemail",
	}
	// Names of the message.
	messages = []string{
		"message", "mensagem", "mensaje", "messagetext", "textomensagem", "suamensagem",
		"deixesuamensagem", "contactmessage", "enquirymessage", "inquirymessage", "txtmensagem",
		"contactcomments", "contactcomment", "nachricht", "messaggio",
		"yourmessage", "tumensaje", "msg", "comments", "comment", "comentarios", "comentario",
		"observacoes", "observacao", "observaciones", "observacion", "obs", "enquiry",
		"inquiry", "consulta", "duvida", "pergunta", "pregunta", "question", "notes", "note",
		"notas", "nota", "texto", "text",
	}
	// Names of the workspace's own reference of a listing.
	clientListings = []string{
		"clientlistingid", "codigodoanunciante", "codigoanunciante", "claveinterna",
		"codigoimovel", "codigodoimovel", "imovelcodigo", "codimovel", "referenciaimovel",
		"imovelreferencia", "referencia", "reference", "codigopropiedad", "codigointerno",
		"propertyreference", "propertyref", "propertycode", "propertyid", "listingref",
		"listingreference", "listingcode", "listingid", "idimovel", "imovelid", "idpropiedad",
		"productid", "productcode", "sku", "mlsnumber", "mlsid", "stocknumber", "imovel",
		"inmueble", "propiedad", "property", "empreendimento",
	}
	// Names of the portal's reference of a listing.
	portalListings = []string{
		"originlistingid", "portallistingid", "adlistingid", "idanuncio", "anuncioid",
		"idaviso", "codigoanuncio",
	}
	// Objects that describe a listing.
	listingObjects = []string{
		"ad", "anuncio", "aviso", "imovel", "inmueble", "propiedad", "property", "listing",
		"listingdetails", "product", "produto", "producto", "unit", "unidade",
		"empreendimento",
	}
	// Names of the workspace's own reference in such an object.
	listingReferences = []string{
		"clientlistingid", "clientreference", "reference", "referencia", "ref", "externalid",
		"codigo", "mlsnumber", "mlsid", "sku", "code",
	}
	// Times of the lead, likeliest first.
	times = []string{
		"createdat", "createdtime", "createdon", "created", "datecreated", "creationdate",
		"submittedat", "submissiondate", "leadsubmittime", "submittime", "submitteddate",
		"timestamp", "occurredat", "requestdate", "createdatepochseconds", "dataregistro",
		"fecharegistro", "datacadastro", "datacriacao", "datahora", "dataehora",
		"datahoracadastro", "datacontato", "dataenvio", "fechacreacion", "fechahora",
		"fechacontacto", "datetime", "criadoem", "receivedat", "eventtimestamp", "eventtime",
		"date", "data", "fecha", "time", "carimbodedatahora",
	}
	// Dates, with the time of day in a field of its own.
	dates = []string{"date", "data", "fecha", "datacadastro"}
	// Times of day beside a date.
	hours = []string{"time", "hora", "ora", "hour", "horario"}
	// Names of the source of the lead.
	sources = []string{
		"leadorigin", "leadsource", "origemlead", "origemdolead", "origem", "origen",
		"origin", "source", "fonte", "fuente", "canal", "midia", "portal", "utmsource",
	}
	// Campaign data: the name that the host knows, and the usual names of the field.
	campaign = []struct {
		name  string
		usual []string
	}{
		{"campaign-id", []string{"campaignid", "idcampanha", "idcampana"}},
		{"campaign-name", []string{"campaignname", "campaign", "campanha", "campana", "nomecampanha"}},
		{"adset-id", []string{"adsetid"}},
		{"adset-name", []string{"adsetname"}},
		{"adgroup-id", []string{"adgroupid"}},
		{"asset-group-id", []string{"assetgroupid"}},
		{"ad-id", []string{"adid"}},
		{"ad-name", []string{"adname"}},
		{"creative-id", []string{"creativeid"}},
		{"form-id", []string{"formid", "leadformid"}},
		{"form-name", []string{"formname", "formtitle"}},
		{"page-id", []string{"pageid"}},
		{"gclid", []string{"gclid", "gclickid"}},
		{"fbclid", []string{"fbclid"}},
		{"utm-source", []string{"utmsource"}},
		{"utm-medium", []string{"utmmedium"}},
		{"utm-campaign", []string{"utmcampaign"}},
		{"utm-term", []string{"utmterm"}},
		{"utm-content", []string{"utmcontent"}},
	}
	// Parts of questions for the whole name.
	nameParts = []string{
		"fullname", "nomecompleto", "nombrecompleto", "yourname", "seunome", "tunombre",
		"sunombre",
	}
	// Names of whether the lead is a test.
	tests = []string{"istest", "test", "teste", "testlead", "prueba", "isteste"}
	// Folded words for yes.
	yes = []string{
		"true", "1", "yes", "y", "sim", "s", "si", "on", "test", "teste", "aceito", "accepted",
		"granted",
	}
	// Names that only events have.
	events = []string{
		"event", "eventname", "eventtype", "tipoevento", "tipowebhook", "evento",
		"subscriptiontype", "action", "hook", "webhook", "webhookevent", "ping", "topic",
		"trigger", "challenge", "verification", "leadaction",
	}
	// Usual names of lists of questions and answers.
	questionLists = []string{
		"submissions", "usercolumndata", "fielddata", "leadform", "answers", "fields", "campos",
		"formfields", "formdata", "questions", "perguntas", "preguntas", "responses",
		"respostas", "respuestas", "columns", "inputs", "leadfields", "data", "values",
		"questionsandanswers", "customquestions", "formresponses", "questionanswers",
	}
	// In such a list, the question, most readable first.
	questionNames = []string{
		"columnname", "label", "fieldlabel", "title", "titulo", "question", "pergunta",
		"pregunta", "friendlyname", "text", "rotulo", "etiqueta", "name", "nome", "nombre",
		"field", "campo", "questionname", "fieldname", "key", "slug", "chave", "clave",
		"columnid", "attribute", "atributo", "column", "property", "propriedade", "parameter",
		"variable", "fieldkey", "fieldcode", "code", "ref", "questionid", "id",
	}
	// In such a list, the type of an answer.
	kinds = []string{
		"type", "tipo", "kind", "channel", "canal",
	}
	// In such a list, the answer. A text is the question if there is another answer.
	answerNames = []string{
		"stringvalue", "value", "values", "answer", "answers", "resposta", "respostas",
		"respuesta", "respuestas", "response", "valor", "valores", "fieldvalue", "answervalue",
		"answerdetails", "textanswers", "content", "conteudo", "texto", "text",
	}
	// Parts of names for another person's contact.
	others = []string{
		"corretor", "broker", "agent", "agente", "owner", "propriet", "dono", "duen", "vendor",
		"vended", "seller", "advert", "anunciante", "imobiliaria", "inmobiliaria", "agency",
		"agencia", "recipient", "destin", "user", "usuario", "respondent", "account", "store",
		"loja", "tienda", "dealer", "provider", "assign", "responsavel", "responsable",
		"manager", "gerente", "sender", "support", "captador", "secretaria", "parceiro",
		"partner", "admin", "friend", "amigo", "referr", "indica", "salesman", "salesperson",
		"consultor", "atendente", "realtor", "notif", "from", "landlord", "office",
		"escritorio", "branch", "conjuge", "spouse", "organizer", "organizador", "creator",
		"createdby", "criadopor", "updatedby", "staff", "employee", "funcionario",
		"displayphone", "remetente", "suporte",
	}
	// Parts of such names that are a private person's, and neither the advertiser's nor its staff's.
	private = []string{
		"propriet", "dono", "duen", "landlord", "friend", "amigo", "referr", "indica", "conjuge",
		"spouse",
	}
	// Objects that are no person, though they may have a phone or an address; so are listings.
	things = []string{
		"company", "empresa", "organization", "organizacao", "condominio", "projeto", "project",
		"form", "formulario", "page", "pagina", "site", "source", "origem", "campaign",
		"campanha", "conta",
	}
	// Objects in these that have their own contact.
	contactObjects = []string{
		"contact", "contato", "contacto", "contatos", "contactos", "contacts", "contactinfo",
		"contactdetails", "info",
	}
	// Credentials that sources send in a body, such as Google Ads; as they are written.
	usualSecrets = []string{
		"google_key", "apikey", "api_key", "api-key", "x-api-key", "access_token",
		"accessToken", "refresh_token", "refreshToken", "session_token", "id_token",
		"auth_token", "authToken", "client_secret", "clientSecret", "app_secret",
		"private_key", "password", "passwd", "senha",
	}
)
