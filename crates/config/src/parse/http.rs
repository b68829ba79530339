//! `cookie`, `errorfile`, `errorloc*`, `option forwardfor` (section 4.2).
use super::language;
use super::values::seconds_at;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{DraftError, DraftErrorFiles, DraftProxy};
use crate::line::{Args, Parsed};
use crate::model::{Cookie, CookieMode, ErrorReply, ForwardFor, HeaderNames, Network, RetryOn};
use crate::{known, value};
use std::net::IpAddr;
use std::sync::Arc;

/// Statuses whose reply may be replaced (section 4.2 `errorfile`).
const STATUSES: [u16; 19] =
    [200, 400, 401, 403, 404, 405, 407, 408, 410, 413, 421, 422, 425, 429, 500, 501, 502, 503, 504];

pub(super) fn cookie(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'cookie' expects <cookie_name> as argument.")?;
    let mut cookie = Cookie { name: bytes(name), ..Cookie::default() };
    let (mut domains, mut attributes) = (Vec::new(), Vec::new());
    let (mut dynamic, mut http_only, mut secure) = (false, false, false);
    let mut n = 2;
    while let Some(word) = args.get(n) {
        match word {
            "insert" | "rewrite" | "prefix" => {
                if cookie.mode != CookieMode::Server {
                    return Err(args.fault(n, MODES));
                }
                cookie.mode = match word {
                    "insert" => CookieMode::Insert,
                    "rewrite" => CookieMode::Rewrite,
                    _ => CookieMode::Prefix,
                };
            }
            "indirect" => cookie.indirect = true,
            "nocache" => cookie.nocache = true,
            "postonly" => cookie.post_only = true,
            "preserve" => cookie.preserve = true,
            "dynamic" => dynamic = true,
            "httponly" => http_only = true,
            "secure" => secure = true,
            "maxidle" => cookie.max_idle = cookie_age(args, n, "<idletime>")?,
            "maxlife" => cookie.max_life = cookie_age(args, n, "<lifetime>")?,
            "domain" => {
                let domain = cookie_domain(args, n + 1)?;
                domains.push(format!("domain={domain}"));
            }
            "attr" => {
                let attribute = args.need(n + 1, "'attr' expects <value> as argument.")?;
                if attribute.contains(|c: char| c.is_ascii_control() || c == ';') {
                    return Err(args.fault(n + 1, "character value not permitted in attribute."));
                }
                attributes.push(attribute.to_owned());
            }
            _ => {
                let unknown = "'cookie' supports 'rewrite', 'insert', 'prefix', 'indirect', 'nocache', 'postonly', 'domain', 'maxidle', 'dynamic', 'maxlife' and 'attr' options.";
                let shown = format!("cookie {word}");
                return Err(known::fault(args, n, "cookie-arg", &shown, unknown.to_owned()));
            }
        }
        n += 1 + usize::from(matches!(word, "maxidle" | "maxlife" | "domain" | "attr"));
    }
    if cookie.indirect && cookie.mode == CookieMode::Rewrite {
        return Err(args.fault(0, "cookie 'rewrite' and 'indirect' modes are incompatible."));
    }
    if cookie.preserve && cookie.mode != CookieMode::Insert && !cookie.indirect {
        let message = "cookie 'preserve' requires at least 'insert' or 'indirect'.";
        return Err(args.fault(0, message));
    }
    let flags = [(http_only, "HttpOnly"), (secure, "Secure")];
    let flags = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| (*flag).to_owned());
    let attributes = domains.into_iter().chain(flags).chain(attributes);
    cookie.attributes = attributes.map(|attribute| bytes(&attribute)).collect();
    proxy.settings.options.cookie_place = Some(args.place().clone());
    (proxy.settings.back.settings.cookie, proxy.settings.back.settings.dynamic_cookie) =
        (Some(cookie), dynamic);
    Ok(())
}

/// The domain of a cookie at argument `n`.
fn cookie_domain<'l>(args: Args<'l>, n: usize) -> Parsed<&'l str> {
    let domain = args.need(n, "'domain' expects <domain> as argument.")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if let Some(odd) = domain.chars().find(|c| !fits(*c)) {
        let message = format!("character '{odd}' is not permitted in domain name '{domain}'.");
        return Err(args.fault(n, message));
    }
    if !domain.contains('.') {
        args.note(n, format!("domain '{domain}' contains no embedded dot, this configuration may not work properly (see RFC6265#5.2.3)."));
    }
    Ok(domain)
}

/// Bytes on the wire of a word.
pub(super) fn bytes(word: &str) -> Vec<u8> {
    sample::word::to_bytes(word).into_owned()
}

