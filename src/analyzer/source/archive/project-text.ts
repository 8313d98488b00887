import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { findModules, type ProjectModule } from '../../classpath/project-layout.ts'
import { isWithin } from '../../../lib/fs/is-within.ts'
import { listSourceFiles } from '../../project/source-files.ts'
import type { FoundText, TextRequest } from './text-request.ts'
import { isOfPackage } from '../java/kotlin-package.ts'
import { decodeSource, languageOf, MAX_SOURCE_BYTES } from './source-text.ts'

/**
 * Searches where build tools expect a class's source, then anywhere in the project for a file with that name.
 * Targets of links are read only inside the project.
 */
export function findProjectText(
  { root, location }: Pick<TextRequest, 'root' | 'location'>,
  names: readonly string[],
): FoundText | undefined {
  const modules = findModules(root)
  const own = modules.findLast(({ path }) => isWithin(location, path))
  const sorted = [...(own === undefined ? [] : [own]), ...modules.filter((each) => each !== own)]
  for (const module of sorted) {
    for (const folder of sourceRoots(module.path, location)) {
      for (const name of names) {
        const found = readWithin(root, join(folder, name), module)
        if (found !== undefined) return found
      }
    }
  }
  return findAnywhere(root, names, modules)
}

/** Kotlin's folders can differ from its packages. */
function findAnywhere(
  root: string,
  names: readonly string[],
  modules: readonly ProjectModule[],
): FoundText | undefined {
  const files = listSourceFiles(root)
  for (const name of names) {
    const sameName = files.filter((file) => basename(file) === basename(name))
    const samePath = sameName.filter((file) => `/${file.split(sep).join('/')}`.endsWith(`/${name}`))
    const candidates = samePath.length > 0 || !name.endsWith('.kt') ? samePath : sameName
    for (const file of candidates) {
      const path = join(root, file)
      const module = modules.findLast((each) => isWithin(path, each.path))
      const found = module === undefined ? undefined : readWithin(root, path, module)
      if (found === undefined) continue
      if (candidates === samePath || isOfPackage(found.text, name)) return found
    }
  }
  return undefined
}

function readWithin(root: string, path: string, module: ProjectModule): FoundText | undefined {
  const language = languageOf(path)
  if (language === undefined || !existsSync(path)) return undefined
  const real = realpathSync(path)
  const stat = statSync(real)
  if (!isWithin(real, realpathSync(root)) || !stat.isFile() || stat.size > MAX_SOURCE_BYTES) return undefined
  const text = decodeSource(readFileSync(real))
  return { text, filePath: path, language, origin: 'PROJECT_SOURCE', module: module.name }
}

/**
 * Returns source roots such as `src/main/java`, those of tests first for test classes, then generated
 * sources.
 */
function sourceRoots(module: string, location: string): readonly string[] {
  const isTest = /test/i.test(relative(module, location))
  const sets = foldersIn(join(module, 'src')).toSorted(
    (a, b) => Number(/test/i.test(b) === isTest) - Number(/test/i.test(a) === isTest) || (a < b ? -1 : 1),
  )
  const generated = [
    ...foldersIn(join(module, 'target/generated-sources')),
    ...foldersIn(join(module, 'target/generated-test-sources')),
    ...foldersIn(join(module, 'build/generated/sources')).flatMap(foldersIn).flatMap(foldersIn),
  ]
  return [...sets.flatMap(foldersIn), join(module, 'src'), ...generated, module]
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name))
      .toSorted()
  } catch {
    return []
  }
}
