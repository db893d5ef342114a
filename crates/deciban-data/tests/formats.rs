//! Every format and compression, there and back.

use std::io::Write;
use std::sync::Arc;

use crate::common::{Folder, bare, dump, read, target};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use deciban::Wording;
use deciban_data::{Dates, Files, Format, Options, Target, peek_columns};

const ROWS: [&str; 3] = ["1.5 red 3 =yes", "- blue 4 =no", "-2 - 5 =yes"];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn delimited_text() {
    let folder = Folder::new();
    let csv = "x,colour,n,class\n1.5,red,3,yes\n,blue,4,no\n-2,?,5,yes\n";
    let files = [
        ("a.csv", csv.to_string()),
        ("crlf.csv", csv.replace('\n', "\r\n")),
        ("bom.csv", format!("\u{feff}{csv}")),
        ("open.csv", csv.trim_end().to_string()),
        ("semicolon.csv", csv.replace(',', ";")),
        ("tabs.csv", csv.replace(',', "\t")),
        ("a.tsv", csv.replace(',', "\t")),
        ("a.tab", csv.replace(',', "\t")),
        ("blank.csv", csv.replace('\n', "\n\n  \n")),
        ("before.csv", format!("\n\n{csv}")),
        ("spaces.data", csv.replace(',', " , ")),
        (
            "quoted.csv",
            "\"x\",\"colour\",n,class\n\"1.5\",\"red\",\"3\",yes\n\"\",\"blue\",4,\"no\"\n-2, \"?\" ,5,yes\n".into(),
        ),
        (
            "blanks.txt",
            " x  colour n class\n1.5 red\t3 yes # first\n# all of it\nNA blue 4 no\n\n-2 ? 5   yes\r\n".into(),
        ),
    ];
    for (name, text) in files {
        assert_eq!(read(&folder.write(name, &text), target("class")).unwrap(), ROWS, "{name}");
        assert_eq!(
            read(&folder.write(&format!("{name}.gz"), gzip(text.as_bytes())), target("class")).unwrap(),
            ROWS,
            "{name}"
        );
        let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
        assert_eq!(read(&folder.write(&format!("{name}.zst"), &packed), target("class")).unwrap(), ROWS, "{name}");
        // The magic number tells, not the name.
        assert_eq!(read(&folder.write(&format!("un{name}"), &packed), target("class")).unwrap(), ROWS, "{name}");
    }
    let (head, tail) = csv.split_at(20);
    let members = [gzip(head.as_bytes()), gzip(tail.as_bytes())].concat();
    assert_eq!(read(&folder.write("members.csv.gz", members), target("class")).unwrap(), ROWS);
}

#[test]
fn options_of_delimited_text() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "% made by hand\n1|-999|a\n% again\n2|7|none\n");
    let options = Options {
        separator: Some('|'),
        comment: Some('%'),
        missing: Some(vec!["-999.0".into(), "none".into()]),
        unlabelled: true,
        ..bare("c2")
    };
    assert_eq!(read(&path, options).unwrap(), ["1 - =a", "2 7 -"]);

    let path = folder.write("b.csv", "a,\"b, \"\"c\"\"\nd\",t\n5\" pipe,+1,x\n\"6\"\" pipe\", 1e3 ,y\n");
    let files = Files::open(std::slice::from_ref(&path), target("t")).unwrap();
    assert_eq!(files.columns()[1].name, "b, \"c\"\nd");
    assert!(files.has_column("t") && !files.has_column("u"));
    assert_eq!(dump(&files).unwrap(), ["5\" pipe 1 =x", "6\" pipe 1000 =y"]);
    assert_eq!(peek_columns(&[path], &Options::default()).unwrap(), ["a", "b, \"c\"\nd", "t"]);
}

