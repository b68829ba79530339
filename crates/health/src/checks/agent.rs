//! An agent check under way: connects to the agent of a server, reads one line, carries out its
//! orders.

use super::checker::Checker;
use super::rule;
use crate::checks::check_run::{CheckRun, Subject, Underway};
use crate::checks::result;
use crate::servers::events;
use crate::servers::events::Cause;
use balance::{Admin, Change, CheckResult, CheckStatus, MAX_WEIGHT};
use engine::io::byte_client::InputEnd;
use engine::io::byte_client::{ByteClient, ByteClientError};
use engine::state::backend::check_record::Record;
use engine::state::worker::Worker;
use observability::logging::log;
use observability::logging::mail;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Runs one check to its end.
pub(super) async fn run(checker: Rc<Checker>, record: Record) {
    let _underway = Underway::new(&checker, 1);
    let turn = CheckRun::new(&checker, record);
    let Some(subject) = turn.subject() else { return };
    if subject.server.agent.as_ref().is_some_and(|agent| !agent.off.load(Relaxed)) {
        turn.trace(None);
        turn.mark(true);
    }
    let Some((answer, connection)) = query(&checker.worker, &subject).await else { return };
    let result = match answer {
        Ok(line) => obey(&checker.worker, &subject, record.slot as usize, &line),
        Err(result) => result,
    };
    report(&turn, &subject, result);
    // The close tells the agent that its orders are carried out.
    drop(connection);
}

/// The line that the agent sends, without its end, or the result of a check without one.
type AgentAnswer = Result<Vec<u8>, CheckResult>;

/// Asks the agent; `None` if the check does not run. The connection is still open.
async fn query(worker: &Rc<Worker>, subject: &Subject<'_>) -> Option<(AgentAnswer, ByteClient)> {
    let agent = subject.server.agent.as_ref().filter(|agent| !agent.off.load(Relaxed))?;
    let (asked, place) = (agent.asked(), subject.server.location.now());
    if asked.ip.is_none() && !place.known {
        // The agent is checked at the server's address, which is unknown.
        return None;
    }
    let (address, question) = (asked.address(&place.address), asked.send);
    let (connect_ms, answer_ms) = rule::limits_of(subject.proxy, agent.inter_ms);
    let mut line = ByteClient::new(worker, connect_ms, answer_ms);
    match line.connect(&address, false).await {
        Ok(()) => {}
        Err(ByteClientError::Late) => {
            return Some((Err(result::plain(CheckStatus::L4Timeout, "")), line));
        }
        Err(ByteClientError::Broken(error)) => {
            return Some((Err(result::unconnected(&error)), line));
        }
    }
    let answer = async {
        line.send(&question).await?;
        loop {
            line.read()?;
            if let Some(answer) = answer(line.received(), line.end()) {
                return Ok(answer);
            }
            line.wait_for_more().await?;
        }
    };
    let answer = answer.await.unwrap_or_else(|trouble| match trouble {
        ByteClientError::Late => Err(result::plain(CheckStatus::L7Timeout, "")),
        ByteClientError::Broken(error) => Err(result::broken(&error)),
    });
    Some((answer, line))
}

/// The line in the bytes that an agent has sent, or the result of a check without one; `None`: the
/// response is incomplete. As in HAProxy, the close of a connection ends a line, but a reset does
/// not, and the end of a line is not looked for behind a NUL.
fn answer(said: &[u8], end: Option<InputEnd>) -> Option<Result<Vec<u8>, CheckResult>> {
    let text = said.split(|byte| *byte == 0).next().unwrap_or_default();
    if let Some(end) = text.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        return Some(Ok(text[..end].to_vec()));
    }
    let incomplete = |status| Err(result::plain(status, "Ignoring incomplete line from agent"));
    Some(match end? {
        InputEnd::Closed if said.is_empty() => {
            let info = "TCPCHK got an empty response at step 2";
            Err(result::plain(CheckStatus::L7Response, info))
        }
        InputEnd::Closed => Ok(said.to_vec()),
        InputEnd::Broken => incomplete(CheckStatus::SocketError),
        InputEnd::Full => incomplete(CheckStatus::L7Timeout),
    })
}

/// The orders in one line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Percent of the configured weight.
    pub weight: Option<u32>,
    /// `maxconn:` of the answer.
    pub maxconn: Option<u32>,
    /// Administrative bits to set and to clear.
    pub admin: Option<(Admin, Admin)>,
    /// Whether the server is up, the word for it, and a description.
    pub state: Option<(bool, String, String)>,
    /// The first unknown word.
    pub unknown: Option<String>,
}

