#!/bin/sh
# Posts leads to the demo workspace and reads them back. Run it as it is, or
# paste single lines: `cargo xtask run` prints them with its own files put in.
set -eu
keys=${1:-data/keys.json} service=${2:-data/service.json}
# ---
of() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}$/\1/p" "$keys" "$service" | head -n 1; }
url=http://$(of gateway)

# A portal pushes a lead; its sender signs in with HTTP Basic.
curl -sS "$url/ingest-lead/$(of portal)" -H "Authorization: $(of authorization)" -H 'Content-Type: application/json' -d '{"leadOrigin":"ZAP","timestamp":"2026-03-02T09:15:30.250Z","originLeadId":"65f1a2b3c4d5e6f708192a3b","clientListingId":"AP-0042","name":"Helena Duarte","email":"helena.duarte@example.com","ddd":"11","phone":"900000001","phoneNumber":"11900000001","message":"Ainda está disponível?"}'; echo

# A lead form's webhook: signed, and it only names the lead, which the service fetches.
body='{"object":"page","entry":[{"id":"1002003004","time":1772452800,"changes":[{"field":"leadgen","value":{"leadgen_id":"7001002003004777","page_id":"1002003004","form_id":"5006007008","created_time":1772452799}}]}]}'
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$(of app-secret)" | sed 's/.* //')
curl -sS "$url/ingest-lead/$(of lead-form)" -H "X-Hub-Signature-256: sha256=$signature" -H 'Content-Type: application/json' -d "$body"; echo

# A form of one's own, by the mapping of the workspace file; urlencoded, as browsers send.
curl -sS "$url/ingest-lead/$(of site-form)" -H "X-Form-Token: $(of token)" --data-urlencode 'ticket=17' --data-urlencode 'first=Rui' --data-urlencode 'last=Sá' --data-urlencode 'whatsapp=(21) 98888-7777' --data-urlencode 'unit=CA-0007' --data-urlencode 'text=Quero visitar.'; echo

# The portal's deal, by the lead's phone as anybody would write it.
curl -sS -G "$url/deal" -H "x-service-api-key: $(of partnerKey)" --data-urlencode 'phoneNumber=(11) 90000-0001'; echo

# Whose key this is, and all deals in the order in which they changed.
data=http://$(of data)
curl -sS "$data/v1/whoami" -H "Authorization: Bearer $(of workspaceKey)"; echo
curl -sS "$data/v1/export/deals?limit=10" -H "Authorization: Bearer $(of workspaceKey)"; echo
