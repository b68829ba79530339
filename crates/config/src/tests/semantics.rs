//! The traps of the configuration language (defaults, prefixes, order, empty arguments).
use super::*;
use crate::model::{HealthCheck, Mode};

#[test]
fn environment_expands_only_in_double_quotes() {
    let p = only("listen l\n bind \":$PORT\"\n description $PORT '$PORT' \"${N-d}${E-x}\"\n");
    assert_eq!(p.description.as_deref(), Some("$PORT $PORT d"));
    let text = "listen l\n bind :1\n description \"${.LINE} ${.FILE} ${.SECTION}\"\n";
    assert_eq!(only(text).description.as_deref(), Some("3 a.cfg l"));
}

#[test]
fn an_environment_list_gives_several_words() {
    let mut setup = setup();
    setup.env.set("OPTS", "maxconn 5  name x");
    let source = Source::new("a.cfg", "listen l\n bind :1 \"${OPTS[*]}\"\n");
    let model = load(&[source], setup).model.unwrap();
    let options = &model.proxies[0].front.as_ref().unwrap().binds[0].options;
    assert_eq!((options.maxconn, options.name.as_deref()), (5, Some("x")));
}

#[test]
fn parsing_goes_on_after_errors_and_proposes_words() {
    let loaded = loaded("global\n maxcon 1\n\nfrontend f\n bnid :1\n optin httplog\n");
    let found: Vec<(u32, Option<&str>)> = loaded
        .diagnostics
        .of(Severity::Alert)
        .map(|d| (d.place.as_ref().unwrap().line, d.suggestion.as_deref()))
        .collect();
    assert_eq!(found, [(2, Some("maxconn")), (5, Some("bind")), (6, Some("option"))]);
}

#[test]
fn a_new_defaults_section_resets_everything() {
    let model = model(concat!(
        "defaults one\n mode http\n timeout client 1s\n retries 1\ndefaults\n timeout client 2s\n",
        "frontend a\n bind :1\nfrontend b from one\n bind :2\ndefaults three from one\n timeout client 3s\n",
        "frontend c\n bind :3\n"
    ));
    let seen: Vec<(Mode, Option<u32>)> =
        model.proxies.iter().map(|p| (p.mode, p.common.timeouts.client)).collect();
    assert_eq!(seen, [(Mode::Tcp, Some(2000)), (Mode::Http, Some(1000)), (Mode::Http, Some(3000))]);
}

#[test]
fn defaults_errors() {
    for (text, message) in [
        ("defaults bar from nope\n", "defaults section 'nope' not found for defaults 'bar'."),
        (
            "defaults foo\ndefaults foo\nbackend b from foo\n",
            "ambiguous defaults section name 'foo' referenced by backend 'b' exists at least at a.cfg:1 and a.cfg:2.",
        ),
        ("backend b from\n", "'from' expects the name of a defaults section for backend 'b'."),
        ("backend a b\n", "please use the 'bind' keyword for listening addresses."),
        ("backend\n", "'backend' expects an <id> argument"),
        ("backend 'a b'\n", "character ' ' is not permitted in 'backend' name 'a b'."),
        ("mailers a!\n", "character '!' is not permitted in 'mailers' name 'a!'."),
        ("userlist a/b\n", "character '/' is not permitted in 'userlist' name 'a/b'."),
        ("http-errors a%b\n", "character '%' is not permitted in 'http-errors' name 'a%b'."),
        ("defaults\n server s 1.2.3.4:1\n", "'server' not allowed in 'defaults' section."),
        ("defaults x\n bind :1\n", "'bind' not allowed in 'defaults' section."),
        ("defaults x\n id 4\n", "'id' not allowed in 'defaults' section."),
        ("global x\n", "'global' cannot handle unexpected argument 'x'."),
    ] {
        assert_eq!(messages(text, Severity::Alert), [message], "{text}");
    }
}

#[test]
fn http_check_lines_of_a_section_replace_those_of_defaults() {
    let model = model(concat!(
        "defaults\n mode http\n option httpchk GET /d\n http-check expect status 200\n",
        "backend a\nbackend b\n http-check expect status 201\n"
    ));
    let check = |at: usize| match &model.proxies[at].back.as_ref().unwrap().check {
        HealthCheck::Script(script) => script.as_simple_http().unwrap(),
        HealthCheck::Connect | HealthCheck::External { .. } => panic!(),
    };
    assert_eq!(check(0).request, b"GET /d HTTP/1.0\r\n\r\n");
    assert_eq!(check(0).statuses, [(200, 200)]);
    assert_eq!(check(1).request, b"OPTIONS / HTTP/1.0\r\n\r\n", "as HAProxy has it");
    assert_eq!(check(1).statuses, [(201, 201)]);
}

#[test]
fn globals_accumulate_in_any_place() {
    let model = model("defaults\nglobal\n maxconn 5\nbackend b\nglobal\n nbthread 2\n");
    assert_eq!(model.global.process.maxconn, Some(5));
    assert_eq!(model.global.process.nbthread, Some(2));
}

