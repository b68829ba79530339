//! The page in HTML: one table per proxy, one row per object.
//!
//! The page is self-contained: it loads no script, font or picture.

use super::change::{ACTIONS, Outcome, identity};
use super::query::PageQuery;
use crate::settings::Settings;
use crate::stats::field::Field;
use crate::stats::modules::MODULES;
use crate::stats::{Kind, Row, Value, info};
use engine::state::worker::Worker;
use settings::StatsPage;
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering::Relaxed;

const STYLE: &str = include_str!("style.css");

/// The request and settings that a page is made for.
pub(super) struct View<'a> {
    pub worker: &'a Worker,
    pub(super) settings: &'a Settings,
    pub(super) page: &'a StatsPage,
    pub(super) query: &'a PageQuery,
    /// Whether the visitor may change servers.
    pub(super) admin: bool,
}

/// Groups of columns, and how many there are in each.
const GROUPS: &[(&str, u32)] = &[
    ("Queue", 3),
    ("Session rate", 3),
    ("Sessions", 6),
    ("Bytes", 2),
    ("Denied", 2),
    ("Errors", 3),
    ("Warnings", 2),
    ("Server", 9),
];

/// A column: its title, its full name, and the function that fills its cells.
type TableColumn = (&'static str, &'static str, fn(&Row, &mut Cell));

/// All columns after the name.
const COLUMNS: &[TableColumn] = &[
    ("Cur", "Requests in the queue", |row, cell| cell.number(row, Field::Qcur)),
    ("Max", "Most requests in the queue", |row, cell| cell.number(row, Field::Qmax)),
    ("Limit", "Limit of the queue", |row, cell| cell.limit(row, Field::Qlimit)),
    ("Cur", "Sessions in the last second", rate),
    ("Max", "Most sessions in one second", rate_max),
    ("Limit", "Limit of sessions a second", |row, cell| cell.limit(row, Field::RateLim)),
    ("Cur", "Sessions now", sessions),
    ("Max", "Most sessions at once", |row, cell| cell.number(row, Field::Smax)),
    ("Limit", "Limit of sessions", |row, cell| cell.limit(row, Field::Slim)),
    ("Total", "Sessions in all", total),
    ("LbTot", "Chosen by the algorithm", |row, cell| cell.number(row, Field::Lbtot)),
    ("Last", "Time since the last session", last),
    ("In", "Bytes from clients", |row, cell| cell.number(row, Field::Bin)),
    ("Out", "Bytes to clients", sent),
    ("Req", "Requests denied", |row, cell| cell.number(row, Field::Dreq)),
    ("Resp", "Responses denied", |row, cell| cell.number(row, Field::Dresp)),
    ("Req", "Invalid requests", |row, cell| cell.number(row, Field::Ereq)),
    ("Conn", "Failed attempts to connect", |row, cell| cell.number(row, Field::Econ)),
    ("Resp", "Invalid responses", response_errors),
    ("Retr", "Repeated attempts to connect", |row, cell| cell.number(row, Field::Wretr)),
    ("Redis", "Moved to another server", |row, cell| cell.number(row, Field::Wredis)),
    ("Status", "State, and since when", status),
    ("LastChk", "Last check", last_check),
    ("Wght", "Weight in use / set", weight),
    ("Act", "Active servers", |row, cell| member(row, cell, Field::Act)),
    ("Bck", "Backup servers", |row, cell| member(row, cell, Field::Bck)),
    ("Chk", "Failed checks", |row, cell| cell.number(row, Field::Chkfail)),
    ("Dwn", "Changes to down", |row, cell| cell.number(row, Field::Chkdown)),
    ("Dwntme", "Time spent down", |row, cell| cell.span(row.get(Field::Downtime))),
    ("Thrtle", "Share of the weight during a slow start", throttle),
];

/// The content of a cell.
#[derive(Default)]
struct Cell {
    text: String,
    tip: String,
    is_text: bool,
}

impl Cell {
    fn number(&mut self, row: &Row, field: Field) {
        if !row.get(field).is_empty() {
            self.count(row.get(field).number());
        }
    }

    /// A count in few digits, with all of them as a tooltip.
    fn count(&mut self, value: u64) {
        self.text = short(value);
        if value >= SHORT {
            self.detail("Exactly", grouped(value));
        }
    }

    fn limit(&mut self, row: &Row, field: Field) {
        match row.get(field).number() {
            0 if row.kind == Kind::Frontend || row.kind == Kind::Server => self.text.push('-'),
            0 => {}
            limit => self.text = grouped(limit),
        }
    }

