//! Objects while their lines are read: names are not resolved yet, settings of `defaults` are copied.
use crate::addr::Family;
use crate::diag::{Diagnostic, Place, Severity};
use crate::lex::Word;
use crate::line::Args;
use crate::model::{
    Address, At, Back, BackendApp, Bind, BindOptions, Common, ErrorReply, Front, Global,
    HttpErrors, LogForward, LogLevel, LogStyle, LogTarget, Mailers, Mode, Peers, Program,
    ProxyKind, Resolvers, Ring, Rules, ServerOptions, StatsPage,
};
use cache::CacheSettings;
use rules::check::{RequestLine, Script, Step};
use rules::{FcgiApp, UserList};
use sample::{AclTable, Captures, NeededCapture};
use std::collections::{BTreeMap, HashMap};
use std::mem::Discriminant;
use std::sync::Arc;

/// The configuration as read so far.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) global: Global,
    /// Proxies declared before the first `stats` line of `global`, if there is one.
    pub(crate) before_stats: Option<usize>,
    pub(crate) http_errors: Vec<HttpErrors>,
    pub(crate) userlists: Vec<DraftUserList>,
    /// Userlists by name, once all lines are read.
    pub(crate) complete_userlists: BTreeMap<String, UserList>,
    pub(crate) mailers: Vec<Arc<Mailers>>,
    pub(crate) resolvers: Vec<Resolvers>,
    pub(crate) rings: Vec<Ring>,
    pub(crate) log_forwards: Vec<DraftLogForward>,
    pub(crate) peers: Vec<DraftPeers>,
    pub(crate) caches: Vec<CacheSettings>,
    pub(crate) fcgi_apps: Vec<DraftFcgiApp>,
    /// FastCGI applications, once all lines are read.
    pub(crate) applications: Vec<BackendApp>,
    pub(crate) programs: Vec<At<Program>>,
    pub(crate) defaults: Vec<DraftProxy>,
    pub(crate) proxies: Vec<DraftProxy>,
    /// Proxies without a section.
    pub(crate) hidden: Vec<DraftProxy>,
    /// First declaration of each name, per side.
    pub(crate) fronts: HashMap<Arc<str>, usize>,
    pub(crate) backs: HashMap<Arc<str>, usize>,
}

/// A `log-forward` section: its own lines, and its `log` lines, which may mean those of `global`.
pub(crate) struct DraftLogForward {
    pub(crate) section: LogForward,
    pub(crate) logs: Vec<DraftLog>,
}

/// A `peers` section while its lines are read.
pub(crate) struct DraftPeers {
    pub(crate) section: Peers,
    /// The listener: one at most.
    pub(crate) binds: Vec<Bind>,
    /// `default-bind`
    pub(crate) bind_options: Option<BindOptions>,
    /// `default-server`
    pub(crate) default_server: ServerOptions,
    /// `shard` of `default-server`.
    pub(crate) default_shard: Option<u32>,
    pub(crate) logs: Vec<DraftLog>,
    /// `table` lines.
    pub(crate) tables: Vec<At<table::Settings>>,
}

/// An `fcgi-app` section while its lines are read.
pub(crate) struct DraftFcgiApp {
    /// The names visible in its lines, its own ACLs included.
    pub(crate) scope: DraftProxy,
    pub(crate) app: FcgiApp,
    /// `log-stderr` lines.
    pub(crate) logs: Vec<DraftLog>,
}

/// A list while its lines are read.
pub(crate) struct DraftUserList {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) list: UserList,
    /// Groups with the users that their lines name.
    pub(crate) groups: Vec<Group>,
}

/// One `group` line.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) users: Vec<String>,
    pub(crate) place: Place,
}

/// The kind of section that a draft is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DraftKind {
    Defaults,
    Proxy(ProxyKind),
}

