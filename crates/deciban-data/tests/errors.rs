//! Every way in which input can be wrong, and what the user reads.

use crate::common::{Folder, bare, read, target};
use deciban::Wording;
use deciban::data::{Kind, Schema, Spelling, Written};
use deciban_data::{Files, Format, Options, Target};

/// The error of reading `text` as the file `name`.
fn error_of(name: &str, bytes: impl AsRef<[u8]>, options: Options) -> String {
    let folder = Folder::new();
    folder.clean(&read(&folder.write(name, bytes), options).unwrap_err().worded(Wording::Flags))
}

fn csv(text: &str) -> String {
    error_of("a.csv", text, target("t"))
}

#[test]
fn rows() {
    assert_eq!(
        csv("x,y,t\n1,2,a\n1,2\n"),
        "a.csv:3: the row has 2 fields, the header has 3: fix the row, or give --separator"
    );
    assert_eq!(
        csv("x,y,t\n1,2,a,b\n"),
        "a.csv:2: the row has 4 fields, the header has 3: fix the row, or give --separator"
    );
    let text = "1,2,a\n1\n";
    assert_eq!(
        error_of("a.csv", text, bare("c2")),
        "a.csv:2: the row has 1 field, the first row has 3: fix the row, or give --separator"
    );
    assert_eq!(
        error_of("a.txt", "x t\n1 a\n1 2 a\n3 b\n", target("t")),
        "a.txt:3: the row has 3 fields, the header has 2: fix the row, or give --separator"
    );
    // Lines are those of the editor: blank lines and quoted newlines count.
    assert_eq!(
        csv("x,y,t\n\n\"1\n\",2,a\n1,2\n"),
        "a.csv:5: the row has 2 fields, the header has 3: fix the row, or give --separator"
    );
    let unclosed =
        "a quote opens here that nothing closes: close it, double the quotes inside quotes, or give --no-quotes";
    assert_eq!(csv("x,t\n1,a\n2,\"b\n3,c\n"), format!("a.csv:3: column `t`: {unclosed}"));
    let behind = "there is text behind the closing quote: double the quotes inside quotes, or give --no-quotes";
    assert_eq!(csv("x,t\n1,\"b\"c\n"), format!("a.csv:2: column `t`: {behind}"));
}

