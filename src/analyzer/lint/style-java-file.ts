import { isUtf8 } from 'node:buffer'
import { messageOf } from '../../lib/errors/message.ts'
import { styleIssues, unifiedDiff } from './compare-texts.ts'
import { formatJava, UnstableFormat } from './format-java.ts'
import { type FormatOptions, readFormatOptions } from './format-options.ts'
import { type ReadSource, readSource } from './source-place.ts'
import { fileIssue, fileStyle, type StyleIssue } from './style-issue.ts'
import type { StyledFile, StyleTask } from './style-task.ts'
import { syntaxIssue } from './syntax-issue.ts'
import { writeSource } from './write-source.ts'

/** A file is no larger. */
const MAX_BYTES = 2 ** 22

/**
 * Compares one Java file with its formatted form, and writes that where it is asked to. `errors` are, where the file is only looked
 * at, the places that differ, and otherwise what keeps it from being formatted. What goes wrong with the file is an issue of it.
 */
export async function styleJavaFile(task: StyleTask): Promise<StyledFile> {
  const { root, place, writes, wanted } = task
  const beganMs = performance.now()
  const told = (errors: readonly StyleIssue[], rest: Partial<StyledFile> = {}): StyledFile => ({
    ...fileStyle(place.filePath, errors, beganMs),
    hasChanges: false,
    isIgnored: false,
    diagnostics: [],
    ...rest,
  })
  let read: ReadSource
  let format: FormatOptions
  try {
    read = await readSource(place.path, MAX_BYTES)
  } catch (error) {
    return told([fileIssue('read', `it cannot be read: ${messageOf(error)}`)])
  }
  if (!isUtf8(read.bytes)) return told([fileIssue('encoding', 'it is not written in UTF-8')])
  const text = read.bytes.toString('utf8')
  const shown = wanted === 'text' ? { text } : {}
  try {
    format = await readFormatOptions(root, place.path)
  } catch (error) {
    return told([fileIssue('options', messageOf(error))], shown)
  }
  const { options, diagnostics, isIgnored } = format
  if (isIgnored) return told([], { ...shown, isIgnored, diagnostics })
  const formatted = await formOf(text, options)
  if (typeof formatted !== 'string') return told([formatted], { ...shown, diagnostics })
  const hasChanges = formatted !== text
  if (wanted === 'issues' && !writes) return told(styleIssues(text, formatted), { hasChanges, diagnostics })
  const problem = writes && hasChanges ? await writeSource(place.path, formatted, read) : undefined
  return told(problem === undefined ? [] : [problem], {
    hasChanges: hasChanges && problem === undefined,
    diagnostics,
    ...(wanted === 'text' && { text: formatted }),
    ...(wanted === 'diff' && hasChanges && { diff: unifiedDiff(place.filePath, text, formatted) }),
  })
}

async function formOf(text: string, options: FormatOptions['options']): Promise<string | StyleIssue> {
  try {
    return await formatJava(text, options)
  } catch (error) {
    if (error instanceof UnstableFormat) return fileIssue('unstable', error.message)
    const [first = ''] = messageOf(error).split('\n')
    return (
      (await syntaxIssue(text)) ?? fileIssue('options', `the formatter refuses it: ${first.slice(0, 200)}`)
    )
  }
}
