import { isUtf8 } from 'node:buffer'

/** A source text is no larger. */
export const MAX_SOURCE_BYTES = 2 ** 23

const LANGUAGES = {
  '.java': 'java',
  '.kt': 'kotlin',
  '.kts': 'kotlin',
  '.groovy': 'groovy',
  '.scala': 'scala',
} as const
export type Language = (typeof LANGUAGES)[keyof typeof LANGUAGES]

/** Those that can be asked for. */
export const SHOWN_LANGUAGES = ['java', 'kotlin', 'groovy', 'scala'] as const satisfies readonly Language[]

/** By the end of a file's name; undefined for what is no source of a JVM language that is known here. */
export function languageOf(file: string): Language | undefined {
  const [, end] = Object.entries(LANGUAGES).find(([suffix]) => file.endsWith(suffix)) ?? []
  return end
}

/** Text of a file whose encoding nobody tells: UTF-8, else Latin-1, which every byte is. */
export function decodeSource(bytes: Uint8Array): string {
  const text = isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : Buffer.from(bytes).toString('latin1')
  return text.startsWith('\u{feff}') ? text.slice(1) : text
}
