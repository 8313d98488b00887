import { type RefreshedEntry, refreshEntry, type RefreshTask } from '../src/analyzer/scan/refresh-entry.ts'

/** Lists one class path entry; see refreshEntry. */
export default function analyzerList(task: RefreshTask): Promise<RefreshedEntry> {
  return refreshEntry(task)
}