    fn span(&mut self, value: &Value) {
        if !value.is_empty() {
            self.text = span(value.number());
        }
    }

    fn word(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.is_text = true;
    }

    fn detail(&mut self, name: &str, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.tip, "{name}: {value}");
    }
}

fn sent(row: &Row, cell: &mut Cell) {
    cell.number(row, Field::Bout);
    let of = |field| row.get(field).number();
    let (consumed, produced) = (of(Field::CompIn), of(Field::CompOut));
    let bypassed = of(Field::CompByp);
    if consumed + bypassed == 0 {
        return;
    }
    let saved = consumed.saturating_sub(produced);
    let all = of(Field::Bout);
    cell.detail("Compression in", grouped(consumed));
    cell.detail("Compression out", share(produced, consumed));
    cell.detail("Compression bypass", grouped(bypassed));
    cell.detail("Total bytes saved", share(saved, all));
}

/// A number, and its part of another.
fn share(part: u64, of: u64) -> String {
    let percent = part.saturating_mul(100).checked_div(of).unwrap_or(0);
    format!("{} ({percent} %)", grouped(part))
}

fn rate(row: &Row, cell: &mut Cell) {
    cell.number(row, Field::Rate);
    if row.kind == Kind::Frontend {
        cell.detail("Connections in the last second", row.get(Field::ConnRate));
        cell.detail("Sessions in the last second", row.get(Field::Rate));
        cell.detail("Requests in the last second", row.get(Field::ReqRate));
    }
}

fn rate_max(row: &Row, cell: &mut Cell) {
    cell.number(row, Field::RateMax);
    if row.kind == Kind::Frontend {
        cell.detail("Most connections in one second", row.get(Field::ConnRateMax));
        cell.detail("Most sessions in one second", row.get(Field::RateMax));
        cell.detail("Most requests in one second", row.get(Field::ReqRateMax));
    }
}

fn sessions(row: &Row, cell: &mut Cell) {
    cell.number(row, Field::Scur);
    if row.kind == Kind::Server {
        cell.detail("Connections in use", row.get(Field::UsedConnCur));
        cell.detail("Idle connections", row.get(Field::SrvIcur));
        let limit = Some(row.get(Field::SrcIlim)).filter(|limit| !limit.is_empty());
        cell.detail("Limit of idle connections", limit.unwrap_or(&Value::from("-")));
    }
}

fn total(row: &Row, cell: &mut Cell) {
    cell.number(row, Field::Stot);
    let number = |field| grouped(row.get(field).number());
    match row.kind {
        Kind::Frontend => cell.detail("Connections", number(Field::ConnTot)),
        Kind::Listener => return,
        Kind::Backend | Kind::Server => {
            cell.detail("New connections", number(Field::Connect));
            cell.detail("Reused connections", number(Field::Reuse));
        }
    }
    if row.get(Field::Mode).text() == "http" {
        cell.detail("HTTP requests", number(Field::ReqTot));
        for (name, field) in RESPONSES {
            cell.detail(name, number(*field));
        }
        let (compressed, fine) = (row.get(Field::CompRsp), row.get(Field::Hrsp2xx));
        if compressed.number() > 0 {
            cell.detail("Compressed 2xx responses", share(compressed.number(), fine.number()));
        }
        let (lookups, hits) = (row.get(Field::CacheLookups), row.get(Field::CacheHits));
        if lookups.number() > 0 {
            cell.detail("Cache lookups", grouped(lookups.number()));
            cell.detail("Cache hits", share(hits.number(), lookups.number()));
        }
        cell.detail("Failed rewrites", number(Field::Wrew));
    }
    cell.detail("Internal errors", number(Field::Eint));
    if row.kind == Kind::Frontend {
        cell.detail("Answered by the proxy", number(Field::Intercepted));
        return;
    }
    for (name, average, longest) in TIMES {
        let (average, longest) = (row.get(*average), row.get(*longest));
        cell.detail(name, format_args!("{average} ms on average, {longest} ms at most"));
    }
}

const RESPONSES: &[(&str, Field)] = &[
    ("1xx responses", Field::Hrsp1xx),
    ("2xx responses", Field::Hrsp2xx),
    ("3xx responses", Field::Hrsp3xx),
    ("4xx responses", Field::Hrsp4xx),
    ("5xx responses", Field::Hrsp5xx),
    ("Other responses", Field::HrspOther),
];

