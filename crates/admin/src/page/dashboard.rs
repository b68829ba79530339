//! The dashboard at `<stats uri>/ui`: the state of everything, live in the browser.
//!
//! The document, styles and scripts are [`assets`]. The script asks for [`figures`] about once a
//! second, for the [`history`] that was before, and for the content of the view that is open. All
//! answers are compressed where the browser takes that. Rates are computed by the browser from two
//! answers.

mod assets;
mod certificates;
mod configuration;
mod detail;
mod failures;
mod figures;
mod gather;
mod history;
mod listeners;
mod process;
mod reloads;
mod resolvers;
mod tables;
mod top;
mod writer;

use super::change;
use crate::settings::Settings;
use crate::web::{decode, response};
use certificates::Certificates;
use configuration::Configuration;
use detail::Detail;
use engine::state::services::{Answer, Body, Pieces, Visit};
use engine::state::worker::Worker;
use failures::Failures;
use figures::Figures;
use history::History;
use htx::Head;
use listeners::Listeners;
use settings::StatsPage;
use std::sync::Arc;

/// Browsers load, run and contact this origin only; no page may frame the dashboard.
const POLICY: &[u8] = b"default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A request to the dashboard.
struct Request<'a> {
    visit: &'a Visit<'a>,
    settings: &'a Arc<Settings>,
    page: &'a StatsPage,
    /// The rest of the path behind the address.
    options: &'a str,
}

impl Request<'_> {
    /// The value of an option, empty without it.
    fn option(&self, name: &str) -> String {
        option(self.options, name)
    }
}

/// An address with data: its name, and the function that makes the answer.
type DataPart = (&'static str, fn(&Request<'_>) -> Pieces);

/// All addresses with data, in alphabetical order.
const DATA: &[DataPart] = &[
    ("certificates", |it| {
        let mut part = Certificates::new(it.settings, is_whole(it.page));
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("configuration", |it| {
        let mut part = Configuration::new(it.settings, is_whole(it.page));
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("detail", |it| {
        let server = Some(it.option("server")).filter(|name| !name.is_empty());
        let mut part = Detail::new(it.page, it.option("proxy"), server);
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("failures", |it| {
        let mut part = Failures::new(it.page);
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("figures", |it| {
        let seen = (it.visit.role, it.option("since"));
        let mut part = Figures::new(it.settings, it.page, seen);
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("history", |it| {
        let mut part = History::new(it.page);
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("listeners", |it| {
        let mut part = Listeners::new(it.settings, it.page);
        Box::new(move |worker, out| part.next(worker, out))
    }),
    ("process", |it| {
        let (settings, page) = (it.settings.clone(), it.page.clone());
        whole(move |worker| process::write(worker, &settings, &page))
    }),
    ("reloads", |it| {
        let settings = it.settings.clone();
        whole(move |worker| reloads::write(worker, &settings))
    }),
    ("resolvers", |it| {
        let page = it.page.clone();
        whole(move |worker| resolvers::write(worker, &page))
    }),
    ("tables", |it| {
        let page = it.page.clone();
        whole(move |worker| tables::write(worker, &page))
    }),
    ("top", |it| {
        let name = Some(it.option("table")).filter(|name| shows(it.page, name));
        whole(move |worker| top::write(worker, name.as_ref()))
    }),
];

/// An answer that is made at once.
fn whole(write: impl Fn(&Worker) -> String + 'static) -> Pieces {
    Box::new(move |worker, out| {
        out.push_str(&write(worker));
        false
    })
}

/// The name of a part below the address of the dashboard, and what follows it; `None`: the address
/// is none of the dashboard's.
fn part<'u>(uri: &'u str, page: &str) -> Option<(&'u str, &'u str)> {
    let rest = uri.strip_prefix(page.trim_end_matches('/'))?.strip_prefix("/ui")?;
    let end = rest.find(['?', ';', '&']).unwrap_or(rest.len());
    let (path, options) = rest.split_at(end);
    let name = path.trim_end_matches('/');
    let name = if name.is_empty() { name } else { name.strip_prefix('/')? };
    Some((name, options))
}

/// Answers a request to the dashboard; `None`: it is for the page itself.
pub(super) fn answer(
    visit: &Visit<'_>,
    settings: &Arc<Settings>,
    page: &StatsPage,
) -> Option<Answer> {
    let uri = String::from_utf8_lossy(visit.request.path_and_query());
    let (name, options) = part(&uri, &page.uri)?;
    let request = Request { visit, settings, page, options };
    let data = DATA.iter().find(|(known, _)| *known == name);
    let (content_type, pieces) = match (data, assets::find(name)) {
        (Some((_, make)), _) => ("application/json", make(&request)),
        (None, Some(asset)) => {
            let page = page.clone();
            (asset.content_type, whole(move |_| asset.text(&page)))
        }
        (None, None) => return None,
    };
    let mut head = head(content_type);
    head.push(b"vary", b"accept-encoding");
    let compresses = takes_gzip(visit.request);
    if compresses {
        head.push(b"content-encoding", b"gzip");
    }
    let body = if compresses { Body::Compressed(pieces) } else { Body::Pieces(pieces) };
    Some(Answer { head, body })
}

/// Performs an action that the dashboard asks for, and tells its outcome; `None`: the request is
/// for the page itself.
pub(super) fn act(visit: &Visit<'_>, page: &StatsPage) -> Option<Answer> {
    let uri = String::from_utf8_lossy(visit.request.path_and_query());
    let ("act", _) = part(&uri, &page.uri)? else { return None };
    let outcome = change::apply(visit, Some(page));
    let text = format!("{{\"outcome\":\"{}\"}}", outcome.word());
    Some(Answer { head: head("application/json"), body: Body::Whole(text.into_bytes()) })
}

fn head(content_type: &str) -> Head {
    let mut head = response(200, "OK", content_type);
    head.push(b"content-security-policy", POLICY);
    head.push(b"x-content-type-options", b"nosniff");
    head.push(b"referrer-policy", b"same-origin");
    head
}

/// Whether a client takes the coding `gzip` (RFC 9110, section 12.5.3). A client that refuses it
/// with a quality of 0, which no browser does, gets the plain text.
fn takes_gzip(request: &Head) -> bool {
    let value = request.get(b"accept-encoding").unwrap_or_default();
    let mut codings = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    codings.any(|coding| coding.eq_ignore_ascii_case(b"gzip"))
}

/// Whether a page may show what identifies clients and the configuration: it must ask for a
/// password or be allowed to show details (`stats show-legends`).
fn is_trusted(page: &StatsPage) -> bool {
    page.show_legends || !page.users.is_empty()
}

/// Whether it may show what concerns the whole process, too.
fn is_whole(page: &StatsPage) -> bool {
    is_trusted(page) && page.scope.is_empty()
}

/// Whether it shows a proxy.
fn is_in_scope(page: &StatsPage, proxy: &str) -> bool {
    page.scope.is_empty() || page.scope.iter().any(|scope| scope == proxy)
}

/// Whether a page shows the entries of a stick table, whose keys identify clients.
fn shows(page: &StatsPage, table: &str) -> bool {
    is_trusted(page) && is_in_scope(page, table)
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
        assert_eq!(part("/ui", "/"), Some(("", "")));
        assert_eq!(part("/ui/", "/"), Some(("", "")));
        assert_eq!(part("/stats/ui/top?table=a%20b", "/stats"), Some(("top", "?table=a%20b")));
        assert_eq!(part("/haproxy?stats/ui/app.js", "/haproxy?stats"), Some(("app.js", "")));
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
