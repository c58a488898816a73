//! Addresses as Twilio writes them: a phone, alone or after its channel's name.

use crate::config::Channel;

const WHATSAPP: &str = "whatsapp:";

/// Returns an address with its channel, whether it names one or not.
pub fn on(channel: Channel, address: &str) -> String {
    let bare = bare(address);
    match channel {
        Channel::Whatsapp => format!("{WHATSAPP}{}", with_plus(bare)),
        Channel::Sms => bare.to_owned(),
    }
}

/// Returns an address without its channel: a phone, or the id of a user without one.
pub fn bare(address: &str) -> &str {
    let address = address.trim();
    match address.get(..WHATSAPP.len()) {
        Some(head) if head.eq_ignore_ascii_case(WHATSAPP) => &address[WHATSAPP.len()..],
        _ => address,
    }
}

/// Whether an address is a phone, and not a name or the id of a user without one.
pub fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    (3..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Adds the plus of WhatsApp's phones, which hosts and people may leave out.
fn with_plus(bare: &str) -> String {
    if is_phone(bare) && !bare.starts_with('+') {
        format!("+{bare}")
    } else {
        bare.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_and_lose_their_channel() {
        let check = |channel: Channel, address: &str, expect: &str| {
            assert_eq!(on(channel, address), expect, "{address}");
        };
        check(
            Channel::Whatsapp,
            "+5511900000001",
            "whatsapp:+5511900000001",
        );
        check(
            Channel::Whatsapp,
            "5511900000001",
            "whatsapp:+5511900000001",
        );
        check(
            Channel::Whatsapp,
            "WhatsApp:+5511900000001",
            "whatsapp:+5511900000001",
        );
        check(Channel::Whatsapp, "BR.12", "whatsapp:BR.12");
        check(Channel::Sms, "+5511900000001", "+5511900000001");
        check(Channel::Sms, "27000", "27000");
        check(Channel::Sms, "whatsapp:+5511900000001", "+5511900000001");
        assert_eq!(bare("é"), "é");
        assert_eq!(bare("whatsappé"), "whatsappé");
    }
}
