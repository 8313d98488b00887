import { siblingModule } from '../process/sibling.ts'

/**
 * Returns the URL of a worker in the top-level `workers` folder. The relative path is the same from `src/lib/pool` in a
 * checkout and from `dist/src/lib/pool` in the package.
 *
 * @example pool.run(workerFile('disk-walk'), { path })
 */
export function workerFile(name: string): URL {
  return siblingModule(import.meta.url, `../../../workers/${name}`)
}
