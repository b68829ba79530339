//! TLS on `bind` and `server` lines (sections 5.1 and 5.2).
use super::language::with_parser;
use super::server::Filling;
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::keyword::{Fill, Keyword, word as entry};
use crate::line::{Args, Parsed};
use crate::model::{BindOptions, ServerName, ServerOptions};
use sample::{Expr, Place, Places as Uses};
use std::fmt;
use std::sync::Arc;
use tls::{CrtListEntry, OptionError, OptionKeyword, Options, TicketKeys};

const fn bind(name: &'static str, arguments: &'static str, doc: &'static str) -> BindEntry {
    entry(name, arguments, doc, |o, _, a| shared(&mut o.tls.settings.options, a))
}

const fn server(name: &'static str, arguments: &'static str, doc: &'static str) -> ServerEntry {
    entry(name, arguments, doc, |s, _, a| shared(&mut s.options.tls.options, a))
}

type BindEntry = Keyword<Fill<BindOptions>>;
type ServerEntry = Keyword<Fill<Filling>>;

/// Words of `bind` lines, alphabetical.
pub(crate) const BIND: &[BindEntry] = &[
    bind("allow-0rtt", "", "Clients may ask before their handshakes are over."),
    bind("alpn", "<protocols>", "Protocols that clients may choose, best first."),
    bind("ca-file", "<cafile>", "Authorities of clients."),
    bind("ca-ignore-err", "[all|<errorID>,...]", "Faults of authorities that do not count."),
    entry("ca-sign-file", "<cafile>", "Authority that signs what is generated.", |o, _, a| {
        let path = a.need(1, "'ca-sign-file' : missing CAfile path")?;
        o.tls.sign.authority = path.to_owned();
        Ok(())
    }),
    entry("ca-sign-pass", "<passphrase>", "Password of the key of `ca-sign-file`.", |o, _, a| {
        let password = a.need(1, "'ca-sign-pass' : missing CAkey password")?;
        o.tls.sign.password = Some(password.to_owned());
        Ok(())
    }),
    bind("ca-verify-file", "<cafile>", "Authorities that clients are not told of."),
    bind("ciphers", "<ciphers>", "Ciphers up to TLS 1.2."),
    bind("ciphersuites", "<ciphersuites>", "Ciphers from TLS 1.3 on."),
    bind("crl-file", "<crlfile>", "Certificates of clients that are revoked."),
    entry("crt", "<cert>", "Certificate to show.", |o, _, a| {
        let path = a.need(1, "'crt' : missing certificate location")?.to_owned();
        o.tls.settings.certificates.push(CrtListEntry { path, ..CrtListEntry::default() });
        Ok(())
    }),
    bind("crt-ignore-err", "[all|<errorID>,...]", "Faults of certificates that do not count."),
    entry("crt-list", "<file>", "List of certificates to show.", crt_list),
    bind("curves", "<curves>", "Curves to exchange keys with."),
    bind("ecdhe", "<named curve>", "The curve to exchange keys with."),
    bind("force-sslv3", "", "Only SSLv3, which is none."),
    bind("force-tlsv10", "", "Only TLS 1.0."),
    bind("force-tlsv11", "", "Only TLS 1.1."),
    bind("force-tlsv12", "", "Only TLS 1.2."),
    bind("force-tlsv13", "", "Only TLS 1.3."),
    entry("generate-certificates", "", "Makes certificates for other names.", |o, _, _| {
        o.tls.generates = true;
        Ok(())
    }),
    bind("no-ca-names", "", "Clients are told of no authorities."),
    bind("no-sslv3", "", "Never SSLv3."),
    bind("no-tls-tickets", "", "Sessions are kept here, not with clients."),
    bind("no-tlsv10", "", "Never TLS 1.0."),
    bind("no-tlsv11", "", "Never TLS 1.1."),
    bind("no-tlsv12", "", "Never TLS 1.2."),
    bind("no-tlsv13", "", "Never TLS 1.3."),
    bind("npn", "<protocols>", "Protocols that clients choose from by NPN."),
    bind("ocsp-update", "[ off | on ]", "Whether OCSP responses are fetched from authorities."),
    bind("prefer-client-ciphers", "", "The client's choice of ciphers goes first."),
    entry("ssl", "", "Encrypts connections.", |o, _, _| {
        o.tls.enabled = true;
        Ok(())
    }),
    bind("ssl-max-ver", "<version>", "The newest version."),
    bind("ssl-min-ver", "<version>", "The oldest version."),
    entry("strict-sni", "", "Clients have to ask for a name that a certificate has.", |o, _, _| {
        o.tls.settings.strict_sni = true;
        Ok(())
    }),
    entry("tls-ticket-keys", "<keyfile>", "Keys of tickets, the same in all processes.", tickets),
    bind("verify", "[none|optional|required]", "Whether clients show certificates."),
];

