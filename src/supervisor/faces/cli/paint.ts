import { printable } from '../../../lib/cli/table.ts'
import { withoutEscapes } from '../../log/log-line.ts'

const COLOURS = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94]
const RED = 31

/** Whether standard output is a terminal that shows colors. */
export function isColoured(): boolean {
  return process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === ''
}

function paint(text: string, colour: number): string {
  return isColoured() ? `\u001b[${colour}m${text}\u001b[0m` : text
}

interface Shown {
  readonly process: string
  readonly stream: string
  readonly line: string
}

/** Creates a painter that prefixes lines with their process, each in its own color. */
export function createLinePainter(): (entry: Shown) => string {
  const colours = new Map<string, number>()
  let width = 0
  return ({ process, stream, line }) => {
    const colour = colours.get(process) ?? COLOURS[colours.size % COLOURS.length] ?? RED
    colours.set(process, colour)
    width = Math.max(width, process.length)
    const mark = paint('|', stream === 'stderr' ? RED : colour)
    return `${paint(process.padEnd(width), colour)} ${mark} ${shownLine(line)}`
  }
}

/** Removes control characters of a program's line, except tabs (threat H10). */
export function shownLine(line: string): string {
  return withoutEscapes(line).split('\t').map(printable).join('\t')
}
