//! Columns of Arrow record batches, as Parquet and Arrow files give them. Types decide: numbers and decimals are
//! numbers, dates, timestamps and durations numbers of days, strings, dictionaries and booleans categories; nulls are
//! missing.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use deciban::Result;
use deciban::data::MISSING;
use deciban::text::Word;

use crate::cells::{Cells, Missing, Parsed, check_number};
use crate::dictionary::Dictionary;
use crate::infer::{Guess, by_levels};
use crate::layout::Layout;
use crate::plan::Plan;

/// What a column holds, from its type and, where that is text, from its cells.
pub(crate) fn guess(array: &dyn Array, missing: &Missing) -> Guess {
    let guess = by_type(array.data_type());
    match (&guess, texts(array)) {
        (Guess::Category, Ok(texts)) if !matches!(array.data_type(), DataType::Dictionary(..) | DataType::Boolean) => {
            let mut levels = Dictionary::default();
            let known = texts.iter().flatten().filter(|text| !missing.has(text.as_bytes()));
            let cells = known.map(|text| levels.code(Word::of(text.as_bytes()))).count();
            by_levels(&levels, cells, missing)
        }
        _ => guess,
    }
}

pub(crate) fn by_type(data_type: &DataType) -> Guess {
    use DataType::*;
    match data_type {
        Null | Float16 | Float32 | Float64 => Guess::Number,
        Date32 | Date64 | Timestamp(..) => Guess::Date,
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Guess::Number,
        Decimal128(..) | Decimal256(..) | Duration(_) => Guess::Number,
        Utf8 | LargeUtf8 | Utf8View | Boolean => Guess::Category,
        Dictionary(_, values) if !matches!(by_type(values), Guess::Unsupported(_)) => Guess::Category,
        other => Guess::Unsupported(format!("the type {other}")),
    }
}

/// The cells of a batch that holds the wanted columns only.
pub(crate) fn parse(batch: &RecordBatch, plan: &Plan, layout: &Layout) -> Parsed {
    let mut parsed = Parsed::new(plan, batch.num_rows());
    (parsed.rows, parsed.line_count) = (batch.num_rows(), batch.num_rows() as u64);
    let wanted = layout.slots.iter().enumerate().filter_map(|(place, slot)| Some((place, (*slot)?)));
    for ((place, slot), array) in wanted.zip(batch.columns()) {
        let also = layout.also.iter().filter(|(also, _)| *also == place).map(|(_, slot)| *slot);
        for slot in std::iter::once(slot).chain(also) {
            if let Err((row, message)) = push(array.as_ref(), slot, &mut parsed, plan) {
                parsed.blame(row as u64, Some(&plan.slots[slot].name), message);
            }
        }
    }
    parsed
}

/// The cells of a plan's only column.
pub(crate) fn parse_column(array: &dyn Array, plan: &Plan) -> Parsed {
    let mut parsed = Parsed::new(plan, array.len());
    (parsed.rows, parsed.line_count) = (array.len(), array.len() as u64);
    if let Err((row, message)) = push(array, 0, &mut parsed, plan) {
        parsed.blame(row as u64, None, message);
    }
    parsed
}

/// The row that is wrong, and why.
type Wrong = (usize, String);

