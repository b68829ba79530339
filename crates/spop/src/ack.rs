//! ACK: actions of an agent (SPOE.txt, sections 3.2.7 and 3.4).

use crate::data::{take_byte, take_string};
use crate::{Data, Status};

/// Scope of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the scope of the same name")]
pub enum Scope {
    Process,
    Session,
    Transaction,
    Request,
    Response,
}

impl Scope {
    fn of(number: u8) -> Option<Self> {
        use Scope::{Process, Request, Response, Session, Transaction};
        [Process, Session, Transaction, Request, Response].get(usize::from(number)).copied()
    }
}

/// An action of an agent. The name has no prefix yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Sets a variable.
    Set {
        /// Scope of the variable.
        scope: Scope,
        /// Name of the variable.
        name: &'a [u8],
        /// Its value.
        value: Data<'a>,
    },
    /// Removes a variable.
    Unset {
        /// Scope of the variable.
        scope: Scope,
        /// Name of the variable.
        name: &'a [u8],
    },
}

/// The actions of a payload, in order. Ends after the first error.
///
/// An unknown or malformed action is ignored, as HAProxy does, with everything after it: its end is
/// not known.
#[derive(Clone, Debug)]
pub struct Actions<'a> {
    rest: &'a [u8],
}

impl<'a> Actions<'a> {
    /// The actions of a complete payload.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// The bytes that are left.
    pub fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    fn action(&mut self) -> Result<Option<Action<'a>>, Status> {
        let rest = &mut self.rest;
        let kind = take_byte(rest)?;
        match (kind, take_byte(rest)?) {
            (1, 3) | (2, 2) => {}
            (1 | 2, _) => return Err(Status::Invalid),
            _ => return Ok(None),
        }
        let scope = Scope::of(take_byte(rest)?).ok_or(Status::Invalid)?;
        let name = take_string(rest)?;
        match kind {
            1 => Ok(Some(Action::Set { scope, name, value: Data::take(rest)? })),
            _ => Ok(Some(Action::Unset { scope, name })),
        }
    }
}

impl<'a> Iterator for Actions<'a> {
    type Item = Result<Action<'a>, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let action = self.action();
        if !matches!(action, Ok(Some(_))) {
            self.rest = &[];
        }
        action.transpose()
    }
}
