//! `stats` lines of proxies (section 4.2): the statistics page. Never renders it.
use super::values::{text, time_at};
use crate::cx::Cx;
use crate::draft::DraftProxy;
use crate::keyword::{Fill, Keyword, Places};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::StatsPage;
use crate::value::Unit;

type Entry = Keyword<Fill<StatsPage>>;

const fn entry(
    name: &'static str,
    arguments: &'static str,
    doc: &'static str,
    parse: Fill<StatsPage>,
) -> Entry {
    Keyword { name, arguments, places: Places::ALL, doc, parse }
}

/// All implemented verbs, alphabetical. Argument 0 is the verb. Each one turns the page on.
pub(crate) const VERBS: &[Entry] = &[
    entry("enable", "", "Turns the page on.", |_, _, a| a.no_more_than(0)),
    entry("hide-version", "", "Hides the version.", |s, _, a| {
        a.no_more_than(0).map(|()| s.hide_version = true)
    }),
    entry("refresh", "<delay>", "Reloads the page, in seconds.", |s, _, a| {
        a.need(1, "'refresh' needs an interval.")?;
        a.no_more_than(1)?;
        let time = time_at(a, 1, Unit::Seconds, "argument to stats refresh interval.")?;
        s.refresh = time.div_ceil(1000) as u32;
        Ok(())
    }),
    entry("show-desc", "[ <desc> ]", "Shows a description.", |s, _, a| {
        s.show_desc = Some(a.texts(1).join(" "));
        Ok(())
    }),
    entry("show-legends", "", "Shows more details.", |s, _, a| {
        a.no_more_than(0).map(|()| s.show_legends = true)
    }),
    entry("show-node", "[ <name> ]", "Shows the name of the node.", |s, _, a| {
        s.show_node = Some(a.text(1).to_owned());
        a.no_more_than(1)
    }),
    entry("uri", "<prefix>", "Where the page is.", |s, _, a| {
        let prefix = a.need(1, "'uri' needs an URI prefix.")?;
        text(a, "an URI prefix.")?;
        s.uri = Some(prefix.to_owned());
        Ok(())
    }),
];

/// One `stats` line.
pub(super) fn parse(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(1);
    let Some(verb) = Keyword::find(VERBS, name) else {
        let unknown = format!(
            "unknown stats parameter '{name}', expects 'admin', 'uri', 'realm', 'auth', 'scope', 'enable', 'hide-version', 'show-node', 'show-desc' or 'show-legends'."
        );
        return Err(known::fault(args, 1, "stats", &format!("stats {name}"), unknown));
    };
    let page = proxy.settings.stats.get_or_insert_default();
    (verb.parse)(page, cx, args.from(1))
}
