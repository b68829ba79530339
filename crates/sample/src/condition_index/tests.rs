//! Tests that a guard excludes only conditions that do not hold, and excludes all that share a
//! failed test.

use super::{ConditionHits, ConditionIndex};
use crate::acl::Answer;
use crate::condition::Condition;
use crate::pattern::Dictionary;
use crate::testing::{World, request, with_parser};
use proptest::prelude::*;
use std::sync::Arc;

/// ACLs of the kinds that configurations choose by; `hN` and `pN` share their samples.
fn conditions(texts: &[String]) -> (Vec<Condition>, Vec<Arc<Dictionary>>) {
    with_parser(|cx| {
        for i in 0..6 {
            let lines = [
                format!("h{i} req.hdr(host) -i Site{i}.example.com alias{i}.example.com"),
                format!("p{i} path -m beg /app{i}/ /legacy{i}/"),
                format!("e{i} req.hdr(host),lower -m end {i}.example.com"),
                format!("s{i} path -m sub {i}"),
            ];
            for line in lines {
                let words: Vec<&str> = line.split(' ').collect();
                cx.acls.define(&words, cx).expect("valid");
            }
        }
        cx.acls.define(&["h0", "req.hdr(host)", "-i", "late.example.com"], cx).expect("valid");
        let parse = |text: &String| {
            let words: Vec<&str> = text.split(' ').collect();
            Condition::parse_clause(&words, cx).expect("valid").expect("a condition")
        };
        let conditions = texts.iter().map(parse).collect();
        (conditions, cx.shared.patterns.finish().iter().cloned().collect())
    })
}

fn world(host: &str, path: &str) -> World {
    World { request: Some(request("GET", path, &[("Host", host)])), ..World::default() }
}

fn ruled_out(conditions: &[Condition], world: &World) -> Vec<bool> {
    let guards = ConditionIndex::new(conditions.iter().map(Some));
    let mut lookout = ConditionHits::default();
    (0..conditions.len()).map(|rule| guards.rule_out(rule, world, &mut lookout)).collect()
}

#[test]
fn rules_about_other_hosts_and_paths_are_passed_over() {
    let texts: Vec<String> = (0..6).map(|i| format!("if h{i} p{i}")).collect();
    let (conditions, _) = conditions(&texts);
    let only = |rule: usize| (0..6).map(|i| i != rule).collect::<Vec<_>>();
    assert_eq!(ruled_out(&conditions, &world("ALIAS3.example.com", "/")), only(3));
    assert_eq!(ruled_out(&conditions, &world("late.example.com", "/")), only(0));
    assert_eq!(ruled_out(&conditions, &world("a, site5.example.com", "/")), only(5));
    assert_eq!(ruled_out(&conditions, &world("other", "/")), [true; 6]);
    assert_eq!(ruled_out(&conditions, &World::default()), [true; 6]);
    let unfinished = World { is_final: false, ..World::default() };
    assert_eq!(ruled_out(&conditions, &unfinished), [false; 6], "the host may still come");
}

#[test]
fn rare_or_dissimilar_tests_are_not_indexed() {
    let texts =
        ["if h0", "if h1", "if p0", "unless h2", "if !h3", "if h4 or p4", "if p1 h1", "if s1"];
    let (conditions, _) = conditions(&texts.map(str::to_owned));
    assert_eq!(ruled_out(&conditions, &world("other", "/")), [false; 8]);
}

#[test]
fn tests_that_regard_case_in_part_are_not_indexed() {
    let conditions: Vec<Condition> = with_parser(|cx| {
        for i in 0..4 {
            // The file has `/one` and `/two`; what follows `-i` matches in any case.
            let line = format!("m{i} path -m beg -f list -i /admin{i}");
            cx.acls.define(&line.split(' ').collect::<Vec<_>>(), cx).expect("valid");
        }
        let mut parse = |i| Condition::parse_clause(&["if", &format!("m{i}")], cx);
        (0..4).map(|i| parse(i).expect("valid").expect("a condition")).collect()
    });
    let message = world("h", "/ADMIN2");
    assert_eq!(conditions[2].eval(&message), Answer::Yes);
    assert_eq!(ruled_out(&conditions, &message), [false; 4]);
}

#[test]
fn patterns_that_come_at_run_time_count() {
    let texts: Vec<String> = (0..4).map(|i| format!("if h{i}")).collect();
    let (conditions, dictionaries) = conditions(&texts);
    let message = world("new.example.com", "/");
    let guards = ConditionIndex::new(conditions.iter().map(Some));
    assert!(guards.rule_out(2, &message, &mut ConditionHits::default()));
    for dictionary in dictionaries {
        let _ = dictionary.add(None, b"new.example.com", b"");
    }
    assert!(!guards.rule_out(2, &message, &mut ConditionHits::default()));
    assert_eq!(conditions[2].eval(&message), Answer::Yes);
}

fn name() -> impl Strategy<Value = String> {
    ("[hpes]", 0..6).prop_map(|(kind, number)| format!("{kind}{number}"))
}

fn clause() -> impl Strategy<Value = String> {
    let term = ("!?", name()).prop_map(|(not, name)| format!("{not}{name}"));
    let group = proptest::collection::vec(prop_oneof![3 => name(), 1 => term], 1..3);
    let groups = proptest::collection::vec(group.prop_map(|terms| terms.join(" ")), 1..3);
    let word = prop_oneof![5 => Just("if"), 1 => Just("unless")];
    (word, groups).prop_map(|(word, groups)| format!("{word} {}", groups.join(" or ")))
}

proptest! {
    #[test]
    fn the_index_excludes_no_rule_that_holds(
        texts in proptest::collection::vec(clause(), 1..24),
        host in "(site|ALIAS|Alias)[0-7]\\.example\\.(com|org)(, late\\.example\\.com)?",
        path in "/(app|legacy)[0-7]/?[0-9]?",
    ) {
        let (conditions, _) = conditions(&texts);
        let message = world(&host, &path);
        let out = ruled_out(&conditions, &message);
        for (rule, condition) in conditions.iter().enumerate() {
            if out[rule] {
                prop_assert_eq!(condition.eval(&message), Answer::No, "{}", &texts[rule]);
            }
        }
    }
}
