import {
  runSearchTask,
  type SearchResponses,
  type SearchRequest,
  type SearchTask,
} from '../src/content/search/search-task.ts'

/** Reads indexes and searches them; see runSearchTask. */
export default function contentSearch(task: SearchTask): Promise<SearchResponses[SearchRequest['do']]> {
  return runSearchTask(task)
}
