//! What both providers' doubles do in the foreground.

use std::net::SocketAddr;

use xtask::double::channel::{Callback, Channel, Provider, by_hand};

use crate::args::Args;
use crate::failure::{Context, Failure};

/// Where webhooks go, if it was said.
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

/// Serves until it is interrupted. `tell` says what there is to know first.
pub fn serve<P: Provider>(
    listen: SocketAddr,
    provider: P,
    callback: Option<Callback>,
    tell: impl FnOnce(&Channel<P>),
) -> Result<(), Failure> {
    let double = by_hand::start(listen, provider).context(format!("listening on {listen}"))?;
    tell(&double);
    match callback {
        Some(callback) => {
            println!("webhooks go to   {}", callback.url());
            double.call_back(callback);
        }
        None => println!("webhooks go      nowhere: --callback URL names where"),
    }
    println!(
        "\nStatuses follow by themselves. Lines typed here do more, as do requests like\n    curl -d '5511987650101 Oi!' {}/double/inbound\n\n{}",
        double.url(),
        by_hand::help(double.provider())
    );
    by_hand::listen(&double, |said| println!("{said}"));
    // The end of the input is not the end of the double.
    loop {
        std::thread::park();
    }
}
