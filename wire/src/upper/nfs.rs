//! NFSv4: the operations of a compound (RFC 8881, chapter 18; RFC 7530, chapter 16; RFC 7862; RFC 8276).

use super::{Parts, parts::Reader};
use crate::wire::*;

/// A compound's call: tag, minor version, operations. The operations behind one of unknown arguments are not found. `has_chunk`: data is in
/// a chunk.
pub(super) fn compound(reader: &mut Reader<'_>, has_chunk: bool) -> Option<()> {
    let tag = reader.take::<NfsTag>()?.tag_length() as usize;
    reader.bytes(Kind::NfsText, tag.checked_next_multiple_of(4)?)?;
    let count = reader.take::<NfsCompound>()?.operations();
    for _ in 0..count {
        let operation = reader.take::<NfsOperation>()?.operation();
        let mut xdr = Xdr { bytes: reader.left(), at: 0 };
        let len = arguments(operation, &mut xdr, has_chunk).map(|()| xdr.at)?;
        let end = reader.at() + len;
        parts_of(operation, reader, len);
        reader.bytes(Kind::NfsArguments, end.checked_sub(reader.at())?)?;
    }
    Some(())
}

/// What says which file it is about, and which part of it. The arguments have so many bytes, all of which are there.
fn parts_of(operation: Nfs4Operation, reader: &mut Reader<'_>, len: usize) -> Option<()> {
    match operation {
        // PUTFH
        Nfs4Operation(22) => handle(reader),
        // LINK, LOOKUP, REMOVE
        Nfs4Operation(11 | 15 | 28) => name(reader),
        // RENAME
        Nfs4Operation(29) => name(reader).and_then(|()| name(reader)),
        // COMMIT
        Nfs4Operation(5) => reader.take::<NfsRange>().map(|_| ()),
        Nfs4Operation::READ => {
            reader.take::<NfsState>()?;
            reader.take::<NfsRange>().map(|_| ())
        }
        Nfs4Operation::WRITE => {
            reader.take::<NfsState>()?;
            reader.take::<NfsWrite>().map(|_| ())
        }
        // CREATE: behind the type, and what it needs.
        Nfs4Operation(6) => {
            let mut xdr = Xdr { bytes: reader.left(), at: 0 };
            create_type(&mut xdr)?;
            reader.bytes(Kind::NfsArguments, xdr.at)?;
            name(reader)
        }
        // OPEN: at the end, if it is not open already.
        Nfs4Operation(18) => {
            let mut xdr = Xdr { bytes: reader.left(), at: 0 };
            let claim = open_claim(&mut xdr)?;
            let is_named = matches!(claim, 0 | 3) && xdr.at < len;
            reader.bytes(Kind::NfsArguments, xdr.at).filter(|_| is_named)?;
            name(reader)
        }
        _ => None,
    }
}

fn handle(reader: &mut Reader<'_>) -> Option<()> {
    /// Of NFSv4; those of NFSv3 have 64.
    const LONGEST: u32 = 128;
    let len = reader.take::<NfsHandle>()?.handle_length();
    let is_one = len <= LONGEST;
    is_one.then(|| reader.bytes(Kind::NfsHandleBytes, (len as usize).next_multiple_of(4)))?.map(|_| ())
}

fn name(reader: &mut Reader<'_>) -> Option<()> {
    let len = reader.take::<NfsName>()?.name_length() as usize;
    reader.bytes(Kind::NfsNameBytes, len.checked_next_multiple_of(4)?).map(|_| ())
}

/// What a call of NFSv3 is about (RFC 1813, 3.3).
pub(super) fn call3(procedure: Nfs3Procedure, reader: &mut Reader<'_>) -> Option<()> {
    if !(1..=21).contains(&procedure.0) {
        return None;
    }
    handle(reader)?;
    match procedure {
        Nfs3Procedure::READ => reader.take::<NfsRange>().map(|_| ()),
        Nfs3Procedure::WRITE => reader.take::<Nfs3Write>().map(|_| ()),
        // COMMIT
        Nfs3Procedure(21) => reader.take::<NfsRange>().map(|_| ()),
        // LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR
        Nfs3Procedure(3 | 8..=13) => name(reader),
        // RENAME
        Nfs3Procedure(14) => {
            name(reader)?;
            handle(reader)?;
            name(reader)
        }
        // LINK
        Nfs3Procedure(15) => {
            handle(reader)?;
            name(reader)
        }
        _ => Some(()),
    }
}

