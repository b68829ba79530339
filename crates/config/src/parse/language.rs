//! Lines in the language of samples and rules: ACLs, rule sets, formats, captures (sections 7 and
//! 8.2). The language is parsed by `sample` and `rules`; here words get their context and errors
//! their place.
use super::option;
use super::proxy::allowed;
use super::values::{digits_at, noted, number_at};
use crate::addr::Family;
use crate::context::{Cx, Mentioned};
use crate::diag::{Diagnostic, Severity};
use crate::draft::{DraftKind, DraftProxy, KeptWord};
use crate::keyword::Places as Sections;
use crate::line::{Args, Fault, Parsed};
use crate::model::{Mode, ProxyKind, Switching};
use crate::value::{self, Unit};
use rules::{Persistence, Selection};
use rules::{Rule, RuleSetKind};
use sample::{
    CaptureSlot, Condition, ParseContext, ParseError, Parser, Place, Places, ReferenceTarget,
    Shared,
};
use std::ops::RangeInclusive;
use std::path::Path;

/// The realm of the statistics page by default.
const STATS_REALM: &str = "HAProxy Statistics";

/// Where the formats of error replies are evaluated: an error may come at any time of a request.
pub(super) const ERROR_PLACES: Places =
    Places::of(Place::FeHttpRequest).and(Places::of(Place::BeHttpRequest));

/// `acl`
pub(crate) fn acl(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(1);
    with_parser(proxy, cx, args, 1, Places::ALL, |parser| parser.acls.define(&words, parser))
}

/// `http-request`, `http-response`, `http-after-response`
pub(super) fn http_rule(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let ruleset = match args.text(0) {
        "http-request" => RuleSetKind::HttpRequest,
        "http-response" => RuleSetKind::HttpResponse,
        _ => RuleSetKind::HttpAfterResponse,
    };
    rule(proxy, cx, args, ruleset, 1)
}

/// `tcp-request`
pub(super) fn tcp_request(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let ruleset = match args.text(1) {
        "inspect-delay" => {
            let delay = inspect_delay(proxy, args)?;
            let said = proxy.settings.common.timeouts.request_inspection;
            let first = first_delay(said, delay, proxy, cx, args);
            proxy.settings.common.timeouts.request_inspection = first;
            return Ok(());
        }
        "connection" => RuleSetKind::TcpConnection,
        "session" => RuleSetKind::TcpSession,
        "content" => RuleSetKind::TcpRequest,
        other => {
            let message = format!(
                "'tcp-request' expects 'inspect-delay', 'connection', 'session', or 'content' in {} '{}' (got '{other}')",
                proxy.word(),
                proxy.name
            );
            return Err(args.fault(1, message));
        }
    };
    let places = match ruleset {
        RuleSetKind::TcpRequest => Sections::RULES,
        _ => Sections::NAMED.and(Sections::FRONT),
    };
    if allowed(proxy, cx, args, places, ruleset.keyword())? {
        rule(proxy, cx, args, ruleset, 2)?;
    }
    Ok(())
}

/// `quic-initial`
pub(super) fn quic_initial(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    rule(proxy, cx, args, RuleSetKind::QuicInitial, 1)
}

/// `tcp-response`
pub(super) fn tcp_response(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match args.text(1) {
        "inspect-delay" => {
            let delay = inspect_delay(proxy, args)?;
            let said = proxy.settings.common.timeouts.response_inspection;
            let first = first_delay(said, delay, proxy, cx, args);
            proxy.settings.common.timeouts.response_inspection = first;
            Ok(())
        }
        "content" => rule(proxy, cx, args, RuleSetKind::TcpResponse, 2),
        other => {
            let message = format!(
                "'tcp-response' expects 'inspect-delay' or 'content' in {} '{}' (got '{other}')",
                proxy.word(),
                proxy.name
            );
            Err(args.fault(1, message))
        }
    }
}

