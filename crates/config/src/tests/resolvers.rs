//! `resolvers` sections, servers that are given by name, templates.
use super::*;
use crate::model::{Address, NameServer, Server};

const SECTION: &str = "resolvers r\n nameserver d 127.0.0.1:53\n";

fn servers(lines: &str) -> Vec<Server> {
    let mut model = model(&format!("{SECTION}backend b\n{lines}"));
    model.proxies.remove(0).back.unwrap().servers
}

fn ip(server: &Server) -> String {
    match &server.address.address {
        Address::Inet(address) => address.to_string(),
        Address::Unix(path) => path.display().to_string(),
        Address::Pair(fd) => format!("pair {fd}"),
    }
}

#[test]
fn a_section_has_its_defaults_and_the_values_of_its_lines() {
    let text = concat!(
        "resolvers r\n nameserver a 1.2.3.4:53\n nameserver b tcp@[::1]:54\n",
        " nameserver c udp@1.2.3.5:55\n timeout resolve 2s\n timeout retry 3s\n resolve_retries 5\n",
        " hold valid 1\n hold nx 2\n hold other 3\n hold refused 4\n hold timeout 5\n",
        " hold obsolete 6\n accepted_payload_size 4096\n honor-ttl\n",
        "resolvers plain\n nameserver a 1.2.3.4:53\n"
    );
    let sections = model(text).resolvers;
    let section = &sections[0];
    let place = |it: &NameServer| format!("{} {} {}", it.name, it.address, it.stream);
    let all: Vec<String> = section.nameservers.iter().map(place).collect();
    assert_eq!(all, ["a 1.2.3.4:53 false", "b [::1]:54 true", "c 1.2.3.5:55 false"]);
    let hold = dns::Hold { valid: 1, nx: 2, other: 3, refused: 4, timeout: 5, obsolete: 6 };
    let expected = dns::Settings {
        resolve: 2_000,
        retry: 3_000,
        retries: 5,
        hold,
        payload: 4_096,
        honours_ttl: true,
    };
    assert_eq!(section.dns, expected);
    assert_eq!(sections[1].dns, dns::Settings::default());
}

#[test]
fn mistakes_in_a_section() {
    for (line, message) in [
        ("nameserver", "'nameserver' expects <name> and <addr>[:<port>] as arguments."),
        ("nameserver a", "'nameserver' expects <name> and <addr>[:<port>] as arguments."),
        ("nameserver b 1.2.3.4", "'nameserver b' : missing port specification in '1.2.3.4'"),
        (
            "nameserver d 1.2.3.4:53",
            "nameserver 'd' has same name as another nameserver (declared at a.cfg:2).",
        ),
        (
            "nameserver e tcp@1.2.3.4:53 maxconn 1 weight 2",
            "'nameserver e' : 'weight' is not implemented yet",
        ),
        ("nameserver e tcp@1.2.3.4:53 nope", "'nameserver e' : unknown keyword 'nope'"),
        (
            "nameserver e tcp@1.2.3.4:53 source 1.2.3.5:80",
            "'nameserver e' : 'source' : nothing but an address is known here",
        ),
        (
            "hold x 3",
            "'hold' unknown <event>: 'x', expects either 'nx', 'timeout', 'valid', 'obsolete' or 'other'.",
        ),
        ("hold nx 3x", "unexpected character 'x' in argument to <hold>."),
        ("resolve_retries", "'resolve_retries' expects <nb> as argument."),
        ("timeout", "'timeout' expects 'retry' or 'resolve' and <time> as arguments."),
        ("timeout x 3", "'timeout' expects 'retry' or 'resolve' and <time> as arguments got 'x'."),
        ("timeout resolve", "'timeout resolve' expects <time> as argument."),
        ("timeout retry 3y", "unexpected character 'y' in argument to <timeout retry>."),
        ("accepted_payload_size", "'accepted_payload_size' expects <nb> as argument."),
        (
            "accepted_payload_size 5",
            "'accepted_payload_size' must be between 12 and 65535 inclusive (was 5).",
        ),
        (
            "resolution_pool_size 5",
            "'resolution_pool_size' directive is not supported anymore (it never appeared in a stable release).",
        ),
        ("parse-resolv-conf", "failed to open /etc/resolv.conf."),
        ("foo", "unknown keyword 'foo' in 'resolvers' section"),
    ] {
        let text = format!("{SECTION} {line}\n");
        assert_eq!(messages(&text, Severity::Alert), [message], "{line}");
    }
    let twice = format!("{SECTION}resolvers r\n");
    let message = "resolvers 'r' has same name as another resolvers (declared at a.cfg:1).";
    assert_eq!(messages(&twice, Severity::Alert), [message]);
    assert_eq!(messages("resolvers\n", Severity::Alert), ["missing name for resolvers section."]);
    let warnings = messages("resolvers r\n", Severity::Warning);
    assert_eq!(warnings, ["resolvers 'r' [a.cfg:1] has no nameservers configured!"]);
}

