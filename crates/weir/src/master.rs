//! The master: watches over the serving processes, and executes itself again to read a changed
//! configuration (management.txt, sections 3, 4 and 9.4).
//!
//! Reading order: [`record`] is the state that the master hands to itself across a reload;
//! [`watch`] waits for signals, ends of processes and commands; [`delivery`] sends signals;
//! [`program`] starts programs. How a worker is started belongs to `boot::lead`.

pub(crate) mod delivery;
pub(crate) mod master_state;
pub(crate) mod program;
pub(crate) mod watch;

use sys::signal;

/// The signals that a master acts on. They stay pending while the process is not watching: between
/// two configurations, and before the start.
pub(crate) const SIGNALS: [i32; 8] = [
    signal::USR1,
    signal::USR2,
    signal::HUP,
    signal::TERM,
    signal::INT,
    signal::CHLD,
    signal::TTOU,
    signal::TTIN,
];

/// The number of the signal that ends processes at once.
pub(crate) const END: i32 = signal::TERM;
