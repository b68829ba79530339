//! Servers of a proxy: those that rules name, and what their checks lack.
use super::checks;
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::DraftProxy;
use crate::model::{Check, Protocol, Server, ServerPort};
use rules::BackendName;
use rules::check::StepPorts;

/// Servers that `use-server` rules name.
pub(super) fn select_servers(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    let word = draft.word();
    let servers = &draft.settings.back.servers;
    for selection in &mut draft.rules.selection {
        let BackendName::Fixed(name) = selection.rule.name() else { continue };
        selection.server = servers.iter().position(|server| *server.name == **name);
        if selection.server.is_none() {
            let (file, line) = selection.rule.place();
            let message = format!(
                "{word} '{}' : unable to find server '{name}' referenced in a 'use-server' rule.",
                draft.name
            );
            let place = Place { file: file.into(), line };
            let mut alert = Diagnostic::about(Severity::Alert, &place, message);
            alert.suggestion = crate::suggest::nearest(name, servers.iter().map(|s| &*s.name));
            cx.diagnostics.push(alert);
        }
    }
}

/// Alerts about servers without a port for their checks.
pub(super) fn check_servers(draft: &DraftProxy, cx: &mut Cx<'_>) {
    // The records of a service tell addresses and ports.
    let is_host = |server: &&Server| !server.host.as_ref().is_some_and(|it| it.starts_with('_'));
    let ports = checks::ports(&draft.settings.check);
    let http = checks::speaks_http(&draft.settings.check);
    for server in draft.settings.back.servers.iter().filter(is_host) {
        let check = &server.options.check;
        if let Some(wrong) = unspoken_by_checks(check, http) {
            let message =
                format!("{} '{}': server '{}' {wrong}", draft.word(), draft.name, server.name);
            cx.about(Severity::Alert, &server.place, message);
        }
        let follows = matches!(server.address.port, ServerPort::FromClient(_));
        // As in HAProxy, a server without an address of its own needs no port either.
        if server.host.is_none() && server.address.is_anywhere() {
            continue;
        }
        if !(check.enabled && check.port.is_none() && follows) {
            continue;
        }
        let Some(wrong) = missing_port(ports) else { continue };
        let message =
            format!("{} '{}': server '{}' {wrong}", draft.word(), draft.name, server.name);
        cx.about(Severity::Alert, &server.place, message);
    }
}

/// The mistake in the protocol of a server's checks; `http`: they are HTTP checks.
pub(crate) fn unspoken_by_checks(check: &Check, http: bool) -> Option<String> {
    let protocol = check.protocol.filter(|_| check.enabled)?;
    let suits = matches!(protocol, Protocol::None | Protocol::Spop) != http;
    match protocol {
        _ if !suits => {
            Some("uses an incompatible MUX protocol for the selected check type".to_owned())
        }
        Protocol::H1 | Protocol::H2 | Protocol::Fcgi | Protocol::Spop | Protocol::None => None,
    }
}

/// The mistake in the check of a server without a port; `None` if its script has a port.
pub(crate) fn missing_port(ports: StepPorts) -> Option<&'static str> {
    match ports {
        StepPorts::Named => None,
        StepPorts::Implied => Some("has neither service port nor check port."),
        StepPorts::FirstMissing => Some(
            "has neither service port nor check port nor tcp_check rule 'connect' with port information.",
        ),
        StepPorts::LaterMissing => Some(
            "has neither service port nor check port, and a tcp_check rule 'connect' with no port information.",
        ),
    }
}
