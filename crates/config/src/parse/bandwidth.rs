//! `filter bwlim-in` and `filter bwlim-out` lines of proxies (section 9).
use super::language::with_parser;
use super::values;
use crate::context::Cx;
use crate::draft::{DraftKind, DraftProxy};
use crate::line::{Args, Parsed};
use crate::model::{Filter, ProxyKind};
use crate::value::{self, Unit};
use rules::{BandwidthLimit, BandwidthScope};
use sample::{Expr, Place, Places, Side, TableUse};
use std::sync::Arc;
use table::DataType;

/// The words of a line as they are read.
#[derive(Default)]
struct Words<'l> {
    default_limit: u32,
    default_period: u32,
    limit: u32,
    key: Option<Expr>,
    table: Option<&'l str>,
    min_size: u32,
    /// The first word that is not one of the line's keywords.
    unknown: Option<usize>,
}

/// One `filter bwlim-in` or `filter bwlim-out` line.
pub(super) fn line(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let filter = args.text(1);
    let side = if filter == "bwlim-in" { Side::Request } else { Side::Response };
    let name = args.need(2, in_filter(filter, "a name is expected as first argument"))?;
    let known = &proxy.settings.common.filters;
    if known.iter().any(|it| matches!(it, Filter::BandwidthLimit(limit) if *limit.name == *name)) {
        // In HAProxy's words; it leaves a quote out.
        let message = format!(
            "'filter' : 'bwlim filter '{name}' already declared for proxy '{}'",
            proxy.name
        );
        return Err(args.fault(2, message));
    }
    let words = read(proxy, cx, args)?;
    let fail = |message: &str| Err(args.fault(1, in_filter(filter, message)));
    let stream = words.default_limit > 0 || words.default_period > 0;
    let shared = words.limit > 0 || words.key.is_some() || words.table.is_some();
    let min_size = words.min_size;
    let scope = match words {
        _ if stream && shared => return fail("cannot mix per-stream and shared parameter"),
        Words { key: None, .. } if shared => return fail("<key> option is missing"),
        Words { limit: 0, .. } if shared => return fail("<limit> option is missing"),
        Words { key: Some(key), limit, table, .. } => {
            let data = match side {
                Side::Request => DataType::BytesInRate,
                Side::Response => DataType::BytesOutRate,
            };
            let usage = TableUse::Bandwidth(name.to_owned(), key.output(), data);
            let places = places(proxy.kind);
            let table = with_parser(proxy, cx, args, 2, places, |p| Ok(p.refer(table, usage)))?;
            BandwidthScope::Shared { limit, key, table }
        }
        Words { default_period: 0, .. } => return fail("<default-period> option is missing"),
        Words { default_limit: 0, .. } => return fail("<default-limit> option is missing"),
        Words { default_limit: limit, default_period: period, .. } => {
            BandwidthScope::Stream { limit, period }
        }
    };
    if let Some(n) = words.unknown {
        let message = format!("'filter {filter}' : unknown keyword '{}'.", args.text(n));
        let names = ["default-limit", "default-period", "key", "limit", "min-size", "table"];
        let nearest = crate::suggest::nearest(args.text(n), names);
        return Err(args.fault(n, message).suggest(nearest));
    }
    let limit = BandwidthLimit { name: name.into(), side, min_size, scope };
    proxy.settings.common.filters.push(Filter::BandwidthLimit(Arc::new(limit)));
    Ok(())
}

fn in_filter(filter: &str, message: &str) -> String {
    format!("'filter' : ''{filter}' : {message}'")
}

/// Reads words up to the first that is not one of the line's keywords.
fn read<'l>(proxy: &DraftProxy, cx: &mut Cx<'_>, args: Args<'l>) -> Parsed<Words<'l>> {
    let mut words = Words::default();
    let mut n = 3;
    while let Some(word) = args.get(n) {
        let missing = || in_filter(args.text(1), &format!("'{word}' option without value"));
        let given = |n: usize| args.need(n, missing());
        match word {
            "default-limit" => words.default_limit = size(args, n + 1, given(n + 1)?)?,
            "limit" => words.limit = size(args, n + 1, given(n + 1)?)?,
            "min-size" => words.min_size = size(args, n + 1, given(n + 1)?)?,
            "default-period" => {
                given(n + 1)?;
                let period = values::time_at(args, n + 1, Unit::Milliseconds, "argument")?;
                words.default_period = u32::try_from(period).unwrap_or(u32::MAX);
            }
            "table" => words.table = Some(given(n + 1)?),
            "key" => {
                given(n + 1)?;
                let mut used = 0;
                let from = args.all_texts(n + 1);
                let parse = |parser: &mut sample::Parser<'_>| Expr::parse(&from, &mut used, parser);
                words.key = Some(with_parser(proxy, cx, args, n + 1, places(proxy.kind), parse)?);
                n += used + 1;
                continue;
            }
            _ => {
                words.unknown = Some(n);
                return Ok(words);
            }
        }
        n += 2;
    }
    Ok(words)
}

/// A size in bytes.
fn size(args: Args<'_>, n: usize, given: &str) -> Parsed<u32> {
    value::size(given).map_err(|at| {
        let word = args.text(n - 1);
        let message = format!("invalid value '{given}' for option '{word}'");
        args.fault_at(n, at, in_filter(args.text(1), &message))
    })
}

/// A key is evaluated by the rule that enables the limit.
fn places(kind: DraftKind) -> Places {
    let (front, back) = (Places::of(Place::FeHttpRequest), Places::of(Place::BeHttpRequest));
    match kind {
        DraftKind::Proxy(ProxyKind::Frontend) => front,
        DraftKind::Proxy(ProxyKind::Backend) => back,
        _ => front.and(back),
    }
}