#[test]
fn a_choice_of_columns() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "id,x,w,y,class\nA1,1,0.5,a,p\nA2,2,2,b,q\n");
    let with = |options| read(&path, options).unwrap();
    let options = Options { ignore: vec!["id".into()], weight: Some("w".into()), ..target("class") };
    assert_eq!(with(options), ["1 a =p 0.5", "2 b =q 2"]);
    let options = Options { columns: Some(vec!["y".into(), "x".into()]), ..target("class") };
    assert_eq!(with(options), ["a 1 =p", "b 2 =q"]);
    let kinds = vec![("x".to_string(), deciban::data::Kind::Category)];
    let options = Options { kinds, columns: Some(vec!["x".into()]), ..Options::default() };
    assert_eq!(with(options.clone()), ["1", "2"]);
    let files = Files::open(std::slice::from_ref(&path), options).unwrap();
    dump(&files).unwrap();
    assert_eq!(files.columns()[0].levels, ["1", "2"]);
}

#[test]
fn several_files_and_globs() {
    let folder = Folder::new();
    let one = folder.write("part-1.csv", "x,y,t\n1,2,a\n");
    folder.write("part-2.csv.gz", gzip(b"t,y,x\nb,4,3\n"));
    let expected = ["1 2 =a", "3 4 =b"];
    assert_eq!(read(&folder.path("part-*"), target("t")).unwrap(), expected);
    assert_eq!(dump(&Files::open(&[one, folder.path("part-2.csv.gz")], target("t")).unwrap()).unwrap(), expected);
    let odd = folder.write("a[1].csv", "x,y,t\n1,2,a\n");
    assert_eq!(read(&odd, target("t")).unwrap(), ["1 2 =a"]);
}

#[test]
fn json_lines() {
    let folder = Folder::new();
    let text = concat!(
        "{\"x\": 1.5, \"colour\": \"red\", \"n\": 3, \"class\": \"yes\"}\n\n",
        "{\"colour\": \"blue\", \"n\": 4.0, \"x\": null, \"class\": \"no\"}\n",
        "{\"x\": -2, \"n\": 5, \"class\": \"yes\"}"
    );
    assert_eq!(read(&folder.write("a.jsonl", text), target("class")).unwrap(), ROWS);
    assert_eq!(read(&folder.write("a.ndjson.gz", gzip(text.as_bytes())), target("class")).unwrap(), ROWS);
    let text = "{\"a\": \"5\", \"t\": 3.0, \"b\": true}\n{\"a\": \"\", \"t\": 0.5, \"b\": false}\n{\"t\": 18446744073709551615, \"a\": \"6\"}\n";
    let rows = read(&folder.write("b.jsonl", text), target("t")).unwrap();
    assert_eq!(rows, ["5 true =3", "- false =0.5", "6 - =18446744073709551615"]);
}

