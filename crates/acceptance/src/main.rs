//! The program under test: `weir` itself, linked here so that cargo builds it before the tests run.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    weir::main()
}
