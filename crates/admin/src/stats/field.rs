//! The columns of `show stat`, in order: management.txt 9.1, tags of 9.2.

use super::{Kind, Tags};

/// A column. The discriminant is its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Field {
    /// Name of the proxy.
    Pxname,
    /// Name of the server, or FRONTEND, or BACKEND.
    Svname,
    /// Requests waiting in the queue.
    Qcur,
    /// Most requests that ever waited.
    Qmax,
    /// Sessions now.
    Scur,
    /// Most sessions at once.
    Smax,
    /// Limit of sessions: maxconn, or fullconn of a backend.
    Slim,
    /// Sessions in all.
    Stot,
    /// Bytes received from clients.
    Bin,
    /// Bytes sent to clients.
    Bout,
    /// Requests denied.
    Dreq,
    /// Responses denied.
    Dresp,
    /// Invalid requests.
    Ereq,
    /// Failed attempts to connect to a server.
    Econ,
    /// Invalid responses.
    Eresp,
    /// Repeated attempts to connect.
    Wretr,
    /// Requests sent to another server than the one first chosen.
    Wredis,
    /// State.
    Status,
    /// Effective weight.
    Weight,
    /// Servers in use that are no backups.
    Act,
    /// Backup servers in use.
    Bck,
    /// Failed checks while the server was up.
    Chkfail,
    /// Changes from up to down.
    Chkdown,
    /// Seconds since the last change of state.
    Lastchg,
    /// Seconds spent down.
    Downtime,
    /// Limit of the queue (maxqueue).
    Qlimit,
    /// Number of the process, from 1.
    Pid,
    /// Number of the proxy.
    Iid,
    /// Number of the server in its proxy.
    Sid,
    /// Percent of the weight in use while the server starts slowly.
    Throttle,
    /// Requests that the balancing algorithm sent here.
    Lbtot,
    /// The server that this server tracks (`track`).
    Tracked,
    /// Kind of object: 0 frontend, 1 backend, 2 server, 3 listener.
    Type,
    /// Sessions in the last second.
    Rate,
    /// Limit of new sessions a second.
    RateLim,
    /// Most sessions in one second.
    RateMax,
    /// Outcome of the last check.
    CheckStatus,
    /// Code of the last check at layers 5 to 7.
    CheckCode,
    /// Milliseconds that the last check took.
    CheckDuration,
    /// Responses with status 1xx.
    Hrsp1xx,
    /// Responses with status 2xx.
    Hrsp2xx,
    /// Responses with status 3xx.
    Hrsp3xx,
    /// Responses with status 4xx.
    Hrsp4xx,
    /// Responses with status 5xx.
    Hrsp5xx,
    /// Responses with another status.
    HrspOther,
    /// Responses that observation counted as failures.
    Hanafail,
    /// HTTP requests in the last second.
    ReqRate,
    /// Most HTTP requests in one second.
    ReqRateMax,
    /// HTTP requests in all.
    ReqTot,
    /// Transfers aborted by the client.
    CliAbrt,
    /// Transfers aborted by the server.
    SrvAbrt,
    /// Bytes given to the compressor.
    CompIn,
    /// Bytes that the compressor made of them.
    CompOut,
    /// Bytes that bypassed the compressor.
    CompByp,
    /// Responses compressed.
    CompRsp,
    /// Seconds since the last session.
    Lastsess,
    /// The last response to a check, or the reason of its failure.
    LastChk,
    /// The last response to an agent check, or the reason of its failure.
    LastAgt,
    /// Average milliseconds in queues over the last 1024 requests.
    Qtime,
    /// Average milliseconds to connect over the last 1024 requests.
    Ctime,
    /// Average milliseconds to respond over the last 1024 requests.
    Rtime,
    /// Average milliseconds in all over the last 1024 requests.
    Ttime,
    /// Outcome of the last agent check.
    AgentStatus,
    /// Code of the last agent check.
    AgentCode,
    /// Milliseconds that the last agent check took.
    AgentDuration,
    /// The meaning of check_status.
    CheckDesc,
    /// The meaning of agent_status.
    AgentDesc,
    /// Successful checks needed to come up.
    CheckRise,
    /// Failed checks needed to go down.
    CheckFall,
    /// Counter of checks, from 0 to rise + fall - 1.
    CheckHealth,
    /// Successful agent checks needed to come up.
    AgentRise,
    /// Failed agent checks needed to go down.
    AgentFall,
    /// Counter of agent checks.
    AgentHealth,
    /// Address and port.
    Addr,
    /// Value of the server's cookie, or name of the backend's.
    Cookie,
    /// Mode of the proxy.
    Mode,
    /// Balancing algorithm.
    Algo,
    /// Connections in the last second.
    ConnRate,
    /// Most connections in one second.
    ConnRateMax,
    /// Connections in all.
    ConnTot,
    /// Requests answered by the proxy itself.
    Intercepted,
    /// Connections denied by tcp-request connection rules.
    Dcon,
    /// Sessions denied by tcp-request session rules.
    Dses,
    /// Rewrites of headers that failed.
    Wrew,
    /// Connections made to servers.
    Connect,
    /// Server connections used again.
    Reuse,
    /// Requests looked up in the cache.
    CacheLookups,
    /// Requests found in the cache.
    CacheHits,
    /// Idle connections.
    SrvIcur,
    /// Limit of idle connections.
    SrcIlim,
    /// Longest milliseconds in queues.
    QtimeMax,
    /// Longest milliseconds to connect.
    CtimeMax,
    /// Longest milliseconds to respond.
    RtimeMax,
    /// Longest milliseconds in all.
    TtimeMax,
    /// Internal errors.
    Eint,
    /// Idle connections that were never used again.
    IdleConnCur,
    /// Idle connections that were used again.
    SafeConnCur,
    /// Connections in use.
    UsedConnCur,
    /// Connections needed, as estimated.
    NeedConnEst,
    /// Weight as the user set it.
    Uweight,
    /// Servers by the outcome of their checks.
    AggServerCheckStatus,
}