#[test]
fn cells() {
    let many: String = (0..200_000).map(|i| format!("{i},a\n")).collect();
    let message = csv(&format!("x,t\n{many}abc,b\n"));
    let rows = message.split("first ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!((100_000..200_000).contains(&rows.parse::<usize>().unwrap()), "{message}");
    assert_eq!(
        message,
        format!(
            "a.csv:200002: column `x`: `abc` is not a number: the first {rows} rows made this column a number column; give --category x if it is one"
        )
    );
    let number = Options { kinds: vec![("x".into(), Kind::Number)], ..target("t") };
    assert_eq!(
        error_of("a.csv", "x,t\n1,a\nabc,b\n", number),
        "a.csv:3: column `x`: `abc` is not a number: --number made this column a number column"
    );
    let infinite = "is an infinite number: mark it as missing or remove the row";
    assert_eq!(csv("x,t\n1,a\ninf,b\n"), format!("a.csv:3: column `x`: `inf` {infinite}"));
    assert_eq!(csv("x,t\n1,a\n-1e999,b\n"), format!("a.csv:3: column `x`: `-1e999` {infinite}"));
    assert_eq!(csv("x,t\n1,a\n2,?\n"), "a.csv:3: column `t`: the class is missing: fill it in or remove the row");
    let encoding = "the text is not UTF-8: convert the file, as with `iconv -f latin1 -t utf-8`";
    assert_eq!(error_of("a.csv", b"x,t\n1,caf\xe9\n", target("t")), format!("a.csv:2: column `t`: {encoding}"));
    assert_eq!(error_of("a.csv", b"x,\xe9\n1,b\n", target("x")), format!("a.csv:1: {encoding}"));
    assert_eq!(
        error_of("a.csv", b"\xff\xfex\0,\0t\0", target("x")),
        "a.csv: the text is UTF-16: convert the file, as with `iconv -f utf-16 -t utf-8`"
    );
    let weighted = Options { weight: Some("w".into()), ..target("t") };
    assert_eq!(
        error_of("a.csv", "x,w,t\n1,1,a\n1,-1,a\n", weighted.clone()),
        "a.csv:3: column `w`: the weight -1 is not a finite number of at least 0"
    );
    assert_eq!(
        error_of("a.csv", "x,w,t\n1,1,a\n1,,a\n", weighted.clone()),
        "a.csv:3: column `w`: the weight is missing: fill it in or remove the row"
    );
    assert_eq!(
        error_of("a.csv", "x,w,t\n1,a,a\n", weighted),
        "a.csv:2: column `w`: `a` is not a number: weights are numbers"
    );
}

#[test]
fn names() {
    let text = "species,width,class\n1,2,a\n";
    let with = |options| error_of("a.csv", text, options);
    assert_eq!(with(target("clas")), "a.csv: there is no column `clas` for the target: did you mean `class`?");
    assert_eq!(
        with(target("income")),
        "a.csv: there is no column `income` for the target: the columns are `species`, `width`, `class`"
    );
    assert_eq!(
        error_of("a.csv", "5.1,3.5,setosa\n4.9,3.0,setosa\n", target("t")),
        "a.csv: there is no column `t` for the target: the columns are `5.1`, `3.5`, `setosa`; the first line looks like data: give --no-header, then columns are named c0, c1, ..."
    );
    let base = || target("class");
    assert_eq!(
        with(Options { ignore: vec!["with".into()], ..base() }),
        "--ignore: there is no column `with`: did you mean `width`?"
    );
    assert_eq!(
        with(Options { columns: Some(vec!["z".into()]), ..base() }),
        "--columns: there is no column `z`: the columns are `species`, `width`, `class`"
    );
    assert_eq!(
        with(Options { weight: Some("widht".into()), ..base() }),
        "--weight: there is no column `widht`: did you mean `width`?"
    );
    let kinds = vec![("widths".to_string(), Kind::Category)];
    assert_eq!(with(Options { kinds, ..base() }), "--category: there is no column `widths`: did you mean `width`?");
    let columns = Some(vec!["class".to_string()]);
    assert_eq!(
        with(Options { columns, ..base() }),
        "--columns: `class` is the target or the weight, and cannot be a feature too"
    );
    let ignore = vec!["species".to_string(), "width".into()];
    assert_eq!(
        with(Options { ignore, ..base() }),
        "a.csv: no column is left to learn from: give fewer names to --ignore"
    );
    assert_eq!(csv("x,x,t\n1,2,a\n"), "a.csv: two columns are named `x`: give each its own name, or --no-header");
    assert_eq!(
        with(Options { versus_rest: Some("b".into()), ..base() }),
        "no row has the class `b`: the rows' classes are `a`"
    );
}

#[test]
fn one_hot() {
    let with = |text: &str| {
        let names = vec!["a".to_string(), "b".into(), "c".into()];
        error_of("a.csv", text, Options { target: Target::OneHot(names), ..Options::default() })
    };
    let rule = "exactly one of `a`, `b`, `c` must be 1, the others 0";
    assert_eq!(with("x,a,b,c\n1,0,1,0\n1,1,1,0\n"), format!("a.csv:3: {rule}: `a` and `b` are both 1"));
    assert_eq!(with("x,a,b,c\n1,0,0,0\n"), format!("a.csv:2: {rule}: all are 0"));
    assert_eq!(with("x,a,b,c\n1,0,2,1\n"), format!("a.csv:2: {rule}: the cell of `b` is 2, not 0 or 1"));
    assert_eq!(with("x,a,b,c\n1,0,,1\n"), format!("a.csv:2: {rule}: the cell of `b` is missing"));
    assert_eq!(with("x,a,b\n1,0,1\n"), "a.csv: there is no column `c` for the target: the columns are `x`, `a`, `b`");
}

#[test]
fn files() {
    let folder = Folder::new();
    let open = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
        let files = Files::open(&paths, target("t"));
        folder.clean(&files.and_then(|files| crate::common::dump(&files)).unwrap_err().worded(Wording::Flags))
    };
    assert_eq!(open(&[&folder.path("none.csv")]), "none.csv: there is no such file");
    assert_eq!(open(&[&folder.path("*.csv")]), "*.csv: no file matches this pattern");
    std::fs::create_dir(folder.path("parts")).unwrap();
    assert_eq!(
        open(&[&folder.path("parts")]),
        "parts: this is a folder: give its files, as in 'parts/*.csv', or put texts into a folder for each class"
    );
    assert_eq!(open(&[]), "give at least one file, or - for standard input");
    assert_eq!(open(&["-", "-"]), "standard input (-) or another pipe can be given only once");
    assert_eq!(open(&[&folder.write("empty.csv", "")]), "empty.csv: the file is empty");
    assert_eq!(open(&[&folder.write("blank.csv", "\n\n")]), "blank.csv: the file is empty");
    assert_eq!(open(&[&folder.write("empty.parquet", "")]), "empty.parquet: the file is empty");
    assert_eq!(
        open(&[&folder.write("header.csv", "x,t\n")]),
        "header.csv: there are no rows: the file has nothing behind its header"
    );
    let one = folder.write("one.csv", "x,t\n1,a\n");
    assert_eq!(
        open(&[&one, &folder.write("two.csv", "x,y,t\n1,2,a\n")]),
        "two.csv: the first file has no column `y`: all files must have the same columns"
    );
    assert_eq!(
        open(&[&one, &folder.write("three.csv", "z,t\n1,a\n")]),
        "three.csv: there is no column `x`, which the first file has; the columns are `z`, `t`"
    );
    assert_eq!(
        open(&[&one, &folder.write("four.csv", "x,t\n1,a\n1\n")]),
        "four.csv:3: the row has 1 field, the header has 2: fix the row, or give --separator"
    );
    // A part without rows does no harm.
    let paths = [folder.write("five.csv", "x,t\n"), one];
    assert_eq!(crate::common::dump(&Files::open(&paths, target("t")).unwrap()).unwrap(), ["1 =a"]);
}

