//! Cookies computed from the addresses of servers (configuration manual, section 4.2
//! `dynamic-cookie-key`).

use super::call::{Call, Reply};
use engine::state::runtime::Backend;
use std::sync::Arc;

/// The backend named at this position.
fn target(call: &Call<'_>, at: usize) -> Result<Arc<Backend>, Reply> {
    match call.word(at) {
        "" => Err(Reply::error("A backend name is expected.")),
        name => call.backend(name).ok_or_else(|| Reply::error("No such backend.")),
    }
}

fn change(call: &Call<'_>, at: usize, how: impl FnOnce(&Backend)) -> Reply {
    match target(call, at) {
        Ok(back) => {
            how(&back);
            Reply::Done
        }
        Err(reply) => reply,
    }
}

/// `enable dynamic-cookie backend <bk>`
pub(super) fn enable(call: &mut Call<'_>) -> Reply {
    change(call, 3, |back| back.dynamic_cookie.switch(true))
}

/// `disable dynamic-cookie backend <bk>`
pub(super) fn disable(call: &mut Call<'_>) -> Reply {
    change(call, 3, |back| back.dynamic_cookie.switch(false))
}

/// `set dynamic-cookie-key backend <bk> <key>`
pub(super) fn set_key(call: &mut Call<'_>) -> Reply {
    match (target(call, 3), call.word(4)) {
        (Err(reply), _) => reply,
        (Ok(_), "") => Reply::error("String value expected."),
        (Ok(_), key) => change(call, 3, |back| back.dynamic_cookie.set_key(key)),
    }
}