#[test]
fn parameters_are_about_connections() {
    let text = concat!(
        "resolvers r\n nameserver a tcp@1.2.3.4:53 maxconn 3 source 127.0.0.9 interface lo",
        "\n nameserver b tcp@1.2.3.4:853 ssl verify none sni str(dns.test)\n nameserver c 1.2.3.4:53\n"
    );
    let servers = model(text).resolvers.remove(0).nameservers;
    let options = servers[0].options.as_ref().expect("parameters");
    let source = options.link.source.as_ref().expect("a source");
    assert_eq!((options.maxconn, source.interface.as_deref()), (3, Some("lo")));
    assert_eq!(source.address, "127.0.0.9".parse().ok());
    let name = servers[1].options.as_ref().and_then(|it| it.server_name());
    assert_eq!((name, servers[1].tls.is_some()), (Some("dns.test"), true));
    assert!(servers[0].tls.is_none() && servers[2].options.is_none());
    let unsafe_one = "resolvers r\n nameserver b tcp@1.2.3.4:853 ssl\n";
    assert!(messages(unsafe_one, Severity::Alert)[0].contains("verify is enabled by default"));
    let why = "parameters have no effect on a name server that is asked over UDP";
    let datagrams = "resolvers r\n nameserver b 1.2.3.4:53 maxconn 3\n";
    assert_eq!(messages(datagrams, Severity::Warning), [format!("'nameserver b' : {why}")]);
}

#[test]
fn the_systems_name_servers_are_understood() {
    let text = "# nameserver 9.9.9.9\nsearch x\nnameserver 1.2.3.4\n nameserver\tfe80::1%eth0\nnameserver x\n";
    let place = crate::diag::Place { file: "f".into(), line: 1 };
    let found = crate::section::resolvers::parse_system(text, &place);
    let shown: Vec<String> = found.iter().map(|it| format!("{} {}", it.name, it.address)).collect();
    assert_eq!(shown, ["1.2.3.4 1.2.3.4:53", "fe80::1%eth0 [fe80::1]:53"]);
}

#[test]
fn a_server_names_a_section_and_says_what_it_likes() {
    let all = servers(concat!(
        " default-server resolvers r\n server a A.test:80 resolve-prefer ipv4 resolve-net 10.0.0.0/8,::1\n",
        " server b _x._tcp.test resolve-opts allow-dup-ip,ignore-weight\n",
        " server c 1.2.3.4:80\n server d b.test:80 resolve-opts allow-dup-ip,prevent-dup-ip\n"
    ));
    let of = |at: usize| all[at].resolve.clone().unwrap();
    let a = of(0);
    assert_eq!((&*a.name, a.service, a.family), ("a.test", false, dns::RecordType::V4));
    let networks = [("10.0.0.0".parse().unwrap(), 8), ("::1".parse().unwrap(), 128)];
    assert_eq!(a.networks, networks);
    let b = of(1);
    assert_eq!(
        (b.service, b.shares, b.keeps_weight, b.family),
        (true, true, true, dns::RecordType::V6)
    );
    assert_eq!(&*of(2).name, "", "a command may give it a name");
    assert!(!of(3).shares);
    let unknown = format!("{SECTION}backend b\n server s a.test:80 init-addr none resolvers z\n");
    let message = "backend 'b', server 's': unable to find required resolvers 'z'";
    assert_eq!(messages(&unknown, Severity::Alert), [message]);
    let numeric = format!("{SECTION}backend b\n server s 127.0.0.1:80 resolvers z\n");
    assert_eq!(messages(&numeric, Severity::Alert), [message], "no name, and refused all the same");
    for (options, message) in [
        ("resolve-prefer x", "'resolve-prefer' expects either ipv4 or ipv6 as argument."),
        ("resolve-net 1.2.3", "'resolve-net' invalid network '1.2.3'."),
        (
            "resolve-opts foo",
            "'resolve-opts' : unknown resolve-opts option 'foo', supported methods are 'allow-dup-ip', 'ignore-weight', and 'prevent-dup-ip'.",
        ),
        (
            "init-addr foo",
            "'init-addr' : unknown init-addr method 'foo', supported methods are 'libc', 'last', 'none'.",
        ),
    ] {
        let text = format!("backend b\n server s 1.2.3.4:80 {options}\n");
        let expected = format!("'server b/s' : {message}");
        assert_eq!(messages(&text, Severity::Alert), [expected], "{options}");
    }
}

