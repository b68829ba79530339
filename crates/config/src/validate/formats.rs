//! Log formats and captures of frontends, compiled once the mode is known.
use crate::addr::Family;
use crate::context::{Cx, Mentioned};
use crate::diag::{Diagnostic, Severity};
use crate::draft::{DraftLog, DraftProxy, KeptWord};
use crate::model::{Captured, Formats, LogStyle, LogTarget, Mode};
use sample::{LogFormat, NameReference, ParseContext, Place, Places, Shared, logformat};
use std::path::Path;

/// Compiles the formats of a proxy with a client side.
pub(super) fn compile(draft: &DraftProxy, global: &[LogTarget], cx: &mut Cx<'_>) -> Formats {
    if !draft.has_frontend() {
        return Formats::default();
    }
    let kept = &draft.settings.formats;
    let logs = logs_somewhere(draft, global);
    let log = match &kept.log {
        Some(kept) => custom(draft, cx, kept, ("log-format", Place::Log)),
        None if logs => Some(predefined(draft, cx)),
        None => None,
    };
    let plain = kept.log.is_none() && draft.settings.front.log_style == LogStyle::Connect;
    Formats {
        requests_only: plain && kept.error.is_none() && draft.settings.mode == Mode::Http,
        at_start: plain,
        log: log.filter(|_| logs),
        error: kept
            .error
            .as_ref()
            .and_then(|k| custom(draft, cx, k, ("error-log-format", Place::Log)))
            .filter(|_| logs),
        structured_data: kept
            .structured_data
            .as_ref()
            .and_then(|k| custom(draft, cx, k, ("log-format-sd", Place::Log))),
        unique_id: kept
            .unique_id
            .as_ref()
            .and_then(|k| custom(draft, cx, k, ("unique-id", Place::FeHttpRequest))),
    }
}

/// True when the proxy has a log target.
pub(super) fn logs_somewhere(draft: &DraftProxy, global: &[LogTarget]) -> bool {
    draft.settings.logs.iter().any(|log| match log {
        DraftLog::Target(_) => true,
        DraftLog::Global => !global.is_empty(),
    })
}

/// Bytes of a captured cookie without `tune.http.cookielen`.
const COOKIE_LEN: usize = 63;

/// The captures of the proxy. Cookies are cut to `cookie_len` bytes, 0 standing for the default.
pub(super) fn captured(draft: &mut DraftProxy, cookie_len: u32, cx: &mut Cx<'_>) -> Captured {
    let most = if cookie_len == 0 { COOKIE_LEN } else { cookie_len as usize };
    let mut cookie = draft.captured_cookie.take();
    if let Some((_, len)) = cookie.as_mut().filter(|(_, len)| *len > most) {
        *len = most;
        let message = format!(
            "truncating capture length to {most} bytes for {} '{}'.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
    for (needed, alert) in std::mem::take(&mut draft.captures_needed) {
        if !draft.captures.has(needed) {
            cx.diagnostics.push(alert);
        }
    }
    Captured {
        request: draft.captures.request.take(),
        response: draft.captures.response.take(),
        cookie,
    }
}

fn predefined(draft: &DraftProxy, cx: &mut Cx<'_>) -> LogFormat {
    let http = draft.settings.mode == Mode::Http;
    let text = match draft.settings.front.log_style {
        LogStyle::Connect if http => logformat::DEFAULT_HTTP,
        LogStyle::Connect => logformat::DEFAULT_TCP,
        LogStyle::Tcp => logformat::TCP,
        LogStyle::Http => logformat::HTTP,
        LogStyle::HttpClf => logformat::CLF,
        LogStyle::HttpJson => logformat::JSON,
        LogStyle::Https => logformat::HTTPS,
    };
    parse(draft, cx, text, Place::Log)
        .map(|parsed| parsed.format)
        .unwrap_or_else(|_| LogFormat::literal(b"unusable predefined log format"))
}

/// A format as configured, with its name in HAProxy's messages.
fn custom(
    draft: &DraftProxy,
    cx: &mut Cx<'_>,
    kept: &KeptWord,
    (name, place): (&str, Place),
) -> Option<LogFormat> {
    match parse(draft, cx, kept.text(), place) {
        Ok(Compiled { format, mentions, warnings }) => {
            for message in warnings {
                let warning = Diagnostic {
                    severity: Severity::Warning,
                    ..kept.alert(0, format!("{name} : {message}"))
                };
                // A format of `defaults` is compiled for each proxy; one warning is enough.
                if !cx.diagnostics.iter().any(|told| *told == warning) {
                    cx.diagnostics.push(warning);
                }
            }
            for mention in mentions {
                let at = kept.text().find(mention.keyword).unwrap_or(0);
                let (proxy, alert) = (draft.name.clone(), kept.alert(at, String::new()));
                cx.mentions.push(Mentioned { mention, proxy, alert });
            }
            Some(format)
        }
        Err(error) => {
            let message = format!("failed to parse {name} : {}", error.message);
            let alert = kept.alert(error.offset, message);
            // A format of `defaults` is compiled for each proxy; one alert is enough.
            if !cx.diagnostics.iter().any(|told| *told == alert) {
                cx.diagnostics.push(alert);
            }
            None
        }
    }
}

/// A format, the names in it, and messages about it.
struct Compiled {
    format: LogFormat,
    mentions: Vec<NameReference>,
    warnings: Vec<String>,
}

fn parse(
    draft: &DraftProxy,
    cx: &mut Cx<'_>,
    text: &str,
    place: Place,
) -> Result<Compiled, sample::ParseError> {
    let from = &draft.place.file;
    let patterns = std::mem::take(&mut cx.patterns);
    let tables = std::mem::take(&mut cx.tables);
    let seen: &Cx<'_> = cx;
    let files = |path: &Path| seen.read(&path.to_string_lossy(), from);
    let env = |name: &str| seen.env.get(name).map(str::to_owned);
    let names = |name: &str| seen.names.resolve(name, Family::Any);
    let scripts = seen.script_names();
    let shared = Shared { names: &names, patterns, tables, scripts, ..Shared::new(&files, &env) };
    let parser = ParseContext {
        places: Places::of(place),
        proxy: &draft.name,
        http: draft.settings.mode == Mode::Http,
        file: from.clone(),
        line: draft.place.line,
        ..ParseContext::new(&shared, &draft.captures)
    };
    let style = match place {
        Place::Log => sample::LogStyle::Log,
        _ => sample::LogStyle::Id,
    };
    let parsed = LogFormat::parse(text, style, &parser);
    let warnings = parser.warnings.take();
    let Shared { patterns, tables, mentions, .. } = shared;
    (cx.patterns, cx.tables) = (patterns, tables);
    Ok(Compiled { format: parsed?, mentions: mentions.into_inner(), warnings })
}
