import { type RefreshedPlace, refreshPlace, type RefreshTask } from '../src/analyzer/scan/refresh-place.ts'

/** Lists one class path entry; see refreshPlace. */
export default function analyzerList(task: RefreshTask): Promise<RefreshedPlace> {
  return refreshPlace(task)
}
