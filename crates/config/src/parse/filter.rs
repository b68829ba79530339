//! `filter` lines of proxies (section 9).
use super::{bandwidth, spoe};
use crate::context::Cx;
use crate::draft::{DraftKind, DraftProxy};
use crate::keyword::{Fill, Keyword, Places};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{At, Filter, ProxyKind, TraceFilter};
use crate::suggest;
use ::rules::ScriptFilter;
use sample::SCRIPT_PREFIX;

/// One filter that a line can name.
pub(crate) struct FilterKeyword {
    pub(crate) keyword: Keyword<Fill<DraftProxy>>,
    /// The scope that `-vv` and messages show, as HAProxy calls it.
    pub(crate) scope: &'static str,
}

const fn entry(
    scope: &'static str,
    name: &'static str,
    arguments: &'static str,
    doc: &'static str,
    parse: Fill<DraftProxy>,
) -> FilterKeyword {
    FilterKeyword { keyword: Keyword { name, arguments, places: Places::SIDES, doc, parse }, scope }
}

const BANDWIDTH_LIMIT: &str = "<name> { default-limit <size> default-period <time> | limit <size> key <expr> [table <table>] } [min-size <size>]";

/// All filters, alphabetical. Argument 0 is `filter`, argument 1 the name.
pub(crate) const FILTERS: &[FilterKeyword] = &[
    entry(
        "BWLIM",
        "bwlim-in",
        BANDWIDTH_LIMIT,
        "Limits the payload of requests that passes per period.",
        bandwidth::line,
    ),
    entry(
        "BWLIM",
        "bwlim-out",
        BANDWIDTH_LIMIT,
        "Limits the payload of responses that passes per period.",
        bandwidth::line,
    ),
    entry("CACHE", "cache", "<name>", "Uses a cache, at this place among the filters.", cache),
    entry("COMP", "compression", "", "Compresses responses.", compression),
    entry(
        "FCGI",
        "fcgi-app",
        "<name>",
        "Uses a FastCGI application, at this place among the filters.",
        fcgi_app,
    ),
    entry(
        "SPOE",
        "spoe",
        "[engine <name>] config <file>",
        "Sends messages to an agent, which sets variables.",
        spoe::line,
    ),
    entry(
        "TRACE",
        "trace",
        "[name <name>] [random-forwarding] [hexdump] [quiet]",
        "Prints what filters see.",
        trace,
    ),
];

/// One `filter` line.
pub(super) fn line(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let word = proxy.word();
    let missing = || format!("missing argument for 'filter' in {word} '{}'.", proxy.name);
    let name = args.need(1, missing())?;
    if let Some(script) = name.strip_prefix(SCRIPT_PREFIX) {
        return of_script(proxy, cx, args, script);
    }
    let found = FILTERS.iter().find(|filter| filter.keyword.name == name);
    match found {
        Some(filter) => (filter.keyword.parse)(proxy, cx, args),
        None if known::contains("filter", name) => {
            Err(known::fault(args, 1, "filter", &format!("filter {name}"), String::new()))
        }
        None => {
            let fault = args.fault(1, unknown(name));
            let names = FILTERS.iter().map(|filter| filter.keyword.name);
            Err(fault.suggest(suggest::nearest(name, names)))
        }
    }
}

/// `filter lua.NAME`
fn of_script(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, name: &str) -> Parsed {
    let found = cx.scripts.and_then(|scripts| scripts.filter(name, &args.all_texts(2)));
    let Some((number, per_thread)) = found else {
        return Err(args.fault(1, format!("'filter' : no script has registered 'lua.{name}'")));
    };
    let filter = ScriptFilter { name: name.into(), number, per_thread };
    proxy.settings.common.filters.push(Filter::Script(filter));
    Ok(())
}

fn unknown(name: &str) -> String {
    let mut message = format!("'filter' : unknown keyword '{name}'. Registered keywords :");
    for filter in FILTERS {
        message += &format!("\n    [{:>4}] {}", filter.scope, filter.keyword.name);
    }
    message
}

fn cache(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(2, "'filter' : 'cache : expects a <name> argument'")?;
    let filter = Filter::Cache(name.to_owned());
    if proxy.settings.common.filters.contains(&filter) {
        let proxy = &proxy.name;
        let message = format!(
            "'filter' : '{proxy}: multiple explicit declarations of the cache filter '{name}''"
        );
        return Err(args.fault(2, message));
    }
    no_word(args, 3)?;
    proxy.cache_filters.push(At { value: name.to_owned(), place: args.place().clone() });
    proxy.settings.common.filters.push(filter);
    Ok(())
}

