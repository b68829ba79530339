//! `show peers`: sections of peers, connections, shared tables.

use super::call::{Call, Reply};
use ::peers::{GroupView, PeerStatus, PeerView, SessionView, TableView};
use engine::state::peer_group::PeerGroup;
use sample::calendar::Date;
use settings::PeerServer;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Numbers of texts in a direction.
const TEXTS: usize = ::peers::dictionary::CAPACITY;
/// Texts in one line.
const COLUMNS: usize = 4;

/// The moment of a listing.
struct ListingTime {
    /// Milliseconds on the clock of the tables.
    now: u64,
    /// Seconds since 1970, and seconds east of Greenwich.
    wall: u64,
    offset: i32,
}

/// `show peers [dict|-] [<section>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let (texts, name) = match call.word(2) {
        "dict" => (true, call.word(3)),
        "-" => (false, call.word(3)),
        name => (false, name),
    };
    let worker = call.worker;
    let moment = ListingTime {
        now: worker.millis(),
        wall: worker.second().into(),
        offset: worker.local_offset(),
    };
    let named = |it: &&PeerGroup| name.is_empty() || it.settings.name == name;
    let mut out = String::new();
    for section in worker.shared.peers.iter().filter(named) {
        let (view, tables) = {
            let group = section.lock();
            (
                group.view(),
                group.tables().iter().map(|it| Arc::as_ptr(&it.table) as usize).collect(),
            )
        };
        PeersListing { section, view: &view, tables, moment: &moment, texts }.write(&mut out);
    }
    match out.is_empty() && !name.is_empty() {
        true => Reply::error("No such peers"),
        false => Reply::Dump(out),
    }
}

/// One section, as it was a moment ago.
struct PeersListing<'a> {
    section: &'a PeerGroup,
    view: &'a GroupView,
    /// Addresses of the tables in memory, as identities.
    tables: Vec<usize>,
    moment: &'a ListingTime,
    /// Texts are listed as well.
    texts: bool,
}

// Writing to a string cannot fail.
impl PeersListing<'_> {
    fn write(&self, out: &mut String) {
        let (view, now) = (self.view, self.moment.now);
        let began = self.moment.wall.saturating_sub(now.saturating_sub(view.began_at) / 1_000);
        let mut date = Vec::new();
        Date::new(began as i64, self.moment.offset).write_clf(&mut date);
        let timeout = match view.resync_due {
            None if view.is_up_to_date => "<PAST>".to_owned(),
            due => distance(due, now),
        };
        let _ = writeln!(
            out,
            "{:#x}: [{}] id={} disabled=0 flags={:#x} resync_timeout={timeout} task_calls={}",
            address(self.section),
            String::from_utf8_lossy(&date),
            self.section.settings.name,
            group_flags(view),
            self.section.turns.load(Relaxed),
        );
        // As HAProxy lists them, the last one declared first.
        let remotes = view.peers.iter().enumerate().map(|(at, peer)| (peer, at)).skip(1).rev();
        for (peer, at) in remotes.chain(view.peers.iter().zip(0..).take(1)) {
            self.peer(peer, at, out);
        }
    }

    fn peer(&self, peer: &PeerView, at: usize, out: &mut String) {
        let (now, counters) = (self.moment.now, &peer.counters);
        let open = peer.session.as_ref().filter(|session| session.is_open);
        let is_active = peer.is_connecting || peer.session.is_some();
        let _ = writeln!(
            out,
            "  {:#x}: id={}({},{}) addr={} last_status={} last_hdshk={}",
            address(peer),
            peer.name,
            if peer.is_local { "local" } else { "remote" },
            if is_active { "active" } else { "inactive" },
            self.peer_address(at),
            status(peer.status),
            peer.established_at.map_or("<NEVER>".to_owned(), |at| span(now.saturating_sub(at))),
        );
        let _ = writeln!(
            out,
            "        reconnect={} heartbeat={} confirm=0 tx_hbt={} rx_hbt={} no_hbt={} new_conn={} \
             proto_err={} coll={}",
            distance(peer.reconnect_at, now),
            distance(open.and_then(|session| session.heartbeat_at), now),
            counters.sent_heartbeats,
            counters.received_heartbeats,
            counters.missing_heartbeats,
            counters.new_connections,
            counters.protocol_errors,
            counters.collisions,
        );
        let _ = write!(out, "        flags={:#x}", peer_flags(peer, self.view, at));
        if let Some(session) = &peer.session {
            let (step, state) = if session.is_open { (7, "EST") } else { (6, "CON") };
            let number = session.id.number() + 1;
            let _ = write!(out, " appctx:{number:#x} st0={step} st1=0 task_calls=0 state={state}");
        }
        out.push('\n');
        if let Some(session) = open {
            self.current("remote_table", session.learned_table, peer, out);
            self.current("last_local_table", session.taught_table, peer, out);
        }
        out.push_str("        shared tables:\n");
        for (place, table) in peer.tables.iter().enumerate().rev() {
            self.table(peer, table, place, out);
        }
    }

    /// The address of a peer's line.
    fn peer_address(&self, at: usize) -> String {
        let settings = &self.section.settings;
        let server = match at.checked_sub(1) {
            None => settings.successor.as_ref(),
            Some(remote) => settings.remotes.get(remote),
        };
        let address = server.and_then(|server: &PeerServer| server.address.as_ref());
        address.map_or("-".to_owned(), ToString::to_string)
    }

    /// The table that updates of one direction are about.
    fn current(&self, title: &str, at: Option<usize>, peer: &PeerView, out: &mut String) {
        let Some((table, at)) = at.and_then(|at| Some((peer.tables.get(at)?, at))) else { return };
        let (place, name) = (self.tables[at], &table.name);
        let (local, remote) = (table.local_id, table.remote_id);
        let _ = writeln!(
            out,
            "        {title}:{place:#x} id={name} local_id={local} remote_id={remote}"
        );
    }

    fn table(&self, peer: &PeerView, table: &TableView, at: usize, out: &mut String) {
        let session = peer.session.as_ref();
        let is_taught = session.is_some_and(|session| session.is_lesson);
        let all = self.view.peers.iter().filter(|peer| !peer.is_local);
        let confirmed = all.filter_map(|peer| peer.tables.get(at)).map(|table| table.confirmed);
        let _ = writeln!(
            out,
            "          {:#x} local_id={} remote_id={} flags={:#x} remote_data={:#x}\n              \
             last_acked={} last_pushed={} last_get={} teaching_origin=0 update={}\n              \
             table:{:#x} id={} update={} localupdate={} commitupdate={} refcnt=1",
            address(table),
            table.local_id,
            table.remote_id,
            u32::from(is_taught),
            table.remote_data,
            table.last_confirmed,
            table.last_sent,
            table.last_received,
            table.last_acked,
            self.tables[at],
            table.name,
            table.changes,
            table.changes,
            confirmed.min().unwrap_or(0),
        );
        match self.texts {
            true => texts(session, out),
            false => {
                out.push_str("        Dictionary cache not dumped (use \"show peers dict\")\n");
            }
        }
    }
}

