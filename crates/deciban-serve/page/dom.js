// Small helpers to build elements. No markup is ever made from strings, so no cell of a file can become one.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked') node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

/** An HTML element: attributes, listeners as `onclick`, then children. */
export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** The marks of the classes, so that colour is never the only difference: paths within ±1. */
const MARKS = [
  'M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z',
  'M-1 .9L0 -1L1 .9Z',
  'M-.85 -.85H.85V.85H-.85Z',
  'M0 -1.15L1.15 0L0 1.15L-1.15 0Z',
  'M-1 -.9H1L0 1Z',
  'M-.35 -1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z',
  'M0 -1.1L.32 -.35L1.1 -.3L.5 .25L.7 1L0 .6L-.7 1L-.5 .25L-1.1 -.3L-.32 -.35Z',
  'M-1 -.5L0 -1.1L1 -.5V.5L0 1.1L-1 .5Z',
];

/** How many different colours and marks there are. */
export const COLOURS = MARKS.length;

/** The name of the CSS class that gives a class of the model its colour. */
export const hue = (k) => `hue${k % COLOURS}`;

/** The mark of class k, in a drawing of its own. */
export const mark = (k) =>
  svg('svg', { class: `mark ${hue(k)}`, viewBox: '-1.3 -1.3 2.6 2.6', 'aria-hidden': 'true', focusable: 'false' }, svg('path', { d: MARKS[k % COLOURS] }));

/** The mark of class k inside another drawing. */
export const markAt = (k, x, y, size, attributes = {}) =>
  svg('path', { d: MARKS[k % COLOURS], transform: `translate(${x} ${y}) scale(${size})`, class: `fill ${hue(k)}`, ...attributes });

/** Replaces the children of a node. */
export const put = (node, ...children) => {
  node.replaceChildren(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return node;
};

let identifiers = 0;
/** A new id, for labels. */
export const id = (what) => `${what}-${(identifiers += 1)}`;
