//! TLS in the `global` section (sections 3.1 and 3.2).
use super::values::{digits_at, integer, noted, text};
use super::without_effect;
use crate::context::Cx;
use crate::keyword::{Fill, Keyword, global as entry};
use crate::line::{Args, Parsed};
use crate::model::{Global, TlsPresets};
use std::path::Path;
use std::sync::Arc;
use tls::{Extras, OptionKeyword, Options};

type TlsGlobalKeyword = Keyword<Fill<Global>>;

/// A directory that may be given once, in all sections `global` together.
fn base(to: &mut Option<String>, args: Args<'_>) -> Parsed {
    let directory = text(args, "a directory path as an argument.")?;
    if to.is_some() {
        return Err(args.fault(0, format!("'{}' already specified.", args.text(0))));
    }
    *to = Some(directory);
    Ok(())
}

fn presets(global: &mut Global) -> &mut TlsPresets {
    Arc::make_mut(&mut global.tls.presets)
}

/// Keywords of `global`, alphabetical.
pub(crate) const KEYWORDS: &[TlsGlobalKeyword] = &[
    entry("ca-base", "<dir>", "Says where names of authorities start.", |g, _, a| {
        base(&mut presets(g).ca_base, a)
    }),
    entry("crt-base", "<dir>", "Says where names of certificates start.", |g, _, a| {
        base(&mut presets(g).crt_base, a)
    }),
    entry("issuers-chain-path", "<dir>", "Chains for certificates without.", issuers),
    entry("ocsp-update.disable", "[ on | off ]", "Fetches no OCSP responses.", |g, _, a| {
        a.no_more_than(1)?;
        g.tls.updates_nothing = on_or_off(a)?;
        Ok(())
    }),
    entry("ocsp-update.maxdelay", "<number>", "Most seconds between two fetches.", most_delay),
    entry("ocsp-update.mindelay", "<number>", "Least seconds between two fetches.", least_delay),
    entry("ocsp-update.mode", "[ on | off ]", "Whether OCSP responses are fetched.", |g, _, a| {
        a.no_more_than(1)?;
        presets(g).bind.ocsp_update = Some(on_or_off(a)?);
        Ok(())
    }),
    entry("ssl-default-bind-ciphers", "<ciphers>", "Ciphers up to TLS 1.2.", |g, _, a| {
        preset(&mut presets(g).bind, "ciphers", a)
    }),
    entry(
        "ssl-default-bind-ciphersuites",
        "<ciphersuites>",
        "Ciphers from TLS 1.3 on.",
        |g, _, a| preset(&mut presets(g).bind, "ciphersuites", a),
    ),
    entry("ssl-default-bind-curves", "<curves>", "Curves to exchange keys with.", |g, _, a| {
        preset(&mut presets(g).bind, "curves", a)
    }),
    entry("ssl-default-bind-options", "[<option>]*", "Options of bind lines.", |g, _, a| {
        options(&mut presets(g).bind, a, &["no-tls-tickets", "prefer-client-ciphers"])
    }),
    entry("ssl-default-server-ciphers", "<ciphers>", "Ciphers up to TLS 1.2.", |g, _, a| {
        preset(&mut presets(g).server, "ciphers", a)
    }),
    entry(
        "ssl-default-server-ciphersuites",
        "<ciphersuites>",
        "Ciphers from TLS 1.3 on.",
        |g, _, a| preset(&mut presets(g).server, "ciphersuites", a),
    ),
    entry("ssl-default-server-options", "[<option>]*", "Options of servers.", |g, _, a| {
        options(&mut presets(g).server, a, &["no-tls-tickets"])
    }),
    entry("ssl-dh-param-file", "<file>", "Parameters of key exchange by DH.", |g, cx, a| {
        available(a)?;
        let name = text(a, "a file path as an argument.")?;
        let read = cx.read(&name, &a.place().file).ok();
        let read = read.filter(|text| tls::Store::default().set_dh(Some(text), 0));
        let told =
            || format!("'ssl-dh-param-file': unable to load DH parameters from file <{name}>.");
        g.tls.dh_file = Some(read.ok_or_else(|| a.fault(1, told()))?);
        Ok(())
    }),
    entry("ssl-load-extra-del-ext", "", "Extra files are named without `.crt`.", |g, _, a| {
        a.ignores_behind(0);
        g.tls.extras.without_extension = true;
        Ok(())
    }),
    entry("ssl-load-extra-files", "<none|all|...>*", "Files beside certificates.", |g, _, a| {
        extras(&mut g.tls.extras, a)
    }),
    entry("ssl-mode-async", "", "Has no effect.", |_, cx, a| {
        a.ignores_behind(0);
        let why = "no engine that works asynchronously can be loaded";
        without_effect::idle(cx, a, why);
        Ok(())
    }),
    entry("ssl-propquery", "<query>", "Which providers are preferred.", |_, _, a| {
        available(a)?;
        let query = text(a, "a property string as an argument.")?;
        let message = || format!("'ssl-propquery': '{query}' is not understood.");
        tls::prefer_providers(&query).then_some(()).ok_or_else(|| a.fault(1, message()))
    }),
    entry("ssl-provider", "<name>", "Loads a provider of algorithms.", |_, _, a| {
        available(a)?;
        let name = text(a, "a valid engine provider name as an argument.")?;
        let loaded = tls::load_provider(&name);
        loaded.map_err(|why| a.fault(1, format!("ssl-provider {name}: unknown provider ({why}).")))
    }),
    entry("ssl-provider-path", "<path>", "Where providers are looked for.", |_, _, a| {
        available(a)?;
        let expected = "a directory path as an argument.";
        let path = text(a, expected)?;
        let message = || format!("global statement 'ssl-provider-path' expects {expected}");
        tls::set_provider_path(&path).then_some(()).ok_or_else(|| a.fault(1, message()))
    }),
    entry("ssl-server-verify", "[none|required]", "Whether servers are verified.", |g, _, a| {
        g.tls.trusts_servers = match a.text(1) {
            "none" => true,
            "required" => false,
            _ => {
                let message = "'ssl-server-verify' expects 'none' or 'required' as argument.";
                return Err(a.fault(1, message));
            }
        };
        Ok(())
    }),
    entry("ssl-skip-self-issued-ca", "", "Roots in chains are not sent.", |g, _, a| {
        a.no_more_than(0)?;
        g.tls.extras.keeps_roots = true;
        Ok(())
    }),
    entry("tune.ssl.cachesize", "<number>", "Sessions that are remembered.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tls.defaults.cache_size = n)
    }),
    entry("tune.ssl.capture-buffer-size", "<number>", "Bytes of hellos kept.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tls.defaults.capture = n)
    }),
    entry("tune.ssl.capture-cipherlist-size", "<number>", "As the former.", |g, cx, a| {
        let message = "'tune.ssl.capture-cipherlist-size' is a deprecated name. Please use \
                       'tune.ssl.capture-buffer-size' instead.";
        cx.warn(a, 0, message);
        integer(a, 0..=i32::MAX as u32).map(|n| g.tls.defaults.capture = n)
    }),
    entry("tune.ssl.default-dh-param", "<number>", "Most bits of exchange by DH.", |g, cx, a| {
        let bits = integer(a, 0..=i32::MAX as u32)?;
        if bits < 1024 {
            let message = "'tune.ssl.default-dh-param' expects a value >= 1024.";
            return Err(a.fault(1, message));
        }
        if let Some(message) = tls::needs_not(a.text(0)) {
            cx.warn(a, 0, message);
        } else if bits < 2_048 {
            let message = "'tune.ssl.default-dh-param' has no effect below 2048 bits where TLS \
                           1.0 and 1.1 are not allowed: DH ciphers won't be available.";
            cx.warn(a, 1, message);
        }
        g.tls.default_dh = bits;
        Ok(())
    }),
    entry("tune.ssl.force-private-cache", "", "Has no effect.", |_, cx, a| {
        a.no_more_than(0)?;
        without_effect::idle(cx, a, "sessions are remembered within one process in any case");
        Ok(())
    }),
    entry("tune.ssl.hard-maxrecord", "<number>", "Most bytes of a record.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tls.defaults.hard_max_record = n)
    }),
    entry("tune.ssl.keylog", "{ on | off }", "Keeps secrets of sessions.", |g, _, a| {
        a.no_more_than(1)?;
        g.tls.defaults.keeps_secrets = on_or_off(a)?;
        Ok(())
    }),
    entry("tune.ssl.lifetime", "<timeout>", "How long sessions are remembered.", |g, _, a| {
        let given = a.need(
            1,
            "'tune.ssl.lifetime' expects ssl sessions <lifetime> in seconds as argument.",
        )?;
        let seconds = noted(a, 1, crate::value::seconds(given));
        g.tls.defaults.lifetime = seconds.map_err(|_| {
            a.fault(1, format!("unexpected character in argument to <{}>.", a.text(0)))
        })?;
        Ok(())
    }),
    entry("tune.ssl.max-handshakes", "<number>", "Handshakes that are under way.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.settings.max_handshakes = Some(n))
    }),
    entry("tune.ssl.maxrecord", "<number>", "Bytes of the first records.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tls.defaults.max_record = n)
    }),
    entry("tune.ssl.ocsp-update.maxdelay", "<number>", "`ocsp-update.maxdelay`.", most_delay),
    entry("tune.ssl.ocsp-update.mindelay", "<number>", "`ocsp-update.mindelay`.", least_delay),
    entry("tune.ssl.own-records", "{ on | off }", "Frees the library's sessions.", |g, _, a| {
        a.no_more_than(1)?;
        if let Some(message) = tls::needs_not(a.text(0)) {
            a.note(0, message);
        }
        g.tls.defaults.own_records = on_or_off(a)?;
        Ok(())
    }),
    entry("tune.ssl.ssl-ctx-cache-size", "<number>", "Generated certificates kept.", |g, _, a| {
        integer(a, 0..=i32::MAX as u32).map(|n| g.tls.defaults.generated = n)
    }),
];

