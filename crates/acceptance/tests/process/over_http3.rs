//! HTTP tests that do not depend on the version, with clients of HTTP/3.

use std::process::{Command, Stdio};

/// Names of tests, one a line.
const NAMES: &str = include_str!("data/over_http3.txt");

#[test]
fn tests_that_do_not_depend_on_the_version_pass_over_http3() {
    let program = std::env::current_exe().expect("the tests are a program");
    let mut command = Command::new(program);
    command.args(NAMES.lines()).args(["--exact", "--test-threads", "2"]);
    command.env("WEIR_TEST_VERSION", "3").stdin(Stdio::null());
    let output = command.output().expect("the tests run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let passes = |name: &&str| text.contains(&format!("test {name} ... ok\n"));
    let missing: Vec<_> = NAMES.lines().filter(|name| !passes(name)).collect();
    assert!(missing.is_empty(), "no tests have these names: {missing:#?}");
}
