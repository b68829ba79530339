//! A FastCGI application that answers every request with 64 bytes.

/// Types of records (FastCGI 1.0, section 8).
const END_REQUEST: u8 = 3;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;

const HEADER: usize = 8;

const OUTPUT: &[u8] = b"Content-Type: text/plain\r\nContent-Length: 64\r\n\r\n\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Answers each request whose last record is there.
pub fn answer(input: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut rest = input;
    while let Some(([version, kind, id1, id0, len1, len0, padding, _], behind)) =
        rest.split_first_chunk::<HEADER>()
    {
        if *version != 1 {
            return None;
        }
        let content = usize::from(u16::from_be_bytes([*len1, *len0]));
        let Some(next) = behind.get(content + usize::from(*padding)..) else { break };
        if *kind == STDIN && content == 0 {
            let id = [*id1, *id0];
            put(STDOUT, id, OUTPUT, out);
            put(STDOUT, id, &[], out);
            put(END_REQUEST, id, &[0; 8], out);
        }
        rest = next;
    }
    Some(input.len() - rest.len())
}

/// Appends a record.
fn put(kind: u8, [id1, id0]: [u8; 2], content: &[u8], out: &mut Vec<u8>) {
    let [len1, len0] = (content.len() as u16).to_be_bytes();
    out.extend_from_slice(&[1, kind, id1, id0, len1, len0, 0, 0]);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    //! Whole and partial requests.
    use super::*;

    #[test]
    fn a_request_is_answered_once_its_last_record_is_there() {
        let begin = [1, 1, 0, 7, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0];
        let params = [1, 4, 0, 7, 0, 0, 0, 0];
        let stdin = [1, STDIN, 0, 7, 0, 0, 0, 0];
        let (mut out, request) = (Vec::new(), [&begin[..], &params, &stdin].concat());
        assert_eq!(answer(&request[..request.len() - 1], &mut out), Some(24));
        assert!(out.is_empty());
        assert_eq!(answer(&request, &mut out), Some(request.len()));
        assert_eq!(out[..4], [1, STDOUT, 0, 7]);
        assert_eq!(out.len(), 3 * HEADER + OUTPUT.len() + 8);
        assert_eq!(answer(b"GET / HTTP/1.1\r\n", &mut out), None);
    }
}
