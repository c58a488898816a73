//! The converter of a made-up portal that sends one lead in each request. `cargo xtask bad-deploy`
//! builds two versions of it from this source. 1.0.0 is right. 1.1.0 reads the phone under a name
//! that the portal has announced and does not send yet, so every lead loses its phone. The golden
//! cases do not show it: none of them has a phone.

use leadhost_sdk::{
    Conversion, Converter, Delivery, Description, Item, Lead, NoConfig, Problem, text_at,
};

pub struct Portal;

leadhost_sdk::export_converter!(Portal);

/// The version to build.
const VERSION: &str = match option_env!("BAD_DEPLOY_VERSION") {
    Some(version) => version,
    None => "1.0.0",
};

impl Converter for Portal {
    type Config = NoConfig;

    fn describe() -> Description {
        Description::new("portal", VERSION, "Leads of a made-up portal")
    }

    fn convert(_: &NoConfig, delivery: &Delivery) -> Result<Conversion, Problem> {
        let form = delivery.json()?;
        let text = |name: &str| text_at(&form, &[name]);
        let phone = match VERSION {
            "1.0.0" => text("telefone"),
            _ => text("celular"),
        };
        let email = text("email");
        let item = if phone.is_none() && email.is_none() {
            Item::invalid("the lead has neither a phone nor an `email`", "")
        } else {
            let lead = Lead::new()
                .external_id(text("id"))
                .name(text("nome"))
                .phone(phone)
                .email(email)
                .listing("client", text("imovel"))
                .message(text("mensagem"));
            Item::lead(lead)
        };
        Ok(vec![item].into())
    }
}

#[cfg(test)]
mod tests {
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

    #[test]
    fn golden_cases_hold() {
        leadhost_sdk::testing::run_golden::<super::Portal>(CASES);
    }

    #[test]
    fn damaged_deliveries_do_not_panic() {
        leadhost_sdk::testing::run_damaged::<super::Portal>(CASES);
    }
}
