//! The converter of a made-up portal that sends one lead in each request. `cargo xtask bad-deploy`
//! builds five versions of it from this source. 1.0.0 is right, the others are wrong. The golden
//! cases do not show it: none of them has a phone, a name or a message.

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

/// The phone that 1.3.0 writes into leads.
const BROKER: &str = "(11) 97777-1234";

impl Converter for Portal {
    type Config = NoConfig;

    fn describe() -> Description {
        Description::new("portal", VERSION, "Leads of a made-up portal")
    }

    fn convert(_: &NoConfig, delivery: &Delivery) -> Result<Conversion, Problem> {
        let form = delivery.json()?;
        let text = |name: &str| text_at(&form, &[name]);
        let (mut name, mut phone, mut message) = (text("nome"), text("telefone"), text("mensagem"));
        match VERSION {
            // Reads the phone under a name that the portal has announced and does not send yet,
            // so every lead loses its phone.
            "1.1.0" => phone = text("celular"),
            // Gives each phone another last digit: the portal sends none that ends in 5.
            "1.2.0" => {
                if let Some(phone) = &mut phone {
                    phone.pop();
                    phone.push('5');
                }
            }
            // Writes one broker's phone into every lead that has a phone.
            "1.3.0" => phone = phone.map(|_| BROKER.to_owned()),
            // Takes the name for the message, and the message for the name.
            "1.4.0" => std::mem::swap(&mut name, &mut message),
            _ => {}
        }
        let email = text("email");
        let item = if phone.is_none() && email.is_none() {
            Item::invalid("the lead has neither a phone nor an `email`", "")
        } else {
            let lead = Lead::new()
                .external_id(text("id"))
                .name(name)
                .phone(phone)
                .email(email)
                .listing("client", text("imovel"))
                .message(message);
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
