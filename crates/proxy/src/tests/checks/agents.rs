//! Tests of agent checks over real sockets: the effects of an agent's answers on its server.

use super::{checked, farm, patient_farm};
use balance::{Admin, CheckStatus, OpState};
use health::checks::agent::Orders;
use settings::{Agent, Check, Server};
use std::io::{Read, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier, Mutex};
use testing::{Origin, World};

/// An agent that answers with the text in the cell, and the bytes that it receives.
struct Speaker {
    says: Arc<Mutex<&'static str>>,
    origin: Origin,
}

fn speaker(says: &'static str) -> Speaker {
    let says = Arc::new(Mutex::new(says));
    let now = says.clone();
    let origin = Origin::new(move |mut stream, _| {
        let text = *now.lock().unwrap();
        let _ = stream.write_all(text.as_bytes());
    });
    Speaker { says, origin }
}

fn server(agent: &Speaker) -> Server {
    let mut server = testing::server(1, testing::nobody());
    server.balance.weight = 40;
    let (ip, port) = (Some(agent.origin.address.ip()), agent.origin.address.port());
    server.agent = Some(Agent { ip, port, send: Vec::new(), inter_ms: 10 });
    server
}

fn world(server: Server) -> World {
    let mut proxy = farm(Check::Connect, vec![server]);
    proxy.back.as_mut().unwrap().log_checks = true;
    World::new(vec![proxy])
}

/// As [`world`], with long timeouts of checks.
fn patient_world(server: Server) -> World {
    let mut proxy = patient_farm(Check::Connect, vec![server]);
    proxy.back.as_mut().unwrap().log_checks = true;
    World::new(vec![proxy])
}

#[test]
fn lines_of_agents_are_read_word_by_word() {
    let orders = |line: &str| Orders::parse(line.as_bytes());
    let state =
        |line: &str| orders(line).state.map(|(up, word, about)| (up, format!("{word}|{about}")));
    assert_eq!(state("up"), Some((true, "up|".into())));
    assert_eq!(state("DOWN"), Some((false, "DOWN|".into())));
    assert_eq!(state("fail"), Some((false, "fail|".into())));
    assert_eq!(state("stopped # at noon "), Some((false, "stopped|at noon".into())));
    assert_eq!(state("up foobar"), Some((true, "up|foobar".into())));
    assert_eq!(state("drain"), None);
    let all = orders("75%,maxconn:30\tmaint, down");
    assert_eq!((all.weight, all.maxconn), (Some(75), Some(30)));
    assert_eq!(all.admin, Some((Admin::FORCED_MAINT, Admin::FORCED_DRAIN)));
    assert!(all.state.is_some_and(|(up, ..)| !up));
    assert_eq!(orders("x75%").unknown.as_deref(), Some("x75%"));
    assert_eq!(orders(" ,\t"), Orders::default());
    assert_eq!(orders("# down"), Orders::default());
}

#[test]
fn unknown_words_of_agents_hide_no_order() {
    let orders = |line: &str| Orders::parse(line.as_bytes());
    for (line, up, word, about) in [
        ("foo up", true, "up", "foo"),
        ("foo,down,bar", false, "down", "foo"),
        ("up foo down", false, "down", "foo"),
        ("down foo up", true, "up", "foo"),
        ("up foo # bar", true, "up", "foo"),
        ("down foo # bar", false, "down", "bar"),
    ] {
        let state = orders(line).state;
        assert_eq!(state, Some((up, word.into(), about.into())), "{line}");
    }
    let all = orders("foo 50% bar maxconn:7 drain # maint");
    assert_eq!((all.weight, all.maxconn), (Some(50), Some(7)));
    assert_eq!(all.admin, Some((Admin::FORCED_DRAIN, Admin::FORCED_MAINT)));
    assert_eq!(all.unknown.as_deref(), Some("foo"));
    assert_eq!(orders("maint foo ready").admin.map(|(set, _)| set), Some(Admin::default()));
}

#[test]
fn an_agent_takes_its_server_down_and_up() {
    let agent = speaker("down # lunch\n");
    let world = patient_world(server(&agent));
    let down = world.line("Agent check");
    assert!(down.starts_with("<5>Agent check for server be/s1 failed, reason: Layer7 wrong status, code: 0, info: \"via agent : down (lunch)\", check duration: "), "{down}");
    assert!(down.ends_with("ms, status: 0/1 DOWN."), "{down}");
    world.line("<1>Server be/s1 is DOWN. 0 active");
    let state = &world.backend("be").servers[0].state;
    assert_eq!(balance::notice::status(state), "DOWN (agent)");
    *agent.says.lock().unwrap() = "up\n";
    world.line("Agent check for server be/s1 succeeded, reason: Layer7 check passed, code: 0, info: \"via agent : up\"");
    world.line("<5>Server be/s1 is UP. 1 active");
    assert_eq!(state.state().0, OpState::Running);
}

/// An answer that was under way when the agent was disabled (management manual, `disable agent`).
#[test]
fn a_disabled_agent_changes_no_weight_any_more() {
    let disabled = Arc::new(Barrier::new(2));
    let asked = disabled.clone();
    let origin = Origin::new(move |mut stream, number| {
        if number == 0 {
            asked.wait();
            asked.wait();
            let _ = stream.write_all(b"50% drain maxconn:7\n");
        }
    });
    let agent = Speaker { says: Arc::default(), origin };
    let world = patient_world(server(&agent));
    let server = &world.backend("be").servers[0];
    let wait = disabled.clone();
    world.play(move || wait.wait().is_leader());
    server.agent.as_ref().unwrap().off.store(true, Relaxed);
    world.play(move || disabled.wait().is_leader());
    world.until("the answer has come", || server.state.load().maxconn() == 7);
    assert_eq!((server.state.user_weight(), server.state.state().1), (40, Admin::default()));
}

