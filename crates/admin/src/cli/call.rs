//! The arguments and the reply of a command.

use super::events::Follow;
use super::script_command::ScriptCommand;
use super::{
    ask_workers, configuration_lists, profiling, quic, sessions, shutdown_sessions, system, tasks,
    why,
};
use crate::settings::{CliSocket, Level, Settings, SeverityOutput};
use engine::state::records::anon::Anon;
use engine::state::runtime::{Backend, Frontend, Server};
use engine::state::services::Pieces;
use engine::state::session::stream_list::StreamSet;
use proxy::{HttpRequest, Shared, Worker};
use std::rc::Rc;
use std::sync::Arc;
use transport::stats::transaction_log::Cause;

/// How serious a message is, as `set severity-output` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Severity {
    Error,
    Warning,
    Notice,
    Info,
}

impl Severity {
    fn number(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warning => 4,
            Self::Notice => 5,
            Self::Info => 6,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Error => "err",
            Self::Warning => "warning",
            Self::Notice => "notice",
            Self::Info => "info",
        }
    }
}

/// The state of a session between two commands.
#[derive(Debug)]
pub(super) struct SessionState {
    /// Its level now, which can only be lowered.
    pub(super) level: Level,
    /// The level of its socket.
    pub(super) offered: Level,
    /// Whether a prompt is shown and the connection stays open.
    pub(super) interactive: bool,
    /// Whether the client wants to leave.
    pub(super) quitting: bool,
    pub(super) expert: bool,
    pub(super) experimental: bool,
    pub(super) severity: SeverityOutput,
    /// How names and addresses are shown.
    pub(super) anon: Anon,
    /// Milliseconds that the client may be silent.
    pub(super) timeout_ms: Option<u32>,
    /// Whether the session may request listening sockets.
    pub(super) exposes: bool,
    /// Whether it is the connection of a master.
    pub(super) of_master: bool,
    /// The origin of its changes, as messages name it.
    pub(super) origin: &'static str,
}

impl SessionState {
    pub(super) fn new(socket: &CliSocket, settings: &Settings) -> Self {
        Self {
            level: socket.level,
            offered: socket.level,
            interactive: false,
            quitting: false,
            expert: false,
            experimental: false,
            severity: socket.severity,
            anon: Anon::default(),
            timeout_ms: settings.timeout_ms,
            exposes: socket.exposes || socket.of_master,
            of_master: socket.of_master,
            origin: "stats socket command",
        }
    }
}

/// The arguments of a command.
pub(super) struct Call<'a> {
    pub(super) worker: &'a Rc<Worker>,
    pub(super) settings: &'a Settings,
    pub(super) state: &'a mut SessionState,
    /// All words, beginning with those of the command.
    pub(super) words: &'a [String],
    /// The payload of the command, if any.
    pub(super) payload: Option<&'a str>,
}

/// The reply of a command.
pub(super) enum Reply {
    /// The command is done and has no output.
    Done,
    /// Lines of output, each with its newline.
    Dump(String),
    /// One message, without its newline.
    Message(Severity, String),
    /// One message that ends the answer without an empty line.
    Bare(Severity, String),
    /// Lines of output, more than should be made in one go.
    Pieces(Pieces),
    /// The answer of every worker's own thread.
    Later(Later),
    /// `show sess`
    Streams(sessions::StreamPage),
    /// The messages of a ring, and perhaps those that follow.
    Follow(Follow),
    /// The response to a request of the process itself.
    Http(Box<HttpRequest>),
    /// The OCSP response that the authority gives.
    Staple(Box<tls::runtime::StapleQuery>),
    /// The listening sockets; nothing follows.
    HandOver,
    /// The answer of a script.
    Script(ScriptCommand),
    /// No output, not even the end of an answer.
    Silence,
}

/// An answer that takes the words of all workers.
pub(super) enum Later {
    /// Lines, in the order of the threads.
    Lines(fn(&Worker, &Settings, &mut String)),
    /// `show why`.
    Why(why::Asked, Anon),
    /// `show servers conn` about these.
    ServersConn(Vec<Arc<Backend>>, Anon),
    /// No output, after this number of milliseconds.
    Pause(u32),
    /// `show fd` about this one.
    Descriptor(i32),
    /// `show quic`.
    Quic(quic::QuicQuery, Anon),
    /// `show pools`.
    Pools,
    /// `show tasks`.
    Tasks,
    /// `show profiling`.
    Profile(profiling::ProfileRequest),
    /// `shutdown session` and `shutdown sessions server` of these.
    End(StreamSet),
}