/// A short name for a file: the CRC-32 of its handle, as Wireshark has it. Two files may share it, which is rare.
pub fn hash_of_handle(handle: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(handle);
    crc.finalize()
}

/// The bytes of a file handle or a name in a message: those of the part that follows its head, without the zeros behind them.
pub fn bytes_of<'a>(parts: &Parts, at: usize, message: &'a [u8]) -> Option<&'a [u8]> {
    let head = parts.get_part(at)?;
    let len = u32::from_be_bytes(*message.get(head.at..)?.first_chunk()?) as usize;
    let from = head.at + head.len;
    message.get(from..from.checked_add(len)?)
}

/// Steps over XDR.
struct Xdr<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Xdr<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.at = self.at.checked_add(bytes)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    fn word(&mut self) -> Option<u32> {
        let word = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += 4;
        Some(u32::from_be_bytes(*word))
    }

    fn opaque(&mut self) -> Option<()> {
        let len = self.word()? as usize;
        self.skip(len.checked_next_multiple_of(4)?)
    }

    /// So many words as the next one says.
    fn words(&mut self) -> Option<()> {
        let words = self.word()? as usize;
        self.skip(words.checked_mul(4)?)
    }

    /// What a pattern says, a letter each: `w` a word, `h` two words, `o` bytes of variable length, `s` a state ID or a session, `b` a
    /// bitmap, `a` attributes.
    fn pattern(&mut self, pattern: &str) -> Option<()> {
        pattern.bytes().try_for_each(|letter| match letter {
            b'w' => self.skip(4),
            b'h' => self.skip(8),
            b's' => self.skip(16),
            b'o' => self.opaque(),
            b'b' => self.words(),
            b'a' => self.words().and_then(|()| self.opaque()),
            _ => None,
        })
    }
}

/// The arguments of an operation; `None` where it is not known how long they are.
fn arguments(operation: Nfs4Operation, xdr: &mut Xdr<'_>, has_chunk: bool) -> Option<()> {
    let pattern = match operation.0 {
        16 | 10 | 23 | 24 | 27 | 31 | 32 => "",
        3 | 19 | 52 | 58 => "w",
        5 => "hw",
        7 | 30 | 57 => "h",
        8 | 44 | 45 | 66 | 67 => "s",
        9 => "b",
        11 | 15 | 22 | 28 | 33 | 72 | 75 => "o",
        13 => "whhho",
        14 => "wwshh",
        17 | 37 => "a",
        4 => "ws",
        20 => "sw",
        21 => "swww",
        25 | 68 | 69 => "shw",
        26 => "hhwwb",
        29 | 54 => "oo",
        34 => "sa",
        35 => "howoow",
        36 => "hh",
        39 => "ho",
        41 => "sww",
        47 => "swwb",
        48 => "wwhh",
        50 => "wwwhhhsw",
        53 => "swwww",
        59 | 62 => "shh",
        63 => "shhb",
        65 => "hhshhhhswo",
        71 => "sshhh",
        73 => "woo",
        74 => "hw",
        6 => return create(xdr),
        12 => return lock(xdr),
        18 => return open(xdr),
        38 => return write(xdr, has_chunk),
        42 => return exchange_id(xdr),
        43 => return create_session(xdr),
        49 => return layout_commit(xdr),
        51 => return layout_return(xdr),
        60 => return copy(xdr),
        61 => return xdr.pattern("s").and_then(|()| net_location(xdr)),
        64 => return layout_error(xdr),
        55 => {
            let states = xdr.word()? as usize;
            return xdr.skip(states.checked_mul(16)?);
        }
        _ => return None,
    };
    xdr.pattern(pattern)
}