const TIMES: &[(&str, Field, Field)] = &[
    ("Queue time", Field::Qtime, Field::QtimeMax),
    ("Connect time", Field::Ctime, Field::CtimeMax),
    ("Response time", Field::Rtime, Field::RtimeMax),
    ("Total time", Field::Ttime, Field::TtimeMax),
];

fn last(row: &Row, cell: &mut Cell) {
    match row.get(Field::Lastsess) {
        Value::S32(seconds) if *seconds < 0 => cell.text.push('?'),
        other => cell.span(other),
    }
}

fn response_errors(row: &Row, cell: &mut Cell) {
    cell.number(row, Field::Eresp);
    if !matches!(row.kind, Kind::Frontend | Kind::Listener) {
        cell.detail("Aborted by the client", row.get(Field::CliAbrt));
        cell.detail("Aborted by the server", row.get(Field::SrvAbrt));
    }
}

fn status(row: &Row, cell: &mut Cell) {
    let state = row.get(Field::Status).text();
    match row.get(Field::Lastchg) {
        Value::U32(seconds) if state != "no check" => {
            cell.word(format!("{} {state}", span(u64::from(*seconds))));
        }
        _ => cell.word(state),
    }
}

fn last_check(row: &Row, cell: &mut Cell) {
    let status = row.get(Field::CheckStatus).text();
    if status.is_empty() {
        return;
    }
    let mut text = status.to_owned();
    let _ = match row.get(Field::CheckCode) {
        Value::Empty => Ok(()),
        code => write!(text, "/{code}"),
    };
    let _ = match row.get(Field::CheckDuration) {
        Value::Empty => Ok(()),
        duration => write!(text, " in {duration}ms"),
    };
    cell.word(text);
    let told = row.get(Field::LastChk).text();
    let colon = if told.is_empty() { "" } else { ": " };
    cell.tip = format!("{}{colon}{told}", row.get(Field::CheckDesc).text());
}

fn weight(row: &Row, cell: &mut Cell) {
    if !row.get(Field::Weight).is_empty() {
        cell.word(format!("{}/{}", row.get(Field::Weight), row.get(Field::Uweight)));
    }
}

fn member(row: &Row, cell: &mut Cell, field: Field) {
    match (row.kind, row.get(field).number()) {
        (Kind::Frontend | Kind::Listener, _) => {}
        (Kind::Backend, count) => cell.word(count.to_string()),
        (Kind::Server, 0) => cell.word("-"),
        (Kind::Server, _) => cell.word("Y"),
    }
}

fn throttle(row: &Row, cell: &mut Cell) {
    match row.get(Field::Throttle) {
        Value::Empty if row.kind == Kind::Server => cell.word("-"),
        Value::Empty => {}
        share => cell.word(format!("{share}%")),
    }
}

/// The part of the page before the proxies.
pub(super) fn begin(view: &View<'_>, out: &mut String) {
    top(view, out);
    process(view, out);
    tools(view, out);
    legend(out);
    out.push_str("<main id=\"proxies\">\n");
}

/// The part of the page after the proxies.
pub(super) fn end(view: &View<'_>, out: &mut String) {
    out.push_str("</main>\n");
    bottom(view, out);
}

fn product(view: &View<'_>) -> String {
    let shown = !view.page.hide_version && !view.settings.version.is_empty();
    if shown { format!("Weir {}", view.settings.version) } else { "Weir".to_owned() }
}

fn node(view: &View<'_>) -> Option<String> {
    let settings = &view.worker.shared.settings;
    let own = |name: &String| if name.is_empty() { settings.node.clone() } else { name.clone() };
    view.page.node.as_ref().map(own)
}

fn description(view: &View<'_>) -> Option<String> {
    let settings = &view.worker.shared.settings;
    match view.page.description.as_deref() {
        Some("") => settings.description.clone(),
        other => other.map(str::to_owned),
    }
}

