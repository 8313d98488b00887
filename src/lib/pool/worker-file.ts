import { siblingModule } from '../process/sibling.ts'

/**
 * The file of a worker in the top-level `workers` folder, by its name. The way there is the same from `src/lib/pool` of a
 * checkout and from `dist/src/lib/pool` of the package.
 *
 * @example pool.run(workerFile('disk-walk'), { path })
 */
export function workerFile(name: string): URL {
  return siblingModule(import.meta.url, `../../../workers/${name}`)
}
