//! All implemented commands, one entry each.

use super::call::{Call, Reply, SessionState, Severity};
use super::{
    activity, anon, authorities, caches, certificates, configuration_lists, cookies, crt_lists,
    debug, dynamic, errors, events, handover, help, http_client, limits, not_implemented, patterns,
    peers, profiling, quic, resolvers, script_command, servers, session_commands, sessions, show,
    shutdown_sessions, staples, system, tables, tasks, ticket_keys, trace, variables, why,
};
use crate::settings::Level;

/// A command.
pub(super) struct CommandEntry {
    /// Its words.
    pub(super) words: &'static str,
    /// Its arguments, as help shows them.
    pub(super) args: &'static str,
    /// The level that may call it.
    pub(super) level: Level,
    /// The mode of the session that it needs, if any.
    pub(super) mode: Option<Mode>,
    /// Its help text.
    pub(super) doc: &'static str,
    /// The function that runs it.
    pub(super) run: fn(&mut Call<'_>) -> Reply,
}

const fn entry(
    words: &'static str,
    args: &'static str,
    level: Level,
    doc: &'static str,
    run: fn(&mut Call<'_>) -> Reply,
) -> CommandEntry {
    CommandEntry { words, args, level, mode: None, doc, run }
}

/// A command that needs `expert-mode on`.
const fn expert(
    words: &'static str,
    args: &'static str,
    doc: &'static str,
    run: fn(&mut Call<'_>) -> Reply,
) -> CommandEntry {
    CommandEntry { words, args, level: Admin, mode: Some(Mode::Expert), doc, run }
}

/// Modes of a session without which some commands are not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// `expert-mode on`
    Expert,
}

use Level::{Admin, Operator, User};

/// The words of every command.
pub(crate) fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|entry| entry.words)
}

