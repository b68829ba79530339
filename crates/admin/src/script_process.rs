//! The process as scripts see it: the figures of the statistics, and changes by runtime commands.

mod tables;

use crate::cli::script_changes;
use crate::settings::Settings;
use crate::stats::{self, Clock, Filter, Kind, Row, Value, info};
use engine::state::runtime::{Backend, Proxy, ProxySection, Server};
use engine::state::session::stream_list::{StreamSet, end_all};
use engine::state::worker::Worker;
use proxy::run::server_add_delete;
use reactor::Address;
use sample::pattern::{Dictionary, Refusal};
use script::{
    CheckCall, PatternCall, Plain, Process, ProxyCall, ProxyEntry, ScriptError, ServerCall,
    ServerOf, TableCall, key,
};
use settings::Mode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::transaction_log::Cause;

/// The process of a worker's scripts.
pub(crate) struct ScriptProcess {
    worker: Rc<Worker>,
    settings: Arc<Settings>,
}

impl ScriptProcess {
    /// The process of this worker.
    pub(crate) fn new(worker: Rc<Worker>, settings: Arc<Settings>) -> Self {
        Self { worker, settings }
    }

    fn proxy(&self, index: usize) -> Result<&ProxySection, ScriptError> {
        let found = self.worker.shared.proxies.get(index);
        found.ok_or_else(|| ScriptError::refused("there is no such proxy"))
    }

    /// The figures of the first row that a filter wants and `is` accepts.
    fn figures(&self, filter: &Filter, is: impl Fn(&Row) -> bool) -> Plain {
        let rows = stats::rows(&self.worker.shared, Clock::of(&self.worker), filter);
        let row = rows.iter().find(|row| is(row));
        let field = |(_, column, _, value): (_, &stats::field::Column, _, &Value)| {
            (key(column.name), plain(value))
        };
        Plain::Map(row.into_iter().flat_map(Row::present_values).map(field).collect())
    }

    fn change(&self, words: &[&str]) -> Plain {
        let text = script_changes::run(&self.worker, &self.settings, words);
        text.map_or(Plain::Nil, Plain::from)
    }

    /// Runs a command and drops its messages.
    fn quietly(&self, words: &[&str]) -> Plain {
        script_changes::run(&self.worker, &self.settings, words);
        Plain::Nil
    }

    fn check(&self, target: &str, what: &str, call: CheckCall) -> Plain {
        let agent = what == "agent";
        match call {
            CheckCall::Enable => self.quietly(&["enable", what, target]),
            CheckCall::Disable => self.quietly(&["disable", what, target]),
            CheckCall::Up => self.quietly(&["set", "server", target, what, "up"]),
            CheckCall::Down => self.quietly(&["set", "server", target, what, "down"]),
            CheckCall::Stopping if agent => Plain::Nil,
            CheckCall::Stopping => self.quietly(&["set", "server", target, what, "stopping"]),
        }
    }

    fn end_backups(&self, proxy: &ProxySection) {
        let servers = proxy.back.iter().flat_map(|back| back.servers.iter().enumerate());
        for (slot, _) in servers.filter(|(_, server)| server.state.settings().backup) {
            end_all(&self.worker.shared, StreamSet::Server(proxy.index, slot), Cause::Killed);
        }
    }
}

/// The server of a name that is there.
fn find<'p>(proxy: &'p ProxySection, name: &str) -> Option<(usize, &'p Server)> {
    let back: &Backend = proxy.back.as_ref()?;
    let slot = server_add_delete::named(back, name)?;
    Some((slot, back.servers.get(slot)?))
}

fn plain(value: &Value) -> Plain {
    match value {
        Value::Empty => Plain::Nil,
        Value::U32(number) => Plain::Int(i64::from(*number)),
        Value::S32(number) => Plain::Int(i64::from(*number)),
        Value::U64(number) => Plain::Int(*number as i64),
        Value::Micros(micros) => Plain::Float(*micros as f64 / 1e6),
        Value::Text(text) => text.as_str().into(),
    }
}

