import type { TextAnswer, TextQuestion } from '../src/analyzer/source/archive/class-text.ts'
import { findText } from '../src/analyzer/source/archive/find-text.ts'

/** Finds a class's source text; see findText. */
export default function analyzerFindText(task: TextQuestion): TextAnswer {
  return findText(task)
}
