//! Huffman-coded strings (RFC 7541 section 5.2), decoded four bits at a time with tables computed
//! at compile time.

use super::huffman_code::CODE;

/// Inner nodes of the code's tree: one fewer than symbols.
const NODES: usize = CODE.len() - 1;
/// A branch that is not set yet.
const NOWHERE: u16 = u16::MAX;
/// Branches from here on are leaves.
const LEAF: u16 = 0x8000;
const END: u16 = 256;

/// The transition of a state on four bits.
#[derive(Clone, Copy)]
struct Transition {
    next: u8,
    /// A symbol is complete.
    emits: bool,
    symbol: u8,
    /// The bits contain the end-of-string symbol, which is an error.
    broken: bool,
}

static STEPS: [[Transition; 16]; NODES] = steps();
/// Whether a string may end in a state: at most seven bits of padding, all ones, were read since
/// the last symbol.
static MAY_END: [bool; NODES] = may_end();

const fn tree() -> [[u16; 2]; NODES] {
    let mut tree = [[NOWHERE; 2]; NODES];
    let (mut used, mut symbol) = (1, 0);
    while symbol < CODE.len() {
        let (code, bits) = CODE[symbol];
        let (mut node, mut bit) = (0, bits);
        while bit > 0 {
            bit -= 1;
            let branch = (code >> bit & 1) as usize;
            if bit == 0 {
                tree[node][branch] = LEAF | symbol as u16;
            } else if tree[node][branch] == NOWHERE {
                tree[node][branch] = used;
                node = used as usize;
                used += 1;
            } else {
                node = tree[node][branch] as usize;
            }
        }
        symbol += 1;
    }
    tree
}

const fn steps() -> [[Transition; 16]; NODES] {
    let tree = tree();
    let none = Transition { next: 0, emits: false, symbol: 0, broken: false };
    let mut steps = [[none; 16]; NODES];
    let mut state = 0;
    while state < NODES {
        let mut nibble = 0;
        while nibble < 16 {
            steps[state][nibble] = step(&tree, state, nibble as u8);
            nibble += 1;
        }
        state += 1;
    }
    steps
}

/// No code is shorter than five bits, so four bits complete at most one symbol.
const fn step(tree: &[[u16; 2]; NODES], state: usize, nibble: u8) -> Transition {
    let mut step = Transition { next: 0, emits: false, symbol: 0, broken: false };
    let (mut node, mut bit) = (state, 4);
    while bit > 0 {
        bit -= 1;
        let to = tree[node][(nibble >> bit & 1) as usize];
        if to >= LEAF {
            step.broken |= to == LEAF | END;
            step.emits = true;
            step.symbol = to as u8;
            node = 0;
        } else {
            node = to as usize;
        }
    }
    step.next = node as u8;
    step
}

const fn may_end() -> [bool; NODES] {
    let tree = tree();
    let mut may = [false; NODES];
    let (mut node, mut ones) = (0, 0);
    while ones <= 7 {
        may[node] = true;
        node = tree[node][1] as usize;
        ones += 1;
    }
    may
}

/// Appends the decoded string. `None`: it is invalid, and some bytes may have been appended.
pub(crate) fn decode(input: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut state = 0;
    out.reserve(input.len() * 8 / 5 + 1);
    for &byte in input {
        for nibble in [byte >> 4, byte & 0xf] {
            let step = STEPS[state][usize::from(nibble)];
            if step.emits {
                if step.broken {
                    return None;
                }
                out.push(step.symbol);
            }
            state = usize::from(step.next);
        }
    }
    MAY_END[state].then_some(())
}

/// Appends the encoded string.
#[cfg(test)]
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0u32);
    for byte in text {
        let (code, len) = CODE[usize::from(*byte)];
        bits = bits << len | u64::from(code);
        count += u32::from(len);
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        // Padded with ones, the first bits of the end-of-string code.
        out.push((bits << (8 - count)) as u8 | (0xff >> count));
    }
}
