//! The table of actions, one entry per keyword, and their execution.

mod bandwidth;
mod cache;
mod connection;
mod control;
mod counter;
mod dictionary;
pub mod edit;
mod header;
mod host;
mod normalize;
mod script;
mod spoe;
mod uri;
mod variable;

use crate::context::Context;
use crate::redirect::Redirect;
use crate::rule_set_kind::RuleSetKind;
use crate::script_call::ScriptCall;
use crate::verdict::{Need, Verdict};
use sample::{ParseError, Parser, Side, closest};
use std::str::FromStr;
use stdx::leading_number;

pub use crate::context::Track;
pub use bandwidth::BandwidthEdit;
pub use cache::CacheAction;
pub use connection::{ConnectionEdit, Span};
pub use control::Control;
pub use counter::{CounterEdit, Tag};
pub use dictionary::DictionaryEdit;
pub use header::HeaderEdit;
pub use normalize::Normalizer;
pub use spoe::SpoeGroupAction;
pub use uri::UriEdit;
pub use variable::{Resolve, VariableEdit};

/// A compiled action.
#[derive(Debug)]
pub enum Action {
    /// Ends the rule set or tunes the transaction.
    Control(Control),
    /// A redirection.
    Redirect(Redirect),
    /// Edits header fields or the status.
    Header(HeaderEdit),
    /// Edits the request line.
    Uri(UriEdit),
    /// Normalizes the target.
    Normalize(Normalizer),
    /// Acts on the connection, or on how the transaction is treated.
    Connection(ConnectionEdit),
    /// Changes a map or an ACL.
    Dictionary(DictionaryEdit),
    /// Writes a variable or a capture.
    Variable(VariableEdit),
    /// Tracks or changes stick counters.
    Counter(CounterEdit),
    /// Answers from a cache, or stores in it.
    Cache(CacheAction),
    /// Enables a bandwidth limit.
    Bandwidth(BandwidthEdit),
    /// Sends messages to an agent.
    SpoeGroup(SpoeGroupAction),
    /// Asks a part of the process beyond the rules, such as a script or an agent, by its number
    /// among the askers; the rules behind it wait for the answer.
    Ask(usize),
    /// Calls a function of a script; the rules behind it wait for its end.
    Script(ScriptCall),
}

/// The outcome of one action.
#[derive(Debug)]
pub(crate) enum Outcome<'r> {
    /// Done; the next rule follows.
    Next,
    /// As [`Outcome::Next`], with `strict-mode` switched.
    Strict(bool),
    /// Bytes are missing: try this rule again.
    Suspend,
    /// Done, but the next rule has to wait for something.
    Wait(Need),
    /// The rewrite does not fit.
    NoRoom,
    /// A cache has the response.
    Cached,
    /// The rule set is over.
    Final(Verdict<'r>),
}

impl Action {
    /// Whether it is a `normalize-uri fragment-strip` or `fragment-encode`.
    pub fn treats_fragments(&self) -> bool {
        matches!(self, Action::Normalize(normalizer) if normalizer.treats_fragments())
    }

    pub(crate) fn run<'r>(&'r self, side: Side, cx: &mut dyn Context) -> Outcome<'r> {
        match self {
            Action::Control(control) => control.run(cx),
            Action::Redirect(redirect) => control::redirect(redirect, cx),
            Action::Header(edit) => edit.run(side, cx),
            Action::Uri(edit) => edit.run(cx),
            Action::Normalize(normalizer) => normalizer.run(cx),
            Action::Connection(edit) => edit.run(cx),
            Action::Dictionary(edit) => edit.run(cx),
            Action::Variable(edit) => edit.run(side, cx),
            Action::Counter(edit) => edit.run(cx),
            Action::Cache(action) => action.run(cx),
            Action::Bandwidth(edit) => edit.run(cx),
            Action::SpoeGroup(action) => action.run(cx),
            Action::Script(call) => script::run(call, cx),
            Action::Ask(asker) => {
                cx.ask(*asker);
                wait_for_answer(cx)
            }
        }
    }

    /// Whether the head of the message may be another one afterwards.
    pub(crate) fn edits_message(&self) -> bool {
        match self {
            Action::Header(_) | Action::Uri(_) | Action::Normalize(_) => true,
            Action::Control(_)
            | Action::Redirect(_)
            | Action::Connection(_)
            | Action::Dictionary(_)
            | Action::Variable(_)
            | Action::Counter(_)
            | Action::Cache(_)
            | Action::Bandwidth(_)
            | Action::SpoeGroup(_) => false,
            // Its answer may edit it.
            Action::Ask(_) | Action::Script(_) => true,
        }
    }

    /// Whether it always ends the rule set.
    pub fn is_final(&self) -> bool {
        match self {
            Action::Control(control) => control.is_final(),
            Action::Redirect(redirect) => !redirect.may_be_skipped(),
            _ => false,
        }
    }
}

