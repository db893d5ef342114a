//! Model and statistics files. One container for both: safetensors, with JSON for what has names
//! and a named tensor for every array. Loading runs no code and checks the checksum and every shape;
//! writing is atomic. The same bytes carry passes and statistics between machines.
//!
//! Layout 2: the header begins with [`BEGINNING`] and 16 hexadecimal digits, the checksum (CRC-64/XZ) of
//! the whole file with 0 in place of these digits. Layout 1 had no checksum.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use safetensors::tensor::{Dtype, View};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checksum::Crc64;
use crate::error::{Error, Result};

/// The version of the container's layout; newer files are refused.
const VERSION: u64 = 2;

/// The first version with a checksum.
const WITH_CHECKSUM: u64 = 2;

/// How a header with a checksum begins, behind the eight bytes of its length.
const BEGINNING: &[u8] = br#"{"__metadata__":{"deciban":"{\"checksum\":\""#;

/// Where the digits of the checksum stand.
const DIGITS: std::ops::Range<usize> = 8 + BEGINNING.len()..8 + BEGINNING.len() + 16;

/// The most bytes of a header, which holds names, levels and words: more is refused before it is read, and before it is
/// written. This is the limit of safetensors.
pub const MOST_HEADER: usize = 100_000_000;

/// How messages about damaged files begin.
const DAMAGED: &str = "the file is damaged: ";

/// The least that an array takes in the header, besides its name.
const LEAST_INFO: usize = r#""":{"dtype":"F64","shape":[],"data_offsets":[0,0]},"#.len();

/// The checksum before it is known.
const NO_DIGITS: &str = "0000000000000000";

/// A value that lives in an [`Archive`], under a name of the caller's choice.
pub trait Stored: Sized {
    /// Puts the value under `name`.
    fn store(&self, archive: &mut Archive, name: &str) -> Result<()>;
    /// Reads it back, checking every shape and bound.
    fn load(archive: &Archive, name: &str) -> Result<Self>;
}

/// Named arrays of `f64` and named JSON values.
#[derive(Debug)]
pub struct Archive {
    kind: String,
    path: String,
    json: BTreeMap<String, Json>,
    tensors: BTreeMap<String, Tensor>,
}

/// A JSON value of an archive, as text: a vocabulary needs no value for each word. Few ask for the value.
#[derive(Debug)]
struct Json(String, OnceLock<Value>);

impl Json {
    fn new(text: String) -> Self {
        Json(text, OnceLock::new())
    }

    fn value(&self) -> &Value {
        self.1.get_or_init(|| serde_json::from_str(&self.0).unwrap_or_default())
    }
}

/// The container's own metadata.
#[derive(Deserialize)]
struct Metadata {
    deciban: String,
}

/// Where an array stands behind the header.
#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

#[derive(Debug)]
struct Tensor {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        Dtype::F64
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        match cfg!(target_endian = "little") {
            true => Cow::Borrowed(bytemuck::cast_slice(&self.values)),
            false => Cow::Owned(self.values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        }
    }
    fn data_len(&self) -> usize {
        self.values.len() * 8
    }
}

impl Archive {
    /// An empty archive; `kind` says what it holds (`model`, `statistics`, ...).
    pub fn new(kind: &str) -> Self {
        Archive { kind: kind.into(), path: "archive".into(), json: BTreeMap::new(), tensors: BTreeMap::new() }
    }

    /// Puts a JSON value under `name`.
    pub fn put_json(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        self.put_text(name, serde_json::to_string(value))
    }

    /// What [`Self::put_json`] comes to for all types, compiled once.
    fn put_text(&mut self, name: &str, text: serde_json::Result<String>) -> Result<()> {
        let text = text.map_err(|e| self.damaged(&format!("`{name}` cannot be stored: {e}")))?;
        self.json.insert(name.into(), Json::new(text));
        Ok(())
    }

    /// Puts an array under `name`.
    pub fn put(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Result<()> {
        Error::check_shape(name, shape.iter().product(), values.len())?;
        self.tensors.insert(name.into(), Tensor { shape: shape.into(), values: values.into() });
        Ok(())
    }

    /// The JSON value under `name`.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let json = self.json.get(name).ok_or_else(|| self.damaged(&format!("`{name}` is not there")))?;
        serde_json::from_str(&json.0).map_err(|e| self.unreadable(name, e))
    }

