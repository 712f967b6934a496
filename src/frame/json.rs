//! A frame as one JSON object on one line.

use std::{fmt, fmt::Write, sync::OnceLock};

use super::{Frame, Info, text};
use crate::{
    dissect::{Dissection, Layer},
    icrc::{self, State},
    wire::{Field, HeaderInfo, Kind, Mad, Show},
};

/// Which names fields have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Names {
    /// Those of the specification, as in the tables of the headers.
    #[default]
    #[cfg_attr(feature = "cli", value(name = "rdmawire"))]
    Own,
    /// Wireshark's filter name, if it has one for the field.
    Wireshark,
}

impl Names {
    /// The field's name.
    pub fn of(self, field: &Field) -> &'static str {
        match self {
            Names::Wireshark if !field.wireshark.is_empty() => field.wireshark,
            _ => field.name,
        }
    }
}

/// Writes frames as JSON: `frame`, `time_ns`, `captured`, `length`, `link_type`, `layers[]`, `payload`, `icrc`,
/// `info`, `notes[]`.
///
/// A layer has `name`, `offset`, `length` and the fields of its header by their names. A field with one of these three names, or
/// with a name that an earlier header of the layer has, gets its header's name before its own (`udp_length`).
#[derive(Clone, Copy)]
pub struct Json {
    keys: &'static [Vec<String>],
}

impl Json {
    /// A writer that uses these names.
    pub fn new(names: Names) -> Json {
        static KEYS: [OnceLock<Vec<Vec<String>>>; 2] = [const { OnceLock::new() }; 2];
        let keys = KEYS[(names == Names::Wireshark) as usize].get_or_init(|| keys(names));
        Json { keys }
    }

    /// Append the frame's object and a line feed. The object names the `file` if one is given.
    pub fn write(&self, frame: &Frame<'_>, file: Option<&str>, to: &mut String) -> fmt::Result {
        let d = frame.dissection;
        to.push('{');
        if let Some(file) = file {
            to.push_str("\"file\":");
            text::json_string(to, file)?;
            to.push(',');
        }
        number(to, "\"frame\":", frame.number)?;
        to.push_str(",\"time_ns\":");
        if frame.time_ns < 0 {
            to.push('-');
        }
        text::dec(to, frame.time_ns.unsigned_abs())?;
        let (length, captured) = d.lengths();
        number(to, ",\"captured\":", captured.into())?;
        number(to, ",\"length\":", length.into())?;
        number(to, ",\"link_type\":", d.link().0 as u64)?;
        self.layers(d, to)?;
        tail(frame, to)?;
        to.push_str(",\"info\":\"");
        let from = to.len();
        Info::new(d, frame.icrc).write(to)?;
        text::json_escape(to, from)?;
        to.push_str("\",\"notes\":[");
        for (i, note) in d.notes().iter().enumerate() {
            to.push_str(if i == 0 { "{\"id\":\"" } else { ",{\"id\":\"" });
            write!(to, "{}", note.id())?;
            write!(to, "\",\"severity\":\"{}\"", note.problem.severity().name())?;
            write!(to, ",\"layer\":\"{}\",\"offset\":{},\"text\":\"{note}\"}}", note.layer.layer(), note.at)?;
        }
        to.push_str("]}\n");
        Ok(())
    }

    fn layers(&self, d: &Dissection<'_>, to: &mut String) -> fmt::Result {
        to.push_str(",\"layers\":[");
        let layers = d.layers();
        let headers = layers.iter().position(|layer| layer.kind >= Kind::Payload).unwrap_or(layers.len());
        let mut rest = layers.get(..headers).unwrap_or(&[]);
        let mut first = true;
        while let [layer, after @ ..] = rest {
            let parts = after.iter().take_while(|layer| layer.kind.is_part()).count();
            let (parts, after) = after.split_at(parts);
            rest = after;
            to.push_str(if first { "{\"name\":\"" } else { ",{\"name\":\"" });
            first = false;
            to.push_str(layer.kind.layer());
            number(to, "\",\"offset\":", layer.at as u64)?;
            let whole = layer.len + parts.iter().map(|part| part.len).sum::<u32>();
            number(to, ",\"length\":", whole as u64)?;
            if let Some(message) = layer.kind.label().strip_prefix("CM ") {
                to.push_str(",\"message\":\"");
                to.push_str(message);
                to.push('"');
            }
            self.fields(d, layer, to)?;
            match layer.kind {
                Kind::Mad | Kind::MadDirected => self.attribute_name(d, to)?,
                Kind::AttributeRest => self.rest(d, layer, to)?,
                _ => {}
            }
            let mut lists = Parts::default();
            for part in parts {
                self.part(d, part, &mut lists, to)?;
            }
            lists.close(to);
            to.push('}');
        }
        to.push(']');
        Ok(())
    }