#[test]
fn damaged_files() {
    let parquet = error_of("a.parquet", "PAR1 this is no parquet file PAR1", Options::default());
    assert!(parquet.starts_with("a.parquet: this is not a Parquet file, or it is damaged ("), "{parquet}");
    let arrow = error_of("a.arrow", "ARROW1 this is no arrow file ARROW1", Options::default());
    assert!(arrow.starts_with("a.arrow: this is not an Arrow file or stream, or it is damaged ("), "{arrow}");
    let idx = |bytes: &[u8]| error_of("a.idx", bytes, Options::default());
    assert_eq!(idx(b"x,y\n1,2\n"), "a.idx: this is not an idx file: it begins with 78 2c 79 0a; give --format");
    assert_eq!(idx(&[0, 0, 8, 2, 0, 0]), "a.idx: the idx header ends too early: the file is truncated, get it again");
    assert_eq!(
        idx(&[0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 0]),
        "a.idx: the idx header promises rows of shape [0]: the file is damaged"
    );
    assert_eq!(
        idx(&[0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 2, 3]),
        "a.idx: the idx header promises 3 rows, the file ends after 1: it is truncated"
    );
    assert_eq!(
        idx(&[0, 0, 8, 1, 0, 0, 0, 1, 1, 2]),
        "a.idx: the idx header promises 1 rows, but more follow: the file is damaged"
    );
}

#[test]
fn json_lines() {
    let with = |text: &str| error_of("a.jsonl", text, target("t"));
    assert_eq!(
        with("{\"x\": 1, \"t\": 2}\n[1]\n"),
        "a.jsonl:2: this is not a JSON object in one line: invalid type: sequence, expected a map at character 0"
    );
    assert_eq!(with("{\"x\": [1], \"t\": 2}\n"), "a.jsonl: column `x`: a list cannot be read: give --ignore x");
    let mut text = "{\"x\": 1, \"t\": 2}\n".repeat(100_000);
    text += "{\"x\": 1, \"t\": 2, \"z\": 3}\n";
    assert_eq!(
        with(&text),
        "a.jsonl:100001: column `z`: the first rows do not have this key: give --ignore z, or put it first as null"
    );
    let cut = with("{\"x\": 1, \"t\": 2}\n{\"x\": 1,\n");
    assert!(cut.starts_with("a.jsonl:2: this is not a JSON object in one line: EOF while parsing"), "{cut}");
}

