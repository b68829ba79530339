//! Options of `server` lines about how connections are made (section 5.2). Never connects.
use crate::line::{Args, Parsed};
use crate::model::Announce;

/// `proxy-v2-options <option>[,<option>]*`
pub(super) fn proxy_v2_options(announce: &mut Announce, args: Args<'_>) -> Parsed {
    let list = args.text(1);
    let mut offset = 0;
    for name in list.split(',') {
        let flag = match name {
            "ssl" => &mut announce.ssl,
            "cert-cn" => &mut announce.cert_cn,
            "ssl-cipher" => &mut announce.ssl_cipher,
            "cert-sig" => &mut announce.cert_sig,
            "cert-key" => &mut announce.cert_key,
            "authority" => &mut announce.authority,
            "crc32c" => &mut announce.crc32c,
            "unique-id" => &mut announce.unique_id,
            _ => {
                let message = format!("'{name}' : proxy v2 option not implemented.");
                return Err(args.fault_at(1, offset, message));
            }
        };
        *flag = true;
        offset += name.len() + 1;
    }
    Ok(())
}
