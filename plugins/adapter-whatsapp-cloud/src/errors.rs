//! Meta's errors, classified by their cause.
//!
//! The code decides: the same error has different HTTP statuses in different
//! calls, and titles are deprecated. The most helpful text is
//! `error_data.details`, which may be missing. An unlisted code is final and
//! kept unchanged, unless Meta itself marks it as transient.

use leadhost_sdk::{ChannelError, HttpResponse, Refused, serde_json::Value, text_at};

/// An error as it appears in a response or in a status.
pub struct Reported {
    /// Unchanged; empty if there is none.
    pub code: String,
    number: Option<u32>,
    subcode: Option<u32>,
    title: String,
    message: String,
    details: String,
    trace: String,
    is_transient: bool,
}

impl Reported {
    /// Reads an error in any of the forms in which Meta and relays report it.
    pub fn read(error: &Value) -> Self {
        let text = |paths: &[&str]| text_at(error, paths).unwrap_or_default();
        // Relays send a bare code or a bare text in place of Meta's object.
        let bare = leadhost_sdk::text_of(error).unwrap_or_default();
        let is_code = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        let (bare_code, bare_text) = if is_code {
            (bare, String::new())
        } else {
            (String::new(), bare)
        };

        let code = or(text(&["code"]), bare_code);
        let message = or(text(&["message"]), bare_text);
        Self {
            number: code.parse().ok(),
            code,
            subcode: text(&["error_subcode"]).parse().ok(),
            title: or(text(&["title", "error_user_title"]), plain(&message)),
            details: text(&["error_data.details", "details", "error_user_msg"]),
            message,
            trace: text(&["fbtrace_id"]),
            is_transient: error.get("is_transient") == Some(&Value::Bool(true)),
        }
    }

    /// Whether the error has a code.
    pub fn has_code(&self) -> bool {
        self.number.is_some()
    }

    /// Returns the refusal of a call.
    pub fn refused(self, response: &HttpResponse) -> Refused {
        let category = self.category(response.status);
        let text = or(self.details.clone(), self.message.clone());
        Refused {
            category: category.into(),
            text: or(text, format!("error {} of the Graph API", self.code)),
            retry_after_seconds: self.retry_after(category, response),
            details: self.further(),
            code: self.code,
            title: self.title,
        }
    }

    /// Returns the error of a message, as a status reports it.
    pub fn into_message_error(self) -> ChannelError {
        ChannelError {
            category: self.category(NO_STATUS).into(),
            description: or(plain(&self.message), self.title.clone()),
            code: self.code,
            title: self.title,
            details: self.details,
        }
    }

    /// Returns the error in one line, for people.
    pub fn words(&self) -> String {
        let text = or(self.title.clone(), plain(&self.message));
        [self.code.as_str(), &text, &self.details]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn category(&self, status: u16) -> &'static str {
        self.number
            .and_then(|code| listed(code, self.subcode, &self.details))
            .unwrap_or(match status {
                _ if self.is_transient => "transient",
                401 => "connection",
                429 => "throttled-number",
                _ => "request",
            })
    }

    /// Returns the wait that the response names, or else the known wait of the code.
    /// Without one, the host uses its own backoff.
    fn retry_after(&self, category: &str, response: &HttpResponse) -> Option<u32> {
        if !matches!(
            category,
            "throttled-recipient" | "throttled-number" | "throttled-account" | "transient"
        ) {
            return None;
        }
        response
            .retry_after()
            .or_else(|| usage_wait(response))
            .or(match self.number {
                Some(131_048) => Some(SPAM_SECONDS),
                _ => None,
            })
    }

    /// Returns details that help an operator who contacts Meta.
    fn further(&self) -> String {
        let mut out = self.details.clone();
        let mut marks = Vec::new();
        if let Some(subcode) = self.subcode {
            marks.push(format!("subcode {subcode}"));
        }
        if !self.trace.is_empty() {
            marks.push(format!("trace {}", self.trace));
        }
        if !marks.is_empty() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&format!("({})", marks.join(", ")));
        }
        out
    }
}

/// Returns the category of a code that is known to occur when sending or listing
/// templates.
fn listed(code: u32, subcode: Option<u32>, details: &str) -> Option<&'static str> {
    Some(match code {
        // The object is unknown or hidden: check the number's id or the permission.
        100 if subcode == Some(33) => "connection",
        100 => "request",
        0 | 3 | 10 | 33 | 102 | 190 | 200..=299 | 131_005 => "connection",
        // The number is not registered, or not by this account.
        133_000 | 133_005 | 133_006 | 133_008 | 133_009 | 133_010 | 133_016 => "connection",

        1 | 2 | 131_000 | 131_016 | 131_057 | 133_004 | 135_000 => "transient",
        4 | 17 | 32 | 613 | 80_000..=80_014 => "throttled-account",
        130_429 | 131_048 | 131_064 => "throttled-number",
        131_056 => "throttled-recipient",

        // Blocked, locked, limited to some countries, rejected name or certificate,
        // unpaid, marketing not allowed.
        368 | 130_497 | 131_031 | 131_037 | 131_042 | 131_044 | 131_045 | 131_063 => "account",

        130_472 | 131_021 | 131_026 | 131_030 | 131_041 | 131_043 | 131_049 | 131_062 | 137_000 => {
            "recipient"
        }
        131_050 => "opt-out",
        131_047 => "window",

        // The template does not exist, or not in that language.
        132_001 => "unknown-template",
        132_005 | 132_007 | 132_008 | 132_012 | 132_015 | 132_016 | 132_068 | 132_069 => "template",
        131_008 | 131_009 | 131_051 | 131_052 | 132_000 | 132_018 => "request",
        131_053 if link_is_wrong(details) => "request",
        131_053 => "transient",
        _ => return None,
    })
}

