//! Records from the application, and the end of its stream.

use stdx::Key;
use wire::fcgi::record::HEADER_LEN;
use wire::fcgi::{Capacity, EndRequest, EndStatus, RecordHeader, RecordType, values};

use super::conn::{FcgiConn, FcgiError, MAX_QUIET, RecordInput};
use super::stream::RequestPhase;

impl FcgiConn {
    /// Handles records at the front of `input` and returns the bytes to drop. The rest has to be
    /// passed again: it is incomplete, or the request that it belongs to is not read
    /// ([`super::stream::WINDOW`]). An incomplete rest that needs more bytes has at most
    /// [`values::MAX_RESULT`] and a header.
    ///
    /// # Errors
    /// The connection is unusable, and all its requests have failed.
    pub fn handle_input(&mut self, input: &[u8]) -> Result<usize, FcgiError> {
        let mut at = 0;
        loop {
            if let Some(error) = self.broken {
                return Err(error);
            }
            match self.step(&input[at..]) {
                Ok(0) => return Ok(at),
                Ok(taken) => at += taken,
                Err(error) => self.break_with(error),
            }
        }
    }

    /// Handles one element of the input, or a part of it. Returns its length; 0 if it cannot be
    /// handled yet.
    fn step(&mut self, input: &[u8]) -> Result<usize, FcgiError> {
        match self.input {
            RecordInput::Header => self.record(input),
            RecordInput::Content { key, kind, left, padding } => {
                Ok(self.content(input, key, kind, left, padding))
            }
            RecordInput::Skip(left) => {
                let taken = input.len().min(left as usize);
                self.skip(left as usize - taken);
                Ok(taken)
            }
        }
    }

    fn skip(&mut self, len: usize) {
        self.input = if len == 0 { RecordInput::Header } else { RecordInput::Skip(len as u32) };
    }

    fn record(&mut self, input: &[u8]) -> Result<usize, FcgiError> {
        let Some(header) = RecordHeader::parse(input)? else { return Ok(0) };
        let content = input[HEADER_LEN..].get(..header.len.into());
        match header.kind {
            RecordType::BeginRequest
            | RecordType::AbortRequest
            | RecordType::Params
            | RecordType::Stdin
            | RecordType::Data
            | RecordType::GetValues => Err(FcgiError::Direction),
            RecordType::Stdout | RecordType::Stderr => self.begin_stream_record(header),
            RecordType::EndRequest => {
                if usize::from(header.len) != EndRequest::LEN {
                    return Err(FcgiError::Length);
                }
                let Some(content) = content else { return Ok(0) };
                self.end_request(header, EndRequest::parse(content)?)?;
                Ok(self.whole(header))
            }
            RecordType::GetValuesResult if header.request == 0 && self.awaits_values => {
                if header.len > values::MAX_RESULT {
                    return Err(FcgiError::Length);
                }
                let Some(content) = content else { return Ok(0) };
                self.learn(Capacity::parse(content).map_err(|_| FcgiError::Values)?);
                Ok(self.whole(header))
            }
            RecordType::GetValuesResult | RecordType::UnknownType | RecordType::Other(_) => {
                self.ignore(header)
            }
        }
    }

    /// Bytes of a record with its content; its padding is skipped.
    fn whole(&mut self, header: RecordHeader) -> usize {
        self.skip(header.padding.into());
        HEADER_LEN + usize::from(header.len)
    }

    fn ignore(&mut self, header: RecordHeader) -> Result<usize, FcgiError> {
        self.count_quiet()?;
        self.skip(usize::from(header.len) + usize::from(header.padding));
        Ok(HEADER_LEN)
    }

    fn count_quiet(&mut self) -> Result<(), FcgiError> {
        self.quiet += 1;
        if self.quiet > MAX_QUIET { Err(FcgiError::Flood) } else { Ok(()) }
    }

    /// The request of a record. `None` for one of no request: it may be a late one, and a later
    /// request with the same id must not get the next.
    fn request_of(&mut self, header: RecordHeader) -> Result<Option<Key>, FcgiError> {
        let index = usize::from(header.request).checked_sub(1).ok_or(FcgiError::NullRequest)?;
        let key = self.by_id.get(index).copied().filter(|key| *key != Key::NONE);
        self.is_draining |= key.is_none();
        Ok(key)
    }