    #[inline]
    fn fields(&self, d: &Dissection<'_>, layer: &Layer, to: &mut String) -> fmt::Result {
        let Some(info) = layer.kind.info() else { return Ok(()) };
        let bytes = d.frame().get(layer.at as usize..).unwrap_or(&[]);
        let keys = self.keys.get(layer.kind as usize).map_or(&[][..], |keys| keys);
        for (field, key) in info.fields.iter().zip(keys) {
            to.push_str(key);
            value(field, bytes, "\"", to)?;
        }
        match layer.kind {
            kind if kind.is_bth() => {
                meaning(to, ",\"opcode_name\":", d.opcode().and_then(|opcode| opcode.name()))
            }
            _ => Ok(()),
        }
    }

    /// The names of a datagram's attribute, which depends on its class.
    #[cold]
    fn attribute_name(&self, d: &Dissection<'_>, to: &mut String) -> fmt::Result {
        let Some(mad) = d.get::<Mad>() else { return Ok(()) };
        meaning(to, ",\"attribute_name\":", mad.mgmt_class().attribute_name(mad.attribute_id().0))
    }

    #[cold]
    fn rest(&self, d: &Dissection<'_>, layer: &Layer, to: &mut String) -> fmt::Result {
        let bytes = d.frame().get(layer.at as usize..(layer.at + layer.len) as usize).unwrap_or(&[]);
        to.push_str(",\"bytes\":\"");
        text::bytes(to, bytes)?;
        to.push('"');
        Ok(())
    }

    /// A header that continues a layer: its fields belong to the layer. A header that may come more than once becomes a list.
    fn part(&self, d: &Dissection<'_>, part: &Layer, parts: &mut Parts, to: &mut String) -> fmt::Result {
        let bytes = d.frame().get(part.at as usize..(part.at + part.len) as usize).unwrap_or(&[]);
        let list = match part.kind {
            Kind::ErfExtension => ",\"extension_headers\":[",
            Kind::Ipv6Extension => ",\"extensions\":[",
            _ => "",
        };
        if matches!(part.kind, Kind::ApplicationPriority | Kind::CeeApplication) {
            parts.item(",\"applications\":[", to);
            to.push('{');
            let from = to.len();
            self.fields(d, part, to)?;
            // The first field has no comma before it.
            to.remove(from);
            to.push('}');
            return Ok(());
        }
        if !list.is_empty() {
            parts.item(list, to);
            to.push('"');
            text::bytes(to, bytes)?;
            to.push('"');
            return Ok(());
        }
        parts.close(to);
        let key = match part.kind {
            Kind::Ipv4Options | Kind::GeneveOptions => ",\"options\":\"",
            Kind::CmPrivate => ",\"private_data\":\"",
            Kind::LldpValue => ",\"value\":\"",
            Kind::NfsHandleBytes => ",\"handle\":\"",
            // Not "name": that is the layer's.
            Kind::NfsNameBytes => ",\"name_bytes\":\"",
            Kind::NvmeNsId => ",\"id\":\"",
            Kind::NvmeAnaNamespaces => ",\"nsids\":\"",
            Kind::NfsText => ",\"tag\":\"",
            Kind::NfsArguments => ",\"arguments\":\"",
            Kind::RpcAuthBody | Kind::Smb2Body => ",\"body\":\"",
            Kind::SmbdPadding => ",\"padding\":\"",
            Kind::SrpMoreCdb => ",\"more_cdb\":\"",
            _ => return self.fields(d, part, to),
        };
        to.push_str(key);
        text::bytes(to, bytes)?;
        to.push('"');
        Ok(())
    }
}

/// A list among the parts of a layer, while it is written.
#[derive(Default)]
struct Parts {
    open: bool,
}

impl Parts {
    fn item(&mut self, list: &str, to: &mut String) {
        to.push_str(if self.open { "," } else { list });
        self.open = true;
    }

    fn close(&mut self, to: &mut String) {
        if self.open {
            to.push(']');
        }
        self.open = false;
    }
}

/// Payload and ICRC, and VCRC and trailer if there are any.
fn tail(frame: &Frame<'_>, to: &mut String) -> fmt::Result {
    let d = frame.dissection;
    number(to, ",\"payload\":{\"offset\":", d.offset(Kind::Payload).unwrap_or(0) as u64)?;
    number(to, ",\"length\":", d.payload_len() as u64)?;
    number(to, ",\"padding\":", d.pad_len() as u64)?;
    to.push_str("},\"icrc\":");
    match (d.icrc(), d.offset(Kind::Icrc)) {
        (Some(value), Some(offset)) => {
            number(to, "{\"offset\":", offset as u64)?;
            to.push_str(",\"value\":\"");
            text::bytes(to, &value)?;
            to.push_str("\",\"state\":\"");
            to.push_str(frame.icrc.name());
            to.push_str("\"}");
        }
        _ if d.has(Kind::Bth) || d.is_uet() => {
            to.push_str("{\"offset\":null,\"value\":null,\"state\":\"");
            to.push_str(state_without(frame).name());
            to.push_str("\"}");
        }
        _ => to.push_str("null"),
    }
    if let Some(vcrc) = d.vcrc() {
        number(to, ",\"vcrc\":{\"offset\":", d.end() as u64)?;
        to.push_str(",\"value\":\"");
        text::bytes(to, &vcrc)?;
        let state = icrc::verify_vcrc(d);
        write!(to, "\",\"state\":\"{}\"}}", state.name())?;
    }
    let trailer = d.trailer().len();
    if trailer > 0 {
        number(to, ",\"trailer\":{\"offset\":", (d.frame().len() - trailer) as u64)?;
        number(to, ",\"length\":", trailer as u64)?;
        to.push('}');
    }
    Ok(())
}

