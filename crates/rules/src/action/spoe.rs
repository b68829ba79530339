//! `send-spoe-group`: sends the messages of a group to the agent of an engine, and waits for it.

use super::{Action, Input, Outcome, wait_for_answer};
use crate::context::Context;
use crate::spoe::SpoeEngine;
use sample::{ParseError, Places};
use std::sync::{Arc, OnceLock};

/// A compiled action of this kind.
#[derive(Debug)]
pub struct SpoeGroupAction {
    engine: Box<str>,
    group: Box<str>,
    /// Where the rule runs.
    places: Places,
    /// The engine and the number of the group, once all lines of the section are read.
    found: OnceLock<(Arc<SpoeEngine>, usize)>,
}

impl SpoeGroupAction {
    /// The name of the engine.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The name of the group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Where the rule runs.
    pub fn places(&self) -> Places {
        self.places
    }

    /// Fills the engine and the number of the group in; the first ones stay.
    pub fn resolve(&self, engine: &Arc<SpoeEngine>, group: usize) {
        let _ = self.found.set((engine.clone(), group));
    }

    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        let Some((engine, group)) = self.found.get() else { return Outcome::Next };
        cx.send_spoe_group(engine, *group);
        wait_for_answer(cx)
    }
}

pub(super) fn send(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let expected = "expects 2 arguments: <engine-id> <group-id>.";
    let engine = input.take(expected)?.into();
    let group = input.take(expected)?.into();
    let (places, found) = (input.cx.places, OnceLock::new());
    Ok(Action::SpoeGroup(SpoeGroupAction { engine, group, places, found }))
}