/// The outcome of an action that may have asked for an answer.
fn wait_for_answer<'r>(cx: &dyn Context) -> Outcome<'r> {
    if cx.is_asked() { Outcome::Wait(Need::Answer) } else { Outcome::Next }
}

/// Parses an action's arguments.
type ParseFn = fn(&mut Input<'_, '_, '_>) -> Result<Action, ParseError>;

/// One action keyword.
#[derive(Debug)]
pub struct Keyword {
    /// The keyword; `(` follows directly when the arguments begin in parentheses.
    pub name: &'static str,
    /// Arguments, for help.
    pub args: &'static str,
    /// One line for help and the reference page.
    pub doc: &'static str,
    rulesets: u8,
    parse: ParseFn,
}

impl Keyword {
    /// Whether the action is allowed in `ruleset`.
    pub fn allowed_in(&self, ruleset: RuleSetKind) -> bool {
        self.rulesets & ruleset.bit() != 0
    }
}

const REQ: u8 = RuleSetKind::HttpRequest.bit();
const RES: u8 = RuleSetKind::HttpResponse.bit();
const AFTER: u8 = RuleSetKind::HttpAfterResponse.bit();
const HTTP: u8 = REQ | RES | AFTER;
const CONN: u8 = RuleSetKind::TcpConnection.bit();
const SESS: u8 = RuleSetKind::TcpSession.bit();
const TCP_REQ: u8 = RuleSetKind::TcpRequest.bit();
const TCP_RES: u8 = RuleSetKind::TcpResponse.bit();
const TCP: u8 = CONN | SESS | TCP_REQ | TCP_RES;
const CONTENT: u8 = TCP_REQ | TCP_RES;
const QUIC: u8 = RuleSetKind::QuicInitial.bit();

const fn keyword(
    name: &'static str,
    args: &'static str,
    rulesets: u8,
    doc: &'static str,
    parse: ParseFn,
) -> Keyword {
    Keyword { name, args, doc, rulesets, parse }
}

/// Every action that works.
// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub const KEYWORDS: &[Keyword] = &[
    keyword("accept", "", TCP | QUIC, "Ends the rules of this section.", control::allow),
    keyword("allow", "", HTTP, "Ends the rules of this section.", control::allow),
    keyword("reject", "", REQ | TCP | QUIC, "Closes the connection without an answer.", control::reject),
    keyword("close", "", TCP_RES, "Closes the server connection.", control::close),
    keyword("silent-drop", "", REQ | RES | TCP, "Forgets the connection without a packet.", control::silent_drop),
    keyword("dgram-drop", "", QUIC, "Forgets the client without a packet.", control::silent_drop),
    keyword("send-retry", "", QUIC, "Has the client prove its address first.", control::send_retry),
    keyword("switch-mode", "http [ proto <name> ]", TCP_REQ, "Goes on in HTTP mode.", control::switch_mode),
    keyword("deny", "[{ status | deny_status } <code>] [content-type <type>] [<content>] [hdr <name> <fmt>]*", REQ | RES, "Answers with an error.", control::deny),
    keyword("tarpit", "[{ status | deny_status } <code>] [content-type <type>] [<content>] [hdr <name> <fmt>]*", REQ, "Answers with an error after a delay.", control::tarpit),
    keyword("return", "[status <code>] [content-type <type>] [<content>] [hdr <name> <fmt>]*", REQ | RES, "Answers by itself.", control::return_),
    keyword("use-service", "<name>", REQ | TCP_REQ, "Has a service answer.", control::use_service),
    keyword("cache-use", "<name>", REQ, "Answers from a cache if it has the object.", cache::cache_use),
    keyword("cache-store", "<name>", RES, "Stores the response in a cache if it may be stored.", cache::cache_store),
    keyword("redirect", "{ location | prefix | scheme } <fmt> [code <code>] [<option>]", REQ | RES, "Redirects the client.", control::parse_redirect),
    keyword("auth", "[realm <realm>]", REQ, "Asks for a user name and a password.", control::auth),
    keyword("strict-mode", "{ on | off }", HTTP, "Whether failed rewrites of the rules behind are errors.", control::strict_mode),
    keyword("set-log-level", "<level>", REQ | RES | CONTENT, "Level of the log line, or silent.", control::log_level),
    keyword("set-nice", "<nice>", REQ | RES | CONTENT, "Weight of the transaction's task.", control::nice),
    keyword("expect-proxy", "layer4", CONN, "Expects a PROXY protocol header.", connection::expect_proxy),
    keyword("expect-netscaler-cip", "layer4", CONN, "Expects a NetScaler header.", connection::expect_netscaler),
    keyword("set-src", "<expr>", REQ | CONN | SESS | TCP_REQ, "Replaces the source address.", connection::source),
    keyword("set-src-port", "<expr>", REQ | CONN | SESS | TCP_REQ, "Replaces the source port.", connection::source_port),
    keyword("set-dst", "<expr>", REQ | CONN | SESS | TCP_REQ, "Replaces the destination address.", connection::destination),
    keyword("set-dst-port", "<expr>", REQ | CONN | SESS | TCP_REQ, "Replaces the destination port.", connection::destination_port),
    keyword("set-mark", "<mark>", REQ | RES | TCP, "Marks the packets to the client.", connection::mark),
    keyword("set-tos", "<tos>", REQ | RES | TCP, "TOS or DSCP of the packets to the client.", connection::tos),
    keyword("set-bandwidth-limit", "<name> [limit <expr>] [period <expr>]", REQ | RES | CONTENT, "Enables a bandwidth limit of this section.", bandwidth::set),
    keyword("send-spoe-group", "<engine> <group>", REQ | RES | CONTENT, "Sends the messages of a group to an agent.", spoe::send),
    keyword("set-timeout", "{ server | tunnel } { <timeout> | <expr> }", REQ, "Replaces a timeout for this transaction.", connection::timeout),
    keyword("set-priority-class", "<expr>", REQ | TCP_REQ, "Class in queues, lower goes first.", connection::priority_class),
    keyword("set-priority-offset", "<expr>", REQ | TCP_REQ, "Milliseconds by which its arrival is moved in queues.", connection::priority_offset),
    keyword("disable-l7-retry", "", REQ, "A request that a server has seen is not sent again.", connection::disable_retry),
    keyword("early-hint", "<name> <fmt>", REQ, "Sends a 103 response with this header first.", connection::early_hint),
    keyword("wait-for-body", "time <time> [ at-least <bytes> ]", REQ | RES, "Waits for the body.", connection::wait_for_body),
    keyword("wait-for-handshake", "", REQ, "Waits for the end of the client's handshake.", connection::wait_for_handshake),
    keyword("normalize-uri", "<normalizer>", REQ, "Rewrites the target to a normal form.", normalize::parse),
    keyword("add-acl", "(<file-name>) <key fmt>", REQ | RES, "Adds a pattern to an ACL.", dictionary::add_acl),
    keyword("del-acl", "(<file-name>) <key fmt>", REQ | RES, "Removes a pattern from an ACL.", dictionary::del_acl),
    keyword("set-map", "(<file-name>) <key fmt> <value fmt>", REQ | RES, "Sets the value of a key in a map.", dictionary::set_map),
    keyword("del-map", "(<file-name>) <key fmt>", REQ | RES, "Removes a key from a map.", dictionary::del_map),
    keyword("set-header", "<name> <fmt>", HTTP, "Removes a header and adds it anew.", header::set),
    keyword("add-header", "<name> <fmt>", HTTP, "Adds a header line.", header::add),
    keyword("del-header", "<name> [ -m <meth> ]", HTTP, "Removes headers by name.", header::del),
    keyword("replace-header", "<name> <match-regex> <replace-fmt>", HTTP, "Replaces header lines that match.", header::replace_header),
    keyword("replace-value", "<name> <match-regex> <replace-fmt>", HTTP, "Replaces comma-separated values that match.", header::replace_value),
    keyword("set-status", "<status> [reason <str>]", RES | AFTER, "Replaces the status.", header::status),
    keyword("set-method", "<fmt>", REQ, "Replaces the method.", uri::set_method),
    keyword("set-uri", "<fmt>", REQ, "Replaces the request target.", uri::set_uri),
    keyword("set-path", "<fmt>", REQ, "Replaces the path, the query stays.", uri::set_path),
    keyword("set-pathq", "<fmt>", REQ, "Replaces path and query.", uri::set_pathq),
    keyword("set-query", "<fmt>", REQ, "Replaces the query.", uri::set_query),
    keyword("replace-uri", "<match-regex> <replace-fmt>", REQ, "Replaces the request target if it matches.", uri::replace_uri),
    keyword("replace-path", "<match-regex> <replace-fmt>", REQ, "Replaces the path if it matches.", uri::replace_path),
    keyword("replace-pathq", "<match-regex> <replace-fmt>", REQ, "Replaces path and query if they match.", uri::replace_pathq),
    keyword("set-var", "(<var-name>[,<cond> ...]) <expr>", HTTP | TCP, "Writes a variable.", variable::set_var),
    keyword("set-var-fmt", "(<var-name>[,<cond> ...]) <fmt>", HTTP | TCP, "Writes a variable from a format.", variable::set_var_fmt),
    keyword("unset-var", "(<var-name>)", HTTP | TCP, "Unsets a variable.", variable::unset_var),
    keyword("track-sc", "<key> [table <table>]", REQ | RES | CONN | SESS | TCP_REQ, "Tracks the counters of a key; the number of a place follows the name.", counter::track),
    keyword("sc-inc-gpc0", "[(<sc-id>)]", REQ | RES | TCP, "Increments the first counter of a tracked entry.", counter::increment_first),
    keyword("sc-inc-gpc1", "[(<sc-id>)]", REQ | RES | TCP, "Increments the second counter of a tracked entry.", counter::increment_second),
    keyword("sc-inc-gpc", "(<idx>,<sc-id>)", REQ | RES | TCP, "Increments a counter of the array of a tracked entry.", counter::increment_element),
    keyword("sc-set-gpt0", "[(<sc-id>)] { <int> | <expr> }", REQ | RES | TCP, "Sets the first tag of a tracked entry.", counter::tag_first),
    keyword("sc-set-gpt", "(<idx>,<sc-id>) { <int> | <expr> }", REQ | RES | TCP, "Sets a tag of the array of a tracked entry.", counter::tag_element),
    keyword("do-resolve", "(<var>,<resolvers>[,<options>]) <expr>", REQ | TCP_REQ, "Resolves a name into a variable.", variable::do_resolve),
    keyword("capture", "<sample> [ len <length> | id <id> ]", HTTP | TCP_REQ, "Captures a sample.", variable::capture),
];