    fn unreadable(&self, name: &str, error: serde_json::Error) -> Error {
        self.damaged(&format!("`{name}`: {error}"))
    }

    /// The JSON value under `name`, if there is one.
    pub fn json_if_any<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        self.json.contains_key(name).then(|| self.json(name)).transpose()
    }

    /// The array under `name`, which must have this shape.
    pub fn get(&self, name: &str, shape: &[usize]) -> Result<&[f64]> {
        let tensor = self.tensors.get(name).ok_or_else(|| self.damaged(&format!("array `{name}` is not there")))?;
        if tensor.shape != shape {
            return Err(self.damaged(&format!("array `{name}` has shape {:?}, not {shape:?}", tensor.shape)));
        }
        Ok(&tensor.values)
    }

    /// The array under `name`, all of whose values must be finite.
    pub fn finite(&self, name: &str, shape: &[usize]) -> Result<&[f64]> {
        let values = self.get(name, shape)?;
        match values.iter().all(|x| x.is_finite()) {
            true => Ok(values),
            false => Err(self.damaged(&format!("array `{name}` holds a number that is not finite"))),
        }
    }

    /// Every JSON value with its name, for readers in other languages.
    pub fn json_values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.json.iter().map(|(name, json)| (name.as_str(), json.value()))
    }

    /// Every array with its name and shape, for readers in other languages.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &[usize], &[f64])> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), &tensor.shape[..], &tensor.values[..]))
    }

    /// Whether there is an array under `name`.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The error of an archive that is not as it should be.
    pub fn damaged(&self, message: &str) -> Error {
        Error::File { path: self.path.clone(), message: format!("{DAMAGED}{message}") }
    }

    /// The archive as safetensors.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // One entry: a hash map of several would change the order of the bytes from run to run.
        let header = self.header().map_err(|e| self.damaged(&e.to_string()))?;
        let size = escaped(header.as_bytes()) + self.tensors.keys().map(|name| name.len() + LEAST_INFO).sum::<usize>();
        if size > MOST_HEADER {
            return Err(too_long(size));
        }
        let metadata = HashMap::from([("deciban".to_string(), header)]);
        let tensors = self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
        let mut bytes = safetensors::serialize(tensors, Some(metadata)).map_err(|e| self.damaged(&e.to_string()))?;
        match seal(&mut bytes) {
            true => Ok(bytes),
            false => Err(self.damaged("its header has no place for a checksum")),
        }
    }

    /// The metadata: `{"checksum": …, "kind": …, "version": …, "json": {…}}`, the checksum first, so that it has a
    /// fixed place.
    fn header(&self) -> serde_json::Result<String> {
        let kind = serde_json::to_string(&self.kind)?;
        let mut header = format!(r#"{{"checksum":"{NO_DIGITS}","kind":{kind},"version":{VERSION},"json":{{"#);
        for (i, (name, json)) in self.json.iter().enumerate() {
            header += if i > 0 { "," } else { "" };
            header += &serde_json::to_string(name)?;
            header += ":";
            header += &json.0;
        }
        header += "}}";
        Ok(header)
    }

    /// Reads what [`to_bytes`](Archive::to_bytes) wrote; it must hold `kind`.
    pub fn from_bytes(bytes: &[u8], kind: &str) -> Result<Self> {
        Archive::parse(bytes, kind, "archive")
    }

    fn parse(bytes: &[u8], kind: &str, path: &str) -> Result<Self> {
        let refuse = |message: String| Error::File { path: path.into(), message };
        let foreign = |e: String| refuse(format!("this is not a deciban file, or it is damaged ({e})"));
        let damaged = |what: &str| refuse(format!("{DAMAGED}{what}"));
        // Before anything else: what is damaged is not worth a look.
        let has_checksum = match digits_of(bytes) {
            Some(digits) if digits == format!("{:016x}", checksum(bytes)).as_bytes() => true,
            Some(_) => return Err(damaged("its checksum does not match its content")),
            None => false,
        };
        let (header, data) = split_header(bytes).map_err(&foreign)?;
        let mut infos = entries(header).map_err(&foreign)?;
        let metadata = infos.remove("__metadata__").ok_or_else(|| foreign("it has no description".into()))?;
        let Metadata { deciban } = serde_json::from_str(metadata).map_err(|e| foreign(e.to_string()))?;
        let parts = entries(&deciban).map_err(&foreign)?;
        let part = |name: &str| parts.get(name).copied().ok_or_else(|| foreign(format!("it has no `{name}`")));
        let version: u64 = serde_json::from_str(part("version")?).map_err(|e| foreign(e.to_string()))?;
        if version > VERSION {
            return Err(refuse(format!(
                "the file has format {version}, this program knows up to {VERSION}: update deciban"
            )));
        }
        if version >= WITH_CHECKSUM && !has_checksum {
            return Err(damaged("its checksum is not where it should be"));
        }
        let found: String = serde_json::from_str(part("kind")?).map_err(|e| foreign(e.to_string()))?;
        if found != kind {
            return Err(refuse(format!("this is a {found} file, not a {kind} file")));
        }
        let json = entries(part("json")?).map_err(&foreign)?;
        let json = json.into_iter().map(|(name, text)| (name, Json::new(text.to_string()))).collect();
        let mut tensors = BTreeMap::new();
        let mut used = 0;
        for (name, info) in infos {
            let Info { dtype, shape, data_offsets: [start, end] } =
                serde_json::from_str(info).map_err(|e| foreign(e.to_string()))?;
            if dtype != "F64" {
                return Err(damaged(&format!("array `{name}` does not hold doubles")));
            }
            let cells = shape.iter().try_fold(1usize, |cells, n| cells.checked_mul(*n));
            let size = cells.and_then(|cells| cells.checked_mul(8));
            let bytes = data.get(start..end).filter(|bytes| size == Some(bytes.len()));
            let bytes = bytes.ok_or_else(|| damaged(&format!("array `{name}` is not where it should be")))?;
            used += bytes.len();
            let values = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
            tensors.insert(name, Tensor { shape, values });
            // Arrays that lie over each other would take more memory than the file.
            if used > data.len() {
                break;
            }
        }
        match used == data.len() {
            true => Ok(Archive { kind: kind.into(), path: path.into(), json, tensors }),
            false => Err(damaged("its arrays do not fill it")),
        }
    }

    /// Reads a file that must hold `kind`.
    pub fn read(path: impl AsRef<Path>, kind: &str) -> Result<Self> {
        let path = path.as_ref();
        let bytes = bytes_of(path).map_err(|e| Error::io(path, e))?;
        Archive::parse(&bytes, kind, &path.display().to_string())
    }

    /// What a deciban file holds: `model` or `statistics`; `None` for other files, and for pipes, which can be read
    /// only once.
    pub fn kind_of(path: impl AsRef<Path>) -> Option<String> {
        let path = path.as_ref();
        let size = std::fs::metadata(path).ok().filter(|file| file.is_file())?.len();
        let mut start = Vec::new();
        let mut file = std::fs::File::open(path).ok()?;
        std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, 8), &mut start).ok()?;
        // The first bytes of a text are the length of no header: nothing more of a table is read.
        let length = Some(u64::from_le_bytes(start.as_slice().try_into().ok()?)).filter(|length| *length < size)?;
        let mut header = Vec::new();
        let most = length.min(MOST_HEADER as u64);
        std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, most), &mut header).ok()?;
        let header = entries(std::str::from_utf8(&header).ok()?).ok()?;
        let own: Metadata = serde_json::from_str(header.get("__metadata__")?).ok()?;
        serde_json::from_str(entries(&own.deciban).ok()?.get("kind")?).ok()
    }
}

