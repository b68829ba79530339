//! What differs between the libraries that can be linked: each has the same functions in a module of its own. Never
//! a choice while the program runs.

#[cfg(aws_lc)]
mod aws_lc;
#[cfg(not(aws_lc))]
mod openssl;

#[cfg(not(aws_lc))]
pub(crate) use self::openssl::raw;
#[cfg(not(aws_lc))]
pub use self::openssl::*;
#[cfg(aws_lc)]
pub(crate) use aws_lc::raw;
#[cfg(aws_lc)]
pub use aws_lc::*;