fn push(array: &dyn Array, slot: usize, parsed: &mut Parsed, plan: &Plan) -> Result<(), Wrong> {
    macro_rules! numbers {
        ($($type:ident => $arrow:ty),*) => {
            match array.data_type() {
                $(DataType::$type => push_numbers::<$arrow>(array, |x| x as f64, |x| x.to_string(), slot, parsed, plan),)*
                DataType::Date32 => {
                    push_numbers::<Date32Type>(array, f64::from, |x| x.to_string(), slot, parsed, plan)
                }
                DataType::Date64 => push_times::<Date64Type>(array, 1e3, slot, parsed, plan),
                DataType::Timestamp(TimeUnit::Second, _) => {
                    push_times::<TimestampSecondType>(array, 1.0, slot, parsed, plan)
                }
                DataType::Timestamp(TimeUnit::Millisecond, _) => {
                    push_times::<TimestampMillisecondType>(array, 1e3, slot, parsed, plan)
                }
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    push_times::<TimestampMicrosecondType>(array, 1e6, slot, parsed, plan)
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    push_times::<TimestampNanosecondType>(array, 1e9, slot, parsed, plan)
                }
                DataType::Float16 => {
                    push_numbers::<Float16Type>(array, |x| x.to_f64(), |x| x.to_f32().to_string(), slot, parsed, plan)
                }
                DataType::Duration(TimeUnit::Second) => {
                    push_times::<DurationSecondType>(array, 1.0, slot, parsed, plan)
                }
                DataType::Duration(TimeUnit::Millisecond) => {
                    push_times::<DurationMillisecondType>(array, 1e3, slot, parsed, plan)
                }
                DataType::Duration(TimeUnit::Microsecond) => {
                    push_times::<DurationMicrosecondType>(array, 1e6, slot, parsed, plan)
                }
                DataType::Duration(TimeUnit::Nanosecond) => {
                    push_times::<DurationNanosecondType>(array, 1e9, slot, parsed, plan)
                }
                DataType::Decimal128(precision, scale) => {
                    let text = |x: i128| Decimal128Type::format_decimal(x, *precision, *scale);
                    push_numbers::<Decimal128Type>(array, |x| of_decimal(&text(x)), text, slot, parsed, plan)
                }
                DataType::Decimal256(precision, scale) => {
                    let text = |x| Decimal256Type::format_decimal(x, *precision, *scale);
                    push_numbers::<Decimal256Type>(array, |x| of_decimal(&text(x)), text, slot, parsed, plan)
                }
                _ => push_others(array, slot, parsed, plan),
            }
        };
    }
    numbers!(Float64 => Float64Type, Float32 => Float32Type, Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type,
        Int64 => Int64Type, UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)
}

/// Numbers; as names of classes they keep their own type's shortest form.
fn push_numbers<T: ArrowPrimitiveType>(
    array: &dyn Array,
    widen: impl Fn(T::Native) -> f64,
    text: impl Fn(T::Native) -> String,
    slot: usize,
    parsed: &mut Parsed,
    plan: &Plan,
) -> Result<(), Wrong> {
    let array = array.as_primitive::<T>();
    match &mut parsed.cells[slot] {
        Cells::Numbers(numbers) => return extend_numbers(numbers, array, widen, plan),
        Cells::Codes { codes, levels } => extend_codes(codes, levels, array, widen, text),
        _ => {
            for (row, value) in array.iter().enumerate() {
                match value {
                    None => parsed.push_missing(slot),
                    Some(x) => parsed.push_number(slot, widen(x), plan).map_err(|e| (row, e))?,
                }
            }
        }
    }
    Ok(())
}

/// A whole column at once, in loops that the vector unit can take.
fn extend_numbers<T: ArrowPrimitiveType>(
    numbers: &mut Vec<f64>,
    array: &PrimitiveArray<T>,
    widen: impl Fn(T::Native) -> f64,
    plan: &Plan,
) -> Result<(), Wrong> {
    let before = numbers.len();
    numbers.extend(array.values().iter().map(|x| widen(*x)));
    let added = &mut numbers[before..];
    if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
        // The value behind a null may be anything.
        added.iter_mut().zip(nulls).filter(|(_, is_valid)| !is_valid).for_each(|(x, _)| *x = f64::NAN);
    }
    let has_infinity = added.iter().fold(false, |has, x| has | x.is_infinite());
    if has_infinity || plan.missing.has_numbers() {
        for (row, x) in added.iter_mut().enumerate() {
            *x = check_number(*x, plan).map_err(|e| (row, e))?;
        }
    }
    Ok(())
}

/// Numbers whose levels are remembered, since they repeat, and since it takes long to write a number out.
const REMEMBERED: usize = 32;