/// The bytes of a file. Only the first are read if it cannot be an archive, since it may be a device without an end.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(8).read_to_end(&mut bytes)?;
    let length = bytes.as_slice().try_into().map_or(0, u64::from_le_bytes);
    if (1..=MOST_HEADER as u64).contains(&length) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The header of a file and what lies behind it.
fn split_header(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let short = || "it ends too early".to_string();
    let (length, rest) = bytes.split_first_chunk().ok_or_else(short)?;
    let length = u64::from_le_bytes(*length);
    if length > MOST_HEADER as u64 {
        return Err(format!("its header would take {length} bytes, and {MOST_HEADER} are the most there may be"));
    }
    let (header, data) = rest.split_at_checked(length as usize).ok_or_else(short)?;
    Ok((std::str::from_utf8(header).map_err(|e| e.to_string())?, data))
}

/// The entries of a JSON object, their values as they are written: what nobody asks for takes no memory. A name that
/// stands there twice is refused.
fn entries(text: &str) -> Result<BTreeMap<String, &str>, String> {
    /// Takes a value from the beginning of a text.
    fn take<'t, T: Deserialize<'t>>(rest: &mut &'t str) -> Result<T, String> {
        let text: &'t str = rest;
        let mut values = serde_json::Deserializer::from_str(text).into_iter();
        let value = values.next().ok_or("its description ends too early")?.map_err(|e| e.to_string())?;
        *rest = &text[values.byte_offset()..];
        Ok(value)
    }
    fn skip<'t>(rest: &mut &'t str, sign: char) -> bool {
        let text: &'t str = rest;
        let after = text.trim_start().strip_prefix(sign);
        after.inspect(|after| *rest = after).is_some()
    }
    let broken = || "its description is not a JSON object".to_string();
    let (mut rest, mut found) = (text, BTreeMap::new());
    let mut open = skip(&mut rest, '{');
    if open && skip(&mut rest, '}') {
        return Ok(found);
    }
    while open {
        let name: String = take(&mut rest)?;
        if !skip(&mut rest, ':') {
            return Err(broken());
        }
        let before = rest;
        take::<IgnoredAny>(&mut rest)?;
        if found.insert(name.clone(), before[..before.len() - rest.len()].trim()).is_some() {
            return Err(format!("`{name}` is there twice"));
        }
        open = skip(&mut rest, ',');
    }
    match skip(&mut rest, '}') && rest.trim().is_empty() {
        true => Ok(found),
        false => Err(broken()),
    }
}