/// The texts of both directions, which all tables of a connection share.
fn texts(session: Option<&SessionView>, out: &mut String) {
    out.push_str("        TX dictionary cache:\n");
    let sent = session.iter().flat_map(|session| session.sent_texts.iter().map(|it| Some(&**it)));
    columns(sent, out);
    out.push_str("        RX dictionary cache:\n");
    let known = session.map_or(&[][..], |session| &session.received_texts);
    columns((0..TEXTS).map(|at| known.get(at)?.as_deref()), out);
}

fn columns<'a>(texts: impl Iterator<Item = Option<&'a str>>, out: &mut String) {
    let mut count = 0;
    for text in texts {
        let end = if count % COLUMNS == COLUMNS - 1 { "\n" } else { "" };
        let lead = if count % COLUMNS == 0 { "        " } else { "" };
        let _ = write!(out, "{lead}{count:5} -> {}{end}", text.unwrap_or("-"));
        count += 1;
    }
    if count % COLUMNS != 0 {
        out.push('\n');
    }
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of) as usize
}

/// Bits of a section: it is up to date, it stops, a peer teaches it.
fn group_flags(view: &GroupView) -> u32 {
    u32::from(view.is_up_to_date)
        | u32::from(view.is_stopping) << 1
        | u32::from(view.teacher.is_some()) << 2
}

/// Bits of a peer: its session is open, it is being taught everything, it teaches this process, and
/// it was not up to date when it did so.
fn peer_flags(peer: &PeerView, view: &GroupView, at: usize) -> u32 {
    let session = peer.session.as_ref();
    u32::from(session.is_some_and(|session| session.is_open))
        | u32::from(session.is_some_and(|session| session.is_lesson)) << 1
        | u32::from(view.teacher == Some(at)) << 2
        | u32::from(peer.is_partial) << 3
}

/// HAProxy's words for the state of the last connection.
fn status(status: PeerStatus) -> &'static str {
    match status {
        PeerStatus::None => "NONE",
        PeerStatus::Connecting => "CONN",
        PeerStatus::Handshake => "HSHK",
        PeerStatus::Established => "ESTA",
        PeerStatus::Closed => "CLOS",
        PeerStatus::Refused(300) => "RETR",
        PeerStatus::Refused(502) => "BVER",
        PeerStatus::Refused(503) => "NAME",
        PeerStatus::Refused(504) => "UNKN",
        PeerStatus::Refused(_) => "PROT",
    }
}

/// The time until a moment.
fn distance(due: Option<u64>, now: u64) -> String {
    match due {
        None => "<NEVER>".to_owned(),
        Some(due) if due <= now => "<PAST>".to_owned(),
        Some(due) => span(due - now),
    }
}

/// A time as its two greatest units.
fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match () {
        () if minutes == 0 => format!("{seconds}s"),
        () if hours == 0 => format!("{minutes}m{:02}s", seconds % 60),
        () if days == 0 => format!("{hours}h{:02}m", minutes % 60),
        () => format!("{days}d{:02}h", hours % 24),
    }
}
