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
pub(super) struct OriginContext {
    pub(super) plan: Rc<OriginPlan>,
    pub(super) tally: Rc<RefCell<Tally>>,
}

/// Makes the actor of an accepted connection.
type Serve = fn(OriginContext, Channel, &mut Net) -> Box<dyn Actor>;

/// An origin that accepts connections of one protocol; see [`OriginPlan`].
#[derive(Debug)]
pub struct Origin {
    context: OriginContext,
    serve: Serve,
}

impl Origin {
    /// An origin that counts in `tally`, and whose connections are the actors that `serve` makes.
    pub(super) fn new(plan: OriginPlan, tally: Rc<RefCell<Tally>>, serve: Serve) -> Box<Self> {
        Box::new(Self { context: OriginContext { plan: Rc::new(plan), tally }, serve })
    }
}

impl Actor for Origin {
    /// Listens at the start; resets connections whose TLS session cannot begin.
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        let OriginContext { plan, tally } = &self.context;
        match signal {
            Signal::Start => {
                net.listen_as(me, plan.at.clone()).expect("no two origins share an address");
            }
            Signal::Accepted(end) => {
                tally.borrow_mut().accepted += 1;
                let Ok(channel) = Channel::server(end, plan.tls.as_ref()) else {
                    return net.close_end(end, true);
                };
                let service = (self.serve)(self.context.clone(), channel, net);
                let service = net.spawn(service);
                net.hand_over(end, service);
            }
            Signal::Ready(_) | Signal::Timer(_) | Signal::Datagram(_) => {}
        }
    }
}
