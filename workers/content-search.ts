import {
  runSearchTask,
  type SearchAnswers,
  type SearchQuestion,
  type SearchTask,
} from '../src/content/search/search-task.ts'

/** Reads indexes and searches them; see runSearchTask. */
export default function contentSearch(task: SearchTask): Promise<SearchAnswers[SearchQuestion['do']]> {
  return runSearchTask(task)
}
