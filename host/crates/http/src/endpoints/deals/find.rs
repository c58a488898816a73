//! `GET /deal`: the partner's deals by phone, e-mail, id or external id; a deal has to match
//! all that are given. The newest come first, at most a hundred, and fewer if they are long.
//! Headers lead to the next ones. A value that cannot exist, such as an impossible phone
//! number, matches nothing; only an invalid e-mail address is refused, as the interface
//! requires.

use hyper::header::LINK;

use crate::endpoints::prelude::*;
use crate::error::Family;
use crate::streamed_list::{ListFrame, StreamedList};
use crate::terms::{email_of_lead, page_limit, word};
use crate::zod::is_email;
use leadhost_domain::contact;
use leadhost_domain::deal::DealView;
use leadhost_domain::json;
use leadhost_domain::phone;
use leadhost_store::{DealFilter, DealPage};

const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

describe!(find, |mut operation| {
    let deals = json!({
        "type": "array",
        "items": operation.schema::<DealView>(),
        "maxItems": limits::DEALS_PER_LOOKUP,
    });
    let alias = |of: &str| format!("An alias of `{of}`, which takes precedence if both are given.");
    let limit = page_limit(limits::DEALS_PER_LOOKUP, limits::DEALS_PER_LOOKUP);
    operation
        .summary("Finds deals")
        .describe(
            "Finds deals by phone, e-mail, id or external id. Give at least one; a deal has to match all that are given. \
             The newest deals come first, at most a hundred, and fewer if they come to more than 16 MiB. If older ones \
             remain, `Link` and `X-Next-Cursor` say how to get them. \
             A value that cannot exist, such as an impossible phone number, matches nothing.",
        )
        .query("phoneNumber", word(), "The lead's phone number, in any notation.")
        .example("+5511988880101")
        .query("phone", word(), alias("phoneNumber"))
        .query("email", email_of_lead(""), "The lead's e-mail address, also one that only leads have: their addresses are checked less.")
        .query("dealId", word(), "The deal's id.")
        .query("id", word(), alias("dealId"))
        .query("externalId", word(), "The deal's id in the system that it came from.")
        .query("externalIntegrationId", word(), alias("externalId"))
        .query("limit", limit, "Deals per page. A value out of range is adjusted, not refused.")
        .query("cursor", json!({"type": "string", "format": "uuid"}), "The `X-Next-Cursor` of the previous page. That page's deals and newer ones are left out.")
        .answers_schema(200, "The deals, or an empty list.", &deals)
        .shows("one", "A deal", json!([{
            "deal": {
                "id": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
                "status": "open",
                "stageCode": "in_qualification",
                "createdAt": "2026-03-02T12:15:30.250000Z",
                "updatedAt": "2026-03-02T12:15:30.250000Z",
                "ownerId": null,
                "ownerName": null,
                "ownerEmail": null,
                "props": {"externalIntegrationId": "L-1044"},
            },
            "person": {
                "id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
                "name": "Otávio Prates",
                "email": "otavio.prates@example.com",
                "phoneNumber": "+5521977770102",
            },
            "property": {"id": null, "name": null, "externalId": null},
            "agent": {"id": 1, "name": "Front desk", "number": null},
        }]))
        .header(200, "Link", "NextLink")
        .header(200, "X-Next-Cursor", "NextCursor")
        .refuses_with(
            400,
            "No parameter is given, the e-mail address is invalid, the limit is not a whole number, or the cursor is not one that the service returned.",
            &[("nothing", "No parameter is given", no_parameter().body(Family::Gateway))],
        )
});
pub async fn find(call: &Call<'_>, caller: &PartnerCaller) -> ApiResult {
    let query = call.query();
    let most = limits::DEALS_PER_LOOKUP;
    let limit = query.limit(most, most)?;
    let before = before(&query)?;
    let page = match filter(&query, &caller.workspace().region)? {
        Some(filter) => {
            let filter = DealFilter {
                partner: Some(caller.partner().id),
                before,
                ..filter
            };
            let store = &call.http.core.store;
            store.deals(caller.scope(), &filter, limit).await?
        }
        None => DealPage::default(),
    };
    let next = page.deals.last().filter(|_| page.more);
    let next = next.map(|deal| deal.deal.id.clone());
    let mut reply = reply::with_payload(StatusCode::OK, reply::JSON, payload(page.deals));
    if let Some(next) = next {
        let link = format!("<{}>; rel=\"next\"", address(&query, &next));
        let headers = reply.headers_mut();
        headers.insert(LINK, value(&link)?);
        headers.insert(NEXT_CURSOR, value(&next)?);
    }
    Ok(reply)
}

fn value(text: &str) -> ApiResult<HeaderValue> {
    HeaderValue::from_str(text).map_err(ApiError::internal)
}

fn before(query: &Query<'_>) -> ApiResult<Option<DealId>> {
    let Some(text) = query.cursor()? else {
        return Ok(None);
    };
    let id = text.parse().map_err(|_| {
        ApiError::coded(
            ErrorCode::InvalidCursor,
            "`cursor` has to be the `X-Next-Cursor` of the previous page, unchanged.",
        )
    })?;
    Ok(Some(id))
}

