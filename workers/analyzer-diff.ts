import { compareBuilds, type DiffTask } from '../src/analyzer/diff/compare-builds.ts'
import type { BuildDiff } from '../src/analyzer/diff/diff-builds.ts'

/** Compares two builds; see compareBuilds. */
export default function analyzerDiff(task: DiffTask): Promise<BuildDiff> {
  return compareBuilds(task)
}
