//! The SETTINGS parameters (RFC 9113 section 6.5, RFC 8441 section 3).

use super::error::ErrorCode;

/// A parameter; recipients ignore unknown ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs, reason = "each variant is the setting of the same name")]
pub enum Setting {
    HeaderTableSize = 1,
    EnablePush = 2,
    MaxConcurrentStreams = 3,
    InitialWindowSize = 4,
    MaxFrameSize = 5,
    MaxHeaderListSize = 6,
    EnableConnectProtocol = 8,
}

/// The settings of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of dynamic table that the peer's encoder may use.
    pub header_table_size: u32,
    /// Whether the peer may push.
    pub enable_push: bool,
    /// Streams that the peer may have open; `None` without a limit.
    pub max_concurrent_streams: Option<u32>,
    /// The window of a new stream, in bytes.
    pub initial_window_size: u32,
    /// Largest frame payload accepted, in bytes.
    pub max_frame_size: u32,
    /// Largest header list accepted, as defined in RFC 9113 section 10.5.1; `None` without a limit.
    pub max_header_list_size: Option<u32>,
    /// Whether extended CONNECT is accepted.
    pub enable_connect_protocol: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            header_table_size: 4_096,
            enable_push: true,
            max_concurrent_streams: None,
            initial_window_size: super::DEFAULT_WINDOW,
            max_frame_size: super::DEFAULT_FRAME_SIZE,
            max_header_list_size: None,
            enable_connect_protocol: false,
        }
    }
}

impl Settings {
    /// Applies the parameters of a SETTINGS payload, whose length was checked.
    ///
    /// # Errors
    /// A value is out of range: the connection ends with this code.
    pub fn apply(&mut self, payload: &[u8]) -> Result<(), ErrorCode> {
        for entry in payload.as_chunks::<6>().0 {
            let id = u16::from_be_bytes([entry[0], entry[1]]);
            let value = u32::from_be_bytes([entry[2], entry[3], entry[4], entry[5]]);
            self.apply_one(id, value)?;
        }
        Ok(())
    }

    fn apply_one(&mut self, id: u16, value: u32) -> Result<(), ErrorCode> {
        match id {
            1 => self.header_table_size = value,
            2 => self.enable_push = flag(value)?,
            3 => self.max_concurrent_streams = Some(value),
            4 if value > super::MAX_WINDOW => return Err(ErrorCode::FLOW_CONTROL_ERROR),
            4 => self.initial_window_size = value,
            5 if !(super::DEFAULT_FRAME_SIZE..=super::MAX_FRAME_SIZE).contains(&value) => {
                return Err(ErrorCode::PROTOCOL_ERROR);
            }
            5 => self.max_frame_size = value,
            6 => self.max_header_list_size = Some(value),
            8 => {
                let enabled = flag(value)?;
                if self.enable_connect_protocol && !enabled {
                    return Err(ErrorCode::PROTOCOL_ERROR);
                }
                self.enable_connect_protocol = enabled;
            }
            _ => {}
        }
        Ok(())
    }

    /// The parameters that differ from the protocol's defaults.
    pub fn differences(&self) -> impl Iterator<Item = (Setting, u32)> {
        let (own, usual) = (*self, Self::default());
        let listed = |differs: bool, setting, value| differs.then_some((setting, value));
        [
            listed(
                own.header_table_size != usual.header_table_size,
                Setting::HeaderTableSize,
                own.header_table_size,
            ),
            listed(!own.enable_push, Setting::EnablePush, 0),
            own.max_concurrent_streams.map(|limit| (Setting::MaxConcurrentStreams, limit)),
            listed(
                own.initial_window_size != usual.initial_window_size,
                Setting::InitialWindowSize,
                own.initial_window_size,
            ),
            listed(
                own.max_frame_size != usual.max_frame_size,
                Setting::MaxFrameSize,
                own.max_frame_size,
            ),
            own.max_header_list_size.map(|limit| (Setting::MaxHeaderListSize, limit)),
            listed(own.enable_connect_protocol, Setting::EnableConnectProtocol, 1),
        ]
        .into_iter()
        .flatten()
    }
}

fn flag(value: u32) -> Result<bool, ErrorCode> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(ErrorCode::PROTOCOL_ERROR),
    }
}
