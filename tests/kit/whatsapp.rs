//! The double of the WhatsApp Cloud API, which `cargo xtask double whatsapp`
//! starts too: `WhatsApp::start()` listens on a free port.

use xtask::double::whatsapp::Cloud;
pub use xtask::double::whatsapp::{WhatsAppOptions, template};

use crate::provider::{BEGINNING, Double};

pub type WhatsApp = Double<Cloud>;

impl WhatsApp {
    /// Starts a double with the default options.
    pub fn start() -> Self {
        Self::with(WhatsAppOptions::default())
    }

    /// Starts a double. Without a time in the options its time stands at [`BEGINNING`].
    pub fn with(options: WhatsAppOptions) -> Self {
        let options = WhatsAppOptions {
            now: options.now.or(Some(BEGINNING)),
            ..options
        };
        let started = xtask::double::whatsapp::WhatsApp::start(options);
        Self::new(started.expect("a free port on loopback"))
    }
}