/// `use-fcgi-app`
pub(super) fn use_fcgi_app(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'use-fcgi-app' expects <name> as argument")?;
    set_application(proxy, args, 1, name)?;
    args.no_more_than(1)
}

/// `filter fcgi-app`
fn fcgi_app(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(2, "'filter' : 'fcgi-app : expects a <name> argument'")?;
    no_word(args, 3)?;
    set_application(proxy, args, 2, name)?;
    let filter = Filter::FcgiApp(name.to_owned());
    if !proxy.settings.common.filters.contains(&filter) {
        proxy.settings.common.filters.push(filter);
    }
    Ok(())
}

fn set_application(proxy: &mut DraftProxy, args: Args<'_>, n: usize, name: &str) -> Parsed {
    if proxy.kind == DraftKind::Proxy(ProxyKind::Frontend) {
        let message = "'use-fcgi-app' only available in backend or listen section";
        return Err(args.fault(0, message));
    }
    let known = &mut proxy.settings.back.fcgi_app;
    if known.as_ref().is_some_and(|known| known.value != name) {
        let message = "'use-fcgi-app' : only one fcgi-app supported per backend";
        return Err(args.fault(n, message));
    }
    *known = Some(At { value: name.to_owned(), place: args.place().clone() });
    Ok(())
}

/// `filter-sequence`
pub(super) fn sequence(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let message = "'filter-sequence' expects 'request' or 'response', and a list of filters.";
    let side = match args.need(1, message)? {
        "request" => 0,
        "response" => 1,
        word => {
            let nearest = suggest::nearest(word, ["request", "response"]);
            return Err(args.fault(1, message).suggest(nearest));
        }
    };
    let list = args.need(2, message)?;
    args.no_more_than(2)?;
    let names: Vec<String> = list.split(',').map(str::to_owned).collect();
    for (at, name) in names.iter().enumerate() {
        let message = match name.as_str() {
            "" => format!("'filter-sequence' : a name is missing in '{list}'."),
            name if names[..at].iter().any(|other| other == name) => {
                format!("'filter-sequence' : '{name}' is listed twice.")
            }
            _ => continue,
        };
        return Err(args.fault(2, message));
    }
    let direction = args.text(1);
    let line = &mut proxy.filter_sequences[side];
    if line.is_some() {
        let message = format!("'filter-sequence {direction}' is already set in this section.");
        return Err(args.fault(1, message));
    }
    *line = Some(At { value: names, place: args.place().clone() });
    Ok(())
}

fn compression(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let filters = &mut proxy.settings.common.filters;
    if filters.contains(&Filter::Compression) {
        let name = &proxy.name;
        let message = format!("'filter' : '{name}: Proxy supports only one compression filter'");
        return Err(args.fault(1, message));
    }
    no_word(args, 2)?;
    filters.push(Filter::Compression);
    Ok(())
}

fn trace(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let mut filter = TraceFilter {
        name: "TRACE".to_owned(),
        random_forwarding: false,
        hexdump: false,
        quiet: false,
    };
    let mut n = 2;
    while let Some(word) = args.get(n) {
        match word {
            "name" => {
                n += 1;
                let message = "'filter' : ''trace' : 'name' option without value'";
                args.need(n, message)?.clone_into(&mut filter.name);
            }
            "random-forwarding" => filter.random_forwarding = true,
            "hexdump" => filter.hexdump = true,
            "quiet" => filter.quiet = true,
            _ => no_word(args, n)?,
        }
        n += 1;
    }
    proxy.settings.common.filters.push(Filter::Trace(filter));
    Ok(())
}

/// An error unless argument `n` is absent.
fn no_word(args: Args<'_>, n: usize) -> Parsed {
    let Some(word) = args.get(n) else { return Ok(()) };
    let message = format!("'filter {}' : unknown keyword '{word}'.", args.text(1));
    let known = ["hexdump", "name", "quiet", "random-forwarding"];
    let known = known.into_iter().filter(|_| args.text(1) == "trace");
    Err(args.fault(n, message).suggest(suggest::nearest(word, known)))
}
