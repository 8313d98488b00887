import { isUtf8 } from 'node:buffer'
import { mkdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { unifiedDiff } from './compare-texts.ts'
import type { KtlintCommand } from './ktlint-command.ts'
import { type KtlintIssue, runKtlint } from './run-ktlint.ts'
import { type ReadSource, readSource, type SourceFile } from './source-file.ts'
import { fileIssue, fileStyle, type StyleIssue } from './style-issue.ts'
import type { StyledFile, StyleTask } from './style-task.ts'
import { writeSource } from './write-source.ts'

const MAX_BYTES = 2 ** 22
const MAX_CONFIG_BYTES = 2 ** 16
/** Number of file names that always fits on a command line. */
const FILES_A_RUN = 200

type KotlinTask = Omit<StyleTask, 'file'> & { readonly files: readonly SourceFile[] }

interface Copied {
  readonly file: SourceFile
  readonly read: ReadSource
}

/**
 * Does for Kotlin files what `styleJavaFile` does for Java. ktlint runs on copies, and changed copies are
 * written back whole. Of the project it reads only `.editorconfig` files.
 *
 * @throws as `runKtlint`
 */
export async function styleKotlinFiles(
  command: KtlintCommand,
  task: KotlinTask,
  signal: AbortSignal,
): Promise<readonly StyledFile[]> {
  const styled: StyledFile[] = []
  for (let at = 0; at < task.files.length; at += FILES_A_RUN) {
    const files = task.files.slice(at, at + FILES_A_RUN)
    styled.push(...(await styleSome(command, { ...task, files }, signal)))
  }
  return styled
}

async function styleSome(
  command: KtlintCommand,
  { root, files, writes, wanted }: KotlinTask,
  signal: AbortSignal,
): Promise<readonly StyledFile[]> {
  const startMs = performance.now()
  const top = await mkdtemp(join(tmpdir(), 'analyzer-ktlint-'))
  try {
    // Ignores the .editorconfig files of parent folders.
    await writeFile(join(top, '.editorconfig'), 'root = true\n')
    const folder = join(top, 'project')
    const refused: StyledFile[] = []
    const copied: Copied[] = []
    for (const file of files) {
      const read = await copy(file, folder)
      if ('bytes' in read) copied.push({ file, read })
      else refused.push({ ...fileStyle(file.filePath, [read], startMs), ...UNCHANGED })
    }
    if (copied.length === 0) return refused
    await copyConfigs(root, folder, copied)
    const names = copied.map(({ file }) => file.filePath)
    const isCheck = wanted === 'issues' && !writes
    const found = isCheck ? await runKtlint(command, folder, names, 'check', signal) : undefined
    const left = await runKtlint(command, folder, names, 'format', signal)
    const styled = copied.map(async ({ file, read }): Promise<StyledFile> => {
      const text = read.bytes.toString('utf8')
      const formatted = await readFile(join(folder, file.filePath), 'utf8')
      const remaining = left.get(file.filePath) ?? []
      const issues = issuesOf(found?.get(file.filePath) ?? (isCheck ? [] : remaining), remaining)
      const problem = writes && formatted !== text ? await writeSource(file.path, formatted, read) : undefined
      const errors = problem === undefined ? issues : [problem]
      return {
        ...fileStyle(file.filePath, errors, startMs),
        ...UNCHANGED,
        hasChanges: formatted !== text && problem === undefined,
        ...(wanted === 'text' && { text: formatted }),
        ...(wanted === 'diff' && formatted !== text && { diff: unifiedDiff(file.filePath, text, formatted) }),
      }
    })
    return [...refused, ...(await Promise.all(styled))]
  } finally {
    await rm(top, { recursive: true, force: true })
  }
}

const UNCHANGED = { hasChanges: false, isIgnored: false, diagnostics: [] } as const

async function copy(file: SourceFile, folder: string): Promise<ReadSource | StyleIssue> {
  try {
    const read = await readSource(file.path, MAX_BYTES)
    if (!isUtf8(read.bytes)) return fileIssue('encoding', 'it is not encoded in UTF-8')
    const target = join(folder, file.filePath)
    mkdirSync(dirname(target), { recursive: true })
    await writeFile(target, read.bytes)
    return read
  } catch (error) {
    return fileIssue('read', `it cannot be read: ${messageOf(error)}`)
  }
}

async function copyConfigs(root: string, folder: string, copied: readonly Copied[]): Promise<void> {
  const folders = new Set<string>(['.'])
  for (const { file } of copied)
    for (let at = dirname(file.filePath); at !== '.'; at = dirname(at)) folders.add(at)
  for (const each of folders) {
    const config = await readSource(join(root, each, '.editorconfig'), MAX_CONFIG_BYTES).catch(
      ignore('a folder without a readable one has the settings of its parents'),
    )
    if (config !== undefined) await writeFile(join(folder, each, '.editorconfig'), config.bytes)
  }
}

/**
 * ktlint does not report which issues it can correct: those that remain after correcting are those it cannot.
 */
function issuesOf(issues: readonly KtlintIssue[], left: readonly KtlintIssue[]): readonly StyleIssue[] {
  const stubborn = new Set(left.map(({ rule }) => rule))
  return issues.map(({ line, column, message, rule }) => ({
    line: Math.max(1, line),
    col: Math.max(1, column),
    endLine: Math.max(1, line),
    ruleId: rule === '' ? 'syntax' : rule,
    detail: message,
    canBeAutoCorrected: !stubborn.has(rule),
  }))
}
