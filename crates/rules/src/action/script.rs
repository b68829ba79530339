//! `lua.NAME`: actions that scripts have registered.

use super::{Action, Input, Outcome, wait_for_answer};
use crate::context::Context;
use crate::rule_set_kind::RuleSetKind;
use crate::script_call::{ScriptCall, ScriptStep};
use sample::{ParseError, SCRIPT_PREFIX, ScriptAction, word};

pub(super) fn run<'r>(call: &ScriptCall, cx: &mut dyn Context) -> Outcome<'r> {
    // The function runs from its beginning when more bytes have arrived.
    if cx.call_script(call) == ScriptStep::Again {
        return Outcome::Suspend;
    }
    wait_for_answer(cx)
}

/// The word by which scripts name a rule set.
fn environment(ruleset: RuleSetKind) -> &'static str {
    match ruleset {
        RuleSetKind::TcpRequest => "tcp-req",
        RuleSetKind::TcpResponse => "tcp-res",
        RuleSetKind::HttpRequest => "http-req",
        RuleSetKind::HttpResponse => "http-res",
        RuleSetKind::HttpAfterResponse => "http-after-res",
        RuleSetKind::QuicInitial | RuleSetKind::TcpConnection | RuleSetKind::TcpSession => "",
    }
}

/// The action of a word `lua.NAME`, if scripts may be loaded and the word names one.
pub(super) fn parse(input: &mut Input<'_, '_, '_>) -> Option<Result<Action, ParseError>> {
    let word = input.word(0);
    let name = word.strip_prefix(SCRIPT_PREFIX)?;
    let scripts = input.cx.shared.scripts?;
    let rules = environment(input.ruleset);
    let ScriptAction::Found(count, per_thread) = scripts.action(name, rules) else {
        let text = format!(
            "action '{word}' is unknown in '{}': no script has registered it for '{rules}'",
            input.ruleset.keyword(),
        );
        return Some(Err(ParseError::new(0, text)));
    };
    let mut args = Vec::new();
    for _ in 0..count {
        match input.take("expects more arguments") {
            Ok(text) => args.push(word::to_bytes(text).into()),
            Err(error) => {
                let message = format!("action '{word}' expects {count} arguments");
                return Some(Err(ParseError::new(error.word, message)));
            }
        }
    }
    Some(Ok(Action::Script(ScriptCall { name: name.into(), rules, per_thread, args })))
}
