//! Searches with PCRE2 that count their steps and stop at a limit.
//!
//! The library calls back before each item of a pattern (pcre2callout(3), `PCRE2_AUTO_CALLOUT`),
//! also in just-in-time code. Its own match limit counts groups only: one item that repeats, such
//! as `.*`, gives back character by character without being counted.

use pcre2_sys::{
    PCRE2_AUTO_CALLOUT, PCRE2_CASELESS, PCRE2_ERROR_JIT_STACKLIMIT, PCRE2_ERROR_NOMATCH,
    PCRE2_JIT_COMPLETE, PCRE2_NO_JIT, pcre2_code_8, pcre2_code_free_8, pcre2_compile_8,
    pcre2_get_ovector_count_8, pcre2_get_ovector_pointer_8, pcre2_jit_compile_8, pcre2_match_8,
    pcre2_match_context_8, pcre2_match_context_create_8, pcre2_match_context_free_8,
    pcre2_match_data_8, pcre2_match_data_create_from_pattern_8, pcre2_match_data_free_8,
};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

/// The value that a callout returns to end the search (`PCRE2_ERROR_CALLOUT`).
const STOP: c_int = -37;
/// The errors for a subject that is no text, for a pattern that wants text (pcre2api(3)).
const NOT_TEXT: std::ops::RangeInclusive<c_int> = -28..=-3;
/// Characters that one step may pass.
const STRIDE: usize = 16;

/// The start of `pcre2_callout_block`, version 0 and later.
#[repr(C)]
struct Block {
    version: u32,
    number: u32,
    capture_top: u32,
    capture_last: u32,
    offsets: *mut usize,
    mark: *const u8,
    subject: *const u8,
    subject_length: usize,
    start_match: usize,
    current_position: usize,
}

type Callout = unsafe extern "C" fn(*mut Block, *mut c_void) -> c_int;

unsafe extern "C" {
    fn pcre2_set_callout_8(
        context: *mut pcre2_match_context_8,
        callout: Option<Callout>,
        data: *mut c_void,
    ) -> c_int;
}

/// The steps that a search has left, and its last position.
struct Meter {
    left: u64,
    at: usize,
}

unsafe extern "C" fn count(block: *mut Block, meter: *mut c_void) -> c_int {
    // SAFETY: the library passes a block that is valid for the call.
    let at = unsafe { (*block).current_position };
    // SAFETY: the pointer was set by `Counted::run`, to a meter that outlives the search and is not
    // used elsewhere during it.
    let meter = unsafe { &mut *meter.cast::<Meter>() };
    let steps = 1 + (at.abs_diff(meter.at) / STRIDE) as u64;
    meter.at = at;
    match meter.left.checked_sub(steps) {
        Some(left) => {
            meter.left = left;
            0
        }
        None => {
            meter.left = 0;
            STOP
        }
    }
}

/// The search was given up before it had an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenUp;

/// A compiled pattern whose searches are counted.
#[derive(Debug)]
pub struct Counted(NonNull<pcre2_code_8>);

// SAFETY: a compiled pattern is not changed by searches (pcre2api(3), "Multithreading").
unsafe impl Send for Counted {}
// SAFETY: as above.
unsafe impl Sync for Counted {}

impl Drop for Counted {
    fn drop(&mut self) {
        // SAFETY: the code is owned and not used afterwards.
        unsafe { pcre2_code_free_8(self.0.as_ptr()) };
    }
}

/// The memory of one search, freed with it.
struct Search {
    data: NonNull<pcre2_match_data_8>,
    context: NonNull<pcre2_match_context_8>,
}

impl Drop for Search {
    fn drop(&mut self) {
        // SAFETY: both are owned and not used afterwards.
        unsafe { pcre2_match_data_free_8(self.data.as_ptr()) };
        // SAFETY: as above.
        unsafe { pcre2_match_context_free_8(self.context.as_ptr()) };
    }
}

impl Counted {
    /// Compiles a pattern; `None` if it is invalid, or if memory is short.
    pub fn new(pattern: &str, ignore_case: bool) -> Option<Self> {
        let options = PCRE2_AUTO_CALLOUT | if ignore_case { PCRE2_CASELESS } else { 0 };
        let (mut error, mut offset) = (0, 0);
        // SAFETY: the pattern is read for its length; the other pointers are to local values.
        let code = unsafe {
            pcre2_compile_8(
                pattern.as_ptr(),
                pattern.len(),
                options,
                &raw mut error,
                &raw mut offset,
                ptr::null_mut(),
            )
        };
        let code = NonNull::new(code)?;
        // SAFETY: the code is valid. Without just-in-time code, searches are interpreted.
        unsafe { pcre2_jit_compile_8(code.as_ptr(), PCRE2_JIT_COMPLETE) };
        Some(Self(code))
    }

