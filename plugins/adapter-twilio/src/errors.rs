//! Twilio's errors, classified by their cause.
//!
//! The same codes come in responses to sends and in status callbacks, which have
//! no text, so each code has a short name here. An unlisted code is final and
//! kept unchanged.

/// Returns the category and the short name of a listed code.
pub fn listed(code: u32) -> Option<(&'static str, &'static str)> {
    Some(match code {
        // Access of the account, its senders, and its setup at Twilio.
        20_003 | 20_403 => ("connection", "Not permitted"),
        20_004 => ("connection", "Method not allowed"),
        20_006 => ("connection", "Access denied"),
        20_008 => ("connection", "Test credentials"),
        20_101..=20_107 | 20_151..=20_157 | 20_159 | 20_160 => ("connection", "Token not accepted"),
        20_404 | 20_423 => ("connection", "Account or resource unknown"),
        21_212 | 21_603 | 21_606 | 21_607 | 21_616 | 21_657 | 21_659..=21_661 => {
            ("connection", "The sender cannot send this")
        }
        21_601 => ("connection", "The sender cannot receive messages"),
        21_609 => ("connection", "The address for statuses is not valid"),
        21_701..=21_705 | 21_711 | 21_712 => ("connection", "Messaging service not usable"),
        21_910 => (
            "connection",
            "Sender and recipient are on different channels",
        ),
        63_001 => (
            "connection",
            "The channel did not accept Twilio's credentials",
        ),
        63_002 | 63_007 => ("connection", "The sender is not on the channel"),
        63_008 => ("connection", "The channel is not set up"),

        10_001 | 20_005 | 21_472 | 30_002 => ("account", "Account not active"),
        10_002 => ("account", "Not possible on a trial account"),
        20_010 => ("account", "Disabled for the account"),
        30_018 | 30_024 | 30_032..=30_035 => ("account", "The sender is not registered"),
        63_020 => ("account", "Meta's business account is not ready"),
        63_022 => ("account", "The sender's certificate is not valid"),
        63_026 => ("account", "The sender is reported as spam"),
        63_051 => ("account", "Meta has locked the account"),
        63_062 => ("account", "Terms of marketing messages not accepted"),
        63_112 => ("account", "Meta has disabled the account"),

        20_429 => ("throttled-account", "Too many requests"),
        63_038 => ("throttled-account", "Daily limit of the account reached"),
        14_107 | 63_017 | 63_018 => ("throttled-number", "Rate limit of the sender reached"),
        21_611 | 30_001 => ("throttled-number", "The sender's queue is full"),
        30_022 | 30_023 | 30_027 => ("throttled-number", "Carrier's limit of the sender reached"),

        20_503 => ("transient", "Service unavailable"),
        20_409 => ("transient", "Another change is under way"),
        21_730 => ("transient", "Maintenance"),
        30_008 => ("transient", "Unknown error of the carrier"),
        30_017 => ("transient", "The carrier's network is congested"),
        30_036 => ("transient", "Validity period expired"),
        63_009 | 63_012 => ("transient", "Internal error of the channel"),
        63_010 | 63_011 => ("transient", "Internal error of Twilio"),
        63_019 => ("transient", "Media could not be fetched"),
        63_023 => ("transient", "Error of the channel"),
        63_025 => ("transient", "Media exists already"),
        63_037 => ("transient", "Media could not be passed on"),

        21_211 | 21_217 | 21_401 | 21_421 | 21_604 => ("recipient", "Not a valid number"),
        21_214 | 21_612 => ("recipient", "The number cannot be reached"),
        21_219 | 21_608 => ("recipient", "Not among a trial account's numbers"),
        21_408 => ("recipient", "The region is not permitted"),
        21_614 => ("recipient", "Not a mobile number"),
        30_003 => ("recipient", "The phone cannot be reached"),
        30_004 => ("recipient", "The number is blocked"),
        30_005 => ("recipient", "The number is unknown"),
        30_006 => (
            "recipient",
            "A landline, or a carrier that cannot be reached",
        ),
        30_011 => ("recipient", "The number does not accept media"),
        63_003 => ("recipient", "Not on the channel"),
        63_014 => ("recipient", "The contact has blocked the sender"),
        63_015 => ("recipient", "Has not joined the sandbox"),
        63_024 => ("recipient", "The channel cannot reach the contact"),
        63_031 => ("recipient", "Sender and recipient are the same"),
        63_032 => ("recipient", "Withheld by an experiment of Meta"),
        63_033 => ("recipient", "The contact may not get this message"),
        63_036 => ("recipient", "The phone cannot be reached"),
        63_049 => ("recipient", "Meta chose not to deliver it"),
        21_610 => ("opt-out", "The contact wants no more messages"),
        63_016 => ("window", "Only a template may be sent"),

        21_655 | 50_526 | 92_006 => ("unknown-template", "The content is unknown"),
        63_027 => ("unknown-template", "Not in that language"),
        63_029 => ("template", "The phone could not load the template"),
        63_040 => ("template", "Template rejected"),
        63_041 => ("template", "Template paused"),
        63_042 => ("template", "Template disabled"),

        20_001 | 20_422 => ("request", "A parameter is not valid"),
        21_602 | 21_619 | 21_654 | 50_528 | 92_005 => ("request", "No content"),
        21_617 | 21_618 => ("request", "The text cannot be sent"),
        21_620 | 21_623 => ("request", "Media not valid"),
        21_656 | 50_527 | 50_529 | 92_002 | 92_007 => ("request", "Variables not valid"),
        21_658 => ("request", "A parameter is too long"),
        30_007 => ("request", "Filtered"),
        30_010 => ("request", "Price above the limit"),
        63_005 | 63_006 | 63_021 | 63_030 => {
            ("request", "The channel does not accept this content")
        }
        63_013 => ("request", "Against the channel's policy"),
        63_028 => ("request", "Wrong number of parameters"),
        63_034 => ("request", "Media too large"),
        _ => return None,
    })
}

