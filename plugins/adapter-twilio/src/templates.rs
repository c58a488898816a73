//! The configured list of templates. Twilio's own list has contents without the
//! names and languages that senders use. The components stay empty: the configuration
//! does not describe the quick replies of a content.

use leadhost_sdk::{Placeholder, Template};

use crate::{Config, config::Content};

/// Returns the configured templates.
pub fn from_config(config: &Config) -> Vec<Template> {
    config.templates.iter().map(template).collect()
}

fn template(content: &Content) -> Template {
    let template = Template::new(&content.name, &content.language, &content.status)
        .category(&content.category)
        .text(&content.text);
    content
        .variables()
        .into_iter()
        .fold(template, |template, variable| {
            let counts = variable.name.bytes().all(|byte| byte.is_ascii_digit());
            template.placeholder(Placeholder {
                component: variable.component.word().into(),
                index: variable.index,
                kind: variable.kind.word().into(),
                name: if counts { String::new() } else { variable.name },
            })
        })
}