fn extend_codes<T: ArrowPrimitiveType>(
    codes: &mut Vec<u32>,
    levels: &mut Dictionary,
    array: &PrimitiveArray<T>,
    widen: impl Fn(T::Native) -> f64,
    text: impl Fn(T::Native) -> String,
) {
    let mut remembered: Vec<(T::Native, u32)> = Vec::with_capacity(REMEMBERED);
    let mut code = |x: T::Native| {
        if let Some((_, code)) = remembered.iter().find(|(known, _)| *known == x) {
            return *code;
        }
        let code = levels.code(Word::of(text(x).as_bytes()));
        if remembered.len() < REMEMBERED {
            remembered.push((x, code));
        }
        code
    };
    let known = |x: &T::Native| !widen(*x).is_nan();
    codes.extend(array.iter().map(|value| value.filter(known).map_or(MISSING, &mut code)));
}

/// The closest number to a decimal, as it would be read from a file; a decimal has no other form than digits.
fn of_decimal(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// Times since 1970-01-01, and spans of time, as days; `per_second` of their units make a second.
fn push_times<T: ArrowPrimitiveType<Native = i64>>(
    array: &dyn Array,
    per_second: f64,
    slot: usize,
    parsed: &mut Parsed,
    plan: &Plan,
) -> Result<(), Wrong> {
    let days = |x: i64| x as f64 / (86400.0 * per_second);
    push_numbers::<T>(array, days, |x| days(x).to_string(), slot, parsed, plan)
}

fn push_others(array: &dyn Array, slot: usize, parsed: &mut Parsed, plan: &Plan) -> Result<(), Wrong> {
    match array.data_type() {
        DataType::Utf8 => push_texts(array.as_string::<i32>().iter(), slot, parsed, plan),
        DataType::LargeUtf8 => push_texts(array.as_string::<i64>().iter(), slot, parsed, plan),
        DataType::Utf8View => push_texts(array.as_string_view().iter(), slot, parsed, plan),
        DataType::Boolean => {
            for (row, flag) in array.as_boolean().iter().enumerate() {
                match flag {
                    None => parsed.push_missing(slot),
                    Some(flag) => parsed.push_flag(slot, flag, plan).map_err(|e| (row, e))?,
                }
            }
            Ok(())
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let levels = texts(dictionary.values().as_ref()).map_err(|e| (0, e))?;
            // Without levels every key is null.
            let keys = if levels.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            let level = |(row, key): (usize, usize)| match array.is_null(row) {
                true => None,
                false => levels.get(key).and_then(|level| level.as_deref()),
            };
            push_texts(keys.into_iter().enumerate().map(level), slot, parsed, plan)
        }
        DataType::Null => {
            (0..array.len()).for_each(|_| parsed.push_missing(slot));
            Ok(())
        }
        // The plan refused other types.
        other => Err((0, format!("the type {other} cannot be read"))),
    }
}

fn push_texts<'a>(
    texts: impl Iterator<Item = Option<&'a str>>,
    slot: usize,
    parsed: &mut Parsed,
    plan: &Plan,
) -> Result<(), Wrong> {
    for (row, text) in texts.enumerate() {
        match text {
            None => parsed.push_missing(slot),
            Some(text) => parsed.push_text(slot, text.trim().as_bytes(), plan).map_err(|e| (row, e))?,
        }
    }
    Ok(())
}

/// The levels of a dictionary as text, by way of a column of codes.
fn texts(values: &dyn Array) -> Result<Vec<Option<String>>, String> {
    let plan = Plan::texts(&[String::new()]);
    let mut parsed = Parsed::new(&plan, values.len());
    push(values, 0, &mut parsed, &plan).map_err(|(_, message)| message)?;
    let Cells::Codes { codes, levels } = &parsed.cells[0] else { return Ok(Vec::new()) };
    let text = |code: &u32| (*code != MISSING).then(|| levels.text(*code));
    Ok(codes.iter().map(|code| text(code).map(|text| String::from_utf8_lossy(text).into_owned())).collect())
}