fn entry(proxy: &ProxySection, has_table: bool) -> ProxyEntry {
    let binds = proxy.front.iter().flat_map(|front| &front.settings.binds);
    let named =
        |bind: &settings::Bind| bind.name.clone().unwrap_or_else(|| format!("sock-{}", bind.id));
    ProxyEntry {
        name: proxy.name().to_owned(),
        id: proxy.settings.id,
        capability: match (&proxy.front, &proxy.back) {
            (Some(_), Some(_)) => "proxy",
            (Some(_), None) => "frontend",
            _ => "backend",
        },
        mode: match proxy.settings.mode {
            Mode::Http => "http",
            Mode::Tcp if proxy.settings.is_spop => "spop",
            Mode::Tcp => "tcp",
        },
        listeners: binds.map(named).collect(),
        has_table,
    }
}

/// Which rows are figures of a kind of a proxy.
fn rows_of(proxy: &Proxy, kind: Kind, id: Option<u32>) -> Filter {
    let kinds = 1 << kind.number();
    Filter { proxy: Some(proxy.settings.id), kinds, id, legends: true, ..Filter::default() }
}

fn address(server: &Server) -> Plain {
    match &server.location.now().address {
        Address::Inet(address) => format!("{}:{}", address.ip(), address.port()).into(),
        Address::Unix(path) => format!("unix@{}", path.display()).into(),
        Address::Pair(_) => "sockpair@".into(),
    }
}

impl Process for ScriptProcess {
    fn proxies(&self) -> Vec<ProxyEntry> {
        let shared = &self.worker.shared;
        let all = shared.proxies.iter();
        all.map(|proxy| entry(proxy, tables::of(shared, proxy).is_some())).collect()
    }

    fn info(&self) -> Plain {
        let items = info::all(&self.worker, &self.settings, false);
        Plain::Map(items.iter().map(|item| (key(item.name), plain(&item.value))).collect())
    }

    fn proxy(&self, proxy: usize, call: ProxyCall<'_>) -> Result<Plain, ScriptError> {
        let proxy = self.proxy(proxy)?;
        let name = proxy.name();
        Ok(match call {
            ProxyCall::Stats => {
                let kind = if proxy.back.is_some() { Kind::Backend } else { Kind::Frontend };
                self.figures(&rows_of(proxy, kind, None), |_| true)
            }
            ProxyCall::ListenerStats(own) => {
                let named = |row: &Row| row.get(stats::field::Field::Svname).text() == own;
                self.figures(&rows_of(proxy, Kind::Listener, None), named)
            }
            ProxyCall::Servers => {
                let servers = proxy.back.iter().flat_map(|back| back.servers.iter());
                Plain::List(servers.map(|server| server.state.name().to_string().into()).collect())
            }
            ProxyCall::Pause => self.quietly(&["disable", "frontend", name]),
            ProxyCall::Resume => self.quietly(&["enable", "frontend", name]),
            ProxyCall::Stop => self.quietly(&["shutdown", "frontend", name]),
            ProxyCall::ShutBackupSessions => {
                self.end_backups(proxy);
                Plain::Nil
            }
        })
    }