/// A `defaults` or proxy section.
pub(crate) struct DraftProxy {
    pub(crate) name: Arc<str>,
    pub(crate) kind: DraftKind,
    pub(crate) place: Place,
    pub(crate) id: Option<At<u32>>,
    /// Whether `id` gave it its number.
    pub(crate) forced_id: bool,
    pub(crate) description: Option<String>,
    pub(crate) settings: Settings,
    /// Servers by name, for duplicates.
    pub(crate) server_names: HashMap<Arc<str>, usize>,
    /// ACLs of this section; they are not inherited.
    pub(crate) acls: AclTable,
    /// Capture slots of this section.
    pub(crate) captures: Captures,
    /// Capture slots that rules fill before a line declares them, with the alert if none does.
    pub(crate) captures_needed: Vec<(NeededCapture, Diagnostic)>,
    pub(crate) captured_cookie: Option<(String, usize)>,
    pub(crate) rules: Rules,
    /// `stick-table`.
    pub(crate) stick_table: Option<At<table::Settings>>,
    /// The `defaults` section with its initial settings.
    pub(crate) parent: Option<usize>,
    /// Proxies that took settings from this `defaults` section.
    pub(crate) heirs: DefaultsUsers,
    /// Mistakes in expressions that count only while the section is enabled.
    pub(crate) late: Vec<Diagnostic>,
    /// Servers that are given by name, and not looked up so far.
    pub(crate) named: Vec<NamedServers>,
    /// Messages about servers with an unknown address, in case no state file has it.
    pub(crate) unknown_addresses: Vec<UnknownAddress>,
    /// Caches that `filter` lines name.
    pub(crate) cache_filters: Vec<At<String>>,
    /// `filter-sequence`: names of filters, for requests and for responses.
    pub(crate) filter_sequences: [Option<At<Vec<String>>>; 2],
}

/// Servers of a line whose host is a name.
pub(crate) struct NamedServers {
    /// Which ones.
    pub(crate) servers: std::ops::Range<usize>,
    /// Which addresses will do.
    pub(crate) family: Family,
    /// The place of the line; its message is the prefix of messages about them.
    pub(crate) context: Diagnostic,
}

/// Servers of a line whose host has no address so far.
pub(crate) struct UnknownAddress {
    /// Which ones.
    pub(crate) servers: std::ops::Range<usize>,
    /// The message.
    pub(crate) diagnostic: Diagnostic,
}

/// Kinds of proxies that take settings from a `defaults` section.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DefaultsUsers {
    pub(crate) front: bool,
    pub(crate) back: bool,
    pub(crate) explicit: bool,
    pub(crate) warned: bool,
}

/// A word kept for later, with all that is needed to point into it.
#[derive(Clone, Debug)]
pub(crate) struct KeptWord {
    word: Arc<Word<'static>>,
    raw: Arc<str>,
    place: Place,
}

/// Settings that a section copies from its `defaults`.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// `mode spop`; the mode is that of bytes then.
    pub(crate) is_spop: bool,
    pub(crate) disabled: bool,
    pub(crate) common: Common,
    pub(crate) front: Front,
    pub(crate) back: Back,
    pub(crate) logs: Vec<DraftLog>,
    pub(crate) default_backend: Option<At<String>>,
    pub(crate) default_server: ServerOptions,
    pub(crate) stats: Option<Box<StatsPage>>,
    /// The page is that of `defaults`.
    pub(crate) inherits_stats: bool,
    pub(crate) check: DraftCheck,
    pub(crate) mail: DraftMail,
    pub(crate) options: DraftOptions,
    pub(crate) formats: DraftFormats,
    pub(crate) errors: DraftErrors,
}

/// Error replies: the section's own replies precede inherited ones.
#[derive(Clone, Default)]
pub(crate) struct DraftErrors {
    /// In order; a later line overrides an earlier one.
    pub(crate) lines: Vec<DraftError>,
    pub(crate) inherited: Option<Arc<DraftErrors>>,
}

/// One line about error replies.
#[derive(Clone)]
pub(crate) enum DraftError {
    /// `errorfile`, `errorloc*`, `http-error`.
    Reply(u16, ErrorReply),
    /// `errorfiles`, or an `http-error` that names a section.
    Files(DraftErrorFiles),
}

/// One `errorfiles` line.
#[derive(Clone)]
pub(crate) struct DraftErrorFiles {
    pub(crate) section: String,
    /// The statuses taken; all for none.
    pub(crate) statuses: Vec<u16>,
    pub(crate) place: Place,
}

/// Formats not compiled yet.
#[derive(Clone, Default)]
pub(crate) struct DraftFormats {
    pub(crate) log: Option<KeptWord>,
    pub(crate) error: Option<KeptWord>,
    pub(crate) structured_data: Option<KeptWord>,
    pub(crate) unique_id: Option<KeptWord>,
}

/// One `log` line.
#[derive(Clone)]
pub(crate) enum DraftLog {
    Global,
    Target(LogTarget),
}

