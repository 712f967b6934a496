//! What kind of file this is, by its first bytes.

use super::Compression;

/// The compression a file begins with.
pub(super) fn compression(start: &[u8]) -> Compression {
    match start {
        [0x1f, 0x8b, 0x08, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        // A skippable frame, which zstd's own tools put in front (pzstd).
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// Describes a file that is not a capture.
pub(super) fn describe(start: &[u8]) -> String {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"TRSNIFF data    \x1a", "looks like a Network General Sniffer capture (.cap)"),
        (b"XCP\0", "looks like a NetXRay or Windows Sniffer capture (.cap)"),
        (b"VL\0\0", "looks like a NetXRay capture (.cap)"),
        (b"RTSS", "looks like a Microsoft Network Monitor 1 capture (.cap)"),
        (b"GMBU", "looks like a Microsoft Network Monitor 2 capture (.cap)"),
        (b"snoop\0\0\0", "looks like a snoop capture"),
        (b"btsnoop\0", "looks like a btsnoop capture"),
        (b"\x1c\x00\x01\xac", "looks like an IXIA pcap capture"),
        (b"\x1c\x00\x01\xab", "looks like an IXIA pcap capture"),
        (b"\xac\x01\x00\x1c", "looks like an IXIA pcap capture"),
        (b"\xab\x01\x00\x1c", "looks like an IXIA pcap capture"),
        (b"\x1f\x8b", "looks like gzip data of an unknown method"),
        (b"\xfd7zXZ\0", "is compressed with xz: decompress it first (xz -dc FILE | … -)"),
        (b"BZh", "is compressed with bzip2: decompress it first (bzip2 -dc FILE | … -)"),
        (b"\x04\x22\x4d\x18", "is compressed with lz4: decompress it first (lz4 -dc FILE | … -)"),
        (b"PK\x03\x04", "looks like a ZIP archive"),
        (b"7z\xbc\xaf\x27\x1c", "looks like a 7z archive"),
        (b"\x7fELF", "looks like an ELF program or library"),
        (b"\x89PNG", "looks like a PNG image"),
        (b"%PDF", "looks like a PDF document"),
        (b"SQLite format 3\0", "looks like an SQLite database"),
    ];
    let tail = ", which is not read; pcap, pcapng and ERF are";
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| start.starts_with(magic)) {
        // For compressed files the text says what to do.
        return if what.starts_with("is ") { (*what).to_owned() } else { format!("{what}{tail}") };
    }
    if looks_like_text(start) {
        return format!("looks like text{tail}");
    }
    if start.iter().all(|&byte| byte == 0) {
        return format!("begins with zeros{tail}");
    }
    let hex: Vec<String> = start.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "is no capture file of a known kind (it begins with {}); pcap, pcapng and ERF are read; ERF with unusual times only if its name ends in .erf",
        hex.join(" ")
    )
}

/// Whether these bytes are printable ASCII or UTF-8.
pub(super) fn looks_like_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(64)];
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        // A character may be cut at the end of these bytes.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty()
        && valid.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b'))
}
