//! The workloads of `bench compare`: what each adds to the common configuration, and its load.

use std::path::Path;

use super::origin;
use super::peer::Protocol;
use crate::h3_load;
use crate::tools::{self, Tool};

/// One workload.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Lines of `global`; `{w}` stands for the directory of files.
    global: &'static str,
    defaults: &'static str,
    /// Options of the `bind` line; `{w}` stands for the directory of files, `{p}` for the port.
    bind: &'static str,
    /// Writes the rules of the frontend.
    frontend: fn() -> String,
    /// Lines of the backend.
    backend: &'static str,
    /// Its servers; `{1}` and `{2}` stand for the ports of the web servers, `{tls}` for that with
    /// TLS.
    servers: &'static str,
    /// Further sections.
    sections: &'static str,
    /// The peer that the workload needs beside the web server; its port is `{peer}` in lines.
    pub(super) peer: Option<Protocol>,
    /// The workload without the feature of this one: the figure is the difference.
    pub(super) without: Option<&'static str>,
    /// The load generator's command; `{d}` stands for the seconds, `{p}` for the port.
    load: &'static [&'static str],
}

impl Scenario {
    /// Whether bytes per response are of interest: the proxy compresses.
    pub(super) fn compresses(&self) -> bool {
        self.backend.contains("compression")
    }

    /// Whether the workload needs a certificate.
    pub(super) fn is_tls(&self) -> bool {
        self.bind.contains("ssl")
    }

    /// The programs that the workload needs.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let load = match self.load.first() {
            Some(&"wrk") => Some(tools::WRK),
            Some(&"h2load") => Some(tools::H2LOAD),
            _ => None,
        };
        let certificate = self.is_tls().then_some(tools::OPENSSL);
        [tools::NGINX, tools::TASKSET].into_iter().chain(load).chain(certificate).collect()
    }

    /// Whether the clients speak HTTP/3.
    pub(super) fn is_h3(&self) -> bool {
        self.load.first() == Some(&h3_load::NAME)
    }

    /// The words of the load generator's command.
    pub(super) fn load(&self, port: u16, seconds: u32) -> Vec<String> {
        let fill = |word: &&str| {
            word.replace("{d}", &seconds.to_string()).replace("{p}", &port.to_string())
        };
        self.load.iter().map(fill).collect()
    }

    /// The proxy's configuration.
    pub(super) fn configuration(&self, name: &str, port: u16, files: &Path) -> String {
        let files = files.display().to_string();
        let [one, two] = &origin::PORTS.map(|port| port.to_string());
        let peer = self.peer.map_or_else(String::new, |peer| peer.port().to_string());
        format!(
            "global\n    nbthread 1\n    maxconn 4000\n    stats socket {files}/{name}.sock level admin\n    {}\n\
             defaults\n    mode http\n    timeout client 60s\n    timeout server 60s\n    timeout connect 5s\n    {}\n\
             frontend fe\n    bind 127.0.0.1:{port} {}\n    {}\n    default_backend be\n\
             backend be\n    balance leastconn\n    http-reuse always\n    {}\n    {}\n{}",
            self.global.replace("{w}", &files),
            self.defaults,
            self.bind.replace("{w}", &files).replace("{p}", &port.to_string()),
            (self.frontend)().replace("{w}", &files),
            self.backend,
            self.servers(one, two).replace("{peer}", &peer),
            self.sections.replace("{peer}", &peer),
        )
    }
}

impl Scenario {
    /// The lines of its servers, with the ports of the web servers.
    fn servers(&self, one: &str, two: &str) -> String {
        let tls = origin::TLS_PORT.to_string();
        self.servers.replace("{1}", one).replace("{2}", two).replace("{tls}", &tls)
    }
}

const PLAIN: Scenario = Scenario {
    name: "",
    global: "",
    defaults: "",
    bind: "",
    frontend: String::new,
    backend: "",
    servers: "server s1 127.0.0.1:{1}\n    server s2 127.0.0.1:{2}",
    sections: "",
    peer: None,
    without: None,
    load: &[],
};

