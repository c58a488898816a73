//! The Graph API's lead node.

use xtask::double::graph::{BEHAVIOUR, GraphDouble, GraphOptions, proof};

use crate::args::Args;
use crate::failure::{Context, Failure};

/// Serves until it is interrupted.
pub fn run(mut args: Args) -> Result<(), Failure> {
    let defaults = GraphOptions::default();
    let options = GraphOptions {
        listen: super::listen(&mut args, 8090)?,
        app_secret: args.value("--app-secret")?.unwrap_or(defaults.app_secret),
        tokens: args
            .value("--token")?
            .map_or(defaults.tokens, |token| vec![token]),
    };
    args.nothing_more()?;
    let listen = options.listen;
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
