//! `ring` sections (section 3.9).
use super::{Lines, PLAIN, ReadLine, SectionKind, odd_char, own, reported};
use crate::addr;
use crate::context::Cx;
use crate::draft::Draft;
use crate::keyword::Keyword;
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{Address, LogTransport, Ring, RingServer, ServerPort, constant};
use crate::parse::server::{Filling, octet_count};
use crate::parse::values::time_at;
use crate::parse::{log, tls};
use crate::validate::tls::ring_servers;
use crate::value::{self, Unit};

pub(super) const KIND: SectionKind = SectionKind {
    name: "ring",
    doc: "A ring of log messages in memory.",
    open,
    title: |draft, index| &draft.rings[index].name,
    lines: Lines::Own(KEYWORDS),
    unknown: Some(|word| format!("unknown statement '{word}'.")),
    tls: |draft, context, cx| {
        draft.rings.iter_mut().for_each(|ring| ring_servers(ring, context, cx));
    },
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("backing-file", "<path>", "The file that has a copy of the ring.", |d, at, _, a| {
        let path = a.need(1, "'backing-file' expects <path> as an argument.")?;
        d.rings[at].backing_file = Some(path.into());
        a.no_more_than(1)
    }),
    own("description", "<text>", "What `show events` says of the ring.", |d, at, _, a| {
        d.rings[at].description = a.need(1, "missing ring description text.")?.to_owned();
        a.ignores_behind(1);
        Ok(())
    }),
    own("format", "<format>", "The envelope of messages.", |d, at, _, a| {
        format(&mut d.rings[at], a)
    }),
    own("maxlen", "<length>", "The longest message, in bytes.", |d, at, _, a| {
        d.rings[at].max_len = bytes(a)?;
        Ok(())
    }),
    own("server", "<name> <address> [param*]", "Sends all messages there.", |d, at, cx, a| {
        server(&mut d.rings[at], cx, a)
    }),
    own("size", "<size>", "The size of the ring, in bytes.", |d, at, cx, a| {
        size(&mut d.rings[at], cx, a)
    }),
    own("timeout", "{ connect | server } <time>", "Timeouts of servers.", |d, at, _, a| {
        timeout(&mut d.rings[at], a)
    }),
];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = reported(cx, args, args.need(1, "missing ring name.")).unwrap_or("");
    if let Some((at, c)) = odd_char(name) {
        let message = format!("invalid ring name '{name}' (character '{c}' is not permitted).");
        cx.alert(args, args.fault_at(1, at, message));
    }
    let built_in = ["stdout", "stderr", "buf0"].contains(&name);
    if built_in || draft.rings.iter().any(|first| *first.name == *name) {
        cx.alert(args, args.fault(1, format!("sink named '{name}' already exists.")));
    }
    draft.rings.push(Ring {
        name: name.into(),
        place: args.place().clone(),
        description: name.to_owned(),
        format: LogTransport::Local,
        max_len: Ring::MAX_LEN,
        size: Ring::SIZE,
        backing_file: None,
        servers: Vec::new(),
        connect: None,
        server: None,
        default_format: true,
    });
    draft.rings.len() - 1
}

fn format(ring: &mut Ring, args: Args<'_>) -> Parsed {
    let name = args.need(1, "unknown format ''.")?;
    let unknown = || args.fault(1, format!("unknown format '{name}'."));
    ring.format = log::transport(name).ok_or_else(unknown)?;
    ring.default_format = false;
    args.ignores_behind(1);
    Ok(())
}

fn size(ring: &mut Ring, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let size = bytes(args)?;
    if size < Ring::SIZE {
        let message = format!(
            "ignoring new size '{size}' that is smaller than the usual size '{}' for ring '{}'.",
            Ring::SIZE,
            ring.name
        );
        cx.warn(args, 1, message);
        return Ok(());
    }
    ring.size = size;
    Ok(())
}

fn bytes(args: Args<'_>) -> Parsed<usize> {
    let given = args.text(1);
    let good = value::number(given).filter(|size| (1..=1 << 30).contains(size));
    let size =
        good.ok_or_else(|| args.fault(1, format!("invalid size '{given}' for new sink buffer.")))?;
    args.ignores_behind(1);
    Ok(size)
}

/// `timeout { connect | server } <time>`
fn timeout(ring: &mut Ring, args: Args<'_>) -> Parsed {
    let which = args.text(1);
    let to = match which {
        "connect" => &mut ring.connect,
        "server" => &mut ring.server,
        _ => {
            let message = format!("'timeout' expects 'connect' or 'server' but got '{which}'.");
            return Err(args.fault(1, message));
        }
    };
    args.need(2, format!("'timeout {which}' expects <time> as argument."))?;
    args.ignores_behind(2);
    let subject = format!("argument to <timeout {which}>.");
    let time = time_at(args, 2, Unit::Milliseconds, &subject)?;
    *to = (time > 0).then_some(time);
    Ok(())
}

/// `server <name> <address> [log-proto <proto>]`
fn server(ring: &mut Ring, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'server' expects <name> and <addr>[:<port>] as arguments.";
    let name = args.need(1, expected)?;
    let given = cx.address(args.need(2, expected)?);
    let context = format!("'server {}/{name}'", ring.name);
    let place =
        addr::server(&given, cx.names).map_err(|error| args.fault(2, error).within(&context))?;
    let address = match (place.address, place.port) {
        (Address::Inet(_), ServerPort::Fixed(0) | ServerPort::FromClient(_)) => {
            let message = format!("missing port specification in '{given}'");
            return Err(args.fault(2, message).within(&context));
        }
        (address, _) => address,
    };
    let mut counts = false;
    let mut filling = Filling::bare();
    let mut n = 3;
    while let Some(option) = args.get(n) {
        if option == "log-proto" {
            counts = octet_count(args.from(n)).map_err(|fault| fault.within(&context))?;
            n += 2;
            continue;
        }
        let Some(keyword) = Keyword::find(tls::SERVER, option) else {
            let unknown = format!("unknown keyword '{option}'");
            return Err(known::fault(args, n, "server", option, unknown).within(&context));
        };
        let read = (keyword.parse)(&mut filling, cx, args.from(n));
        read.map_err(|fault| fault.within(&context))?;
        if option == "sni" && constant(args.text(n + 1)).is_none() {
            let message = "'sni' : nothing but 'str(<name>)' is known here";
            return Err(args.fault(n + 1, message).within(&context));
        }
        n += 1 + keyword.takes();
    }
    let (options, place) = (filling.options, args.place().clone());
    let name = name.to_owned();
    ring.servers.push(RingServer { name, address, counts, options, tls: None, place });
    Ok(())
}