const TLS: &str = "ssl crt {w}/ec.pem";
/// A second line, after one of TCP that shows when the proxy has started.
const QUIC: &str = "\n    bind quic4@127.0.0.1:{p} ssl crt {w}/ec.pem alpn h3";
const CLOSE: &str = "Connection: close";
const GZIP: &str = "Accept-Encoding: gzip";
const COMPRESSION: &str = "compression algo gzip\n    \
                           compression type text/html application/json application/javascript";
const CACHE: &str = "http-request cache-use c\n    http-response cache-store c";
const CACHE_SECTION: &str =
    "cache c\n    total-max-size 16\n    max-object-size 1000000\n    max-age 3600\n";

/// The file of the engine in `spoe-ip`: one message with one argument, one variable back.
pub(super) const SPOE: &str = "spoe-agent iprep\n    messages ip\n    option var-prefix iprep\n    \
                               timeout hello 2s\n    timeout idle 60s\n    timeout processing 2s\n    \
                               use-backend agents\n\
                               spoe-message ip\n    args ip=src\n    event on-frontend-http-request\n";

/// The script of the workloads with Lua, which is [`SCRIPT_FILE`] in the directory of files.
pub(super) const SCRIPT: &str = "\
    core.register_action('mark', {'http-req'}, function(txn)
        txn.http:req_set_header('x-mark', 'seen')
    end)
    core.register_fetches('agent', function(txn) return txn.sf:req_fhdr('user-agent') end)
    local page = string.rep('0123456789abcde\\n', 64)
    core.register_service('page', 'http', function(applet)
        applet:set_status(200)
        applet:add_header('content-type', 'text/plain')
        applet:add_header('content-length', 1024)
        applet:start_response()
        applet:send(page)
    end)
";
/// The name of that file.
pub(super) const SCRIPT_FILE: &str = "bench.lua";

/// A workload with the script and one rule that uses it.
const LUA: Scenario = Scenario {
    global: "lua-load-per-thread {w}/bench.lua",
    load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/"],
    ..PLAIN
};

