//! Properties of every parser: one function per parser, which panics if the parser violates them.
//!
//! The fuzz targets in `fuzz/` and the property tests beside this file call the same functions. The
//! properties: no input panics; an error has a position inside the input; the result is bounded by
//! the size of the input; and where input may arrive in pieces, the result does not depend on them.
#![forbid(unsafe_code)]

pub mod cache;
pub mod compression;
pub mod configuration;
pub mod dns;
pub mod fcgi;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod language;
pub mod messages;
pub mod patterns;
pub mod peers;
pub mod records;
pub mod runtime;
pub mod spop;
pub mod strict;
pub mod tls;
mod world;

/// The properties of one parser, checked on any bytes.
pub type Property = fn(&[u8]);

/// All properties with the name of their fuzz target and of their directory in `fuzz/seeds`.
pub const PROPERTIES: &[(&str, Property)] = &[
    ("config_lexer", configuration::lexer),
    ("config_file", configuration::file),
    ("expression", language::expression),
    ("condition", language::condition),
    ("log_format", language::log_format),
    ("regex", language::regex),
    ("acl_file", patterns::acl),
    ("map_file", patterns::map),
    ("h1_head", h1::head),
    ("h1_chunks", h1::chunks),
    ("h1_request", messages::request),
    ("h1_response", messages::response),
    ("h2_header_block", h2::header_block),
    ("h2_frames", h2::frames),
    ("h2_operations", h2::operations),
    ("h3_field_section", h3::field_section),
    ("runtime_line", runtime::line),
    ("dns_answer", dns::answer),
    ("dns_resolution", dns::resolution),
    ("hello", tls::hello),
    ("crt_list", tls::list),
    ("cache_decisions", cache::decisions),
    ("cache_storage", cache::storage),
    ("compression", compression::encoders),
    ("compression_choice", compression::choice),
    ("peers", peers::session),
    ("fcgi_answers", fcgi::answers),
    ("spop", spop::connection),
    ("tls_records", records::session),
];