/// Lines of a section about checks.
#[derive(Clone, Default)]
pub(crate) struct DraftCheck {
    pub(crate) method: CheckMethod,
    /// `http-check` lines.
    pub(crate) http: Vec<Arc<Step>>,
    /// `tcp-check` lines.
    pub(crate) tcp: Vec<Arc<Step>>,
    /// The request of `option httpchk`, and the number of `http-check` lines before it.
    pub(crate) request: RequestLine,
    pub(crate) request_at: usize,
    /// `http-check disable-on-404`
    pub(crate) disable_on_404: bool,
    /// `http-check send-state`
    pub(crate) send_state: bool,
    /// The option before steps of `tcp-check` and `http-check` that are not for it.
    pub(crate) astray: [Option<Discriminant<CheckMethod>>; 2],
    /// `external-check command`
    pub(crate) command: Option<String>,
    /// `external-check path`
    pub(crate) path: Option<String>,
    /// True when steps and request come from `defaults`: the first line of the section about them
    /// replaces them.
    pub(crate) inherited: bool,
}

/// Which of the options about checks came last.
#[derive(Clone, Default)]
pub(crate) enum CheckMethod {
    /// None.
    #[default]
    Connect,
    /// `option tcp-check`
    Tcp,
    /// `option httpchk`
    Http,
    /// A script for a well-known protocol.
    Ready(Arc<Script>),
    /// `option external-check`
    External,
}

/// `email-alert` lines.
#[derive(Clone, Default)]
pub(crate) struct DraftMail {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) hostname: Option<String>,
    pub(crate) level: Option<LogLevel>,
    /// The name of a section.
    pub(crate) mailers: Option<At<String>>,
}

impl DraftMail {
    /// Whether the section has no such line.
    pub(crate) fn is_empty(&self) -> bool {
        let texts = [&self.from, &self.to, &self.hostname];
        texts.iter().all(|text| text.is_none()) && self.level.is_none() && self.mailers.is_none()
    }
}

/// Things that only matter until the section is complete.
#[derive(Clone, Default)]
pub(crate) struct DraftOptions {
    /// The place of the `cookie` line.
    pub(crate) cookie_place: Option<Place>,
    /// The place of `option httplog`.
    pub(crate) httplog_place: Option<Place>,
    /// `dispatch`
    pub(crate) dispatch: Option<Address>,
    /// `option transparent`
    pub(crate) transparent: bool,
    /// There was a `balance` line.
    pub(crate) balanced: bool,
    /// The line that chose the log format, as messages call it.
    pub(crate) log_chosen_by: Option<&'static str>,
}

impl DraftProxy {
    pub(crate) fn new(name: &str, kind: DraftKind, place: Place, settings: Settings) -> Self {
        Self {
            name: name.into(),
            kind,
            place,
            id: None,
            forced_id: false,
            description: None,
            settings,
            server_names: HashMap::new(),
            acls: AclTable::default(),
            captures: Captures::default(),
            captures_needed: Vec::new(),
            captured_cookie: None,
            rules: Rules::default(),
            stick_table: None,
            parent: None,
            heirs: DefaultsUsers::default(),
            late: Vec::new(),
            named: Vec::new(),
            unknown_addresses: Vec::new(),
            cache_filters: Vec::new(),
            filter_sequences: [None, None],
        }
    }

    /// True for sections with a client side.
    pub(crate) fn has_frontend(&self) -> bool {
        matches!(self.kind, DraftKind::Proxy(kind) if kind.has_frontend())
    }

    /// True for sections with a server side.
    pub(crate) fn has_backend(&self) -> bool {
        matches!(self.kind, DraftKind::Proxy(kind) if kind.has_backend())
    }

    /// The word for messages.
    pub(crate) fn word(&self) -> &'static str {
        match self.kind {
            DraftKind::Defaults => "defaults",
            DraftKind::Proxy(kind) => kind.word(),
        }
    }
}

impl KeptWord {
    /// Keeps argument `n`, which must exist.
    pub(crate) fn of(args: Args<'_>, n: usize) -> Option<Self> {
        let (word, raw) = args.word(n)?;
        let word = Arc::new(word.clone().into_owned());
        Some(Self { word, raw: raw.into(), place: args.place().clone() })
    }

    pub(crate) fn text(&self) -> &str {
        &self.word.text
    }

    /// An alert at byte `offset` of the word.
    pub(crate) fn alert(&self, offset: usize, message: String) -> Diagnostic {
        let (start, end) = self.word.span_from(offset);
        Diagnostic {
            column: start as u32 + 1,
            len: end.saturating_sub(start).max(1) as u32,
            source: Some(self.raw.to_string()),
            ..Diagnostic::about(Severity::Alert, &self.place, message)
        }
    }
}

impl Settings {
    /// Chooses a predefined log format, which replaces one of `log-format`.
    pub(crate) fn log_style(&mut self, style: LogStyle, place: &Place) {
        self.front.log_style = style;
        self.formats.log = None;
        self.options.httplog_place = Some(place.clone());
    }
}