fn top(view: &View<'_>, out: &mut String) {
    let on = node(view).map(|node| format!(" on {node}")).unwrap_or_default();
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width\">\n");
    let _ = writeln!(out, "<title>Statistics Report{}</title>", Escaped(&on));
    if view.page.refresh > 0 && view.query.refreshes {
        let seconds = view.page.refresh;
        let _ = writeln!(out, "<meta http-equiv=\"refresh\" content=\"{seconds}\">");
    }
    let _ = write!(out, "<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n");
    out.push_str("</head>\n<body>\n<a class=\"skip\" href=\"#proxies\">Go to the proxies</a>\n");
    let pid = view.worker.shared.settings.pid;
    let about = description(view).map(|text| format!(": {text}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "<header><h1>{} <small>statistics of process {pid}{}{}</small></h1></header>",
        Escaped(&product(view)),
        Escaped(&on),
        Escaped(&about)
    );
    if let Some(outcome) = view.query.outcome {
        let fine = outcome == Outcome::Done;
        let (class, role) = if fine { ("note fine", "status") } else { ("note", "alert") };
        let _ = writeln!(out, "<p class=\"{class}\" role=\"{role}\">{}</p>", outcome.text());
    }
}

fn process(view: &View<'_>, out: &mut String) {
    let shared = &view.worker.shared;
    let now = crate::stats::Clock::of(view.worker);
    let uptime = now.ms.saturating_sub(shared.started / 1_000_000) / 1_000;
    let items = [
        ("pid", shared.settings.pid.to_string()),
        ("threads", shared.settings.threads.to_string()),
        ("uptime", info::span(uptime)),
        ("maxconn", shared.maxconn.load(Relaxed).to_string()),
        ("connections", shared.connections.current().to_string()),
        (
            "connections in all",
            grouped(shared.totals.sum(transport::stats::counters::Metric::Connections)),
        ),
        (
            "requests in all",
            grouped(shared.totals.sum(transport::stats::counters::Metric::Requests)),
        ),
    ];
    out.push_str("<dl class=\"process\">\n");
    for (name, value) in items {
        let _ = writeln!(out, "<div><dt>{name}</dt> <dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
}

/// Other ways to look at the same figures. Links keep the scope that is set.
fn tools(view: &View<'_>, out: &mut String) {
    let (query, base) = (view.query, view.page.uri.as_str());
    let scope = match query.scope.as_str() {
        "" => String::new(),
        scope => format!(";scope={}", encoded(scope)),
    };
    let up = if query.states == crate::stats::States::Up { ";up" } else { "" };
    let still = if query.refreshes { "" } else { ";norefresh" };
    out.push_str("<nav class=\"tools\" aria-label=\"Display\">\n");
    let _ = writeln!(
        out,
        "<form method=\"get\"><label>Scope: <input name=\"scope\" value=\"{}\" size=\"8\" \
         maxlength=\"64\" accesskey=\"s\"></label></form>",
        Escaped(&query.scope)
    );
    let mut link = |options: &str, text: &str, key: char| {
        let _ = writeln!(
            out,
            "<a href=\"{}{options}{}\" accesskey=\"{key}\">{text}</a>",
            Escaped(base),
            Escaped(&scope)
        );
    };
    if up.is_empty() {
        link(&format!(";up{still}"), "Hide DOWN servers", 'd');
    } else {
        link(still, "Show all servers", 'd');
    }
    if view.page.refresh > 0 {
        if query.refreshes {
            link(&format!("{up};norefresh"), "Disable refresh", 'f');
        } else {
            link(up, "Enable refresh", 'f');
        }
    }
    link(&format!("{up}{still}"), "Refresh now", 'r');
    let charts = format!("{}/ui", base.trim_end_matches('/'));
    link(";csv;norefresh", "CSV export", 'c');
    link(";json;norefresh", "JSON export", 'j');
    let _ = writeln!(out, "<a href=\"{}\">Live view</a>", Escaped(&charts));
    out.push_str("</nav>\n");
}

fn legend(out: &mut String) {
    let states = [
        ("up", "active UP"),
        ("backup", "backup UP"),
        ("turning", "going UP or DOWN"),
        ("down", "DOWN"),
        ("maint", "MAINT"),
        ("drain", "NOLB or DRAIN: up, without new sessions"),
        ("none", "not checked"),
    ];
    out.push_str("<div class=\"legend\" aria-label=\"Colours\">\n");
    for (class, text) in states {
        let _ = writeln!(out, "<span class=\"{class}\">{text}</span>");
    }
    out.push_str("</div>\n");
}

/// The part before the rows of a proxy; all of them, at least one, are given.
pub(super) fn begin_table(view: &View<'_>, rows: &[Row], out: &mut String) {
    let Some(first) = rows.first() else { return };
    let name = first.get(Field::Pxname).text();
    let mode = first.get(Field::Mode).text();
    let algorithm = rows.last().map_or("", |row| row.get(Field::Algo).text());
    let described = view.worker.shared.proxies.iter().find(|it| it.settings.id == first.proxy);
    let about = described.and_then(|proxy| proxy.settings.description.as_deref());
    let _ = write!(
        out,
        "<section aria-labelledby=\"px-{0}\">\n<h2 id=\"px-{0}\"><a href=\"#px-{0}\">{0}</a>\
         <small> {mode}",
        Escaped(name)
    );
    for more in [Some(algorithm), about].into_iter().flatten().filter(|text| !text.is_empty()) {
        let _ = write!(out, " · {}", Escaped(more));
    }
    out.push_str("</small></h2>\n");
    if changes(view, rows) {
        out.push_str("<form method=\"post\">\n");
    }
    out.push_str("<div class=\"scroll\" tabindex=\"0\">\n<table>\n");
    head(view.page.show_modules, out);
    out.push_str("<tbody>\n");
}

/// Whether servers among these rows can be changed.
pub(super) fn changes(view: &View<'_>, rows: &[Row]) -> bool {
    view.admin && rows.iter().any(|row| row.kind == Kind::Server)
}

/// Some rows; `changes` tells that servers can be ticked.
pub(super) fn write_rows(rows: &[Row], changes: bool, out: &mut String) {
    for one in rows {
        row(one, changes, out);
        extra(one, out);
        out.push_str("</tr>\n");
    }
}

/// The part after the rows of a proxy.
pub(super) fn end_table(view: &View<'_>, proxy: u32, changes: bool, out: &mut String) {
    out.push_str("</tbody>\n</table>\n</div>\n");
    if changes {
        actions(view, proxy, out);
    }
    out.push_str("</section>\n");
}

/// The actions on the ticked servers.
///
/// The number of the backend, as in HAProxy's form, holds for this process alone, so that the form
/// names the process too.
fn actions(view: &View<'_>, proxy: u32, out: &mut String) {
    out.push_str(
        "<p><label>Action on the ticked servers: <select name=\"action\">\
         <option value=\"\"></option>\n",
    );
    for (name, title, _) in ACTIONS {
        let _ = writeln!(out, "<option value=\"{name}\">{title}</option>");
    }
    let _ = writeln!(
        out,
        "</select></label> <input type=\"hidden\" name=\"b\" value=\"#{proxy}\">\
         <input type=\"hidden\" name=\"process\" value=\"{}\">\
         <input type=\"submit\" value=\"Apply\"></p>\n</form>",
        identity(&view.worker.shared)
    );
}

/// The figures of modules, a tooltip for each.
fn extra(row: &Row, out: &mut String) {
    let mut values = row.modules().iter();
    for module in MODULES.iter().filter(|_| !row.modules().is_empty()) {
        let mut tip = String::new();
        for (column, value) in module.columns.iter().zip(values.by_ref()) {
            if !value.is_empty() {
                let _ = writeln!(tip, "{}: {value}", column.doc);
            }
        }
        let _ = match tip.as_str() {
            "" => write!(out, "<td></td>"),
            tip => write!(out, "<td><span{}>{}</span></td>", Tip(tip), module.name),
        };
    }
}

/// The titles; `modules`: with the columns of modules.
fn head(modules: bool, out: &mut String) {
    out.push_str("<thead>\n<tr><th rowspan=\"2\" scope=\"col\">Name</th>");
    for (title, columns) in GROUPS {
        let _ = write!(out, "<th colspan=\"{columns}\" scope=\"colgroup\">{title}</th>");
    }
    if modules {
        let columns = MODULES.len();
        let _ = write!(out, "<th colspan=\"{columns}\" scope=\"colgroup\">Extra modules</th>");
    }
    out.push_str("</tr>\n<tr>");
    for (title, full, _) in COLUMNS {
        let _ = write!(out, "<th scope=\"col\"><abbr title=\"{full}\">{title}</abbr></th>");
    }
    for module in MODULES.iter().filter(|_| modules) {
        let _ = write!(out, "<th scope=\"col\">{}</th>", module.name);
    }
    out.push_str("</tr>\n</thead>\n");
}

/// Writes one row without its end; `changes`: with boxes to select servers.
fn row(row: &Row, changes: bool, out: &mut String) {
    let (proxy, name) = (row.get(Field::Pxname).text(), row.get(Field::Svname).text());
    let shown = match row.kind {
        Kind::Frontend => "Frontend",
        Kind::Backend => "Backend",
        Kind::Server | Kind::Listener => name,
    };
    let plus = if row.kind == Kind::Listener { "+" } else { "" };
    let (address, cookie) = (row.get(Field::Addr).text(), row.get(Field::Cookie).text());
    let mut tip = String::new();
    for (what, value) in [("Address", address), ("Cookie", cookie)] {
        if !value.is_empty() {
            let _ = writeln!(tip, "{what}: {value}");
        }
    }
    let _ = write!(
        out,
        "<tr id=\"{}/{plus}{}\" class=\"{}\"><th scope=\"row\"{}>",
        Escaped(proxy),
        Escaped(shown),
        class(row),
        Tip(&tip)
    );
    let _ = match changes && row.kind == Kind::Server {
        true => write!(
            out,
            "<label><input type=\"checkbox\" name=\"s\" value=\"{0}\"> {0}</label></th>",
            Escaped(shown)
        ),
        false => write!(out, "{}</th>", Escaped(shown)),
    };
    for (_, _, fill) in COLUMNS {
        let mut cell = Cell::default();
        fill(row, &mut cell);
        let class = if cell.is_text { " class=\"text\"" } else { "" };
        let _ = match cell.tip.as_str() {
            "" => write!(out, "<td{class}>{}</td>", Escaped(&cell.text)),
            tip => write!(out, "<td{class}><span{}>{}</span></td>", Tip(tip), Escaped(&cell.text)),
        };
    }
}

/// The colour of a row, by the state it tells.
fn class(row: &Row) -> &'static str {
    let status = row.get(Field::Status).text();
    match row.kind {
        Kind::Frontend if status == "STOP" => "side maint",
        Kind::Backend if status == "DOWN" => "side down",
        Kind::Frontend | Kind::Backend => "side",
        Kind::Server if status.starts_with("MAINT") => "maint",
        Kind::Server if status.starts_with("NOLB") || status.starts_with("DRAIN") => "drain",
        Kind::Server if status.contains('/') => "turning",
        Kind::Server if status.starts_with("DOWN") => "down",
        Kind::Server if status == "no check" => "none",
        Kind::Server if row.get(Field::Bck).number() == 1 => "backup",
        Kind::Server => "up",
        Kind::Listener => "socket",
    }
}

fn bottom(view: &View<'_>, out: &mut String) {
    let date = view.worker.local_date();
    let mut now = Vec::new();
    date.write_http(&mut now);
    let now = String::from_utf8_lossy(&now);
    let _ = write!(out, "<footer>{}</footer>\n</body>\n</html>\n", Escaped(&now));
}

/// Text that cannot end the element or attribute around it.
struct Escaped<'a>(&'a str);