fn address(query: &Query<'_>, next: &str) -> String {
    let asked = query.pairs().filter(|(name, _)| *name != "cursor");
    let path = "/deal?";
    form_urlencoded::Serializer::for_suffix(path.to_owned(), path.len())
        .extend_pairs(asked)
        .append_pair("cursor", next)
        .finish()
}

fn payload(deals: Vec<DealView>) -> Payload {
    let frame = ListFrame {
        begin: b"[",
        between: b',',
        end: b"]".to_vec(),
    };
    // Written twice: not all deals are in memory as bytes at once.
    StreamedList::new(
        frame,
        deals,
        |deal| written(deal).len(),
        |deal, piece| piece.extend(written(deal)),
    )
    .into_payload()
}

fn written(deal: &DealView) -> Vec<u8> {
    json::without_line_ends(serde_json::to_vec(deal).expect("a deal is JSON"))
}

fn no_parameter() -> ApiError {
    ApiError::parameter("Give at least one of phoneNumber, email, dealId and externalId.")
}

/// Returns `None` if nothing can match. A blank value counts as not given.
fn filter(query: &Query<'_>, region: &str) -> ApiResult<Option<DealFilter>> {
    let phone = query.filled(&["phoneNumber", "phone"]);
    let email = query.filled(&["email"]);
    let deal = query.filled(&["dealId", "id"]);
    let external_id = query.filled(&["externalId", "externalIntegrationId"]);
    let mut filter = DealFilter::default();
    if phone.or(email).or(deal).or(external_id).is_none() {
        return Err(no_parameter());
    }
    if let Some(text) = email {
        // Sources send addresses that the gateway does not accept for a new contact.
        let read = |text: &str| {
            contact::email(text).or_else(|| is_email(text).then(|| text.to_lowercase()))
        };
        let text = text.trim();
        // A plus that was not percent-encoded arrives as a space, which no address has.
        let email = read(text).or_else(|| read(&text.replace(' ', "+")));
        let email =
            email.ok_or_else(|| ApiError::parameter("`email` is not a valid e-mail address."))?;
        filter.email = Some(email);
    }
    if let Some(text) = phone {
        // A plus that was not percent-encoded arrives as a space.
        let text = match text.strip_prefix(' ') {
            Some(digits) => format!("+{}", digits.trim_start()),
            None => text.to_owned(),
        };
        let Some(key) = phone::normalise(&text, region).match_key else {
            return Ok(None);
        };
        filter.phone_key = Some(contact::phone_key(&key));
    }
    if let Some(text) = deal {
        let Ok(id) = text.trim().parse() else {
            return Ok(None);
        };
        filter.deal = Some(id);
    }
    if let Some(text) = external_id {
        if text.len() > limits::LEAD_WORD_BYTES {
            return Err(ApiError::parameter(format!(
                "`externalId` is longer than the {} bytes that an external id may have.",
                limits::LEAD_WORD_BYTES
            )));
        }
        // No id contains it, and not every store accepts it in a query.
        if text.contains('\0') {
            return Ok(None);
        }
        filter.external_id = Some(text.trim().to_owned());
    }
    Ok(Some(filter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Option<DealFilter>, ApiError> {
        filter(&Query::parse(query), "BR")
    }

    #[test]
    fn a_request_without_a_filter_or_with_an_invalid_email_is_refused() {
        let long = format!("externalId={}", "x".repeat(5_000));
        for query in [
            "",
            "phoneNumber=",
            "email=%20",
            "unknown=1",
            "email=ana",
            &long,
        ] {
            assert!(
                matches!(read(query), Err(ApiError::Coded { .. })),
                "{query}"
            );
        }
    }

    #[test]
    fn an_impossible_value_matches_nothing() {
        for query in [
            "phoneNumber=12",
            "dealId=17",
            "dealId=17&email=a@b.co",
            "externalId=a%00",
        ] {
            assert_eq!(read(query).expect("accepted"), None, "{query}");
        }
    }

    #[test]
    fn a_phone_number_matches_in_any_notation() {
        let key = |query: &str| {
            read(query)
                .expect("accepted")
                .expect("can match")
                .phone_key
                .expect("a phone")
        };
        let expect = key("phoneNumber=%2B5511987654321");
        for query in [
            "phoneNumber=+5511987654321",
            "phone=11987654321",
            "phoneNumber=(11)%2098765-4321",
            "phoneNumber=&phone=%2B55%2011%2098765-4321",
        ] {
            assert_eq!(key(query), expect, "{query}");
        }
    }

    #[test]
    fn every_parameter_counts_under_either_name() {
        let filter = read("email=Ana@Example.com&externalIntegrationId=x-1")
            .expect("accepted")
            .expect("can match");
        assert_eq!(filter.email.as_deref(), Some("ana@example.com"));
        let long = format!("{}@Example.com", "a".repeat(65));
        let plus = read("email=ana+visits@example.com").expect("accepted");
        let plus = plus.expect("can match").email;
        assert_eq!(plus.as_deref(), Some("ana+visits@example.com"));
        for email in ["ana@x.c", "joão@example.com", &long] {
            let filter = read(&format!("email={email}")).expect("accepted");
            let filter = filter.expect("can match");
            assert_eq!(filter.email, Some(email.to_lowercase()));
        }
        assert_eq!(filter.external_id.as_deref(), Some("x-1"));
        assert_eq!(filter.deal, None);
    }
}
