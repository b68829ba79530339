//! Calls that the house does not use, each with what to write instead.

use super::scan::Line;
use super::tree::{File, Tree};
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "bans", summary: "banned calls and leftover notes, with the replacement", check };

/// Where a ban holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// In tests too.
    Everywhere,
    /// Outside test code.
    Product,
    /// In library crates, outside test code: only the programs talk to a terminal.
    Libraries,
}

/// One banned piece of code.
struct Ban {
    code: &'static str,
    scope: Scope,
    instead: &'static str,
    /// Files to which the ban does not apply.
    except: &'static [&'static str],
}

const fn ban(code: &'static str, scope: Scope, instead: &'static str) -> Ban {
    Ban { code, scope, instead, except: &[] }
}

const BANS: &[Ban] = &[
    ban(".unwrap()", Scope::Product, "return an error, or `.expect(\"the invariant that holds\")`"),
    ban("todo!(", Scope::Everywhere, "write it, or return \"not implemented yet\""),
    ban("unimplemented!(", Scope::Everywhere, "write it, or return \"not implemented yet\""),
    ban("dbg!(", Scope::Everywhere, "remove it"),
    ban("#[should_panic", Scope::Everywhere, "assert on the error that comes back"),
    Ban {
        code: "thread::sleep(",
        scope: Scope::Everywhere,
        instead: "wait for the event itself",
        except: &["crates/xtask/src/clock.rs"],
    },
    ban("process::exit(", Scope::Everywhere, "return an ExitCode from main"),
    ban("mem::forget(", Scope::Product, "give the owner a method that releases it"),
    ban("println!(", Scope::Libraries, "return the text, or log it"),
    ban("print!(", Scope::Libraries, "return the text, or log it"),
];

/// Notes to self that comments must not contain.
const NOTES: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// Crates whose job is to talk to a terminal.
const PROGRAMS: &[&str] = &["weir", "xtask"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (index, line) in file.lines.iter().enumerate() {
            for ban in BANS.iter().filter(|ban| applies(ban, file, line)) {
                let message = format!("`{}`: {}", ban.code.trim_end_matches('('), ban.instead);
                findings.push(finding(&file.path, index + 1, message));
            }
            for note in NOTES.iter().filter(|note| has_word(&line.comment, note)) {
                let message = format!("`{note}`: do it, or say what holds today and why");
                findings.push(finding(&file.path, index + 1, message));
            }
        }
    }
    findings
}

fn applies(ban: &Ban, file: &File, line: &Line) -> bool {
    let test = file.test || line.test;
    let library = file.crate_of_source().is_some_and(|owner| !PROGRAMS.contains(&owner));
    let in_scope = match ban.scope {
        Scope::Everywhere => true,
        Scope::Product => !test,
        Scope::Libraries => !test && library,
    };
    in_scope && names(&line.code, ban.code) && !ban.except.contains(&file.path.as_str())
}

/// Whether `code` contains `call` as a whole name; `println!` also bans `eprintln!`.
fn names(code: &str, call: &str) -> bool {
    let starts_word = call.starts_with(char::is_alphabetic);
    code.match_indices(call).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !starts_word
            || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            || is_stderr(code, at)
    })
}

/// Whether the match is the tail of `eprint!` or `eprintln!`.
fn is_stderr(code: &str, at: usize) -> bool {
    code[at..].starts_with("print") && code[..at].ends_with('e')
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
}
