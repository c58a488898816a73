// The usual names of fields in Portuguese, Spanish and English, likeliest first, folded:
// without case, accents, spaces and signs. The mapping converter of Leadhost guesses by
// the same lists.

const words = (text) => text.trim().split(/\s+/);

/** Objects in which sources put the lead, or a part of it. */
export const CONTAINERS = words(`
  lead contact contato contacto person pessoa persona customer cliente applicant prospect
  inquirer enquirer interessado interesado comprador buyer guest data dados datos payload body
  submission formresponse rawrequest fields campos formdata formfields answers responses
  respostas respuestas values valores properties attributes inquiry enquiry message mensagem
  leaddata userdata adf facebook tiktok summary info contactinfo contactdetails personaldetails
  record visitor visitante current item entry result json leads contatos contactos contacts
  datajson
`);

/** Texts that may be JSON: form builders send the whole answer in one field. */
export const JSON_TEXTS = words("rawrequest datajson message payload data json lead body");

/** Containers that are a person: their `id` is the person's, not the lead's. */
export const PERSONS = words(`
  contatos contactos contacts visitor visitante contact contato contacto person pessoa persona
  customer cliente interessado interesado comprador buyer guest contactinfo userdata inquirer
  enquirer contactdetails personaldetails
`);

/** Containers of single fields: an `id` in one is a field's, not the lead's. */
export const FIELD_GROUPS = words("fields campos formfields message mensagem");

/** Containers whose names are questions, which the author of the form wrote. */
export const QUESTION_GROUPS = words(`
  answers responses respostas respuestas rawrequest fields campos formdata formfields
`);

/** Ids of the lead. */
export const IDS = words(`
  leadid idlead originleadid leadgenid submissionid responseid entryid leaduuid externalid
  externalleadid idmensagem idmensaje leadref leadreference inquiryid enquiryid idcontato
  idcontacto conversionid idexterno uniqueid
`);

/** Typeform's own id of a response. */
export const TOKENS = words("token");

/** Ids of the lead outside of a person and of single fields. */
export const PLAIN_IDS = words("id uuid guid");

/** Names in one piece. */
export const FULL_NAMES = words(`
  fullname nomecompleto nombrecompleto nombreyapellido nombreyapellidos nomeesobrenome seunome
  seunomecompleto yourname yourfullname tunombre sunombre leadname nomelead nomedolead
  customername contactname contactperson pessoadecontato personadecontacto
  nomecontato nomedocontato nombrecontacto nomecliente nomedocliente
  nombrecliente nomeinteressado displayname
`);

/** The first part of a name. */
export const FIRST_NAMES = words(`
  firstname first fname givenname primeironome primernombre nome nombre nombres name
  yourfirstname
`);

/** The last part of a name. */
export const LAST_NAMES = words(`
  lastname last lname surname familyname sobrenome ultimonome apellido apellidos yourlastname
  apelido
`);

/** Names in one piece, or objects of a name's parts. */
export const NAMES = words("name nome nombre names contato contacto contact");

/** Parts of questions for the whole name. */
export const NAME_PARTS = words(`
  fullname nomecompleto nombrecompleto yourname seunome tunombre sunombre
`);

/** Words of a name, which with one of `LEAD_WORDS` say whose it is: `buyer_name`. */
export const NAME_WORDS = words("fullname nomecompleto nombrecompleto nome nombre name");

/** Such words of its first part. */
export const FIRST_NAME_WORDS = words("firstname givenname fname primeironome primernombre");

/** Such words of its last part. */
export const LAST_NAME_WORDS = words(`
  lastname familyname surname lname sobrenome ultimonome apellido apellidos
`);

/** Words for the lead. */
export const LEAD_WORDS = words(`
  lead contact contato contacto customer cliente person pessoa persona prospect buyer comprador
  compradora visitor visitante inquirer enquirer interessado interessada interesado interesada
  applicant guest requester solicitante candidato candidate consumidor consumer aluno student
  paciente patient participante participant attendee inscrito
`);

