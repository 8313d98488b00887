import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { waitFor } from './wait-for.ts'

const SETTLED_WITHIN_MS = 60_000

/** A fenced code block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** The nearest heading above it, of any level; empty if there is none. */
  readonly heading: string
  /** The file name in its first line, a comment. */
  readonly file: string | undefined
}

interface Step {
  readonly command: string
  readonly output: readonly string[]
}

/** Where the commands of a page run, and how the environment differs from the page. */
export interface Stage {
  readonly cwd: string
  readonly environment: NodeJS.ProcessEnv
  /** Texts of the page and their replacements. */
  readonly stands: readonly (readonly [said: string, here: string])[]
  /** Additional patterns that vary between runs, and their placeholders on both sides. */
  readonly varies?: readonly (readonly [what: RegExp, name: string])[]
  /** Lines of the page that do not appear here. */
  readonly lacks?: RegExp
  /** Lines that libraries print here only because this machine is slow. */
  readonly slow?: RegExp
  /** Commands whose output is eventually correct: they are repeated until it matches. */
  readonly settles?: RegExp
  /** Commands that do not exit: they run until the test ends. */
  readonly goesOn?: readonly string[]
}

/** Returns the fenced code blocks of a page, in order. */
export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(packageRoot, page), 'utf8')
  let heading = ''
  return [...text.matchAll(/^#+ ([^\n]*)|^```(\w*)\n(.*?)^```$/gms)].flatMap(
    ([, title, language, body = '']) => {
      if (title !== undefined) {
        heading = title
        return []
      }
      const [, file] = /^(?:#|\/\/|<!--) ([~\w./-]+)(?: -->)?\n/.exec(body) ?? []
      return [{ language: language ?? '', text: body, heading, file }]
    },
  )
}

/** Writes a block to its file. */
export function writeBlock({ file = '', text }: Block, { cwd, environment, stands }: Stage): string {
  const path = file.startsWith('~/') ? join(environment['HOME'] ?? '', file.slice(2)) : join(cwd, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, replaced(text, stands))
  return path
}

/** Runs the commands of a transcript on a terminal, like a reader, and compares their output with it. */
export async function runTranscript({ text }: Block, stage: Stage): Promise<number> {
  const steps = stepsOf(text)
  for (const { command, output } of steps) {
    const lines = output.filter((line) => stage.lacks?.test(line) !== true)
    const expected = pattern(lines.map((line) => withoutWhatVaries(line, stage)))
    const line = replaced(command, stage.stands)
    if (stage.goesOn?.includes(command)) {
      await startAndSee(line, expected, stage)
      continue
    }
    let ran = await onTerminal(line, stage)
    const untilMs = performance.now() + SETTLED_WITHIN_MS
    while (stage.settles?.test(command) === true && !expected.test(ran.printed)) {
      if (performance.now() > untilMs) break
      await setTimeout(200)
      ran = await onTerminal(line, stage)
    }
    expect(ran.printed, command).toMatch(expected)
    expect(ran.status, command).toBe(0)
  }
  return steps.length
}

async function onTerminal(line: string, stage: Stage) {
  const { environment, cwd } = stage
  const { status, stdout } = await run('script', ['-qec', line, '/dev/null'], { environment, cwd })
  return { status, printed: asPrinted(stdout, stage) }
}

async function startAndSee(line: string, expected: RegExp, stage: Stage): Promise<void> {
  const { environment, cwd } = stage
  const child = spawn('/bin/sh', ['-c', `exec ${line}`], {
    env: environment,
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  }
  await waitFor(`the output of ${line}`, () => Promise.resolve(expected.test(asPrinted(said, stage)))).catch(
    (cause: unknown) => {
      throw new Error(`it said: ${said}`, { cause })
    },
  )
}

/** Joins a command that is continued over several lines with backslashes. */
function stepsOf(text: string): readonly Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [, command = '', rest = ''] = /^((?:[^\n]*\\\n)*[^\n]*)\n?(.*)$/s.exec(part.trimEnd()) ?? []
      return { command, output: rest === '' ? [] : rest.split('\n') }
    })
}

function asPrinted(said: string, stage: Stage): string {
  const back = stage.stands.map(([page, here]) => [here, page] as const)
  const plain = stripVTControlCharacters(said.replaceAll('\r\n', '\n'))
  // A carriage return begins the line again, as progress does.
  const lines = replaced(plain, back)
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
  // The last line has no line ending if the program printed none.
  if (lines.at(-1) === '') lines.pop()
  const shown = lines.filter((line) => stage.slow?.test(line) !== true)
  return shown.map((line) => `${withoutWhatVaries(line, stage)}\n`).join('')
}

function replaced(text: string, pairs: Stage['stands']): string {
  return pairs.reduce((all, [from, to]) => all.replaceAll(from, to), text)
}

/** Replaces IDs, times, ages and column widths, which vary between runs. */
function withoutWhatVaries(line: string, { varies = [] }: Stage): string {
  const plain = line
    .replace(/\b[0-9a-f]{64}\b/, 'ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME')
    .replace(/ \d+[smhd] /, ' AGE ')
    .replaceAll(/ {2,}/g, '  ')
    .trimEnd()
  return varies.reduce((all, [what, name]) => all.replace(what, name), plain)
}

/** Compares lines; a line `…` matches any lines. */
function pattern(lines: readonly string[]): RegExp {
  const parts = lines.map((line) =>
    line === '…' ? '(?:.*\\n)*?' : `${line.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}\\n`,
  )
  return new RegExp(`^${parts.join('')}$`)
}
