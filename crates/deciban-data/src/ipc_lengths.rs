//! The lengths inside an Arrow file, checked before anything is read: its reader makes room for as
//! many bytes as a message promises, which in a damaged file may be all the memory there is.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Block, root_as_footer, root_as_message};

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
        let message = read(file, at, length.into())?;
        let message = root_as_message(&message).map_err(|e| e.to_string())?;
        let body = u64::try_from(message.bodyLength()).ok();
        let end = body.and_then(|body| (at + u64::from(length)).checked_add(body));
        at = end.filter(|end| *end <= size).ok_or("a batch is longer than the stream")?;
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
