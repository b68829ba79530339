//! `program` sections.
use super::*;

#[test]
fn programs_keep_what_their_section_says() {
    let text = "program one\n command \"/bin/a b\" c\n user www-data\n group www-data\n \
                no option start-on-reload\nprogram two\n command x\n";
    let programs = model(&format!("{text}{}\n", listen(""))).programs;
    assert_eq!(
        (&*programs[0].name, programs[0].command.as_slice()),
        ("one", &["/bin/a b".into(), "c".into()][..])
    );
    assert_eq!(
        (programs[0].uid, programs[0].gid, programs[0].restarts),
        (Some(33), Some(34), false)
    );
    assert_eq!((&*programs[1].name, programs[1].restarts), ("two", true));
}

#[test]
fn mistakes_in_programs_are_told() {
    for (text, expected) in [
        ("program\n command x\n", "'program' expects a name."),
        ("program a\n", "The program section 'a' lacks a command to launch"),
        ("program a\n command\n", "'command' expects a command"),
        ("program a\n command x\n command y\n", "'command' already defined"),
        ("program a\n command x\nprogram a\n command y\n", "'a' already exists"),
        ("program a\n command x\n user nobody-here\n", "cannot find user id for 'nobody-here'"),
        ("program a\n command x\n option y\n", "unknown option 'y'"),
        ("program a\n comand x\n", "unknown keyword 'comand'"),
    ] {
        let told = messages(&format!("{text}{}\n", listen("")), Severity::Alert);
        assert!(told.iter().any(|it| it.contains(expected)), "{text}: {told:?}");
    }
}
