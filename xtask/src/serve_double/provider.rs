//! The common part of both messaging providers' doubles in the foreground.

use std::net::SocketAddr;

use xtask::double::channel::{Callback, Channel, Provider, by_hand};

use crate::args::Args;
use crate::failure::{Context, Failure};

/// Returns the address for webhooks, if it was given.
pub fn callback(args: &mut Args) -> Result<Option<Callback>, Failure> {
    let Some(url) = args.value("--callback")? else {
        return Ok(None);
    };
    let reached = Callback::to(&url);
    Ok(Some(match args.value("--signed-url")? {
        Some(signed) => reached.signed_as(&signed),
        None => reached,
    }))
}

/// Serves until it is interrupted. `announce` prints the settings first.
pub fn serve<P: Provider>(
    listen: SocketAddr,
    provider: P,
    callback: Option<Callback>,
    announce: impl FnOnce(&Channel<P>),
) -> Result<(), Failure> {
    let double = by_hand::start(listen, provider).context(format!("listening on {listen}"))?;
    announce(&double);
    match callback {
        Some(callback) => {
            println!("webhooks go to   {}", callback.url());
            double.call_back(callback);
        }
        None => println!("webhooks         are not sent: set --callback URL"),
    }
    println!(
        "\nStatuses are sent automatically. For more, type a command here or send a request like\n    curl -d '5511987650101 Oi!' {}/double/inbound\n\n{}",
        double.url(),
        by_hand::help(double.provider())
    );
    by_hand::listen(&double, |said| println!("{said}"));
    // The double keeps running after the end of its input.
    loop {
        std::thread::park();
    }
}