/// The commands, in the order of help.
#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandEntry] = &[
    entry("_getsocks", "", Admin, "", handover::send_sockets),
    entry("_reload_failed", "<date> <pid> <message>", Admin, "", session_commands::reload_failed),
    entry("_signal", "<number>", Admin, "", session_commands::signal),
    entry("abort ssl ca-file", "<cafile>", Admin, "abort a transaction for a CA file", authorities::abort),
    entry("abort ssl cert", "<certfile>", Admin, "abort a transaction for a certificate file", certificates::abort),
    entry("abort ssl crl-file", "<crlfile>", Admin, "abort a transaction for a CRL file", authorities::abort),
    entry("add acl", "[@<ver>] <acl> <pattern>", Operator, "add an acl entry", patterns::add),
    entry("add map", "[@<ver>] <map> <key> <val>", Operator, "add a map entry (payload supported instead of key/val)", patterns::add),
    entry("add server", "<bk>/<srv>", Admin, "create a new server", dynamic::add),
    entry("add ssl ca-file", "<cafile> <payload>", Admin, "add a certificate into the CA file", authorities::add),
    entry("add ssl crt-list", "<list> <cert> [opts]*", Admin, "add to crt-list file <list> a line <cert> or a payload", crt_lists::add),
    entry("clear acl", "[@<ver>] <acl>", Operator, "clear the contents of this acl", patterns::clear),
    entry("clear cache", "<cache> [key <url>|prefix <prefix>]", Operator, "remove the objects of a cache (all, of this URL, or of URLs that start so)", caches::clear),
    entry("clear counters", "[all]", Operator, "clear max statistics counters (or all counters)", limits::clear_counters),
    entry("clear map", "[@<ver>] <map>", Operator, "clear the contents of this map", patterns::clear),
    entry("clear table", "<table> [<filter>]*", Operator, "remove an entry from a table (filter: data/key)", tables::clear),
    entry("commit acl", "@<ver> <acl>", Operator, "commit the ACL at this version", patterns::commit),
    entry("commit map", "@<ver> <map>", Operator, "commit the map at this version", patterns::commit),
    entry("commit ssl ca-file", "<cafile>", Admin, "commit a CA file", authorities::commit),
    entry("commit ssl cert", "<certfile>", Admin, "commit a certificate file", certificates::commit),
    entry("commit ssl crl-file", "<crlfile>", Admin, "commit a CRL file", authorities::commit),
    entry("del acl", "<acl> [<key>|#<ref>]", Operator, "delete acl entries matching <key>", patterns::del),
    entry("del map", "<map> [<key>|#<ref>]", Operator, "delete map entries matching <key>", patterns::del),
    entry("del server", "<bk>/<srv>", Admin, "remove a dynamically added server", dynamic::del),
    entry("del ssl ca-file", "<cafile>", Admin, "delete an unused CA file", authorities::del),
    entry("del ssl cert", "<certfile>", Admin, "delete an unused certificate file", certificates::del),
    entry("del ssl crl-file", "<crlfile>", Admin, "delete an unused CRL file", authorities::del),
    entry("del ssl crt-list", "<list> <cert[:line]>", Admin, "delete a line <cert> from crt-list file <list>", crt_lists::del),
    entry("disable agent", "", Admin, "disable agent checks", servers::disable_agent),
    entry("disable dynamic-cookie backend", "<bk>", Admin, "disable dynamic cookies on a specific backend", cookies::disable),
    entry("disable frontend", "<frontend>", Admin, "temporarily disable specific frontend", limits::disable_frontend),
    entry("disable health", "", Admin, "disable health checks", servers::disable_health),
    entry("disable server", "(DEPRECATED)", Admin, "disable a server for maintenance (use 'set server' instead)", servers::disable),
    entry("enable agent", "", Admin, "enable agent checks", servers::enable_agent),
    entry("enable dynamic-cookie backend", "<bk>", Admin, "enable dynamic cookies on a specific backend", cookies::enable),
    entry("enable frontend", "<frontend>", Admin, "re-enable specific frontend", limits::enable_frontend),
    entry("enable health", "", Admin, "enable health checks", servers::enable_health),
    entry("enable server", " (DEPRECATED)", Admin, "enable a disabled server (use 'set server' instead)", servers::enable),
    entry("experimental-mode", "[on|off]", Admin, "show or toggle access to experimental commands", session_commands::experimental),
    entry("expert-mode", "[on|off]", Admin, "show or toggle access to expert commands", session_commands::expert),
    entry("get acl", "<acl> <value>", User, "report the patterns matching a sample for an ACL", patterns::get),
    entry("get map", "<acl> <value>", User, "report the keys and values matching a sample for a map", patterns::get),
    entry("get var", "<name>", Operator, "retrieve contents of a process-wide variable", variables::get),
    entry("get weight", "<bk>/<srv>", User, "report a server's current weight", servers::get_weight),
    entry("new ssl ca-file", "<cafile>", Admin, "create a new CA file to be used in a crt-list", authorities::new),
    entry("new ssl cert", "<certfile>", Admin, "create a new certificate file to be used in a crt-list or a directory", certificates::new),
    entry("new ssl crl-file", "<crlfile>", Admin, "create a new CRL file to be used in a crt-list", authorities::new),
    entry("operator", "", User, "lower the level of the current CLI session to operator", session_commands::operator),
    entry("prepare acl", "<acl>", Operator, "prepare a new version for atomic ACL replacement", patterns::prepare),
    entry("prepare map", "<acl>", Operator, "prepare a new version for atomic map replacement", patterns::prepare),
    expert("debug dev check", "", "check an invariant", debug::check),
    expert("debug dev delay", "[ms]", "sleep this long", debug::delay),
    expert("debug dev fd", "", "scan for rogue/unhandled FDs", debug::descriptors),
    expert("debug dev hash", "[msg]", "return msg hashed if anon is set", debug::hash),
    expert("debug dev log", "[msg] ...", "send this msg to global logs", debug::log),
    expert("debug dev loop", "[ms]", "loop this long", debug::spin),
    expert("debug dev warn", "", "log a warning", debug::warn),
    expert("debug dev write", "[size]", "write that many bytes in return", debug::write),
    expert("httpclient", "<method> <URI>", "launch an HTTP request", http_client::request),
    entry("set anon", "<setting> [value]", User, "change the anonymized mode setting", anon::set),
    entry("set anon global-key", "<value>", Admin, "change the global anonymizing key", anon::set_global),
    entry("set dynamic-cookie-key backend", "<bk> <k>", Admin, "change a backend secret key for dynamic cookies", cookies::set_key),
    entry("set map", "<map> [<key>|#<ref>] <value>", Operator, "modify a map entry", patterns::set),
    entry("set maxconn frontend", "<frontend> <value>", Admin, "change a frontend's maxconn setting", limits::maxconn_frontend),
    entry("set maxconn global", "<value>", Admin, "change the per-process maxconn setting", limits::maxconn_global),
    entry("set maxconn server", "<bk>/<srv>", Admin, "change a server's maxconn setting", servers::maxconn),
    entry("set profiling", "<what> {auto|on|off}", Admin, "enable/disable resource profiling (tasks,memory)", profiling::set),
    entry("set rate-limit", "<setting> <value>", Admin, "change a rate limiting value", limits::rate_limit),
    entry("set server", "<bk>/<srv> [opts]", Admin, "change a server's state, weight or health", servers::set),
    entry("set severity-output", "[none|number|string]", User, "set presence of severity level in feedback information", session_commands::severity),
    entry("set ssl ca-file", "<cafile> <payload>", Admin, "replace a CA file", authorities::set),
    entry("set ssl cert", "<certfile> <payload>", Admin, "replace a certificate file", certificates::set),
    entry("set ssl crl-file", "<crlfile> <payload>", Admin, "replace a CRL file", authorities::set),
    entry("set ssl ocsp-response", "<resp|payload>", Admin, "update a certificate's OCSP Response from a base64-encode DER", staples::set),
    entry("set ssl tls-key", "[id|file] <key>", Admin, "set the next TLS key for the <id> or <file> listener to <key>", ticket_keys::set),
    entry("set table", "<table> key <k> [data.* <v>]*", Operator, "update or create a table entry's data", tables::set),
    entry("set timeout", "[cli] <delay>", User, "change a timeout setting", session_commands::timeout),
    entry("set var", "<name> [fmt|expr] {<fmt>|<expr>}", Operator, "set variable from an expression/format", variables::set),
    entry("set weight", "<bk>/<srv>  (DEPRECATED)", Admin, "change a server's weight (use 'set server' instead)", servers::set_weight),
    entry("set why", "{on|off}", Admin, "remember transactions for 'show why', or not", why::set),
    entry("show acl", "[@<ver>] <acl>]", User, "report available acls or dump an acl's contents", patterns::show),
    entry("show activity", "[-1|0|thread_num]", User, "show per-thread activity stats (for support/developers)", activity::show),
    entry("show anon", "", User, "display the current state of anonymized mode", anon::show),
    entry("show backend", "", User, "list backends in the current running config", configuration_lists::backends),
    entry("show cache", "", Admin, "show cache status", caches::show),
    entry("show cli level", "", User, "display the level of the current CLI session", session_commands::level),
    entry("show cli sockets", "", User, "dump list of cli sockets", configuration_lists::sockets),
    entry("show env", "[var]", Operator, "dump environment variables known to the process", configuration_lists::environment),
    entry("show errors", "[<px>] [request|response]", Operator, "report last request and/or response errors for each proxy", errors::show),
    entry("show events", "[<sink>] [-w] [-n]", User, "show event sink state", events::show),
    entry("show fd", "[num]", Operator, "dump list of file descriptors in use or a specific one", system::descriptors),
    entry("show info", "[desc|json|typed|float]*", User, "report information about the running process", show::info),
    entry("show libs", "", Operator, "show loaded object files and libraries", system::libraries),
    entry("show map", "[@ver] [map]", User, "report available maps or dump a map's contents", patterns::show),
    entry("show peers", "[dict|-] [section]", User, "dump some information about all the peers or this peers section", peers::show),
    entry("show pools", "", User, "report information about the memory pools usage", system::pools),
    entry("show profiling", "[<what>|<#lines>|<opts>]*", Admin, "show profiling state (all,status,tasks,memory)", profiling::show),
    entry("show quic", "[help|<format>] [<filter>]", Operator, "list the QUIC connections of clients", quic::show),
    entry("show resolvers", "[id]", User, "dumps counters from all resolvers section and associated name servers", resolvers::show),
    entry("show schema json", "", User, "report schema used for stats", show::schema),
    entry("show servers conn", "[<backend>]", User, "dump server connections status (all or for a single backend)", configuration_lists::servers_conn),
    entry("show servers state", "[<backend>]", User, "dump volatile server information (all or for a single backend)", configuration_lists::servers_state),
    entry("show sess", "[id]", Operator, "report the list of current sessions or dump this exact session", sessions::show),
    entry("show ssl ca-file", "[<cafile>[:<index>]]", User, "display the SSL CA files used in memory, or the details of a <cafile>, or a single certificate of index <index> of a CA file <cafile>", authorities::show),
    entry("show ssl cert", "[<certfile>]", User, "display the SSL certificates used in memory, or the details of a file", certificates::show),
    entry("show ssl crl-file", "[<crlfile[:<index>>]]", User, "display the SSL CRL files used in memory, or the details of a <crlfile>, or a single CRL of index <index> of CRL file <crlfile>", authorities::show),
    entry("show ssl crt-list", "[-n] [<list>]", Admin, "show the list of crt-lists or the content of a crt-list file <list>", crt_lists::show),
    entry("show ssl ocsp-response", "[id]", User, "display the IDs of the OCSP responses used in memory, or the details of a single OCSP response", staples::show),
    entry("show ssl ocsp-updates", "", User, "display information about the next 'nb' ocsp responses that will be updated automatically", staples::show_updates),
    entry("show ssl providers", "", User, "show loaded SSL providers", staples::providers),
    entry("show startup-logs", "", Operator, "report logs emitted during HAProxy startup", show::startup_logs),
    entry("show stat", "[desc|json|no-maint|typed|up]*", User, "report counters for each proxy and server", show::stat),
    entry("show table", "<table> [<filter>]*", User, "report table usage stats or dump this table's contents (filter: data/key)", tables::show),
    entry("show tasks", "", User, "show running tasks", tasks::tasks),
    entry("show threads", "", User, "show some threads debugging information", tasks::threads),
    entry("show tls-keys", "[id|*]", User, "show tls keys references or dump tls ticket keys when id specified", ticket_keys::show),
    entry("show trace", "[<module>]", Operator, "show live tracing state", trace::show),
    entry("show version", "", User, "show version of the current process", show::version),
    entry("show why", "[errors|last [error]|<id>]", Operator, "tell what became of transactions (id: number or unique id)", why::show),
    entry("shutdown frontend", "<frontend>", Admin, "stop a specific frontend", limits::shutdown_frontend),
    entry("shutdown session", "[id]", Admin, "kill a specific session", shutdown_sessions::one),
    entry("shutdown sessions server", "<bk>/<srv>", Admin, "kill sessions on a server", shutdown_sessions::of_server),
    entry("trace", "[<module>|0] [cmd [args...]]", Operator, "manage live tracing (empty to list, 0 to stop all)", trace::set),
    entry("update ssl ocsp-response", "<certfile>", Admin, "send ocsp request and update stored ocsp response", staples::update),
    entry("user", "", User, "lower the level of the current CLI session to user", session_commands::user),
    entry("help", "[<command>]", User, "list matching or all commands", help::run),
    entry("prompt", "", User, "toggle interactive mode with prompt", session_commands::prompt),
    entry("quit", "", User, "disconnect", session_commands::quit),
];