/// Bytes that can be read back. What cannot be read is not written: it might take the place of a file that can.
pub fn readable<T>(bytes: Vec<u8>, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<Vec<u8>> {
    match read(&bytes) {
        Ok(_) => Ok(bytes),
        Err(Error::File { message, .. }) => Err(Error::Schema(format!(
            "nothing was written, since it could not be read again: {}; is some number very large or very small?",
            message.strip_prefix(DAMAGED).unwrap_or(&message)
        ))),
        Err(other) => Err(other),
    }
}

/// How long a text is inside of a JSON text.
pub fn escaped(text: &[u8]) -> usize {
    text.len() + text.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// What no file can hold; `size` is how long its header would be.
pub fn too_long(size: usize) -> Error {
    Error::Schema(format!(
        "the names, levels and words of so many columns and what they look like take {} MB in a file, and {} MB are the \
         most there may be: leave columns out with §ignore, or choose some with §columns",
        size.div_ceil(1_000_000),
        MOST_HEADER / 1_000_000
    ))
}

/// Writes the checksum of a file's bytes into them, after they were changed on purpose; false, and nothing
/// is written, where they have no place for it.
pub fn seal(bytes: &mut [u8]) -> bool {
    let has_place = digits_of(bytes).is_some();
    if has_place {
        let digits = format!("{:016x}", checksum(bytes));
        bytes[DIGITS].copy_from_slice(digits.as_bytes());
    }
    has_place
}

/// The checksum that a file states; `None` where it states none.
fn digits_of(bytes: &[u8]) -> Option<&[u8]> {
    let stated = bytes.get(8..)?.starts_with(BEGINNING);
    stated.then(|| bytes.get(DIGITS)).flatten()
}

/// The checksum of a file, with 0 in place of the digits that state it.
fn checksum(bytes: &[u8]) -> u64 {
    let mut crc = Crc64::new();
    crc.update(&bytes[..DIGITS.start]);
    crc.update(NO_DIGITS.as_bytes());
    crc.update(&bytes[DIGITS.end..]);
    crc.finish()
}
/// A stored value as bytes.
pub fn to_bytes<T: Stored>(value: &T) -> Result<Vec<u8>> {
    let mut archive = Archive::new("state");
    value.store(&mut archive, "state")?;
    archive.to_bytes()
}

/// The value that [`to_bytes`] wrote.
pub fn from_bytes<T: Stored>(bytes: &[u8]) -> Result<T> {
    T::load(&Archive::from_bytes(bytes, "state")?, "state")
}
