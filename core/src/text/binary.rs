use super::{CellKind, CellText};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Two lower-case hex digits a byte.
pub(super) fn write_hex(bytes: &[u8], out: &mut CellText) {
    for byte in bytes {
        let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
        out.push(std::str::from_utf8(&digits).unwrap_or_default());
        if out.was_cut() {
            return;
        }
    }
}

/// Hex, then the length: `68656c6c6f (5 bytes)`.
pub(super) fn write(bytes: &[u8], out: &mut CellText) -> CellKind {
    write_hex(bytes, out);
    let space = if bytes.is_empty() { "" } else { " " };
    let plural = if bytes.len() == 1 { "" } else { "s" };
    out.put(format_args!("{space}({} byte{plural})", bytes.len()));
    CellKind::Value
}
