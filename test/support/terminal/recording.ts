import type { IBufferCell, Terminal } from '@xterm/headless'

/** Size of a character in pixels. */
const WIDTH = 8.4
const HEIGHT = 18
const MARGIN = 10

const BACKGROUND = '#16181d'
const FOREGROUND = '#d6d9df'
/** The first eight colors of a terminal, then the bright ones. */
const PALETTE =
  '#16181d #ff7b72 #7ee787 #e3b341 #79c0ff #d2a8ff #76e3ea #d6d9df ' +
  '#6e7681 #ffa198 #aff5b4 #f8e3a1 #a5d6ff #e2c5ff #b3f0ff #ffffff'

interface Run {
  readonly column: number
  readonly style: string
  readonly isInverse: boolean
  text: string
  columns: number
}

/** Returns what a terminal shows as elements of an SVG. */
export function frameOf(terminal: Terminal): string {
  const { active } = terminal.buffer
  return Array.from({ length: terminal.rows }, (_, row) => {
    const line = active.getLine(active.viewportY + row)
    const runs: Run[] = []
    for (let column = 0; column < terminal.cols; column++) {
      const cell = line?.getCell(column)
      // The second column of a wide character has no width.
      if (cell === undefined || cell.getWidth() === 0) continue
      const style = styleOf(cell)
      const isInverse = cell.isInverse() !== 0
      const last = runs.at(-1)
      if (last?.style === style) {
        last.text += cell.getChars() || ' '
        last.columns += cell.getWidth()
      } else runs.push({ column, style, isInverse, text: cell.getChars() || ' ', columns: cell.getWidth() })
    }
    return runs.map((run) => elementOf(run, row)).join('')
  }).join('\n')
}

/** Returns an SVG that shows the frames one after the other, again and again. */
export function recordingOf(
  frames: readonly string[],
  { cols, rows }: Terminal,
  secondsPerFrame: number,
): string {
  const [width, height] = [cols * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN]
  const total = frames.length * secondsPerFrame
  const groups = frames.map(
    (frame, at) =>
      `<g class="frame" style="animation-delay:${at * secondsPerFrame - total}s">\n${frame}\n</g>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>
text{font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre;fill:${FOREGROUND}}
.frame{visibility:hidden;animation:show ${total}s step-end infinite}
@keyframes show{0%{visibility:visible}${(100 / frames.length).toFixed(3)}%{visibility:hidden}}
@media(prefers-reduced-motion:reduce){.frame{animation:none}.frame:nth-of-type(1){visibility:visible}}
</style>
<rect width="${width}" height="${height}" rx="6" fill="${BACKGROUND}"/>
${groups.join('\n')}
</svg>
`
}

function elementOf({ column, style, isInverse, text, columns }: Run, row: number): string {
  const [x, y] = [MARGIN + column * WIDTH, MARGIN + row * HEIGHT]
  const width = columns * WIDTH
  const back = isInverse
    ? `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${HEIGHT}" fill="${FOREGROUND}"/>`
    : ''
  const shown = text.trimEnd()
  if (shown === '') return back
  // The length keeps columns aligned with any font.
  const length = ((columns - (text.length - shown.length)) * WIDTH).toFixed(1)
  const place = `x="${x.toFixed(1)}" y="${y + HEIGHT - 5}" textLength="${length}"`
  return `${back}<text ${place}${style === '' ? '' : ` style="${style}"`} xml:space="preserve">${escaped(shown)}</text>`
}

function styleOf(cell: IBufferCell): string {
  const color = cell.isInverse()
    ? BACKGROUND
    : cell.isFgPalette()
      ? PALETTE.split(' ')[cell.getFgColor()]
      : undefined
  return [
    color === undefined ? '' : `fill:${color}`,
    cell.isBold() ? 'font-weight:bold' : '',
    cell.isDim() ? 'opacity:.6' : '',
    cell.isUnderline() ? 'text-decoration:underline' : '',
  ]
    .filter((part) => part !== '')
    .join(';')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
