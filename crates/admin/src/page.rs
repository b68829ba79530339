//! The statistics page: answers requests under `stats uri`.
//!
//! The query is parsed in [`query`], access is decided in [`auth`], the page is rendered in
//! [`html`], and its forms act in [`change`]; the figures are those of `show stat`. [`dashboard`]
//! shows them live.

mod auth;
mod change;
mod dashboard;
mod html;
mod query;
mod tables;
#[cfg(test)]
mod tests;

use crate::prometheus;
use crate::script_process::ScriptProcess;
use crate::settings::Settings;
use crate::stats::{self, Filter, Listing, Look, json};
use crate::web::response;
use engine::state::services::{Answer, Body, Pieces, Role, Service, Services, Visit};
use engine::state::worker::Worker;
use htx::Method;
use query::{Format, PageQuery};
use reactor::Class;
use settings::StatsPage;
use std::rc::Rc;
use std::sync::Arc;
use tables::Tables;
use transport::streams::LocalExchange;

/// The statistics pages of a worker.
#[derive(Debug)]
pub struct Pages {
    settings: Arc<Settings>,
}

impl Pages {
    /// Pages that show these versions and limits.
    pub fn new(settings: Arc<Settings>) -> Self {
        Self { settings }
    }
}

impl Services for Pages {
    fn statistics(&self, visit: &Visit<'_>) -> Option<Answer> {
        let page = visit.proxy.settings.stats.as_ref()?;
        if !auth::allows(page, visit.request) {
            return Some(auth::challenge(page));
        }
        let query = PageQuery::parse(visit.request.path_and_query(), &page.uri);
        if visit.request.method_id() == Method::Post {
            let acted = dashboard::act(visit, page);
            return Some(
                acted.unwrap_or_else(|| changed(page, &query, change::apply(visit, None))),
            );
        }
        let answer = dashboard::answer(visit, &self.settings, page);
        Some(answer.unwrap_or_else(|| self.show(visit, page, query)))
    }

    fn start(&self, service: Service, worker: &Rc<Worker>, exchange: LocalExchange) {
        let (settings, own) = (self.settings.clone(), worker.clone());
        let task = async move {
            let Ok((request, _)) = exchange.request().await else { return };
            let answer = match service {
                Service::Prometheus => prometheus::answer(&settings, &request),
                // The data plane starts these itself.
                Service::Script(_) => return,
            };
            answer.send(&own, exchange).await;
        };
        worker.thread.scheduler().spawn(Class::Normal, task);
    }

    fn script_process(&self, worker: &Rc<Worker>) -> Option<Rc<dyn script::Process>> {
        Some(Rc::new(ScriptProcess::new(worker.clone(), self.settings.clone())))
    }
}

impl Pages {
    fn show(&self, visit: &Visit<'_>, page: &StatsPage, query: PageQuery) -> Answer {
        let filter = Filter {
            states: query.states,
            scope: query.scope.clone(),
            names: page.scope.clone(),
            legends: page.show_legends,
            modules: page.show_modules || query.format != Format::Html,
            ..Filter::default()
        };
        let content_type = match query.format {
            Format::Html => "text/html",
            Format::Rows(Look::Csv | Look::Typed { .. }) => "text/plain",
            Format::Rows(Look::Json) | Format::Schema => "application/json",
        };
        let mut head = response(200, "OK", content_type);
        if page.refresh > 0 && query.refreshes {
            head.push(b"refresh", page.refresh.to_string().as_bytes());
        }
        if query.format == Format::Schema {
            return Answer { head, body: Body::Whole(json::SCHEMA.as_bytes().to_vec()) };
        }
        Answer {
            head,
            body: Body::Pieces(self.pieces(page, query, (visit.role == Role::All, filter))),
        }
    }

    fn pieces(&self, page: &StatsPage, query: PageQuery, who: (bool, Filter)) -> Pieces {
        if let Format::Rows(look) = query.format {
            let mut listing = Listing::new(who.1, look);
            return Box::new(move |worker, out| listing.next(worker, out));
        }
        let mut tables = Tables::new(&self.settings, page, query, who);
        Box::new(move |worker, out| tables.next(worker, out))
    }
}

/// Redirects to the page, which shows the result of the change.
fn changed(page: &StatsPage, query: &PageQuery, outcome: change::Outcome) -> Answer {
    let mut head = response(303, "See Other", "text/plain");
    let states = match query.states {
        stats::States::All => "",
        stats::States::Up => ";up",
        stats::States::NoMaint => ";no-maint",
    };
    let still = if query.refreshes { "" } else { ";norefresh" };
    let scope = match query.scope.as_str() {
        "" => String::new(),
        scope => format!("?scope={}", html::encoded(scope)),
    };
    let place = format!("{};st={}{states}{still}{scope}", page.uri, outcome.word());
    head.push(b"location", place.as_bytes());
    Answer { head, body: Body::Whole(Vec::new()) }
}
