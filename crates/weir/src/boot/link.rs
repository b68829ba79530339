//! How connections to a server begin, as the data plane takes it. Never decides a default that the model
//! has.

use config::model::{Announce, Global, ServerOptions};
use proxy::settings::{self, Link, Values};

/// The connections to a server, and those of its checks.
pub(super) fn links(options: &ServerOptions, global: &Global) -> (Link, Link) {
    let asked = options.link.announce;
    let never_local = global.process.pp2_never_send_local;
    let link = Link { announce: asked.any().then(|| announce(asked, never_local)) };
    // A check of another port or address is taken to be one of another service.
    let same = options.check.port.is_none() && options.check.addr.is_none();
    let announced = (asked.any() && same) || options.check.send_proxy;
    let check_link = Link { announce: announced.then(|| announce(asked, never_local)) };
    (link, check_link)
}

fn announce(from: Announce, never_local: bool) -> settings::Announce {
    if !from.v2 {
        return settings::Announce::V1;
    }
    settings::Announce::V2(Values {
        tls: from.tls(),
        authority: from.authority,
        checksum: from.crc32c,
        unique_id: from.unique_id,
        never_local,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server line with these options makes of its connections and of its checks' ones.
    fn of(options: &str) -> (Link, Link) {
        let text = format!(
            "global\n pp2-never-send-local\nlisten l\n bind :1\n timeout client 1s\n \
             server s 127.0.0.1:1 {options}\n"
        );
        let setup = config::Setup {
            env: Default::default(),
            features: Default::default(),
            files: &config::Disk,
            names: &config::SystemResolver,
            processors: 1,
        };
        let loaded = config::load(&[config::Source::new("a.cfg", &text)], setup);
        let model = loaded.model.expect("a good text");
        let back = model.proxies[0].back.as_ref().expect("a listen section");
        links(&back.servers[0].options, &model.global)
    }

    #[test]
    fn headers_are_what_the_words_add_up_to() {
        use settings::Announce::{V1, V2};
        let plain = Values { never_local: true, ..Values::default() };
        let tls = Values { tls: true, ..plain };
        for (options, expected) in [
            ("", None),
            ("send-proxy", Some(V1)),
            ("send-proxy no-send-proxy", None),
            ("send-proxy-v2", Some(V2(plain))),
            ("send-proxy send-proxy-v2", Some(V2(plain))),
            ("send-proxy-v2 no-send-proxy-v2", None),
            ("send-proxy-v2-ssl", Some(V2(tls))),
            ("send-proxy-v2-ssl no-send-proxy-v2", Some(V1)),
            ("send-proxy-v2-ssl no-send-proxy-v2-ssl", None),
            ("send-proxy-v2-ssl-cn", Some(V2(tls))),
            ("send-proxy-v2-ssl-cn no-send-proxy-v2-ssl-cn", None),
            ("send-proxy-v2 proxy-v2-options ssl", Some(V2(tls))),
            ("send-proxy-v2 proxy-v2-options cert-cn", Some(V2(tls))),
            ("send-proxy-v2 proxy-v2-options cert-key", Some(V2(tls))),
            ("send-proxy-v2 proxy-v2-options cert-sig", Some(V2(tls))),
            ("send-proxy-v2 proxy-v2-options ssl-cipher", Some(V2(tls))),
            ("send-proxy-v2 proxy-v2-options crc32c", Some(V2(Values { checksum: true, ..plain }))),
            ("proxy-v2-options crc32c", Some(V1)),
        ] {
            let (link, checks) = of(options);
            assert_eq!((link.announce, checks.announce), (expected, expected), "{options}");
        }
        let checked = |options: &str| of(options).1.announce;
        assert_eq!(checked("send-proxy port 2"), None);
        assert_eq!(checked("send-proxy port 2 check-send-proxy"), Some(V1));
        assert_eq!(checked("check-send-proxy no-check-send-proxy"), None);
    }
}