/// The fixed properties of a column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, as in the header.
    pub name: &'static str,
    /// Origin, nature and scope.
    pub tags: Tags,
    /// Its description.
    pub doc: &'static str,
}

/// Number of columns.
pub const COUNT: usize = Field::AggServerCheckStatus as usize + 1;

impl Field {
    /// Its fixed properties.
    pub fn column(self) -> &'static Column {
        &COLUMNS[self as usize]
    }
}

/// Columns whose tags differ for some kinds of rows, as measured.
const UNLIKE: [(Kind, Field, &str); 4] = [
    (Kind::Server, Field::Act, "SGP"),
    (Kind::Server, Field::Bck, "SGP"),
    (Kind::Backend, Field::Rate, "MGP"),
    (Kind::Backend, Field::RateMax, "MGP"),
];

impl Column {
    /// Its tags in a row of this kind; `position` is its own.
    pub fn tags_in(&self, kind: Kind, position: usize) -> Tags {
        let unlike = UNLIKE.iter().find(|it| it.0 == kind && it.1 as usize == position);
        unlike.map_or(self.tags, |it| Tags(it.2))
    }
}

pub(super) const fn column(name: &'static str, tags: &'static str, doc: &'static str) -> Column {
    Column { name, tags: Tags(tags), doc }
}

