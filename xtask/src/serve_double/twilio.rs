//! Twilio's messages.

use xtask::double::twilio::{Messages, TwilioOptions};

use super::provider::{callback, serve};
use crate::args::Args;
use crate::failure::Failure;

/// Serves until it is interrupted.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let defaults = TwilioOptions::default();
    let options = TwilioOptions {
        listen: super::listen(&mut args, 8092)?,
        account_sid: args.value("--account-sid")?.unwrap_or(defaults.account_sid),
        auth_token: args.value("--auth-token")?.unwrap_or(defaults.auth_token),
        from: args.value("--from")?.unwrap_or(defaults.from),
        ..defaults
    };
    let callback = callback(&mut args)?;
    args.nothing_more()?;
    serve(options.listen, Messages::new(options), callback, |double| {
        let options = double.options();
        println!("Twilio's double: {}", double.url());
        println!(
            "sends            POST {}{}",
            double.url(),
            double.messages_path()
        );
        println!("account sid      {}", options.account_sid);
        println!("auth token       {}", options.auth_token);
        println!("from             {}", options.from);
        for content in &options.contents {
            println!("content          {}  {}", content.sid, content.text);
        }
    })
}
