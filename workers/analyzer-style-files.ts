import { listStyleFiles, type StyleFiles, type StyleScope } from '../src/analyzer/lint/list-style-files.ts'

/** Lists the files of a project that have a style; see listStyleFiles. */
export default function analyzerStyleFiles(task: StyleScope): StyleFiles {
  return listStyleFiles(task)
}