/// The most seconds between two fetches of an OCSP response: a year.
const MOST_DELAY: u32 = 31_536_000;

/// `ocsp-update.maxdelay`, by both of its names.
fn most_delay(global: &mut Global, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    global.tls.update_delays.max = delay(args, 1)?;
    Ok(())
}

/// `ocsp-update.mindelay`, by both of its names.
fn least_delay(global: &mut Global, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    global.tls.update_delays.min = delay(args, 0)?;
    Ok(())
}

/// A number of seconds, of nothing but digits.
fn delay(args: Args<'_>, least: u32) -> Parsed<u32> {
    args.no_more_than(1)?;
    digits_at(args, 1, least..=MOST_DELAY)
}

/// `on` or `off`, as the first argument.
fn on_or_off(args: Args<'_>) -> Parsed<bool> {
    match args.text(1) {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(args.fault(1, format!("'{}' expects either 'on' or 'off'.", args.text(0)))),
    }
}

/// Whether the library that is linked has what a keyword is about.
fn available(args: Args<'_>) -> Parsed {
    tls::lacks(args.text(0)).map_err(|message| args.fault(0, message))
}

/// `issuers-chain-path <dir>`
fn issuers(global: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "a directory path as an argument.";
    let name = text(args, expected)?;
    let Ok(Some(mut paths)) = cx.files.list(Path::new(&name)) else {
        let message = format!("global statement '{}' expects {expected}", args.text(0));
        return Err(args.fault(1, message));
    };
    paths.sort();
    for path in paths.iter().filter(|path| !matches!(cx.files.list(path), Ok(Some(_)))) {
        let read = cx.files.read(path).ok();
        let name = path.display().to_string();
        match read.filter(|text| tls::Store::default().add_issuers(&name, text)) {
            Some(text) => global.tls.issuers.push((name, text)),
            None => {
                let message =
                    format!("unable to load issuers-chain {name} : pem certificate not found.");
                cx.warn(args, 1, message);
            }
        }
    }
    Ok(())
}