/// Meta fetches media from the partner's link. A link that answers "not found"
/// stays wrong; a busy one does not.
fn link_is_wrong(details: &str) -> bool {
    let Some((_, rest)) = details.split_once("http code ") else {
        return false;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    match rest[..digits].parse::<u16>() {
        Ok(408 | 425 | 429) | Err(_) => false,
        Ok(code) => (400..500).contains(&code),
    }
}

/// Returns how long a limit lasts, if Meta says so: in minutes, by account.
fn usage_wait(response: &HttpResponse) -> Option<u32> {
    let usage = leadhost_sdk::parse_json(response.header("x-business-use-case-usage")?).ok()?;
    let minutes = usage
        .as_object()?
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|limit| text_at(limit, &["estimated_time_to_regain_access"]))
        .filter_map(|minutes| minutes.parse::<u32>().ok())
        .max()?;
    (minutes > 0).then(|| minutes.saturating_mul(60))
}

/// Returns `(#131030) Recipient ...` without the code, which is reported separately.
fn plain(message: &str) -> String {
    let rest = message
        .strip_prefix("(#")
        .and_then(|rest| rest.split_once(')'))
        .filter(|(code, _)| code.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(message, |(_, rest)| rest);
    rest.trim().to_owned()
}

fn or(text: String, other: String) -> String {
    if text.is_empty() { other } else { text }
}

/// A status update has no HTTP status.
const NO_STATUS: u16 = 0;
/// After a spam limit Meta requires a pause without naming its length.
const SPAM_SECONDS: u32 = 3600;

#[cfg(test)]
mod tests {
    use leadhost_sdk::serde_json::json;

    use super::*;

    #[test]
    fn every_listed_code_has_its_category() {
        let check = |codes: &[u32], expect: &str| {
            for code in codes {
                let error = json!({"code": code, "title": "t"});
                assert_eq!(
                    Reported::read(&error).into_message_error().category,
                    expect,
                    "{code}"
                );
            }
        };
        check(&[0, 3, 10, 33, 190, 200, 250, 299, 131_005], "connection");
        check(&[133_000, 133_005, 133_006, 133_008], "connection");
        check(&[133_009, 133_010, 133_016], "connection");
        check(&[1, 2, 131_000, 131_016, 131_053, 131_057], "transient");
        check(&[133_004, 135_000], "transient");
        check(&[4, 80_007], "throttled-account");
        check(&[130_429, 131_048, 131_064], "throttled-number");
        check(&[131_056], "throttled-recipient");
        check(&[368, 130_497, 131_031, 131_037, 131_042], "account");
        check(&[131_044, 131_045, 131_063], "account");
        check(&[130_472, 131_021, 131_026, 131_030], "recipient");
        check(&[131_041, 131_043, 131_049, 131_062, 137_000], "recipient");
        check(&[131_050], "opt-out");
        check(&[131_047], "window");
        check(&[132_001], "unknown-template");
        check(&[132_005, 132_007, 132_008], "template");
        check(&[132_012, 132_015, 132_016, 132_068, 132_069], "template");
        check(&[100, 131_008, 131_009, 131_051], "request");
        check(&[132_000, 132_018], "request");
        check(&[138_001, 139_000, 999_999], "request");
    }

    #[test]
    fn a_missing_link_is_a_fault_of_the_request() {
        let check = |details: &str, expect: &str| {
            let error = json!({"code": 131_053, "error_data": {"details": details}});
            let error = Reported::read(&error).into_message_error();
            assert_eq!(error.category, expect, "{details}");
        };
        check(
            "failed with http code 404, status message Not Found",
            "request",
        );
        check("failed with http code 429", "transient");
        check("failed with http code 503", "transient");
        check("failed with http code ", "transient");
        check("unknown media", "transient");
    }

    #[test]
    fn the_code_before_a_message_is_removed() {
        assert_eq!(plain("(#131030) Not allowed"), "Not allowed");
        assert_eq!(plain("(x) Not allowed"), "(x) Not allowed");
        assert_eq!(plain("(#131030"), "(#131030");
    }
}
