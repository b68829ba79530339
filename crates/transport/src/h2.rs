//! Counters of HTTP/2 connections.

pub mod stats;