#[test]
fn init_addr_says_where_the_first_address_comes_from() {
    let all = servers(concat!(
        " server a localhost:80\n server b nope.invalid:80 init-addr 1.2.3.4\n",
        " server c nope.invalid:80 init-addr last,libc,1.2.3.5\n server d localhost:80 init-addr none\n",
        " server e nope.invalid:80 resolvers r\n server f localhost:80 resolvers r\n"
    ));
    let found: Vec<String> = all.iter().map(|it| format!("{} {}", ip(it), it.unresolved)).collect();
    let expected = [
        "127.0.0.1:80 false",
        "1.2.3.4:80 false",
        "1.2.3.5:80 false",
        "0.0.0.0:80 true",
        "0.0.0.0:80 true",
        "127.0.0.1:80 false",
    ];
    assert_eq!(found, expected);
    for (line, message) in [
        ("nope.invalid:80", "could not resolve address 'nope.invalid'."),
        ("nope.invalid:80 init-addr last", "no method found to resolve address 'nope.invalid'."),
        ("_foo.x:80", "no method found to resolve address '_foo.x'."),
    ] {
        let text = format!("backend b\n server s {line}\n");
        let expected = format!("'server b/s' : {message}");
        assert_eq!(messages(&text, Severity::Alert), [expected], "{line}");
    }
    let text = "backend b\n server s nope.invalid:80 init-addr libc,none\n";
    let warning = "'server b/s' : could not resolve address 'nope.invalid', disabling server.";
    assert!(messages(text, Severity::Warning).contains(&warning.to_owned()));
}

/// Counts the queries and finds no address.
#[derive(Default)]
struct Asked(std::cell::Cell<u32>);

impl Resolver for Asked {
    fn resolve(&self, _: &str, _: Family) -> Option<IpAddr> {
        self.0.set(self.0.get() + 1);
        None
    }
}

#[test]
fn names_are_not_looked_up_for_a_configuration_that_is_wrong() {
    let asked = |line: &str| {
        let names = Asked::default();
        let text = format!("backend b\n server s nope.invalid:80\n{line}");
        let setup = Setup { names: &names, ..setup() };
        let loaded = load(&[Source::new("a.cfg", &text)], setup);
        let alerts = loaded.diagnostics.iter().filter(|it| it.severity == Severity::Alert);
        let alerts: Vec<String> = alerts.map(|it| it.message.clone()).collect();
        (names.0.get(), alerts)
    };
    assert_eq!(asked("").0, 1);
    let (count, alerts) = asked(" bogus\n");
    assert_eq!(count, 0, "{alerts:?}");
    assert_eq!(alerts, ["unknown keyword 'bogus' in 'backend' section"]);
}

#[test]
fn templates_make_servers_that_differ_by_a_number() {
    let all = servers(concat!(
        " server-template a 2 localhost:80 weight 7\n server-template b 3-4 1.2.3.4:81 backup\n",
        " server-template c 1 _x._tcp.test resolvers r check\n"
    ));
    let shown: Vec<String> = all.iter().map(|it| format!("{} {}", it.name, ip(it))).collect();
    let expected =
        ["a1 127.0.0.1:80", "a2 127.0.0.1:80", "b3 1.2.3.4:81", "b4 1.2.3.4:81", "c1 0.0.0.0:0"];
    assert_eq!(shown, expected);
    assert!(all[1].options.weight == 7 && all[2].options.backup && all[4].options.check.enabled);
    assert_eq!(all.iter().map(|it| it.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let expected = "'server-template' expects <prefix> <nb | range> <addr>[:<port>] as arguments.";
    for (line, message) in [
        ("a", expected),
        ("a 1", expected),
        ("a x foo:80", "Wrong server-template number or range arg 'x'."),
        ("a 3-1 foo:80", "Wrong server-template number or range arg '3-1'."),
        ("a 0 foo:80", "Wrong server-template number or range arg '0'."),
        ("a 1-999999999 foo:80", "Wrong server-template number or range arg '1-999999999'."),
    ] {
        let text = format!("backend b\n server-template {line}\n");
        assert_eq!(messages(&text, Severity::Alert), [message], "{line}");
    }
    let twice = "backend b\n server a2 1.2.3.4:1\n server-template a 2 1.2.3.4:1\n";
    let message = "backend 'b', another server named 'a2' was already defined at line 2, please use distinct names.";
    assert_eq!(messages(twice, Severity::Alert), [message]);
}

#[test]
fn do_resolve_names_a_section() {
    let text = |rule: &str| {
        format!("{SECTION}frontend f\n mode http\n bind :1\n timeout client 1s\n {rule}\n")
    };
    assert!(loaded(&text("http-request do-resolve(txn.ip,r,ipv4) req.hdr(host)")).model.is_some());
    assert!(loaded(&text("tcp-request content do-resolve(txn.ip,r) src")).model.is_some());
    let alert = |rule: &str| messages(&text(rule), Severity::Alert).remove(0);
    let missing = alert("http-request do-resolve(txn.ip,z) src");
    assert_eq!(missing, "Proxy 'f': Can't find resolvers section 'z' for do-resolve action.");
    for wrong in ["do-resolve(txn.ip) src", "do-resolve(txn.ip,r,foo) src", "do-resolve(txn.ip,r)"]
    {
        let message = alert(&format!("http-request {wrong}"));
        assert!(
            message.contains("Expects 'do-resolve(<varname>,<resolvers>[,<options>]) <expr>'"),
            "{message}"
        );
    }
}
