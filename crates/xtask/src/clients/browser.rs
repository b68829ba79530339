//! Chromium before Weir, forced to QUIC: a page, and requests of its script at the same time.

use std::path::Path;
use std::process::{Command, Stdio};

use super::PORT;
use crate::failure::{self, Outcome};
use crate::tools;

/// The program, as Debian's package names it.
pub(crate) const PROGRAM: &str = "chromium";

/// A page whose script makes requests, and shows their answers.
pub(super) const PAGE: &str = "<body><script>\
    const ask = n => fetch(`/facts?${n}`).then(it => it.text());\
    Promise.all([...Array(50).keys()].map(ask)).then(all => {\
    document.body.textContent = `${all.length} answers: ${[...new Set(all)].join()}`; })\
    </script></body>\n";

/// The text of the page when all answers have come over HTTP/3.
const SHOWN: &str = "50 answers: HTTP/3.0";

/// The lines of the frontend that serves the page.
pub(super) fn lines(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "    bind quic4@127.0.0.1:{PORT} ssl crt {directory}/server.pem alpn h3\n    \
         http-request return status 200 content-type text/html file {directory}/page.html \
         if {{ path /page }}\n    \
         http-request return status 200 content-type text/plain lf-string \"HTTP/%[req.ver]\" \
         if {{ path /facts }}\n"
    )
}

/// The page as Chromium shows it, if it is not the expected one.
pub(super) fn show(directory: &Path) -> Outcome<Option<String>> {
    let pin = pin(directory)?;
    let profile = directory.join("profile");
    let output = Command::new(PROGRAM)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--origin-to-force-quic-on=localhost:{PORT}"))
        .arg("--host-resolver-rules=MAP localhost 127.0.0.1")
        .arg(format!("--ignore-certificate-errors-spki-list={pin}"))
        .args(["--dump-dom", &format!("https://localhost:{PORT}/page")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failure::machine(format!("cannot start {PROGRAM}: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = || {
        let errors = String::from_utf8_lossy(&output.stderr);
        errors.lines().filter(|line| line.contains("ERR_")).collect::<Vec<_>>().join("; ")
    };
    Ok((!text.contains(SHOWN)).then(|| format!("{text:?} {}", errors())))
}

/// The digest of the certificate's key, by which Chromium accepts it from an unknown authority.
fn pin(directory: &Path) -> Outcome<String> {
    let words = "openssl x509 -in server.crt -pubkey -noout | openssl pkey -pubin -outform der \
                 | openssl dgst -sha256 -binary | openssl base64 -A";
    let output = Command::new("sh").args(["-c", words]).current_dir(directory).output();
    let output = output.map_err(|error| failure::machine(format!("openssl: {error}")))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether Chromium is there.
pub(super) fn is_there() -> bool {
    tools::find(PROGRAM).is_some()
}
