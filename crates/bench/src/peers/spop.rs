//! An agent of SPOE that sets one variable for every payload.

/// Types of frames (SPOE.txt, section 3.2.2).
const HELLO: u8 = 1;
const NOTIFY: u8 = 3;
const AGENT_HELLO: u8 = 101;
const ACK: u8 = 103;

/// Type and flags.
const HEAD: usize = 5;

/// AGENT-HELLO: version 2.0, frames of 16,380 bytes, pipelining.
const WELCOME: &[u8] = b"\x00\x00\x07version\x08\x032.0\x0emax-frame-size\x03\xfc\xf0\x06\
    \x0ccapabilities\x08\x0apipelining";

/// `set-var(txn.ip_score) 20`
const ACTIONS: &[u8] = b"\x01\x03\x02\x08ip_score\x04\x14";

/// Answers each frame that is there.
pub fn answer(input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut rest = input;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((frame, next)) = behind.split_at_checked(length) else { break };
        let (head, body) = frame.split_at_checked(HEAD)?;
        match head[0] {
            HELLO => put(AGENT_HELLO, &[], WELCOME, out),
            NOTIFY => put(ACK, ids(body), ACTIONS, out),
            _ => return None,
        }
        rest = next;
    }
    Some(input.len() - rest.len())
}

/// The numbers of stream and frame, as they are encoded.
fn ids(body: &[u8]) -> &[u8] {
    let mut at = 0;
    for _ in 0..2 {
        let mut more = body.get(at).is_some_and(|first| *first >= 240);
        at += 1;
        while more {
            more = body.get(at).is_some_and(|byte| *byte >= 128);
            at += 1;
        }
    }
    &body[..at.min(body.len())]
}

/// Appends a frame with the flag FIN only.
fn put(kind: u8, ids: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    let length = (HEAD + ids.len() + payload.len()) as u32;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[kind, 0, 0, 0, 1]);
    out.extend_from_slice(ids);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    //! Frames with ids of one and of several bytes.
    use super::*;

    #[test]
    fn an_answer_has_the_ids_of_its_payload() {
        for ids in [&[7, 1][..], &[0xf0, 0x01, 2], &[0xff, 0x80, 0x01, 0xf1, 0x00]] {
            let (mut frame, mut out, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            put(NOTIFY, ids, b"\x01m\x00", &mut frame);
            put(ACK, ids, ACTIONS, &mut expected);
            assert_eq!(answer(&frame[..frame.len() - 1], &mut out), Some(0));
            assert_eq!(answer(&frame, &mut out), Some(frame.len()));
            assert_eq!(out, expected);
        }
        assert_eq!(answer(&[0, 0, 0, 5, 9, 0, 0, 0, 1], &mut Vec::new()), None);
    }
}