const MODES: &str = "cookie 'rewrite', 'insert' and 'prefix' modes are incompatible.";

/// `maxidle` or `maxlife` at argument `n`, in seconds unless it says otherwise.
fn cookie_age(args: Args<'_>, n: usize, what: &str) -> Parsed<u32> {
    let name = args.text(n);
    args.need(n + 1, format!("'{name}' expects {what} in seconds as argument."))?;
    let subject = format!("argument to <{name}>");
    seconds_at(args, n + 1, &subject)
}

/// `retry-on <keyword> ...`
pub(super) fn retry_on(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.need(1, "'retry-on' needs at least one keyword to specify when to retry")?;
    let mut on = RetryOn::NEVER;
    for n in 1..args.len() {
        match args.text(n) {
            "none" if args.len() > 2 => {
                return Err(args.fault(n, "'retry-on' 'none' keyworld only usable alone"));
            }
            "none" => {}
            "conn-failure" => on = on.and(RetryOn::CONNECTION),
            "empty-response" => on = on.and(RetryOn::EMPTY),
            "junk-response" => on = on.and(RetryOn::JUNK),
            "response-timeout" => on = on.and(RetryOn::TIMEOUT),
            "0rtt-rejected" => on = on.and(RetryOn::EARLY),
            "all-retryable-errors" => on = on.and(RetryOn::ALL),
            word => on = on.and(retryable_status(args, n, word)?),
        }
    }
    proxy.settings.back.settings.retry_on = on;
    Ok(())
}

fn retryable_status(args: Args<'_>, n: usize, word: &str) -> Parsed<RetryOn> {
    let status = word.parse().ok().and_then(RetryOn::status);
    status.ok_or_else(|| {
        let unknown = format!("'retry-on': unknown keyword '{word}'");
        known::fault(args, n, "retry-on", word, unknown)
    })
}

pub(super) fn errorfile(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let (status, reply) = error_file(cx, args)?;
    proxy.settings.errors.lines.push(DraftError::Reply(status, reply));
    Ok(())
}

/// The status and the reply of an `errorfile` line.
pub(crate) fn error_file(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed<(u16, ErrorReply)> {
    let status = error_status(args, "<file>")?;
    let name = args.text(2);
    let bytes = cx
        .read(name, &args.place().file)
        .map_err(|_| args.fault(2, format!("errorfile : error opening file '{name}'.")))?;
    // The longest file allowed is known when all of `global` has been read.
    let message = format!("errorfile : custom message file '{name}' too long.");
    cx.error_files.push((bytes.len(), args.diagnostic(Severity::Alert, args.fault(2, message))));
    let parsed = rules::ErrorFile::parse(&bytes)
        .map_err(|e| args.fault(2, format!("errorfile : unable to parse file '{name}' : {e}.")))?;
    Ok((status, ErrorReply::File { raw: bytes.into(), parsed: Arc::new(parsed) }))
}

/// `errorfiles <name> [<code> ...]`
pub(super) fn errorfiles(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'errorfiles' expects the name of an http-errors section as argument.";
    let section = args.need(1, expected)?.to_owned();
    let mut statuses = Vec::new();
    for n in 2..args.len() {
        statuses.push(status_at(args, n)?);
    }
    let place = args.place().clone();
    let files = DraftErrorFiles { section, statuses, place };
    proxy.settings.errors.lines.push(DraftError::Files(files));
    Ok(())
}

/// `http-error status <code> ...`
pub(super) fn http_error(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let words = args.all_texts(1);
    let parse = |parser: &mut sample::Parser<'_>| {
        rules::Reply::parse_error(&words, parser).map_err(|e| e.context("'http-error' "))
    };
    let reply = language::with_parser(proxy, cx, args, 1, language::ERROR_PLACES, parse)?;
    let (status, place) = (reply.key(), args.place().clone());
    proxy.settings.errors.lines.push(match reply.section() {
        Some(section) => {
            let section = section.to_owned();
            DraftError::Files(DraftErrorFiles { section, statuses: vec![status], place })
        }
        None => DraftError::Reply(status, ErrorReply::Reply(Arc::new(reply))),
    });
    Ok(())
}

pub(super) fn errorloc(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let code = error_status(args, "<url>")?;
    if args.text(2).contains(|c: char| c.is_ascii_control()) {
        return Err(args.fault(2, "a location cannot contain control characters."));
    }
    let status = if args.text(0) == "errorloc303" { 303 } else { 302 };
    let reply = ErrorReply::location(status, &bytes(args.text(2)));
    let reply = reply.ok_or_else(|| args.fault(2, "the location does not fit into a header."))?;
    proxy.settings.errors.lines.push(DraftError::Reply(code, reply));
    Ok(())
}