/// `class name` per line: the actions of HAProxy 2.7, implemented or not.
const KNOWN: &str = include_str!("../data/actions-2.7.txt");

fn class(ruleset: RuleSetKind) -> &'static str {
    match ruleset {
        RuleSetKind::TcpConnection => "tcp-req-conn",
        RuleSetKind::TcpSession => "tcp-req-sess",
        RuleSetKind::TcpRequest => "tcp-req-cont",
        RuleSetKind::TcpResponse => "tcp-res",
        RuleSetKind::HttpRequest => "http-req",
        RuleSetKind::HttpResponse => "http-res",
        RuleSetKind::HttpAfterResponse => "http-after-res",
        RuleSetKind::QuicInitial => "quic-initial",
    }
}

fn known(ruleset: RuleSetKind) -> impl Iterator<Item = &'static str> {
    let class = class(ruleset);
    KNOWN.lines().filter_map(move |line| {
        line.split_once(' ').filter(|(kind, _)| *kind == class).map(|(_, name)| name)
    })
}

/// The words of one rule while its action is read.
pub(crate) struct Input<'w, 'p, 'c> {
    pub(crate) ruleset: RuleSetKind,
    words: &'w [&'w str],
    /// Index of the next word.
    pub(crate) at: usize,
    /// Arguments in parentheses behind the keyword.
    pub(crate) parens: Vec<String>,
    pub(crate) cx: &'p mut Parser<'c>,
}

