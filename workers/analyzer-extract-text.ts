import {
  extractText,
  type Extracted,
  type ExtractQuestion,
} from '../src/analyzer/source/java/extract-text.ts'

/** Extracts a class or its methods from source text; see extractText. */
export default function analyzerExtractText(task: ExtractQuestion): Promise<Extracted | undefined> {
  return extractText(task)
}