fn preset(options: &mut Options, name: &str, args: Args<'_>) -> Parsed {
    args.need(
        1,
        format!("global statement '{}' expects a cipher string as an argument.", args.text(0)),
    )?;
    args.no_more_than(1)?;
    let read = OptionKeyword::find(name).map_or(Ok(()), |given| given.read(options, args.text(1)));
    read.map_err(|message| args.fault(1, message))
}

/// Options of TLS versions, and the options in `others`.
fn options(to: &mut Options, args: Args<'_>, others: &[&str]) -> Parsed {
    args.need(1, format!("global statement '{}' expects an option as an argument.", args.text(0)))?;
    let mut n = 1;
    while let Some(word) = args.get(n) {
        let version = ["no-sslv3", "no-tlsv", "force-", "ssl-min-ver", "ssl-max-ver"];
        let known = version.iter().any(|start| word.starts_with(start)) || others.contains(&word);
        let Some(given) = OptionKeyword::find(word).filter(|_| known) else {
            let message =
                format!("unknown option '{word}' on global statement '{}'.", args.text(0));
            return Err(args.fault(n, message));
        };
        let value = if given.has_value { args.text(n + 1) } else { "" };
        given.read(to, value).map_err(|message| args.fault(n + 1, message))?;
        n += 1 + usize::from(given.has_value);
    }
    Ok(())
}

/// `ssl-load-extra-files`
fn extras(extras: &mut Extras, args: Args<'_>) -> Parsed {
    let Extras { without_extension, keeps_roots, .. } = *extras;
    let (all, none) = (Extras::default(), false);
    *extras = Extras {
        bundle: none,
        sctl: none,
        ocsp: none,
        issuer: none,
        key: none,
        without_extension,
        keeps_roots,
    };
    args.need(1, "'ssl-load-extra-files' expects at least one argument.")?;
    let alone = |word: &str| matches!(word, "all" | "none");
    if let Some(n) = (1..args.len()).find(|n| args.len() > 2 && alone(args.text(*n))) {
        let message = "'ssl-load-extra-files' 'none' and 'all' can be only used alone";
        return Err(args.fault(n, message));
    }
    let mut n = 1;
    while let Some(word) = args.get(n) {
        match word {
            "all" => *extras = Extras { without_extension, keeps_roots, ..all },
            "none" => {}
            "bundle" => extras.bundle = true,
            "sctl" => extras.sctl = true,
            "ocsp" => extras.ocsp = true,
            "issuer" => extras.issuer = true,
            "key" => extras.key = true,
            _ => {
                let message = format!(
                    "'ssl-load-extra-files' : unknown argument '{word}'; 'none', 'all', 'bundle', 'sctl', 'ocsp', 'issuer' or 'key' expected"
                );
                return Err(args.fault(n, message));
            }
        }
        n += 1;
    }
    Ok(())
}