#[test]
fn labels() {
    let folder = Folder::new();
    let data = folder.write("a.csv", "x\n1\n2\n3\n");
    let with = |text: &str| {
        let target = Target::Labels(folder.write("labels.txt", text));
        folder.clean(&read(&data, Options { target, ..Options::default() }).unwrap_err().worded(Wording::Flags))
    };
    assert_eq!(with("a\na\n"), "labels.txt: there are 2 labels for the 3 rows of a.csv: each row needs its own");
    assert_eq!(
        with("y\na\na\nb\nb\nb\n"),
        "labels.txt: there are 5 labels for the 3 rows of a.csv: each row needs its own"
    );
    assert_eq!(with("y\na\n?\nb\n"), "labels.txt:3: column `y`: the class is missing: fill it in or remove the row");
}

#[test]
fn against_a_schema() {
    let folder = Folder::new();
    let schema = Schema::numbers(&["x", "y"], "t", &["a", "b"]).unwrap();
    let open = |text: &str, options: Options| {
        let files = Files::open_as(&[folder.write("a.csv", text)], options, &schema);
        files.and_then(|files| crate::common::dump(&files)).map_err(|e| folder.clean(&e.worded(Wording::Flags)))
    };
    assert_eq!(open("t,z,y,x\nb,0,2,1\n", target("t")).unwrap(), ["1 2 =b"]);
    assert_eq!(open("y,x\n2,1\n", Options::default()).unwrap(), ["1 2"]);
    assert_eq!(open("1,2\n", Options { header: false, ..Options::default() }).unwrap(), ["1 2"]);
    assert_eq!(open("1,b,2\n", bare("c1")).unwrap(), ["1 2 =b"]);
    assert_eq!(
        open("x,y\n1,2\n", target("t")).unwrap_err(),
        "a.csv: there is no column `t` for the target: the columns are `x`, `y`"
    );
    assert_eq!(
        open("x,z\n1,2\n", Options::default()).unwrap_err(),
        "a.csv: the model needs a column `y` that the input does not have"
    );
    assert_eq!(
        open("1,2,3\n", Options { header: false, ..Options::default() }).unwrap_err(),
        "a.csv: the model has 2 columns, the input 3 besides the target: give --ignore for those that are too many"
    );
    assert_eq!(
        open("x,y,t\n1,2,a\n1,2,c\n", target("t")).unwrap_err(),
        "a.csv:3: column `t`: the model does not know the class `c`: its classes are `a`, `b`"
    );
    assert_eq!(
        open("x,y,t\n1,2,a\n1,two,a\n", target("t")).unwrap_err(),
        "a.csv:3: column `y`: `two` is not a number: the model knows this column as numbers"
    );
    let versus = schema.with_classes(vec!["not a".into(), "a".into()]).unwrap();
    let versus = versus.with_spelling(Spelling { versus_rest: Some("a".into()), ..Spelling::default() }).unwrap();
    let path = folder.write("b.csv", "x,y,t\n1,2,a\n1,2,c\n");
    assert_eq!(
        crate::common::dump(&Files::open_as(&[path], target("t"), &versus).unwrap()).unwrap(),
        ["1 2 =a", "1 2 =not a"]
    );
}

#[test]
fn classes_that_only_look_like_one_against_the_rest_are_themselves() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x,t\n1,spam\n2,not spam\n3,spam\n");
    let labels = folder.write("b.csv", "x,t\n1,spam\n2,not spam\n3,Spam\n");
    let schema = |options| {
        let files = Files::open(std::slice::from_ref(&path), options).unwrap();
        crate::common::dump(&files).unwrap();
        files.schema().unwrap()
    };
    let read = |schema| {
        let files = Files::open_as(std::slice::from_ref(&labels), target("t"), &schema).unwrap();
        crate::common::dump(&files).map_err(|e| e.worded(Wording::Flags).split("b.csv").last().unwrap().to_string())
    };
    let real = schema(target("t"));
    assert_eq!(real.spelling().versus_rest, None);
    assert_eq!(
        read(real).unwrap_err(),
        ":4: column `t`: the model does not know the class `Spam`: its classes are `spam`, `not spam`"
    );
    let versus = schema(Options { versus_rest: Some("spam".into()), ..target("t") });
    assert_eq!(versus.spelling().versus_rest.as_deref(), Some("spam"));
    assert_eq!(read(versus).unwrap(), ["1 =spam", "2 =not spam", "3 =not spam"]);
}