fn create(xdr: &mut Xdr<'_>) -> Option<()> {
    create_type(xdr)?;
    xdr.pattern("oa")
}

/// The type of what is created, and what that needs.
fn create_type(xdr: &mut Xdr<'_>) -> Option<()> {
    const BLOCK: u32 = 3;
    const CHARACTER: u32 = 4;
    const LINK: u32 = 5;
    match xdr.word()? {
        LINK => xdr.opaque()?,
        BLOCK | CHARACTER => xdr.skip(8)?,
        _ => {}
    }
    Some(())
}

fn lock(xdr: &mut Xdr<'_>) -> Option<()> {
    xdr.pattern("wwhh")?;
    let is_new_owner = xdr.word()? != 0;
    xdr.pattern(if is_new_owner { "wswho" } else { "sw" })
}

fn open(xdr: &mut Xdr<'_>) -> Option<()> {
    let claim = open_claim(xdr)?;
    xdr.pattern(match claim {
        0 | 3 => "o",
        1 => "w",
        2 => "so",
        4 | 6 => "",
        5 => "s",
        _ => return None,
    })
}

/// Up to how the file is named, and that.
fn open_claim(xdr: &mut Xdr<'_>) -> Option<u32> {
    xdr.pattern("wwwho")?;
    let creates = xdr.word()? == 1;
    if creates {
        let how = xdr.word()?;
        xdr.pattern(match how {
            0 | 1 => "a",
            2 => "h",
            3 => "ha",
            _ => return None,
        })?;
    }
    xdr.word()
}

/// Of data in a chunk, only the length is here.
fn write(xdr: &mut Xdr<'_>, has_chunk: bool) -> Option<()> {
    xdr.pattern("shw")?;
    if has_chunk { xdr.skip(4) } else { xdr.opaque() }
}

fn exchange_id(xdr: &mut Xdr<'_>) -> Option<()> {
    xdr.pattern("how")?;
    match xdr.word()? {
        0 => {}
        1 => xdr.pattern("bb")?,
        _ => return None,
    }
    match xdr.word()? {
        0 => Some(()),
        1 => xdr.pattern("oohw"),
        _ => None,
    }
}

fn create_session(xdr: &mut Xdr<'_>) -> Option<()> {
    xdr.pattern("hww")?;
    for _ in 0..2 {
        xdr.pattern("wwwwwwb")?;
    }
    xdr.word()?;
    for _ in 0..xdr.word()? {
        match xdr.word()? {
            0 => {}
            1 => xdr.pattern("wowwb")?,
            _ => return None,
        }
    }
    Some(())
}

/// Behind the state: the new end of the file and its new time, where there are such, and what the layout's type has.
fn layout_commit(xdr: &mut Xdr<'_>) -> Option<()> {
    xdr.pattern("hhws")?;
    for value in [8, 12] {
        optional(xdr, value)?;
    }
    xdr.pattern("wo")
}

/// That of a file says which part; those of a file system or of all say nothing more.
fn layout_return(xdr: &mut Xdr<'_>) -> Option<()> {
    const FILE: u32 = 1;
    xdr.pattern("www")?;
    if xdr.word()? == FILE { xdr.pattern("hhso") } else { Some(()) }
}

/// Behind both states and ranges: from which servers, if it is not this one.
fn copy(xdr: &mut Xdr<'_>) -> Option<()> {
    xdr.pattern("sshhhww")?;
    (0..xdr.word()?).try_for_each(|_| net_location(xdr))
}

/// A server, by its name, its URL or its address.
fn net_location(xdr: &mut Xdr<'_>) -> Option<()> {
    match xdr.word()? {
        1 | 2 => xdr.opaque(),
        3 => xdr.pattern("oo"),
        _ => None,
    }
}

/// Each error has a device, a status and an operation.
fn layout_error(xdr: &mut Xdr<'_>) -> Option<()> {
    xdr.pattern("hhs")?;
    let errors = xdr.word()? as usize;
    xdr.skip(errors.checked_mul(24)?)
}

