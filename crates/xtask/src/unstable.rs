//! Runs the tests of the workspace; the few that fail beside others run once more, alone.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use crate::failure::{self, Outcome};
use crate::{steps, workspace};

/// Failed tests that may run again. More of them are no matter of chance.
const MAX_REPEATED: usize = 3;

/// A test that failed.
#[derive(Debug, PartialEq, Eq)]
struct FailedTest {
    /// The arguments of cargo that choose its program, such as `-p acceptance --test process`.
    program: String,
    name: String,
}

/// Runs every test. Behaviour that is made of time (timeouts, rates, checks) can miss its moment on
/// a machine that has no processor to give: a test that failed and passes alone is named as
/// unstable, and does not fail the run.
pub(crate) fn run_tests(root: &Path) -> Outcome {
    let words = ["test", "--workspace", "--locked", "--no-fail-fast"];
    let (passed, text) = watched(root, &words)?;
    if passed {
        return Ok(());
    }
    let tests = failed_tests(&text);
    if tests.is_empty() || tests.len() > MAX_REPEATED {
        return Err(failure::check(format!("cargo {} failed", words.join(" "))));
    }
    for test in &tests {
        println!("repeated alone: {} ({})", test.name, test.program);
        // The whole workspace is chosen again: with other features everything would be built anew.
        let mut words = vec!["test", "--workspace", "--locked"];
        words.extend(targets(&test.program));
        words.extend(["--", "--exact", &test.name]);
        steps::run(&test.name, &mut workspace::cargo(root, &words))?;
    }
    for test in &tests {
        println!("UNSTABLE: {} failed beside other tests and passed alone", test.name);
    }
    Ok(())
}

/// The arguments that choose the kind of program, without those of the package.
fn targets(program: &str) -> impl Iterator<Item = &str> {
    let mut words = program.split(' ');
    if words.clone().next() == Some("-p") {
        words.nth(1);
    }
    words
}

/// Runs cargo; its output is passed on line by line and returned.
fn watched(root: &Path, words: &[&str]) -> Outcome<(bool, String)> {
    let broken = |error: std::io::Error| failure::machine(format!("cannot run cargo: {error}"));
    let mut command = workspace::cargo(root, words);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(broken)?;
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || errors.map(|it| copy(it, |line| eprintln!("{line}"))));
    let out = out.map(|it| copy(it, |line| println!("{line}"))).unwrap_or_default();
    let errors = errors.join().ok().flatten().unwrap_or_default();
    let status = child.wait().map_err(broken)?;
    Ok((status.success(), out + &errors))
}

fn copy(source: impl Read, print: impl Fn(&str)) -> String {
    let mut text = String::new();
    for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        print(&line);
        text += &line;
        text.push('\n');
    }
    text
}

/// The failed tests of a run: the test programs list names in the order in which cargo lists the
/// programs. Nothing is returned where the two lists do not fit, as after a build that failed.
fn failed_tests(text: &str) -> Vec<FailedTest> {
    let (mut lists, mut programs) = (Vec::<Vec<&str>>::new(), Vec::new());
    let mut names = None;
    for line in text.lines() {
        let item = line.strip_prefix("    ");
        match (line, item, &mut names) {
            ("failures:", ..) => names = Some(Vec::new()),
            ("", _, Some(list)) if list.is_empty() => {}
            (_, Some(item), Some(list)) if !item.is_empty() && !item.contains(' ') => {
                list.push(item);
            }
            _ => lists.extend(names.take().filter(|list| !list.is_empty())),
        }
        if let Some(program) = item.and_then(|it| it.strip_prefix('`')?.strip_suffix('`')) {
            programs.push(program);
        }
    }
    if lists.len() != programs.len() {
        return Vec::new();
    }
    let tests = lists.iter().zip(programs).flat_map(|(names, program)| {
        names.iter().map(|&name| FailedTest { program: program.into(), name: name.into() })
    });
    tests.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "running 3 tests
test a::fails ... FAILED
test a::also ... FAILED

failures:

---- a::fails stdout ----
    indented words
thread 'a::fails' panicked at src/lib.rs:1:1:
no

failures:
    a::also
    a::fails

test result: FAILED. 1 passed; 2 failed; 0 ignored

running 1 test
failures:

---- c stdout ----

failures:
    c

test result: FAILED. 0 passed; 1 failed; 0 ignored
error: 2 targets failed:
    `-p one --lib`
    `-p two --test process`
";

    #[test]
    fn failed_tests_are_found_with_their_programs() {
        let all = failed_tests(OUTPUT);
        let all: Vec<_> = all.iter().map(|it| (&*it.program, &*it.name)).collect();
        let [one, two] = ["-p one --lib", "-p two --test process"];
        assert_eq!(all, [(one, "a::also"), (one, "a::fails"), (two, "c")]);
    }

    #[test]
    fn the_same_programs_are_chosen_in_the_whole_workspace() {
        assert_eq!(targets("-p two --test process").collect::<Vec<_>>(), ["--test", "process"]);
        assert_eq!(targets("--lib").collect::<Vec<_>>(), ["--lib"]);
    }

    #[test]
    fn a_program_that_ends_without_a_list_is_not_repeated() {
        let (cut, _) = OUTPUT.split_once("running 1 test").expect("two programs");
        assert!(
            failed_tests(&format!(
                "{cut}error: 2 targets failed:\n    `-p one --lib`\n    `-p two --lib`\n"
            ))
            .is_empty()
        );
        assert!(failed_tests("error: could not compile `one`\n").is_empty());
    }
}
