//! `balance`, `hash-type` and `hash-balance-factor` (section 4.2).
use super::language::with_parser;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{DraftKind, DraftProxy};
use crate::line::{Args, Parsed};
use crate::model::{Balance, HashFunction, HashMethod, HashType, UriKey};
use crate::{known, suggest, value};
use sample::{Expr, Place, Places};
use std::sync::Arc;

const UNKNOWN: &str = "balance only supports 'roundrobin', 'static-rr', 'leastconn', 'source', 'uri', 'url_param', 'hdr(name)' and 'rdp-cookie(name)' options.";

/// `balance`
pub(super) fn balance(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let given = args.text(1);
    let algorithm = match given {
        "" | "roundrobin" => Balance::RoundRobin,
        "static-rr" => Balance::StaticRr,
        "leastconn" => Balance::LeastConn,
        "source" => Balance::Source,
        "first" => Balance::First,
        "peak-ewma" => Balance::PeakEwma,
        "uri" => Balance::Uri(uri(args)?),
        "url_param" => url_param(args)?,
        // As with HAProxy, a section that is out of service may have any expression.
        "hash" if args.get(2).is_some() && proxy.kind != DraftKind::Defaults => {
            hash(proxy, cx, args).unwrap_or_else(|fault| {
                proxy.late.push(args.diagnostic(Severity::Alert, fault));
                Balance::RoundRobin
            })
        }
        "hash" => hash(proxy, cx, args)?,
        _ if given.starts_with("random") => random(args)?,
        _ if given.starts_with("hdr(") => header(args)?,
        _ if given.starts_with("rdp-cookie") => rdp_cookie(proxy, cx, args)?,
        _ => {
            let nearest = suggest::nearest(given, known::names("balance"));
            return Err(args.fault(1, UNKNOWN).suggest(nearest));
        }
    };
    let takes = match algorithm {
        Balance::Uri(_) | Balance::UrlParam { .. } | Balance::Hash(_) => usize::MAX,
        Balance::Header { .. } => 2,
        _ => 1,
    };
    if takes < usize::MAX {
        args.ignores_behind(takes);
    }
    proxy.settings.back.balance = algorithm;
    proxy.settings.options.balanced = true;
    Ok(())
}

/// `random` or `random(<draws>)`
fn random(args: Args<'_>) -> Parsed<Balance> {
    let given = args.text(1);
    let argument = match given.strip_prefix("random") {
        Some("") => return Ok(Balance::Random { draws: 2 }),
        Some(rest) => rest.strip_prefix('('),
        None => None,
    };
    let Some(argument) = argument else { return Err(args.fault(1, UNKNOWN)) };
    let Some((draws, behind)) = argument.split_once(')') else {
        return Err(args.fault(1, "balance random : missing closing parenthesis."));
    };
    if !behind.is_empty() {
        args.note(1, format!("'{behind}' is ignored behind the parenthesis"));
    }
    match value::number(draws) {
        _ if draws.is_empty() => Ok(Balance::Random { draws: 2 }),
        Some(0) => Err(args.fault_at(1, 7, "balance random : number of draws must be at least 1.")),
        Some(draws) => Ok(Balance::Random { draws }),
        None => {
            let odd = draws.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            let shown = draws[odd..].chars().next().unwrap_or(')');
            let message =
                format!("balance random : unexpected character '{shown}' after argument.");
            Err(args.fault_at(1, 7 + odd, message))
        }
    }
}

/// `uri [len <n>] [depth <n>] [whole] [path-only]`
fn uri(args: Args<'_>) -> Parsed<UriKey> {
    let mut key = UriKey::default();
    let mut n = 2;
    while let Some(word) = args.get(n) {
        match word {
            "len" | "depth" => {
                n += 1;
                let given = args.text(n);
                let number = args.leading(n).filter(|number| *number > 0);
                let expected = || {
                    format!("balance uri : '{word}' expects a positive integer (got '{given}').")
                };
                let number: u32 = number.ok_or_else(|| args.fault(n, expected()))?;
                if word == "len" { key.len = Some(number) } else { key.depth = Some(number) }
            }
            "whole" => key.whole = true,
            "path-only" => key.path_only = true,
            other => {
                let message = format!(
                    "balance uri only accepts parameters 'len', 'depth', 'path-only', and 'whole' (got '{other}')."
                );
                return Err(args.fault(n, message));
            }
        }
        n += 1;
    }
    Ok(key)
}

/// `url_param <name> [check_post]`; a number behind it is accepted for the sake of old files.
fn url_param(args: Args<'_>) -> Parsed<Balance> {
    let name = args.need(2, "balance url_param requires an URL parameter name.")?.to_owned();
    let check_post = match args.text(3) {
        "" => false,
        "check_post" => true,
        other => {
            let message =
                format!("balance url_param only accepts 'check_post' modifier (got '{other}').");
            return Err(args.fault(3, message));
        }
    };
    args.ignores_behind(4);
    Ok(Balance::UrlParam { name, check_post })
}

