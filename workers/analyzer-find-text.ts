import type { TextResult, TextRequest } from '../src/analyzer/source/archive/text-request.ts'
import { findText } from '../src/analyzer/source/archive/find-text.ts'

/** Finds a class's source text; see findText. */
export default function analyzerFindText(task: TextRequest): TextResult {
  return findText(task)
}
