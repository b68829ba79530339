//! The parameters of a request to the exporter: `?scope=<scope>&no-maint&extra-counters`.

use crate::web::decode;

/// The scopes of metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    Global,
    Frontend,
    Listener,
    Backend,
    Server,
    Sticktable,
    Histogram,
}

impl Scope {
    const TABLE: [(&'static str, Self); 7] = [
        ("global", Self::Global),
        ("frontend", Self::Frontend),
        ("listener", Self::Listener),
        ("backend", Self::Backend),
        ("server", Self::Server),
        ("sticktable", Self::Sticktable),
        ("histogram", Self::Histogram),
    ];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The parameters of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MetricQuery {
    scopes: u8,
    /// Servers in maintenance are left out.
    pub(super) no_maint: bool,
    /// Whether the columns of modules are listed as well (HAProxy 3).
    pub(super) extra: bool,
}

impl MetricQuery {
    /// Reads the query of a URI; without a `scope` all scopes are selected, an empty `scope`
    /// revokes those before it. `None`: there is no such scope.
    pub(super) fn parse(uri: &[u8]) -> Option<Self> {
        const ALL: u8 = u8::MAX;
        let mut query = Self { scopes: ALL, no_maint: false, extra: false };
        let mut named = false;
        let text = uri.splitn(2, |byte| *byte == b'?').nth(1).unwrap_or_default();
        for word in text.split(|byte| *byte == b'&') {
            let word = String::from_utf8_lossy(word);
            if word == "scope" {
                return None;
            }
            let Some(name) = word.strip_prefix("scope=").map(decode) else {
                let name = word.split('=').next();
                query.no_maint |= name == Some("no-maint");
                query.extra |= name == Some("extra-counters");
                continue;
            };
            let before = if std::mem::replace(&mut named, true) { query.scopes } else { 0 };
            query.scopes = match &*name {
                "" => 0,
                "*" => ALL,
                _ => {
                    let found = Scope::TABLE.iter().find(|(known, _)| *known == name)?;
                    before | found.1.bit()
                }
            };
        }
        Some(query)
    }

    pub(super) fn wants(self, scope: Scope) -> bool {
        self.scopes & scope.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_and_options() {
        let wanted = |uri: &str| {
            let query = MetricQuery::parse(uri.as_bytes())?;
            let names = Scope::TABLE.iter().filter(|(_, scope)| query.wants(*scope));
            Some((names.map(|(name, _)| *name).collect::<Vec<_>>().join(" "), query.no_maint))
        };
        let all = "global frontend listener backend server sticktable histogram";
        for (uri, scopes, no_maint) in [
            ("/metrics", all, false),
            ("/metrics?", all, false),
            ("/metrics?foo=bar&no-maint", all, true),
            ("/metrics?no-maint=1", all, true),
            ("/metrics?no-maintx", all, false),
            ("/metrics?scope=", "", false),
            ("/metrics?scope=server&scope=global", "global server", false),
            ("/metrics?scope=server&scope=&scope=backend&no-maint", "backend", true),
            ("/metrics?scope=server&scope=*", all, false),
            ("/metrics?scope=%66rontend", "frontend", false),
        ] {
            assert_eq!(wanted(uri), Some((scopes.to_owned(), no_maint)), "{uri}");
        }
        assert_eq!(wanted("/metrics?scope=xx"), None);
        assert_eq!(wanted("/metrics?scope=server&scope"), None);
        assert_eq!(wanted("/metrics?scope=server&scope=Server"), None);
    }
}
