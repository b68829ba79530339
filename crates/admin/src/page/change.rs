//! Changes that the forms of the page ask for (`stats admin`).
//!
//! A form names one backend, some of its servers, and an action, as HAProxy's form does. The result
//! is part of the address that the client is redirected to.

use crate::web::decode;
use balance::{Admin, Change};
use engine::state::runtime::Backend;
use engine::state::services::{Role, Visit};
use engine::state::session::stream_list;
use engine::state::session::stream_list::StreamSet;
use health::servers::events;
use health::servers::events::Cause;
use htx::Head;
use proxy::{Shared, Worker};
use settings::StatsPage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The result of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// All of it was done.
    Done,
    /// Some of the servers are not known.
    Partial,
    /// The form makes no sense.
    Error,
    /// The servers were in the wanted state already.
    Nothing,
    /// This client may not change anything.
    Denied,
    /// The form does not fit in a buffer.
    TooLong,
    /// The page was of another process.
    Replaced,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::Done,
        Self::Partial,
        Self::Error,
        Self::Nothing,
        Self::Denied,
        Self::TooLong,
        Self::Replaced,
    ];

    /// Its word in the address (`;st=`).
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Done => "DONE",
            Self::Partial => "PART",
            Self::Error => "ERRP",
            Self::Nothing => "NONE",
            Self::Denied => "DENY",
            Self::TooLong => "EXCD",
            Self::Replaced => "GONE",
        }
    }

    /// The outcome that a word in an address encodes.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }

    /// The page's sentence about it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Done => "Action processed successfully.",
            Self::Partial => {
                "Action partially processed: some server names are probably unknown or ambiguous."
            }
            Self::Error => {
                "Action not processed because of invalid parameters: the action is maybe unknown, \
                 or a server or backend name is not."
            }
            Self::Nothing => "Nothing has changed.",
            Self::Denied => "Action denied: changes are not allowed on this page.",
            Self::TooLong => {
                "Action not processed: the buffer could not store all the data. Retry with less \
                 servers at a time."
            }
            Self::Replaced => {
                "Action not processed: another process answers since the page was shown. Look at \
                 the present state and retry."
            }
        }
    }
}

/// The actions on a server.
type Deed = fn(&Worker, &Backend, usize) -> bool;

/// All actions: name in a form, label on the page, and effect. An action tells whether it applies
/// to the server.
pub(super) const ACTIONS: &[(&str, &str, Deed)] = &[
    ("ready", "Set state to READY", |worker, back, slot| {
        let both = Admin::FORCED_MAINT.with(Admin::FORCED_DRAIN);
        administer(worker, back, slot, Admin::default(), both)
    }),
    ("drain", "Set state to DRAIN", |worker, back, slot| {
        administer(worker, back, slot, Admin::FORCED_DRAIN, Admin::FORCED_MAINT)
    }),
    ("maint", "Set state to MAINT", |worker, back, slot| {
        administer(worker, back, slot, Admin::FORCED_MAINT, Admin::FORCED_DRAIN)
    }),
    ("dhlth", "Health: disable checks", |_, back, slot| checks(back, slot, true)),
    ("ehlth", "Health: enable checks", |_, back, slot| checks(back, slot, false)),
    ("hrunn", "Health: force UP", |worker, back, slot| force(worker, back, slot, Change::Up)),
    ("hnolb", "Health: force NOLB", |worker, back, slot| {
        force(worker, back, slot, Change::Stopping)
    }),
    ("hdown", "Health: force DOWN", |worker, back, slot| force(worker, back, slot, Change::Down)),
    ("dagent", "Agent: disable checks", |_, back, slot| {
        agent(back, slot).is_some_and(|off| !off.swap(true, Relaxed))
    }),
    ("eagent", "Agent: enable checks", |_, back, slot| {
        agent(back, slot).is_some_and(|off| off.swap(false, Relaxed))
    }),
    ("arunn", "Agent: force UP", |worker, back, slot| force_agent(worker, back, slot, true)),
    ("adown", "Agent: force DOWN", |worker, back, slot| force_agent(worker, back, slot, false)),
    ("shutdown", "Kill Sessions", |worker, back, slot| {
        let which = StreamSet::Server(back.proxy.index, slot);
        stream_list::end_all(
            &worker.shared,
            which,
            transport::stats::transaction_log::Cause::Killed,
        );
        true
    }),
];