#[test]
fn an_agent_sets_weight_limit_and_administrative_state() {
    let agent = speaker("50% maxconn:7\n");
    let world = world(server(&agent));
    let state = &world.backend("be").servers[0].state;
    world.until("the weight changes", || state.user_weight() == 20);
    world.until("the limit changes", || state.load().maxconn() == 7);
    assert_eq!(state.agent_record().last.status, CheckStatus::Checked);
    let say = |text| *agent.says.lock().unwrap() = text;
    say("drain\n");
    world.until("it drains", || state.state().1.in_drain());
    say("maint\n");
    world.until("it is maintained", || state.state().1 == Admin::FORCED_MAINT);
    say("ready\n");
    world.until("it is ready, for agents are asked all the time", || {
        state.state() == (OpState::Running, Admin::default())
    });
}

#[test]
fn a_line_of_an_agent_ends_with_the_connection_too() {
    let agent = speaker("down # for \x07lunch");
    let world = world(server(&agent));
    let state = &world.backend("be").servers[0].state;
    world.until("it is down", || state.state().0 == OpState::Stopped);
    assert_eq!(state.agent_record().last.info, "via agent : down (for #07lunch)");
}

#[test]
fn an_incomplete_line_of_an_agent_changes_nothing() {
    const INFO: &str = "Ignoring incomplete line from agent";
    let origin = |reset: bool, bytes: Vec<u8>| {
        Origin::new(move |mut stream, _| {
            let _ = stream.write_all(&bytes);
            if reset {
                // A close with bytes that were not read resets the connection.
                let _ = stream.read_exact(&mut [0]);
            } else {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        })
    };
    for (reset, bytes, status) in [
        (true, b"down".to_vec(), CheckStatus::SocketError),
        (true, b"up 50%".to_vec(), CheckStatus::SocketError),
        (false, [&b"down#"[..], &[b'x'; 20_000]].concat(), CheckStatus::L7Timeout),
        (false, [&b"down "[..], &[b' '; 20_000], b"\n"].concat(), CheckStatus::L7Timeout),
    ] {
        let agent = Speaker { says: Arc::default(), origin: origin(reset, bytes) };
        let mut server = server(&agent);
        server.agent.as_mut().unwrap().send = b"two bytes or more".to_vec();
        let world = patient_world(server);
        let state = &world.backend("be").servers[0].state;
        let last = || state.agent_record().last;
        world.until("it is ignored", || (last().status, &*last().info) == (status, INFO));
        assert_eq!((state.state().0, state.user_weight()), (OpState::Running, 40));
    }
}

#[test]
fn an_agent_that_cannot_be_understood_changes_nothing() {
    for (says, status, info) in [
        ("foobar\n", CheckStatus::Checked, "agent reports an error : foobar"),
        ("\n", CheckStatus::Checked, ""),
        ("", CheckStatus::L7Response, "TCPCHK got an empty response at step 2"),
        ("foo\x1b[31m\0", CheckStatus::Checked, "agent reports an error : foo#1B[31m#00"),
    ] {
        let agent = speaker(says);
        let world = world(server(&agent));
        let state = &world.backend("be").servers[0].state;
        let last = || state.agent_record().last;
        // A busy machine may delay one answer or another beyond its timeout.
        let heard = || (last().status, &*last().info) == (status, info);
        world.until(&format!("{status:?} {info:?} is heard"), heard);
        assert_eq!(state.state().0, OpState::Running);
    }
    let mut lonely = server(&speaker(""));
    lonely.agent.as_mut().unwrap().port = testing::nobody().port();
    let world = world(lonely);
    let line = world.line("Agent check");
    assert!(
        line.contains("failed, reason: Layer4 connection problem, info: \"Connection refused\""),
        "{line}"
    );
    assert!(line.ends_with("status: 1/1 UP."), "{line}");
}

#[test]
fn agent_and_checks_have_to_agree() {
    let (agent, origin) = (speaker("down\n"), Origin::answering(super::OK));
    let mut both = checked(1, origin.address, 5);
    both.agent = server(&agent).agent;
    let world = World::new(vec![patient_farm(super::http(), vec![both])]);
    let state = &world.backend("be").servers[0].state;
    world.until("the agent takes it down", || state.state().0 == OpState::Stopped);
    let served = origin.served();
    world.until("checks go on", || origin.served() > served + 3);
    assert_eq!(state.state().0, OpState::Stopped, "checks alone do not bring it up");
    *agent.says.lock().unwrap() = "up\n";
    world.until("both agree", || state.state().0 == OpState::Running);
}

#[test]
fn agents_get_agent_send_and_can_be_disabled() {
    let heard = Arc::<Mutex<Vec<u8>>>::default();
    let record = heard.clone();
    let origin = Origin::new(move |mut stream, _| {
        let mut told = [0; 6];
        if stream.read_exact(&mut told).is_ok() {
            record.lock().unwrap().extend(told);
        }
        let _ = stream.write_all(b"up\n");
    });
    let mut server = server(&speaker(""));
    let agent = server.agent.as_mut().unwrap();
    (agent.port, agent.send) = (origin.address.port(), b"hello\n".to_vec());
    let world = world(server);
    world.until("it is told", || heard.lock().unwrap().starts_with(b"hello\n"));
    let server = &world.backend("be").servers[0];
    let agent = server.agent.as_ref().unwrap();
    agent.off.store(true, Relaxed);
    health::servers::events::force_agent(
        &world.workers[0],
        world.shared.backend("be").unwrap(),
        0,
        false,
    );
    world.line("<1>Server be/s1 is DOWN, changed from CLI. 0 active");
}
