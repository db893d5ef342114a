//! Laws of blocks: where the cuts fall changes nothing but the stripes.

use std::fmt::Write;

use deciban::Result;
use deciban::data::{Batch, Cells, Kind, MISSING, Rows, Tile, View, level_key};
use proptest::prelude::*;

use crate::{Files, Format, Options, Target, Vocabulary};

/// Opens `text` as a file.
fn open(text: &str, options: Options) -> (tempfile::NamedTempFile, Result<Files>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let files = Files::open(&[file.path().display().to_string()], options);
    (file, files)
}

/// All rows with their numbers, as text in terms of codes, and then all names.
fn dump(files: &Files) -> Result<String> {
    let show = |batch: &Batch<'_>| {
        let mut tile = Tile::default();
        let mut text = String::new();
        for row in 0..batch.rows() {
            write!(text, "{}:", batch.row_number(row)).unwrap();
            for column in 0..batch.width() {
                match batch.view(column) {
                    View::Codes(codes) if codes[row] == MISSING => text += " -",
                    View::Codes(codes) => write!(text, " {}", codes[row]).unwrap(),
                    View::Sparse(words) => {
                        text += " [";
                        words.for_each(&Rows::Range(row..row + 1), |_, word, count| {
                            write!(text, " {word}×{count}").unwrap();
                        });
                        text += " ]";
                    }
                    View::Numbers(_) => {
                        Cells::new(batch, &[column], Rows::Range(row..row + 1)).read_numbers(&mut tile)?;
                        write!(text, " {:?}", tile.column(0)[0]).unwrap();
                    }
                }
            }
            writeln!(text, " = {:?}", batch.labels().map(|labels| labels[row])).unwrap();
        }
        Ok(text)
    };
    let mut text = String::new();
    files.map_in_order(show, |part| {
        text += &part;
        Ok(())
    })?;
    writeln!(text, "{:?}", files.schema()?).unwrap();
    Ok(text)
}

/// Reads with blocks of every size, which must give the same rows, or the same error.
fn same_for_all_blocks(text: &str, options: &Options) -> std::result::Result<String, String> {
    let read = |block: usize| {
        let (_file, files) = open(text, options.clone());
        // The name of the temporary file is in errors.
        let place =
            |e: deciban::Error| e.to_string().split_once(": ").map(|(_, rest)| rest.to_string()).unwrap_or_default();
        let twice = |files: Files| {
            let first = dump(&files)?;
            assert_eq!(dump(&files)?, first, "a second run, from memory or not");
            Ok(first)
        };
        let kept = if block < 64 { usize::MAX } else { 1000 };
        files.and_then(|files| twice(files.with_block(block).keeping(kept))).map_err(place)
    };
    let whole = read(1 << 20);
    for block in [1, 7, 64, 300] {
        assert_eq!(read(block), whole, "blocks of {block} bytes");
    }
    whole
}

/// A cell as people write it, with quotes where they are needed, or anyway.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "-?[0-9]{1,4}(\\.[0-9]{1,3})?",
        1 => Just("?".to_string()),
        1 => Just(String::new()),
        2 => "[a-c]{1,2}",
        1 => "[a-c ,\n\r\"#;]{0,6}".prop_map(|text| format!("\"{}\"", text.replace('"', "\"\""))),
        1 => "[a-c]\"[a-c\"]{0,2}",
    ]
}

fn table() -> impl Strategy<Value = String> {
    let row = |width| {
        (prop::collection::vec(cell(), width), 0..10u8).prop_map(|(cells, odd)| match odd {
            0 => format!("{}\r\n", cells.join(",")),
            1 => format!(" {} \n\n", cells.join(" , ")),
            2 => format!("# a, \"comment\n{}\n", cells.join(",")),
            _ => format!("{}\n", cells.join(",")),
        })
    };
    // Now and then a row has a field too few.
    let rows = move |width| prop::collection::vec(prop_oneof![40 => row(width), 1 => row(width - 1)], 1..30);
    (2..4usize).prop_flat_map(move |width| {
        rows(width).prop_map(move |rows| format!("{}\n{}", ["a", "b", "c"][..width].join(","), rows.concat()))
    })
}