/// `hdr(<name>) [use_domain_only]`
fn header(args: Args<'_>) -> Parsed<Balance> {
    let name = args.text(1).strip_prefix("hdr(").and_then(|rest| rest.strip_suffix(')'));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(args.fault(1, "balance hdr requires an http header field name."));
    };
    let domain_only = match args.text(2) {
        "" => false,
        "use_domain_only" => true,
        other => {
            let message = format!(
                "balance hdr({name}) only accepts 'use_domain_only' modifier (got '{other}')."
            );
            return Err(args.fault(2, message));
        }
    };
    Ok(Balance::Header { name: name.to_ascii_lowercase(), domain_only })
}

/// `hash <expr>`
fn hash(proxy: &DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed<Balance> {
    args.need(2, "balance hash requires a sample expression.")?;
    let words = args.all_texts(2);
    let mut used = 0;
    let expr = with_parser(proxy, cx, args, 2, Places::of(Place::BeServerChoice), |parser| {
        Expr::parse(&words, &mut used, parser)
    });
    let expr = expr.map_err(|fault| {
        fault.within(&format!("failed to parse 'balance hash' expression '{}'", args.text(2)))
    })?;
    match args.get(2 + used) {
        None => Ok(Balance::Hash(Arc::new(expr))),
        Some(extra) => {
            let message = format!("balance hash takes no other argument (got '{extra}').");
            Err(args.fault(2 + used, message))
        }
    }
}

/// `rdp-cookie` or `rdp-cookie(<name>)`
fn rdp_cookie(proxy: &DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed<Balance> {
    let name = match args.text(1).strip_prefix("rdp-cookie") {
        Some("") => Some("mstshash"),
        Some(rest) => rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')),
        None => None,
    };
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(args.fault(1, "balance rdp-cookie : missing cookie name."));
    };
    let words = [format!("req.rdp_cookie({name})")];
    let expr = with_parser(proxy, cx, args, 1, Places::of(Place::BeServerChoice), |parser| {
        Expr::parse(&[&words[0]], &mut 0, parser)
    })?;
    Ok(Balance::RdpCookie(Arc::new(expr)))
}

/// `persist rdp-cookie` or `persist rdp-cookie(<name>)`
pub(super) fn persist(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = match args.text(1).strip_prefix("rdp-cookie") {
        Some("") => "msts",
        Some(rest) => match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(name) if !name.is_empty() => name,
            _ => return Err(args.fault(1, "persist rdp-cookie : missing cookie name.")),
        },
        None => return Err(args.fault(1, "'persist' only supports 'rdp-cookie(name)'.")),
    };
    let word = format!("req.rdp_cookie({name})");
    let expr = with_parser(proxy, cx, args, 1, Places::of(Place::BeServerChoice), |parser| {
        Expr::parse(&[&word], &mut 0, parser)
    })?;
    proxy.settings.back.settings.rdp_cookie = Some(Arc::new(expr));
    if args.text(1) != "rdp-cookie" {
        return args.no_more_than(1);
    }
    args.ignores_behind(1);
    Ok(())
}

/// `hash-type`
pub(super) fn hash_type(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let method = match args.text(1) {
        "map-based" => HashMethod::MapBased,
        "consistent" => HashMethod::Consistent,
        "avalanche" => {
            let message = "experimental feature 'hash-type avalanche' is not supported anymore, please use 'hash-type map-based sdbm avalanche' instead.";
            return Err(args.fault(1, message));
        }
        _ => {
            let message = "'hash-type' only supports 'consistent' and 'map-based'.";
            return Err(args.fault(1, message));
        }
    };
    let function = match args.text(2) {
        "" | "sdbm" => HashFunction::Sdbm,
        "djb2" => HashFunction::Djb2,
        "crc32" => HashFunction::Crc32,
        "wt6" => HashFunction::Wt6,
        _ => {
            let message =
                "'hash-type' only supports 'sdbm', 'djb2', 'crc32', or 'wt6' hash functions.";
            return Err(args.fault(2, message));
        }
    };
    let avalanche = match args.text(3) {
        "" => args.get(2).is_none() && method == HashMethod::Consistent,
        "avalanche" => true,
        _ => {
            let message = "'hash-type' only supports 'avalanche' as a modifier for hash functions.";
            return Err(args.fault(3, message));
        }
    };
    proxy.settings.back.hash_type = HashType { method, function, avalanche };
    args.ignores_behind(3);
    Ok(())
}

/// `hash-balance-factor`
pub(super) fn factor(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let factor = args.wrapped(1).and_then(|factor| u32::try_from(factor).ok());
    let Some(factor) = factor else {
        return Err(args.fault(1, "'hash-balance-factor' expects an integer argument."));
    };
    if factor != 0 && factor <= 100 {
        return Err(args.fault(1, "'hash-balance-factor' must be 0 or greater than 100."));
    }
    proxy.settings.back.hash_balance_factor = factor;
    args.ignores_behind(1);
    Ok(())
}
