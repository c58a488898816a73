//! The files that the pages load.

use std::sync::OnceLock;

use crate::asset::Asset;
use crate::prelude::*;

pub fn style(call: &Call<'_>) -> ApiResponse {
    static CACHED: OnceLock<Asset> = OnceLock::new();
    let text = include_str!("../../templates/console/style.css");
    let asset = CACHED.get_or_init(|| Asset::new("text/css; charset=utf-8", text));
    asset.answer(call)
}

pub fn script(call: &Call<'_>) -> ApiResponse {
    static CACHED: OnceLock<Asset> = OnceLock::new();
    let text = include_str!("../../templates/console/script.js");
    let asset = CACHED.get_or_init(|| Asset::new("text/javascript; charset=utf-8", text));
    asset.answer(call)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_files_reference_nothing_external() {
        for text in [
            include_str!("../../templates/console/style.css"),
            include_str!("../../templates/console/script.js"),
            include_str!("../../templates/console/document.html"),
            include_str!("../../templates/console/base.html"),
        ] {
            for word in ["http:", "https:", "url(", "@import", "eval(", "style="] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
