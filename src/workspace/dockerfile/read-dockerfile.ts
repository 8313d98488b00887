import { splitWords } from './split-words.ts'

/** An instruction of a Dockerfile. Source: https://docs.docker.com/reference/dockerfile/ */
export interface Instruction {
  /** In capitals, such as `RUN`. */
  readonly name: string
  /** Its options in their order, such as `--from=base` as `from` and `base`. */
  readonly flags: readonly (readonly [name: string, value: string])[]
  /** The text after name and options, without line breaks and comments. */
  readonly text: string
  /** The here-documents of RUN in their order. */
  readonly documents: readonly HereDocument[]
  /** Number of its first line, from 1. */
  readonly line: number
}

/** A here-document, whose lines follow the instruction. */
interface HereDocument {
  /** Word that introduces it, such as `<<-'EOF'`. */
  readonly word: string
  readonly delimiter: string
  /** Its lines without the delimiter; those of `<<-` without leading tabs. */
  readonly text: string
}

/** The instructions from one FROM to the next. */
export interface Stage {
  /** Its name in lower case, if it has one. */
  readonly name: string | undefined
  /** The image or stage that it begins with, in which arguments may be named. */
  readonly from: string
  readonly instructions: readonly Instruction[]
  readonly line: number
}

/** A Dockerfile that has been read. */
export interface Dockerfile {
  /** `\` or a backtick. */
  readonly escape: string
  /** The ARG instructions before the first FROM. */
  readonly arguments: readonly Instruction[]
  readonly stages: readonly Stage[]
}

const MAX_INSTRUCTIONS = 500
const MAX_STAGES = 64
const MAX_FLAGS = 32
const MAX_ARGUMENTS = 100
const STAGE_NAME = /^[a-z][a-z\d._-]*$/i
const DIRECTIVE = /^#\s*([A-Za-z][\w-]*)\s*=(.*)$/
const FLAG = /^--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)/
const DOCUMENT = /^\d*<<(-?)(["']?)([^<\s"'\\]+)\2$/

/** Reads a Dockerfile as BuildKit does. @throws Error with a sentence if it is not valid */
export function readDockerfile(text: string): Dockerfile {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const escape = escapeOf(lines)
  const instructions: Instruction[] = []
  for (const each of instructionsOf(lines, escape)) {
    instructions.push(each)
    if (instructions.length > MAX_INSTRUCTIONS)
      throw new Error(`it has more than ${MAX_INSTRUCTIONS} instructions`)
  }
  const declared = instructions.flatMap((each) => (each.name === 'ARG' ? splitWords(each.text, escape) : []))
  if (declared.length > MAX_ARGUMENTS) throw new Error(`it has more than ${MAX_ARGUMENTS} arguments`)
  const first = instructions.findIndex(({ name }) => name === 'FROM')
  if (first === -1) throw new Error('it has no FROM')
  const before = instructions.slice(0, first)
  const other = before.find(({ name }) => name !== 'ARG')
  if (other !== undefined) throw new Error(`line ${other.line}: ${other.name} is before the first FROM`)
  const stages: { name: string | undefined; from: string; instructions: Instruction[]; line: number }[] = []
  for (const each of instructions.slice(first)) {
    if (each.name === 'FROM') stages.push({ ...stageOf(each), instructions: [], line: each.line })
    else stages.at(-1)?.instructions.push(each)
  }
  if (stages.length > MAX_STAGES) throw new Error(`it has more than ${MAX_STAGES} stages`)
  return { escape, arguments: before, stages }
}

const isComment = (line: string): boolean => line.trimStart().startsWith('#')

/** Reads the directive `escape` in the comments at the beginning. */
function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const [, name, rest = ''] = DIRECTIVE.exec(line.trim()) ?? []
    if (name === undefined) return '\\'
    if (name.toLowerCase() !== 'escape') continue
    const value = rest.trim()
    if (value === '\\' || value === '`') return value
    throw new Error(`its escape character is ${value.slice(0, 40)}, not \\ or a backtick`)
  }
  return '\\'
}

