//! The `weir` program.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    weir::main()
}