#[test]
fn a_sweep_visits_all_rows_in_order() {
    let text: String = (0..500).map(|i| format!("{i},{}\n", ["a", "b", "c"][i % 3])).collect();
    let (_file, files) =
        open(&format!("x,t\n{text}"), Options { target: Target::Column("t".into()), ..Options::default() });
    let files = files.unwrap().with_block(64);
    let (mut rows, mut batches, mut tile) = (Vec::new(), 0, Tile::default());
    let mut visit = |batch: &Batch<'_>| {
        Cells::new(batch, &[0], Rows::Range(0..batch.rows())).read_numbers(&mut tile)?;
        let labels = batch.labels().unwrap();
        rows.extend(tile.column(0).iter().zip(labels).map(|(x, label)| (*x as usize, *label as usize)));
        batches += 1;
        Ok(())
    };
    deciban::engine::Engine::sweep(&files, &mut visit).unwrap();
    assert_eq!(rows, (0..500).map(|i| (i, i % 3)).collect::<Vec<_>>());
    assert!(batches > 20, "{batches}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn tiny_blocks_equal_one_block(text in table()) {
        let options = Options {
            format: Some(Format::Csv),
            separator: Some(','),
            comment: Some('#'),
            target: Target::Column("b".into()),
            unlabelled: true,
            ..Options::default()
        };
        let _ = same_for_all_blocks(&text, &options);
    }

    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(("\\PC{0,5}|[\"\n\r, ]{0,4}", "[a-z\"]{1,3}"), 1..40)) {
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let lines: Vec<String> = rows.iter().map(|(x, y)| format!("{},{}\n", quote(x), quote(y))).collect();
        let options = Options {
            format: Some(Format::Csv),
            separator: Some(','),
            header: false,
            missing: Some(vec!["(none)".into()]),
            kinds: vec![("c0".into(), Kind::Category), ("c1".into(), Kind::Category)],
            ..Options::default()
        };
        let (_file, files) = open(&lines.concat(), options);
        let files = files.unwrap().with_block(50);
        let (mut codes, levels) = (Vec::new(), || files.columns()[0].levels.clone());
        let first = |batch: &Batch<'_>| match batch.view(0) {
            View::Codes(codes) => Ok(codes.to_vec()),
            _ => Ok(Vec::new()),
        };
        files.map_in_order(first, |part| { codes.extend(part); Ok(()) }).unwrap();
        let levels = levels();
        // Of a number that is written in two ways the first stays.
        let read: Vec<_> = codes.iter().map(|code| level_key(levels[*code as usize].as_bytes())).collect();
        let written: Vec<_> = rows.iter().map(|(x, _)| level_key(x.as_bytes())).collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn blanks_too(rows in prop::collection::vec(prop::collection::vec("[-0-9a.#]{1,4}", 3), 1..30)) {
        let text: String = rows.iter().map(|row| row.join("  ") + " \n").collect();
        let options = Options { format: Some(Format::Text), header: false, ..Options::default() };
        let _ = same_for_all_blocks(&text, &options);
    }

    #[test]
    fn texts_too(rows in prop::collection::vec(("[ab]", "[a-cA-Cé\"' !£\u{301}]{0,20}"), 1..40), hashed in any::<bool>()) {
        let text: String = rows.iter().map(|(class, text)| format!("{class}\t{text}\n")).collect();
        let hashed_bits = hashed.then_some(2);
        let options = Options {
            format: Some(Format::Tsv),
            header: false,
            quotes: false,
            target: Target::Column("c0".into()),
            kinds: vec![("c1".into(), Kind::Text)],
            vocabulary: Vocabulary { hashed_bits, ..Vocabulary::default() },
            ..Options::default()
        };
        let found = same_for_all_blocks(&text, &options).unwrap();
        prop_assert_eq!(found.lines().count(), rows.len() + 1);
        // Quoted, the same texts give the same rows.
        let quote = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let quoted: String = rows.iter().map(|(class, text)| format!("{class}\t{}\n", quote(text))).collect();
        prop_assert_eq!(same_for_all_blocks(&quoted, &Options { quotes: true, ..options }).unwrap(), found);
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in "[ab1.,;\t\"\n\r #?-]{0,200}", header in any::<bool>()) {
        let _ = same_for_all_blocks(&text, &Options { header, ..Options::default() });
    }
}

#[test]
fn quoted_newlines_across_blocks() {
    let mut text = String::from("id,note,t\n");
    for i in 0..200 {
        writeln!(text, "{i},\"line one of {i}\nline, two\n\"\"three\"\"\",{}", if i % 3 == 0 { "x" } else { "y" })
            .unwrap();
    }
    let kinds = vec![("id".into(), Kind::Number)];
    let options =
        Options { target: Target::Column("t".into()), ignore: vec!["note".into()], kinds, ..Options::default() };
    let rows = same_for_all_blocks(&text, &options).unwrap();
    assert!(rows.contains("\n199: 199.0 = Some(1)\n"), "{rows}");
    let faulty = format!("{text}200,\"\n\",x\nabc,x,x\n");
    let message = same_for_all_blocks(&faulty, &options).unwrap_err();
    assert!(message.starts_with("column `id`: `abc` is not a number"), "{message}");
}

#[test]
fn lines_are_right_in_every_block() {
    let mut text = String::from("x,t\n");
    for i in 0..100 {
        write!(text, "{i},a\n{}", if i % 7 == 0 { "\n" } else { "" }).unwrap();
    }
    text += "oops,a\n";
    let line = text.lines().count();
    let options = Options { kinds: vec![("x".into(), Kind::Number)], ..Options::default() };
    for block in [1, 64, 1000, 1 << 20] {
        let (file, files) = open(&text, options.clone());
        let message = dump(&files.unwrap().with_block(block)).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}:{line}: column `x`", file.path().display())), "{message}");
    }
}

#[test]
fn rows_are_kept_within_the_budget_and_classes_sorted() {
    let mut text = String::from("x,colour,note,t\n");
    for i in 0..50 {
        writeln!(text, "{i},{},word{i} and,{}", ["red", "?", "blue"][i % 3], ["10", "9", "2"][i % 7 % 3]).unwrap();
    }
    let kinds = vec![("note".into(), Kind::Text), ("t".into(), Kind::Category)];
    let options = Options { target: Target::Column("t".into()), kinds, ..Options::default() };
    for (budget, kept) in [(0, false), (2000, false), (100_000, true)] {
        let (file, files) = open(&text, options.clone());
        let mut files = files.unwrap().with_block(100).keeping(budget);
        let before = dump(&files).unwrap();
        assert!(before.contains("\n1: 1.0 - [ 1×1 2×1 ] = Some(1)\n"), "{before}");
        files.sort_classes().unwrap();
        assert_eq!(files.classes(), ["2", "9", "10"]);
        let schema = files.schema().unwrap();
        let again = Files::open_as(&[file.path().display().to_string()], options.clone(), &schema).unwrap();
        assert_eq!(dump(&files).unwrap(), dump(&again).unwrap());
        drop(file);
        assert_eq!(dump(&files).is_ok(), kept, "{budget}");
    }
}
