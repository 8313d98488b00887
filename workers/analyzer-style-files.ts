import { listStyleFiles, type StyleFiles, type StyleScope } from '../src/analyzer/lint/list-style-files.ts'

/** Lists a project's files that style rules apply to; see listStyleFiles. */
export default function analyzerStyleFiles(task: StyleScope): StyleFiles {
  return listStyleFiles(task)
}
