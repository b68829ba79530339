//! Sets `cfg` flags for the linked library, as its bindings report it.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(aws_lc)");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("DEP_OPENSSL_AWSLC").is_some() {
        println!("cargo::rustc-cfg=aws_lc");
    }
}
