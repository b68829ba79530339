//! The string library, long loops in native code, and the standard streams, as scripts see them.

use super::*;
use crate::surroundings::{self, Surroundings};
use proptest::prelude::*;
use sample::regex::effort;
use std::cell::RefCell;
use std::rc::Rc;

/// The failure of an action with this body, of a message of its own.
fn failure(body: &str) -> String {
    effort::open(1);
    let step = result(body);
    effort::close(1);
    let Step::Failed(Fault::Runtime(text)) = step else { panic!("{body}: {step:?}") };
    text
}

#[test]
fn strings_are_found_and_replaced_as_in_the_manual_of_lua() {
    for (expression, expected) in [
        ("('hello world'):find('o w')", "5 7"),
        ("('hello'):find('l+')", "3 4"),
        ("('hello'):find('(l)(l)')", "3 4 l l"),
        ("('a.b'):find('.', 2, true)", "2 2"),
        ("('hello'):find('', 10)", "nil"),
        ("('hello'):find('', 6)", "6 5"),
        ("('hello'):find('h', -2)", "nil"),
        ("('hello'):match('()ll()')", "3 5"),
        ("('  trim '):match('^%s*(.-)%s*$')", "trim"),
        ("('key=value'):match('(%w+)=(%w+)')", "key value"),
        ("string.match(123, '%d')", "1"),
        ("('abc'):gsub('%w', '%0%0', 2)", "aabbc 2"),
        ("('hello world'):gsub('(%w+)', '<%1>')", "<hello> <world> 2"),
        ("('abc'):gsub('', '-')", "-a-b-c- 4"),
        ("('hello'):gsub('l', {l = 'L'})", "heLLo 2"),
        ("('hello'):gsub('[aeiou]', function(v) return v:upper() end)", "hEllO 2"),
        ("('abc'):gsub('b', function() return false end)", "abc 1"),
        ("('abc'):gsub('^a', 'x')", "xbc 1"),
        ("('a%b'):gsub('%%', '%%%%')", "a%%b 1"),
        ("('abc'):gsub('(b)', 1)", "a1c 1"),
    ] {
        let body = format!(
            "local t = table.pack({expression}) for i = 1, t.n do t[i] = tostring(t[i]) end \
             return table.concat(t, ' ')"
        );
        assert_eq!(result(&body), text(expected), "{expression}");
    }
    let words = "local t = {} for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do t[#t+1] = k..v end \
                 for w in ('ab'):gmatch('x*') do t[#t+1] = '.' end return table.concat(t, ' ')";
    assert_eq!(result(words), text("a1 b2 . . ."));
}