/// The delay that applies: the first one, perhaps of `defaults`.
fn first_delay(
    said: Option<u32>,
    delay: Option<u32>,
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Option<u32> {
    if said.is_some() {
        let (keyword, word, name) = (args.text(0), proxy.word(), &proxy.name);
        let message =
            format!("ignoring {keyword} inspect-delay (was already defined) in {word} '{name}'");
        cx.warn(args, 1, message);
    }
    said.or(delay)
}

fn inspect_delay(proxy: &DraftProxy, args: Args<'_>) -> Parsed<Option<u32>> {
    let expected = format!(
        "'{} inspect-delay' expects a positive delay in milliseconds, in {} '{}'",
        args.text(0),
        proxy.word(),
        proxy.name
    );
    let given = args.need(2, expected.clone())?;
    args.from(1).ignores_behind(1);
    let delay = noted(args, 2, value::time(given, Unit::Milliseconds)).map_err(|e| {
        let why = e.message(given, "argument");
        args.fault_at(2, e.offset(), format!("{expected} ({why})"))
    })?;
    Ok(super::timeout::limit(delay))
}

/// `redirect`
pub(super) fn redirect(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(1);
    let places = places(proxy.kind, RuleSetKind::HttpRequest);
    let rule =
        with_parser(proxy, cx, args, 1, places, |parser| rules::parse_redirect(&words, parser));
    let rule = rule.map_err(|fault| in_rule(fault, proxy, "redirect rule"))?;
    in_order(proxy, cx, args, Rank::Redirect);
    proxy.rules.redirect.push(rule);
    Ok(())
}

/// `stats http-request`; its own words start at argument 2.
pub(super) fn stats_rule(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(2);
    let places = places(proxy.kind, RuleSetKind::HttpRequest);
    let rule = with_parser(proxy, cx, args, 2, places, |parser| {
        parser.realm = STATS_REALM;
        Rule::parse(RuleSetKind::HttpRequest, &words, parser)
    })?;
    if proxy.rules.stats.rules().last().is_some_and(|last| last.condition().is_none()) {
        let message =
            "previous 'stats' action has no condition attached, further entries are NOOP.";
        cx.warn(args, 0, message);
    }
    proxy.rules.stats.push(rule);
    Ok(())
}

/// `use_backend`
pub(super) fn use_backend(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(1);
    let places = Places::of(Place::FeSwitching);
    let rule =
        with_parser(proxy, cx, args, 1, places, |parser| rules::parse_use_backend(&words, parser))?;
    proxy.rules.switching.push(Switching { rule, backend: None });
    Ok(())
}

/// `stick`
pub(super) fn stick(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(1);
    let places = Places::of(Place::BeServerChoice);
    let rule =
        with_parser(proxy, cx, args, 1, places, |parser| rules::parse_stick(&words, parser))?;
    proxy.rules.sticking.push(rule);
    Ok(())
}

/// `use-server`
pub(super) fn use_server(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(1);
    let places = Places::of(Place::BeServerChoice);
    let rule =
        with_parser(proxy, cx, args, 1, places, |parser| rules::parse_use_server(&words, parser))?;
    proxy.rules.selection.push(Selection { rule, server: None });
    Ok(())
}

/// `force-persist`, `ignore-persist`
pub(super) fn persistence(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let condition = condition(proxy, cx, args, 1, Places::of(Place::BeHttpRequest))?;
    let force = args.text(0) == "force-persist";
    proxy.rules.persistence.push(Persistence { force, condition });
    Ok(())
}

/// `monitor fail`
pub(super) fn monitor(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if args.text(1) != "fail" {
        return Err(args.fault(1, "'monitor' only supports 'fail'."));
    }
    let condition = condition(proxy, cx, args, 2, Places::of(Place::FeHttpRequest))?;
    in_order(proxy, cx, args, Rank::Monitor);
    proxy.rules.monitor_fail.push(condition);
    Ok(())
}

/// `stats admin`
pub(super) fn stats_admin(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let condition = stats_condition(proxy, cx, args)?;
    proxy.rules.stats_admin.push(condition);
    Ok(())
}

/// `stats drain`
pub(super) fn stats_drain(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let condition = stats_condition(proxy, cx, args)?;
    proxy.rules.stats_drain.push(condition);
    Ok(())
}

fn stats_condition(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed<Condition> {
    let places = places(proxy.kind, RuleSetKind::HttpRequest);
    condition(proxy, cx, args, 2, places)
}

/// Words of an `fcgi-app` section from argument `n` on, which see requests on their way to a
/// server.
pub(crate) fn fcgi_words<T>(
    scope: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    n: usize,
    parse: impl FnOnce(&mut Parser<'_>) -> Result<T, ParseError>,
) -> Parsed<T> {
    with_parser(scope, cx, args, n, Places::of(Place::BeHttpRequest), parse)
}

/// The condition of such a line, if it has one.
pub(crate) fn fcgi_condition(
    scope: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    n: usize,
) -> Parsed<Option<Condition>> {
    let words = args.all_texts(n);
    fcgi_words(scope, cx, args, n, |parser| Condition::parse_clause(&words, parser))
}

/// `if` or `unless` and a condition, from argument `n` on.
fn condition(
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    n: usize,
    places: Places,
) -> Parsed<Condition> {
    let keyword = args.text(0);
    let expected = format!("'{keyword}' requires either 'if' or 'unless' followed by a condition.");
    if !matches!(args.text(n), "if" | "unless") {
        return Err(args.fault(n, expected));
    }
    let words = args.all_texts(n);
    let parse = |parser: &mut Parser<'_>| Condition::parse_clause(&words, parser);
    let condition = with_parser(proxy, cx, args, n, places, parse)?;
    condition.ok_or_else(|| args.fault(n, expected))
}

/// A rule of a set; its own words start at argument `skip`.
fn rule(
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    ruleset: RuleSetKind,
    skip: usize,
) -> Parsed {
    let words = args.all_texts(skip);
    may_stand_here(proxy, cx, args, ruleset, skip)?;
    let places = places(proxy.kind, ruleset);
    let parsed =
        with_parser(proxy, cx, args, skip, places, |parser| Rule::parse(ruleset, &words, parser));
    let what = format!("'{} {}' rule", ruleset.keyword(), args.text(skip));
    let rule = parsed.map_err(|fault| in_rule(fault, proxy, &what))?;
    for needed in proxy.captures.needed.take() {
        let message =
            format!("unable to find capture id '{}' referenced by this rule", needed.slot);
        let (word, offset) = args.find(skip, &needed.slot.to_string());
        let fault = in_rule(args.fault_at(word, offset, message), proxy, &what);
        proxy.captures_needed.push((needed, args.diagnostic(Severity::Alert, fault)));
    }
    behind_the_end(proxy, cx, args, ruleset);
    if let Some(rank) = Rank::of(ruleset) {
        in_order(proxy, cx, args, rank);
    }
    proxy.rules.set_mut(ruleset).push(rule);
    Ok(())
}

/// Warns of an HTTP rule right behind one that always ends its set.
fn behind_the_end(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, ruleset: RuleSetKind) {
    use RuleSetKind::{HttpAfterResponse, HttpRequest, HttpResponse};
    if !matches!(ruleset, HttpRequest | HttpResponse | HttpAfterResponse) {
        return;
    }
    let last = proxy.rules.set_mut(ruleset).rules().last();
    if last.is_some_and(Rule::is_known_as_final) {
        let message = format!(
            "previous '{}' action is final and has no condition attached, further entries are NOOP.",
            ruleset.keyword()
        );
        cx.warn(args, 0, message);
    }
}

/// A fault with the rule around it, unless its message names that already.
fn in_rule(fault: Fault, proxy: &DraftProxy, what: &str) -> Fault {
    let told = ["error detected", "'http-re", "'http-after", "'tcp-re"];
    if told.iter().any(|start| fault.message.starts_with(start)) {
        return fault;
    }
    let (word, name) = (proxy.word(), &proxy.name);
    fault.within(&format!("error detected in {word} '{name}' while parsing {what}"))
}

/// Needs of some actions besides a rule set that knows them.
fn may_stand_here(
    proxy: &DraftProxy,
    cx: &Cx<'_>,
    args: Args<'_>,
    ruleset: RuleSetKind,
    skip: usize,
) -> Parsed {
    let action = args.text(skip);
    if action == "normalize-uri" && !cx.experimental {
        let message = format!(
            "'{} {action}' directive is experimental, must be allowed via a global 'expose-experimental-directives'",
            ruleset.keyword()
        );
        return Err(args.fault(skip, message));
    }
    if action == "capture"
        && proxy.has_backend()
        && !proxy.has_frontend()
        && args.all_texts(skip).contains(&"len")
    {
        let message = format!(
            "error detected in backend '{0}' while parsing '{1} capture' rule : proxy '{0}' has no frontend capability.",
            proxy.name,
            ruleset.keyword()
        );
        return Err(args.fault(skip, message));
    }
    if action == "set-timeout"
        && matches!(proxy.kind, DraftKind::Proxy(kind) if !kind.has_backend())
    {
        let message = format!(
            "'{} {action}' has no effect in a proxy without backend capability.",
            ruleset.keyword()
        );
        return Err(args.fault(skip, message));
    }
    Ok(())
}

/// All the places where the rules of a set run in this kind of section.
fn places(kind: DraftKind, ruleset: RuleSetKind) -> Places {
    let (front, back) = match ruleset {
        RuleSetKind::QuicInitial | RuleSetKind::TcpConnection => (Place::FeTcpConnection, None),
        RuleSetKind::TcpSession => (Place::FeTcpSession, None),
        RuleSetKind::TcpRequest => (Place::FeTcpRequest, Some(Place::BeTcpRequest)),
        RuleSetKind::TcpResponse => (Place::FeTcpResponse, Some(Place::BeTcpResponse)),
        RuleSetKind::HttpRequest => (Place::FeHttpRequest, Some(Place::BeHttpRequest)),
        RuleSetKind::HttpResponse | RuleSetKind::HttpAfterResponse => {
            (Place::FeHttpResponse, Some(Place::BeHttpResponse))
        }
    };
    let front = Places::of(front);
    let back = back.map_or(Places::NONE, Places::of);
    match kind {
        DraftKind::Proxy(ProxyKind::Frontend) => front,
        DraftKind::Proxy(ProxyKind::Backend) => back,
        _ => front.and(back),
    }
}

/// Runs a parser of the language on words that start at argument `skip`, and gives its errors and
/// warnings their place.
pub(super) fn with_parser<T>(
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    skip: usize,
    places: Places,
    parse: impl FnOnce(&mut Parser<'_>) -> Result<T, ParseError>,
) -> Parsed<T> {
    let from = &args.place().file;
    let http = proxy.settings.mode == Mode::Http || args.text(0).starts_with("http-");
    let patterns = std::mem::take(&mut cx.patterns);
    let tables = std::mem::take(&mut cx.tables);
    let seen: &Cx<'_> = cx;
    let files = |path: &Path| seen.read(&path.to_string_lossy(), from);
    let env = |name: &str| seen.env.get(name).map(str::to_owned);
    let names = |name: &str| seen.names.resolve(name, Family::Any);
    let scripts = seen.script_names();
    let shared = Shared { names: &names, patterns, tables, scripts, ..Shared::new(&files, &env) };
    let context = ParseContext {
        places,
        proxy: &proxy.name,
        http,
        file: from.clone(),
        line: args.place().line,
        ..ParseContext::new(&shared, &proxy.captures)
    };
    let mut parser = Parser { context, acls: &proxy.acls };
    let parsed = parse(&mut parser);
    let (warnings, hints) = (parser.warnings.take(), parser.hints.take());
    let Shared { patterns, tables, mentions, .. } = shared;
    (cx.patterns, cx.tables) = (patterns, tables);
    for mention in mentions.into_inner() {
        let (word, offset) = args.find(skip, mention.keyword);
        let fault = args.fault_at(word, offset, "");
        let alert = args.diagnostic(Severity::Alert, fault);
        if matches!(&mention.wanted, ReferenceTarget::Server(None, _))
            && proxy.kind == DraftKind::Defaults
        {
            let message = format!(
                "backend name must be set in arg {} of sample fetch keyword '{}' in proxy '{}'.",
                mention.number, mention.keyword, proxy.name
            );
            cx.diagnostics.push(Diagnostic { message, ..alert });
        } else {
            let none = proxy.kind == DraftKind::Defaults;
            let proxy = if none { "".into() } else { proxy.name.clone() };
            cx.mentions.push(Mentioned { mention, proxy, alert });
        }
    }
    for warning in warnings {
        cx.warn(args, skip, warning);
    }
    for (word, hint) in hints {
        args.note(skip + word, hint);
    }
    parsed.map_err(|e| args.fault_at(skip + e.word, e.offset, e.message))
}

/// The order in which rules run, whatever the order of their lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Connection,
    Session,
    Content,
    Monitor,
    Http,
    Redirect,
    Switching,
    Selection,
}

impl Rank {
    const ALL: [Self; 8] = [
        Self::Connection,
        Self::Session,
        Self::Content,
        Self::Monitor,
        Self::Http,
        Self::Redirect,
        Self::Switching,
        Self::Selection,
    ];

    /// The rank of a rule set; rules on responses have none.
    fn of(ruleset: RuleSetKind) -> Option<Self> {
        match ruleset {
            RuleSetKind::TcpConnection => Some(Self::Connection),
            RuleSetKind::TcpSession => Some(Self::Session),
            RuleSetKind::TcpRequest => Some(Self::Content),
            RuleSetKind::HttpRequest => Some(Self::Http),
            RuleSetKind::QuicInitial
            | RuleSetKind::TcpResponse
            | RuleSetKind::HttpResponse
            | RuleSetKind::HttpAfterResponse => None,
        }
    }

    /// The name of its rules, with an article.
    fn name(self) -> &'static str {
        match self {
            Self::Connection => "a 'tcp-request connection'",
            Self::Session => "a 'tcp-request session'",
            Self::Content => "a 'tcp-request content'",
            Self::Monitor => "a 'monitor fail'",
            Self::Http => "an 'http-request'",
            Self::Redirect => "a 'redirect'",
            Self::Switching => "a 'use_backend'",
            Self::Selection => "a 'use-server'",
        }
    }

    /// Whether a section has rules of this rank so far.
    fn is_in(self, rules: &rules::Rules) -> bool {
        !match self {
            Self::Connection => rules.tcp_connection.is_empty(),
            Self::Session => rules.tcp_session.is_empty(),
            Self::Content => rules.tcp_request.is_empty(),
            Self::Monitor => rules.monitor_fail.is_empty(),
            Self::Http => rules.http_request.is_empty(),
            Self::Redirect => rules.redirect.is_empty(),
            Self::Switching => rules.switching.is_empty(),
            Self::Selection => rules.selection.is_empty(),
        }
    }
}

/// Warns of a rule behind rules that run later, and names the kind that runs next. As in HAProxy,
/// not called for `use_backend`, because `use-server` belongs to the backend.
fn in_order(proxy: &DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, rank: Rank) {
    let mut later = Rank::ALL.into_iter().filter(|other| *other > rank);
    if let Some(next) = later.find(|other| other.is_in(&proxy.rules)) {
        let keyword = if rank == Rank::Monitor { "monitor fail" } else { args.text(0) };
        let next = next.name();
        let message =
            format!("a '{keyword}' rule placed after {next} rule will still be processed before.");
        cx.warn(args, 0, message);
    }
}

/// `log-format`, `error-log-format`, `log-format-sd`, `unique-id-format`: kept until the mode of
/// the proxy is final.
pub(super) fn format(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(0);
    if proxy.has_backend() && !proxy.has_frontend() {
        let message =
            format!("backend '{}' : '{name}' directive is ignored in backends.", proxy.name);
        cx.warn(args, 0, message);
        return one_format(args);
    }
    one_format(args)?;

    let kept = KeptWord::of(args, 1);
    match name {
        "log-format" => {
            option::chooses_log(proxy, cx, args, "log-format");
            proxy.settings.formats.log = kept;
        }
        "error-log-format" => {
            let again = proxy.settings.formats.error.is_some();
            if again && proxy.kind == DraftKind::Defaults {
                let message = "'error-log-format' overrides previous 'error-log-format' in 'defaults' section.";
                cx.warn(args, 0, message);
            }
            proxy.settings.formats.error = kept;
        }
        "log-format-sd" => proxy.settings.formats.structured_data = kept,
        _ => proxy.settings.formats.unique_id = kept,
    }
    Ok(())
}

/// A format is one word.
fn one_format(args: Args<'_>) -> Parsed {
    let name = args.text(0);
    args.need(1, format!("'{name}' expects an argument."))?;
    match args.get(2) {
        None => Ok(()),
        Some(_) => {
            let message =
                format!("{name} expects only one argument, don't forget to escape spaces!");
            Err(args.fault(2, message))
        }
    }
}

/// `unique-id-header`
pub(super) fn unique_id_header(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'unique-id-header' expects an argument.")?;
    args.ignores_behind(1);
    proxy.settings.front.unique_id_header = Some(name.to_owned());
    Ok(())
}

/// `capture cookie|request header|response header`
pub(super) fn capture(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let verb = args.text(1);
    if verb == "cookie" {
        let expected = "'capture cookie' expects <cookie_name> 'len' <len>.";
        let name = args.need(2, expected)?.to_owned();
        let len = capture_len(args, 3, expected, number_at)?;
        args.from(3).ignores_behind(1);
        proxy.captured_cookie = Some((name, len));
        return Ok(());
    }
    if !matches!(verb, "request" | "response") {
        let message = "'capture' expects 'cookie' or 'request header' or 'response header'.";
        return Err(args.fault(1, message));
    }
    let expected = format!("'capture {verb}' expects 'header' <header_name> 'len' <len>.");
    if args.text(2) != "header" {
        return Err(args.fault(2, expected));
    }
    let header = Some(args.need(3, expected.clone())?.to_ascii_lowercase());
    args.from(4).no_more_than(1)?;
    let slot = CaptureSlot { header, len: capture_len(args, 4, &expected, number_at)? };
    let slots = if verb == "request" { &proxy.captures.request } else { &proxy.captures.response };
    slots.borrow_mut().push(slot);
    Ok(())
}

/// `declare capture request|response len <len>`
pub(super) fn declare(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if args.text(1) != "capture" {
        return Err(args.fault(1, "'declare' only supports 'capture'."));
    }
    let slots = match args.text(2) {
        "request" => &proxy.captures.request,
        "response" => &proxy.captures.response,
        _ => {
            let message = "'declare capture' requires a direction ('request' or 'response')";
            return Err(args.fault(2, message));
        }
    };
    let expected =
        "'declare capture': 'len' requires a numeric value that represents the capture length";
    let len = capture_len(args, 3, expected, digits_at)?;
    if len == 0 {
        return Err(args.fault(4, "length must be > 0"));
    }
    args.from(3).ignores_behind(1);
    slots.borrow_mut().push(CaptureSlot { header: None, len });
    Ok(())
}

/// `len <len>` at argument `n`.
fn capture_len(
    args: Args<'_>,
    n: usize,
    expected: &str,
    number: fn(Args<'_>, usize, RangeInclusive<u32>) -> Parsed<u32>,
) -> Parsed<usize> {
    if args.text(n) != "len" {
        return Err(args.fault(n, expected));
    }
    args.need(n + 1, expected)?;
    // Below zero, nothing is kept.
    let below = args.text(n + 1).strip_prefix('-');
    if below.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
        return args.from(n).no_more_than(1).map(|_| 0);
    }
    let len = number(args, n + 1, 0..=i32::MAX as u32)?;
    Ok(len as usize)
}
