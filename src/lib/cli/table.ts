/** Control characters, which would act on the reader's terminal (threat H10). */
// oxlint-disable-next-line no-control-regex -- it matches control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

/** Replaces control characters, so that a terminal only displays the text. */
export function printable(text: string): string {
  return text.replace(CONTROL, '�')
}

/** Formats rows under headings in aligned columns, separated by two spaces. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows].map((row) => row.map(printable))
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats one record, one line per field. */
export function formatRecord(fields: readonly (readonly [string, string])[]): string {
  const width = Math.max(...fields.map(([label]) => label.length))
  return fields.map(([label, value]) => `${label.padEnd(width)}  ${printable(value)}`).join('\n')
}
