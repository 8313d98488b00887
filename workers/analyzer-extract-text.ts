import { extractText, type Extracted, type ExtractRequest } from '../src/analyzer/source/java/extract-text.ts'

/** Finds a class or its methods in a text; see extractText. */
export default function analyzerExtractText(task: ExtractRequest): Promise<Extracted | undefined> {
  return extractText(task)
}
