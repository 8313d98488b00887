/** Names as bytes (`latin1`) that decoding, a shell, an option parser or a line reader could change. */
export const ODD_BYTES: readonly string[] = [
  'caf\xE9.txt',
  'caf\xEA.txt',
  utf8('caf\uFFFD.txt'),
  // Shift_JIS, in which the second byte of a character may be a backslash.
  '-\x93\xFA\x83\x5C',
  '%E9',
  // Lone bytes of sequences, of which dash uses some for itself; quotes and patterns; and line feeds.
  '\n\x80\x81\x82\x83\x84\x85\x86\x87\x88\xBF\xF0\x9F\x98\'"$HOME`id`*+&=#? \n\n',
]

/** More of them, which would take seconds. */
export const MORE_ODD_BYTES: readonly string[] = [
  'plain.txt',
  utf8('é 日本 😀'),
  `${utf8('é')}\xE9`,
  'lone \x80\xBF',
  'truncated \xF0\x9F\x98',
  'overlong \xC0\xAE\xC0\xAE',
  'surrogate \xED\xA0\x80',
  '\xFF\xFE',
  '\xE9%E9',
  '%',
  '\xE9\n',
  '--help=\xE9',
  '\xE9\\',
  '\\351',
]

/** Returns the bytes of a name as percent-encoded text, with every byte escaped. */
export function escaped(name: string): string {
  return Buffer.from(name, 'latin1').toString('hex').replaceAll(/../g, '%$&')
}

/** Returns the bytes (`latin1`) of a name or path in an answer. */
export function answeredBytes(text: string, encoded: string | undefined): string {
  if (encoded === undefined) return utf8(text)
  return encoded.replaceAll(/%([0-9A-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
}

function utf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}
