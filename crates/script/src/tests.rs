//! Scripts as they are called: results, waits, limits, failures.

use crate::{
    Answer, BURST, Call, ClientRequest, ClientResponse, Fault, Host, Limits, NoHost, Private,
    Request, State, Step, Subject,
};
use sample::vars::{VarState, Variables};
use sample::{Facts, Value, VarName};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

mod strings;

/// A clock that goes forward by a millisecond at each look.
fn clock() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(0);
    NOW.fetch_add(1, Relaxed)
}

fn limits() -> Limits {
    Limits { number: 0, instructions: 10_000, memory: 0, burst: BURST, clock }
}

fn loaded(text: &str) -> State {
    let mut state = State::new(limits()).expect("memory");
    state.load(("a.lua", text.as_bytes()), &["x"], None, &mut NoHost).expect("loads");
    state
}

/// A transaction with variables and nothing else.
#[derive(Default)]
struct Stream {
    variables: Variables,
    private: Private,
    lines: Vec<(Option<u8>, String)>,
    done: bool,
}

impl Facts for Stream {
    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.variables.get(name)
    }

    fn var_state(&self, name: &VarName) -> VarState {
        self.variables.state(name)
    }

    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.variables.set(name, value);
    }
}

impl Host for Stream {
    fn facts(&self) -> Option<&dyn Facts> {
        Some(self)
    }

    fn private(&mut self) -> Option<&mut Private> {
        Some(&mut self.private)
    }

    fn log(&mut self, level: Option<u8>, text: &[u8]) {
        self.lines.push((level, String::from_utf8_lossy(text).into_owned()));
    }

    fn done(&mut self, _: Option<crate::LocalReply>) -> Result<(), crate::ScriptError> {
        self.done = true;
        Ok(())
    }
}

fn act(state: &mut State, host: &mut dyn Host) -> Step {
    state.start(Call::Action("a", "http-req"), Subject::Transaction, &[], 0, host).0
}

/// The first result of an action with this body.
fn result(body: &str) -> Step {
    let text = format!("core.register_action('a', {{'http-req'}}, function(txn)\n{body}\nend)");
    act(&mut loaded(&text), &mut Stream::default())
}

fn text(text: &str) -> Step {
    Step::Returned(Some(Value::Str(text.as_bytes().to_vec().into())))
}

#[test]
fn arguments_of_the_line_are_those_of_the_body() {
    let mut state = loaded("local a = ...; core.register_fetches('f', function() return a end)");
    let step = state.start(Call::Fetch("f"), Subject::Transaction, &[], 0, &mut NoHost).0;
    assert_eq!(step, text("x"));
}

#[test]
fn values_become_samples_as_in_haproxy() {
    let returned = |value| Step::Returned(Some(value));
    assert_eq!(result("return 12"), returned(Value::Int(12)));
    assert_eq!(result("return 12.0"), returned(Value::Int(12)));
    assert_eq!(result("return 3.9"), returned(Value::Int(0)));
    assert_eq!(result("return true"), returned(Value::Bool(true)));
    assert_eq!(result("return {}"), returned(Value::Bool(false)));
    assert_eq!(result("return nil"), returned(Value::Bool(false)));
    assert_eq!(result("return"), Step::Returned(None));
    assert_eq!(result("return 'a\\0b'"), text("a\0b"));
}

#[test]
fn fetches_and_converters_are_methods() {
    assert_eq!(
        result("return txn.c:lower('ABC')..txn.c:add(4,'3')..txn.c:hex('ab')"),
        text("abc76162")
    );
    assert_eq!(result("return txn.sf:str('it\\'s')..txn.sc:bool('1')"), text("it's1"));
    assert_eq!(
        result("return txn.f:nosuch()"),
        failed("attempt to call a nil value (method 'nosuch')")
    );
    assert_eq!(result("return tostring(txn.f:src())..txn.sf:src()"), text("nil"));
    let Step::Failed(Fault::Runtime(text)) = result("txn.c:add(4, {})") else { panic!("no error") };
    assert!(
        text.starts_with("a.lua:2: bad argument #1 to 'add' (string expected, got table)"),
        "{text}"
    );
}