/// Words of `server` lines, alphabetical.
pub(crate) const SERVER: &[ServerEntry] = &[
    server("allow-0rtt", "", "Requests may go before the handshake is over."),
    server("alpn", "<protocols>", "Protocols offered to the server."),
    server("ca-file", "<cafile>", "Authorities of the server."),
    entry("check-alpn", "<protocols>", "Protocols offered by checks.", |s, _, a| {
        let mut options = Options::default();
        OptionKeyword::find("alpn")
            .map_or(Ok(()), |given| given.read(&mut options, a.text(1)))
            .map_err(|error| a.fault(1, OptionError { keyword: "check-alpn", ..error }))?;
        s.options.tls.check_alpn = options.alpn;
        Ok(())
    }),
    entry("check-sni", "<sni>", "Name that checks ask the server by.", |s, _, a| {
        let name = a.need(1, "'check-sni' : missing SNI")?;
        s.options.tls.check_sni = Some(name.to_owned());
        Ok(())
    }),
    entry("check-ssl", "", "Encrypts checks.", |s, _, _| {
        s.options.tls.check = Some(true);
        Ok(())
    }),
    server("ciphers", "<ciphers>", "Ciphers up to TLS 1.2."),
    server("ciphersuites", "<ciphersuites>", "Ciphers from TLS 1.3 on."),
    server("crl-file", "<crlfile>", "Certificates of servers that are revoked."),
    entry("crt", "<cert>", "Certificate to show to the server.", |s, _, a| {
        let path = a.need(1, "'crt' : missing certificate file path")?;
        s.options.tls.certificate = Some(path.to_owned());
        Ok(())
    }),
    server("force-sslv3", "", "Only SSLv3, which is none."),
    server("force-tlsv10", "", "Only TLS 1.0."),
    server("force-tlsv11", "", "Only TLS 1.1."),
    server("force-tlsv12", "", "Only TLS 1.2."),
    server("force-tlsv13", "", "Only TLS 1.3."),
    entry("no-check-ssl", "", "Undoes `check-ssl`.", |s, _, _| {
        s.options.tls.check = Some(false);
        Ok(())
    }),
    entry("no-ssl", "", "Undoes `ssl`.", |s, _, _| {
        (s.options.tls.enabled, s.options.tls.refused) = (false, true);
        Ok(())
    }),
    entry("no-ssl-reuse", "", "Sessions are not resumed.", |s, _, _| {
        s.options.tls.no_reuse = true;
        Ok(())
    }),
    server("no-sslv3", "", "Never SSLv3."),
    server("no-tls-tickets", "", "Takes no tickets."),
    server("no-tlsv10", "", "Never TLS 1.0."),
    server("no-tlsv11", "", "Never TLS 1.1."),
    server("no-tlsv12", "", "Never TLS 1.2."),
    server("no-tlsv13", "", "Never TLS 1.3."),
    server("npn", "<protocols>", "Protocols to choose from those of the server by NPN."),
    entry("sni", "<expression>", "Name to ask the server by.", |s, _, a| {
        let written = a.need(1, "'sni' : missing sni expression")?.to_owned();
        s.options.tls.sni = Some(ServerName { written: (written, a.first() + 1), expr: None });
        Ok(())
    }),
    entry("ssl", "", "Encrypts connections.", |s, _, _| {
        let tls = &mut s.options.tls;
        (tls.enabled, tls.mentioned, tls.refused) = (true, true, false);
        Ok(())
    }),
    server("ssl-max-ver", "<version>", "The newest version."),
    server("ssl-min-ver", "<version>", "The oldest version."),
    entry("ssl-reuse", "", "Undoes `no-ssl-reuse`.", |s, _, _| {
        s.options.tls.no_reuse = false;
        Ok(())
    }),
    entry("tls-tickets", "", "Undoes `no-tls-tickets`.", |s, _, _| {
        s.options.tls.options.no_tickets = false;
        Ok(())
    }),
    entry("verify", "[none|required]", "Whether its certificate has to be fine.", |s, _, a| {
        s.options.tls.verify = Some(match a.need(1, "'verify' : missing verify method")? {
            "none" => false,
            "required" => true,
            other => {
                let message = format!(
                    "'verify' : unknown verify method '{other}', only 'none' and 'required' are supported"
                );
                return Err(a.fault(1, message));
            }
        });
        Ok(())
    }),
    entry("verifyhost", "<hostname>", "Name that its certificate has to be for.", |s, _, a| {
        let name = a.need(1, "'verifyhost' : missing hostname to verify against")?;
        s.options.tls.verify_host = Some(name.to_owned());
        Ok(())
    }),
];