#[test]
fn new_cells_are_read_as_those_of_the_model() {
    let folder = Folder::new();
    let text = "born,left,sold,n,t\n2024-05-01,True,1/5/2024,1,a\n(none),False,2/5/2024,(none),b\n";
    let path = folder.write("a.csv", text);
    let options = Options { missing: Some(vec!["(none)".into()]), ..target("t") };
    let files = Files::open(&[path], options).unwrap();
    crate::common::dump(&files).unwrap();
    let schema = files.schema().unwrap();
    let flag = Written::Flag { yes: "True".into(), no: "False".into() };
    let expected = [("born", Written::Date), ("left", flag), ("sold", Written::LocalDate)];
    assert_eq!(schema.spelling().columns, expected.map(|(name, written)| (name.to_string(), written)).into());
    // Dates behind plain numbers are dates, 1 is True, and what marked a missing cell marks it here.
    let path = folder.write("b.csv", "born,left,sold,n\n19844,1,(none),(none)\n2024-05-02,FALSE,1/5/2024,2\n");
    let files = Files::open_as(&[path], Options::default(), &schema).unwrap();
    assert_eq!(crate::common::dump(&files).unwrap(), ["19844 True - -", "19845 False 1/5/2024 2"]);
    assert_eq!(files.schema().unwrap().spelling(), schema.spelling());
    let path = folder.write("c.csv", "born,left,sold,n\n?,1,2/5/2024,3\n");
    let options = Options { missing: Some(vec!["?".into()]), ..Options::default() };
    let files = Files::open_as(&[path], options, &schema).unwrap();
    assert_eq!(crate::common::dump(&files).unwrap(), ["- True 2/5/2024 3"]);
}

#[test]
fn a_level_that_the_schema_does_not_know_is_unseen() {
    let folder = Folder::new();
    let train = Files::open(&[folder.write("a.csv", "c,t\nred,a\nblue,b\n")], target("t")).unwrap();
    crate::common::dump(&train).unwrap();
    let path = folder.write("b.csv", "c\nblue\ngreen\n");
    let files = Files::open_as(&[path], Options::default(), &train.schema().unwrap()).unwrap();
    assert_eq!(crate::common::dump(&files).unwrap(), ["blue", "unseen"]);
    assert_eq!(files.columns()[0].levels, ["red", "blue"]);
}

#[test]
fn an_error_of_the_caller_gets_its_line() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "x,t\n1,a\n\n,b\n");
    let files = Files::open(&[path], target("t")).unwrap();
    let missing = |_: &deciban::data::Batch<'_>| -> deciban::Result<()> {
        Err(deciban::Error::Missing { column: "x".into(), row: 2, remedy: "give --ignore x".into() })
    };
    let message = files.map_in_order(missing, Ok).unwrap_err().worded(Wording::Flags);
    assert_eq!(folder.clean(&message), "a.csv:4: column `x`: the cell is missing; give --ignore x");
    let infinite = |_: &deciban::data::Batch<'_>| -> deciban::Result<()> {
        Err(deciban::Error::Infinite { column: "x".into(), row: 1 })
    };
    let message = files.map_in_order(infinite, Ok).unwrap_err().worded(Wording::Flags);
    assert_eq!(
        folder.clean(&message),
        "a.csv:2: column `x`: the number is infinite; mark it as missing or remove the row"
    );
}

#[test]
fn a_format_that_is_given_wins() {
    let options = Options { format: Some(Format::Json), ..Options::default() };
    assert!(error_of("a.csv", "x,y\n", options).starts_with("a.csv:1: this is not a JSON object in one line"));
}
