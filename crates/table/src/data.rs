//! The data types that a table may store, in the order in which HAProxy lists them.

/// A data type of an entry (manual section 4.2, `stick-table`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DataType {
    /// `server_id`: the server that a `stick` rule stored.
    ServerId,
    /// `gpt0`
    Gpt0,
    /// `gpc0`
    Gpc0,
    /// `gpc0_rate`
    Gpc0Rate,
    /// `conn_cnt`
    ConnCnt,
    /// `conn_rate`
    ConnRate,
    /// `conn_cur`: connections or streams that track the entry now.
    ConnCur,
    /// `sess_cnt`
    SessCnt,
    /// `sess_rate`
    SessRate,
    /// `http_req_cnt`
    HttpReqCnt,
    /// `http_req_rate`
    HttpReqRate,
    /// `http_err_cnt`
    HttpErrCnt,
    /// `http_err_rate`
    HttpErrRate,
    /// `bytes_in_cnt`
    BytesInCnt,
    /// `bytes_in_rate`
    BytesInRate,
    /// `bytes_out_cnt`
    BytesOutCnt,
    /// `bytes_out_rate`
    BytesOutRate,
    /// `gpc1`
    Gpc1,
    /// `gpc1_rate`
    Gpc1Rate,
    /// `server_key`: the same server by its name or address.
    ServerKey,
    /// `http_fail_cnt`
    HttpFailCnt,
    /// `http_fail_rate`
    HttpFailRate,
    /// `gpt(n)`
    Gpt,
    /// `gpc(n)`
    Gpc,
    /// `gpc_rate(n,period)`
    GpcRate,
    /// `glitch_cnt`
    GlitchCnt,
    /// `glitch_rate`
    GlitchRate,
}

/// How the values of a data type are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    /// 32 bits; sums wrap.
    Count,
    /// 64 bits.
    Long,
    /// Events per period.
    Rate,
    /// A text.
    Text,
}

/// Number of data types.
pub(crate) const TYPES: usize = DataType::GlitchRate as usize + 1;

impl DataType {
    /// Every data type, in the order of listings.
    // One data type per line, for reading as a table.
    #[rustfmt::skip]
    pub const TABLE: &[(DataType, &'static str, DataKind)] = &[
        (DataType::ServerId, "server_id", DataKind::Count),
        (DataType::Gpt0, "gpt0", DataKind::Count),
        (DataType::Gpc0, "gpc0", DataKind::Count),
        (DataType::Gpc0Rate, "gpc0_rate", DataKind::Rate),
        (DataType::ConnCnt, "conn_cnt", DataKind::Count),
        (DataType::ConnRate, "conn_rate", DataKind::Rate),
        (DataType::ConnCur, "conn_cur", DataKind::Count),
        (DataType::SessCnt, "sess_cnt", DataKind::Count),
        (DataType::SessRate, "sess_rate", DataKind::Rate),
        (DataType::HttpReqCnt, "http_req_cnt", DataKind::Count),
        (DataType::HttpReqRate, "http_req_rate", DataKind::Rate),
        (DataType::HttpErrCnt, "http_err_cnt", DataKind::Count),
        (DataType::HttpErrRate, "http_err_rate", DataKind::Rate),
        (DataType::BytesInCnt, "bytes_in_cnt", DataKind::Long),
        (DataType::BytesInRate, "bytes_in_rate", DataKind::Rate),
        (DataType::BytesOutCnt, "bytes_out_cnt", DataKind::Long),
        (DataType::BytesOutRate, "bytes_out_rate", DataKind::Rate),
        (DataType::Gpc1, "gpc1", DataKind::Count),
        (DataType::Gpc1Rate, "gpc1_rate", DataKind::Rate),
        (DataType::ServerKey, "server_key", DataKind::Text),
        (DataType::HttpFailCnt, "http_fail_cnt", DataKind::Count),
        (DataType::HttpFailRate, "http_fail_rate", DataKind::Rate),
        (DataType::Gpt, "gpt", DataKind::Count),
        (DataType::Gpc, "gpc", DataKind::Count),
        (DataType::GpcRate, "gpc_rate", DataKind::Rate),
        (DataType::GlitchCnt, "glitch_cnt", DataKind::Count),
        (DataType::GlitchRate, "glitch_rate", DataKind::Rate),
    ];

    /// A new connection.
    pub const CONNECTION: &[DataType] = &[DataType::ConnCnt, DataType::ConnRate];
    /// A connection that passed the rules about connections.
    pub const SESSION: &[DataType] = &[DataType::SessCnt, DataType::SessRate];
    /// An HTTP request.
    pub const REQUEST: &[DataType] = &[DataType::HttpReqCnt, DataType::HttpReqRate];
    /// An error that the client caused.
    pub const ERROR: &[DataType] = &[DataType::HttpErrCnt, DataType::HttpErrRate];
    /// A failure that the server caused.
    pub const FAILURE: &[DataType] = &[DataType::HttpFailCnt, DataType::HttpFailRate];
    /// A breach of the protocol by the client.
    pub const GLITCH: &[DataType] = &[DataType::GlitchCnt, DataType::GlitchRate];
    /// Bytes from the client.
    pub const BYTES_IN: &[DataType] = &[DataType::BytesInCnt, DataType::BytesInRate];
    /// Bytes to the client.
    pub const BYTES_OUT: &[DataType] = &[DataType::BytesOutCnt, DataType::BytesOutRate];

    /// The data type of this name.
    pub fn named(name: &str) -> Option<DataType> {
        DataType::TABLE.iter().find(|(_, own, _)| *own == name).map(|(data, ..)| *data)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        DataType::TABLE[self as usize].1
    }

    /// How its values are kept.
    pub fn kind(self) -> DataKind {
        DataType::TABLE[self as usize].2
    }

    /// Whether it is declared with a number of elements.
    pub fn is_array(self) -> bool {
        matches!(self, DataType::Gpt | DataType::Gpc | DataType::GpcRate)
    }

    /// The name of an element of an array: its number follows the name, `_rate` comes last.
    pub fn element_name(self, index: u32) -> String {
        match self {
            DataType::GpcRate => format!("gpc{index}_rate"),
            _ => format!("{}{index}", self.name()),
        }
    }

    /// Whether its values are set rather than counted.
    pub fn is_label(self) -> bool {
        use DataType::{Gpt, Gpt0, ServerId, ServerKey};
        matches!(self, ServerId | ServerKey | Gpt0 | Gpt)
    }

    /// The array and index that hold the value of a data type from before arrays.
    pub(crate) fn in_array(self) -> Option<(DataType, u32)> {
        match self {
            DataType::Gpt0 => Some((DataType::Gpt, 0)),
            DataType::Gpc0 => Some((DataType::Gpc, 0)),
            DataType::Gpc1 => Some((DataType::Gpc, 1)),
            DataType::Gpc0Rate => Some((DataType::GpcRate, 0)),
            DataType::Gpc1Rate => Some((DataType::GpcRate, 1)),
            _ => None,
        }
    }

    /// Its bit in a set.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (index, (data, name, _)) in DataType::TABLE.iter().enumerate() {
            assert_eq!(*data as usize, index);
            assert_eq!(DataType::named(name), Some(*data));
        }
        assert_eq!(DataType::TABLE.len(), TYPES);
        assert_eq!(DataType::named("no_such_cnt"), None);
        assert_eq!(DataType::GpcRate.element_name(3), "gpc3_rate");
    }
}
