//! `log` lines of `global` and proxies (section 4.2).
use crate::addr::{self, AddressError, SocketKind};
use crate::context::{Cx, Prefix};
use crate::draft::{DraftLog, DraftProxy};
use crate::line::{Args, Parsed};
use crate::model::{
    Address, At, Facility, LogAddress, LogLevel, LogSample, LogTarget, LogTransport, Ring,
    RingServer, ServerOptions,
};
use crate::model::{FACILITIES, LEVELS};
use crate::value;
use std::sync::Arc;

/// `log` in `global`.
pub(super) fn global(logs: &mut Vec<LogTarget>, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match cx.prefix {
        Prefix::None => {}
        _ => {
            logs.clear();
            return args.no_more_than(0);
        }
    }
    if args.get(1) == Some("global") {
        return Err(args.fault(1, "log : 'global' is not supported for a global syslog server"));
    }
    logs.push(target(cx, args, "log : expects <address> and <facility> as arguments")?);
    Ok(())
}

/// `log`, `log global` and `no log` in a proxy.
pub(super) fn proxy(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let logs = &mut proxy.settings.logs;
    if cx.prefix != Prefix::None {
        logs.clear();
        return args.no_more_than(0);
    }
    section(logs, cx, args)?;
    let added = args.get(1).filter(|word| *word != "global").and(logs.last());
    if let Some(DraftLog::Target(LogTarget { address: LogAddress::Ring(_), .. })) = added {
        let named = cx.rings.borrow_mut().pop();
        cx.proxy_rings.extend(named);
    }
    Ok(())
}

/// `log` and `log global` in a section, or a line of the same arguments.
pub(crate) fn section(logs: &mut Vec<DraftLog>, cx: &Cx<'_>, args: Args<'_>) -> Parsed {
    if args.get(1) == Some("global") {
        args.from(1).no_more_than(0)?;
        add_global(logs);
        return Ok(());
    }
    let keyword = args.text(0);
    let expected = format!("{keyword} : expects <address> and <facility> or global as arguments");
    logs.push(DraftLog::Target(target(cx, args, &expected)?));
    Ok(())
}

/// `log global`: the targets of `global`, by reference. A list contains the global targets once, as
/// in HAProxy, even if `defaults` has them too.
fn add_global(logs: &mut Vec<DraftLog>) {
    if !logs.iter().any(|log| matches!(log, DraftLog::Global)) {
        logs.push(DraftLog::Global);
    }
}

fn target(cx: &Cx<'_>, args: Args<'_>, expected: &str) -> Parsed<LogTarget> {
    let text = args.need(1, expected)?;
    let address = address(cx, args, text)?;
    let mut target = LogTarget {
        address,
        max_len: 1024,
        transport: LogTransport::Local,
        default_transport: true,
        sample: None,
        facility: Facility(0),
        level: LogLevel(7),
        min_level: LogLevel(0),
    };
    // These have an order, and each occurs once.
    let mut n = 2;
    if args.text(n) == "len" {
        target.max_len = length(args, n + 1)?;
        n += 2;
    }
    if args.text(n) == "format" {
        target.transport = format(args, n + 1)?;
        target.default_transport = false;
        n += 2;
    }
    if args.text(n) == "sample" {
        target.sample = Some(sample(args, n + 1)?);
        n += 2;
    }
    fit_ring(cx, &target);
    target.facility = facility(args, n, expected)?;
    target.level = level(args, n + 1, "optional log level", LogLevel(7))?;
    target.min_level = level(args, n + 2, "optional minimum log level", LogLevel(0))?;
    match args.get(n + 3) {
        None => Ok(target),
        Some(extra) => {
            Err(args.fault(n + 3, format!("log : cannot handle unexpected argument '{extra}'")))
        }
    }
}

fn address(cx: &Cx<'_>, args: Args<'_>, text: &str) -> Parsed<LogAddress> {
    let told = |e: AddressError| args.fault(1, format!("log : {e}"));
    let text = &*cx.address(text);
    match text {
        "stdout" => return Ok(LogAddress::Fd(1)),
        "stderr" => return Ok(LogAddress::Fd(2)),
        _ => {}
    }
    if let Some(digits) = addr::inherited(text) {
        return addr::descriptor(digits, text).map(LogAddress::Fd).map_err(told);
    }
    if let Some(name) = text.strip_prefix("ring@") {
        let place = args.place().clone();
        cx.rings.borrow_mut().push(At { value: name.into(), place });
        return Ok(LogAddress::Ring(name.into()));
    }
    let address = addr::log_target(text, 514, cx.names).map_err(told)?;
    if addr::socket_kind(text) == Some(SocketKind::Stream) {
        return Ok(LogAddress::Ring(implicit_ring(cx, args, address)));
    }
    match address {
        Address::Inet(ip) => Ok(LogAddress::Udp(ip)),
        Address::Unix(path) => Ok(LogAddress::Unix(path)),
        Address::Pair(_) => Err(told(AddressError::NoPair { address: text.to_owned() })),
    }
}