/// The status of an error reply, once both arguments are there.
fn error_status(args: Args<'_>, second: &str) -> Parsed<u16> {
    let name = args.text(0);
    let expected = format!("{name} : expects <status_code> and {second} as arguments.");
    args.need(1, expected.clone())?;
    args.need(2, expected)?;
    args.ignores_behind(2);
    status_at(args, 1)
}

fn status_at(args: Args<'_>, n: usize) -> Parsed<u16> {
    let (name, code) = (args.text(0), args.text(n));
    let status = args.leading(n).filter(|status| STATUSES.contains(status));
    status.ok_or_else(|| args.fault(n, format!("{name} : status code '{code}' not handled.")))
}

pub(super) fn header_names(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    proxy.settings.common.header_names = Some(match args.text(1) {
        "preserve" => HeaderNames::Preserve,
        "delete" => HeaderNames::Delete,
        "reject" => HeaderNames::Reject,
        other => {
            let message = format!(
                "'option http-restrict-req-hdr-names' only supports 'preserve', 'delete' and 'reject' (got '{other}')."
            );
            return Err(args.fault(1, message));
        }
    });
    args.no_more_than(1)
}

pub(super) fn forwardfor(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    proxy.settings.common.forward_for = Some(forward(args, "x-forwarded-for", true)?);
    Ok(())
}

pub(super) fn originalto(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    proxy.settings.common.original_to = Some(forward(args, "x-original-to", false)?);
    Ok(())
}

/// The arguments of `forwardfor` and `originalto`; only `forwardfor` has `if-none`.
fn forward(args: Args<'_>, header: &str, knows_if_none: bool) -> Parsed<ForwardFor> {
    let name = args.text(0);
    let mut forward = ForwardFor { except: None, header: header.to_owned(), if_none: false };
    let mut n = 1;
    while let Some(word) = args.get(n) {
        match word {
            "if-none" if knows_if_none => forward.if_none = true,
            "except" => {
                n += 1;
                let expected =
                    format!("'option {name} except' expects <address>[/mask] as argument.");
                let network = network(args.text(n));
                let network = network.ok_or_else(|| args.fault(n, expected))?;
                forward.except = Some((network.address, network.bits));
            }
            "header" => {
                n += 1;
                let expected = format!("'option {name} header' expects <header_name> as argument.");
                forward.header = args.need(n, expected)?.to_ascii_lowercase();
            }
            _ => {
                let known = if knows_if_none {
                    "'except', 'header' and 'if-none'"
                } else {
                    "'except' and 'header'"
                };
                let message = format!("'option {name}' only supports optional values: {known}.");
                return Err(args.fault(n, message));
            }
        }
        n += 1;
    }
    Ok(forward)
}

/// `address`, `address/bits` or `address/mask`.
pub(super) fn network(text: &str) -> Option<Network> {
    let (address, mask) = text.split_once('/').map_or((text, None), |(a, m)| (a, Some(m)));
    let address: IpAddr = address.parse().ok()?;
    let full: u8 = if address.is_ipv4() { 32 } else { 128 };
    let bits = match mask {
        None => full,
        Some(mask) => value::number(mask).or_else(|| mask_bits(mask, address))?,
    };
    if bits > full {
        return None;
    }
    let address = match address {
        IpAddr::V4(ip) => IpAddr::V4(
            (ip.to_bits() & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)).into(),
        ),
        IpAddr::V6(ip) => IpAddr::V6(
            (ip.to_bits() & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)).into(),
        ),
    };
    Some(Network { address, bits })
}

/// The length of a dotted mask without holes.
fn mask_bits(text: &str, address: IpAddr) -> Option<u8> {
    let IpAddr::V4(mask) = text.parse().ok()? else { return None };
    let ones = mask.to_bits().leading_ones();
    (address.is_ipv4() && mask.to_bits().count_ones() == ones).then_some(ones as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_take_bits_and_masks() {
        for (text, expected) in [
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("10.1.2.3/255.255.0.0", Some("10.1.0.0/16")),
            ("10.1.2.3/0", Some("0.0.0.0/0")),
            ("2001:db8::1/32", Some("2001:db8::/32")),
            ("10.1.2.3/33", None),
            ("10.1.2.3/255.0.255.0", None),
            ("x", None),
        ] {
            let shown = network(text).map(|n| format!("{}/{}", n.address, n.bits));
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
        let all = network("0.0.0.0/0").unwrap();
        assert!(all.contains("1.2.3.4".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
    }
}