/// Every workload, the five of the default first.
pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "h1-ka-64",
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h1-ka-256",
        load: &["wrk", "-t1", "-c256", "-d{d}s", "--latency", "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h1-close",
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "-H", CLOSE, "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h1-1m",
        load: &["wrk", "-t1", "-c16", "-d{d}s", "--latency", "http://127.0.0.1:{p}/1m"],
        ..PLAIN
    },
    Scenario {
        name: "h1-rules",
        global: "log 127.0.0.1:19514 local0",
        defaults: "log global\n    option httplog",
        frontend: rules,
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/app7/x"],
        ..PLAIN
    },
    Scenario {
        name: "tls-ka-64",
        bind: TLS,
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "https://127.0.0.1:{p}/"],
        ..PLAIN
    },
    // `wrk` continues with the session of its connection: a key exchange, and no signature.
    Scenario {
        name: "tls-handshake",
        bind: TLS,
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "-H", CLOSE, "https://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "tls-1m",
        bind: TLS,
        load: &["wrk", "-t1", "-c16", "-d{d}s", "--latency", "https://127.0.0.1:{p}/1m"],
        ..PLAIN
    },
    // TLS to the server, too.
    Scenario {
        name: "tls-both-64",
        bind: TLS,
        servers: "server s1 127.0.0.1:{tls} ssl verify none",
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "https://127.0.0.1:{p}/"],
        ..PLAIN
    },
    // Messages through sessions that stay open.
    Scenario {
        name: "tcp-ka-64",
        defaults: "mode tcp",
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "comp-64k",
        backend: COMPRESSION,
        load: &[
            "wrk",
            "-t1",
            "-c64",
            "-d{d}s",
            "--latency",
            "-H",
            GZIP,
            "http://127.0.0.1:{p}/64k",
        ],
        ..PLAIN
    },
    Scenario {
        name: "cache-1k",
        backend: CACHE,
        sections: CACHE_SECTION,
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/1k"],
        ..PLAIN
    },
    Scenario {
        name: "cache-100k",
        backend: CACHE,
        sections: CACHE_SECTION,
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/100k"],
        ..PLAIN
    },
    Scenario {
        name: "fcgi-echo",
        backend: "use-fcgi-app app",
        servers: "server s1 127.0.0.1:{peer} proto fcgi",
        sections: "fcgi-app app\n    docroot /srv/app\n    index index.php\n",
        peer: Some(Protocol::Fcgi),
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "spoe-ip",
        frontend: || {
            "filter spoe config {w}/spoe.cfg\n    \
             http-request deny if { var(txn.iprep.ip_score) -m int gt 90 }"
                .to_owned()
        },
        sections: "backend agents\n    mode tcp\n    server a 127.0.0.1:{peer}\n",
        peer: Some(Protocol::Spop),
        without: Some("h1-ka-64"),
        load: &["wrk", "-t1", "-c64", "-d{d}s", "--latency", "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h2c-10x100",
        bind: "proto h2",
        load: &["h2load", "-t1", "-c10", "-m100", "-D{d}", "http://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h2tls-10x100",
        bind: "ssl crt {w}/ec.pem alpn h2",
        load: &["h2load", "-t1", "-c10", "-m100", "-D{d}", "https://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h3-10x100",
        bind: QUIC,
        load: &[h3_load::NAME, "-c10", "-m100", "-D{d}", "https://127.0.0.1:{p}/"],
        ..PLAIN
    },
    Scenario {
        name: "h3-1m",
        bind: QUIC,
        load: &[h3_load::NAME, "-c16", "-D{d}", "https://127.0.0.1:{p}/1m"],
        ..PLAIN
    },
    Scenario {
        name: "h3-handshake",
        bind: QUIC,
        load: &[h3_load::NAME, "-c64", "-D{d}", "--handshakes", "https://127.0.0.1:{p}/"],
        ..PLAIN
    },
    // The cost of the script is the difference from `h1-ka-64`.
    Scenario { name: "lua-action", frontend: || "http-request lua.mark".to_owned(), ..LUA },
    Scenario {
        name: "lua-fetch",
        frontend: || "http-request deny if { lua.agent -m str none }".to_owned(),
        ..LUA
    },
    Scenario {
        name: "lua-service",
        frontend: || "http-request use-service lua.page".to_owned(),
        ..LUA
    },
];

/// The workloads of the default: those of HTTP/1.
pub(super) const DEFAULT: usize = 5;

/// The port of the log receiver in `h1-rules`.
pub(super) const LOG_PORT: u16 = 19514;

/// A frontend of some size: 40 ACLs, 20 conditional headers, a stick table, a denial.
fn rules() -> String {
    let mut lines = Vec::new();
    lines.extend((0..20).map(|i| format!("acl host{i} hdr(host) -i site{i}.example.com")));
    lines.extend((0..20).map(|i| format!("acl path{i} path_beg /app{i}/ /legacy{i}/")));
    lines.extend(
        (0..20).map(|i| format!("http-request set-header X-App{i} yes if host{i} path{i}")),
    );
    lines.extend(
        [
            "http-request set-header X-Request-Id %[rand(1000000)]",
            "http-request set-var(txn.h) req.hdr(host),lower",
            "http-response set-header X-Frame-Options DENY",
            "http-response del-header server",
            "stick-table type ip size 100k expire 60s store http_req_rate(10s),conn_cur",
            "http-request track-sc0 src",
            "http-request deny deny_status 429 if { sc_http_req_rate(0) gt 100000000 }",
        ]
        .map(str::to_owned),
    );
    lines.join("\n    ")
}

#[cfg(test)]
mod tests {
    //! Names are unique and every placeholder is filled.
    use super::*;

    #[test]
    fn placeholders_are_filled() {
        for scenario in SCENARIOS {
            let text = scenario.configuration("x", 18001, Path::new("dir"));
            let load = scenario.load(18001, 5).join(" ");
            let open = ["{w}", "{1}", "{2}", "{peer}"].iter().any(|open| text.contains(open));
            assert!(!open && !load.contains('{'), "{}", scenario.name);
            let base = scenario.without;
            assert!(base.is_none_or(|base| SCENARIOS.iter().any(|other| other.name == base)));
            assert!(text.contains("bind 127.0.0.1:18001") && load.contains(":18001/"));
            assert_eq!(SCENARIOS.iter().filter(|other| other.name == scenario.name).count(), 1);
        }
    }
}