/// Applies a pattern in every way, and shows the results or the error.
const APPLY: &str = "local s, p = ...
    local function shown(...)
      local t = table.pack(...) for i = 1, t.n do t[i] = tostring(t[i]) end return table.concat(t, ',')
    end
    local out = {}
    local function try(f) out[#out + 1] = shown(pcall(f)) end
    try(function() local a, b, c, d = s:find(p) return a, b, c, d end)
    try(function() local a, b = s:match(p, 2) return a, b end)
    try(function() local a, b = s:gsub(p, '<%0>') return a, b end)
    try(function() local a, b = s:gsub(p, '%1', 2) return a, b end)
    try(function() local t = {} for a, b in s:gmatch(p) do t[#t + 1] = shown(a, b) end return shown(table.unpack(t)) end)
    return table.concat(out, '|')";

proptest! {
    #[test]
    fn patterns_match_as_in_the_library_of_the_interpreter(
        subject in "[ab1 ]{0,8}",
        pattern in "(%[abdsfSW1]|[ab1.()]|[*+?-]|\\[[ab%^s-]{1,3}\\]|\\^|\\$|%b|%f|%){0,5}",
    ) {
        let own = State::new(limits()).expect("memory");
        let apply = |lua: &mlua::Lua| {
            let chunk = lua.load(APPLY).set_name("@a.lua");
            chunk.call::<String>((subject.as_str(), pattern.as_str())).expect("errors are caught")
        };
        prop_assert_eq!(apply(&own.lua), apply(&mlua::Lua::new()), "{} {}", subject, pattern);
    }
}

#[test]
fn errors_of_the_string_library_are_those_of_lua() {
    for (call, expected) in [
        ("string.find()", "bad argument #1 to 'find' (string expected, got no value)"),
        ("string.match('a', nil)", "bad argument #2 to 'match' (string expected, got nil)"),
        (
            "('a'):gsub('a')",
            "bad argument #3 to 'gsub' (string/function/table expected, got no value)",
        ),
        ("('a'):gsub('a', '%2')", "invalid capture index %2"),
        ("('a'):gsub('a', '%x')", "invalid use of '%' in replacement string"),
        ("('a'):gsub('a', function() return {} end)", "invalid replacement value (a table)"),
        ("('a'):find('[')", "malformed pattern (missing ']')"),
    ] {
        let body = format!("local ok, e = pcall(function() {call} end) return e");
        assert_eq!(result(&body), text(&format!("a.lua:2: {expected}")), "{call}");
        assert!(failure(call).starts_with(&format!("a.lua:2: {expected} from ")), "{call}");
    }
}

#[test]
fn patterns_that_take_too_long_use_up_the_steps_of_their_message() {
    for call in [
        "s:find('a-a-a-b')",
        "s:match('(a*)(a*)(a*)b')",
        "s:gsub('a-a-a-b', '')",
        "for _ in s:gmatch('a-a-a-b') do end",
    ] {
        let body = format!("local s = ('a'):rep(5000) {call}");
        assert!(failure(&body).contains("pattern too complex"), "{call}");
        effort::open(7);
        let step = result(&format!("local s = ('a'):rep(5000) pcall(function() {call} end)"));
        assert_eq!(step, Step::Returned(None));
        assert!(effort::is_exhausted(), "{call}: the rules notice it behind pcall too");
        effort::close(7);
    }
}

#[test]
fn searches_in_long_texts_take_no_steps_of_their_message() {
    effort::open(7);
    let body = "local s = ('ab '):rep(100000) local n = select(2, s:gsub('%s+', '')) \
                for w in s:gmatch('%w+') do n = n + 1 end return n";
    assert_eq!(endless(body, 0), Step::Returned(Some(Value::Int(200_000))));
    assert_eq!(effort::left(), effort::STEPS);
    effort::close(7);
}

#[test]
fn a_script_holds_its_thread_for_a_second_at_most() {
    for body in [
        "local c = coroutine.wrap(function() while true do end end); c()",
        "table.sort({3, 2, 1}, function() while true do end end)",
        "('a'):gsub('a', function() while true do end end)",
    ] {
        assert!(failure(body).contains("execution timeout"), "{body}");
    }
    let text = failure("table.move({1}, 1, 1e15, 2)");
    assert!(text.contains("too many elements to move"), "{text}");
    let text = failure("table.move({1}, math.mininteger, math.maxinteger, 2)");
    assert!(text.contains("too many elements to move"), "{text}");
    assert_eq!(result("return #table.move({1, 2}, 1, 2, 2)"), Step::Returned(Some(Value::Int(3))));
}

/// Collects the written text.
#[derive(Default)]
struct Streams(RefCell<String>);

impl Surroundings for Streams {
    fn log(&self, _: Option<u8>, _: &[u8]) {}

    fn alert(&self, _: &str) {}

    fn write(&self, descriptor: i32, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        self.0.borrow_mut().push_str(&format!("{descriptor}:{text}"));
    }

    fn wall(&self) -> (i64, u32) {
        (0, 0)
    }
}

/// A reader that does not read must not stop the thread.
#[test]
fn output_of_scripts_goes_through_the_process() {
    let streams = Rc::new(Streams::default());
    surroundings::surround(streams.clone());
    let body = "print('a', 1, nil) io.write('b', 2) io.stdout:write('c'):write('d') \
                io.stderr:write('e') io.output():write('f') io.output(io.stderr) io.write('g') \
                return io.type(io.stdout)..tostring(pcall(io.write, {}))";
    assert_eq!(result(body), text("filefalse"));
    assert_eq!(*streams.0.borrow(), "1:a\t1\tnil\n1:b21:c1:d2:e1:f2:g");
}
