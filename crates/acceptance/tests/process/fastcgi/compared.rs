//! Parameters beside those that HAProxy and nginx send for the same requests, where these are
//! installed.

use super::*;
use crate::support::{AppRequest, Client, program};
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Parameters that name the sender, its port or the port of its client.
const OWN: [&str; 3] = ["REMOTE_PORT", "SERVER_PORT", "SERVER_SOFTWARE"];

/// Requests as clients send them, without the field that ends the connection.
const REQUESTS: [&str; 13] = [
    "GET / HTTP/1.1\r\nHost: www.x.org\r\n\r\n",
    "GET /index.php?q=1&r=%20 HTTP/1.1\r\nHost: www.x.org:81\r\nX-A: 1\r\nx-a: 2\r\nAccept: */*\r\n\
     Cookie: a=b\r\nUser-Agent: t\r\n\r\n",
    "GET /a/b.php/x%20y/z?k HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST /f.php HTTP/1.1\r\nHost: h\r\nContent-Type: text/a; b=c\r\nContent-Length: 5\r\n\r\nhello",
    "POST /f.php HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "PUT /dir/ HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    "DELETE /x.php HTTP/1.1\r\nHost: h\r\n\r\n",
    "OPTIONS /p.php HTTP/1.1\r\nHost: h\r\nOrigin: o\r\n\r\n",
    "GET http://h:80/x.php?a HTTP/1.1\r\nHost: h:80\r\n\r\n",
    "GET /p.php HTTP/1.1\r\nHost: h\r\nX_U: 1\r\nProxy: e\r\nAuthorization: Basic dTpw\r\nTE: trailers\r\n\
     If-None-Match: \"a\"\r\nX-Empty:\r\n\r\n",
    "GET /%c3%a9.php/%41?x=%41 HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /wp-admin/?page=1 HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /index.php/2026/11/a-post/ HTTP/1.1\r\nHost: h\r\n\r\n",
];

type Parameters = BTreeSet<(String, String)>;

/// An application that ends its connection when it is not to be kept.
fn application() -> Responder {
    Responder::new(|conn| {
        while let Some(request) = conn.request() {
            conn.answer(&request, HELLO);
            if !request.keep_conn {
                return;
            }
        }
    })
}

/// Name and value of each parameter that an application gets for each request.
fn parameters(address: SocketAddr, app: &Responder) -> Vec<Parameters> {
    let before = app.requests().len();
    for request in REQUESTS {
        let answer = Client::connect(address).ask(request);
        assert_eq!((answer.status(), answer.text().as_str()), (200, "hello"), "{request}");
    }
    let seen = app.requests();
    let own = |name: &str| OWN.contains(&name);
    let of = |request: &AppRequest| {
        request.params.iter().filter(|(name, _)| !own(name)).cloned().collect()
    };
    seen[before..].iter().map(of).collect()
}

fn start(program: &Path, app: &Responder) -> Running {
    let text = "defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
                timeout server 20s\n\
                listen web\n    bind <web>\n    use-fcgi-app php\n    \
                server s <app> proto fcgi\n\
                fcgi-app php\n    docroot /var/www\n    index index.php\n    \
                path-info ^(/.+\\.php)(/.*)?$\n";
    Setup::new(text).program(program).with("app", app.address()).start()
}

#[test]
fn parameters_are_those_that_haproxy_sends() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        println!("skipped: no haproxy; on Debian: sudo apt-get install haproxy");
        return;
    }
    let app = application();
    let (ours, theirs) = (start(&program(), &app), start(haproxy, &app));
    let ours = parameters(ours.address("web"), &app);
    let theirs = parameters(theirs.address("web"), &app);
    for ((request, ours), theirs) in REQUESTS.iter().zip(&ours).zip(&theirs) {
        assert_eq!(ours, theirs, "{request}");
    }
}

/// A process that ends with the test.
struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The parameters of CGI (RFC 3875), as its users pass them by nginx.
const NGINX: &str = "fastcgi_split_path_info ^(.+?\\.php)(/.*)$; fastcgi_index index.php; \
    fastcgi_param GATEWAY_INTERFACE CGI/1.1; fastcgi_param DOCUMENT_ROOT $document_root; \
    fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param REQUEST_URI $request_uri; \
    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; \
    fastcgi_param PATH_INFO $fastcgi_path_info; \
    fastcgi_param QUERY_STRING $query_string; \
    fastcgi_param CONTENT_TYPE $content_type; \
    fastcgi_param CONTENT_LENGTH $content_length; \
    fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REMOTE_ADDR $remote_addr; \
    fastcgi_param SERVER_PROTOCOL $server_protocol; fastcgi_param SERVER_NAME $http_host;";

/// nginx in front of an application, on a port that was free a moment ago.
fn nginx(app: &Responder) -> Option<(Nginx, SocketAddr, crate::support::Directory)> {
    let program = Path::new("/usr/sbin/nginx");
    if !program.exists() {
        println!("skipped: no nginx; on Debian: sudo apt-get install nginx-light");
        return None;
    }
    let directory = crate::support::Directory::new();
    let place = directory.as_path().display();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a socket");
    let temporary: String = ["client_body", "fastcgi", "proxy", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {place}/{name}; "))
        .concat();
    let text = format!(
        "master_process off; daemon off; pid {place}/pid; error_log {place}/log;\n\
         events {{ worker_connections 100; }}\n\
         http {{ access_log off; {temporary}\n server {{ listen {free}; root /var/www; index index.php;\n \
         location / {{ fastcgi_pass {}; {NGINX} }} }} }}\n",
        app.address()
    );
    let file = directory.write("nginx.conf", &text);
    let mut command = Command::new(program);
    command.args(["-e", "stderr", "-c"]).arg(file).stdin(Stdio::null()).stderr(Stdio::null());
    let nginx = Nginx(command.spawn().expect("it is installed"));
    eventually("nginx listens", || std::net::TcpStream::connect(free).ok());
    Some((nginx, free, directory))
}

/// Intended differences: fields of one connection and those that reach an application by another
/// parameter are not sent twice, `HTTP_PROXY` is never sent, users are parameters of their own, an
/// absolute target stays, and each request has a length.
fn is_meant(name: &str, request: &str) -> bool {
    let absolute = request.starts_with("GET http:");
    match name {
        "HTTP_CONTENT_TYPE" | "HTTP_CONTENT_LENGTH" | "HTTP_TRANSFER_ENCODING" | "HTTP_TE" => true,
        "HTTP_PROXY" | "HTTP_AUTHORIZATION" | "AUTH_TYPE" | "REMOTE_USER" => true,
        "CONTENT_LENGTH" => !request.contains("\r\n5\r\n"),
        "REQUEST_URI" | "HTTP_HOST" | "SERVER_NAME" => absolute,
        "PATH_TRANSLATED" => true,
        _ => false,
    }
}

#[test]
fn parameters_are_those_that_nginx_sends() {
    let app = application();
    let Some((_nginx, address, _directory)) = nginx(&app) else { return };
    let weir = start(&program(), &app);
    let ours = parameters(weir.address("web"), &app);
    let theirs = parameters(address, &app);
    for ((request, ours), theirs) in REQUESTS.iter().zip(&ours).zip(&theirs) {
        let different: Vec<_> = ours
            .symmetric_difference(theirs)
            .filter(|(name, value)| !is_meant(name, request) && !value.is_empty())
            .collect();
        assert!(different.is_empty(), "{request}: {different:?}");
    }
}