impl<'w> Input<'w, '_, '_> {
    /// The next word of the action, none once the condition begins.
    pub(crate) fn peek(&self) -> Option<&'w str> {
        self.words.get(self.at).copied().filter(|w| !w.is_empty() && *w != "if" && *w != "unless")
    }

    /// All the words from the next one on.
    pub(crate) fn rest(&self) -> &'w [&'w str] {
        self.words.get(self.at..).unwrap_or_default()
    }

    /// The word at `index`, empty if there is none.
    pub(crate) fn word(&self, index: usize) -> &'w str {
        self.words.get(index).copied().unwrap_or("")
    }

    /// The action's name, without parentheses.
    pub(crate) fn name(&self) -> &'w str {
        self.word(0).split('(').next().unwrap_or("")
    }

    /// Takes a word that must be there and must not be empty. The word may look like the beginning
    /// of a condition.
    pub(crate) fn take(&mut self, expected: &str) -> Result<&'w str, ParseError> {
        let word = self.words.get(self.at).copied().filter(|word| !word.is_empty());
        let word = word.ok_or_else(|| ParseError::new(self.at.saturating_sub(1), expected))?;
        self.at += 1;
        Ok(word)
    }

    /// The integer that `word` begins with; other text behind it is ignored with a warning.
    pub(crate) fn leading<T: FromStr>(&self, name: &str, word: &str) -> Result<T, ParseError> {
        let found = leading_number::number(word);
        let (number, odd) =
            found.ok_or_else(|| self.fail("expects exactly 1 argument (integer value)"))?;
        odd.into_iter().for_each(|odd| self.cx.warn(format!("'{name}' : {odd}")));
        Ok(number)
    }

    /// An error about the word taken last.
    pub(crate) fn fail(&self, message: impl std::fmt::Display) -> ParseError {
        ParseError::new(self.at.saturating_sub(1), message)
    }
}

