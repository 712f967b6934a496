//! gzip and zstd. A separate thread decompresses, a few buffers ahead of the reader.

use std::io::Read;

use super::window::Refill;
use super::{Compression, Error};

/// What `from` decompresses to.
#[cfg(feature = "compression")]
pub(super) fn open(
    name: &str,
    compression: Compression,
    from: Box<dyn Read + Send>,
) -> Result<Box<dyn Refill>, Error> {
    let chunks = thread::spawn(compression, from)
        .map_err(|error| Error::io(name, "starting a thread to decompress", error))?;
    Ok(Box::new(chunks))
}

/// Without the feature `compression`: an error.
#[cfg(not(feature = "compression"))]
pub(super) fn open(
    name: &str,
    compression: Compression,
    _: Box<dyn Read + Send>,
) -> Result<Box<dyn Refill>, Error> {
    let what = if compression == Compression::Gzip { "gzip" } else { "zstd" };
    let text =
        format!("is compressed with {what}, and this program was built without the feature `compression`");
    Err(Error::new(name, super::ErrorKind::Unsupported, text))
}

#[cfg(feature = "compression")]
mod thread {
    use std::io::{self, BufReader, Read};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::{Compression, Refill};
    use crate::capture::window::Corrupt;

    /// Bytes of a buffer, and how many buffers wait at most.
    const CHUNK: usize = 256 << 10;
    const WAITING: usize = 4;

    /// Starts a thread that decompresses `from`.
    pub(super) fn spawn(compression: Compression, from: Box<dyn Read + Send>) -> io::Result<Chunks> {
        let read = Arc::new(AtomicU64::new(0));
        let meter = read.clone();
        let (full, chunks) = sync_channel(WAITING);
        let (spent, empty) = sync_channel(WAITING + 2);
        std::thread::Builder::new().name("decompress".into()).spawn(move || {
            let failed = Arc::new(AtomicBool::new(false));
            let from = BufReader::with_capacity(CHUNK / 2, Metered { from, meter, failed: failed.clone() });
            let outcome = match compression {
                Compression::Gzip => pump(flate2::bufread::MultiGzDecoder::new(from), &full, &empty),
                // The decompressor itself refuses windows above 128 MiB.
                Compression::Zstd => {
                    zstd::Decoder::with_buffer(from).and_then(|decoder| pump(decoder, &full, &empty))
                }
                Compression::None => pump(from, &full, &empty),
            };
            if let Err(error) = outcome {
                let error = if failed.load(Ordering::Relaxed) {
                    error
                } else {
                    let reason = match error.kind() {
                        io::ErrorKind::UnexpectedEof => "it ends in the middle".to_owned(),
                        _ => error.to_string(),
                    };
                    io::Error::new(io::ErrorKind::InvalidData, Corrupt(reason))
                };
                // The reader may have been dropped.
                let _ = full.send(Err(error));
            }
        })?;
        Ok(Chunks { chunks, spent, chunk: Vec::new(), at: 0, read })
    }

    /// Sends the bytes of `from` until it ends or the receiver is dropped. Each read is sent at once: a stream that pauses must
    /// not hold frames back.
    fn pump(
        mut from: impl Read,
        full: &SyncSender<io::Result<Vec<u8>>>,
        empty: &Receiver<Vec<u8>>,
    ) -> io::Result<()> {
        loop {
            let mut chunk = empty.try_recv().unwrap_or_default();
            chunk.resize(CHUNK, 0);
            let got = loop {
                match from.read(&mut chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    got => break got?,
                }
            };
            chunk.truncate(got);
            if got == 0 || full.send(Ok(chunk)).is_err() {
                return Ok(());
            }
        }
    }

    /// The receiving end.
    pub(super) struct Chunks {
        chunks: Receiver<io::Result<Vec<u8>>>,
        spent: SyncSender<Vec<u8>>,
        chunk: Vec<u8>,
        at: usize,
        /// Compressed bytes read so far.
        read: Arc<AtomicU64>,
    }

    impl Refill for Chunks {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.at == self.chunk.len() {
                match self.chunks.recv() {
                    Ok(chunk) => {
                        let _ = self.spent.try_send(std::mem::replace(&mut self.chunk, chunk?));
                        self.at = 0;
                    }
                    Err(_) => return Ok(0),
                }
            }
            let count = into.len().min(self.chunk.len() - self.at);
            into[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }

        fn bytes_read(&self) -> Option<u64> {
            Some(self.read.load(Ordering::Relaxed))
        }
    }

    /// Counts the bytes read, and notes an error of reading, as opposed to one of decompression.
    struct Metered<R> {
        from: R,
        meter: Arc<AtomicU64>,
        failed: Arc<AtomicBool>,
    }

    impl<R: Read> Read for Metered<R> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let got = self.from.read(into);
            match &got {
                Ok(count) => {
                    self.meter.fetch_add(*count as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.failed.store(true, Ordering::Relaxed),
            }
            got
        }
    }
}
