//! `stats` lines of proxies (section 4.2): the statistics page.
use super::language;
use super::proxy::allowed;
use super::values::seconds_at;
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::keyword::{Fill, Keyword, Places};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::StatsPage;

type StatsVerb = Keyword<Fill<DraftProxy>>;

const fn entry(
    name: &'static str,
    arguments: &'static str,
    doc: &'static str,
    parse: Fill<DraftProxy>,
) -> StatsVerb {
    Keyword { name, arguments, places: Places::ALL, doc, parse }
}

/// The page of the proxy, which any of the verbs turns on. The first verb replaces an inherited
/// page altogether, users included, as measured with HAProxy.
fn page(proxy: &mut DraftProxy) -> &mut StatsPage {
    if std::mem::take(&mut proxy.settings.inherits_stats) {
        proxy.settings.stats = None;
    }
    proxy.settings.stats.get_or_insert_default()
}

/// All implemented verbs, alphabetical. Argument 0 is `stats`, argument 1 the verb.
pub(crate) const VERBS: &[StatsVerb] = &[
    Keyword {
        places: Places::SIDES,
        ..entry(
            "admin",
            "{ if | unless } <condition>",
            "Who may change servers from the page.",
            admin,
        )
    },
    entry("auth", "<user>:<passwd>", "A user who may see the page.", auth),
    Keyword {
        places: Places::SIDES,
        ..entry(
            "drain",
            "{ if | unless } <condition>",
            "Who may drain servers from the page, and nothing else.",
            drain,
        )
    },
    entry("enable", "", "Turns the page on.", |p, _, a| {
        page(p);
        a.from(1).ignores_behind(0);
        Ok(())
    }),
    entry("hide-version", "", "Hides the version.", |p, _, a| {
        page(p).hide_version = true;
        a.from(1).ignores_behind(0);
        Ok(())
    }),
    Keyword {
        places: Places::SIDES,
        ..entry(
            "http-request",
            "{ allow | deny | auth [realm <realm>] } [ { if | unless } <condition> ]",
            "Rules about who may see the page.",
            access,
        )
    },
    entry(
        "realm",
        "<realm>",
        "What the page calls itself when it asks for a password.",
        |p, _, a| {
            page(p).realm = Some(a.need(2, "'realm' needs an realm name.")?.to_owned());
            Ok(())
        },
    ),
    entry("refresh", "<delay>", "Reloads the page, in seconds.", refresh),
    entry("scope", "{ <name> | \".\" }", "A proxy that the page shows.", |p, _, a| {
        let name = a.need(2, "'scope' needs a proxy name.")?;
        page(p).scope.push(name.to_owned());
        Ok(())
    }),
    entry("show-desc", "[ <desc> ]", "Shows a description.", |p, cx, a| {
        if a.get(2).is_none() && !cx.described {
            let message =
                "'show-desc' requires a parameter or 'desc' to be set in the global section.";
            a.note(1, message.to_owned());
        }
        page(p).description = Some(a.texts(2).join(" "));
        Ok(())
    }),
    entry("show-legends", "", "Shows more details.", |p, _, a| {
        page(p).show_legends = true;
        a.from(1).ignores_behind(0);
        Ok(())
    }),
    entry("show-modules", "", "Shows what modules count.", |p, _, a| {
        page(p).show_modules = true;
        a.from(1).ignores_behind(0);
        Ok(())
    }),
    entry("show-node", "[ <name> ]", "Shows the name of the node.", |p, _, a| {
        let name = a.text(2);
        if let Some((at, _)) = name.char_indices().find(|(_, c)| !node_char(*c)) {
            let message = "'stats show-node' invalid node name - should be a string with digits(0-9), letters(A-Z, a-z), hyphen(-) or underscore(_).";
            return Err(a.fault_at(2, at, message));
        }
        page(p).node = Some(name.to_owned());
        a.from(1).ignores_behind(1);
        Ok(())
    }),
    entry("uri", "<prefix>", "Where the page is.", |p, _, a| {
        let prefix = a.need(2, "'uri' needs an URI prefix.")?;
        a.from(1).ignores_behind(1);
        page(p).uri = prefix.to_owned();
        Ok(())
    }),
];

fn node_char(c: char) -> bool {
    c != ':' && crate::value::is_name_char(c)
}

/// A name without a colon has an empty password. Of two lines about one user, the first counts.
fn auth(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let account = args.need(2, "'auth' needs a user:password account.")?;
    let (user, password) = account.split_once(':').unwrap_or((account, ""));
    let bytes = |word| sample::word::to_bytes(word).into_owned();
    let users = &mut page(proxy).users;
    if users.iter().any(|(known, _)| *known == bytes(user)) {
        cx.warn(args, 2, format!("uri auth: ignoring duplicated user '{user}'."));
        return Ok(());
    }
    users.push((bytes(user), bytes(password)));
    Ok(())
}

fn access(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if allowed(proxy, cx, args, Places::SIDES, "stats http-request")? {
        page(proxy);
        language::stats_rule(proxy, cx, args)?;
    }
    Ok(())
}

fn admin(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if allowed(proxy, cx, args, Places::SIDES, "stats admin")? {
        page(proxy);
        language::stats_admin(proxy, cx, args)?;
    }
    Ok(())
}

fn drain(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if allowed(proxy, cx, args, Places::SIDES, "stats drain")? {
        page(proxy);
        language::stats_drain(proxy, cx, args)?;
    }
    Ok(())
}

fn refresh(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.need(2, "'refresh' needs an interval.")?;
    args.from(1).ignores_behind(1);
    page(proxy).refresh = seconds_at(args, 2, "argument to stats refresh interval.")?;
    Ok(())
}

/// One `stats` line.
pub(super) fn parse(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(1);
    let Some(verb) = Keyword::find(VERBS, name) else {
        let unknown = format!(
            "unknown stats parameter '{name}', expects 'admin', 'uri', 'realm', 'auth', 'scope', 'enable', 'hide-version', 'show-node', 'show-desc' or 'show-legends'."
        );
        return Err(known::fault(args, 1, "stats", &format!("stats {name}"), unknown));
    };
    (verb.parse)(proxy, cx, args)
}
