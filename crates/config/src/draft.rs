//! Objects while their lines are read: names not resolved yet, inheritance by copy. Never seen outside this crate.
use crate::diag::Place;
use crate::model::{
    At, Back, Common, Front, Global, LogStyle, LogTarget, Mode, ProxyKind, ServerOptions, StatsPage,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Everything read so far.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) global: Global,
    pub(crate) defaults: Vec<DraftProxy>,
    pub(crate) proxies: Vec<DraftProxy>,
    /// First declaration of each name, per side.
    pub(crate) fronts: HashMap<Arc<str>, usize>,
    pub(crate) backs: HashMap<Arc<str>, usize>,
}

/// What kind of section a draft is.
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
    pub(crate) description: Option<String>,
    pub(crate) settings: Settings,
    /// Servers by name, for duplicates.
    pub(crate) server_names: HashMap<Arc<str>, usize>,
}

/// What a section takes from its `defaults` by copy.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    pub(crate) disabled: bool,
    pub(crate) common: Common,
    pub(crate) front: Front,
    pub(crate) back: Back,
    pub(crate) logs: Vec<DraftLog>,
    pub(crate) default_backend: Option<At<String>>,
    pub(crate) default_server: ServerOptions,
    pub(crate) stats: Option<Box<StatsPage>>,
    pub(crate) check: DraftCheck,
    pub(crate) options: DraftOptions,
}

/// One `log` line.
#[derive(Clone)]
pub(crate) enum DraftLog {
    Global,
    Target(LogTarget),
}

/// `option httpchk` and `http-check` lines; they come in any order.
#[derive(Clone, Default)]
pub(crate) struct DraftCheck {
    /// `option httpchk`: the request line that its arguments give.
    pub(crate) httpchk: Option<crate::model::CheckSend>,
    /// `http-check` lines, with their place.
    pub(crate) steps: Vec<crate::model::CheckStep>,
    pub(crate) steps_place: Option<Place>,
    /// True when the steps come from `defaults`: the first one of the section replaces them.
    pub(crate) inherited: bool,
}

/// Things that only matter until the section is complete.
#[derive(Clone, Default)]
pub(crate) struct DraftOptions {
    /// Where a `cookie` line stands.
    pub(crate) cookie_place: Option<Place>,
    /// Where `option httplog` stands.
    pub(crate) httplog_place: Option<Place>,
}

impl DraftProxy {
    pub(crate) fn new(name: &str, kind: DraftKind, place: Place, settings: Settings) -> Self {
        Self {
            name: name.into(),
            kind,
            place,
            id: None,
            description: None,
            settings,
            server_names: HashMap::new(),
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

impl Settings {
    /// Chooses a predefined log format.
    pub(crate) fn log_style(&mut self, style: LogStyle, place: &Place) {
        self.front.log_style = style;
        self.options.httplog_place = Some(place.clone());
    }
}
