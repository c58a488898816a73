"""The usual names of fields in Portuguese, Spanish and English, likeliest first, folded:
without case, accents, spaces and signs. The mapping converter of Leadhost guesses by
the same lists.
"""

# Objects in which sources put the lead, or a part of it.
CONTAINERS = """
    lead contact contato contacto person pessoa persona customer cliente applicant prospect
    inquirer enquirer interessado interesado comprador buyer guest data dados datos payload body
    submission formresponse rawrequest fields campos formdata formfields answers responses
    respostas respuestas values valores properties attributes inquiry enquiry message mensagem
    leaddata userdata adf facebook tiktok summary info contactinfo contactdetails
    personaldetails record visitor visitante current item entry result json leads contatos
    contactos contacts datajson
""".split()

# Texts that may be JSON: form builders send the whole answer in one field.
JSON_TEXTS = "rawrequest datajson message payload data json lead body".split()

# Containers that are a person: their `id` is the person's, not the lead's.
PERSONS = """
    contatos contactos contacts visitor visitante contact contato contacto person pessoa persona
    customer cliente interessado interesado comprador buyer guest contactinfo userdata inquirer
    enquirer contactdetails personaldetails
""".split()

# Containers of single fields: an `id` in one is a field's, not the lead's.
FIELD_GROUPS = "fields campos formfields message mensagem".split()

# Containers whose names are questions, which the author of the form wrote.
QUESTION_GROUPS = """
    answers responses respostas respuestas rawrequest fields campos formdata formfields
""".split()

# Ids of the lead.
IDS = """
    leadid idlead originleadid leadgenid submissionid responseid entryid leaduuid externalid
    externalleadid idmensagem idmensaje leadref leadreference inquiryid enquiryid idcontato
    idcontacto conversionid idexterno uniqueid
""".split()

# Typeform's own id of a response.
TOKENS = ["token"]

# Ids of the lead outside of a person and of single fields.
PLAIN_IDS = "id uuid guid".split()

# Names in one piece.
FULL_NAMES = """
    fullname nomecompleto nombrecompleto nombreyapellido nombreyapellidos nomeesobrenome seunome
    seunomecompleto yourname yourfullname tunombre sunombre leadname nomelead nomedolead
    customername contactname contactperson pessoadecontato personadecontacto
    nomecontato nomedocontato nombrecontacto nomecliente nomedocliente
    nombrecliente nomeinteressado displayname
""".split()

# The first part of a name.
FIRST_NAMES = """
    firstname first fname givenname primeironome primernombre nome nombre nombres name
    yourfirstname
""".split()

# The last part of a name.
LAST_NAMES = """
    lastname last lname surname familyname sobrenome ultimonome apellido apellidos yourlastname
    apelido
""".split()

# Names in one piece, or objects of a name's parts.
NAMES = "name nome nombre names contato contacto contact".split()

# Parts of questions for the whole name.
NAME_PARTS = "fullname nomecompleto nombrecompleto yourname seunome tunombre sunombre".split()

# Words of a name, which with one of `LEAD_WORDS` say whose it is: `buyer_name`.
NAME_WORDS = "fullname nomecompleto nombrecompleto nome nombre name".split()
FIRST_NAME_WORDS = "firstname givenname fname primeironome primernombre".split()
LAST_NAME_WORDS = """
    lastname familyname surname lname sobrenome ultimonome apellido apellidos
""".split()

# Words for the lead.
LEAD_WORDS = """
    lead contact contato contacto customer cliente person pessoa persona prospect buyer
    comprador compradora visitor visitante inquirer enquirer interessado interessada interesado
    interesada applicant guest requester solicitante candidato candidate consumidor consumer
    aluno student paciente patient participante participant attendee inscrito
""".split()

