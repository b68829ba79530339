//! Bind lines of tests: certificates for names, and options.

use std::sync::Arc;
use testkit::certificates::{self, KeyKind, MemoryFiles};
use tls::{Acceptor, Options};

/// A bind line with certificates for these names, the first of which is the default.
pub(super) fn acceptor(names: &[&str], change: impl FnOnce(&mut Options)) -> Arc<Acceptor> {
    let mut options = Options { alpn: Some(b"\x02h3".to_vec()), ..Options::default() };
    change(&mut options);
    certificates::acceptor(&MemoryFiles::self_signed(names, KeyKind::Ec), options)
}
