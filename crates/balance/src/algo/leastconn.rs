//! `balance leastconn`: idle servers in turns, then the least (load + 1) by weight.
//!
//! The order is kept by a [`LoadIndex`], which also gets every release.

use std::sync::Arc;

use super::{Chooser, Member, NoServer, PickRequest};
use crate::index::LoadIndex;

/// The algorithm, over an index that orders the servers by load.
#[derive(Debug)]
pub(crate) struct LeastConn(pub(crate) Arc<dyn LoadIndex>);

impl Chooser for LeastConn {
    fn members(&self, members: &[Member]) {
        let slots: Vec<_> = members.iter().map(|member| member.slot).collect();
        self.0.members(&slots);
    }

    fn choose(&self, wish: &PickRequest<'_>) -> Result<usize, NoServer> {
        self.0.pick(wish.avoid)
    }
}
