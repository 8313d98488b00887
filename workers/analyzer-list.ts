import { listPlace, type ListedPlace, type ListTask } from '../src/analyzer/index/list-place.ts'

/** Lists one place of a class path; see listPlace. */
export default function analyzerList(task: ListTask): ListedPlace {
  return listPlace(task)
}