fn failed(message: &str) -> Step {
    let text = format!("a.lua:2: {message} from a.lua:2: in function line 1.");
    Step::Failed(Fault::Runtime(text))
}

#[test]
fn errors_name_their_place_and_the_way_to_it() {
    assert_eq!(
        result("local x = nil; x.y = 1"),
        failed("attempt to index a nil value (local 'x')")
    );
    let Step::Failed(fault) = result("error('boom')") else { panic!("no error") };
    assert_eq!(
        fault.text(0),
        "[state-id 0] runtime error: a.lua:2: boom from [C]: in global 'error', \
         a.lua:2: in function line 1."
    );
}

#[test]
fn variables_keep_their_type() {
    let body = "txn:set_var('txn.a', 12); txn:set_var('txn.b', 'x'); txn:set_var('txn.c', true)
        local gone = txn:get_var('txn.none')
        txn:unset_var('txn.b')
        return tostring(txn:get_var('txn.a') + 1) .. tostring(txn:get_var('txn.b'))
          .. txn:get_var('txn.c') .. tostring(gone) .. tostring(txn:set_var('bad.x', 1))";
    assert_eq!(result(body), text("13nil1nilfalse"));
    let Step::Failed(Fault::Runtime(text)) = result("txn:set_var('txn.x')") else { panic!() };
    assert!(text.starts_with("a.lua:2: 'set_var' needs between 3 and 4 arguments"), "{text}");
}

#[test]
fn private_data_stay_with_the_transaction() {
    let mut state = loaded(
        "core.register_action('a', {'http-req'}, function(txn)
           local n = (txn:get_priv() or 0) + 1; txn:set_priv(n); return n end)",
    );
    let mut stream = Stream::default();
    assert_eq!(act(&mut state, &mut stream), Step::Returned(Some(Value::Int(1))));
    assert_eq!(act(&mut state, &mut stream), Step::Returned(Some(Value::Int(2))));
    assert_eq!(act(&mut state, &mut Stream::default()), Step::Returned(Some(Value::Int(1))));
}

#[test]
fn an_object_of_an_ended_transaction_is_refused() {
    let mut state = loaded(
        "core.register_action('a', {'http-req'}, function(txn)
           kept = kept or txn; return kept:get_var('txn.a') end)",
    );
    let mut stream = Stream::default();
    act(&mut state, &mut stream);
    let Step::Failed(Fault::Runtime(text)) = act(&mut state, &mut stream) else { panic!() };
    assert!(text.contains("belongs to a transaction that has ended"), "{text}");
}

#[test]
fn logs_have_their_level() {
    let mut state = loaded(
        "core.register_action('a', {'http-req'}, function(txn)
           txn:Info('i'); txn:log(core.err, 'e'); txn:deflog('d'); core.Alert('a') end)",
    );
    let mut stream = Stream::default();
    act(&mut state, &mut stream);
    let lines: Vec<_> = stream.lines.iter().map(|(level, text)| (*level, text.as_str())).collect();
    assert_eq!(lines, [(Some(6), "i"), (Some(3), "e"), (None, "d"), (Some(1), "a")]);
}

#[test]
fn done_ends_the_script() {
    let mut state = loaded(
        "core.register_action('a', {'http-req'}, function(txn) txn:done{status=418} error('x') end)",
    );
    let mut stream = Stream::default();
    assert_eq!(act(&mut state, &mut stream), Step::Ended);
    assert!(stream.done);
}

#[test]
fn a_script_waits_and_goes_on_with_the_answer() {
    let mut state = loaded(
        "core.register_action('a', {'http-req'}, function(txn)
           pcall(core.msleep, 150); core.yield(); return 'over' end)",
    );
    let mut host = Stream::default();
    let (step, script) =
        state.start(Call::Action("a", "http-req"), Subject::Transaction, &[], 0, &mut host);
    assert_eq!(step, Step::Waits(Request::Sleep(150)));
    let mut script = script.expect("suspended");
    assert_eq!(state.resume(&mut script, Answer::Done, &mut host), Step::Waits(Request::Yield));
    assert_eq!(state.resume(&mut script, Answer::Done, &mut host), text("over"));
}

