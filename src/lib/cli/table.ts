/** Terminal control sequences in data would act on the reader's terminal (threat H10). */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

/** Text that a terminal shows and does nothing else with. */
export function printable(text: string): string {
  return text.replace(CONTROL, '�')
}

/** Rows under headings, columns aligned, two blanks between them. */
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

/** One record, a line a field. */
export function formatRecord(fields: readonly (readonly [string, string])[]): string {
  const width = Math.max(...fields.map(([label]) => label.length))
  return fields.map(([label, value]) => `${label.padEnd(width)}  ${printable(value)}`).join('\n')
}