/// Numbers of many types, strings of all kinds, booleans and nulls.
fn record_batch() -> RecordBatch {
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.append_value("red");
    dictionary.append_value("blue");
    dictionary.append_null();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("f64", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-2.0)]))),
        ("f32", Arc::new(Float32Array::from(vec![0.5, f32::NAN, 2.0]))),
        ("i8", Arc::new(Int8Array::from(vec![-1, 2, 3]))),
        ("i64", Arc::new(Int64Array::from(vec![Some(7), None, Some(9)]))),
        ("u16", Arc::new(UInt16Array::from(vec![1, 2, 3]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("a"), Some("NA"), None]))),
        ("large", Arc::new(LargeStringArray::from(vec!["p", " q ", "p"]))),
        ("view", Arc::new(StringViewArray::from(vec!["a long text that is not inline", "s", "s"]))),
        ("colour", Arc::new(dictionary.finish())),
        ("class", Arc::new(Int32Array::from(vec![3, 0, 3]))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

const TYPED: [&str; 3] = [
    "1.5 0.5 -1 7 1 true a p a long text that is not inline red =3",
    "- - 2 - 2 false - q s blue =0",
    "-2 2 3 9 3 - - p s - =3",
];

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn parquet_and_arrow() {
    let folder = Folder::new();
    let batch = record_batch();
    let files = [
        ("a.parquet", parquet(&batch)),
        ("a.parquet.gz", gzip(&parquet(&batch))),
        ("parquet-without-extension", parquet(&batch)),
        ("a.arrow", arrow_file(&batch)),
        ("a.feather", arrow_file(&batch)),
        ("a.ipc", arrow_stream(&batch)),
        ("stream.arrow.zst", zstd::encode_all(&arrow_stream(&batch)[..], 1).unwrap()),
    ];
    for (name, bytes) in files {
        let path = folder.write(name, bytes);
        assert_eq!(read(&path, target("class")).unwrap(), TYPED, "{name}");
        let files = Files::open(std::slice::from_ref(&path), target("class")).unwrap();
        assert_eq!(dump(&files).unwrap(), dump(&files).unwrap(), "{name} is read twice");
        let columns = Some(vec!["text".into(), "f64".into()]);
        let options = Options { columns, kinds: vec![("f64".into(), deciban::data::Kind::Category)], ..target("flag") };
        assert_eq!(
            read(&path, Options { unlabelled: true, ..options }).unwrap(),
            ["a 1.5 =true", "- - =false", "- -2 -"],
            "{name}"
        );
    }
}

#[test]
fn types_that_cannot_be_read() {
    let folder = Folder::new();
    let time = DataType::Time32(TimeUnit::Second);
    let fields = vec![Field::new("x", DataType::Int32, false), Field::new("when", time, false)];
    let times = Arc::new(Time32SecondArray::from(vec![1, 2]));
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1, 2])), times];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let path = folder.write("a.parquet", parquet(&batch));
    let message = read(&path, Options::default()).unwrap_err().worded(Wording::Flags);
    assert_eq!(
        folder.clean(&message),
        "a.parquet: column `when`: the type Time32(s) cannot be read: give --ignore when"
    );
    let options = Options { ignore: vec!["when".into()], ..Options::default() };
    assert_eq!(read(&path, options).unwrap(), ["1", "2"]);
}

#[test]
fn dates_are_days_since_1970() {
    let folder = Folder::new();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Date32Array::from(vec![Some(19844), None])),
        Arc::new(TimestampSecondArray::from(vec![43_200, -86_400])),
        Arc::new(TimestampMillisecondArray::from(vec![43_200_000, -86_400_000])),
        Arc::new(TimestampMicrosecondArray::from(vec![43_200_000_000, -86_400_000_000])),
        Arc::new(TimestampNanosecondArray::from(vec![43_200_000_000_000, -86_400_000_000_000])),
    ];
    let field = |(i, array): (usize, &ArrayRef)| Field::new(format!("c{i}"), array.data_type().clone(), true);
    let schema = Schema::new(arrays.iter().enumerate().map(field).collect::<Vec<_>>());
    let path = folder.write("a.parquet", parquet(&RecordBatch::try_new(Arc::new(schema), arrays).unwrap()));
    assert_eq!(read(&path, Options::default()).unwrap(), ["19844 0.5 0.5 0.5 0.5", "- -1 -1 -1 -1"]);
    // As text, too; what is ambiguous stays a category.
    let rows = "when,local\n2024-05-01,01/05/2024\n?,02/05/2024\n1969-12-31T12:00,?\n";
    let path = folder.write("a.csv", rows);
    assert_eq!(read(&path, Options::default()).unwrap(), ["19844 01/05/2024", "- 02/05/2024", "-0.5 -"]);
    let jsonl = folder.write("a.jsonl", "{\"when\": \"2024-05-01\"}\n{\"when\": null}\n");
    assert_eq!(read(&jsonl, Options::default()).unwrap(), ["19844", "-"]);
    let kinds = vec![("when".into(), deciban::data::Kind::Category)];
    let rows = read(&path, Options { kinds, columns: Some(vec!["when".into()]), ..Options::default() }).unwrap();
    assert_eq!(rows, ["2024-05-01", "-", "1969-12-31T12:00"]);
    let files = Files::open(std::slice::from_ref(&path), Options::default()).unwrap();
    assert_eq!(files.dates(), [Some(Dates::Days), Some(Dates::Local)]);
}

