//! The lengths inside an Arrow file, checked before anything is read: its reader makes room for as
//! many bytes as a message promises, which in a damaged file may be all the memory there is.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Block, Message, RecordBatch, root_as_footer, root_as_message};

/// Before the length of a message, since format version 5.
const CONTINUES: [u8; 4] = [0xff; 4];

/// The footer's blocks, which must lie within the file.
pub(crate) fn check_file(file: &mut (impl Read + Seek)) -> Result<(), String> {
    let size = file.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
    let mut tail = [0; 10];
    file.seek(SeekFrom::End(-10)).and_then(|_| file.read_exact(&mut tail)).map_err(|e| e.to_string())?;
    let length = arrow_ipc::reader::read_footer_length(tail).map_err(|e| e.to_string())? as u64;
    let start = size.checked_sub(length + 10).ok_or("the footer is longer than the file")?;
    let footer = read(file, start, length)?;
    let footer = root_as_footer(&footer).map_err(|e| e.to_string())?;
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries()).flatten();
    match blocks.into_iter().all(|block| fits(block, size)) {
        true => Ok(()),
        false => Err("a batch is longer than the file".into()),
    }
}

fn fits(block: &Block, size: u64) -> bool {
    let parts = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
    let end = parts.iter().try_fold(0u64, |end, part| end.checked_add(u64::try_from(*part).ok()?));
    end.is_some_and(|end| end <= size)
}

/// The messages of a stream, each of which must end within it.
pub(crate) fn check_stream(file: &mut (impl Read + Seek)) -> Result<(), String> {
    each_message(file, |_| {})
}

/// What an Arrow stream says of itself, before its cells are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrowSize {
    /// How many columns it has.
    pub columns: usize,
    /// How many rows all batches promise. Columns without cells take no bytes, so they may be any number.
    pub rows: u64,
    /// Whether cells are compressed inside of batches, so that they take more memory than bytes.
    pub compressed: bool,
}

impl ArrowSize {
    /// Looks at the messages of a stream.
    pub fn of_stream(bytes: &[u8]) -> Result<Self, String> {
        let mut size = ArrowSize::default();
        let mut look = |batch: RecordBatch<'_>| {
            size.rows = size.rows.saturating_add(u64::try_from(batch.length()).unwrap_or(u64::MAX));
            size.compressed |= batch.compression().is_some();
        };
        let mut columns = 0;
        each_message(&mut std::io::Cursor::new(bytes), |message| {
            columns += message.header_as_schema().and_then(|schema| schema.fields()).map_or(0, |fields| fields.len());
            message.header_as_record_batch().into_iter().for_each(&mut look);
            message.header_as_dictionary_batch().and_then(|batch| batch.data()).into_iter().for_each(&mut look);
        })?;
        Ok(ArrowSize { columns, ..size })
    }
}

/// Hands over the messages of a stream, each of which must end within it.
fn each_message(file: &mut (impl Read + Seek), mut visit: impl FnMut(Message<'_>)) -> Result<(), String> {
    let size = file.seek(SeekFrom::End(0)).map_err(|e| e.to_string())?;
    let mut at = 0;
    while at + 4 <= size {
        let mut word = read(file, at, 4)?;
        at += 4;
        if word == CONTINUES {
            word = read(file, at, 4.min(size - at))?;
            at += 4;
        }
        // Fewer than four bytes are no length.
        let length = u32::from_le_bytes(word.try_into().map_err(|_| "a message ends too early")?);
        if length == 0 {
            return Ok(()); // The end of the stream.
        }
        if u64::from(length) > size.saturating_sub(at) {
            return Err("a message is longer than the stream".into());
        }
        let bytes = read(file, at, length.into())?;
        let message = root_as_message(&bytes).map_err(|e| e.to_string())?;
        let body = u64::try_from(message.bodyLength()).ok();
        let end = body.and_then(|body| (at + u64::from(length)).checked_add(body));
        at = end.filter(|end| *end <= size).ok_or("a batch is longer than the stream")?;
        visit(message);
    }
    Ok(())
}

/// `length` bytes, which are known to be there.
fn read(file: &mut (impl Read + Seek), at: u64, length: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at)).map_err(|e| e.to_string())?;
    file.take(length).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}