    fn server(&self, server: ServerOf<'_>, call: ServerCall<'_>) -> Result<Plain, ScriptError> {
        let proxy = self.proxy(server.proxy)?;
        let Some((slot, running)) = find(proxy, server.name) else {
            return match call {
                ServerCall::Number => Ok(Plain::Nil),
                _ => {
                    let text = format!("there is no server '{}' any more", server.name);
                    Err(ScriptError::Refused(text))
                }
            };
        };
        let target = format!("#{}/{}", proxy.settings.id, server.name);
        let set = |what: &str, value: &str| self.quietly(&["set", "server", &target, what, value]);
        Ok(match call {
            ServerCall::Number => {
                // Scripts keep objects of configured servers; they look up added servers each time.
                if !running.settings.dynamic {
                    running.scripted.store(true, Relaxed);
                }
                running.state.id().to_string().into()
            }
            ServerCall::Stats => {
                let filter = rows_of(proxy, Kind::Server, Some(running.state.id()));
                self.figures(&filter, |row| row.slot == slot)
            }
            ServerCall::IsDraining => Plain::Int(running.state.state().1.in_drain().into()),
            ServerCall::Weight => Plain::Int(i64::from(running.state.user_weight())),
            ServerCall::SetWeight(text) => self.change(&["set", "weight", &target, text]),
            ServerCall::Maxconn => Plain::Int(i64::from(running.limit.most())),
            ServerCall::SetMaxconn(text) => {
                self.change(&["set", "maxconn", "server", &target, text])
            }
            ServerCall::Address => address(running),
            ServerCall::SetAddress(to, "") => self.change(&["set", "server", &target, "addr", to]),
            ServerCall::SetAddress(to, port) => {
                self.change(&["set", "server", &target, "addr", to, "port", port])
            }
            ServerCall::ShutSessions => {
                end_all(&self.worker.shared, StreamSet::Server(proxy.index, slot), Cause::Killed);
                Plain::Nil
            }
            ServerCall::Drain => set("state", "drain"),
            ServerCall::Maintain => set("state", "maint"),
            ServerCall::Ready => set("state", "ready"),
            ServerCall::Check(check) => self.check(&target, "health", check),
            ServerCall::Agent(check) => self.check(&target, "agent", check),
        })
    }

    fn table(&self, proxy: usize, call: &TableCall) -> Result<Plain, ScriptError> {
        let proxy = self.proxy(proxy)?;
        let table = tables::of(&self.worker.shared, proxy);
        match (table, call) {
            (found, TableCall::Exists) => Ok(Plain::Bool(found.is_some())),
            (Some(table), call) => tables::call(table, call, self.worker.millis()),
            (None, _) => Err(ScriptError::refused("the proxy has no stick table")),
        }
    }

    fn patterns(&self, file: &str, change: PatternCall<'_>) -> Option<Result<(), ScriptError>> {
        let is_map = matches!(change, PatternCall::SetMap(..));
        let found = self.settings.dictionaries.find(file).filter(|_| !file.starts_with('#'));
        let dictionary = found.filter(|found| !is_map || found.is_map())?;
        Some(changed(dictionary, change).map_err(|refusal| match refusal {
            Refusal::Invalid(message) => ScriptError::refused(message),
            Refusal::Memory => ScriptError::refused("memory is short"),
            _ => ScriptError::refused("entry not found"),
        }))
    }

    fn certificate(&self, file: &str, parts: &[(String, Vec<u8>)]) -> Result<(), ScriptError> {
        let tls = &self.settings.tls;
        let set = |suffix: &str, content: &[u8]| {
            let text = String::from_utf8_lossy(content);
            tls.set_certificate(&format!("{file}{suffix}"), &text)
        };
        let told = |refusal: tls::runtime::Refusal| {
            let _ = tls.abort_certificate(file);
            ScriptError::refused(crate::cli::why_refused(&refusal, file))
        };
        // The certificate is applied before its key, whatever the order in the script.
        for (kind, suffix) in [
            ("crt", ""),
            ("key", ".key"),
            ("issuer", ".issuer"),
            ("ocsp", ".ocsp"),
            ("sctl", ".sctl"),
        ] {
            for (_, content) in parts.iter().filter(|(named, _)| named == kind) {
                set(suffix, content).map_err(told)?;
            }
        }
        tls.commit_certificate(file).map(drop).map_err(told)
    }
}

fn changed(dictionary: &Dictionary, change: PatternCall<'_>) -> Result<(), Refusal> {
    match change {
        PatternCall::SetMap(key, value) => match dictionary.set(key, value) {
            Err(Refusal::NoEntry) => dictionary.add(None, key, value),
            done => done,
        },
        PatternCall::AddAcl(key) => match dictionary.set(key, b"") {
            Err(Refusal::NoEntry) => dictionary.add(None, key, b""),
            done => done,
        },
        // An entry that is absent needs no removal.
        PatternCall::DelMap(key) | PatternCall::DelAcl(key) => match dictionary.remove(key) {
            Err(Refusal::NoEntry) => Ok(()),
            done => done,
        },
    }
}
