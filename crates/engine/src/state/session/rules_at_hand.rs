//! The kinds of rules that a proxy has, and the stages of a message that apply to it: both are
//! computed once.

use settings::Filter;

/// The stages that apply to a proxy: a bit for each row of the tables of stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StagePlan {
    /// Of requests.
    pub request: u32,
    /// Of responses.
    pub response: u32,
    /// Stages around the choice of a server that apply because of the frontend's settings.
    pub server: u32,
}

/// The kinds of rules that a proxy has, inherited ones included.
#[derive(Clone, Copy, Debug, Default)]
pub struct RulesAtHand {
    /// `monitor-uri`.
    pub monitor: bool,
    /// `http-request`.
    pub request: bool,
    /// `redirect`.
    pub redirect: bool,
    /// `http-response`.
    pub response: bool,
    /// `http-after-response`.
    pub after_response: bool,
    /// `use_backend`.
    pub switching: bool,
    /// `tcp-request connection` or `tcp-request session`.
    pub admission: bool,
    /// `quic-initial` lines.
    pub initial: bool,
    /// `tcp-request content`.
    pub content: bool,
    /// `tcp-response content`.
    pub answer: bool,
    /// `stick`.
    pub sticking: bool,
    /// `stick store-response`.
    pub sticking_response: bool,
    /// `use-server`, `force-persist` or `ignore-persist`.
    pub selection: bool,
    /// `normalize-uri` about fragments.
    pub(crate) fragments: bool,
    /// A `filter trace` that is not quiet, which reports every stage.
    pub traced: bool,
}

impl RulesAtHand {
    /// Whether there are any.
    pub fn any(self) -> bool {
        let http = self.request || self.redirect || self.response || self.after_response;
        http || self.switching || self.content || self.answer || self.sticking || self.selection
    }

    pub(crate) fn of(settings: &settings::Proxy, front: Option<&settings::Frontend>) -> Self {
        let any = |has: fn(&rules::Rules) -> bool| settings.rule_sections().any(has);
        Self {
            monitor: front.is_some_and(|front| front.monitor_uri.is_some()),
            request: any(|rules| !rules.http_request.is_empty()),
            redirect: any(|rules| !rules.redirect.is_empty()),
            response: any(|rules| !rules.http_response.is_empty()),
            after_response: any(|rules| !rules.http_after_response.is_empty()),
            switching: any(|rules| !rules.switching.is_empty()),
            admission: any(|rules| {
                !rules.tcp_connection.is_empty() || !rules.tcp_session.is_empty()
            }),
            initial: any(|rules| !rules.quic_initial.is_empty()),
            content: any(|rules| !rules.tcp_request.is_empty()),
            answer: any(|rules| !rules.tcp_response.is_empty()),
            sticking: any(|rules| !rules.sticking.is_empty()),
            sticking_response: any(|rules| rules.sticking.iter().any(|rule| rule.stores_response)),
            selection: any(|rules| !rules.selection.is_empty() || !rules.persistence.is_empty()),
            fragments: any(|rules| {
                rules.http_request.rules().iter().any(|rule| rule.action().treats_fragments())
            }),
            traced: settings.filters.iter().any(Filter::reports_stages),
        }
    }
}
