//! The WhatsApp Cloud API.

use xtask::double::whatsapp::{Cloud, WhatsAppOptions};

use super::provider::{callback, serve};
use crate::args::Args;
use crate::failure::Failure;

/// Serves until it is interrupted.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let defaults = WhatsAppOptions::default();
    let options = WhatsAppOptions {
        listen: super::listen(&mut args, 8091)?,
        tokens: args
            .value("--token")?
            .map_or(defaults.tokens, |token| vec![token]),
        app_secret: args.value("--app-secret")?.unwrap_or(defaults.app_secret),
        verify_token: args
            .value("--verify-token")?
            .unwrap_or(defaults.verify_token),
        waba_id: args.value("--waba")?.unwrap_or(defaults.waba_id),
        phone_number_id: args
            .value("--phone-number-id")?
            .unwrap_or(defaults.phone_number_id),
        ..defaults
    };
    let callback = callback(&mut args)?;
    args.nothing_more()?;
    serve(options.listen, Cloud::new(options), callback, |double| {
        let options = double.options();
        println!("The WhatsApp Cloud API's double: {}", double.url());
        println!(
            "sends            POST {}{}",
            double.url(),
            double.messages_path()
        );
        println!("access token     {}", options.tokens[0]);
        println!("business account {}", options.waba_id);
        println!("phone number id  {}", options.phone_number_id);
        println!("app secret       {}", options.app_secret);
        println!("verify token     {}", options.verify_token);
    })
}
