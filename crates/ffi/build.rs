//! Tells the sources which library is linked, as its bindings say.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(aws_lc)");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("DEP_OPENSSL_AWSLC").is_some() {
        println!("cargo::rustc-cfg=aws_lc");
    }
}