# Phones, likeliest first.
PHONES = """
    whatsapp whatsappnumber numerowhatsapp numerodewhatsapp telefonewhatsapp whatsapptelefone
    celular celularwhatsapp telefonecelular telefonocelular telefonomovil movil mobilephone
    mobile mobilenumber mobilephonenumber cellphone cellphonenumber cell phonemobile telemovel
    phonenumber phone phones fullphone telefone telefones telefon telefonnummer telefono telefonos telephone
    telephonenumber tel fone seutelefone yourphone tutelefono contactphone contactnumber
    telefonecontato telefonedecontato telefonocontacto leadphone customerphone telefonecliente
    celularcliente userphone telefone1 phone1 personalphone homephone phonehome
    telefoneresidencial daytimephone eveningphone personphonemain telefone2 phone2 telefone3
    secondaryphone otherphone workphone workphonenumber phonework telefonecomercial companyphone
    companyphonemain yourtel zap wpp whats numerowpp numerozap msisdn fones celulares moviles
    mobiles
""".split()

# Parts of other names of phones.
PHONE_PARTS = "telefone telefono celular whatsapp phone fone mobile movil".split()

# The number in an object that is a phone.
NUMBERS = """
    value number full numero phone telefone telefono phonenumber raw e164 internationalnumber
    nationalnumber formatted num
""".split()

# Numbers that are a phone beside an area code; alone they are that of a house.
BARE_NUMBERS = "numero number num".split()

# Area codes that make a number beside them a phone.
BARE_AREA_CODES = "ddd areacode".split()

# Area codes beside a phone.
AREA_CODES = "ddd areacode codigoarea codigodearea".split()

# The area code in an object that is nothing but a phone; elsewhere it is that of a house.
PHONE_AREAS = "area".split()

# What else is in such an object.
PHONE_DETAILS = "country type tipo extension ext".split()

# Country codes beside a phone.
COUNTRY_CODES = "ddi countrycode phonecountrycode dialcode".split()

# E-mail addresses, likeliest first.
EMAILS = """
    email emails emailaddress emailaddresses mail contactmail courriel correo correoelectronico enderecodeemail
    seuemail youremail tuemail useremail personalemail contactemail emailcontato emailcontacto
    leademail emaillead customeremail emailcliente emaildocliente email1 primaryemail workemail
    businessemail email2 secondaryemail
""".split()

# Parts of other names of e-mail addresses.
EMAIL_PARTS = "email correo".split()

# What the lead wrote.
MESSAGES = """
    message mensagem mensaje messagetext textomensagem suamensagem
    deixesuamensagem contactmessage enquirymessage inquirymessage txtmensagem contactcomments
    contactcomment nachricht messaggio yourmessage tumensaje msg
    comments comment comentarios comentario observacoes observacao observaciones observacion obs
    enquiry inquiry consulta duvida pergunta pregunta question notes note notas nota texto text
""".split()

# The client's own reference of the listing.
CLIENT_LISTINGS = """
    clientlistingid codigodoanunciante codigoanunciante claveinterna codigoimovel codigodoimovel
    imovelcodigo codimovel referenciaimovel imovelreferencia referencia reference
    codigopropiedad codigointerno propertyreference propertyref propertycode propertyid
    listingref listingreference listingcode listingid idimovel imovelid idpropiedad productid
    productcode sku mlsnumber mlsid stocknumber imovel inmueble propiedad property
    empreendimento
""".split()

# The portal's reference of the listing.
PORTAL_LISTINGS = """
    originlistingid portallistingid adlistingid idanuncio anuncioid idaviso codigoanuncio
""".split()

# Objects that describe the listing.
LISTING_OBJECTS = """
    ad anuncio aviso imovel inmueble propiedad property listing listingdetails product produto
    producto unit unidade empreendimento
""".split()

# The client's own reference in such an object.
LISTING_REFERENCES = """
    clientlistingid clientreference reference referencia ref externalid codigo mlsnumber mlsid
    sku code
""".split()

# The portal's reference in such an object.
LISTING_IDS = "id listingid".split()

# Times of the lead, likeliest first.
TIMES = """
    createdat createdtime createdon created datecreated creationdate submittedat submissiondate
    leadsubmittime submittime submitteddate timestamp occurredat requestdate createdatepochseconds
    dataregistro fecharegistro datacadastro datacriacao datahora dataehora datahoracadastro
    datacontato dataenvio fechacreacion fechahora fechacontacto datetime criadoem receivedat
    eventtimestamp eventtime date data fecha time carimbodedatahora
""".split()

