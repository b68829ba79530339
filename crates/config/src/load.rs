//! Loads a configuration from its files, and says which exit code of `-c` the outcome has.
use crate::context::{Cx, Setup};
use crate::diag::Diagnostics;
use crate::draft::Draft;
use crate::dump::Listing;
use crate::model::Model;
use crate::section::SECTIONS;
use crate::source::Source;
use crate::{blame_column, build, reader, traps};

/// The result of loading.
#[derive(Debug)]
pub struct Loaded {
    /// The model; `None` when there are alerts.
    pub model: Option<Model>,
    /// All messages, in order.
    pub diagnostics: Diagnostics,
}

/// The meaning of the outcome for `-c`, and for starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The configuration is valid, and something listens.
    Valid,
    /// There are alerts, or warnings where none may be.
    Invalid,
    /// Good, but nothing listens.
    NoListener,
}

impl Verdict {
    /// HAProxy's exit code for `-c`.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Valid => 0,
            Self::Invalid => 1,
            Self::NoListener => 2,
        }
    }

    /// HAProxy's closing line for `-c` on standard output.
    pub fn message(self) -> Option<&'static str> {
        match self {
            Self::Valid => Some("Configuration file is valid"),
            Self::Invalid => None,
            Self::NoListener => {
                Some("Configuration file has no error but will not start (no listener) => exit(2).")
            }
        }
    }
}

impl Loaded {
    /// The outcome. `no_warnings` is `-dW`; `zero-warning` in the configuration has the same
    /// effect.
    pub fn verdict(&self, no_warnings: bool) -> Verdict {
        let Some(model) = &self.model else { return Verdict::Invalid };
        let strict = no_warnings || model.global.process.zero_warning;
        if strict && self.diagnostics.warnings() > 0 {
            Verdict::Invalid
        } else if SECTIONS.iter().any(|kind| (kind.listens)(model)) {
            Verdict::Valid
        } else {
            Verdict::NoListener
        }
    }
}

/// Loads a configuration from its files, in order. All mistakes of all files are reported in one
/// run.
pub fn load(sources: &[Source], setup: Setup<'_>) -> Loaded {
    let (local_peer, trusts_servers) = (setup.local_peer.name, setup.trusts_servers);
    let mut cx = Cx::new(setup);
    let names: Vec<&str> = sources.iter().map(|source| &*source.name).collect();
    cx.env.set("HAPROXY_CFGFILES", &names.join(";"));
    cx.env.set("HAPROXY_LOCALPEER", local_peer);
    let mut draft = Draft::default();
    draft.global.tls.trusts_servers = trusts_servers;
    for source in sources {
        reader::file(&mut draft, &mut cx, source);
    }
    let model = build::model(draft, &mut cx);
    blame_column::find(&mut cx.diagnostics, sources);
    traps::explain_variables(&mut cx.diagnostics);
    Loaded { model, diagnostics: cx.diagnostics }
}

/// The lines that count, after comments, conditions and variables: sections at the margin, the rest
/// behind a tab, words quoted where they must be. The listing, read again, gives the same
/// configuration.
///
/// With a key, it can be shown to others: secrets are left out with the rest of their line, and of
/// the words that remain, those that are neither keywords nor numbers become six hexadecimal
/// digits, the same ones for the same word and key.
pub fn listing(sources: &[Source], setup: Setup<'_>, key: Option<u32>) -> String {
    let mut cx = Cx::new(setup);
    cx.listing = Some(Listing { key, text: String::new() });
    let mut draft = Draft::default();
    for source in sources {
        reader::file(&mut draft, &mut cx, source);
    }
    cx.listing.map_or_else(String::new, |listing| listing.text)
}
