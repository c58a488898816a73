#!/bin/sh
# Posts leads to the demo workspace, reads them back, and plays a conversation.
# Run it as it is, or paste single lines: `cargo xtask run` prints the lines with
# its own files filled in.
set -eu
keys=${1:-data/keys.json} service=${2:-data/service.json} leadhost=${3:-target/release/leadhost}
# ---
of() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",{]*\)\"\{0,1\},\{0,1\}$/\1/p" "$keys" "$service" | head -n 1; }
outbox() { "$leadhost" outbox "$@" --data-dir "$(dirname "$service")"; }
url=http://$(of gateway)

# A portal sends a lead, authenticated with HTTP Basic.
curl -sS "$url/ingest-lead/$(of portal)" -H "Authorization: $(of authorization)" -H 'Content-Type: application/json' -d '{"leadOrigin":"ZAP","timestamp":"2026-03-02T09:15:30.250Z","originLeadId":"65f1a2b3c4d5e6f708192a3b","clientListingId":"AP-0042","name":"Helena Duarte","email":"helena.duarte@example.com","ddd":"11","phone":"900000001","phoneNumber":"11900000001","message":"Ainda está disponível?"}'; echo

# A lead form's webhook: it is signed, and only names the lead, which the service fetches.
body='{"object":"page","entry":[{"id":"1002003004","time":1772452800,"changes":[{"field":"leadgen","value":{"leadgen_id":"7001002003004777","page_id":"1002003004","form_id":"5006007008","created_time":1772452799}}]}]}'
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$(of app-secret)" | sed 's/.* //')
curl -sS "$url/ingest-lead/$(of lead-form)" -H "X-Hub-Signature-256: sha256=$signature" -H 'Content-Type: application/json' -d "$body"; echo

# A form of your own, with the mapping of the workspace file; URL-encoded, as browsers send it.
curl -sS "$url/ingest-lead/$(of site-form)" -H "X-Form-Token: $(of token)" --data-urlencode 'ticket=17' --data-urlencode 'first=Rui' --data-urlencode 'last=Sá' --data-urlencode 'whatsapp=(21) 98888-7777' --data-urlencode 'unit=CA-0007' --data-urlencode 'text=Quero visitar.'; echo

# The portal's deal, found by the lead's phone in a usual spelling.
curl -sS -G "$url/deal" -H "x-service-api-key: $(of partnerKey)" --data-urlencode 'phoneNumber=(11) 90000-0001'; echo

# The workspace of this key, and all deals in the order in which they changed.
data=http://$(of data)
curl -sS "$data/v1/whoami" -H "Authorization: Bearer $(of workspaceKey)"; echo
curl -sS "$data/v1/export/deals?limit=10" -H "Authorization: Bearer $(of workspaceKey)"; echo

# A partner sends a template message through the assistant; the answer contains the conversation's id.
curl -sS "$url/send-notification" -H "x-service-api-key: $(of partnerKey)" -H 'Content-Type: application/json' -d '{"name":"Helena Duarte","phoneNumber":"(11) 90000-0001","instanceId":'"$(of assistant)"',"source":"crm","template":{"name":"visit_reminder","language":{"code":"pt_BR"},"components":[{"type":"body","parameters":[{"type":"text","text":"Helena"},{"type":"text","text":"AP-0042"}]}]}}'; echo

# The form's lead was greeted in the same commit: these messages were sent.
outbox

# The lead answers, identified by phone. Then the conversation has messages from both sides, and is answered.
outbox reply '(21) 98888-7777' 'Pode ser no sábado?'
outbox --instance assistant
curl -sS "$data/v1/export/conversations?limit=10" -H "Authorization: Bearer $(of workspaceKey)"; echo

# The portal's deal gets an owner and is transferred to people: a ticket opens on the desk.
deal=$(curl -sS -G "$url/deal" -H "x-service-api-key: $(of partnerKey)" --data-urlencode 'phoneNumber=(11) 90000-0001' | sed 's/^\[{"deal":{"id":"\([^"]*\)".*/\1/')
curl -sS -X PATCH "$url/deal/$deal" -H "x-service-api-key: $(of partnerKey)" -H 'Content-Type: application/json' -d '{"ownerEmail":"nilda@example.com","stageCode":"transferred"}'; echo
"$leadhost" deal show "$deal" --data-dir "$(dirname "$service")"

# The owner takes the ticket and marks it as answered, with an access token.
ticket=$(curl -sS "$url/tickets?status=open" -H "Authorization: Bearer $(of accessToken)" | sed -n 's/^{"tickets":\[{"id":"\([^"]*\)".*/\1/p')
if [ -n "$ticket" ]; then curl -sS -X PATCH "$url/tickets/$ticket" -H "Authorization: Bearer $(of accessToken)" -H 'Content-Type: application/json' -d '{"status":"answered","ownerEmail":"nilda@example.com"}'; echo; else echo 'No ticket is open: the deal was transferred before, and its ticket is answered.'; fi
