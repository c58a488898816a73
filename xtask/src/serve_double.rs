//! Starts a double of a far end in the foreground, for trying things by hand.

use xtask::double::graph::{BEHAVIOUR, GraphDouble, GraphOptions, proof};

use crate::args::Args;
use crate::failure::{Context, Failure};

pub const HELP: &str = "\
Starts a double of a far end on the loopback interface, until it is interrupted.

    cargo xtask double graph [--listen ADDRESS] [--app-secret TEXT] [--token TEXT]

    --listen       address and port; 127.0.0.1:8090 when left out
    --app-secret   the key of appsecret_proof, which is HMAC-SHA256(app secret, access token) in hex
    --token        the valid access token

The Graph API's lead node:

    GET /{version}/{lead id}?fields=..&access_token=..&appsecret_proof=..

    id ending in   answer
    001            400 with error 100/33 the first two times, then the lead
    002            401 with error 190: the access token has expired
    003            429 with Retry-After: 1 the first time, then the lead
    004            closes the connection without an answer
    005            500 with an HTML page
    any other      200 with a lead made up from the id, always the same
";

pub fn run(mut args: Args) -> Result<(), Failure> {
    let defaults = GraphOptions::default();
    let listen = args
        .value("--listen")?
        .unwrap_or_else(|| "127.0.0.1:8090".to_owned());
    let options = GraphOptions {
        listen: listen.parse().context(format!("--listen {listen}"))?,
        app_secret: args.value("--app-secret")?.unwrap_or(defaults.app_secret),
        tokens: args
            .value("--token")?
            .map_or(defaults.tokens, |token| vec![token]),
    };
    match args.words()?.as_slice() {
        [which] if which == "graph" => {}
        _ => {
            return Err(Failure::new("name the double to start").hint("cargo xtask double graph"));
        }
    }
    let double = GraphDouble::start(options).context(format!("listening on {listen}"))?;
    let options = double.options();
    let token = &options.tokens[0];
    println!(
        "The Graph API's double listens on http://{}",
        double.address()
    );
    println!("app secret       {}", options.app_secret);
    println!("access token     {token}");
    println!("appsecret_proof  {}", proof(&options.app_secret, token));
    println!("\n{BEHAVIOUR}");
    double.wait();
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_help_tells_how_ids_behave() {
        assert!(
            super::HELP.ends_with(
                xtask::double::graph::BEHAVIOUR
                    .split_once("\n\n")
                    .expect("a table")
                    .1
            )
        );
    }
}
