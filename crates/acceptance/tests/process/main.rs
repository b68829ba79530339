//! The program as its users meet it: processes, sockets, signals and log lines. Never calls into the
//! program's own code.
//!
//! `WEIR_TEST_PROGRAM=/usr/sbin/haproxy cargo test -p acceptance` runs the same tests
//! against HAProxy, to measure what it does.

mod support;

mod balancing;
mod bodies;
mod bytes;
mod certificates;
mod checks;
mod choices;
mod command_line;
mod cookies;
mod counting;
mod dashboard;
mod descriptors;
mod direct;
mod dynamic;
mod early_data;
mod failures;
mod glitches;
mod graceful_ends;
mod grpc;
mod handshakes;
mod header_case;
mod health;
mod hostile_servers;
mod http2;
mod identity;
mod inner_protocols;
mod keep_alive;
mod logs;
mod mails;
mod malformed;
mod master;
mod master_cli;
mod memory;
mod metrics;
mod name_servers;
mod observe;
mod openings;
mod packaging;
mod pairings;
mod persisting;
mod privileges;
mod proxy_protocol;
mod queues;
mod quickstart;
mod resolvers;
mod retries;
mod rings;
mod rules;
mod runtime;
mod second_start;
mod servers;
mod signals;
mod smuggling;
mod sockets;
mod splice;
mod states;
mod statistics;
mod streams;
mod strictness;
mod tables;
mod threads;
mod timeouts;
mod tls;
mod tls_keys;
mod tls_samples;
mod tools;
mod traces;
mod upgrades;
