//! `fcgi-app` sections and the backends that use them.
use super::*;
use crate::diag::Severity;
use crate::model::HeaderNames;

/// A configuration whose application and backend have these lines.
fn text(app: &str, back: &str) -> String {
    let (app, back) = (app.replace("; ", "\n "), back.replace("; ", "\n "));
    format!(
        "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n\
         frontend f\n bind 127.0.0.1:81\n default_backend b\nbackend b\n {back}\n\
         fcgi-app a\n {app}\n"
    )
}

const USES: &str = "use-fcgi-app a; server s 1.2.3.4:9000 proto fcgi";

/// As HAProxy 2.6 decides, with the messages that it has for each.
#[test]
fn lines_of_applications_are_judged() {
    for (app, message) in [
        ("index i", Some("fcgi-app 'a': no docroot configured.")),
        ("docroot", Some("'docroot' expects <path> as argument.")),
        ("docroot /a; index", Some("'index' expects <filename> as argument.")),
        ("docroot /a; path-info", Some("'path-info' expects <regex> as argument.")),
        ("docroot /a; pass-header", Some("'pass-header' expects <name> as arguments.")),
        ("docroot /a; pass-header X if zz", Some("no such ACL : 'zz'")),
        ("docroot /a; set-param A", Some("'set-param' expects <name> and <value> as arguments.")),
        ("docroot /a; option", Some("'option' expects an option name.")),
        ("docroot /a; option foo", Some("unknown option 'foo'.")),
        ("docroot /a; option max-reqs", Some("option 'max-reqs' expects an integer argument.")),
        (
            "docroot /a; option max-reqs 0",
            Some("option 'max-reqs' expects a strictly positive integer argument."),
        ),
        (
            "docroot /a; no option max-reqs",
            Some("negation/default is not supported for option 'max-reqs'."),
        ),
        (
            "docroot /a; option keep-conn x",
            Some("'option keep-conn' cannot handle unexpected argument 'x'."),
        ),
        (
            "docroot /a; log-stderr",
            Some("log-stderr : expects <address> and <facility> or global as arguments"),
        ),
        ("docroot /a; foo", Some("unknown keyword 'foo' in 'fcgi-app' section")),
        ("docroot rel; docroot /b; index i", None),
        ("docroot /a; path-info ^(a)(b)(c)$; path-info ^/a", None),
        ("docroot /a; acl x path_beg /; set-param A b if x; pass-header B unless x", None),
        ("docroot /a; log-stderr global; log-stderr 127.0.0.1:514 local0 info notice", None),
        ("docroot /a; no option keep-conn; option get-values; option mpxs-conns", None),
        ("docroot /a; option mpxs-conns; option max-reqs 5000000000", None),
    ] {
        let alerts = messages(&text(app, USES), Severity::Alert);
        let found = alerts.iter().map(String::as_str).any(|alert| match message {
            Some(message) => alert.contains(message),
            None => true,
        });
        assert_eq!(found, message.is_some(), "{app}: {alerts:?}");
    }
    let warnings = messages(&text("docroot /a; option max-reqs 5", USES), Severity::Warning);
    assert_eq!(
        warnings,
        ["fcgi-app 'a': multiplexing not supported, ignore the option 'max-reqs'."]
    );
    let twice = format!("{}fcgi-app a\n docroot /\n", text("docroot /a", USES));
    let alerts = messages(&twice, Severity::Alert);
    assert!(
        alerts[0].starts_with("fcgi-app section 'a' has the same name as another one declared")
    );
}

#[test]
fn backends_and_applications_need_each_other() {
    let server = "server s 1.2.3.4:9000 proto fcgi";
    for (back, message) in [
        (server, Some("proxy 'b': FCGI server 's' has no FCGI app configured.")),
        (
            "use-fcgi-app a; server s 1.2.3.4:80",
            Some("proxy 'b': FCGI app configured but no FCGI server found."),
        ),
        (&format!("use-fcgi-app zz; {server}"), Some("proxy 'b' : fcgi-app 'zz' not found.")),
        (
            &format!("use-fcgi-app c; use-fcgi-app a; {server}"),
            Some("'use-fcgi-app' : only one fcgi-app supported per backend"),
        ),
        (
            &format!("filter trace; use-fcgi-app a; {server}"),
            Some("proxy 'b': require an explicit filter declaration to use the fcgi-app 'a'."),
        ),
        ("use-fcgi-app", Some("'use-fcgi-app' expects <name> as argument")),
        ("filter fcgi-app", Some("'filter' : 'fcgi-app : expects a <name> argument'")),
        (
            &format!("filter fcgi-app a x; {server}"),
            Some("'filter fcgi-app' : unknown keyword 'x'."),
        ),
        (&format!("use-fcgi-app a; {server}"), None),
        (&format!("filter fcgi-app a; {server}"), None),
        (&format!("filter trace; filter fcgi-app a; use-fcgi-app a; {server}"), None),
        (&format!("use-fcgi-app a; compression algo gzip; {server}"), None),
        ("use-fcgi-app a; default-server proto fcgi; server s 1.2.3.4:9000", None),
        ("use-fcgi-app a; server-template s 1-2 1.2.3.4:9000 proto fcgi", None),
        (&format!("use-fcgi-app a; {server}; server t 1.2.3.4:80"), None),
    ] {
        let alerts = messages(&text("docroot /a", back), Severity::Alert);
        match message {
            Some(message) => assert!(alerts[0].starts_with(message), "{back}: {alerts:?}"),
            None => assert_eq!(alerts, Vec::<String>::new(), "{back}"),
        }
    }
    let tcp = format!("{}backend t\n mode tcp\n use-fcgi-app a\n", text("docroot /a", USES));
    let alerts = messages(&tcp, Severity::Alert);
    assert_eq!(alerts, ["proxy 't': FCGI application cannot be used in non-HTTP mode."]);
    let front = format!("{}frontend g\n use-fcgi-app a\n", text("docroot /a", USES));
    let alerts = messages(&front, Severity::Alert);
    assert_eq!(alerts, ["'use-fcgi-app' only available in backend or listen section"]);
}

#[test]
fn applications_keep_what_their_lines_say() {
    let app = "docroot /a; index i.php; path-info ^(/.+)$; option get-values; option mpxs-conns; \
               option max-reqs 7; no option keep-conn; set-param A b; pass-header B";
    let model = model(&text(app, USES));
    let back = model.proxies.iter().find(|proxy| &*proxy.name == "b").expect("a backend");
    assert_eq!(back.common.header_names, Some(HeaderNames::Delete));
    let app = &back.back.as_ref().and_then(|back| back.fcgi.as_ref()).expect("an app").app;
    assert_eq!((&app.docroot[..], &app.index[..]), (&b"/a"[..], &b"i.php"[..]));
    assert_eq!((app.get_values, app.multiplexes, app.keep_conn), (true, true, false));
    assert_eq!(app.requests_per_connection(), 7);
    assert_eq!((app.set_params.len(), app.pass_headers.len()), (1, 1));
    assert!(app.path_info.is_some());
}