/// Whether data was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrWrite {
    /// The server sent data.
    Read,
    /// The client sent data.
    Write,
}

/// How many bytes the READ or WRITE of a successful call moved, by the results that follow the status of RPC: those of NFS `version`, and
/// of version 4 those of these operations up to it. `None` where they do not say that.
pub fn result_of(
    version: u32,
    what: ReadOrWrite,
    before: impl Iterator<Item = Nfs4Operation>,
    results: &[u8],
) -> Option<u32> {
    let mut xdr = Xdr { bytes: results, at: 0 };
    if xdr.word()? != 0 {
        return None;
    }
    match version {
        3 => {
            /// Bytes of a file's attributes.
            const ATTRIBUTES: usize = 84;
            if what == ReadOrWrite::Write {
                optional(&mut xdr, 24)?;
            }
            optional(&mut xdr, ATTRIBUTES)?;
            xdr.word()
        }
        4 => {
            xdr.pattern("ow")?;
            for operation in before {
                if xdr.word()? != operation.0 || xdr.word()? != 0 {
                    return None;
                }
                match operation {
                    Nfs4Operation::READ => {
                        xdr.word()?;
                        return xdr.word();
                    }
                    Nfs4Operation::WRITE => return xdr.word(),
                    Nfs4Operation::SEQUENCE => xdr.pattern("swwwww")?,
                    // PUTFH, PUTROOTFH, RESTOREFH, SAVEFH have nothing else.
                    Nfs4Operation(22 | 24 | 31 | 32) => {}
                    _ => return None,
                }
            }
            None
        }
        _ => None,
    }
}

/// What is there only if the next word says so.
fn optional(xdr: &mut Xdr<'_>, bytes: usize) -> Option<()> {
    if xdr.word()? != 0 { xdr.skip(bytes) } else { Some(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these words are the arguments of an operation.
    fn len_of(operation: u32, words: &[u32]) -> Option<usize> {
        let mut bytes = [0; 256];
        for (room, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *room = word.to_be_bytes();
        }
        let mut xdr = Xdr { bytes: &bytes[..4 * words.len()], at: 0 };
        arguments(Nfs4Operation(operation), &mut xdr, false).map(|()| xdr.at / 4)
    }

    /// Operations of pNFS and of copies on servers have the lengths that RFC 8881 and RFC 7862 give them.
    #[test]
    fn arguments_of_layouts_and_copies_end_where_they_should() {
        // LAYOUTCOMMIT without a new end and time, with both; eight bytes of its type.
        let range_and_state = [0; 9];
        let commit = |end: &[u32]| {
            let mut words = [0; 32];
            words[9..9 + end.len()].copy_from_slice(end);
            len_of(49, &words)
        };
        assert_eq!(commit(&[0, 0, 1, 0]), Some(range_and_state.len() + 4));
        assert_eq!(commit(&[1, 9, 9, 1, 9, 9, 9, 1, 8, 7, 7]), Some(range_and_state.len() + 11));
        // LAYOUTRETURN of a file, and of all.
        assert_eq!(len_of(51, &[0, 4, 3, 1, 0, 0, 0, 0, 1, 1, 1, 1, 4, 7, 9]), Some(14));
        assert_eq!(len_of(51, &[0, 4, 3, 3, 9]), Some(4));
        // COPY within a server, and from one that is named, and one with an address.
        let mut copy = [0; 24];
        assert_eq!(len_of(60, &copy), Some(17));
        copy[16..].copy_from_slice(&[2, 1, 3, 7, 3, 0, 2, 7]);
        assert_eq!(len_of(60, &copy), Some(24));
        copy[17] = 4;
        assert_eq!(len_of(60, &copy), None);
        // LAYOUTERROR with two errors, LAYOUTSTATS with two bytes of its type.
        let mut error = [0; 24];
        error[8] = 2;
        assert_eq!(len_of(64, &error), Some(21));
        error[8] = u32::MAX;
        assert_eq!(len_of(64, &error), None);
        let mut stats = [0; 24];
        stats[21] = 2;
        assert_eq!(len_of(65, &stats), Some(23));
    }
}
