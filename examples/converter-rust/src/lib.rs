//! A minimal converter for a made-up site form that sends one lead, a list of leads,
//! or only a reference to a lead that must be fetched. The examples in the other
//! languages read the same source and pass the same golden cases.

use leadhost_sdk::{
    Completion, Conversion, Converter, Delivery, Description, Failure, HandshakeAnswer,
    HttpRequest, Item, Lead, NoConfig, Problem, Reply, SenderCheck, SenderPolicy, is_absent, lit,
    secret, serde_json::Value, text_at,
};

pub struct SiteForm;

leadhost_sdk::export_converter!(SiteForm);

impl Converter for SiteForm {
    type Config = NoConfig;

    fn describe() -> Description {
        Description::new("example-form", "1.0.0", "Leads of a site form")
            .optional_secret("form-key", "The key with which the form signs its requests")
            .optional_secret(
                "verify-token",
                "The token that the form sends when it verifies the address",
            )
            .optional_secret("api-token", "The token for leads that are fetched")
            .host("forms.example.com")
    }

    fn sender_checks(_: &NoConfig) -> Result<SenderPolicy, Problem> {
        Ok([SenderCheck::hmac_sha256_hex("form-key", "x-form-signature")].into())
    }

    fn handshake(_: &NoConfig, delivery: &Delivery) -> Result<Option<HandshakeAnswer>, Problem> {
        let answer = delivery.query_field("challenge").map(|challenge| {
            HandshakeAnswer::new(Reply::text(challenge)).require("verify-token", "token")
        });
        Ok(answer)
    }

    fn convert(_: &NoConfig, delivery: &Delivery) -> Result<Conversion, Problem> {
        let body = delivery
            .json()
            .map_err(|_| Problem::new("the body is not valid JSON"))?;
        let items = match body {
            Value::Array(forms) => {
                let items = forms.iter().enumerate();
                items
                    .map(|(index, form)| item(form, &index.to_string()))
                    .collect()
            }
            form => vec![item(&form, "")],
        };
        Ok(items.into())
    }

    fn complete(_: &NoConfig, completion: &Completion) -> Result<Vec<Item>, Failure> {
        let response = &completion.response;
        match response.status {
            200 => {
                let form = response
                    .json()
                    .map_err(|_| Failure::retry("the form's answer is not valid JSON", None))?;
                Ok(vec![item(&form, "")])
            }
            404 => Err(Failure::give_up("the form no longer has this lead")),
            429 => Err(Failure::retry(
                "the form asks for a later retry",
                response.retry_after(),
            )),
            401 | 403 => Err(Failure::stop("the form refuses the token")),
            status => Err(Failure::retry(format!("the form answered {status}"), None)),
        }
    }
}

const KNOWN: [&str; 8] = [
    "id", "ref", "nome", "telefone", "email", "imovel", "mensagem", "teste",
];

fn item(form: &Value, path: &str) -> Item {
    let Some(fields) = form.as_object() else {
        return Item::invalid("a lead must be an object", path);
    };
    let text = |name: &str| text_at(form, &[name]);
    if let Some(reference) = text("ref") {
        return fetch(reference);
    }
    let (phone, email) = (text("telefone"), text("email"));
    if phone.is_none() && email.is_none() {
        return Item::invalid("the lead has neither `telefone` nor `email`", path);
    }
    let lead = Lead::new()
        .external_id(text("id"))
        .is_test(form["teste"] == true)
        .name(text("nome"))
        .phone(phone)
        .email(email)
        .listing("client", text("imovel"))
        .message(text("mensagem"));
    let others = fields
        .iter()
        .filter(|(name, value)| !KNOWN.contains(&name.as_str()) && !is_absent(value));
    Item::lead(others.fold(lead, |lead, (name, value)| lead.attribute(name, value)))
}

fn fetch(reference: String) -> Item {
    match HttpRequest::get("https://forms.example.com/leads") {
        Ok(request) => {
            let request = request
                .step(&reference)
                .header("authorization", [lit("Bearer "), secret("api-token")]);
            Item::fetch(Some(reference.clone()), request, reference)
        }
        Err(problem) => Item::invalid(problem.message, ""),
    }
}

#[cfg(test)]
mod tests {
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden-form");

    #[test]
    fn golden_cases_hold() {
        leadhost_sdk::testing::run_golden::<super::SiteForm>(CASES);
    }

    #[test]
    fn damaged_deliveries_do_not_panic() {
        leadhost_sdk::testing::run_damaged::<super::SiteForm>(CASES);
    }
}
