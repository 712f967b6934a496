//! A frame as a tree: every layer, every field with its bits, and notes on what is wrong.

use std::fmt::{self, Write};

use super::{Frame, Info, Names, text};
use crate::{
    dissect::{Dissection, Layer, Note},
    icrc::{self, State},
    wire::{Field, Kind, Show},
};

/// Append the frame's tree: one line per layer, and below it one line per field, with the field's bits in its header. A field
/// that does not fill whole bytes shows their pattern. Notes come below the layer that they are about.
pub fn write_tree(frame: &Frame<'_>, names: Names, to: &mut String) -> fmt::Result {
    let d = frame.dissection;
    write!(to, "Frame {}: ", frame.number)?;
    match d.lengths() {
        (all, captured) if all == captured => write!(to, "{all} bytes, ")?,
        (all, captured) => write!(to, "{captured} of {all} bytes captured, ")?,
    }
    text::utc(to, frame.time_ns, 9)?;
    write!(to, " UTC, {}\n  ", d.link())?;
    Info::new(d, frame.icrc).write(to)?;
    to.push('\n');
    let layers = d.layers();
    let mut told = [false; 16];
    for layer in layers.iter() {
        let indent = if layer.kind.is_part() { "    " } else { "  " };
        head(frame, layer, indent, to)?;
        fields(d, layer, names, indent, to)?;
        for (note, told) in d.notes().iter().zip(&mut told) {
            if note.layer == layer.kind && note.at as u32 == layer.at && !*told {
                *told = true;
                remark(note, to)?;
            }
        }
    }
    for (note, told) in d.notes().iter().zip(told) {
        if !told {
            remark(note, to)?;
        }
    }
    if d.has_more_notes() {
        to.push_str("      note: there are more notes than are kept\n");
    }
    Ok(())
}

fn head(frame: &Frame<'_>, layer: &Layer, indent: &str, to: &mut String) -> fmt::Result {
    let d = frame.dissection;
    let bytes = if layer.len == 1 { "byte" } else { "bytes" };
    write!(to, "{indent}{}, {} {bytes} at {}", layer.kind.label(), layer.len, layer.at)?;
    match layer.kind {
        Kind::Icrc => {
            to.push_str(": ");
            text::bytes(to, &d.icrc().unwrap_or_default())?;
            match frame.icrc {
                State::Good => to.push_str(", good"),
                State::Unchecked => to.push_str(", not checked"),
                State::Trimmed => to.push_str(", none: a switch trimmed the packet"),
                State::Bad => {
                    to.push_str(", bad");
                    if let Some(right) = icrc::compute(d) {
                        to.push_str(", should be ");
                        text::bytes(to, &right)?;
                    }
                }
            }
        }
        Kind::Vcrc => {
            to.push_str(": ");
            text::bytes(to, &d.vcrc().unwrap_or_default())?;
            write!(to, ", {}", icrc::verify_vcrc(d).name())?;
        }
        Kind::Trailer if icrc::has_fcs(d) => to.push_str(", with a frame check sequence"),
        _ => {}
    }
    to.push('\n');
    Ok(())
}

fn fields(d: &Dissection<'_>, layer: &Layer, names: Names, indent: &str, to: &mut String) -> fmt::Result {
    let bytes = d.frame().get(layer.at as usize..).unwrap_or(&[]);
    let Some(info) = layer.kind.info() else {
        let options = matches!(
            layer.kind,
            Kind::Ipv4Options
                | Kind::Ipv6Extension
                | Kind::GeneveOptions
                | Kind::CmPrivate
                | Kind::AttributeRest
                | Kind::LldpValue
                | Kind::Everflow
        ) || layer.kind.is_of_message();
        if options {
            to.push_str(indent);
            to.push_str("  ");
            let value = bytes.get(..layer.len as usize).unwrap_or(bytes);
            match str::from_utf8(value) {
                // Names of systems and ports.
                Ok(text)
                    if layer.kind == Kind::LldpValue && text.chars().all(|c| (' '..='~').contains(&c)) =>
                {
                    write!(to, "{text:?}")?;
                }
                _ => text::bytes(to, value)?,
            }
            to.push('\n');
        }
        return Ok(());
    };
    let width = info.fields.iter().map(|field| names.of(field).len()).max().unwrap_or(0);
    for field in info.fields {
        let (first, last) = (field.bit, field.bit + field.width - 1);
        match field.width {
            1 => write!(to, "{indent}  {first:>4}      ")?,
            _ => write!(to, "{indent}  {first:>4}-{last:<4} ")?,
        }
        write!(to, "{:width$} ", names.of(field))?;
        shown(field, bytes, to)?;
        pattern(field, bytes, to);
        to.push('\n');
    }
    Ok(())
}

/// The value; long raw bytes are cut.
fn shown(field: &Field, bytes: &[u8], to: &mut String) -> fmt::Result {
    match (field.show, field.bytes(bytes)) {
        (Show::Bytes, value) if value.len() > 16 => {
            text::bytes(to, value.get(..16).unwrap_or(value))?;
            write!(to, "... ({} bytes)", value.len())
        }
        (Show::Flag, _) => write!(to, "{:5}", field.get(bytes) != 0),
        _ => write!(to, "{}", field.display(bytes)),
    }
}

/// The bits of a field that does not fill its bytes, as Wireshark draws them: `..1. ....`.
fn pattern(field: &Field, bytes: &[u8], to: &mut String) {
    let (bit, width) = (field.bit as usize, field.width as usize);
    let (first, last) = (bit / 8, (bit + width - 1) / 8);
    if bit % 8 == 0 && width % 8 == 0 || last - first > 3 {
        return;
    }
    to.push_str("  ");
    for at in 8 * first..8 * (last + 1) {
        if at % 4 == 0 {
            to.push(' ');
        }
        let set = bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
        to.push(match (bit..bit + width).contains(&at) {
            true if set => '1',
            true => '0',
            false => '.',
        });
    }
}

fn remark(note: &Note, to: &mut String) -> fmt::Result {
    writeln!(to, "      {}: {note} [{}]", note.problem.severity().name(), note.id())
}

/// Append the bytes in hexadecimal and as text, sixteen a line.
pub fn write_hex(bytes: &[u8], to: &mut String) -> fmt::Result {
    for (i, row) in bytes.chunks(16).enumerate() {
        write!(to, "  {:04x} ", 16 * i)?;
        for at in 0..16 {
            if at == 8 {
                to.push(' ');
            }
            match row.get(at) {
                Some(byte) => {
                    to.push(' ');
                    text::bytes(to, &[*byte])?;
                }
                None => to.push_str("   "),
            }
        }
        to.push_str("  ");
        to.extend(row.iter().map(|&byte| if (0x20..0x7f).contains(&byte) { byte as char } else { '.' }));
        to.push('\n');
    }
    Ok(())
}
