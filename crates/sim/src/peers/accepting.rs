//! The listening side of an origin, whatever protocol its connections speak.

use super::Tally;
use super::channel::Channel;
use super::origin::OriginPlan;
use crate::net::Net;
use crate::net::actor::{Actor, ActorId, Signal};
use std::cell::RefCell;
use std::rc::Rc;

/// The plan and the counters that all connections of an origin share.
#[derive(Clone, Debug)]
pub(super) struct Accepting {
    pub(super) plan: Rc<OriginPlan>,
    pub(super) tally: Rc<RefCell<Tally>>,
}

impl Accepting {
    /// An origin that counts in `tally`.
    pub(super) fn new(plan: OriginPlan, tally: Rc<RefCell<Tally>>) -> Self {
        Self { plan: Rc::new(plan), tally }
    }

    /// Listens at the start. Each connection that is accepted is handed to the actor that `serve`
    /// makes; one whose TLS session cannot begin is reset.
    pub(super) fn act(
        &self,
        net: &mut Net,
        me: ActorId,
        signal: Signal,
        serve: impl FnOnce(Self, Channel, &mut Net) -> Box<dyn Actor>,
    ) {
        match signal {
            Signal::Start => {
                net.listen_as(me, self.plan.at.clone()).expect("no two origins share an address");
            }
            Signal::Accepted(end) => {
                self.tally.borrow_mut().accepted += 1;
                let Ok(channel) = Channel::server(end, self.plan.tls.as_ref()) else {
                    return net.close_end(end, true);
                };
                let service = serve(self.clone(), channel, net);
                let service = net.spawn(service);
                net.hand_over(end, service);
            }
            Signal::Ready(_) | Signal::Timer(_) | Signal::Datagram(_) => {}
        }
    }
}