/** Phones, likeliest first. */
export const PHONES = words(`
  whatsapp whatsappnumber numerowhatsapp numerodewhatsapp telefonewhatsapp whatsapptelefone
  celular celularwhatsapp telefonecelular telefonocelular telefonomovil movil mobilephone mobile
  mobilenumber mobilephonenumber cellphone cellphonenumber cell phonemobile telemovel
  phonenumber phone phones fullphone telefone telefones telefon telefonnummer telefono telefonos telephone
  telephonenumber tel fone seutelefone yourphone tutelefono contactphone contactnumber
  telefonecontato telefonedecontato telefonocontacto leadphone customerphone telefonecliente
  celularcliente userphone telefone1 phone1 personalphone homephone phonehome
  telefoneresidencial daytimephone eveningphone personphonemain telefone2 phone2 telefone3
  secondaryphone otherphone workphone workphonenumber phonework telefonecomercial companyphone
  companyphonemain yourtel zap wpp whats numerowpp numerozap msisdn fones celulares moviles
  mobiles
`);

/** Parts of other names of phones. */
export const PHONE_PARTS = words("telefone telefono celular whatsapp phone fone mobile movil");

/** The number in an object that is a phone. */
export const NUMBERS = words(`
  value number full numero phone telefone telefono phonenumber raw e164 internationalnumber
  nationalnumber formatted num
`);

/** Numbers that are a phone beside an area code; alone they are that of a house. */
export const BARE_NUMBERS = words("numero number num");

/** Area codes that make a number beside them a phone. */
export const BARE_AREA_CODES = words("ddd areacode");

/** Area codes beside a phone. */
export const AREA_CODES = words("ddd areacode codigoarea codigodearea");

/** The area code in an object that is nothing but a phone; elsewhere it is that of a house. */
export const PHONE_AREAS = words("area");

/** What else is in such an object. */
export const PHONE_DETAILS = words("country type tipo extension ext");

/** Country codes beside a phone. */
export const COUNTRY_CODES = words("ddi countrycode phonecountrycode dialcode");

/** E-mail addresses, likeliest first. */
export const EMAILS = words(`
  email emails emailaddress emailaddresses mail contactmail courriel correo correoelectronico enderecodeemail
  seuemail youremail tuemail useremail personalemail contactemail emailcontato emailcontacto
  leademail emaillead customeremail emailcliente emaildocliente email1 primaryemail workemail
  businessemail email2 secondaryemail
`);

/** Parts of other names of e-mail addresses. */
export const EMAIL_PARTS = words("email correo");

/** What the lead wrote. */
export const MESSAGES = words(`
  message mensagem mensaje messagetext textomensagem suamensagem
  deixesuamensagem contactmessage enquirymessage inquirymessage txtmensagem contactcomments
  contactcomment nachricht messaggio yourmessage tumensaje msg
  comments comment comentarios comentario observacoes observacao observaciones observacion obs
  enquiry inquiry consulta duvida pergunta pregunta question notes note notas nota texto text
`);

/** The client's own reference of the listing. */
export const CLIENT_LISTINGS = words(`
  clientlistingid codigodoanunciante codigoanunciante claveinterna codigoimovel codigodoimovel
  imovelcodigo codimovel referenciaimovel imovelreferencia referencia reference codigopropiedad
  codigointerno propertyreference propertyref propertycode propertyid listingref
  listingreference listingcode listingid idimovel imovelid idpropiedad productid productcode sku
  mlsnumber mlsid stocknumber imovel inmueble propiedad property empreendimento
`);

/** The portal's reference of the listing. */
export const PORTAL_LISTINGS = words(`
  originlistingid portallistingid adlistingid idanuncio anuncioid idaviso codigoanuncio
`);

/** Objects that describe the listing. */
export const LISTING_OBJECTS = words(`
  ad anuncio aviso imovel inmueble propiedad property listing listingdetails product produto
  producto unit unidade empreendimento
`);

/** The client's own reference in such an object. */
export const LISTING_REFERENCES = words(`
  clientlistingid clientreference reference referencia ref externalid codigo mlsnumber mlsid sku
  code
`);

/** The portal's reference in such an object. */
export const LISTING_IDS = words("id listingid");

/** Times of the lead, likeliest first. */
export const TIMES = words(`
  createdat createdtime createdon created datecreated creationdate submittedat submissiondate
  leadsubmittime submittime submitteddate timestamp occurredat requestdate
  createdatepochseconds dataregistro fecharegistro datacadastro datacriacao datahora dataehora
  datahoracadastro datacontato dataenvio fechacreacion fechahora fechacontacto datetime
  criadoem receivedat eventtimestamp eventtime date data fecha time carimbodedatahora
`);