impl Later {
    /// Asks all workers and renders their answers.
    pub(super) async fn render(self, worker: &Rc<Worker>, settings: &Arc<Settings>) -> String {
        match self {
            Self::Lines(say) => {
                let settings = settings.clone();
                let answers = ask_workers::all(worker, move |asked| {
                    let mut text = String::new();
                    say(asked, &settings, &mut text);
                    text
                });
                answers.await.concat()
            }
            Self::ServersConn(proxies, anon) => {
                let idle = ask_workers::all(worker, Worker::idle_counts).await;
                configuration_lists::connections(&proxies, &idle, anon)
            }
            Self::Why(asked, anon) => {
                let wanted = asked.clone();
                let known = ask_workers::all(worker, move |it| wanted.of(it)).await;
                let (shared, offset) = (&worker.shared, worker.local_offset());
                why::WhyPage { shared, anon, offset }.render(&asked, known)
            }
            Self::Pause(span) => {
                let until = worker.thread.tick().plus_ms(span);
                while !until.is_due(worker.thread.tick()) {
                    worker.thread.scheduler().wait(Some(until)).await;
                }
                String::new()
            }
            Self::Descriptor(number) => {
                ask_workers::all(worker, move |asked| system::only(asked, number)).await.concat()
            }
            Self::Quic(query, anon) => {
                let known = ask_workers::all(worker, Worker::quic_connections).await;
                quic::render(query, anon, known.concat())
            }
            Self::Pools => system::render_pools(ask_workers::all(worker, Worker::pool_uses).await),
            Self::Tasks => {
                let known = ask_workers::all(worker, tasks::of).await;
                tasks::render(worker.shared.settings.threads, known.concat())
            }
            Self::Profile(wanted) => {
                let known = ask_workers::all(worker, profiling::of).await;
                profiling::render(&worker.shared, wanted, known.concat())
            }
            Self::End(which) => {
                let end = move |asked: &Worker| asked.end_streams(which, Cause::Killed);
                shutdown_sessions::message(which, ask_workers::all(worker, end).await.iter().sum())
            }
        }
    }
}

impl Reply {
    /// A refusal.
    pub(super) fn error(text: impl Into<String>) -> Self {
        Self::Message(Severity::Error, text.into())
    }

    /// The same without the empty line at its end.
    pub(super) fn bare(self) -> Self {
        match self {
            Self::Message(severity, text) => Self::Bare(severity, text),
            other => other,
        }
    }

    /// The text as sent, with the empty line that ends every answer.
    pub(super) fn write(self, severity: SeverityOutput, out: &mut Vec<u8>) {
        let bare = matches!(self, Self::Bare(..));
        match self {
            Self::Silence => return,
            Self::Done
            | Self::Pieces(_)
            | Self::Later(_)
            | Self::Streams(_)
            | Self::Follow(_)
            | Self::Http(_)
            | Self::Staple(_)
            | Self::Script(_)
            | Self::HandOver => {}
            Self::Dump(text) => out.extend_from_slice(text.as_bytes()),
            Self::Message(level, text) | Self::Bare(level, text) => {
                let label = match severity {
                    SeverityOutput::None => String::new(),
                    SeverityOutput::Number => format!("[{}]: ", level.number()),
                    SeverityOutput::Text => format!("[{}]: ", level.name()),
                };
                out.extend_from_slice(label.as_bytes());
                out.extend_from_slice(text.as_bytes());
                if !bare {
                    out.push(b'\n');
                }
            }
        }
        out.push(b'\n');
    }
}

/// A server that a command names.
pub(super) struct Target {
    pub(super) back: Arc<Backend>,
    pub(super) slot: usize,
}

impl Target {
    pub(super) fn server(&self) -> &Server {
        &self.back.servers[self.slot]
    }
}

impl Call<'_> {
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.worker.shared
    }

    /// The word at this position, empty if there is none.
    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The backend of this name, or of this number after a `#`.
    pub(super) fn backend(&self, name: &str) -> Option<Arc<Backend>> {
        let by_id = name.strip_prefix('#').and_then(|id| id.parse::<u32>().ok());
        let is =
            |it: &&Arc<Backend>| it.proxy.name() == name || Some(it.proxy.settings.id) == by_id;
        self.shared().backends().find(is).cloned()
    }

    /// The server that the word at this position names as `backend/server`.
    pub(super) fn target(&self, at: usize) -> Result<Target, Reply> {
        let Some((backend, server)) = self.word(at).split_once('/') else {
            return Err(Reply::error("Require 'backend/server'."));
        };
        let Some(back) = self.backend(backend) else {
            return Err(Reply::error("No such backend."));
        };
        let by_id = server.strip_prefix('#').and_then(|id| id.parse::<u32>().ok());
        let is = |it: &Server| Some(it.state.id()) == by_id;
        let named = proxy::run::server_add_delete::named(&back, server);
        match named.or_else(|| by_id.and(back.servers.slot_of(is))) {
            Some(slot) => Ok(Target { back, slot }),
            None => Err(Reply::error("No such server.")),
        }
    }

    /// The frontend that the word at this position names.
    pub(super) fn frontend(&self, at: usize) -> Result<Arc<Frontend>, Reply> {
        match self.word(at) {
            "" => Err(Reply::error("A frontend name is expected.")),
            name => match self.shared().frontend(name) {
                Some(front) => Ok(front.clone()),
                None => Err(Reply::error("No such frontend.")),
            },
        }
    }
}
