import { styleJavaFile } from '../src/analyzer/lint/style-java-file.ts'
import type { StyledFile, StyleTask } from '../src/analyzer/lint/style-task.ts'

/** Checks or formats one Java file; see styleJavaFile. */
export default function analyzerStyleJava(task: StyleTask): Promise<StyledFile> {
  return styleJavaFile(task)
}
