//! The dashboard at `<stats uri>/ui`: live charts in the browser.
//!
//! Six addresses: the document, its style, its script, the figures from before it was opened
//! ([`history`]), the figures as JSON ([`figures`]) that the script asks for about once a second,
//! and top talkers ([`top`]). Rates and the percentiles of the last seconds are computed by the
//! browser from two answers.

mod figures;
mod history;
mod top;
mod writer;

use crate::settings::Settings;
use crate::web::{decode, response};
use engine::state::services::{Answer, Body};
use engine::state::worker::Worker;
use figures::Figures;
use history::History;
use htx::Head;
use settings::StatsPage;
use std::sync::Arc;

const DOCUMENT: &str = include_str!("ui/index.html");
const STYLE: &str = include_str!("ui/style.css");
const SCRIPT: &str = include_str!("ui/app.js");
/// Browsers load, run and contact this origin only; no page may frame the dashboard.
const POLICY: &[u8] = b"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// One of the dashboard's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DashboardPart {
    Document,
    Style,
    Script,
    Figures,
    History,
    Top,
}

const PARTS: [(&str, DashboardPart); 6] = [
    ("ui", DashboardPart::Document),
    ("ui/style.css", DashboardPart::Style),
    ("ui/app.js", DashboardPart::Script),
    ("ui/figures", DashboardPart::Figures),
    ("ui/history", DashboardPart::History),
    ("ui/top", DashboardPart::Top),
];

/// The part that an address names, and the rest of the address; `None`: the address is not one of
/// the dashboard's.
fn part<'u>(uri: &'u str, page: &str) -> Option<(DashboardPart, &'u str)> {
    let rest = uri.strip_prefix(page.trim_end_matches('/'))?.strip_prefix('/')?;
    let end = rest.find(['?', ';', '&']).unwrap_or(rest.len());
    let (path, options) = rest.split_at(end);
    let path = path.trim_end_matches('/');
    let part = PARTS.iter().find(|(name, _)| *name == path)?.1;
    Some((part, options))
}

/// Answers a request to the dashboard; `None`: it is for the page itself.
pub(super) fn answer(
    worker: &Worker,
    settings: &Arc<Settings>,
    page: &StatsPage,
    request: &Head,
) -> Option<Answer> {
    let uri = String::from_utf8_lossy(request.path_and_query());
    let (part, options) = part(&uri, &page.uri)?;
    let whole = |text: String| Body::Whole(text.into_bytes());
    let (content_type, body) = match part {
        DashboardPart::Document => ("text/html; charset=utf-8", whole(document(page))),
        DashboardPart::Style => ("text/css; charset=utf-8", whole(STYLE.to_owned())),
        DashboardPart::Script => ("text/javascript; charset=utf-8", whole(SCRIPT.to_owned())),
        DashboardPart::Figures => {
            let mut figures = Figures::new(settings, page);
            let pieces = Box::new(move |worker: &Worker, out: &mut _| figures.next(worker, out));
            ("application/json", Body::Pieces(pieces))
        }
        DashboardPart::History => {
            let mut history = History::new(page);
            let pieces = Box::new(move |worker: &Worker, out: &mut _| history.next(worker, out));
            ("application/json", Body::Pieces(pieces))
        }
        DashboardPart::Top => {
            let name = option(options, "table");
            let name = Some(&name).filter(|name| shows(page, name));
            ("application/json", whole(top::write(worker, name)))
        }
    };
    let mut head = response(200, "OK", content_type);
    head.push(b"content-security-policy", POLICY);
    head.push(b"x-content-type-options", b"nosniff");
    Some(Answer { head, body })
}

/// Whether a page shows the entries of a stick table. Keys identify clients, so the page must ask
/// for a password or be allowed to show addresses (`stats show-legends`).
fn shows(page: &StatsPage, table: &str) -> bool {
    let trusted = page.show_legends || !page.users.is_empty();
    trusted && (page.scope.is_empty() || page.scope.iter().any(|scope| scope == table))
}

/// The HTML document, which refers to the other parts.
fn document(page: &StatsPage) -> String {
    let base = format!("{}/ui", page.uri.trim_end_matches('/'));
    let base = super::html::escaped(&base);
    let page = super::html::escaped(&page.uri);
    DOCUMENT.replace("{base}", &base).replace("{page}", &page)
}

/// The value of an option, empty without it.
fn option(options: &str, name: &str) -> String {
    let mut pairs = options.split(['?', ';', '&']).filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| decode(value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_under_the_page() {
        assert_eq!(part("/ui", "/"), Some((DashboardPart::Document, "")));
        assert_eq!(part("/ui/", "/"), Some((DashboardPart::Document, "")));
        assert_eq!(
            part("/stats/ui/top?table=a%20b", "/stats"),
            Some((DashboardPart::Top, "?table=a%20b"))
        );
        assert_eq!(
            part("/haproxy?stats/ui/app.js", "/haproxy?stats"),
            Some((DashboardPart::Script, ""))
        );
        assert_eq!(part("/statsui", "/stats"), None);
        assert_eq!(part("/stats/uix", "/stats"), None);
        assert_eq!(option("?x=1&table=a%20b", "table"), "a b");
    }

    #[test]
    fn tables_are_shown_to_users_that_may_see_clients() {
        let open = StatsPage::default();
        assert!(!shows(&open, "t"));
        assert!(shows(&StatsPage { show_legends: true, ..open.clone() }, "t"));
        let users = vec![(b"a".to_vec(), b"b".to_vec())];
        assert!(shows(&StatsPage { users: users.clone(), ..open.clone() }, "t"));
        let scope = vec!["u".to_owned()];
        assert!(!shows(&StatsPage { users, scope, ..open }, "t"));
    }

    proptest! {
        #[test]
        fn any_address_is_borne(uri in ".{0,40}", page in "/.{0,10}") {
            let _ = part(&uri, &page);
        }
    }
}