#[test]
fn a_request_of_a_script_has_its_parts_and_gets_the_response_as_a_table() {
    let mut state = loaded(
        "core.register_action('a', {'http-req'}, function(txn)
           local r = core.httpclient():post{url='http://a/', body='b', dst='c', timeout=1.5,
             headers={['X-A']={'1'}, ['x-b']='2'}}
           return r.status .. r.reason .. r.headers['set-cookie'][1] .. r.body end)",
    );
    let mut host = Stream::default();
    let (step, script) =
        state.start(Call::Action("a", "http-req"), Subject::Transaction, &[], 0, &mut host);
    let Step::Waits(Request::Http(mut request)) = step else { panic!("{step:?}") };
    request.headers.sort();
    let bytes = |text: &str| text.as_bytes().to_vec();
    let expected = ClientRequest {
        method: bytes("POST"),
        url: bytes("http://a/"),
        headers: vec![(bytes("X-A"), bytes("1")), (bytes("x-b"), bytes("2"))],
        body: bytes("b"),
        to: Some("c".to_owned()),
        timeout: Some(1),
    };
    assert_eq!(*request, expected);
    let cookie = |value| (bytes("Set-Cookie"), bytes(value));
    let response = ClientResponse {
        status: 200,
        reason: bytes("OK"),
        headers: vec![cookie("x"), cookie("y")],
        body: bytes("body"),
    };
    let answer = Answer::Response(Box::new(response));
    let mut script = script.expect("suspended");
    assert_eq!(state.resume(&mut script, answer, &mut host), text("200OKybody"));
}

#[test]
fn no_requests_are_made_before_the_process_serves() {
    let mut state = State::new(limits()).expect("memory");
    let text = b"core.httpclient():get{url='http://a/'}";
    let error = state
        .load(("a.lua", text), &[], None, &mut NoHost)
        .expect_err("it cannot wait")
        .to_string();
    assert!(error.contains("yield not allowed"), "{error}");
    let call = String::from_utf8_lossy(text);
    let mut state = loaded(&format!("core.register_init(function() {call} end)"));
    let error = state.init(&mut NoHost, |_| {}).expect_err("nothing serves").to_string();
    assert!(error.contains("no requests can be made before the process serves"), "{error}");
}

#[test]
fn fetches_must_not_wait() {
    let mut state = loaded("core.register_fetches('f', function() core.sleep(1) end)");
    let step = state.start(Call::Fetch("f"), Subject::Transaction, &[], 0, &mut NoHost).0;
    assert_eq!(step, Step::Failed(Fault::Yield));
}

/// Resumes the script after each slice until something else happens.
fn endless(body: &str, limit: u64) -> Step {
    let text = format!("core.register_action('a', {{'http-req'}}, function(txn)\n{body}\nend)");
    let mut state = loaded(&text);
    let mut host = Stream::default();
    let (mut step, script) =
        state.start(Call::Action("a", "http-req"), Subject::Transaction, &[], limit, &mut host);
    let mut script = script.expect("cut");
    while step == Step::Waits(Request::Slice) {
        step = state.resume(&mut script, Answer::Done, &mut host);
    }
    step
}

#[test]
fn a_long_script_is_cut_into_slices_and_goes_on() {
    let body = "local n = 0; for i = 1, 100000 do n = n + i end; return n";
    assert_eq!(endless(body, 0), Step::Returned(Some(Value::Int(5_000_050_000))));
}

#[test]
fn a_script_without_end_is_ended_after_its_time() {
    let ended = |body: &str| {
        let Step::Failed(Fault::Runtime(text)) = endless(body, 100) else { panic!("{body}") };
        assert!(
            text.starts_with("a.lua:2: execution timeout") || text.starts_with("execution timeout"),
            "{text}"
        );
    };
    ended("while true do end");
    ended("while true do pcall(function() while true do end end) end");
}

#[test]
fn a_script_that_cannot_be_cut_is_ended_after_its_time() {
    for body in [
        "local c = coroutine.wrap(function() while true do end end); c()",
        "table.sort({3, 2, 1}, function() while true do pcall(function() while true do end end) end end)",
    ] {
        let text = format!("core.register_action('a', {{'http-req'}}, function(txn)\n{body}\nend)");
        let mut state = loaded(&text);
        let mut host = Stream::default();
        let (step, _) =
            state.start(Call::Action("a", "http-req"), Subject::Transaction, &[], 100, &mut host);
        let Step::Failed(Fault::Runtime(text)) = step else { panic!("{body}: {step:?}") };
        assert!(text.contains("execution timeout"), "{text}");
    }
}

