import { isUtf8 } from 'node:buffer'

/** Maximum size of a source text. */
export const MAX_SOURCE_BYTES = 2 ** 23

const LANGUAGES = {
  '.java': 'java',
  '.kt': 'kotlin',
  '.kts': 'kotlin',
  '.groovy': 'groovy',
  '.scala': 'scala',
} as const
/** Language of a source text. */
export type Language = (typeof LANGUAGES)[keyof typeof LANGUAGES]

/** Languages that can be requested. */
export const SHOWN_LANGUAGES = ['java', 'kotlin', 'groovy', 'scala'] as const satisfies readonly Language[]

/** Returns the language of a source file by its extension, or undefined if unknown. */
export function languageOf(file: string): Language | undefined {
  const [, end] = Object.entries(LANGUAGES).find(([suffix]) => file.endsWith(suffix)) ?? []
  return end
}

/** Decodes a file of unknown encoding: as UTF-8 if valid, else as Latin-1, in which every byte is valid. */
export function decodeSource(bytes: Uint8Array): string {
  const text = isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : Buffer.from(bytes).toString('latin1')
  return text.startsWith('\u{feff}') ? text.slice(1) : text
}