impl Orders {
    /// Words are separated by blanks or commas; a sharp begins a description. Unknown words do not
    /// hide the orders behind them, and the last order of a kind counts.
    pub fn parse(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let mut orders = Self::default();
        let mut rest = &*text;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() || rest.starts_with('#') {
                break;
            }
            let end = rest.find([' ', '\t', ',']).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            if !orders.word(word) {
                orders.unknown.get_or_insert_with(|| word.to_owned());
            }
            rest = tail;
        }
        orders.describe(rest.trim_start_matches(['#', ' ']).trim_end());
        orders
    }

    /// Describes the state by the first unknown word or by the text behind a sharp. If a line has
    /// both, the word goes first for a server that is up, and the text for one that is down, as in
    /// HAProxy.
    fn describe(&mut self, text: &str) {
        let Some((up, _, about)) = &mut self.state else { return };
        let word = self.unknown.as_deref().unwrap_or_default();
        let [first, second] = if *up { [word, text] } else { [text, word] };
        *about = if first.is_empty() { second } else { first }.to_owned();
    }

    /// Drops the orders that would change the weight.
    pub(super) fn keep_weight(&mut self) {
        self.weight = None;
        self.admin = self.admin.filter(|(set, _)| !set.in_drain());
    }

    /// Reads one word of the agent; `false` if it is unknown.
    fn word(&mut self, word: &str) -> bool {
        let maintenance = Admin::FORCED_MAINT;
        let drain = Admin::FORCED_DRAIN;
        match word.to_ascii_lowercase().as_str() {
            "up" => self.state = Some((true, word.to_owned(), String::new())),
            "down" | "stopped" | "fail" => {
                self.state = Some((false, word.to_owned(), String::new()));
            }
            "ready" => self.admin = Some((Admin::default(), maintenance.with(drain))),
            "drain" => self.admin = Some((drain, maintenance)),
            "maint" => self.admin = Some((Admin::FORCED_MAINT, drain)),
            lower => {
                let percent = lower.strip_suffix('%').and_then(|number| number.parse().ok());
                let limit = lower.strip_prefix("maxconn:").and_then(|n| n.parse().ok());
                self.weight = percent.or(self.weight);
                self.maxconn = limit.or(self.maxconn);
                return percent.is_some() || limit.is_some();
            }
        }
        true
    }
}

/// Carries out the orders of an agent, but for the state, which is in the result. An agent that was
/// disabled during the check does not change the weight (management manual, `disable agent`).
fn obey(worker: &Worker, subject: &Subject<'_>, slot: usize, line: &[u8]) -> CheckResult {
    let Subject { back, server, .. } = *subject;
    let mut orders = Orders::parse(line);
    if server.agent.as_ref().is_some_and(|agent| agent.off.load(Relaxed)) {
        orders.keep_weight();
    }
    if let Some(percent) = orders.weight {
        let initial = u64::from(server.state.settings().weight);
        let weight = (initial * u64::from(percent) / 100).min(u64::from(MAX_WEIGHT)) as u32;
        if weight != server.state.user_weight() {
            events::set_weight(worker, back, slot, weight);
        }
    }
    if let Some(limit) = orders.maxconn {
        back.set_maxconn(slot, limit);
    }
    if let Some((set, clear)) = orders.admin {
        let now = server.state.state().1;
        if now.without(clear).with(set) != now {
            events::set_admin(worker, back, slot, set, clear, Cause::Silent);
        }
    }
    let Some((up, word, about)) = orders.state else {
        let info = orders.unknown.map(|word| format!("agent reports an error : {word}"));
        return result::plain(CheckStatus::Checked, &info.unwrap_or_default());
    };
    let about = if about.is_empty() { about } else { format!(" ({about})") };
    let status = if up { CheckStatus::L7Ok } else { CheckStatus::L7Status };
    let result = result::plain(status, &format!("via agent : {word}{about}"));
    CheckResult { code: Some(0), ..result }
}

/// Applies a result to the server, and reports the change to operators.
fn report(turn: &CheckRun, subject: &Subject<'_>, result: CheckResult) {
    let worker = &turn.checker.worker;
    let Subject { proxy, back, server } = *subject;
    let logs_all = back.settings.log_checks;
    let duration_ms = worker.millis() - turn.began;
    let result = CheckResult { duration_ms, ..result }.fit_to_show();
    turn.trace(Some(&result));
    let slot = turn.record.slot as usize;
    let checked = back.balancer.on_agent(slot, result.clone(), worker.millis());
    if logs_all && checked.progressed {
        let health = server.state.agent_record().health;
        let text = balance::notice::agent_checked(proxy.name(), &server.state, &result, &health);
        events::announce(worker, back, log::level::NOTICE, &text);
        mail::send_alert(worker, proxy, log::level::INFO, &text);
    }
    if checked.change != Change::None {
        let cause = if logs_all { Cause::Silent } else { Cause::Check(&result) };
        events::server_changed(worker, back, slot, checked.change, cause);
    }
}