/// A text that is escaped for HTML and its attributes.
pub(super) fn escaped(text: &str) -> String {
    Escaped(text).to_string()
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for letter in self.0.chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A tooltip as an attribute, if there is anything to tell.
struct Tip<'a>(&'a str);

impl Display for Tip<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.trim_end() {
            "" => Ok(()),
            text => write!(f, " title=\"{}\"", Escaped(text)),
        }
    }
}

/// A value as part of a URI (RFC 3986, section 2.3).
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// The number from which on a few digits are shown.
const SHORT: u64 = 10_000_000;

/// A number with its thousands apart, or with four digits and the unit of the rest.
fn short(value: u64) -> String {
    let units = ["", "k", "M", "G", "T", "P", "E"];
    if value < SHORT {
        return grouped(value);
    }
    let unit = (value.ilog10() / 3) as usize;
    let scaled = value as f64 / 1_000_f64.powi(unit as i32);
    let digits = 3_usize.saturating_sub(scaled.log10() as usize);
    format!("{scaled:.digits$} {}", units[unit])
}

/// A number with its thousands apart.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `1d2h`, `3m4s`: the two largest units of a time in seconds.
fn span(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    if days > 0 {
        format!("{days}d{hours}h")
    } else if hours > 0 {
        format!("{hours}h{minutes}m")
    } else if minutes > 0 {
        format!("{minutes}m{rest}s")
    } else {
        format!("{rest}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_have_four_digits_and_a_unit() {
        assert_eq!(short(9_999_999), "9\u{202f}999\u{202f}999");
        assert_eq!(short(10_000_000), "10.00 M");
        assert_eq!(short(123_456_789_012), "123.5 G");
        assert_eq!(short(u64::MAX), "18.45 E");
    }
}