/** Only blanks and tabs may follow the escape character. */
function trimmedEnd(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end -= 1
  return line.slice(0, end)
}

/** Whether a line continues on the next one: two escape characters at its end do not. */
export function isContinued(line: string, escape: string): boolean {
  const end = trimmedEnd(line)
  return end.endsWith(escape) && (end.length === 1 || end.at(-2) !== escape)
}

function* instructionsOf(lines: readonly string[], escape: string): Generator<Instruction> {
  for (let at = 0; at < lines.length; at += 1) {
    if (isComment(lines[at] ?? '') || lines[at]?.trim() === '') continue
    const line = at + 1
    const parts: string[] = []
    for (; at < lines.length; at += 1) {
      const each = lines[at] ?? ''
      // Comments and empty lines between continued lines are left out.
      if (parts.length > 0 && (isComment(each) || each.trim() === '')) continue
      const continues = isContinued(each, escape)
      parts.push(continues ? trimmedEnd(each).slice(0, -1) : each)
      if (!continues) break
    }
    const instruction = instructionOf(parts.join('').trim(), line)
    const documents: HereDocument[] = []
    if (instruction.name === 'RUN' && instruction.text.includes('<<')) {
      for (const word of splitWords(instruction.text, escape)) {
        const [, dash, , delimiter] = DOCUMENT.exec(word) ?? []
        if (delimiter === undefined) continue
        const { text, end } = documentFrom(lines, at + 1, delimiter, dash === '-')
        documents.push({ word, delimiter, text })
        at = end
      }
    }
    yield { ...instruction, documents }
  }
}

function instructionOf(text: string, line: number): Instruction {
  const [, name = '', rest = ''] = /^(\S+)\s*([^]*)$/.exec(text) ?? []
  const flags: [string, string][] = []
  let after = rest
  for (let found = FLAG.exec(after); found !== null; found = FLAG.exec(after)) {
    const [all, flag = '', value = ''] = found
    if (/["'\\`]/.test(value))
      throw new Error(`line ${line}: --${flag} has a quote or an escape character, which is not supported`)
    flags.push([flag, value])
    if (flags.length > MAX_FLAGS) throw new Error(`line ${line}: it has more than ${MAX_FLAGS} options`)
    after = after.slice(all.length)
  }
  return { name: name.toUpperCase(), flags, text: after, documents: [], line }
}

/** Returns the text of a here-document, and the index of the line that ends it. */
function documentFrom(
  lines: readonly string[],
  start: number,
  delimiter: string,
  isIndented: boolean,
): { readonly text: string; readonly end: number } {
  const unindented = (line: string) => (isIndented ? line.replace(/^\t+/, '') : line)
  const body: string[] = []
  for (let end = start; end < lines.length; end += 1) {
    const line = unindented(lines[end] ?? '')
    if (line === delimiter) return { text: body.join(''), end }
    body.push(`${line}\n`)
  }
  throw new Error(`line ${start}: the here-document has no closing ${delimiter.slice(0, 40)}`)
}

function stageOf({ text, line, flags }: Instruction): Pick<Stage, 'name' | 'from'> {
  const [from, as, name, ...others] = text.split(/\s+/)
  const isNamed = as?.toUpperCase() === 'AS' && name !== undefined && STAGE_NAME.test(name)
  if (from === undefined || from === '' || (as !== undefined && !isNamed) || others.length > 0)
    throw new Error(`line ${line}: FROM is not "FROM IMAGE" or "FROM IMAGE AS NAME"`)
  if (!/^[\w./:@${}+"'-]+$/.test(from))
    throw new Error(`line ${line}: FROM ${from.slice(0, 80)} is not supported`)
  const other = flags.find(
    ([flag, value]) => flag !== 'platform' || !/^\$\{?(?:BUILD|TARGET)PLATFORM\}?$/.test(value),
  )
  if (other !== undefined)
    throw new Error(`line ${line}: FROM --${other[0]}=${other[1].slice(0, 40)} is not supported`)
  return { name: name?.toLowerCase(), from }
}