/// A word that lines of both kinds have.
fn shared(options: &mut Options, args: Args<'_>) -> Parsed {
    let given = OptionKeyword::find(args.text(0)).map(|given| {
        let value = if given.has_value { args.text(1) } else { "" };
        given.read(options, value)
    });
    given.unwrap_or(Ok(())).map_err(|message| args.fault(1, message))
}

/// `crt-list <file>`
fn crt_list(options: &mut BindOptions, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'crt-list' : missing certificate location")?;
    let text = cx.read(name, &args.place().file).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "No such file or directory".to_owned(),
            _ => error.to_string(),
        };
        args.fault(1, format!("'crt-list' : cannot open file '{name}' : {why}"))
    })?;
    let text = String::from_utf8_lossy(&text);
    let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    options.tls.settings.lists.push((name.to_owned(), lines));
    let list = tls::parse_crt_list(name, &text);
    let list = list.map_err(|message| args.fault(1, format!("'crt-list' : {message}")))?;
    for listed in list.iter().filter(|listed| listed.misplaced) {
        let (list, line) = &listed.list;
        let why = tls::MISPLACED;
        cx.warn(args, 1, format!("'crt-list' : parsing [{list}:{line}]: {why}"));
    }
    options.tls.settings.certificates.extend(list);
    Ok(())
}

/// `tls-ticket-keys <keyfile>`
fn tickets(options: &mut BindOptions, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'tls-ticket-keys' : missing TLS ticket keys file path")?;
    let told = |message: &dyn fmt::Display| args.fault(1, format!("'{name}' : {message}"));
    let text = cx.read(name, &args.place().file);
    let text = text.map_err(|_| told(&"unable to load ssl tickets keys file"))?;
    let keys = TicketKeys::read(name, &String::from_utf8_lossy(&text));
    options.tls.settings.ticket_keys = Some(Arc::new(keys.map_err(|message| told(&message))?));
    Ok(())
}

/// The expression behind `sni`, once the line is read.
pub(super) fn understand(
    options: &mut ServerOptions,
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
) -> Parsed {
    let Some(sni) = &mut options.tls.sni else { return Ok(()) };
    if sni.expr.is_some() {
        return Ok(());
    }
    let (written, at) = &sni.written;
    let skip = at.saturating_sub(args.first());
    let expr = with_parser(proxy, cx, args, skip, Uses::of(Place::BeServerConnect), |parser| {
        Expr::parse(&[written.as_str()], &mut 0, parser)
    });
    let context = "error detected while parsing sni expression";
    sni.expr = Some(Arc::new(expr.map_err(|fault| fault.within(context))?));
    Ok(())
}