/// All columns, by position.
pub const COLUMNS: [Column; COUNT] = [
    column("pxname", "KNS", "Name of the proxy"),
    column("svname", "KNS", "Name of the server, or FRONTEND, or BACKEND"),
    column("qcur", "MGP", "Requests waiting in the queue"),
    column("qmax", "MMP", "Most requests that ever waited"),
    column("scur", "MGP", "Sessions now"),
    column("smax", "MMP", "Most sessions at once"),
    column("slim", "CLP", "Limit of sessions: maxconn, or fullconn of a backend"),
    column("stot", "MCP", "Sessions in all"),
    column("bin", "MCP", "Bytes received from clients"),
    column("bout", "MCP", "Bytes sent to clients"),
    column("dreq", "MCP", "Requests denied"),
    column("dresp", "MCP", "Responses denied"),
    column("ereq", "MCP", "Invalid requests"),
    column("econ", "MCP", "Failed attempts to connect to a server"),
    column("eresp", "MCP", "Invalid responses"),
    column("wretr", "MCP", "Repeated attempts to connect"),
    column("wredis", "MCP", "Requests sent to another server than the one first chosen"),
    column("status", "SGP", "State"),
    column("weight", "MaP", "Effective weight"),
    column("act", "MGP", "Servers in use that are no backups"),
    column("bck", "MGP", "Backup servers in use"),
    column("chkfail", "MCP", "Failed checks while the server was up"),
    column("chkdown", "MCP", "Changes from up to down"),
    column("lastchg", "MAP", "Seconds since the last change of state"),
    column("downtime", "MCP", "Seconds spent down"),
    column("qlimit", "CGS", "Limit of the queue (maxqueue)"),
    column("pid", "KGP", "Number of the process, from 1"),
    column("iid", "KGS", "Number of the proxy"),
    column("sid", "KGS", "Number of the server in its proxy"),
    column("throttle", "MaP", "Percent of the weight in use while the server starts slowly"),
    column("lbtot", "MCP", "Requests that the balancing algorithm sent here"),
    column("tracked", "CNS", "Server whose state this one follows"),
    column("type", "CGS", "Kind of object: 0 frontend, 1 backend, 2 server, 3 listener"),
    column("rate", "MRP", "Sessions in the last second"),
    column("rate_lim", "CLP", "Limit of new sessions a second"),
    column("rate_max", "MMP", "Most sessions in one second"),
    column("check_status", "MOP", "Outcome of the last check"),
    column("check_code", "MOP", "Code of the last check at layers 5 to 7"),
    column("check_duration", "MDP", "Milliseconds that the last check took"),
    column("hrsp_1xx", "MCP", "Responses with status 1xx"),
    column("hrsp_2xx", "MCP", "Responses with status 2xx"),
    column("hrsp_3xx", "MCP", "Responses with status 3xx"),
    column("hrsp_4xx", "MCP", "Responses with status 4xx"),
    column("hrsp_5xx", "MCP", "Responses with status 5xx"),
    column("hrsp_other", "MCP", "Responses with another status"),
    column("hanafail", "MCP", "Responses that observation counted as failures"),
    column("req_rate", "MRP", "HTTP requests in the last second"),
    column("req_rate_max", "MMP", "Most HTTP requests in one second"),
    column("req_tot", "MCP", "HTTP requests in all"),
    column("cli_abrt", "MCP", "Transfers aborted by the client"),
    column("srv_abrt", "MCP", "Transfers aborted by the server"),
    column("comp_in", "MCP", "Bytes given to the compressor"),
    column("comp_out", "MCP", "Bytes that the compressor made of them"),
    column("comp_byp", "MCP", "Bytes that bypassed the compressor"),
    column("comp_rsp", "MCP", "Responses compressed"),
    column("lastsess", "MAP", "Seconds since the last session"),
    column("last_chk", "MOP", "What the last check received, or why it failed"),
    column("last_agt", "MOP", "What the last agent check received, or why it failed"),
    column("qtime", "MaP", "Average milliseconds in queues over the last 1024 requests"),
    column("ctime", "MaP", "Average milliseconds to connect over the last 1024 requests"),
    column("rtime", "MaP", "Average milliseconds to respond over the last 1024 requests"),
    column("ttime", "MaP", "Average milliseconds in all over the last 1024 requests"),
    column("agent_status", "MOP", "Outcome of the last agent check"),
    column("agent_code", "MOP", "Code of the last agent check"),
    column("agent_duration", "MDP", "Milliseconds that the last agent check took"),
    column("check_desc", "MOP", "What check_status means"),
    column("agent_desc", "MOP", "What agent_status means"),
    column("check_rise", "CGS", "Successful checks needed to come up"),
    column("check_fall", "CGS", "Failed checks needed to go down"),
    column("check_health", "CGS", "Counter of checks, from 0 to rise + fall - 1"),
    column("agent_rise", "CGS", "Successful agent checks needed to come up"),
    column("agent_fall", "CGS", "Failed agent checks needed to go down"),
    column("agent_health", "CGS", "Counter of agent checks"),
    column("addr", "CGS", "Address and port"),
    column("cookie", "CNS", "Value of the server's cookie, or name of the backend's"),
    column("mode", "CGS", "Mode of the proxy"),
    column("algo", "CGS", "Balancing algorithm"),
    column("conn_rate", "MRP", "Connections in the last second"),
    column("conn_rate_max", "MMP", "Most connections in one second"),
    column("conn_tot", "MCP", "Connections in all"),
    column("intercepted", "MCP", "Requests answered by the proxy itself"),
    column("dcon", "MCP", "Connections denied by tcp-request connection rules"),
    column("dses", "MCP", "Sessions denied by tcp-request session rules"),
    column("wrew", "MCP", "Rewrites of headers that failed"),
    column("connect", "MCP", "Connections made to servers"),
    column("reuse", "MCP", "Server connections used again"),
    column("cache_lookups", "MCP", "Requests looked up in the cache"),
    column("cache_hits", "MCP", "Requests found in the cache"),
    column("srv_icur", "MGP", "Idle connections"),
    column("src_ilim", "CLP", "Limit of idle connections"),
    column("qtime_max", "MMP", "Longest milliseconds in queues"),
    column("ctime_max", "MMP", "Longest milliseconds to connect"),
    column("rtime_max", "MMP", "Longest milliseconds to respond"),
    column("ttime_max", "MMP", "Longest milliseconds in all"),
    column("eint", "MCP", "Internal errors"),
    column("idle_conn_cur", "MGP", "Idle connections that were never used again"),
    column("safe_conn_cur", "MGP", "Idle connections that were used again"),
    column("used_conn_cur", "MGP", "Connections in use"),
    column("need_conn_est", "MGP", "Connections needed, as estimated"),
    column("uweight", "MaP", "Weight as the user set it"),
    column("agg_server_check_status", "MGP", "Servers by the outcome of their checks"),
];
