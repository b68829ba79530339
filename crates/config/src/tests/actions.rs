//! Keywords of rules and user lists: their values in the model, and refused words.
use super::{listen, messages, model, only};
use crate::diag::Severity;
use crate::model::HeaderNames;
use sample::vars::VarName;

#[test]
fn options_of_requests() {
    let proxy = only(&listen(
        "option originalto except 10.0.0.0/8 header X-O\noption http-buffer-request\noption http-restrict-req-hdr-names delete",
    ));
    let original = proxy.common.original_to.as_ref().unwrap();
    assert_eq!((original.header.as_str(), original.except.unwrap().1), ("x-o", 8));
    assert!(proxy.common.buffer_request);
    assert_eq!(proxy.common.header_names, Some(HeaderNames::Delete));
    let proxy = only(&listen("option http-buffer-request\nno option http-buffer-request"));
    assert!(!proxy.common.buffer_request);
}

#[test]
fn servers_and_persistence_are_chosen_by_rules() {
    let proxy = only(&listen(
        "use-server b if { path /b }\nforce-persist if { src 10.1.1.1 }\nignore-persist unless { path /x }\nmonitor fail if { nbsrv lt 1 }\nserver a 127.0.0.1:1\nserver b 127.0.0.1:2",
    ));
    assert_eq!(proxy.rules.selection[0].server, Some(1));
    let forces: Vec<bool> = proxy.rules.persistence.iter().map(|line| line.force).collect();
    assert_eq!(forces, [true, false]);
    assert_eq!(proxy.rules.monitor_fail.len(), 1);
}

#[test]
fn accounts_know_their_groups() {
    let model = model(
        "userlist u\n group g users tiger\n group h\n user tiger insecure-password elgato\n user joe password $5$s$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5 groups g,h\n",
    );
    let users = &model.userlists["u"].users;
    assert_eq!(users["tiger"].groups, ["g"]);
    assert_eq!(users["joe"].groups, ["g", "h"]);
    assert!(users["tiger"].password.as_ref().unwrap().verify(b"elgato"));
}

#[test]
fn variables_of_the_process_are_set_while_loading() {
    let model = model(
        "global\n set-var proc.a int(4),add(3)\n set-var proc.a,ifnotexists int(9)\n set-var-fmt proc.b \"n=%[var(proc.a)]\"\n",
    );
    let text = |name: &str| {
        let value = model.variables.get(&VarName::parse(name).unwrap()).unwrap();
        String::from_utf8(value.to_str().unwrap().to_vec()).unwrap()
    };
    assert_eq!((text("proc.a"), text("proc.b")), ("7".into(), "n=7".into()));
}

#[test]
fn mistakes() {
    for (text, message) in [
        (
            listen("http-request deny if { http_auth(nobody) }"),
            "unable to find userlist 'nobody' referenced in arg 1 of sample fetch keyword 'http_auth' in proxy 'l'.",
        ),
        (
            listen("use-server x if TRUE"),
            "proxy 'l' : unable to find server 'x' referenced in a 'use-server' rule.",
        ),
        (listen("use-server"), "'use-server' expects a server name."),
        (
            listen("use-server x"),
            "'use-server' requires either 'if' or 'unless' followed by a condition.",
        ),
        (
            listen("use-server x iff TRUE"),
            "'use-server' requires either 'if' or 'unless' followed by a condition.",
        ),
        (listen("monitor fine if TRUE"), "'monitor' only supports 'fail'."),
        (
            listen("force-persist TRUE"),
            "'force-persist' requires either 'if' or 'unless' followed by a condition.",
        ),
        (
            listen("option originalto if-none"),
            "'option originalto' only supports optional values: 'except' and 'header'.",
        ),
        (
            listen("option http-restrict-req-hdr-names x"),
            "'option http-restrict-req-hdr-names' only supports 'preserve', 'delete' and 'reject' (got 'x').",
        ),
        (
            listen("http-request normalize-uri path-strip-dot"),
            "'http-request normalize-uri' directive is experimental, must be allowed via a global 'expose-experimental-directives'",
        ),
        (
            "global\n set-var txn.a int(4)\n".to_owned(),
            "'set-var': only 'proc' variables exist in 'global': 'txn.a'",
        ),
        ("userlist u\n foo\n".to_owned(), "unknown keyword 'foo' in 'userlist' section"),
        (
            "userlist u\n group g users x\n".to_owned(),
            "userlist 'u': no such user 'x' specified in group 'g'",
        ),
    ] {
        assert_eq!(messages(&text, Severity::Alert), [message], "{text}");
    }
}
