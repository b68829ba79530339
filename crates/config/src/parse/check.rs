//! `option httpchk`, `option tcp-check` and the options for well-known protocols; `http-check` and
//! `tcp-check` lines (section 4.2).
use super::language::with_parser;
use crate::context::Cx;
use crate::draft::{CheckMethod, DraftCheck, DraftProxy};
use crate::known;
use crate::line::{Args, Parsed};
use rules::check::{Ready, RequestLine, parse_http_check, parse_tcp_check};
use sample::{LogFormat, Place, Places, word};
use std::sync::Arc;

/// `option httpchk [<uri>] | <method> <uri> [<version>]`.
pub(super) fn httpchk(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let uri = |n: usize| {
        let uri = args.raw(n).unwrap_or_default();
        Some(Arc::new(LogFormat::literal(&word::to_bytes(uri))))
    };
    let mut line = RequestLine::default();
    match (args.get(1), args.get(2)) {
        (None, _) => {}
        (Some(_), None) => line.uri = uri(1),
        (Some(method), Some(_)) => (line.method, line.uri) = (Some(method.into()), uri(2)),
    }
    if let Some(version) = args.get(3) {
        let (version, hidden) = version.split_once("\r\n").unwrap_or((version, ""));
        line.version = Some(version.into());
        if !hidden.is_empty() {
            let message = "'option httpchk' : hiding headers or body at the end of the version string is deprecated. Please, consider to use 'http-check send' directive instead.";
            cx.warn(args, 3, message);
            hidden_message(hidden, &mut line);
        }
    }
    if let Some(extra) = args.get(4) {
        let message = format!("'option httpchk' cannot handle unexpected argument '{extra}'.");
        return Err(args.fault(4, message));
    }
    let check = own(proxy);
    check.method = CheckMethod::Http;
    if args.get(1).is_some() {
        (check.request, check.request_at) = (line, check.http.len());
    }
    Ok(())
}

/// Headers and a body behind the version, as they used to be smuggled in.
fn hidden_message(text: &str, line: &mut RequestLine) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let literal = |text: &str| Arc::new(LogFormat::literal(&word::to_bytes(text)));
    for field in head.split("\r\n") {
        if let Some((name, value)) = field.split_once(':') {
            let name = name.trim().to_ascii_lowercase().into();
            line.headers.push((name, literal(value.trim())));
        }
    }
    line.body = (!body.is_empty()).then(|| literal(body));
}

/// `option tcp-check`
pub(super) fn tcp_check(proxy: &mut DraftProxy, _: &mut Cx<'_>, _: Args<'_>) -> Parsed {
    own(proxy).method = CheckMethod::Tcp;
    Ok(())
}

/// `option redis-check`, `ldap-check`, `spop-check`, `ssl-hello-chk`.
pub(super) fn plain(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let protocol = match args.text(0) {
        "redis-check" => Ready::Redis,
        "ldap-check" => Ready::Ldap,
        "spop-check" => Ready::Spop,
        _ => Ready::SslHello,
    };
    ready(proxy, cx, args, protocol)
}

/// `option smtpchk [ <hello> <domain> ]`
pub(super) fn smtpchk(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.no_more_than(2)?;
    let hello = match (args.get(1), args.get(2)) {
        (Some(hello @ ("EHLO" | "HELO")), Some(domain)) => format!("{hello} {domain}"),
        _ => "HELO localhost".to_owned(),
    };
    ready(proxy, cx, args, Ready::Smtp(&hello))
}

/// `option mysql-check [ user <username> [ post-41 | pre-41 ] ]`
pub(super) fn mysql(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let user = match user(args)? {
        None => None,
        Some(user) => match args.get(3) {
            None | Some("post-41") => Some((user, false)),
            Some("pre-41") => Some((user, true)),
            Some(other) => {
                let message = format!(
                    "keyword 'option mysql-check' only supports option 'post-41' and 'pre-41' (got '{other}')."
                );
                return Err(args.fault(3, message));
            }
        },
    };
    args.no_more_than(3)?;
    ready(proxy, cx, args, Ready::Mysql(user))
}

