//! The double of Twilio, which `cargo xtask double twilio` starts too:
//! `Twilio::start()` listens on a free port.

use xtask::double::twilio::Messages;
pub use xtask::double::twilio::{Content, TwilioOptions};

use crate::provider::{BEGINNING, Double};

pub type Twilio = Double<Messages>;

impl Twilio {
    /// Starts a double with the default options.
    pub fn start() -> Self {
        Self::with(TwilioOptions::default())
    }

    /// Starts a double. Without a time in the options its time stands at [`BEGINNING`].
    pub fn with(options: TwilioOptions) -> Self {
        let options = TwilioOptions {
            now: options.now.or(Some(BEGINNING)),
            ..options
        };
        let started = xtask::double::twilio::Twilio::start(options);
        Self::new(started.expect("a free port on loopback"))
    }
}
