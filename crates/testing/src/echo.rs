//! A service for tests.

use engine::state::services::{Answer, Service, Services, Visit};
use engine::state::worker::Worker;
use htx::{Head, Version};
use mux::StreamGone;
use reactor::Class;
use std::rc::Rc;
use transport::streams::LocalExchange;

/// Services of tests: each returns the body of its request. The field `x-end` of the request says
/// how it ends: `never` responds, `early` announces more than is sent.
pub(crate) struct Echo;

impl Services for Echo {
    fn statistics(&self, _: &Visit<'_>) -> Option<Answer> {
        None
    }

    fn start(&self, _: Service, worker: &Rc<Worker>, exchange: LocalExchange) {
        let task = async move {
            let _ = echo(exchange).await;
        };
        worker.thread.scheduler().spawn(Class::Normal, task);
    }
}

async fn echo(exchange: LocalExchange) -> Result<(), StreamGone> {
    let (request, _) = exchange.request().await?;
    let end = request.get(b"x-end").unwrap_or_default().to_vec();
    if end == b"never" {
        return Ok(());
    }
    let mut head = Head::default();
    head.set_response(Version::Http11, 200, b"OK");
    if end == b"early" {
        head.push(b"content-length", b"100");
    }
    exchange.respond(head)?;
    let mut buffer = [0; 1_000];
    loop {
        match exchange.receive(&mut buffer).await? {
            0 => break,
            count => exchange.send(&buffer[..count]).await?,
        }
    }
    exchange.finish(None);
    Ok(())
}
