//! A FastCGI application (manual section 10.1.1): paths, the conditions and formats that make
//! parameters of a request, and capacity.

use sample::regex::Regex;
use sample::{Condition, LogFormat};

/// An `fcgi-app` section.
#[derive(Debug)]
pub struct FcgiApp {
    /// Its name.
    pub name: String,
    /// `docroot`.
    pub docroot: Vec<u8>,
    /// `index`; empty without one.
    pub index: Vec<u8>,
    /// `path-info`.
    pub path_info: Option<Regex>,
    /// `pass-header` lines, in order.
    pub pass_headers: Vec<PassHeader>,
    /// `set-param` lines, in order.
    pub set_params: Vec<SetParam>,
    /// `option get-values`.
    pub get_values: bool,
    /// `option keep-conn`.
    pub keep_conn: bool,
    /// `option mpxs-conns`.
    pub multiplexes: bool,
    /// `option max-reqs`: concurrent requests of a connection, at least one.
    pub max_reqs: u16,
}

impl FcgiApp {
    /// Concurrent requests of a connection, before the application reports its capacity.
    pub fn requests_per_connection(&self) -> u16 {
        if self.multiplexes || self.get_values { self.max_reqs.max(1) } else { 1 }
    }
}

/// One `pass-header` line.
#[derive(Debug)]
pub struct PassHeader {
    /// Name of a request field that is hidden otherwise.
    pub name: Vec<u8>,
    /// When it is passed.
    pub condition: Option<Condition>,
}

/// One `set-param` line.
#[derive(Debug)]
pub struct SetParam {
    /// Name of the parameter.
    pub name: Vec<u8>,
    /// The value of the parameter; an empty value sets nothing.
    pub value: LogFormat,
    /// When it is set.
    pub condition: Option<Condition>,
}
