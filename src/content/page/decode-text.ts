import { isUtf8 } from 'node:buffer'
// Node lacks a third of the pairs of windows-949 (euc-kr) and some of Big5; 22.13 decodes windows-1252 as Latin-1.
import { TextDecoder as StandardDecoder } from '@exodus/bytes/encoding.js'
import { ASSUMED_CHARSET, charsetOf } from './charset.ts'

/** Text of a file. */
export interface DecodedText {
  readonly text: string
  /** Name of the encoding that the file declares or is recognized by; undefined if there is none. */
  readonly charset: string | undefined
  /** Whether the bytes are not in that encoding, or it is unknown. */
  readonly isDoubtful: boolean
}

/** Decodes a text as browsers do. */
export function decodeText(bytes: Uint8Array, mediaType: string): DecodedText {
  const charset = charsetOf(bytes, mediaType)
  const text = decode(bytes, charset)
  const isUtf = charset?.startsWith('utf-') === true
  const isWrong = isUtf ? charset === 'utf-8' && !isUtf8(bytes) : text.includes('\ufffd')
  // Text in UTF-8 is hardly ever valid by chance.
  const isUndeclared = !isUtf && isUtf8(bytes) && bytes.some((byte) => byte >= 0x80)
  return { text, charset, isDoubtful: charset === undefined || isWrong || isUndeclared }
}

/** Decodes a text in an encoding; without one, in the encoding that browsers assume in most languages. */
export function decode(bytes: Uint8Array, charset = ASSUMED_CHARSET): string {
  return new StandardDecoder(charset).decode(bytes)
}