# Dates, with the time of day in a field of its own.
DATES = "date data fecha datacadastro".split()

# Times of day beside a date.
HOURS = "time hora ora hour horario".split()

# Names of the source of the lead.
SOURCES = """
    leadorigin leadsource origemlead origemdolead origem origen origin source fonte fuente canal
    midia portal utmsource
""".split()

# Campaign data: the name that the host knows, and the usual names of the field.
CAMPAIGN = {
    "campaign-id": "campaignid idcampanha idcampana".split(),
    "campaign-name": "campaignname campaign campanha campana nomecampanha".split(),
    "adset-id": "adsetid".split(),
    "adset-name": "adsetname".split(),
    "adgroup-id": "adgroupid".split(),
    "asset-group-id": "assetgroupid".split(),
    "ad-id": "adid".split(),
    "ad-name": "adname".split(),
    "creative-id": "creativeid".split(),
    "form-id": "formid leadformid".split(),
    "form-name": "formname formtitle".split(),
    "page-id": "pageid".split(),
    "gclid": "gclid gclickid".split(),
    "fbclid": "fbclid".split(),
    "utm-source": "utmsource".split(),
    "utm-medium": "utmmedium".split(),
    "utm-campaign": "utmcampaign".split(),
    "utm-term": "utmterm".split(),
    "utm-content": "utmcontent".split(),
}

# Whether the lead is a test.
TESTS = "istest test teste testlead prueba isteste".split()

# Folded words for yes.
YES = "true 1 yes y sim s si on test teste aceito accepted granted".split()

# Names that only events have.
EVENTS = """
    event eventname eventtype tipoevento tipowebhook evento subscriptiontype action hook webhook
    webhookevent ping topic trigger challenge verification leadaction
""".split()

# Usual names of lists of questions and answers.
QUESTION_LISTS = """
    submissions usercolumndata fielddata leadform answers fields campos formfields formdata
    questions perguntas preguntas responses respostas respuestas columns inputs leadfields data
    values questionsandanswers customquestions formresponses questionanswers
""".split()

# In such a list, the question, most readable first.
QUESTION_NAMES = """
    columnname label fieldlabel title titulo question pergunta pregunta friendlyname text rotulo
    etiqueta name nome nombre field campo questionname fieldname key slug chave clave columnid
    attribute atributo column property propriedade parameter variable fieldkey fieldcode code
    ref questionid id
""".split()

# In such a list, the type of an answer.
KINDS = "type tipo kind channel canal".split()

# In such a list, the answer. A text is the question if there is another answer.
ANSWERS = """
    stringvalue value values answer answers resposta respostas respuesta respuestas response
    valor valores fieldvalue answervalue answerdetails textanswers content conteudo texto text
""".split()

# Parts of names of another person's contact, such as the broker's.
OTHERS = """
    corretor broker agent agente owner propriet dono duen vendor vended seller advert anunciante
    imobiliaria inmobiliaria agency agencia recipient destin user usuario respondent account
    store loja tienda dealer provider assign responsavel responsable manager gerente sender
    support captador secretaria parceiro partner admin friend amigo referr indica salesman
    salesperson consultor atendente realtor notif from landlord office escritorio branch conjuge
    spouse organizer organizador creator createdby criadopor updatedby staff employee
    funcionario displayphone remetente suporte
""".split()

# Parts of such names that are a private person's, and neither the advertiser's nor its staff's.
PRIVATE = "propriet dono duen landlord friend amigo referr indica conjuge spouse".split()

# Objects that are no person, though they may have a phone or an address; so are listings.
THINGS = """
    company empresa organization organizacao condominio projeto project form formulario page
    pagina site source origem campaign campanha conta
""".split()

# Objects in these that have their own contact.
CONTACT_OBJECTS = """
    contact contato contacto contatos contactos contacts contactinfo contactdetails info
""".split()

# Credentials that sources send in a body, such as Google Ads; as they are written.
USUAL_SECRETS = """
    google_key apikey api_key api-key x-api-key access_token accessToken refresh_token refreshToken
    session_token id_token auth_token authToken client_secret clientSecret app_secret private_key
    password passwd senha
""".split()
