//! Tests of command lines and of their meaning, as measured with HAProxy.

use proptest::prelude::*;

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn ok(line: &str) -> Options {
    parse(&words(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refused(line: &str) -> UsageError {
    parse(&words(line)).expect_err(line)
}

/// `-f a` and one more change.
fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options { sources: vec!["a".into()], ..Options::default() };
    change(&mut options);
    options
}

#[test]
fn sources_keep_their_order() {
    let paths = |line| -> Vec<String> {
        ok(line).sources.iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(paths("-f a"), ["a"]);
    assert_eq!(paths("-f b -f a -- d c"), ["b", "a", "d", "c"]);
    assert_eq!(paths("-- a -f -c --"), ["a", "-f", "-c", "--"]);
    assert_eq!(paths("-f -c"), ["-c"]);
    assert_eq!(paths("-fx a"), ["a"]);
}

#[test]
fn a_source_is_needed() {
    for line in ["", "-c", "--", "-db -V", "-sf", "-c --", "--check"] {
        assert_eq!(refused(line), UsageError::NoSource, "{line}");
    }
    let text = UsageError::NoSource.to_string();
    assert!(text.contains("no configuration is given") && text.contains("-f <cfgfile|cfgdir>"));
}

#[test]
fn stray_words_are_refused() {
    for line in ["a", "-c a", "-f a b", "-cf a", "-", "-f a -"] {
        let error = refused(line);
        assert!(matches!(error, UsageError::Stray { is_file: false, .. }), "{line}: {error}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let text = refused(file).to_string();
    assert!(text.contains(&format!("a configuration file follows -f: -f {file}\n")), "{text}");
}

#[test]
fn unknown_options_are_named_with_the_nearest_one() {
    for line in ["-z", "-f a -sz", "-b", "--outputx json", "--config-file=a", "---", "--=x"] {
        let error = refused(line);
        assert!(matches!(error, UsageError::Unknown { .. }), "{line}: {error}");
    }
    for (line, meant) in [("--chek -f a", "--check"), ("--confg=a", "--config")] {
        let text = refused(line).to_string();
        assert!(text.contains(&format!("did you mean '{meant}' maybe ?")), "{text}");
    }
    assert!(refused("-z").to_string().ends_with("\n'weir --help' lists all options."));
}

#[test]
fn gnu_spellings_are_those_of_the_flags() {
    for flag in FLAGS.iter().filter(|flag| !flag.long.is_empty()) {
        let value = match flag.value {
            "" => None,
            _ if flag.name == "-dM" => Some("tag"),
            _ => Some("7"),
        };
        let short = match value {
            None => flag.name.to_owned(),
            Some(value) if flag.takes_suffix() => format!("{}{value}", flag.name),
            Some(value) => format!("{} {value}", flag.name),
        };
        let expected = ok(&format!("-f a {short}"));
        let long = |gap: &str| {
            format!("-f a {}{}", flag.long, value.map_or(String::new(), |it| format!("{gap}{it}")))
        };
        assert_eq!(ok(&long("=")), expected, "{short}");
        if !flag.takes_suffix() {
            assert_eq!(ok(&long(" ")), expected, "{short}");
        }
    }
    assert_eq!(ok("--config=a --config b -- c").sources.len(), 3);
    assert_eq!(ok("--config=a=b").sources, [PathBuf::from("a=b")]);
    assert_eq!(ok("-f a --finish=1 2 --check").old_pids, [1, 2]);
    assert_eq!(refused("-f a --check=yes"), UsageError::NeedlessValue("--check"));
    assert_eq!(refused("-f a --maxconn"), UsageError::MissingValue("-n"));
    assert!(matches!(refused("-f a --maxconn="), UsageError::BadValue { flag: "-n", .. }));
}

#[test]
fn help_and_version_need_no_source() {
    assert_eq!([ok("-h").action, ok("--help -z").action], [Action::Help, Action::Help]);
    assert_eq!(ok("--version").action, Action::OwnVersion);
}

#[test]
fn switches() {
    type Change = fn(&mut Options);
    let cases: &[(&str, Change)] = &[
        ("-V", |o| o.verbose = true),
        ("-q", |o| o.quiet = true),
        ("-D", |o| o.daemon = true),
        ("-db", |o| o.foreground = true),
        ("-dW", |o| o.zero_warning = true),
        ("-dD", |o| o.diagnostics = true),
        ("-dr", |o| o.ignore_resolution = true),
        ("-dR", |o| o.no_reuse_port = true),
        ("-dS", |o| o.no_splice = true),
        ("-c", |o| o.action = Action::Check),
        ("-sf", |o| o.farewell = Some(Farewell::Finish)),
        ("-st", |o| o.farewell = Some(Farewell::Terminate)),
    ];
    for (flag, change) in cases {
        assert_eq!(ok(&format!("-f a {flag}")), with(change), "{flag}");
        assert_eq!(ok(&format!("{flag} -f a")), with(change), "{flag} first");
        assert_eq!(ok(&format!("-f a {flag}x")), with(change), "{flag} with a suffix");
    }
}

#[test]
fn debug_swallows_unknown_names() {
    let debug = with(|o| (o.debug, o.foreground) = (true, true));
    for flag in ["-d", "-dz", "-dI", "-dk", "-d5", "-dbeug"] {
        let expected = if flag == "-dbeug" { with(|o| o.foreground = true) } else { debug.clone() };
        assert_eq!(ok(&format!("-f a {flag}")), expected, "{flag}");
    }
}

#[test]
fn flags_do_not_combine() {
    assert_eq!(ok("-f a -Vc"), with(|o| o.verbose = true));
    assert_eq!(ok("-f a -qc"), with(|o| o.quiet = true));
    assert_eq!(ok("-f a -cV"), with(|o| o.action = Action::Check));
    assert_eq!(ok("-f a -dbc"), with(|o| o.foreground = true));
    assert_eq!(ok("-f a -n5 7"), with(|o| o.maxconn = Some(7)));
}

#[test]
fn verbose_wins_over_quiet() {
    for line in ["-q -V -f a", "-V -q -f a"] {
        let options = ok(line);
        assert!(options.verbose && !options.quiet, "{line}");
    }
    assert!(!ok("-d -q -f a").quiet);
}

#[test]
fn foreground_wins_over_daemon() {
    for line in ["-D -db -f a", "-db -D -f a", "-D -d -f a"] {
        assert!(!ok(line).daemon, "{line}");
    }
    assert!(ok("-D -f a").daemon);
}

#[test]
fn values() {
    let options = ok("-p pid -n 100 -N 50 -m 512 -L peer1 -C dir -f a");
    assert_eq!(options.pid_file, Some("pid".into()));
    assert_eq!(options.maxconn, Some(100));
    assert_eq!(options.proxy_maxconn, Some(50));
    assert_eq!(options.memory_mib, Some(512));
    assert_eq!(options.local_peer.as_deref(), Some("peer1"));
    assert_eq!(options.directory, Some("dir".into()));
    assert_eq!(ok("-n 0 -f a").maxconn, None);
    assert_eq!(ok("-n 5 -n 0 -f a").maxconn, None);
    assert_eq!(ok("-L A -L B -f a").local_peer.as_deref(), Some("B"));
    assert_eq!(ok("-p -c -f a").pid_file, Some("-c".into()));
}

#[test]
fn values_are_needed() {
    for flag in ["-f", "-p", "-n", "-N", "-m", "-L", "-C", "-cc"] {
        assert_eq!(refused(&format!("-f a {flag}")), UsageError::MissingValue(flag), "{flag}");
    }
}

#[test]
fn numbers_are_needed() {
    for line in ["-n x", "-n -5", "-N 1k", "-m 1.5", "-n 99999999999"] {
        let error = refused(&format!("-f a {line}"));
        assert!(matches!(error, UsageError::BadValue { wants: "a number", .. }), "{line}: {error}");
    }
}

#[test]
fn version_ends_the_parsing() {
    assert_eq!(ok("-v").action, Action::Version);
    assert_eq!(ok("-vx -f").action, Action::Version);
    assert_eq!(ok("-vv").action, Action::BuildOptions);
    assert_eq!(ok("-vvv -zzz").action, Action::BuildOptions);
    assert_eq!(ok("-dM -vv").action, Action::BuildOptions);
    assert_eq!(refused("-zzz -v").to_string().lines().next(), Some("weir: unknown option '-zzz'"));
}

#[test]
fn conditions_need_no_source() {
    let condition = |text: &str| Action::Condition(text.to_owned());
    assert_eq!(ok("-cc true").action, condition("true"));
    assert_eq!(ok("-c -cc true").action, condition("true"));
    assert_eq!(ok("-cc true -c -f nope").action, condition("true"));
    let empty = [OsString::from("-cc"), OsString::new()];
    assert_eq!(parse(&empty).unwrap().action, condition(""));
    let spaces = [OsString::from("-cc"), OsString::from("a && b")];
    assert_eq!(parse(&spaces).unwrap().action, condition("a && b"));
}

#[test]
fn memory_debugging_is_checked_and_noted() {
    for flag in ["-dM", "-dM0", "-dM99", "-dM0x50", "-dM0,no-merge", "-dMtag,no-cache,poison"] {
        assert_eq!(ok(&format!("{flag} -f a")).notes.len(), 1, "{flag}");
    }
    assert_eq!(ok("-dMhelp").action, Action::MemoryHelp);
    for flag in ["-dMzz", "-dM5,zz", "-dMtag,", "-dMtag,5"] {
        let error = refused(&format!("{flag} -f a"));
        assert!(matches!(error, UsageError::BadValue { flag: "-dM", .. }), "{flag}: {error}");
    }
}

#[test]
fn flags_without_effect_are_noted() {
    let options = ok("-de -dp -dG -f a");
    assert_eq!(options.notes.len(), 3);
    assert!(options.notes.iter().all(|note| note.contains(" has no effect: ")));
    assert_eq!(Options { notes: vec![], ..options }, with(|_| ()));
}

#[test]
fn classes_of_keywords() {
    let classes = |line| ok(&format!("-f a {line}")).keywords;
    assert_eq!(classes("-dKall -c").as_deref(), Some("all"));
    assert_eq!(classes("-dKacl,smp").as_deref(), Some("acl,smp"));
    assert_eq!((classes("-dK").as_deref(), classes("-c")), (Some(""), None));
}

#[test]
fn keys_of_listings() {
    let key = |line: &str| ok(&format!("-f a {line}")).listing;
    assert_eq!(
        [key("-c"), key("-dC"), key("-dC0"), key("-dC77 -c")],
        [None, Some(0), Some(0), Some(77)]
    );
    assert!(matches!(refused("-f a -dCx"), UsageError::BadValue { flag: "-dC", .. }));
    assert!(ok("-f a -dL").libraries);
}

#[test]
fn masters_and_what_they_take_over() {
    for line in ["-W", "-Wx", "-Ws"] {
        assert!(ok(&format!("-f a {line}")).master, "{line}");
    }
    let options = ok("-f a -S one -S two -x sock");
    assert_eq!((options.master_sockets.join(" ").as_str(), options.master), ("one two", false));
    assert_eq!(options.takes_over, Some("sock".into()));
    assert_eq!(refused("-f a -S"), UsageError::MissingValue("-S"));
}

#[test]
fn old_processes() {
    let options = ok("-f a -sf 12 34 -c");
    assert_eq!(options.old_pids, [12, 34]);
    assert_eq!(options.farewell, Some(Farewell::Finish));
    assert_eq!(options.action, Action::Check);
    assert_eq!(ok("-st 7 -f a").old_pids, [7]);
    assert_eq!(ok("-st 2147483647 -f a").old_pids, [i32::MAX]);
    for line in ["-sf 1 x", "-sf 0", "-f a -sf 1 2a", "-sf 4294967295", "-sf 99999999999"] {
        let error = refused(&format!("{line} -f a"));
        assert!(matches!(error, UsageError::BadValue { flag: "-sf", .. }), "{line}: {error}");
    }
    let joined = [OsString::from("-sf"), OsString::from("1 2"), OsString::from("-c")];
    assert!(parse(&joined).is_err());
}

#[test]
fn the_way_the_regression_suite_starts_an_instance() {
    let options = ok("-d -dM -f cfg");
    assert!(options.debug && options.foreground && !options.daemon);
    assert_eq!(options.action, Action::Run);
    assert_eq!(ok("-c -dM -f cfg").action, Action::Check);
    assert_eq!(ok("-d -dM -L A -f cfg").local_peer.as_deref(), Some("A"));
}

#[test]
fn the_help_names_every_flag_once() {
    let text = help();
    for flag in FLAGS {
        assert!(text.contains(&format!("\n  {}", flag.name)), "{}", flag.name);
        assert!(text.contains(flag.long), "{}", flag.long);
        let same = |other: &&Flag| {
            other.name == flag.name || (other.long == flag.long && !flag.long.is_empty())
        };
        assert_eq!(FLAGS.iter().filter(same).count(), 1, "{}", flag.name);
    }
    assert!(text.starts_with("Usage : weir"));
}

#[test]
fn paths_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(vec![b'a', 0xff]);
    let options = parse(&["-f".into(), odd.clone()]).unwrap();
    assert_eq!(options.sources, [PathBuf::from(&odd)]);
    assert!(parse(&["-L".into(), odd]).is_err());
}

proptest! {
    #[test]
    fn no_command_line_panics(line in prop::collection::vec("(-{0,2}[a-zA-Z0-9,=]{0,4}|--(check|config|finish)=?[a-z0-9]{0,2}|.{0,6})", 0..8)) {
        let words: Vec<OsString> = line.into_iter().map(OsString::from).collect();
        if let Ok(options) = parse(&words) {
            prop_assert!(!(options.quiet && options.verbose));
            prop_assert!(!(options.daemon && options.foreground));
        }
    }
}
