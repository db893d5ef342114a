//! Damaged files: every byte changed, many lengths cut. Whatever comes out, it is no panic.

use std::sync::Arc;

use crate::common::{Folder, read, target};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use deciban_data::Options;

fn batch() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("x", Arc::new(Float64Array::from(vec![Some(1.0), None, Some(3.5)]))),
        ("n", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("t", Arc::new(StringArray::from(vec!["a", "b", "a"]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Reads `bytes` with each byte changed in turn, and cut at many lengths.
fn damage(name: &str, bytes: &[u8], options: &Options) {
    let folder = Folder::new();
    let (mut read_well, mut refused) = (0, 0);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for at in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[at] ^= [0x01, 0x80, 0xff][at % 3];
            match read(&folder.write(name, &changed), options.clone()) {
                Ok(_) => read_well += 1,
                Err(_) => refused += 1,
            }
            if at % 5 == 0 && read(&folder.write(name, &bytes[..at]), options.clone()).is_err() {
                refused += 1;
            }
        }
    }));
    assert!(result.is_ok(), "{name}: a damaged file made the reader panic");
    println!("{name}: {read_well} damaged files could be read, {refused} were refused");
    assert!(refused > bytes.len() / 4);
}

#[test]
fn no_damage_makes_a_panic() {
    let batch = batch();
    let mut parquet = Vec::new();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(&mut parquet, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    damage("a.parquet", &parquet, &target("t"));

    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    damage("a.arrow", &writer.into_inner().unwrap(), &target("t"));

    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    damage("stream.arrow", &writer.into_inner().unwrap(), &target("t"));

    let text = "x,n,t\n1.0,1,a\n,2,\"b\"\n3.5,3,a\n";
    damage("a.csv.zst", &zstd::encode_all(text.as_bytes(), 3).unwrap(), &target("t"));
    let idx = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8];
    damage("a.idx", &idx, &Options::default());
}
