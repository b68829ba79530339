//! Authentic records with any content, which no correct peer makes: for tests and fuzzing.

use crate::contexts::with_sealer;
use crate::error::RecordError;
use crate::header::{ContentType, Header, additional_data};
use crate::layer::RecordLayer;
use ffi::TAG;

impl RecordLayer {
    /// Appends a record with content of any type, and with padding in TLS 1.3.
    ///
    /// # Errors
    /// As [`RecordLayer::seal`].
    pub fn forge(
        &mut self,
        kind: u8,
        content: &[u8],
        padding: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), RecordError> {
        let number = self.writer.take_number()?;
        let sealed = if self.writer.is_tls13() {
            let inner = [content, &[kind], &vec![0; padding]].concat();
            let header = Header::write(ContentType::ApplicationData, inner.len() + TAG);
            let nonce = self.writer.nonce(number, None);
            out.extend_from_slice(&header);
            with_sealer(&mut self.lease, &self.writer, |context| {
                context.seal(&nonce, &header, &[&inner], out)
            })
        } else {
            let explicit = self.writer.is_explicit().then(|| self.writer.explicit(number));
            let beside = explicit.map_or(0, |explicit| explicit.len());
            let length = beside + content.len() + TAG;
            let mut header = Header::write(ContentType::ApplicationData, length);
            let mut data = additional_data(number, ContentType::ApplicationData, content.len());
            (header[0], data[8]) = (kind, kind);
            let nonce = self.writer.nonce(number, explicit);
            out.extend_from_slice(&header);
            out.extend_from_slice(explicit.as_ref().map_or(&[], |explicit| explicit));
            with_sealer(&mut self.lease, &self.writer, |context| {
                context.seal(&nonce, &data, &[content], out)
            })
        };
        sealed.filter(|sealed| *sealed).map(|_| ()).ok_or(RecordError::Library)
    }
}