/// Actions that the page has no longer and scripts may still ask for, in one state alone each.
const OLD_ACTIONS: &[(&str, Deed)] = &[
    ("disable", |worker, back, slot| {
        alter(worker, back, slot, Admin::FORCED_MAINT, Admin::default())
    }),
    ("enable", |worker, back, slot| {
        alter(worker, back, slot, Admin::default(), Admin::FORCED_MAINT)
    }),
    ("stop", |worker, back, slot| alter(worker, back, slot, Admin::FORCED_DRAIN, Admin::default())),
    ("start", |worker, back, slot| {
        alter(worker, back, slot, Admin::default(), Admin::FORCED_DRAIN)
    }),
];

/// Actions of visitors who may drain servers and nothing else: they leave maintenance alone.
const DRAINS: [&str; 2] = ["stop", "start"];

/// The action with this name.
fn deed(name: &str) -> Option<Deed> {
    let known = ACTIONS.iter().map(|(known, _, deed)| (known, deed));
    let mut all = known.chain(OLD_ACTIONS.iter().map(|(known, deed)| (known, deed)));
    all.find(|(known, _)| **known == name).map(|(_, deed)| *deed)
}

fn administer(worker: &Worker, back: &Backend, slot: usize, set: Admin, clear: Admin) -> bool {
    events::set_admin(worker, back, slot, set, clear, Cause::Silent).is_some()
}

/// As [`administer`]; returns whether anything changed.
fn alter(worker: &Worker, back: &Backend, slot: usize, set: Admin, clear: Admin) -> bool {
    let before = events::set_admin(worker, back, slot, set, clear, Cause::Silent);
    before.is_some_and(|before| before.any(clear) || before.with(set) != before)
}

fn checks(back: &Backend, slot: usize, off: bool) -> bool {
    let server = back.servers.get(slot).filter(|server| server.settings.balance.checked);
    server.is_some_and(|server| server.checks_off.swap(off, Relaxed) != off)
}

fn force(worker: &Worker, back: &Backend, slot: usize, change: Change) -> bool {
    let tracks = back.servers.get(slot).is_none_or(|it| it.settings.balance.track.is_some());
    if !tracks {
        events::force_health(worker, back, slot, change);
    }
    !tracks
}

fn agent(back: &Backend, slot: usize) -> Option<&AtomicBool> {
    Some(&back.servers.get(slot)?.agent.as_ref()?.off)
}

fn force_agent(worker: &Worker, back: &Backend, slot: usize, up: bool) -> bool {
    let listened_to = agent(back, slot).is_some_and(|off| !off.load(Relaxed));
    if listened_to {
        events::force_agent(worker, back, slot, up);
    }
    listened_to
}

/// The fields of a form.
#[derive(Debug, Default, PartialEq, Eq)]
struct Form {
    backend: String,
    /// `None` if the form names no action: nothing is changed then.
    action: Option<String>,
    servers: Vec<String>,
    /// The [`identity`] of the process whose page it was on; clients without a page may omit it.
    process: Option<String>,
}

impl Form {
    /// Reads `application/x-www-form-urlencoded` text; unknown names are ignored.
    fn parse(body: &[u8]) -> Self {
        let (text, mut form) = (String::from_utf8_lossy(body), Self::default());
        for (name, value) in text.split('&').filter_map(|part| part.split_once('=')) {
            match name {
                "b" => form.backend = decode(value),
                "action" => form.action = Some(decode(value)),
                "s" => form.servers.push(decode(value)),
                "process" => form.process = Some(decode(value)),
                _ => {}
            }
        }
        form
    }
}

/// A number that distinguishes this process from those before and after a reload. The pid alone
/// does not: in a container each process may have the same.
pub(super) fn identity(shared: &Shared) -> String {
    format!("{}-{:x}", shared.settings.pid, shared.started)
}

/// Performs the action of a POST, if it is allowed. The dashboard passes its `page`: it names the
/// backend by its name and the process, and acts on the proxies that the page shows.
pub(super) fn apply(visit: &Visit<'_>, page: Option<&StatsPage>) -> Outcome {
    if visit.role == Role::Look || !is_own(visit.request) {
        return Outcome::Denied;
    }
    let Some(form) = visit.form.map(Form::parse) else { return Outcome::TooLong };
    if let Some(page) = page {
        if form.process.is_none() {
            return Outcome::Replaced;
        }
        if !page.scope.is_empty() && !page.scope.contains(&form.backend) {
            return Outcome::Denied;
        }
    }
    act(visit.worker, &form, (visit.role, page.is_some()))
}

