//! The script: a configuration, and what befalls its servers.

use std::fmt;

use super::actors::Manner;

/// One step.
pub(super) enum Step {
    /// The origin at this place of [`ORIGINS`] behaves so from now on.
    Origin(usize, Manner),
    /// The agent says this from now on.
    Agent(&'static str),
    /// An operator gives a command.
    Command(&'static str),
    /// A client asks the origin at this place so many times.
    Requests(usize, usize),
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(place, manner) => write!(out, "origin {}: {manner:?}", ORIGINS[*place]),
            Self::Agent(words) => write!(out, "the agent says {words}"),
            Self::Command(line) => write!(out, "{line}"),
            Self::Requests(place, count) => write!(out, "{count} requests to {}", ORIGINS[*place]),
        }
    }
}

/// The origins, by the backends that use them.
pub(super) const ORIGINS: [&str; 4] = ["web", "raw", "watched", "spare"];

const WEB: usize = 0;
const RAW: usize = 1;
const WATCHED: usize = 2;
const SPARE: usize = 3;

/// The trouble that they have.
pub(super) const STEPS: &[Step] = &[
    Step::Origin(WEB, Manner::Status(200)),
    Step::Origin(WEB, Manner::Status(500)),
    Step::Origin(WEB, Manner::Status(200)),
    Step::Origin(WEB, Manner::Status(404)),
    Step::Origin(WEB, Manner::Status(200)),
    Step::Origin(WEB, Manner::Silent),
    Step::Origin(WEB, Manner::Status(200)),
    Step::Origin(WEB, Manner::Strange),
    Step::Origin(WEB, Manner::Status(301)),
    Step::Origin(WEB, Manner::Mute),
    Step::Origin(WEB, Manner::Closed),
    Step::Origin(SPARE, Manner::Closed),
    Step::Origin(SPARE, Manner::Status(200)),
    Step::Origin(WEB, Manner::Status(200)),
    Step::Origin(RAW, Manner::Closed),
    Step::Origin(RAW, Manner::Silent),
    Step::Agent("drain"),
    Step::Agent("ready"),
    Step::Agent("50%"),
    Step::Agent("100%"),
    Step::Agent("maxconn:30"),
    Step::Agent("down #for lunch"),
    Step::Agent("up"),
    Step::Agent("stopped"),
    Step::Agent("up ready 75%"),
    Step::Agent("fail #broken"),
    Step::Agent("up"),
    Step::Agent("maint"),
    Step::Agent("ready"),
    Step::Agent("up"),
    Step::Agent("what"),
    Step::Command("disable server web/s1"),
    Step::Command("enable server web/s1"),
    Step::Command("set server web/s1 state drain"),
    Step::Command("set server web/s1 state maint"),
    Step::Command("set server web/s1 state ready"),
    Step::Command("set weight web/s1 0"),
    Step::Command("set weight web/s1 100%"),
    Step::Command("disable health web/s1"),
    Step::Command("set server web/s1 health down"),
    Step::Command("set server web/s1 health stopping"),
    Step::Command("set server web/s1 health up"),
    Step::Command("enable health web/s1"),
    Step::Command("set server web/s2 state maint"),
    Step::Origin(WEB, Manner::Closed),
    Step::Command("set server web/s2 state ready"),
    Step::Origin(WEB, Manner::Status(200)),
    Step::Command("set server agent/g1 agent down"),
    Step::Command("disable agent agent/g1"),
    Step::Command("enable agent agent/g1"),
    Step::Command("set server agent/g1 agent up"),
    Step::Requests(WATCHED, 2),
    Step::Origin(WATCHED, Manner::Status(500)),
    Step::Requests(WATCHED, 3),
    Step::Origin(WATCHED, Manner::Status(200)),
    Step::Command("set server watched/o1 health up"),
    Step::Origin(WATCHED, Manner::Closed),
    Step::Requests(WATCHED, 2),
];

/// The configuration of a program: where its files are, and the ports of whom it deals with.
pub(super) fn configuration(
    place: &std::path::Display<'_>,
    [web, raw, watched, spare]: [u16; 4],
    (agent, mails, log): (u16, u16, u16),
) -> String {
    format!(
        "global\n    stats socket unix@{place}/cli level admin\n    \
         log 127.0.0.1:{log} local0\n    nbthread 2\n    max-spread-checks 200ms\n\
         mailers office\n    mailer one 127.0.0.1:{mails}\n\
         defaults\n    mode http\n    timeout connect 1s\n    timeout client 5s\n    \
         timeout server 5s\n    timeout check 800ms\n    retries 0\n    log global\n    \
         option log-health-checks\n    email-alert mailers office\n    email-alert from a@example.org\n    \
         email-alert to b@example.org\n    email-alert level info\n    \
         email-alert myhostname here.example.org\n    default-server inter 60ms rise 2 fall 3\n\
         frontend fe\n    bind unix@{place}/fe\n    no log\n    use_backend %[path,field(2,/)]\n\
         backend web\n    option httpchk GET /\n    http-check disable-on-404\n    \
         server s1 127.0.0.1:{web} check\n    server s2 127.0.0.1:{spare} check backup\n\
         backend raw\n    server t1 127.0.0.1:{raw} check\n\
         backend follow\n    option httpchk GET /\n    http-check disable-on-404\n    server f1 127.0.0.1:{web} track web/s1\n    \
         server f2 127.0.0.1:{web} track follow/f1\n\
         backend agent\n    server g1 127.0.0.1:{spare} agent-check agent-port {agent} \
         agent-inter 60ms\n\
         backend watched\n    option httpchk GET /\n    \
         server o1 127.0.0.1:{watched} check inter 1h rise 1 observe layer7 error-limit 3 \
         on-error mark-down\n"
    )
}
