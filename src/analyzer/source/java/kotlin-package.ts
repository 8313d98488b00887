import { dirname } from 'node:path/posix'

/** Whether a Kotlin text says that it is of the package that a name ("kotlin/text/Regex.kt") is in. */
export function isOfPackage(text: string, name: string): boolean {
  const line = text.split('\n').find((each) => each.startsWith('package '))
  const said = line?.slice('package '.length).split(/[;/\s]/)[0] ?? ''
  return said.replaceAll('`', '') === (dirname(name) === '.' ? '' : dirname(name).replaceAll('/', '.'))
}