/// The state of an ICRC that is not there: a switch that trims a packet leaves none.
pub(super) fn state_without(frame: &Frame<'_>) -> State {
    if frame.icrc == State::Trimmed { State::Trimmed } else { State::Unchecked }
}

#[inline]
fn number(to: &mut String, key: &str, value: u64) -> fmt::Result {
    to.push_str(key);
    text::dec(to, value)
}

fn meaning(to: &mut String, key: &str, name: Option<&str>) -> fmt::Result {
    let Some(name) = name else { return Ok(()) };
    to.push_str(key);
    text::json_string(to, name)
}

/// A field's value in JSON: a number, a boolean or text, which is put into quotes.
#[inline]
pub(super) fn value(field: &Field, bytes: &[u8], quote: &str, to: &mut String) -> fmt::Result {
    let quoted = |to: &mut String, write: fn(&mut String, &[u8]) -> fmt::Result| {
        to.push_str(quote);
        write(to, field.bytes(bytes))?;
        to.write_str(quote)
    };
    match field.show {
        Show::Flag => to.write_str(if field.get(bytes) != 0 { "true" } else { "false" }),
        Show::Mac => quoted(to, text::mac),
        Show::Ipv4 => quoted(to, text::ipv4),
        Show::Ipv6 => quoted(to, text::ipv6),
        Show::Ip(_) => write!(to, "{quote}{}{quote}", field.ip(bytes)),
        Show::Bytes => quoted(to, text::bytes),
        // In a cell of a table, where nothing is quoted, what is not plain is written as bytes.
        Show::Text => match str::from_utf8(field.text(bytes)) {
            Ok(text) if !quote.is_empty() => text::json_string(to, text),
            Ok(text) if text.chars().all(|c| c.is_ascii_alphanumeric() || " ._-:/".contains(c)) => {
                to.write_str(text)
            }
            _ => quoted(to, text::bytes),
        },
        Show::List(_) | Show::Counts(_) if quote.is_empty() => quoted(to, text::bytes),
        Show::List(_) | Show::Counts(_) => {
            to.push('[');
            for (n, entry) in field.entries(bytes).enumerate() {
                to.push_str(if n == 0 { "" } else { "," });
                text::dec(to, entry)?;
            }
            to.push(']');
            Ok(())
        }
        Show::Dec | Show::Hex | Show::Named(_) | Show::Decoded(_) => text::dec(to, field.get(bytes)),
    }
}

/// For every field of every kind, the text before its value: `,"psn":`.
fn keys(names: Names) -> Vec<Vec<String>> {
    let mut keys: Vec<Vec<String>> = Vec::new();
    for &kind in Kind::ALL {
        let Some(info) = kind.info() else {
            keys.push(Vec::new());
            continue;
        };
        // A part shares its object with every earlier header of its layer.
        let mut taken: Vec<&str> = vec!["name", "offset", "length", "message"];
        // In LLDP, parts are alternatives, of which a TLV has one.
        if kind.is_part() && !kind.is_in_lldp() {
            let before = Kind::ALL.iter().filter(|k| **k < kind && k.layer() == kind.layer());
            taken.extend(before.filter_map(|k| k.info()).flat_map(|i| i.fields).map(|f| names.of(f)));
        }
        keys.push(info.fields.iter().map(|field| key(info, names.of(field), &taken)).collect());
    }
    keys
}

fn key(info: &HeaderInfo, name: &str, taken: &[&str]) -> String {
    if !taken.contains(&name) {
        return format!(",\"{name}\":");
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let label: String = info.label.chars().map(plain).collect();
    format!(",\"{label}_{name}\":")
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Json").finish_non_exhaustive()
    }
}

impl Frame<'_> {
    /// Verify the ICRC and keep the result.
    #[must_use]
    pub fn verified(mut self) -> Self {
        self.icrc = icrc::verify(self.dissection);
        self
    }

    /// A frame whose ICRC is not verified yet.
    pub fn new<'a>(number: u64, time_ns: i64, dissection: &'a Dissection<'a>) -> Frame<'a> {
        Frame { number, time_ns, dissection, icrc: State::Unchecked }
    }
}
