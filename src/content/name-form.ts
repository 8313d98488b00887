// oxlint-disable-next-line no-control-regex -- the range of ASCII begins with them
const ASCII = /^[\u0000-\u007f]*$/

/** Whether a path has one form in Unicode. */
export function isAscii(path: string): boolean {
  return ASCII.test(path)
}

/**
 * Returns a path in the form in which paths are compared: NFC. macOS, browsers and editors write the same letter as
 * one character or as two.
 */
export function comparable(path: string): string {
  return isAscii(path) ? path : path.normalize('NFC')
}

/** Whether a text is in the form in which paths are compared. */
export function isComparable(text: string): boolean {
  return comparable(text) === text
}

/** Returns a path as it is and in both normal forms of Unicode, for stores that can be asked for exact names alone. */
export function formsOf(path: string): readonly string[] {
  if (isAscii(path)) return [path]
  return [...new Set([path, path.normalize('NFC'), path.normalize('NFD')])]
}