/// A ring that forwards to a stream address (section 4.2, `log`): lines wait in it for their
/// connection. Its name and description are HAProxy's.
fn implicit_ring(cx: &Cx<'_>, args: Args<'_>, address: Address) -> Arc<str> {
    let mut rings = cx.implicit_rings.borrow_mut();
    let name: Arc<str> = format!("ring#{}", rings.len() + 1).into();
    let place = args.place().clone();
    let server = RingServer {
        name: name.to_string(),
        address,
        counts: false,
        options: ServerOptions::default(),
        tls: None,
        place: place.clone(),
    };
    rings.push(Ring {
        name: name.clone(),
        description: format!(
            "created from logserver declared into '{}' at line {}",
            place.file, place.line
        ),
        format: LogTransport::Local,
        max_len: Ring::MAX_LEN,
        size: Ring::SIZE,
        backing_file: None,
        servers: vec![server],
        connect: Some(1_000),
        server: None,
        default_format: true,
        place,
    });
    name
}

/// Gives the ring of a stream address the message settings of its line.
fn fit_ring(cx: &Cx<'_>, target: &LogTarget) {
    let LogAddress::Ring(name) = &target.address else { return };
    let mut rings = cx.implicit_rings.borrow_mut();
    if let Some(ring) = rings.iter_mut().find(|ring| ring.name == *name) {
        ring.max_len = target.max_len;
        ring.default_format = target.default_transport;
        ring.format = target.transport;
    }
}

fn length(args: Args<'_>, n: usize) -> Parsed<usize> {
    let given = args.text(n);
    args.leading(n).filter(|len| (80..=65535).contains(len)).ok_or_else(|| {
        let message = format!("log : invalid log length '{given}', must be between 80 and 65535");
        args.fault(n, message)
    })
}

fn format(args: Args<'_>, n: usize) -> Parsed<LogTransport> {
    let name = args.text(n);
    transport(name).ok_or_else(|| args.fault(n, format!("log : unknown log format '{name}'")))
}

/// The envelope of this name.
pub(crate) fn transport(name: &str) -> Option<LogTransport> {
    Some(match name {
        "local" => LogTransport::Local,
        "rfc3164" => LogTransport::Rfc3164,
        "rfc5424" => LogTransport::Rfc5424,
        "priority" => LogTransport::Priority,
        "short" => LogTransport::Short,
        "timed" => LogTransport::Timed,
        "iso" => LogTransport::Iso,
        "raw" => LogTransport::Raw,
        _ => return None,
    })
}

fn sample(args: Args<'_>, n: usize) -> Parsed<LogSample> {
    let Some((list, size)) = args.text(n).split_once(':') else {
        return Err(args.fault(n, "log : Missing sample size"));
    };
    let mut ranges = Vec::new();
    for part in list.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let bounds = value::number::<u32>(low).zip(value::number::<u32>(high));
        let good = bounds.filter(|(low, high)| *low > 0 && low <= high);
        let message = || args.fault(n, format!("log : invalid sample range '{part}'"));
        ranges.push(good.ok_or_else(message)?);
    }
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
        return Err(args.fault(n, format!("log : sample ranges overlap in '{list}'")));
    }
    let highest = ranges.last().map_or(0, |range| range.1);
    match value::number(size).filter(|size| *size >= highest && *size > 0) {
        Some(size) => Ok(LogSample { ranges, size }),
        None => {
            Err(args
                .fault(n, format!("log : wrong sample size '{size}' for sample range '{list}'")))
        }
    }
}

fn facility(args: Args<'_>, n: usize, expected: &str) -> Parsed<Facility> {
    let name = args.need(n, expected)?;
    match FACILITIES.iter().position(|known| *known == name) {
        Some(number) => Ok(Facility(number as u8)),
        None => {
            let fault = args.fault(n, format!("log : unknown log facility '{name}'"));
            Err(fault.suggest(crate::suggest::nearest(name, FACILITIES)))
        }
    }
}

fn level(args: Args<'_>, n: usize, what: &str, default: LogLevel) -> Parsed<LogLevel> {
    let Some(name) = args.get(n) else { return Ok(default) };
    match LEVELS.iter().position(|known| *known == name) {
        Some(number) => Ok(LogLevel(number as u8)),
        None => {
            let fault = args.fault(n, format!("log : unknown {what} '{name}'"));
            Err(fault.suggest(crate::suggest::nearest(name, LEVELS)))
        }
    }
}
