//! `compression` lines of proxies (section 4.2), and the limits of the `global` section.
use super::http::bytes;
use super::proxy::section_word;
use crate::context::Cx;
use crate::draft::{DraftKind, DraftProxy};
use crate::keyword::{Fill, Keyword, Places, entry};
use crate::line::{Args, Fault, Parsed};
use crate::model::{Compression, CompressionDirection};
use crate::{suggest, value};
use compression::{ALGORITHMS, Algorithm, MAX_ALGORITHMS};
use std::ops::RangeInclusive;

type Verb = Keyword<Fill<DraftProxy>>;

/// All verbs, alphabetical. Argument 0 is `compression`, argument 1 the verb. Those of one
/// direction are of HAProxy 3.
pub(crate) const VERBS: &[Verb] = &[
    entry("algo", "<algorithm> ...", Places::ALL, "Adds algorithms.", algorithms),
    entry("algo-req", "<algorithm>", Places::ALL, "Sets that of requests.", request_algorithm),
    entry("algo-res", "<algorithm> ...", Places::ALL, "Adds algorithms.", algorithms),
    entry("direction", "request|response|both", Places::ALL, "Sets what is compressed.", direction),
    entry(
        "minsize-req",
        "<size>",
        Places::ALL,
        "Leaves shorter requests as they are.",
        |p, _, a| {
            section(p).request.min_size = size(a)?;
            Ok(())
        },
    ),
    entry(
        "minsize-res",
        "<size>",
        Places::ALL,
        "Leaves shorter responses as they are.",
        |p, _, a| {
            section(p).min_size = size(a)?;
            Ok(())
        },
    ),
    entry("offload", "", Places::SIDES, "Asks servers for nothing compressed.", offload),
    entry(
        "type",
        "<mime type> ...",
        Places::ALL,
        "Adds beginnings of media types to compress.",
        |p, _, a| types(&mut section(p).types, a),
    ),
    entry("type-req", "<mime type> ...", Places::ALL, "The same of requests.", |p, _, a| {
        types(&mut section(p).request.types, a)
    }),
    entry("type-res", "<mime type> ...", Places::ALL, "The same of responses.", |p, _, a| {
        types(&mut section(p).types, a)
    }),
];

/// One `compression` line.
pub(super) fn line(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let verb = args.text(1);
    let Some(keyword) = Keyword::find(VERBS, verb) else {
        let fault = args.fault(1, "'compression' expects 'algo', 'type' or 'offload'");
        return Err(fault.suggest(suggest::nearest(verb, VERBS.iter().map(|it| it.name))));
    };
    (keyword.parse)(proxy, cx, args)
}

fn section(proxy: &mut DraftProxy) -> &mut Compression {
    proxy.settings.common.compression.get_or_insert_default()
}

fn algorithms(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.need(2, "'compression' expects <algorithm>.")?;
    for (n, name) in args.texts(2).into_iter().enumerate() {
        let algorithm = Algorithm::named(name).ok_or_else(|| unsupported(args, n + 2))?;
        let list = &mut section(proxy).algorithms;
        if list.len() < MAX_ALGORITHMS {
            list.push(algorithm);
        } else {
            let message = format!("'{name}' is ignored behind {MAX_ALGORITHMS} algorithms");
            args.note(n + 2, message);
        }
    }
    Ok(())
}

fn unsupported(args: Args<'_>, n: usize) -> Fault {
    let name = args.text(n);
    let known = || ALGORITHMS.iter().map(|entry| entry.name);
    let list = known().collect::<Vec<_>>().join(", ");
    let message = format!(
        "'compression' : '{name}' is not a supported algorithm (supported ones are {list})."
    );
    args.fault(n, message).suggest(suggest::nearest(name, known()))
}

fn types(to: &mut Vec<Vec<u8>>, args: Args<'_>) -> Parsed {
    args.need(2, "'compression' expects <type>.")?;
    to.extend(args.texts(2).into_iter().map(bytes));
    Ok(())
}

fn request_algorithm(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(2, "'compression' expects <algorithm>.")?;
    let algorithm = Algorithm::named(name).ok_or_else(|| unsupported(args, 2))?;
    args.no_more_than(2)?;
    section(proxy).request.algorithm = Some(algorithm);
    Ok(())
}

fn direction(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let message = "'compression' expects 'request', 'response' or 'both' as direction.";
    let direction = match args.need(2, message)? {
        "request" => CompressionDirection::Request,
        "response" => CompressionDirection::Response,
        "both" => CompressionDirection::Both,
        word => {
            let nearest = suggest::nearest(word, ["request", "response", "both"]);
            return Err(args.fault(2, message).suggest(nearest));
        }
    };
    args.no_more_than(2)?;
    section(proxy).direction = direction;
    Ok(())
}

/// The size behind `minsize-req` or `minsize-res`.
fn size(args: Args<'_>) -> Parsed<u64> {
    let verb = args.text(1);
    let given = args.need(2, format!("'compression' : '{verb}' expects a size."))?;
    args.no_more_than(2)?;
    value::size(given).map(u64::from).map_err(|at| {
        args.fault_at(2, at, format!("'compression' : invalid size '{given}' for '{verb}'."))
    })
}

fn offload(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if proxy.kind == DraftKind::Defaults {
        let section = section_word(proxy);
        let message = format!("'compression' : 'offload' ignored in '{section}' section.");
        cx.warn(args, 1, message);
        return Ok(());
    }
    section(proxy).offload = true;
    args.ignores_behind(1);
    Ok(())
}

/// `maxcomprate` and `maxzlibmem`: 0 is no limit.
pub(super) fn limit(args: Args<'_>, expected: &str) -> Parsed<u32> {
    args.no_more_than(1)?;
    let number = args.wrapped(1);
    let number = number.ok_or_else(|| args.fault(1, format!("'{}' {expected}", args.text(0))))?;
    if number < 0 {
        args.note(1, format!("'{}' : '{}' is no limit", args.text(0), args.text(1)));
    }
    Ok(u32::try_from(number).unwrap_or(0))
}

/// A number of one digit or two; `end` is the end of HAProxy's sentence.
pub(super) fn level(args: Args<'_>, range: RangeInclusive<u8>, end: &str) -> Parsed<u8> {
    args.no_more_than(1)?;
    let number = args.leading(1).filter(|number| range.contains(number));
    let (low, high) = (range.start(), range.end());
    let name = args.text(0);
    let message = format!("'{name}' expects a numeric value between {low} and {high}{end}");
    number.ok_or_else(|| args.fault(1, message))
}