/** Dates, with the time of day in a field of its own. */
export const DATES = words("date data fecha datacadastro");

/** Times of day beside a date. */
export const HOURS = words("time hora ora hour horario");

/** Names of the source of the lead. */
export const SOURCES = words(`
  leadorigin leadsource origemlead origemdolead origem origen origin source fonte fuente canal
  midia portal utmsource
`);

/** Campaign data: the name that the host knows, and the usual names of the field. */
export const CAMPAIGN = {
  "campaign-id": words("campaignid idcampanha idcampana"),
  "campaign-name": words("campaignname campaign campanha campana nomecampanha"),
  "adset-id": words("adsetid"),
  "adset-name": words("adsetname"),
  "adgroup-id": words("adgroupid"),
  "asset-group-id": words("assetgroupid"),
  "ad-id": words("adid"),
  "ad-name": words("adname"),
  "creative-id": words("creativeid"),
  "form-id": words("formid leadformid"),
  "form-name": words("formname formtitle"),
  "page-id": words("pageid"),
  gclid: words("gclid gclickid"),
  fbclid: words("fbclid"),
  "utm-source": words("utmsource"),
  "utm-medium": words("utmmedium"),
  "utm-campaign": words("utmcampaign"),
  "utm-term": words("utmterm"),
  "utm-content": words("utmcontent"),
};

/** Whether the lead is a test. */
export const TESTS = words("istest test teste testlead prueba isteste");

/** Folded words for yes. */
export const YES = words("true 1 yes y sim s si on test teste aceito accepted granted");

/** Names that only events have. */
export const EVENTS = words(`
  event eventname eventtype tipoevento tipowebhook evento subscriptiontype action hook webhook
  webhookevent ping topic trigger challenge verification leadaction
`);

/** Usual names of lists of questions and answers. */
export const QUESTION_LISTS = words(`
  submissions usercolumndata fielddata leadform answers fields campos formfields formdata
  questions perguntas preguntas responses respostas respuestas columns inputs leadfields data
  values questionsandanswers customquestions formresponses questionanswers
`);

/** In such a list, the question, most readable first. */
export const QUESTION_NAMES = words(`
  columnname label fieldlabel title titulo question pergunta pregunta friendlyname text rotulo
  etiqueta name nome nombre field campo questionname fieldname key slug chave clave columnid
  attribute atributo column property propriedade parameter variable fieldkey fieldcode code ref
  questionid id
`);

/** In such a list, the type of an answer. */
export const KINDS = words("type tipo kind channel canal");

/** In such a list, the answer. A text is the question if there is another answer. */
export const ANSWERS = words(`
  stringvalue value values answer answers resposta respostas respuesta respuestas response valor
  valores fieldvalue answervalue answerdetails textanswers content conteudo texto text
`);

/** Parts of names of another person's contact, such as the broker's. */
export const OTHERS = words(`
  corretor broker agent agente owner propriet dono duen vendor vended seller advert anunciante
  imobiliaria inmobiliaria agency agencia recipient destin user usuario respondent account store
  loja tienda dealer provider assign responsavel responsable manager gerente sender support
  captador secretaria parceiro partner admin friend amigo referr indica salesman salesperson
  consultor atendente realtor notif from landlord office escritorio branch conjuge spouse
  organizer organizador creator createdby criadopor updatedby staff employee funcionario
  displayphone remetente suporte
`);

/** Parts of such names that are a private person's, and neither the advertiser's nor its staff's. */
export const PRIVATE = words("propriet dono duen landlord friend amigo referr indica conjuge spouse");

/** Objects that are no person, though they may have a phone or an address; so are listings. */
export const THINGS = words(`
  company empresa organization organizacao condominio projeto project form formulario page pagina
  site source origem campaign campanha conta
`);

/** Objects in these that have their own contact. */
export const CONTACT_OBJECTS = words(`
  contact contato contacto contatos contactos contacts contactinfo contactdetails info
`);

/** Credentials that sources send in a body, such as Google Ads; as they are written. */
export const USUAL_SECRETS = words(`
  google_key apikey api_key api-key x-api-key access_token accessToken refresh_token refreshToken
  session_token id_token auth_token authToken client_secret clientSecret app_secret private_key
  password passwd senha
`);