    /// Searches from `start` on, and fills in the groups as spans; takes from `steps` what it uses.
    ///
    /// # Errors
    /// The match has used all steps, or another limit of the library.
    pub fn search(
        &self,
        subject: &[u8],
        start: usize,
        groups: &mut [Option<(usize, usize)>],
        steps: &mut u64,
    ) -> Result<bool, GivenUp> {
        let search = self.prepare().ok_or(GivenUp)?;
        let mut result = self.run(&search, subject, start, (0, steps));
        if result == PCRE2_ERROR_JIT_STACKLIMIT {
            // The interpreter keeps its states in memory that grows.
            result = self.run(&search, subject, start, (PCRE2_NO_JIT, steps));
        }
        match result {
            PCRE2_ERROR_NOMATCH => Ok(false),
            0.. => {
                spans(&search, groups);
                Ok(true)
            }
            error if NOT_TEXT.contains(&error) => Ok(false),
            _ => Err(GivenUp),
        }
    }

    fn prepare(&self) -> Option<Search> {
        // SAFETY: the code is valid; there is no context for memory.
        let data =
            unsafe { pcre2_match_data_create_from_pattern_8(self.0.as_ptr(), ptr::null_mut()) };
        // SAFETY: there is no context for memory.
        let context = unsafe { pcre2_match_context_create_8(ptr::null_mut()) };
        match (NonNull::new(data), NonNull::new(context)) {
            (Some(data), Some(context)) => Some(Search { data, context }),
            (data, context) => {
                // SAFETY: freeing a null pointer is allowed, and the objects are not used
                // afterwards.
                unsafe { pcre2_match_data_free_8(data.map_or(ptr::null_mut(), NonNull::as_ptr)) };
                let context = context.map_or(ptr::null_mut(), NonNull::as_ptr);
                // SAFETY: as above.
                unsafe { pcre2_match_context_free_8(context) };
                None
            }
        }
    }

    fn run(
        &self,
        search: &Search,
        subject: &[u8],
        start: usize,
        (options, steps): (u32, &mut u64),
    ) -> c_int {
        let mut meter = Meter { left: *steps, at: start };
        let (data, context) = (search.data.as_ptr(), search.context.as_ptr());
        // SAFETY: the context is valid; the meter outlives the search below, and no search uses the
        // context after that without setting it anew.
        unsafe { pcre2_set_callout_8(context, Some(count), (&raw mut meter).cast()) };
        // SAFETY: all are valid, and the subject is read for its length; a start beyond its end is
        // an error.
        let result = unsafe {
            pcre2_match_8(
                self.0.as_ptr(),
                subject.as_ptr(),
                subject.len(),
                start,
                options,
                data,
                context,
            )
        };
        *steps = meter.left;
        result
    }
}

fn spans(search: &Search, groups: &mut [Option<(usize, usize)>]) {
    let data = search.data.as_ptr();
    // SAFETY: the match data is valid and has been matched.
    let (count, pairs) =
        unsafe { (pcre2_get_ovector_count_8(data) as usize, pcre2_get_ovector_pointer_8(data)) };
    // SAFETY: the library keeps two offsets per group, for as long as the match data lives.
    let pairs = unsafe { std::slice::from_raw_parts(pairs, count * 2) };
    groups.fill(None);
    for (group, pair) in groups.iter_mut().zip(pairs.chunks_exact(2)) {
        // A group that did not take part has offsets beyond all subjects; `\K` may turn a match.
        *group = (pair[0] <= pair[1] && pair[1] != usize::MAX).then(|| (pair[0], pair[1]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_find_what_there_is_and_count_their_steps() {
        let counted = Counted::new("(?:(x)|(y))z", true).unwrap();
        let (mut groups, mut steps) = ([None; 4], 1_000);
        assert_eq!(counted.search(b"..YZ.", 0, &mut groups, &mut steps), Ok(true));
        assert_eq!(groups, [Some((2, 4)), None, Some((2, 3)), None]);
        assert!((900..1_000).contains(&steps), "{steps}");
        assert_eq!(counted.search(b"..YZ.", 3, &mut groups, &mut steps), Ok(false));
        assert!(Counted::new("(", false).is_none());
    }

    #[test]
    fn searches_stop_when_their_steps_are_used() {
        let long = "x".repeat(16_000);
        for pattern in ["(x+x+)+[yz]", "x*x*x*[yz]", "^.*x.*x.*x[yz]", "(x|xx)*[yz]", "(x*)*[yz]"] {
            let mut steps = 10_000;
            let counted = Counted::new(pattern, false).unwrap();
            let result = counted.search(long.as_bytes(), 0, &mut [None], &mut steps);
            assert_eq!((result, steps), (Err(GivenUp), 0), "{pattern}");
        }
    }

    #[test]
    fn a_search_that_needs_more_stack_than_there_is_goes_on_without_one() {
        let counted = Counted::new("^(a|b)*[yz]", false).unwrap();
        let subject = "ab".repeat(8_000) + "z";
        assert_eq!(counted.search(subject.as_bytes(), 0, &mut [None], &mut 1_000_000), Ok(true));
    }
}
