//! Properties of connections to FastCGI applications.

use htx::{Head, Method};
use mux::HeadStep;
use mux::fcgi::stream::WINDOW;
use mux::fcgi::{FcgiConn, FcgiError, FcgiSettings, Key};

/// Bytes from an application that has two requests: there is no panic, queues are bounded, every
/// request ends, and answers do not depend on the pieces in which bytes arrive.
pub fn answers(data: &[u8]) {
    let whole = outcome(data, usize::MAX);
    assert_eq!(outcome(data, 1), whole, "byte by byte");
    assert_eq!(outcome(data, 7), whole, "in small pieces");
}

/// Status and body of an answer, or the status of its failure.
type Answer = Result<(u16, Vec<u8>), u16>;

fn outcome(data: &[u8], piece: usize) -> (Vec<Answer>, Option<FcgiError>) {
    let settings = FcgiSettings { max_reqs: 2, get_values: false, ..FcgiSettings::default() };
    let mut conn = FcgiConn::new(settings);
    let keys = [request(&mut conn), request(&mut conn)];
    let (mut unused, mut error) = (Vec::new(), None);
    for piece in data.chunks(piece) {
        unused.extend_from_slice(piece);
        match conn.handle_input(&unused) {
            Ok(used) => drop(unused.drain(..used)),
            Err(it) => error = Some(it),
        }
        if error.is_some() || unused.len() > WINDOW {
            break;
        }
    }
    conn.handle_eof();
    let answers = keys.iter().map(|key| answer(&mut conn, *key)).collect();
    keys.iter().for_each(|key| conn.release(*key));
    assert_eq!(conn.streams(), 0);
    assert!(conn.must_close() && conn.take_woken().is_none());
    (answers, error)
}

fn request(conn: &mut FcgiConn) -> Key {
    let key = conn.open().expect("two requests are allowed");
    conn.send_params(key, Method::Get, b"").expect("small");
    conn.send_end(key);
    key
}

fn answer(conn: &mut FcgiConn, key: Key) -> Answer {
    let (mut head, mut body, mut buffer) = (Head::default(), Vec::new(), [0; 999]);
    match conn.handle_head(key, &mut head) {
        Ok(HeadStep::Complete { .. }) => {}
        Ok(_) => panic!("neither a head nor an error after the end"),
        Err(error) => return Err(error.status),
    }
    assert!((200..1_000).contains(&head.status()));
    loop {
        let step = conn.read(key, &mut buffer).map_err(|error| error.status)?;
        body.extend_from_slice(&buffer[..step.data]);
        assert!(body.len() <= WINDOW);
        if step.done {
            return Ok((head.status(), body));
        }
    }
}
