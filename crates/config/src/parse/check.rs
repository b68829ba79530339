//! `option httpchk` and `http-check` lines (section 4.2). Never sends a check.
use crate::cx::Cx;
use crate::draft::{DraftCheck, DraftProxy};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{CheckSend, CheckStep, Expect, StatusSet};
use crate::value;

/// `option httpchk [<uri>] | <method> <uri> [<version>]`.
pub(super) fn httpchk(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let mut send = CheckSend::default();
    match (args.get(1), args.get(2)) {
        (None, _) => {}
        (Some(uri), None) => send.uri = uri.to_owned(),
        (Some(method), Some(uri)) => {
            (send.method, send.uri) = (method.to_owned(), uri.to_owned());
        }
    }
    if let Some(version) = args.get(3) {
        // Anything after the version used to be smuggled headers; `http-check send` does it better.
        if version.contains(['\r', '\n']) {
            let message = "'option httpchk' : hiding headers or body at the end of the version string is not implemented yet, use 'http-check send'";
            return Err(args.fault(3, message));
        }
        version_token(args, 3)?;
        send.version = version.to_owned();
    }
    if let Some(extra) = args.get(4) {
        let message = format!("'option httpchk' cannot handle unexpected argument '{extra}'.");
        return Err(args.fault(4, message));
    }
    proxy.settings.check.httpchk = Some(send);
    Ok(())
}

/// One `http-check` line.
pub(super) fn step(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(1);
    let base = proxy.settings.check.httpchk.clone().unwrap_or_default();
    let step = match name {
        "send" => CheckStep::Send(send(args, base)?),
        "expect" => CheckStep::Expect(expect(args)?),
        _ => {
            let unknown = format!(
                "'http-check' only supports 'disable-on-404', 'send-state', 'comment', 'connect', 'send', 'expect', 'set-var-fmt(*)', 'set-var(*)', 'unset-var(*)'. but got '{name}'"
            );
            let class = name.split('(').next().unwrap_or(name);
            let shown = format!("http-check {class}");
            return Err(if known::contains("http-check", class) {
                args.fault(1, format!("'{shown}' is not implemented yet"))
            } else {
                known::fault(args, 1, "http-check", &shown, unknown)
            });
        }
    };
    let check: &mut DraftCheck = &mut proxy.settings.check;
    if std::mem::take(&mut check.inherited) {
        check.steps.clear();
    }
    check.steps.push(step);
    Ok(())
}

fn send(args: Args<'_>, mut send: CheckSend) -> Parsed<CheckSend> {
    let mut n = 2;
    while let Some(name) = args.get(n) {
        let value = |n: usize| {
            args.need(n, format!("'http-check send' : '{name}' expects a string as argument."))
        };
        match name {
            "meth" => send.method = value(n + 1)?.to_owned(),
            "uri" => send.uri = value(n + 1)?.to_owned(),
            "ver" => {
                value(n + 1)?;
                send.version = version_token(args, n + 1)?.to_owned();
            }
            "body" => send.body = value(n + 1)?.to_owned(),
            "hdr" => {
                let (header, text) = (value(n + 1)?, args.raw(n + 2));
                let text = text.ok_or_else(|| {
                    let message =
                        "'http-check send' : 'hdr' expects a name and a value as arguments.";
                    args.fault(n + 2, message)
                })?;
                if text.contains("%[") {
                    let message =
                        "'http-check send' : expressions in headers are not implemented yet";
                    return Err(args.fault(n + 2, message));
                }
                send.headers.push((header.to_owned(), text.to_owned()));
                n += 1;
            }
            "comment" | "uri-lf" | "body-lf" => {
                let message = format!("'http-check send {name}' is not implemented yet");
                return Err(args.fault(n, message));
            }
            _ => {
                let message = format!(
                    "'http-check send' : expects 'comment', 'meth', 'uri', 'uri-lf', 'ver', 'hdr', 'body' or 'body-lf' but got '{name}' as argument."
                );
                return Err(args.fault(n, message));
            }
        }
        n += 2;
    }
    Ok(send)
}

fn version_token(args: Args<'_>, n: usize) -> Parsed<&str> {
    let text = args.text(n);
    let digits = text.strip_prefix("HTTP/").unwrap_or("").as_bytes();
    match digits {
        [a, b'.', b] if a.is_ascii_digit() && b.is_ascii_digit() => Ok(text),
        _ => Err(args
            .fault(n, format!("'{text}' is not an HTTP version (expects HTTP/1.0 or HTTP/1.1)"))),
    }
}

fn expect(args: Args<'_>) -> Parsed<Expect> {
    args.need(2, "'http-check expect' : expects at least a matching pattern as arguments.")?;
    let negated = args.text(2).starts_with('!');
    let mut n = 2;
    let mut word = args.text(2).strip_prefix('!').unwrap_or(args.text(2));
    if negated && word.is_empty() {
        n = 3;
        word = args.text(3);
    }
    match word {
        "status" => {}
        "string" | "rstring" | "string-lf" | "rstatus" | "hdr" | "fhdr" | "min-recv"
        | "comment" | "ok-status" | "error-status" | "tout-status" | "on-success" | "on-error"
        | "status-code" => {
            let message = format!("'http-check expect {word}' is not implemented yet");
            return Err(args.fault(n, message));
        }
        _ => {
            let message = format!(
                "'http-check expect' : 'only supports min-recv, [!]string', '[!]rstring', '[!]string-lf', '[!]status', '[!]rstatus', [!]hdr, [!]fhdr or comment but got '{word}' as argument."
            );
            return Err(args.fault(n, message));
        }
    }
    let status = status_set(args, n + 1)?;
    match args.get(n + 2) {
        None => Ok(Expect { negated, status }),
        Some(extra) => {
            let message =
                format!("'http-check expect' cannot handle unexpected argument '{extra}'.");
            Err(args.fault(n + 2, message))
        }
    }
}

fn status_set(args: Args<'_>, n: usize) -> Parsed<StatusSet> {
    let expected = "'http-check expect' : 'status' expects a list of status codes as argument.";
    let list = args.need(n, expected)?;
    let bad = list.char_indices().find(|(_, c)| !c.is_ascii_digit() && !matches!(c, ',' | '-'));
    if let Some((at, c)) = bad {
        let message =
            format!("'http-check expect' : invalid character '{c}' in the list of status codes");
        return Err(args.fault_at(n, at, message));
    }
    let mut ranges = Vec::new();
    for part in list.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let bounds = value::number::<u16>(low).zip(value::number::<u16>(high));
        let good =
            bounds.filter(|(low, high)| (100..=999).contains(low) && low <= high && *high <= 999);
        let message = format!("'http-check expect' : invalid status code or range '{part}'");
        ranges.push(good.ok_or_else(|| args.fault(n, message))?);
    }
    Ok(StatusSet(ranges))
}
