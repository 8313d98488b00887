import { extractText, type Extracted, type ExtractRequest } from '../src/analyzer/source/java/extract-text.ts'

/** Extracts a class or its methods from source text; see extractText. */
export default function analyzerExtractText(task: ExtractRequest): Promise<Extracted | undefined> {
  return extractText(task)
}
