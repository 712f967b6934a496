//! Every header: any bytes are one; reading, writing and printing its fields.

use rdmawire::wire::*;

use super::for_each_header;

/// A fuzzer's input: which header, a value to put, and the header's bytes.
pub fn header(data: &[u8]) {
    let Some(([which, value @ ..], bytes)) = data.split_first_chunk::<9>() else { return };
    let kinds = Kind::ALL.iter().filter(|kind| kind.info().is_some());
    let kind = *kinds.clone().nth(*which as usize % kinds.count()).expect("within the list");
    let bytes = &bytes[..bytes.len().min(300)];
    // Tables are asked about bytes of any length, typed views about as many as they need.
    table(kind, bytes, u64::from_le_bytes(*value));
    let info = kind.info().expect("only those were listed");
    let mut whole = bytes.to_vec();
    whole.resize(bytes.len().max(info.len), 0);
    table(kind, &whole, u64::from_le_bytes(*value));
    macro_rules! typed {
        ($($name:ident)*) => { $(
            if kind == Kind::$name { view::<$name>(bytes) }
        )* };
    }
    for_each_header!(typed);
}

/// Every row of a header's table, over bytes that may be too few.
pub fn table(kind: Kind, bytes: &[u8], value: u64) {
    let info = kind.info().expect("a header");
    let before = bits(bytes);
    for field in info.fields {
        let width = field.width as usize;
        let name = format!("{}.{}", kind.layer(), field.name);
        let (from, to) = (field.bit as usize, field.bit as usize + width);
        let read = |bits: &[bool]| {
            let all = bits.iter().skip(from).chain(std::iter::repeat(&false)).take(width);
            let mut all: Vec<bool> = all.copied().collect();
            if field.little {
                all = all.chunks(8).rev().flatten().copied().collect();
            }
            all.iter().fold(0u128, |n, &bit| n << 1 | bit as u128)
        };
        let mut changed = bytes.to_vec();
        field.set(&mut changed, value);
        assert_eq!(changed.len(), bytes.len());
        if width <= 64 {
            let mask = u64::MAX >> (64 - width);
            // Bit by bit, as in the specification's figure.
            if bytes.len() >= info.len {
                assert_eq!(field.get(bytes) as u128, read(&before), "{name}");
                assert_eq!(field.get(&changed), value & mask, "{name}");
            }
            for (at, (old, new)) in bytes.iter().zip(&changed).enumerate() {
                let outside = (0..8).filter(|bit| !(from..to).contains(&(8 * at + bit)));
                let mask = outside.fold(0, |mask, bit| mask | 0x80 >> bit);
                assert_eq!((old ^ new) & mask, 0, "{name} changed byte {at}");
            }
            field.set(&mut changed, field.get(bytes));
            assert_eq!(changed, bytes, "{name} put back");
        } else if bytes.len() >= info.len {
            assert_eq!(field.bytes(bytes), &bytes[from / 8..to / 8], "{name}");
        }
        let text = field.display(bytes).to_string();
        assert!(text.len() < 4 * width + 100 && !text.contains(|c: char| c.is_control()), "{name}: {text:?}");
        field.meaning(bytes);
    }
}

/// A typed view is the bytes, or is not there.
fn view<H: Header>(bytes: &[u8]) {
    let seen = H::view(bytes).map(|(header, rest)| (header.to_string(), header.as_bytes(), rest.len()));
    viewed((H::NAME, H::LEN, H::FIELDS), bytes, seen);
}

/// Once for all headers, where [`view`] is compiled for each.
fn viewed((name, len, fields): (&str, usize, &[Field]), bytes: &[u8], seen: Option<(String, &[u8], usize)>) {
    let Some((text, header, rest)) = seen else {
        assert!(bytes.len() < len);
        return;
    };
    assert_eq!(rest + len, bytes.len());
    assert_eq!(header, &bytes[..len]);
    assert!(text.starts_with(name));
    for field in fields {
        let shown = match field.show {
            Show::Flag if field.get(bytes) == 0 => continue,
            Show::Flag => format!(" {}", field.name),
            _ => format!(" {}={}", field.name, field.display(bytes)),
        };
        assert!(text.contains(&shown), "{shown} is not in {text}");
    }
}

fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1 == 1)).collect()
}
