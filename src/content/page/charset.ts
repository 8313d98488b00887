import { isUtf8 } from 'node:buffer'

/** Bytes in which a page may declare its character set outside its head. */
const PRESCAN_BYTES = 1_024
/** Bytes at the start of an object that decide about its character set, if it is not in UTF-8. */
const HEAD_BYTES = 16_384
/** Encoding that browsers assume in most languages. */
export const ASSUMED_CHARSET = 'windows-1252'

const ATTRIBUTE = /[\s/]*([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?/g
/** A comment, a tag with its attributes, or other markup. */
const MARKUP = new RegExp(
  `<!--(?:>|->|[\\s\\S]*?(?:-->|$))|<(/?[a-z][^\\s/>]*)((?:${ATTRIBUTE.source.replaceAll(/\((?!\?)/g, '(?:')})*)|<[!/?][^>]*(?:>|$)`,
  'gi',
)
const IN_CONTENT = /charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"'][^\s;]*))/i
const IN_XML = /^<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]*)["']/
const IN_CSS = /^@charset "([^"]*)";/

/** Parameter of a media type: in quotes, or up to the next parameter. */
const PARAMETER = /;\s*charset\s*=\s*(?:"([^"]*)"?|([^;]*))/i

/** Returns the name of the encoding of a label, as browsers know them; undefined for an unknown one. */
export function encodingOf(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  try {
    return new TextDecoder(label).encoding
  } catch {
    // Browsers ignore unknown labels.
    return undefined
  }
}

/** Returns the character set that a media type names, as it is written. */
export function labelOf(mediaType: string): string | undefined {
  return PARAMETER.exec(mediaType)?.slice(1).find(isGiven)
}

/** Returns a media type with another character set; undefined removes it. */
export function withCharset(mediaType: string, charset: string | undefined): string {
  const plain = mediaType.replace(PARAMETER, '')
  return charset === undefined ? plain : `${plain}; charset=${charset}`
}

/**
 * Returns the encoding of a text as browsers do: from its byte order mark, from the media type's parameter, from what
 * it declares, else UTF-8 if it is valid.
 *
 * @param mediaType with its parameters, in any case
 * @param isWhole whether the bytes are the whole text, not only its beginning
 */
export function charsetOf(bytes: Uint8Array, mediaType: string, isWhole = true): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).toString(
    'latin1',
  )
  const found =
    markedCharset(head) ??
    encodingOf(labelOf(mediaType)) ??
    utf16OfXml(head) ??
    declaredCharset(head, mediaType)
  if (found !== undefined) return found
  return isUtf8(isWhole ? bytes : bytes.subarray(0, wholeCharacters(bytes))) ? 'utf-8' : undefined
}

function markedCharset(head: string): string | undefined {
  if (head.startsWith('\xef\xbb\xbf')) return 'utf-8'
  if (head.startsWith('\xff\xfe')) return 'utf-16le'
  return head.startsWith('\xfe\xff') ? 'utf-16be' : undefined
}

function utf16OfXml(head: string): string | undefined {
  if (head.startsWith('<\0?\0x\0')) return 'utf-16le'
  return head.startsWith('\0<\0?\0x') ? 'utf-16be' : undefined
}

function declaredCharset(head: string, mediaType: string): string | undefined {
  if (/^text\/html\b/i.test(mediaType)) return metaCharset(head) ?? asAscii(IN_XML.exec(head)?.[1])
  if (/^text\/css\b/i.test(mediaType)) return asAscii(IN_CSS.exec(head)?.[1])
  return /[/+]xml\b/i.test(mediaType) ? asAscii(IN_XML.exec(head)?.[1]) : undefined
}

/** Returns the encoding that a `meta` element declares, by the prescan of the HTML standard. */
function metaCharset(head: string): string | undefined {
  for (const { 1: tag, 2: attributes = '', index } of head.matchAll(MARKUP)) {
    const name = tag?.toLowerCase()
    if (index >= PRESCAN_BYTES && (name === 'body' || name === '/head')) return undefined
    if (name !== 'meta') continue
    const { charset, content = '', ...others } = parseAttributes(attributes)
    const isPragma = others['http-equiv']?.toLowerCase() === 'content-type'
    const label = charset ?? (isPragma ? IN_CONTENT.exec(content)?.slice(1).find(isGiven) : undefined)
    const found = asAscii(label)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the attributes of a tag by name; the first of a name counts. */
function parseAttributes(text: string): Readonly<Record<string, string | undefined>> {
  const found = new Map<string, string>()
  for (const [, name = '', ...values] of text.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase()
    if (!found.has(key)) found.set(key, values.find(isGiven) ?? '')
  }
  return Object.fromEntries(found)
}

function isGiven(value: string | undefined): boolean {
  return value !== undefined
}

/** Returns the encoding of a label that was read as ASCII, which excludes UTF-16. */
function asAscii(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  if (label.trim().toLowerCase() === 'x-user-defined') return ASSUMED_CHARSET
  const encoding = encodingOf(label)
  return encoding?.startsWith('utf-16') === true ? 'utf-8' : encoding
}

/** Returns the number of bytes before a character that may be cut at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  let end = bytes.length
  while (end > bytes.length - 3 && end > 0 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--
  return end > 0 && (bytes[end - 1] ?? 0) >= 0xc0 ? end - 1 : bytes.length
}
