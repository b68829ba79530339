//! The first lines of a connection between peers: hello and status (peers.txt, "Handshake").

/// The longest hello, in bytes.
pub const MAX_HELLO: usize = 1_024;
const PROTOCOL: &str = "HAProxyS";

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// 2.0: no remaining times, no heartbeats.
    V20,
    /// 2.1
    #[default]
    V21,
}

impl Version {
    fn name(self) -> &'static str {
        match self {
            Version::V20 => "2.0",
            Version::V21 => "2.1",
        }
    }
}

/// The answer to a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 200: handshake succeeded.
    Succeeded,
    /// 300: try again later.
    TryAgain,
    /// 501: protocol error.
    Protocol,
    /// 502: bad version.
    BadVersion,
    /// 503: the name in the hello is not that of the process that was reached.
    LocalMismatch,
    /// 504: the process that was reached does not know the peer.
    RemoteMismatch,
}

impl Status {
    /// Every status with its code.
    pub const TABLE: &[(Status, u16)] = &[
        (Status::Succeeded, 200),
        (Status::TryAgain, 300),
        (Status::Protocol, 501),
        (Status::BadVersion, 502),
        (Status::LocalMismatch, 503),
        (Status::RemoteMismatch, 504),
    ];

    /// Its code.
    pub fn code(self) -> u16 {
        Status::TABLE.iter().find(|(status, _)| *status == self).map_or(501, |(_, code)| *code)
    }

    /// Appends the line that answers a hello.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{}\n", self.code()).as_bytes());
    }

    /// Reads the answer to a hello: the status and the bytes it takes. `None`: the line has not
    /// come whole.
    pub fn read(bytes: &[u8]) -> Result<Option<(Status, usize)>, HelloError> {
        let Some((line, used)) = line(bytes) else {
            return if bytes.len() > 8 { Err(HelloError::Malformed) } else { Ok(None) };
        };
        let code = std::str::from_utf8(line).ok().and_then(|line| line.parse::<u16>().ok());
        let known = Status::TABLE.iter().find(|(_, known)| Some(*known) == code);
        known.map(|(status, _)| Some((*status, used))).ok_or(HelloError::Malformed)
    }
}

/// A hello or status that is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelloError {
    /// The first line is no greeting.
    Malformed,
    /// The greeting has another version.
    Version,
    /// The greeting does not end within [`MAX_HELLO`] bytes.
    TooLong,
}

/// The three lines that open a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The version that the peer wants to speak.
    pub version: Version,
    /// The name of the peer that it is for.
    pub remote: String,
    /// The name of the peer that it is from.
    pub local: String,
    /// The process that it is from; 0 if it does not say.
    pub pid: u64,
}

impl Hello {
    /// Appends the lines.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Hello { version, remote, local, pid } = self;
        let version = version.name();
        let lines = format!("{PROTOCOL} {version}\n{remote}\n{local} {pid} 1\n");
        out.extend_from_slice(lines.as_bytes());
    }

    /// Reads the lines of a greeting; returns it with the number of bytes. `None`: the hello is
    /// incomplete.
    pub fn read(bytes: &[u8]) -> Result<Option<(Hello, usize)>, HelloError> {
        let mut used = 0;
        let mut next = || {
            let (line, len) = line(&bytes[used..])?;
            used += len;
            Some(line)
        };
        let Some(first) = next() else { return unfinished(bytes) };
        let version = version(first)?;
        let (Some(remote), Some(last)) = (next(), next()) else { return unfinished(bytes) };
        let text = |line| std::str::from_utf8(line).map_err(|_| HelloError::Malformed);
        let (name, pids) = text(last)?.split_once(' ').ok_or(HelloError::Malformed)?;
        let pid = pids.split(' ').next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
        let hello = Hello { version, remote: text(remote)?.into(), local: name.into(), pid };
        Ok(Some((hello, used)))
    }
}

/// The first line without its end, and the bytes it takes. A carriage return belongs to the end.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = &bytes[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

fn unfinished(bytes: &[u8]) -> Result<Option<(Hello, usize)>, HelloError> {
    if bytes.len() >= MAX_HELLO { Err(HelloError::TooLong) } else { Ok(None) }
}

fn version(line: &[u8]) -> Result<Version, HelloError> {
    let line = std::str::from_utf8(line).map_err(|_| HelloError::Malformed)?;
    let (protocol, version) = line.split_once(' ').ok_or(HelloError::Malformed)?;
    if protocol != PROTOCOL {
        return Err(HelloError::Malformed);
    }
    let versions = [Version::V20, Version::V21];
    versions.into_iter().find(|it| it.name() == version).ok_or(HelloError::Version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_are_read_as_they_are_written() {
        let hello =
            Hello { version: Version::V21, remote: "B".into(), local: "A".into(), pid: 12_228 };
        let mut bytes = Vec::new();
        hello.write(&mut bytes);
        assert_eq!(bytes, b"HAProxyS 2.1\nB\nA 12228 1\n");
        for end in 0..bytes.len() {
            assert_eq!(Hello::read(&bytes[..end]), Ok(None));
        }
        bytes.extend_from_slice(b"\0\0");
        assert_eq!(Hello::read(&bytes), Ok(Some((hello, bytes.len() - 2))));
    }

    // HAProxy 2.6 and 2.7 do the same.
    #[test]
    fn hellos_are_accepted_and_refused_as_haproxy_does() {
        let read = |text: &str| Hello::read(text.as_bytes()).map(|hello| hello.map(|it| it.0.pid));
        assert_eq!(read("HAProxyS 2.0\nA\nB 1 0\n"), Ok(Some(1)));
        assert_eq!(read("HAProxyS 2.1\r\nA\r\nB 1 0\r\n"), Ok(Some(1)));
        assert_eq!(read("HAProxyS 2.1\nA\nB x y z\n"), Ok(Some(0)));
        assert_eq!(read("HAProxyS 2.1\nA\nB\n"), Err(HelloError::Malformed));
        assert_eq!(read("Foo 2.0\nA\nB 1 0\n"), Err(HelloError::Malformed));
        assert_eq!(read("garbage\n"), Err(HelloError::Malformed));
        for version in ["1.0", "2", "2.2", "3.0", "2.1 x"] {
            let text = format!("HAProxyS {version}\nA\nB 1 0\n");
            assert_eq!(read(&text), Err(HelloError::Version), "{version}");
        }
        assert_eq!(
            read(&format!("HAProxyS 2.1\nA\n{}", "B".repeat(2_000))),
            Err(HelloError::TooLong)
        );
        assert_eq!(Hello::read(b"HAProxyS 2.1\n\xff\nB 1\n"), Err(HelloError::Malformed));
    }

    #[test]
    fn statuses_are_read_as_they_are_written() {
        for (status, code) in Status::TABLE {
            let mut bytes = Vec::new();
            status.write(&mut bytes);
            assert_eq!(bytes, format!("{code}\n").as_bytes());
            assert_eq!(Status::read(&bytes), Ok(Some((*status, 4))));
        }
        assert_eq!(Status::read(b"20"), Ok(None));
        assert_eq!(Status::read(b"200\r\n\0"), Ok(Some((Status::Succeeded, 5))));
        for bytes in [&b"999\n"[..], b"x\n", b"200 fine it is"] {
            assert_eq!(Status::read(bytes), Err(HelloError::Malformed));
        }
    }
}