    fn begin_stream_record(&mut self, header: RecordHeader) -> Result<usize, FcgiError> {
        let key = self.request_of(header)?;
        let stream = key.and_then(|key| self.streams.get_mut(key));
        let (Some(key), Some(stream)) = (key, stream) else { return self.ignore(header) };
        let is_stdout = header.kind == RecordType::Stdout;
        if stream.end.is_some() {
            self.is_draining = true;
            return self.ignore(header);
        }
        if stream.send == RequestPhase::Params || (is_stdout && stream.stdout_ended) {
            stream.fail(502, "output outside of the answer");
            self.is_draining = true;
            self.wake(key);
            return self.ignore(header);
        }
        self.has_answered |= is_stdout;
        if header.len == 0 {
            stream.stdout_ended |= is_stdout;
            self.wake(key);
            return self.ignore(header);
        }
        let (left, padding) = (header.len, header.padding);
        self.input = RecordInput::Content { key, kind: header.kind, left, padding };
        Ok(HEADER_LEN)
    }

    fn content(
        &mut self,
        input: &[u8],
        key: Key,
        kind: RecordType,
        left: u16,
        padding: u8,
    ) -> usize {
        let mut taken = input.len().min(left.into());
        if let Some(stream) = self.streams.get_mut(key) {
            if kind == RecordType::Stderr {
                stream.stderr.push(&input[..taken]);
                self.has_error_text = true;
            } else {
                taken = stream.room().map_or(taken, |room| taken.min(room));
                stream.receive(&input[..taken]);
            }
        }
        if taken > 0 {
            self.wake(key);
        }
        let left = left - taken as u16;
        match left {
            0 => self.skip(padding.into()),
            _ => self.input = RecordInput::Content { key, kind, left, padding },
        }
        taken
    }

    fn end_request(&mut self, header: RecordHeader, end: EndRequest) -> Result<(), FcgiError> {
        let key = self.request_of(header)?;
        let stream = key.and_then(|key| self.streams.get_mut(key));
        let (Some(key), Some(stream)) = (key, stream) else { return self.count_quiet() };
        if stream.end.is_some() {
            self.is_draining = true;
            return self.count_quiet();
        }
        self.quiet = 0;
        // The application may take the rest of an unfinished request for the next one.
        self.is_draining |= stream.send != RequestPhase::Done;
        stream.end = Some(end);
        self.has_error_text = true;
        match end.status {
            EndStatus::Complete => {}
            EndStatus::CantMultiplex => {
                stream.fail(503, "the application does not multiplex connections");
                self.limit = 1;
            }
            EndStatus::Overloaded => drop(stream.fail(503, "the application is overloaded")),
            EndStatus::UnknownRole => drop(stream.fail(502, "the application is no responder")),
            EndStatus::Other(_) => drop(stream.fail(502, "an unknown status of a request")),
        }
        match self.streams.get(key).is_some_and(|stream| stream.released) {
            true => self.remove(key),
            false => self.wake(key),
        }
        Ok(())
    }

    /// Applies the capacity of the application to the limit of requests.
    fn learn(&mut self, capacity: Capacity) {
        self.awaits_values = false;
        let configured = self.settings.max_reqs.max(1);
        self.limit = match capacity.multiplexes {
            Some(true) => {
                let reported = capacity.max_reqs.unwrap_or(u32::MAX).max(1);
                u16::try_from(reported).map_or(configured, |reported| reported.min(configured))
            }
            _ => 1,
        };
    }

    /// Handles the end of the application's stream: answers that have not ended are cut off.
    pub fn handle_eof(&mut self) {
        (self.is_draining, self.has_ended, self.has_error_text) = (true, true, true);
        let written = self.written.max(self.offered);
        let keys: Vec<Key> = self.streams.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(stream) = self.streams.get_mut(key) else { continue };
            stream.is_cut = stream.end.is_none();
            stream.is_unsent = stream.is_cut && stream.begins_at >= written;
            match stream.released {
                true => self.remove(key),
                false => self.wake(key),
            }
        }
    }

    fn break_with(&mut self, error: FcgiError) {
        self.broken = Some(error);
        self.out.truncate(self.sent);
        for (_, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.end.is_none()) {
            stream.fail(502, error.text());
        }
        self.handle_eof();
    }
}