impl CommandEntry {
    /// Whether the command exists in the session's mode.
    pub(super) fn is_there(&self, state: &SessionState) -> bool {
        match self.mode {
            Some(Mode::Expert) => state.expert,
            None => true,
        }
    }

    /// Number of its words, if a command line begins with all of them.
    pub(super) fn matches(&self, words: &[String]) -> Option<usize> {
        let count = self.words.split(' ').count();
        let same = self.words.split(' ').zip(words).all(|(own, word)| own == word);
        (same && words.len() >= count).then_some(count)
    }
}

/// Runs a command line.
pub(super) fn run(call: &mut Call<'_>) -> Reply {
    let matches = |entry: &&CommandEntry| entry.matches(call.words).is_some();
    let found = COMMANDS.iter().filter(matches).max_by_key(|entry| entry.words.len());
    let not_yet = not_implemented::find(call.words);
    match (found, not_yet) {
        (Some(entry), not_yet) if not_yet.is_none_or(|it| it.len() < entry.words.len()) => {
            if entry.level > call.state.level {
                return Reply::error("Permission denied");
            }
            if !entry.is_there(call.state) {
                return Reply::error("This command is restricted to expert mode only.");
            }
            (entry.run)(call)
        }
        (_, Some(name)) => {
            let text = format!("The command '{name}' is not implemented yet.");
            Reply::Message(Severity::Error, text)
        }
        (_, None) => script_command::find(call).unwrap_or_else(|| help::unknown(call)),
    }
}
