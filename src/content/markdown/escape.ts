/** Characters that begin something in Markdown wherever they occur. */
const ACTIVE = /[\\`*[\]~]/g
/** An underscore that could begin or end emphasis: not one inside a word. */
const UNDERSCORE = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu
/** The start of HTML, also if only the text that follows completes it. */
const TAG = /<(?=[a-z/!?]|$)/gi
/** An ampersand that would be decoded with the characters after it, which may follow later. */
const REFERENCE = /&(?=#?\w+;|#?\w*$)/g
const WHOLE_REFERENCE = /&(?=#?\w+;)/g
/** The start of a line that would make it a heading, list, quote, rule, table or code. */
const LINE_START = /^(?:(?=[-+](?:\s|$))|(?=#{1,6}(?:\s|$))|(?=>)|(?=[-=:|][-=:|\s]*$))/
const NUMBERED = /^(\d{1,9})(?=[.)](?:\s|$))/
// oxlint-disable-next-line no-control-regex -- the expression is about control characters
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]+/g
/** Schemes of links that run nothing. */
const SCHEMES = new Set(['http', 'https', 'mailto'])
/** Characters that end an address, or mean something around it. */
const UNSAFE = /[\s()<>\\|"`^{}[\]*]/g

/** Escapes text so that it remains text in Markdown; `escapeLine` does the rest at the start of a line. */
export function escapeText(text: string): string {
  return text
    .replace(ACTIVE, String.raw`\$&`)
    .replace(UNDERSCORE, String.raw`\_`)
    .replace(TAG, String.raw`\<`)
    .replace(REFERENCE, String.raw`\&`)
}

/** Escapes the start of a line of escaped text. */
export function escapeLine(line: string): string {
  return line.replace(LINE_START, '\\').replace(NUMBERED, '$1\\')
}

/** Escapes a text that is not formatted, such as a title, as one line. */
export function escapeTitle(text: string): string {
  return escapeLine(escapeText(oneLine(text)))
}

/** Returns text with single spaces and without control characters. */
export function oneLine(text: string): string {
  return withoutControls(text).replace(/\s+/g, ' ').trim()
}

/** Removes control characters, except tabs and line breaks. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, '')
}

/** Formats text as a code span; the delimiters are longer than any run of backticks inside. */
export function codeSpan(text: string): string {
  const delimiter = '`'.repeat(longestRun(text) + 1)
  const space = /^`|`$/.test(text) ? ' ' : ''
  return `${delimiter}${space}${text}${space}${delimiter}`
}

/** Returns a fence that is longer than any run of backticks in a code block. */
export function fenceFor(code: string): string {
  return '`'.repeat(Math.max(3, longestRun(code) + 1))
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, { length }) => Math.max(longest, length), 0)
}

/**
 * Returns an address for a link or image; undefined if it has a scheme that could run something.
 *
 * @param base address of the page's `base` element
 */
export function linkTo(address: string, base: string | undefined): string | undefined {
  // Browsers ignore these characters, so they must not hide a scheme.
  const plain = withoutControls(address)
    .replace(/[\t\r\n]/g, '')
    .trim()
  const from = base === undefined ? '' : withoutControls(base).replace(/\s/g, '')
  const resolved = /^(?:#|$)/.test(plain) ? plain : resolve(plain, from)
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(resolved) ?? []
  if (scheme !== undefined && !SCHEMES.has(scheme.toLowerCase())) return undefined
  return resolved.replace(UNSAFE, encode).replace(WHOLE_REFERENCE, String.raw`\&`)
}

/** Resolves an address against a base that may be relative itself. */
function resolve(address: string, base: string): string {
  if (base === '' || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address)) return address
  if (URL.canParse(address, base)) return new URL(address, base).href
  return address.startsWith('/') ? address : base.replace(/[^/]*$/, '') + address
}

function encode(character: string): string {
  return encodeURIComponent(character).replace(
    /[()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