/// Parses an action; returns it with the number of words it took.
pub(crate) fn parse(
    ruleset: RuleSetKind,
    words: &[&str],
    cx: &mut Parser<'_>,
) -> Result<(Action, usize), ParseError> {
    let Some(word) = words.first().copied().filter(|word| !word.is_empty()) else {
        return Err(ParseError::new(0, format!("'{}' expects an action", ruleset.keyword())));
    };
    let end = word.find('(').unwrap_or(word.len());
    let name = &word[..end];
    let mut input = Input { ruleset, words, at: 1, parens: Vec::new(), cx };
    if let Some(action) = script::parse(&mut input) {
        let at = input.at;
        return action.map(|action| (action, at));
    }
    let Input { cx, .. } = input;
    let tracks = |keyword: &&Keyword| keyword.name == "track-sc" && name.starts_with("track-sc");
    let found = KEYWORDS.iter().find(|keyword| keyword.name == name);
    let found = found.or_else(|| KEYWORDS.iter().find(tracks));
    let Some(keyword) = found.filter(|keyword| keyword.allowed_in(ruleset)) else {
        return Err(ParseError::new(0, unknown(ruleset, name)));
    };
    let raw = sample::args::split(word, end)
        .map_err(|message| ParseError::at(0, end, format!("action '{name}' : {message}")))?;
    let optional = keyword.args.starts_with("[(");
    let wrong = keyword.args.starts_with('(') != (end < word.len()) && !optional;
    if wrong || raw.end != word.len() {
        let expected = keyword.args.split(')').next().unwrap_or("");
        let message = match expected.starts_with('(') {
            true => format!("action '{name}' expects '{name}{expected})'"),
            false => format!("action '{name}' takes no parentheses"),
        };
        return Err(ParseError::at(0, end, message));
    }
    let mut input = Input { ruleset, words, at: 1, parens: raw.words, cx };
    // A word missing at the end is reported at the last word.
    let last = words.len() - 1;
    let action = (keyword.parse)(&mut input)
        .map_err(|error| ParseError { word: error.word.min(last), ..error })?;
    Ok((action, input.at))
}

fn unknown(ruleset: RuleSetKind, name: &str) -> String {
    // The table calls `track-sc0` and its like by their common name.
    let common = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let known_as = |known: &str| known == name || (known == "track-sc" && known == common);
    // Functions registered by scripts are actions called `lua.NAME`.
    if known(ruleset).any(known_as) || name.starts_with("lua.") {
        return format!("action '{name}' is not implemented yet in '{}'", ruleset.keyword());
    }
    let allowed = || KEYWORDS.iter().filter(|keyword| keyword.allowed_in(ruleset)).map(|k| k.name);
    let list: Vec<String> = allowed().map(|name| format!("'{name}'")).collect();
    let hint = match closest(name, allowed().chain(known(ruleset))) {
        Some(found) => format!(". Did you mean '{found}' ?"),
        None => String::new(),
    };
    format!("'{}' expects {}, but got '{name}'{hint}", ruleset.keyword(), list.join(", "))
}