#[test]
fn memory_is_limited_and_the_state_lives_on() {
    let mut state = State::new(Limits { memory: 2 << 20, ..limits() }).expect("memory");
    let text = "core.register_action('a', {'http-req'}, function(txn)
          local t = {} for i = 1, 1e7 do t[i] = ('x'):rep(100) .. i end end)
        core.register_fetches('f', function() return 1 end)";
    state.load(("a.lua", text.as_bytes()), &[], None, &mut NoHost).expect("loads");
    let mut host = Stream::default();
    let (mut step, script) =
        state.start(Call::Action("a", "http-req"), Subject::Transaction, &[], 0, &mut host);
    if let Some(mut script) = script {
        while step == Step::Waits(Request::Slice) {
            step = state.resume(&mut script, Answer::Done, &mut host);
        }
    }
    assert_eq!(step, Step::Failed(Fault::Memory));
    let step = state.start(Call::Fetch("f"), Subject::Transaction, &[], 0, &mut host).0;
    assert_eq!(step, Step::Returned(Some(Value::Int(1))));
}

#[test]
fn converters_get_the_sample_and_their_arguments() {
    let mut state =
        loaded("core.register_converters('up', function(s, x) return s:upper()..(x or '-') end)");
    let arg = [Cow::Borrowed(&b"y"[..])];
    let value = Subject::Value(Value::str(b"abc"));
    let step = state.start(Call::Converter("up"), value, &arg, 0, &mut NoHost).0;
    assert_eq!(step, text("ABCy"));
}

#[test]
fn errors_of_files_have_their_line() {
    let mut state = State::new(limits()).expect("memory");
    let mut load = |text: &str| state.load(("f.lua", text.as_bytes()), &[], None, &mut NoHost);
    let message = load("x x").expect_err("no Lua").to_string();
    assert_eq!(message, "error in Lua file 'f.lua': f.lua:1: syntax error near 'x'");
    let message = load("\nerror('no')").expect_err("fails").to_string();
    assert_eq!(message, "Lua runtime error: f.lua:2: no");
    let message =
        load("core.register_action('a', {'x'}, function() end)").expect_err("fails").to_string();
    assert!(
        message.starts_with("Lua runtime error: f.lua:1: Lua action environment 'x'"),
        "{message}"
    );
    load("#!/usr/bin/lua\nlocal a = 1").expect("a line for the shell is skipped");
}

#[test]
fn helpers_of_core_answer_as_haproxy() {
    assert_eq!(
        result("return table.concat(core.tokenize('a,b,,c;d', ',;'), '|')"),
        text("a|b||c|d")
    );
    assert_eq!(
        result("return table.concat(core.tokenize('a,b,,c;d,', ',;', true), '|')"),
        text("a|b|c|d")
    );
    assert_eq!(
        result(
            "local c = core.concat() c:add('a') c:add('b') local x = c:dump() c:add('c') return x..c:dump()"
        ),
        text("ababc")
    );
    let body = "local ok, re = Regex.new('^a(b+)(c)?', true)
        local _, t = re:match('abbc')
        return tostring(re:exec('x')) .. #t .. t[1] .. t[2] .. t[3]";
    assert_eq!(result(body), text("false3abbcbbc"));
    assert!(result("return (select(2, Regex.new('(', true)))").is_text());
    let body = "return tostring(core.match_addr(core.parse_addr('1.2.3.4'), core.parse_addr('1.2.3.0/24')))
        .. tostring(core.parse_addr('x')) .. core.http_date('Mon, 20 Feb 1995 00:34:12 GMT')";
    assert_eq!(result(body), text("truenil793240452"));
    assert_eq!(
        result("return tostring(txn) .. tostring(txn.f) .. tostring(txn.req)"),
        text("HAProxy class TXNHAProxy class FetchesHAProxy class Channel")
    );
}

impl Step {
    fn is_text(&self) -> bool {
        matches!(self, Step::Returned(Some(Value::Str(_))))
    }
}
