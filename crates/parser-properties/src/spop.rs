//! Properties of connections to SPOE agents.

use ::spop::{Capabilities, FrameId, Received, SpopConn, SpopSettings, Submission};

const MAX_FRAME_SIZE: u32 = 300;

/// Bytes from an agent: there is no panic, queues are bounded, no payload gets two answers, and the
/// result does not depend on the pieces in which bytes arrive.
pub fn connection(data: &[u8]) {
    let whole = received(data, usize::MAX);
    assert_eq!(received(data, 1), whole, "byte by byte");
    assert_eq!(received(data, 7), whole, "in small pieces");
}

/// A description of each element, and of the end.
fn received(data: &[u8], piece: usize) -> Vec<String> {
    let capabilities = Capabilities { fragmentation: true, pipelining: true, is_async: false };
    let mut conn = SpopConn::new(&SpopSettings {
        max_frame_size: MAX_FRAME_SIZE,
        capabilities,
        max_waiting: 3,
        engine_id: b"e",
        healthcheck: false,
    });
    let (mut all, mut unused, mut next) = (Vec::new(), Vec::new(), 1);
    for piece in data.chunks(piece) {
        unused.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let waiting = conn.in_flight().to_vec();
            let (text, used) = match conn.receive(&unused[at..]) {
                Ok(Some((element, used))) => (describe(&element, &waiting), used),
                Ok(None) => break,
                Err(status) => {
                    all.push(format!("{status:?}"));
                    return all;
                }
            };
            assert!(used > 0 && at + used <= unused.len());
            at += used;
            all.push(text);
            while conn.submit(FrameId { stream: next, frame: next }, &[7; 600]) == Submission::Sent
            {
                next += 1;
            }
        }
        unused.drain(..at);
        assert!(unused.len() <= MAX_FRAME_SIZE as usize + 4);
        conn.advance_output(conn.output().len());
        assert!(conn.in_flight().len() <= 3);
    }
    all
}

fn describe(element: &Received<'_>, waiting: &[FrameId]) -> String {
    match element {
        Received::Ack(id, actions) => {
            assert!(waiting.contains(id));
            let actions: Vec<_> = actions.clone().collect();
            format!("ack {id:?} {actions:?}")
        }
        Received::Stray(id, _) => {
            assert!(!waiting.contains(id));
            format!("stray {id:?}")
        }
        other => format!("{other:?}"),
    }
}
