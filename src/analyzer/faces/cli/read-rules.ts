import { existsSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Document, LineCounter } from 'yaml'
import { checkSettings } from '../../../lib/config/check.ts'
import { yaml } from '../../../lib/config/yaml.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { readUntrusted } from '../../../lib/fs/read-untrusted.ts'
import { fault } from '../../errors.ts'
import { MAX_BASELINE_BYTES } from '../../query/rules/baseline.ts'
import { ruleProblems, type RuleSet, ruleSetSchema } from '../../query/rules/rule-set.ts'

/** Rules file in the root of a project. */
const RULES_FILE = 'analyzer-rules.yml'
const BASELINE_SUFFIX = '.baseline'
const MAX_RULES_BYTES = 256 * 1024

/** Returns the baseline that belongs to a rules file. */
export function baselineFileOf(rulesFile: string): string {
  return rulesFile.replace(/\.ya?ml$/, '') + BASELINE_SUFFIX
}

/** Returns the rules file of a project, or the given one. @throws BAD_REQUEST when there is none */
export function findRulesFile(root: string, given: string | undefined): string {
  const file = given ?? join(root, RULES_FILE)
  if (existsSync(file)) return file
  throw fault(
    'BAD_REQUEST',
    `${file} does not exist; write one, or let "analyzer rules infer --output ${shownPath(file)}" propose one`,
  )
}

/**
 * Reads a rules file.
 *
 * @throws BAD_REQUEST with one line per mistake that names the file and line
 */
export function readRules(file: string): RuleSet {
  const shown = shownPath(file)
  const text = readBounded(file, MAX_RULES_BYTES)
  const { LineCounter: Counter, parseDocument } = yaml()
  const lines = new Counter()
  const document = parseDocument(text, { lineCounter: lines, stringKeys: true })
  const [error] = document.errors
  if (error !== undefined) {
    const line = error.linePos?.[0].line ?? 1
    throw fault('BAD_REQUEST', `${shown}:${line}: is not valid YAML: ${firstLine(error.message)}`, error)
  }
  const placeOf = (path: readonly string[]): string => `${shown}:${lineOf(document, lines, path)}`
  const rules = checked(shown, document, placeOf)
  const problems = [...ruleProblems(rules)]
  if (problems.length === 0) return rules
  throw fault('BAD_REQUEST', problems.map(({ path, message }) => `${placeOf(path)}: ${message}`).join('\n'))
}

function checked(shown: string, document: Document, placeOf: (path: readonly string[]) => string): RuleSet {
  try {
    return checkSettings(ruleSetSchema, document.toJS(), placeOf)
  } catch (error) {
    if (isFault(error)) throw fault('BAD_REQUEST', error.message, error)
    throw fault('BAD_REQUEST', `${shown}: is not valid YAML: ${messageOf(error)}`, error)
  }
}

/** Returns the line of a value, or of the innermost existing one around it. */
function lineOf(document: Document, lines: LineCounter, path: readonly string[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as
      { readonly range?: readonly number[] | null } | undefined
    const [offset] = node?.range ?? []
    if (offset !== undefined) return lines.linePos(offset).line
  }
  return 1
}

/** The further lines of a YAML error draw the mistake for a terminal. */
function firstLine(message: string): string {
  return message.split('\n', 1)[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? ''
}

/** Reads a baseline; empty if the default one does not exist. @throws BAD_REQUEST */
export function readBaseline(rulesFile: string, given: string | undefined): string {
  const file = given ?? baselineFileOf(rulesFile)
  return given === undefined && !existsSync(file) ? '' : readBounded(file, MAX_BASELINE_BYTES)
}

function readBounded(file: string, maxBytes: number): string {
  try {
    return readUntrusted(realpathSync(file), maxBytes)
  } catch (error) {
    throw fault('BAD_REQUEST', `${shownPath(file)} cannot be read: ${messageOf(error)}`, error)
  }
}

/** Returns a path as a user in the current directory writes it. */
function shownPath(file: string): string {
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}
