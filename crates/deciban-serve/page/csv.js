// Rows of text files: CSV with commas, semicolons or tabs, quotes doubled inside quotes, and single pasted rows.

/** The fields of all records. */
export function parse(text) {
  const plain = text.replace(/^\ufeff/, '');
  const delimiter = sniff(plain);
  const [records, record] = [[], []];
  let [field, quoted, wasQuoted] = ['', false, false];
  const endField = () => {
    record.push(field);
    [field, wasQuoted] = ['', false];
  };
  const endRecord = () => {
    endField();
    if (record.length > 1 || record[0] !== '') records.push(record.slice());
    record.length = 0;
  };
  for (let i = 0; i < plain.length; i += 1) {
    const c = plain[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (plain[i + 1] === '"') {
        field += '"';
        i += 1;
      } else quoted = false;
    } else if (c === '"' && field === '' && !wasQuoted) [quoted, wasQuoted] = [true, true];
    else if (c === delimiter) endField();
    else if (c === '\n' || c === '\r') {
      if (c === '\r' && plain[i + 1] === '\n') i += 1;
      endRecord();
    } else field += c;
  }
  if (field !== '' || record.length) endRecord();
  return records;
}

/** The sign that occurs most in the first line, outside of quotes. */
function sniff(text) {
  const line = text.slice(0, 10_000).replace(/"[^"]*"/g, '').split(/[\r\n]/)[0];
  const count = (sign) => line.split(sign).length;
  return [',', ';', '\t'].reduce((most, sign) => (count(sign) > count(most) ? sign : most));
}

/** A field, in quotes where it needs them. */
export const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Where each column of the model stands in a header; −1 where it does not. */
export const places = (header, data) => data.columns.map(({ name }) => header.findIndex((field) => field.trim() === name));

/** One row, as a JSON object, as CSV with its header, or as cells in the order of the model. */
export function readRow(text, data) {
  const plain = text.trim();
  if (plain === '') throw new Error('There is nothing to read.');
  if (plain.startsWith('{') || plain.startsWith('[')) return ofJson(plain, data);
  const records = parse(plain);
  const at = places(records[0], data);
  if (at.some((place) => place >= 0)) {
    if (records.length < 2) throw new Error('There is a header and no row below it.');
    return at.map((place) => cleaned(records[1][place], data));
  }
  const cells = records[0];
  if (cells.length !== data.columns.length) throw new Error(`There are ${cells.length} cells for ${data.columns.length} columns, and no header that names them.`);
  return cells.map((cell) => cleaned(cell, data));
}

function ofJson(text, data) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error('This is not JSON.');
  }
  const object = Array.isArray(found) ? found[0] : found;
  const known = data.columns.filter(({ name }) => Object.hasOwn(object ?? {}, name));
  if (!known.length) throw new Error('The object names no column of the model.');
  return data.columns.map(({ name }) => cleaned(object[name], data));
}

/** A cell without blanks around it; marks of missing cells become ''. */
export function cleaned(cell, data) {
  const text = cell === null || cell === undefined ? '' : String(cell).trim();
  return data.missing.includes(text) ? '' : text;
}
