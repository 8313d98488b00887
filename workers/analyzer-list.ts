import { type RefreshedEntry, refreshEntry, type RefreshTask } from '../src/analyzer/scan/refresh-entry.ts'

/** Lists one place of a class path; see refreshEntry. */
export default function analyzerList(task: RefreshTask): Promise<RefreshedEntry> {
  return refreshEntry(task)
}