fn act(worker: &Worker, form: &Form, (role, by_name): (Role, bool)) -> Outcome {
    let other = |process: &String| *process != identity(&worker.shared);
    if form.process.as_ref().is_some_and(other) {
        return Outcome::Replaced;
    }
    if form.backend.is_empty() {
        return Outcome::Nothing;
    }
    let number = form.backend.strip_prefix('#').filter(|_| !by_name);
    let by_id = number.and_then(|id| id.parse::<u32>().ok());
    let is =
        |it: &&Arc<Backend>| it.proxy.name() == form.backend || Some(it.proxy.settings.id) == by_id;
    let Some(back) = worker.shared.backends().find(is) else { return Outcome::Error };
    let Some(action) = &form.action else { return Outcome::Nothing };
    if role < Role::All && !DRAINS.contains(&action.as_str()) {
        return Outcome::Denied;
    }
    let Some(deed) = deed(action) else { return Outcome::Error };
    let (mut changed, mut missing) = (0, 0);
    for name in &form.servers {
        match back.servers.slot_of(|server| server.state.name() == *name) {
            Some(slot) => changed += u32::from(deed(worker, back, slot)),
            None => missing += 1,
        }
    }
    match (changed, missing) {
        (0, 0) => Outcome::Nothing,
        (_, 0) => Outcome::Done,
        (0, _) => Outcome::Error,
        _ => Outcome::Partial,
    }
}

/// Whether a form comes from this page and not from another site's: browsers name the origin of a
/// POST, and other programs do not act with a person's login.
fn is_own(request: &Head) -> bool {
    if let Some(site) = request.get(b"sec-fetch-site") {
        return site == b"same-origin" || site == b"none";
    }
    let (origin, referer) = (request.get(b"origin"), request.get(b"referer"));
    // Old browsers name the page that the form was on, if anything.
    let Some(url) = origin.or(referer) else { return true };
    let rest = url.strip_prefix(b"http://").or_else(|| url.strip_prefix(b"https://"));
    let host = rest.map(|rest| match origin {
        Some(_) => rest,
        None => rest.split(|byte| *byte == b'/').next().unwrap_or_default(),
    });
    host.is_some_and(|host| request.get(b"host") == Some(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;
    use proptest::prelude::*;

    fn from(headers: &[(&str, &str)]) -> Head {
        let mut head = Head::default();
        head.set_request(b"POST", b"/", Version::Http11);
        headers.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
        head
    }

    #[test]
    fn posts_from_other_sites_are_refused() {
        let host = ("host", "a:8080");
        for (headers, own) in [
            (&[host][..], true),
            (&[host, ("origin", "http://a:8080")], true),
            (&[host, ("origin", "https://a:8080")], true),
            (&[host, ("origin", "http://a")], false),
            (&[host, ("origin", "http://evil")], false),
            (&[host, ("origin", "null")], false),
            (&[("origin", "http://a")], false),
            (&[host, ("origin", "http://evil"), ("sec-fetch-site", "cross-site")], false),
            (&[host, ("sec-fetch-site", "same-site")], false),
            (&[host, ("referer", "http://a:8080/stats")], true),
            (&[host, ("referer", "http://evil/a:8080")], false),
            (&[host, ("referer", "http://a:8080/x"), ("origin", "http://evil")], false),
            (&[host, ("origin", "http://b"), ("sec-fetch-site", "same-origin")], true),
        ] {
            assert_eq!(is_own(&from(headers)), own, "{headers:?}");
        }
    }

    #[test]
    fn forms_are_read() {
        let form = Form::parse(b"s=a&s=b+c&action=maint&b=%233&x=y&s");
        assert_eq!((form.backend.as_str(), form.action.as_deref()), ("#3", Some("maint")));
        assert_eq!(form.servers, ["a", "b c"]);
    }

    #[test]
    fn outcomes_have_words() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::parse(outcome.word()), Some(outcome));
        }
        assert_eq!(Outcome::parse("UNKN"), None);
    }

    proptest! {
        #[test]
        fn any_form_is_understood(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Form::parse(&body);
        }
    }
}
