//! Actions on caches: `cache-use` and `cache-store` (configuration manual, section 6).

use super::{Action, Input, Outcome};
use crate::context::Context;
use sample::ParseError;
use std::sync::Arc;

/// An action on a cache; the name is that of its section.
#[derive(Debug)]
pub enum CacheAction {
    /// `cache-use`
    Use(Arc<str>),
    /// `cache-store`
    Store(Arc<str>),
}

impl CacheAction {
    /// The name of the section.
    pub fn cache(&self) -> &str {
        match self {
            Self::Use(name) | Self::Store(name) => name,
        }
    }

    pub(crate) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        match self {
            Self::Use(name) if cx.use_cache(name) => Outcome::Cached,
            // Another request fetches the object: the rule is evaluated again behind that.
            Self::Use(_) if cx.is_asked() => Outcome::Suspend,
            Self::Use(_) => Outcome::Next,
            Self::Store(name) => {
                cx.store_in_cache(name);
                Outcome::Next
            }
        }
    }
}

pub(super) fn cache_use(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Cache(CacheAction::Use(name(input)?)))
}

pub(super) fn cache_store(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Cache(CacheAction::Store(name(input)?)))
}

fn name(input: &mut Input<'_, '_, '_>) -> Result<Arc<str>, ParseError> {
    input.take("expects a cache name.").map(Arc::from)
}
