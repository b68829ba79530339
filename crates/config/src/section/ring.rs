//! `ring` sections (section 3.9). Never holds a message.
use crate::addr;
use crate::cx::Cx;
use crate::keyword::Keyword;
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{Address, Ring, RingServer, ServerPort, constant};
use crate::parse::server::{Filling, octet_count};
use crate::parse::values::time_at;
use crate::parse::{log, tls};
use crate::value::{self, Unit};

/// The keywords of the section.
const KEYWORDS: [&str; 7] =
    ["backing-file", "description", "format", "maxlen", "server", "size", "timeout"];

/// One line of a `ring` section.
pub(crate) fn line(ring: &mut Ring, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match args.text(0) {
        "backing-file" => {
            let path = args.need(1, "'backing-file' expects <path> as an argument.")?;
            ring.backing_file = Some(path.into());
            args.no_more_than(1)
        }
        "description" => {
            ring.description = args.need(1, "missing ring description text.")?.to_owned();
            args.no_more_than(1)
        }
        "format" => {
            let name = args.need(1, "unknown format ''.")?;
            let unknown = || args.fault(1, format!("unknown format '{name}'."));
            ring.format = log::transport(name).ok_or_else(unknown)?;
            ring.default_format = false;
            args.no_more_than(1)
        }
        "maxlen" => {
            ring.max_len = bytes(args)?;
            Ok(())
        }
        "server" => server(ring, cx, args),
        "size" => {
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
        "timeout" => timeout(ring, args),
        other => {
            let nearest = crate::suggest::nearest(other, KEYWORDS);
            Err(args.fault(0, format!("unknown statement '{other}'.")).suggest(nearest))
        }
    }
}

fn bytes(args: Args<'_>) -> Parsed<usize> {
    let given = args.text(1);
    let good = value::number(given).filter(|size| (1..=1 << 30).contains(size));
    let size =
        good.ok_or_else(|| args.fault(1, format!("invalid size '{given}' for new sink buffer.")))?;
    args.no_more_than(1)?;
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
    args.from(1).no_more_than(1)?;
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
        (Address::Ip(_), ServerPort::Fixed(0) | ServerPort::FromClient(_)) => {
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