/// Returns the category of any code, by the status if it is unlisted.
pub fn category(code: u32, status: u16) -> &'static str {
    listed(code).map_or(
        match status {
            401 | 403 => "connection",
            429 => "throttled-account",
            _ => "request",
        },
        |(category, _)| category,
    )
}

/// Returns the short name of a code; empty if it is unlisted.
pub fn title(code: u32) -> &'static str {
    listed(code).map_or("", |(_, title)| title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_categories() {
        let check = |codes: &[u32], expect: &str| {
            for code in codes {
                assert_eq!(category(*code, 400), expect, "{code}");
            }
        };
        check(
            &[20_003, 20_404, 21_212, 21_606, 21_701, 63_007],
            "connection",
        );
        check(&[10_001, 20_005, 63_020, 63_051, 63_112], "account");
        check(&[20_429, 63_038], "throttled-account");
        check(&[14_107, 21_611, 63_017, 63_018], "throttled-number");
        check(&[20_503, 63_009, 63_012, 63_019], "transient");
        check(
            &[21_211, 21_614, 30_003, 63_003, 63_024, 63_032],
            "recipient",
        );
        check(&[21_610], "opt-out");
        check(&[63_016], "window");
        check(&[21_655, 50_526, 63_027, 92_006], "unknown-template");
        check(&[63_029, 63_040, 63_041, 63_042], "template");
        check(&[21_656, 63_005, 63_013, 63_021, 63_028], "request");
        check(&[1, 21_999, 99_999], "request");
    }

    #[test]
    fn an_unlisted_code_is_classified_by_the_status() {
        assert_eq!(category(99_999, 429), "throttled-account");
        assert_eq!(category(99_999, 403), "connection");
        assert_eq!(category(21_610, 429), "opt-out");
        assert_eq!(title(99_999), "");
    }
}
