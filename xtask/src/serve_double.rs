//! Starts a double in the foreground, for trying things by hand.

use std::net::SocketAddr;

use xtask::double::channel::{Callback, Channel, Provider, by_hand};
use xtask::double::graph::{BEHAVIOUR, GraphDouble, GraphOptions, proof};
use xtask::double::twilio::{Messages, TwilioOptions};
use xtask::double::whatsapp::{Cloud, WhatsAppOptions};

use crate::args::Args;
use crate::failure::{Context, Failure};

pub const HELP: &str = concat!(
    "\
Starts a double of a provider or a lead source on the loopback interface, and runs it until
it is interrupted.

    cargo xtask double graph      the Graph API, from which leads are fetched
    cargo xtask double whatsapp   the WhatsApp Cloud API, a provider of messages
    cargo xtask double twilio     Twilio, a provider of messages

At its start each prints its address, its secrets and its behaviour.

For all:
    --listen ADDRESS   address and port; default 127.0.0.1, and port 8090, 8091 or 8092

graph:
    --app-secret TEXT  the key of appsecret_proof, which is HMAC-SHA256(app secret, access token) in hex
    --token TEXT       the valid access token

whatsapp, twilio:
    --callback URL     the address for webhooks; http://.. and reachable from here
    --signed-url URL   the callback's address that signatures cover, if it is behind a proxy

whatsapp:
    --token TEXT, --app-secret TEXT
    --waba ID, --phone-number-id ID

twilio:
    --account-sid TEXT, --auth-token TEXT
    --from ADDRESS     such as whatsapp:+551130000042

The Graph API's lead node:

",
    include_str!("double/graph/behaviour.txt")
);

/// Starts the double that the first word names, and serves until it is interrupted.
pub fn run(mut args: Args) -> Result<(), Failure> {
    match args.first_word().as_deref() {
        Some("graph") => graph(args),
        Some("whatsapp") => whatsapp(args),
        Some("twilio") => twilio(args),
        _ => Err(Failure::usage("name the double to start").hint("cargo xtask double graph")),
    }
}

fn listen(args: &mut Args, port: u16) -> Result<SocketAddr, Failure> {
    let mut listen = format!("127.0.0.1:{port}");
    or_default(args, "--listen", &mut listen)?;
    listen.parse().context(format!("--listen {listen}"))
}

/// Replaces the default of an option by the value of a flag.
fn or_default(args: &mut Args, flag: &str, option: &mut String) -> Result<(), Failure> {
    if let Some(given) = args.value(flag)? {
        *option = given;
    }
    Ok(())
}

fn graph(mut args: Args) -> Result<(), Failure> {
    let mut options = GraphOptions {
        listen: listen(&mut args, 8090)?,
        ..GraphOptions::default()
    };
    or_default(&mut args, "--app-secret", &mut options.app_secret)?;
    or_default(&mut args, "--token", &mut options.tokens[0])?;
    args.nothing_more()?;
    let (secret, token) = (options.app_secret.clone(), options.tokens[0].clone());
    let listen = options.listen;
    let double = GraphDouble::start(options).context(format!("listening on {listen}"))?;
    let address = double.address();
    println!("The Graph API's double listens on http://{address}");
    println!("app secret       {secret}");
    println!("access token     {token}");
    println!("appsecret_proof  {}", proof(&secret, &token));
    println!("\n{BEHAVIOUR}");
    double.wait();
    Ok(())
}

fn whatsapp(mut args: Args) -> Result<(), Failure> {
    let mut options = WhatsAppOptions::default();
    for (flag, option) in [
        ("--token", &mut options.tokens[0]),
        ("--app-secret", &mut options.app_secret),
        ("--waba", &mut options.waba_id),
        ("--phone-number-id", &mut options.phone_number_id),
    ] {
        or_default(&mut args, flag, option)?;
    }
    serve(args, 8091, Cloud::new(options), |double| {
        let (options, url) = (double.options(), double.url());
        println!("The WhatsApp Cloud API's double: {url}");
        println!("sends            POST {url}{}", double.messages_path());
        println!("access token     {}", options.tokens[0]);
        println!("business account {}", options.waba_id);
        println!("phone number id  {}", options.phone_number_id);
        println!("app secret       {}", options.app_secret);
    })
}

fn twilio(mut args: Args) -> Result<(), Failure> {
    let mut options = TwilioOptions::default();
    for (flag, option) in [
        ("--account-sid", &mut options.account_sid),
        ("--auth-token", &mut options.auth_token),
        ("--from", &mut options.from),
    ] {
        or_default(&mut args, flag, option)?;
    }
    serve(args, 8092, Messages::new(options), |double| {
        let (options, url) = (double.options(), double.url());
        println!("Twilio's double: {url}");
        println!("sends            POST {url}{}", double.messages_path());
        println!("account sid      {}", options.account_sid);
        println!("auth token       {}", options.auth_token);
        println!("from             {}", options.from);
        for content in &options.contents {
            println!("content          {}  {}", content.sid, content.text);
        }
    })
}

fn serve<P: Provider>(
    mut args: Args,
    port: u16,
    provider: P,
    announce: impl FnOnce(&Channel<P>),
) -> Result<(), Failure> {
    let listen = listen(&mut args, port)?;
    let callback = match args.value("--callback")?.map(|url| Callback::to(&url)) {
        None => None,
        Some(reached) => Some(match args.value("--signed-url")? {
            Some(signed) => reached.signed_as(&signed),
            None => reached,
        }),
    };
    args.nothing_more()?;
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
        "\nStatuses are sent automatically. For more, type a command here, such as\n    inbound 5511987650101 Oi!\n\n{}",
        by_hand::help(double.provider())
    );
    by_hand::listen(&double, |said| println!("{said}"));
    // The double keeps running after the end of its input.
    loop {
        std::thread::park();
    }
}
