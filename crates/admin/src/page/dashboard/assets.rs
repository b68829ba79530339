//! The files of the dashboard that are the same for everybody: its document, styles and scripts.
//!
//! They are part of the program. A debug build reads them from the directory that `WEIR_UI` names,
//! if there is one, so that a change of theirs needs no build.

use settings::StatsPage;
use stdx::json;

/// A file: its name below the address of the dashboard, its type, its text.
pub(super) struct Asset {
    name: &'static str,
    pub(super) content_type: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($name:literal, $content_type:expr) => {
        Asset {
            name: $name,
            content_type: $content_type,
            text: include_str!(concat!("../ui/", $name)),
        }
    };
}

/// All files, in alphabetical order but for the document.
const ASSETS: &[Asset] = &[
    asset!("index.html", HTML),
    asset!("actions.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("base.css", CSS),
    asset!("certificates.js", SCRIPT),
    asset!("chart.css", CSS),
    asset!("chart.js", SCRIPT),
    asset!("configuration.js", SCRIPT),
    asset!("detail.js", SCRIPT),
    asset!("dialog.css", CSS),
    asset!("dom.js", SCRIPT),
    asset!("errors.js", SCRIPT),
    asset!("feed.js", SCRIPT),
    asset!("grid.css", CSS),
    asset!("grid.js", SCRIPT),
    asset!("listeners.js", SCRIPT),
    asset!("model.js", SCRIPT),
    asset!("overview.js", SCRIPT),
    asset!("process.js", SCRIPT),
    asset!("reloads.js", SCRIPT),
    asset!("resolvers.js", SCRIPT),
    asset!("route.js", SCRIPT),
    asset!("series.js", SCRIPT),
    asset!("states.js", SCRIPT),
    asset!("tables.js", SCRIPT),
    asset!("units.js", SCRIPT),
];

/// The file of this name; the document has none.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    let name = if name.is_empty() { "index.html" } else { name };
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    /// Its text for a page.
    ///
    /// Scripts name each other by absolute addresses: the address of a page may have a query, to
    /// which a relative one does not refer.
    pub(super) fn text(&self, page: &StatsPage) -> String {
        let base = format!("{}/ui", page.uri.trim_end_matches('/'));
        let text = self.fresh().unwrap_or_else(|| self.text.to_owned());
        match self.content_type {
            HTML => {
                let (base, page) = (super::super::html::escaped(&base), &page.uri);
                text.replace("{base}", &base).replace("{page}", &super::super::html::escaped(page))
            }
            SCRIPT => {
                let base = json::quoted(&base);
                text.replace("from \"./", &format!("from {}/", base.trim_end_matches('"')))
            }
            _ => text,
        }
    }

    /// Its text in the directory that a debug build is pointed to.
    fn fresh(&self) -> Option<String> {
        let directory = cfg!(debug_assertions).then(|| std::env::var_os("WEIR_UI"))??;
        std::fs::read_to_string(std::path::Path::new(&directory).join(self.name)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_import_each_other_below_the_address_of_the_page() {
        let page = StatsPage { uri: "/haproxy?stats".into(), ..StatsPage::default() };
        let text = find("app.js").expect("the script").text(&page);
        assert!(text.contains("from \"/haproxy?stats/ui/dom.js\""), "{text}");
        let imports = text.lines().filter(|line| line.contains(" from \""));
        for line in imports {
            let name = line.rsplit('/').next().unwrap().trim_end_matches("\";");
            assert!(find(name).is_some(), "{line}");
        }
        assert!(find("none.js").is_none());
    }

    #[test]
    fn names_in_addresses_are_escaped() {
        let page = StatsPage { uri: "/a\"><b>".into(), ..StatsPage::default() };
        let text = find("").expect("the document").text(&page);
        assert!(!text.contains("<b>") && text.contains("/a&quot;&gt;&lt;b&gt;/ui"), "{text}");
        let text = find("app.js").expect("the script").text(&page);
        assert!(text.contains("from \"/a\\\"><b>/ui/dom.js\""), "{text}");
    }
}
