//! The double of Twilio, which `cargo xtask double twilio` starts too:
//! `Twilio::start()` listens on a free port.

use xtask::double::twilio::{Messages, TwilioOptions};

use crate::provider::{BEGINNING, Double};

pub type Twilio = Double<Messages>;

impl Twilio {
    /// Starts a double with the default options, whose time stands at [`BEGINNING`].
    pub fn start() -> Self {
        let options = TwilioOptions {
            now: Some(BEGINNING),
            ..TwilioOptions::default()
        };
        let started = xtask::double::twilio::Twilio::start(options);
        Self::new(started.expect("a free port on loopback"))
    }
}
