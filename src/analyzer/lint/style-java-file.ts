import { isUtf8 } from 'node:buffer'
import { messageOf } from '../../lib/errors/message.ts'
import { styleIssues, unifiedDiff } from './compare-texts.ts'
import { formatJava, nearestForm, NoFormat, optionsProblem } from './format-java.ts'
import { type FormatOptions, readFormatOptions } from './format-options.ts'
import { type ReadSource, readSource } from './source-file.ts'
import { fileIssue, fileStyle, type StyleIssue } from './style-issue.ts'
import type { StyledFile, StyleTask } from './style-task.ts'
import { writeSource } from './write-source.ts'
import { type JavaNode, parseJava } from '../source/java/java-parser.ts'

/** Maximum size of a file. */
const MAX_BYTES = 2 ** 22

/**
 * Compares a Java file with its formatted form, and writes that on request. `errors` are the differences for
 * a check, otherwise the problems that prevent formatting. Problems with the file become issues.
 */
export async function styleJavaFile(task: StyleTask): Promise<StyledFile> {
  const { root, file, writes, wanted } = task
  const startMs = performance.now()
  const result = (errors: readonly StyleIssue[], rest: Partial<StyledFile> = {}): StyledFile => ({
    ...fileStyle(file.filePath, errors, startMs),
    hasChanges: false,
    isIgnored: false,
    diagnostics: [],
    ...rest,
  })
  let read: ReadSource
  let format: FormatOptions
  try {
    read = await readSource(file.path, MAX_BYTES)
  } catch (error) {
    return result([fileIssue('read', `it cannot be read: ${messageOf(error)}`)])
  }
  if (!isUtf8(read.bytes)) return result([fileIssue('encoding', 'it is not encoded in UTF-8')])
  const text = read.bytes.toString('utf8')
  const shown = wanted === 'text' ? { text } : {}
  try {
    format = await readFormatOptions(root, file.path)
  } catch (error) {
    return result([fileIssue('options', messageOf(error))], shown)
  }
  const { options, diagnostics, isIgnored } = format
  if (isIgnored) return result([], { ...shown, isIgnored, diagnostics })
  const isCheck = wanted === 'issues' && !writes
  const formatted = await formOf(text, options, isCheck)
  if (formatted instanceof NoFormat) {
    const reason = `it has no formatted form: ${formatted.message}`
    // A file without formatted form has no violations, but formatting it fails.
    return isCheck
      ? result([], { diagnostics: [...diagnostics, `${file.filePath}: ${reason}`] })
      : result([fileIssue('formatter', reason)], { ...shown, diagnostics })
  }
  if (typeof formatted !== 'string') return result([formatted], { ...shown, diagnostics })
  const hasChanges = formatted !== text
  if (isCheck) return result(styleIssues(text, formatted), { hasChanges, diagnostics })
  const problem = writes && hasChanges ? await writeSource(file.path, formatted, read) : undefined
  return result(problem === undefined ? [] : [problem], {
    hasChanges: hasChanges && problem === undefined,
    diagnostics,
    ...(wanted === 'text' && { text: formatted }),
    ...(wanted === 'diff' && hasChanges && { diff: unifiedDiff(file.filePath, text, formatted) }),
  })
}

async function formOf(
  text: string,
  options: FormatOptions['options'],
  isCheck: boolean,
): Promise<string | StyleIssue | NoFormat> {
  try {
    return await (isCheck ? nearestForm : formatJava)(text, options)
  } catch (error) {
    if (error instanceof NoFormat) return error
    const syntax = await syntaxIssue(text)
    if (syntax !== undefined) return syntax
    const problem = await optionsProblem(options)
    return problem === undefined
      ? new NoFormat(firstLine(messageOf(error)))
      : fileIssue('options', firstLine(problem))
  }
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, 200)
}

/** Returns the first syntax error of a text, or undefined. */
async function syntaxIssue(text: string): Promise<StyleIssue | undefined> {
  const tree = await parseJava(text)
  try {
    const node = firstError(tree.rootNode)
    if (node === undefined) return undefined
    const { row, column } = node.startPosition
    const [shown = ''] = node.text.split('\n')
    const detail = node.isMissing
      ? `"${node.type}" is missing`
      : `this is not valid Java: ${JSON.stringify(shown.trim().slice(0, 80))}`
    return fileIssue('syntax', detail, row + 1, column + 1)
  } finally {
    tree.delete()
  }
}

function firstError(node: JavaNode): JavaNode | undefined {
  if (!node.hasError) return undefined
  for (const child of node.children) {
    const found = child.isError || child.isMissing ? child : firstError(child)
    if (found !== undefined) return found
  }
  return node.isError || node.isMissing ? node : undefined
}