fn idx(code: u8, lengths: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, code, lengths.len() as u8];
    lengths.iter().for_each(|length| bytes.extend(length.to_be_bytes()));
    bytes.extend(data);
    bytes
}

#[test]
fn idx_files() {
    let folder = Folder::new();
    let images = folder.write("images-idx3-ubyte", idx(8, &[3, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255]));
    let labels = folder.write("labels-idx1-ubyte.gz", gzip(&idx(8, &[3], &[7, 3, 7])));
    let options = Options { target: Target::Labels(labels), ..Options::default() };
    let files = Files::open(std::slice::from_ref(&images), options.clone()).unwrap();
    assert_eq!(dump(&files).unwrap(), ["0 1 2 3 =7", "4 5 6 7 =3", "8 9 10 255 =7"]);
    assert_eq!((files.target(), files.columns()[3].name.as_str()), ("label", "c3"));
    let some = Options { columns: Some(vec!["c3".into(), "c0".into()]), ..options };
    assert_eq!(read(&images, some).unwrap(), ["3 0 =7", "7 4 =3", "255 8 =7"]);
    for text in ["7\n3\n7\n", "digit\n7\n3\n7\n", "7,x\n3,y\n7,z\n"] {
        let options = Options { target: Target::Labels(folder.write("labels.csv", text)), ..Options::default() };
        assert_eq!(read(&images, options).unwrap()[1], "4 5 6 7 =3", "{text:?}");
    }

    let floats: Vec<u8> = [0.5f32, -1.0, 3.0, f32::NAN].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(read(&folder.write("a.idx", idx(13, &[2, 2], &floats)), bare("c0")).unwrap(), ["-1 =0.5", "- =3"]);
    let shorts: Vec<u8> = [-300i16, 7].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(read(&folder.write("b.idx", idx(11, &[2], &shorts)), Options::default()).unwrap(), ["-300", "7"]);
    let words: Vec<u8> = [-70000i32, 7].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(
        read(&folder.write("no-extension", idx(12, &[2], &words)), Options::default()).unwrap(),
        ["-70000", "7"]
    );
    let doubles: Vec<u8> = [0.1f64, 1e300].iter().flat_map(|x| x.to_be_bytes()).collect();
    let format = Some(Format::Idx);
    let path = folder.write("c.bin", idx(14, &[1, 2], &doubles));
    assert_eq!(read(&path, Options { format, ..Options::default() }).unwrap()[0].split(' ').next(), Some("0.1"));
    assert_eq!(read(&folder.write("d.idx", idx(9, &[2], &[255, 5])), Options::default()).unwrap(), ["-1", "5"]);
}

#[test]
fn progress_is_told_in_bytes_of_the_file() {
    let folder = Folder::new();
    let text: String = (0..400_000).map(|i| format!("{i},{}\n", i % 3)).collect();
    for (name, bytes) in [("a.csv", text.clone().into_bytes()), ("a.csv.gz", gzip(text.as_bytes()))] {
        let size = bytes.len() as u64;
        let mut files = Files::open(&[folder.write(name, bytes)], bare("c1")).unwrap();
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let tell = told.clone();
        files.on_progress(Box::new(move |read, total| tell.lock().unwrap().push((read, total))));
        files.map_in_order(|_| Ok(()), Ok).unwrap();
        let told = told.lock().unwrap();
        assert!(told.is_sorted() && told.iter().all(|(read, total)| *read <= size && *total == Some(size)), "{told:?}");
        assert_eq!(told.last(), Some(&(size, Some(size))));
    }
}