#[test]
fn several_files_are_one_configuration() {
    let sources = [
        Source::new("a.cfg", "frontend f\n bind :1\n timeout client 1s\n default_backend b\n"),
        Source::new("b.cfg", "backend b\n"),
    ];
    assert!(load(&sources, setup()).model.is_some());
    let sources = [Source::new("a.cfg", "backend b\n"), Source::new("b.cfg", " mode http\n")];
    let loaded = load(&sources, setup());
    let alert = loaded.diagnostics.of(Severity::Alert).next().unwrap();
    assert_eq!(alert.message, "unknown keyword 'mode' out of section.");
}

#[test]
fn an_empty_argument_must_not_hide_others() {
    for (line, number, hidden) in [
        ("bind :1 \"\" nonsense", 2, "nonsense"),
        ("bind :1 \"${UNSET}\" ssl crt x", 2, "ssl"),
        ("bind :1 \"${UNSET[*]}\" ssl", 2, "ssl"),
        ("bind '' name x", 1, "name"),
        ("server s 1.1.1.1:80 weight 5 \"\" '' check", 5, "check"),
        ("timeout client 1s \"\" x", 3, "x"),
        ("no option \"\" httplog", 2, "httplog"),
        ("http-request deny if { path '' /a }", 5, "/a"),
        ("http-request set-header x '' if TRUE", 3, "if"),
        ("http-check send hdr X '' body z", 4, "body"),
        ("log-format '' x", 1, "x"),
    ] {
        let alerts = messages(&format!("listen l\n {line}\n"), Severity::Alert);
        let expected = format!(
            "argument {number} is empty and would hide '{hidden}' and what follows (environment variable missing?)"
        );
        assert!(alerts.contains(&expected), "{line}: {alerts:?}");
    }
    for opening in ["global \"\" x", "defaults '' from x", "backend b '' x"] {
        let alerts = messages(&format!("{opening}\n"), Severity::Alert);
        assert!(alerts.iter().any(|text| text.contains(" is empty and would hide")), "{alerts:?}");
    }
    assert!(loaded("global\nlisten l\n bind :1 \"\"\n").model.is_some());
    let alerts = messages("global\n maxconn \"\"\n", Severity::Alert);
    assert_eq!(alerts, ["'maxconn' expects an integer argument."]);
}

#[test]
fn files_follow_default_path() {
    let text = "global\n default-path config\nbackend b\n errorfile 503 503.http\n";
    let sources = [Source::new("dir/x.cfg", text)];
    assert!(load(&sources, setup()).model.is_some());
    assert!(loaded("backend b\n errorfile 503 503.http\n").model.is_none());
}

#[test]
fn conditions_choose_lines() {
    let text = concat!(
        ".if feature(EPOLL) && defined(PORT)\nglobal\n maxconn 1\n.elif junk(\n nonsense\n.else\n",
        " nonsense\n.endif\n.if 0\n nonsense\n.if junk(\n.foo\n.endif\n.elif 1\n nbthread 3\n.endif\n"
    );
    let model = model(text);
    assert_eq!(model.global.process.maxconn, Some(1));
    assert_eq!(model.global.process.nbthread, Some(3));
}

#[test]
fn directives_tell() {
    let text = ".notice \"a b\"\n.warning w\n.diag d\n.alert x\n.alert y\n";
    let loaded = loaded(text);
    let told: Vec<(Severity, &str)> =
        loaded.diagnostics.iter().map(|d| (d.severity, d.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (Severity::Notice, "'a b'."),
            (Severity::Warning, "'w'."),
            (Severity::Diag, "'d'."),
            (Severity::Alert, "'x'."),
            (Severity::Alert, "'y'."),
        ]
    );
}

#[test]
fn directive_errors() {
    for (text, message) in [
        (".else\n", "lone '.else' with no matching '.if'."),
        (".elif 1\n", "lone '.elif' with no matching '.if'."),
        (".endif\n", "lone '.endif' with no matching '.if'."),
        (".if 1\n", "non-terminated '.if' block."),
        (".if 0\n.else\n.else\n.endif\n", "'.else' after '.else' is not permitted."),
        (".if 0\n.else\n.elif 1\n.endif\n", "'.elif' after '.else' is not permitted."),
        (".if 1\n.endif x\n", "Unexpected argument 'x' for '.endif'."),
        (".foo\n", "unknown directive '.foo'"),
        (
            ".notice a b\n",
            "Unexpected argument 'b' for '.notice'. Use quotes if the message should contain spaces.",
        ),
        (".if foo\n.endif\n", "unparsable conditional expression 'foo' in '.if' at position 1"),
        (
            ".if 1 2\n.endif\n",
            "unexpected character '2' at the end of conditional expression '1 2' in '.if' at position 3",
        ),
    ] {
        assert_eq!(messages(text, Severity::Alert), [message], "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_fine_in_comments_only() {
    let good = Source::from_bytes("a.cfg", b"backend b # caf\xe9\n".to_vec());
    assert!(load(&[good], setup()).model.is_some());
    let bad = Source::from_bytes("a.cfg", b"backend b\n description caf\xe9\n".to_vec());
    let loaded = load(&[bad], setup());
    let alert = loaded.diagnostics.of(Severity::Alert).next().unwrap();
    assert_eq!(alert.message, "word is not valid UTF-8; write such bytes as \\xNN");
}