/// `option pgsql-check user <username>`
pub(super) fn pgsql(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let message = "'option pgsql-check' expects 'user <username>' as argument.";
    let user = user(args)?.ok_or_else(|| args.fault(1, message))?;
    args.no_more_than(2)?;
    ready(proxy, cx, args, Ready::Pgsql(user))
}

/// `user <username>`, if there are arguments at all.
fn user<'a>(args: Args<'a>) -> Parsed<Option<&'a str>> {
    match args.get(1) {
        None => Ok(None),
        Some("user") => {
            let message = format!("'option {} user' expects <username> as argument.", args.text(0));
            args.need(2, message).map(Some)
        }
        Some(other) => {
            let message = format!(
                "keyword 'option {}' only supports option 'user' (got '{other}').",
                args.text(0)
            );
            Err(args.fault(1, message))
        }
    }
}

fn ready(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, protocol: Ready<'_>) -> Parsed {
    let places = Places::of(Place::BeCheck);
    let script = with_parser(proxy, cx, args, 0, places, |parser| protocol.script(parser))?;
    own(proxy).method = CheckMethod::Ready(Arc::new(script));
    Ok(())
}

/// `option external-check`
pub(super) fn external(proxy: &mut DraftProxy, _: &mut Cx<'_>, _: Args<'_>) -> Parsed {
    own(proxy).method = CheckMethod::External;
    Ok(())
}

/// One `external-check` line.
pub(super) fn external_line(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let what = args.text(1);
    let value = || args.need(2, format!("missing argument after '{what}'.")).map(str::to_owned);
    let check = &mut proxy.settings.check;
    match what {
        "command" => check.command = Some(value()?),
        "path" => check.path = Some(value()?),
        other => {
            let message =
                format!("'external-check' only supports 'command' and 'path'. but got '{other}'.");
            return Err(args.fault(1, message));
        }
    }
    args.no_more_than(2)
}

/// One `http-check` line.
pub(super) fn http_step(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match args.text(1) {
        "disable-on-404" => {
            args.from(1).no_more_than(0)?;
            proxy.settings.check.disable_on_404 = true;
        }
        "send-state" => {
            args.from(1).no_more_than(0)?;
            proxy.settings.check.send_state = true;
        }
        _ => step(proxy, cx, args, true)?,
    }
    Ok(())
}

/// One `tcp-check` line.
pub(super) fn tcp_step(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    step(proxy, cx, args, false)
}

fn step(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, http: bool) -> Parsed {
    own(proxy);
    let words = args.all_texts(1);
    let places = Places::of(Place::BeCheck);
    let parsed = with_parser(proxy, cx, args, 1, places, |parser| match http {
        true => parse_http_check(&words, &proxy.settings.check.http, parser),
        false => parse_tcp_check(&words, &proxy.settings.check.tcp, parser),
    });
    let parsed = parsed.map_err(|fault| {
        let class = args.text(1).split('(').next().unwrap_or_default();
        let shown = if http { "http-check" } else { "tcp-check" };
        match known::contains(shown, class) {
            true => fault,
            false => known::fault(args, 1, shown, class, fault.message),
        }
    });
    let step = Arc::new(parsed?);
    let check = &mut proxy.settings.check;
    if http { &mut check.http } else { &mut check.tcp }.push(step);
    let suits = match check.method {
        CheckMethod::Connect => true,
        CheckMethod::Http => http,
        CheckMethod::Tcp => !http,
        CheckMethod::Ready(_) | CheckMethod::External => false,
    };
    let method = std::mem::discriminant(&check.method);
    check.astray[usize::from(http)] = Some(method).filter(|_| !suits);
    Ok(())
}

/// The section's own check: its first line about checks replaces all steps and requests of
/// `defaults`.
fn own(proxy: &mut DraftProxy) -> &mut DraftCheck {
    let check = &mut proxy.settings.check;
    if std::mem::take(&mut check.inherited) {
        check.http.clear();
        check.tcp.clear();
        check.request = RequestLine::default();
        check.request_at = 0;
    }
    check
}
