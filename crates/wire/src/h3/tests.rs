//! HTTP/3 frames, integers and settings.

use super::frame::H3FrameHeader;
use super::{H3ErrorCode, H3FrameType, H3Settings, encode, varint};
use proptest::prelude::*;

#[test]
fn integers_follow_the_examples_of_the_rfc() {
    // RFC 9000 appendix A.1.
    for (bytes, value) in [
        (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
        (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
        (&[0x7b, 0xbd], 15_293),
        (&[0x25], 37),
        (&[0x40, 0x25], 37),
    ] {
        assert_eq!(varint::decode(bytes), Some((value, bytes.len())));
        assert_eq!(varint::decode(&bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(varint::decode(&[0xff; 8]), Some((varint::MAX, 8)));
}

#[test]
fn settings_are_read_as_written() {
    let own = H3Settings {
        qpack_max_table_capacity: 4_096,
        qpack_blocked_streams: 16,
        max_field_section_size: Some(16_384),
        enable_connect_protocol: true,
    };
    let mut frame = Vec::new();
    encode::settings(&own, &mut frame);
    let (header, size) = H3FrameHeader::decode(&frame).unwrap();
    assert_eq!((header.kind, header.len), (H3FrameType::SETTINGS, (frame.len() - size) as u64));
    assert_eq!(H3Settings::decode(&frame[size..]), Ok(own));
}

#[test]
fn invalid_settings_are_refused() {
    // Repeated, of HTTP/2, no flag, truncated.
    assert_eq!(H3Settings::decode(&[1, 0, 1, 0]), Err(H3ErrorCode::SETTINGS_ERROR));
    for id in [0, 2, 3, 4, 5] {
        assert_eq!(H3Settings::decode(&[id, 1]), Err(H3ErrorCode::SETTINGS_ERROR));
    }
    assert_eq!(H3Settings::decode(&[8, 2]), Err(H3ErrorCode::SETTINGS_ERROR));
    assert_eq!(H3Settings::decode(&[1]), Err(H3ErrorCode::FRAME_ERROR));
    assert_eq!(H3Settings::decode(&[1, 0x40]), Err(H3ErrorCode::FRAME_ERROR));
    let many = (0..65u8).flat_map(|id| [0x40, 0x80 + (id & 0x3f), 0]).collect::<Vec<_>>();
    assert!(H3Settings::decode(&many).is_err());
}

#[test]
fn errors_have_the_names_of_the_rfc() {
    assert_eq!(H3ErrorCode::NO_ERROR.name(), "H3_NO_ERROR");
    assert_eq!(H3ErrorCode::VERSION_FALLBACK.name(), "H3_VERSION_FALLBACK");
    assert_eq!(H3ErrorCode(0x201).name(), "QPACK_ENCODER_STREAM_ERROR");
    assert_eq!(format!("{:?}", H3ErrorCode(0x1_0000)), "0x10000");
}

proptest! {
    #[test]
    fn integers_are_read_as_written(value in 0..=varint::MAX, small in 0..100_000u64) {
        for value in [value, small] {
            let mut bytes = Vec::new();
            varint::encode(value, &mut bytes);
            prop_assert_eq!(varint::decode(&bytes), Some((value, varint::size(value))));
            prop_assert_eq!(bytes.len(), varint::size(value));
        }
    }

    #[test]
    fn arbitrary_settings_never_panic(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = H3Settings::decode(&payload);
        let _ = H3FrameHeader::decode(&payload);
    }
}
