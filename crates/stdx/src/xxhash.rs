//! xxHash of 32 and 64 bits, after its published specification. Load balancing depends on the
//! values.

const P32: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];

fn lane32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("a lane of 4 bytes"))
}

fn round32(acc: u32, lane: u32) -> u32 {
    acc.wrapping_add(lane.wrapping_mul(P32[1])).rotate_left(13).wrapping_mul(P32[0])
}

/// `xxh32`, after the published xxHash specification.
pub fn xxh32(bytes: &[u8], seed: u32) -> u32 {
    let mut stripes = bytes.chunks_exact(16);
    let mut hash = if bytes.len() >= 16 {
        let mut acc = [
            seed.wrapping_add(P32[0]).wrapping_add(P32[1]),
            seed.wrapping_add(P32[1]),
            seed,
            seed.wrapping_sub(P32[0]),
        ];
        for stripe in stripes.by_ref() {
            for (i, acc) in acc.iter_mut().enumerate() {
                *acc = round32(*acc, lane32(&stripe[i * 4..]));
            }
        }
        let [a, b, c, d] = acc;
        a.rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18))
    } else {
        seed.wrapping_add(P32[4])
    };
    hash = hash.wrapping_add(bytes.len() as u32);
    let rest = if bytes.len() >= 16 { stripes.remainder() } else { bytes };
    let mut words = rest.chunks_exact(4);
    for word in words.by_ref() {
        hash = hash.wrapping_add(lane32(word).wrapping_mul(P32[2]));
        hash = hash.rotate_left(17).wrapping_mul(P32[3]);
    }
    for byte in words.remainder() {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(P32[4]));
        hash = hash.rotate_left(11).wrapping_mul(P32[0]);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(P32[1]);
    hash = (hash ^ hash >> 13).wrapping_mul(P32[2]);
    hash ^ hash >> 16
}

const P64: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

fn lane64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("a lane of 8 bytes"))
}

fn round64(acc: u64, lane: u64) -> u64 {
    acc.wrapping_add(lane.wrapping_mul(P64[1])).rotate_left(31).wrapping_mul(P64[0])
}

/// `xxh64`, after the published xxHash specification.
pub fn xxh64(bytes: &[u8], seed: u64) -> u64 {
    let mut stripes = bytes.chunks_exact(32);
    let mut hash =
        if bytes.len() >= 32 { stripes64(&mut stripes, seed) } else { seed.wrapping_add(P64[4]) };
    hash = hash.wrapping_add(bytes.len() as u64);
    let rest = if bytes.len() >= 32 { stripes.remainder() } else { bytes };
    let mut words = rest.chunks_exact(8);
    for word in words.by_ref() {
        hash ^= round64(0, lane64(word));
        hash = hash.rotate_left(27).wrapping_mul(P64[0]).wrapping_add(P64[3]);
    }
    let mut tail = words.remainder();
    if tail.len() >= 4 {
        hash ^= u64::from(lane32(tail)).wrapping_mul(P64[0]);
        hash = hash.rotate_left(23).wrapping_mul(P64[1]).wrapping_add(P64[2]);
        tail = &tail[4..];
    }
    for byte in tail {
        hash ^= u64::from(*byte).wrapping_mul(P64[4]);
        hash = hash.rotate_left(11).wrapping_mul(P64[0]);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P64[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(P64[2]);
    hash ^ hash >> 32
}

fn stripes64(stripes: &mut std::slice::ChunksExact<'_, u8>, seed: u64) -> u64 {
    let mut acc = [
        seed.wrapping_add(P64[0]).wrapping_add(P64[1]),
        seed.wrapping_add(P64[1]),
        seed,
        seed.wrapping_sub(P64[0]),
    ];
    for stripe in stripes {
        for (i, acc) in acc.iter_mut().enumerate() {
            *acc = round64(*acc, lane64(&stripe[i * 8..]));
        }
    }
    let [a, b, c, d] = acc;
    let mut hash = a
        .rotate_left(1)
        .wrapping_add(b.rotate_left(7))
        .wrapping_add(c.rotate_left(12))
        .wrapping_add(d.rotate_left(18));
    for acc in acc {
        hash ^= round64(0, acc);
        hash = hash.wrapping_mul(P64[0]).wrapping_add(P64[3]);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors() {
        assert_eq!(xxh32(b"", 0), 0x02cc_5d05);
        assert_eq!(xxh32(b"abc", 0), 0x32d1_53ff);
        assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
    }
}
