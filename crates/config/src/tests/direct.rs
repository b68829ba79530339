//! Backends without a choice of servers, and header names in their own case: accepted lines and messages.
use super::*;
use crate::model::{Address, Direct};

fn direct(lines: &str) -> Option<Direct> {
    only(&listen(lines)).back.expect("a listen section").direct
}

#[test]
fn dispatch_and_transparent_stand_for_servers() {
    let to = |text: &str| Some(Direct::To(Address::Inet(text.parse().unwrap())));
    assert_eq!(direct(" server s 1.1.1.1:80"), None);
    assert_eq!(direct(" dispatch 1.1.1.1:80"), to("1.1.1.1:80"));
    assert_eq!(direct(" dispatch localhost:80"), to("127.0.0.1:80"));
    assert_eq!(direct(" dispatch 1.1.1.1:80\n dispatch 1.1.1.2:80"), to("1.1.1.2:80"));
    assert_eq!(direct(" dispatch /s"), Some(Direct::To(Address::Unix("/s".into()))));
    assert_eq!(direct(" option transparent"), Some(Direct::Destination));
    assert_eq!(direct(" transparent\n no option transparent"), None);
    assert_eq!(direct(" option transparent\n dispatch 1.1.1.1:80"), to("1.1.1.1:80"));
    assert_eq!(direct(" dispatch 1.1.1.1:80\n balance roundrobin"), None, "an algorithm chooses");
}

#[test]
fn what_does_not_fit_together_is_told() {
    for (lines, severity, message) in [
        (
            " dispatch 1.1.1.1:80\n balance source",
            Severity::Warning,
            "dispatch address of proxy 'l' will be ignored in balance mode.",
        ),
        (
            " balance source\n transparent",
            Severity::Alert,
            "proxy 'l' cannot use both transparent and balance mode.",
        ),
        (
            " dispatch 1.1.1.1",
            Severity::Alert,
            "'dispatch' : missing port specification in '1.1.1.1'",
        ),
        (
            " dispatch 1.1.1.1:+3",
            Severity::Alert,
            "'dispatch' : port offset not permitted here in '1.1.1.1:+3'",
        ),
        (
            " dispatch 1.1.1.1:3 x",
            Severity::Alert,
            "'dispatch' cannot handle unexpected argument 'x'.",
        ),
        (
            " max-session-srv-conns",
            Severity::Alert,
            "'max-session-srv-conns' expects an integer argument.",
        ),
    ] {
        let said = messages(&listen(lines), severity);
        assert!(said.iter().any(|it| it == message), "{lines}: {said:?}");
    }
}

#[test]
fn header_names_differ_in_case_alone() {
    let model = model("global\n h1-case-adjust x-a X-A\n h1-case-adjust-file /case\n");
    let names = &model.global.header_case.names;
    assert_eq!(names.len(), 3);
    assert_eq!(names.get(&b"x-b"[..]), Some(&b"X-B".to_vec()));
    for (lines, message) in [
        (" h1-case-adjust a", "'h1-case-adjust' expects <from> and <to> as argument."),
        (" h1-case-adjust a b", "<from> and <to> must not differ execpt the case"),
        (" h1-case-adjust a A\n h1-case-adjust a A", "duplicate entry 'a'"),
        (" h1-case-adjust-file", "'h1-case-adjust-file' expects <file> as argument."),
        (
            " h1-case-adjust x-b X-B\n h1-case-adjust-file /case",
            "h1-headers-case-adjust-file '/case' : duplicate entry 'x-b' at line 2.",
        ),
        (
            " h1-case-adjust-file /paths.lst",
            "h1-headers-case-adjust-file '/paths.lst' : expect <to> at line 1.",
        ),
    ] {
        let said = messages(&format!("global\n{lines}\n"), Severity::Alert);
        assert_eq!(said, [message], "{lines}");
    }
}

#[test]
fn processes_of_bind_lines_are_threads() {
    let threads = |process: &str| {
        let text = format!("global\n nbthread 3\n{}", listen("").replace(":80", process));
        let said = messages(&text, Severity::Warning);
        let model = model(&text);
        let bind = &model.proxies[0].front.as_ref().unwrap().binds[0];
        (model.global.process.threads.of(&bind.options.threads), said.concat())
    };
    let deprecated = |given: &str, instead: &str| {
        format!(
            "'bind :80' : 'process {given}' on 'bind' lines is deprecated and will be removed in 2.7.{instead}"
        )
    };
    for (given, expected, instead) in [
        ("1", vec![], ""),
        ("1-1", vec![], ""),
        ("1-", vec![], ""),
        ("all/all", vec![], " Please use 'thread all' instead."),
        ("1/all", vec![], " Please use 'thread all' instead."),
        ("1/1", vec![0], " Please use 'thread 1' instead."),
        ("1/2-1", vec![0, 1], " Please use 'thread 2-1' instead."),
        ("1/2", vec![1], " Please use 'thread 2' instead."),
        ("odd/odd", vec![0, 2], " Please use 'thread odd' instead."),
    ] {
        let (threads, said) = threads(&format!(":80 process {given}"));
        assert_eq!(threads, expected, "{given}");
        assert!(
            said.contains(&deprecated(given, instead).split(" : ").last().unwrap().to_owned()),
            "{said}"
        );
    }
    for (given, end) in [
        ("2", "'2' is not a valid number/range. It supports numbers from 1 to 1."),
        ("1-2/1", "'1-2' is not a valid number/range. It supports numbers from 1 to 1."),
        ("/1", "'' is not a valid number/range. It supports numbers from 1 to 1."),
        ("x", "'process' : 'x' is not a valid number/range."),
        ("1/x", "'process' : 'x' is not a valid number/range."),
        ("1/1/1", "'process' : '1/1' is not a valid number/range."),
        ("1/65", "'65' is not a valid number/range. It supports numbers from 1 to 64."),
    ] {
        let line = format!(":80 process {given}");
        let said = messages(&listen("").replace(":80", &line), Severity::Alert);
        assert!(said[0].ends_with(end), "{given}: {said:?}");
    }
}

#[test]
fn checks_need_a_port_where_there_is_an_address() {
    let said =
        |address: &str| messages(&listen(&format!(" server s {address} check")), Severity::Alert);
    for address in [":", "*", "*:", "0.0.0.0:", "1.1.1.1:80"] {
        assert_eq!(said(address), [""; 0], "{address}");
    }
    for address in ["1.1.1.1", "1.1.1.1:0"] {
        let wrong = "proxy 'l': server 's' has neither service port nor check port.";
        assert_eq!(said(address), [wrong], "{address}");
    }
}
