//! The formats of capture files that are read. A decoder steps over the records in a window; it knows no [`Reader`](super::Reader).

use std::io;

use super::{
    Info, Record, Time,
    erf::Erf,
    pcap::{self, Pcap},
    pcapng::{self, Pcapng},
    place::Place,
    window::Input,
};

macro_rules! decoders {
    ($($format:ident;)*) => {
        /// A format, and where in the file its decoder is.
        #[derive(Clone)]
        pub(super) enum Decoder {
            $($format($format),)*
        }

        impl Decoder {
            /// The first format that the file begins like; it says which in `info`.
            pub(super) fn recognize(input: &mut Input, info: &mut Info) -> io::Result<Option<Decoder>> {
                $(if let Some(decoder) = $format::recognize(input, info)? {
                    return Ok(Some(Decoder::$format(decoder)));
                })*
                Ok(None)
            }

            /// Goes to the next frame.
            #[inline]
            pub(super) fn advance(&mut self, input: &mut Input, info: &mut Info) -> io::Result<Option<Place>> {
                match self {
                    $(Decoder::$format(decoder) => decoder.advance(input, info),)*
                }
            }
        }
    };
}

// ERF has no magic number, so it comes last.
decoders! {
    Pcap;
    Pcapng;
    Erf;
}

impl Decoder {
    /// Steps through well-formed records; `None` if the format has no fast path.
    #[inline(always)]
    pub(super) fn fast_path(&self) -> Option<FastPath<'_>> {
        match self {
            Decoder::Pcap(pcap) if pcap.has_fast_path() => Some(FastPath::Pcap(pcap)),
            Decoder::Pcapng(pcapng) => Some(FastPath::Pcapng(pcapng)),
            _ => None,
        }
    }

    /// Counts records passed on the fast path; `last` is the last one's time.
    #[inline(always)]
    pub(super) fn count(&mut self, count: u64, last: Time, info: &mut Info) {
        match self {
            _ if count == 0 => {}
            Decoder::Pcap(pcap) => pcap.count(count, last, info),
            Decoder::Pcapng(pcapng) => pcapng.count(count, info),
            _ => {}
        }
    }
}

/// Steps through records of a format.
#[derive(Clone, Copy)]
pub(super) enum FastPath<'a> {
    Pcap(&'a Pcap),
    Pcapng(&'a Pcapng),
}

impl FastPath<'_> {
    /// The record here and the bytes behind it, if it is complete and well-formed.
    #[inline(always)]
    pub(super) fn next<'a>(&self, rest: &'a [u8]) -> Option<(Record<'a>, &'a [u8])> {
        match self {
            FastPath::Pcap(pcap) => pcap.fast_record(rest),
            FastPath::Pcapng(pcapng) => pcapng.fast_record(rest),
        }
    }

    /// Bytes before a record's frame.
    #[inline(always)]
    pub(super) fn header(&self) -> usize {
        match self {
            FastPath::Pcap(_) => pcap::RECORD_HEADER,
            FastPath::Pcapng(_) => pcapng::PACKET_HEADER,
        }
    }

    /// Bytes of the record here, or of its header if that is not complete.
    pub(super) fn len(&self, rest: &[u8]) -> Option<usize> {
        match self {
            FastPath::Pcap(pcap) => pcap.fast_len(rest),
            FastPath::Pcapng(pcapng) => pcapng.fast_len(rest),
        }
    }
}
