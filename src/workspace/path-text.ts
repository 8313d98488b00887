import { isUtf8 } from 'node:buffer'
import { fault } from './errors.ts'

/**
 * Names of files are bytes, of which only some are UTF-8. Inside the server, a path is a text in which each byte that is
 * not part of valid UTF-8 is a lone surrogate, U+DC80 to U+DCFF, as in Python's `os.fsdecode` (PEP 383). A valid path is
 * an ordinary text, and "/", "." and NUL are never escaped, so that checks of the text are checks of the bytes.
 */

/** Runs of UTF-8 sequences in bytes read as Latin-1, or a single byte that begins none. Source: RFC 3629, section 4. */
const SEQUENCE =
  /(?:[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]|[\xE1-\xEC\xEE\xEF][\x80-\xBF]{2}|\xED[\x80-\x9F][\x80-\xBF]|\xF0[\x90-\xBF][\x80-\xBF]{2}|[\xF1-\xF3][\x80-\xBF]{3}|\xF4[\x80-\x8F][\x80-\xBF]{2})+|[\x80-\xFF]/g
/** With the flag `u`, a surrogate of a pair does not match. */
const ESCAPED_BYTE = /([\uDC80-\uDCFF])/u
const ESCAPE_BASE = 0xdc00

/** Returns the text of a path's bytes. */
export function textFromBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  return bytes
    .toString('latin1')
    .replace(SEQUENCE, (sequence) =>
      sequence.length === 1
        ? String.fromCharCode(ESCAPE_BASE + sequence.charCodeAt(0))
        : Buffer.from(sequence, 'latin1').toString(),
    )
}

/** Returns the bytes of a path's text. */
export function bytesFromText(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text)
  const parts = text
    .split(ESCAPED_BYTE)
    .map((part) =>
      ESCAPED_BYTE.test(part) ? Buffer.of(part.charCodeAt(0) - ESCAPE_BASE) : Buffer.from(part),
    )
  return Buffer.concat(parts)
}

/** Returns a path for people: bytes that are not UTF-8 are shown as U+FFFD. */
export function shownPath(text: string): string {
  return bytesFromText(text).toString()
}

/** Returns the percent-encoded form of a path that is not UTF-8, which `shownPath` does not identify; else undefined. */
export function encodedPath(text: string): string | undefined {
  if (text.isWellFormed()) return undefined
  return bytesFromText(text)
    .toString('latin1')
    .replaceAll(
      /[^A-Za-z0-9\-._~/]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )
}

/** Decodes the percent-encoded form of a path. @throws INVALID_REQUEST for a "%" without two hexadecimal digits */
export function decodePath(encoded: string): string {
  if (/%(?![0-9a-f]{2})/i.test(encoded))
    throw fault(
      'INVALID_REQUEST',
      'the encoded path has a "%" without two hexadecimal digits; send "%" as "%25"',
    )
  return decodeUrlPart(Buffer.from(encoded).toString('latin1'))
}

/** Decodes a part of a URL, whose characters are bytes; a "%" without two hexadecimal digits is one itself. */
export function decodeUrlPart(part: string): string {
  const bytes = part.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
  return textFromBytes(Buffer.from(bytes, 'latin1'))
}

/**
 * Decodes the first parameters of a shell script, whose number follows, from escapes of `printf`. The period keeps line
 * feeds at their end. What the script starts inherits the locale as it was.
 */
const DECODE = `_ws_locale=\${LC_ALL-unset}
LC_ALL=C
_ws_left=$#
while [ "$_ws_left" -gt 0 ]; do
  _ws_text=$1
  if [ "$_ws_encoded" -gt 0 ]; then
    _ws_text=$(printf -- "$1.")
    _ws_text=\${_ws_text%.}
  fi
  set -- "$@" "$_ws_text"
  shift
  _ws_left=$((_ws_left - 1)) _ws_encoded=$((_ws_encoded - 1))
done
if [ "$_ws_locale" = unset ]; then unset LC_ALL; else LC_ALL=$_ws_locale; fi
`

/**
 * Returns the command line of a shell script with paths as its first arguments. Engines and agents accept arguments in
 * UTF-8 only, so other paths are escaped and decoded by the shell.
 */
export function scriptWithPaths(
  script: string,
  paths: readonly string[],
  others: readonly string[] = [],
): readonly [string, ...string[]] {
  const isPlain = paths.every((path) => path.isWellFormed())
  const text = isPlain ? script : `_ws_encoded=${paths.length}\n${DECODE}${script}`
  return ['/bin/sh', '-c', text, 'sh', ...(isPlain ? paths : paths.map(printfEscaped)), ...others]
}

/** Returns the command line that runs a program in a directory; a shell that cannot change to it prints why. */
export function inDirectory(directory: string, argv: readonly string[]): readonly string[] {
  return scriptWithPaths('cd -- "$1" || exit 126; shift; exec "$@"', [directory], argv)
}

function printfEscaped(text: string): string {
  return bytesFromText(text)
    .toString('latin1')
    .replaceAll(/[^A-Za-z0-9_/]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
}
