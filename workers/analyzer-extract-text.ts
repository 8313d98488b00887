import {
  extractText,
  type Extracted,
  type ExtractQuestion,
} from '../src/analyzer/source/java/extract-text.ts'

/** Finds a class or its methods in a text; see extractText. */
export default function analyzerExtractText(task: ExtractQuestion): Promise<Extracted | undefined> {
  return extractText(task)
}
