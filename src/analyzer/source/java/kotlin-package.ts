import { dirname } from 'node:path/posix'

/** Whether a Kotlin text declares the package of a path ("kotlin/text/Regex.kt"). */
export function isOfPackage(text: string, name: string): boolean {
  const line = text.split('\n').find((each) => each.startsWith('package '))
  const declared = line?.slice('package '.length).split(/[;/\s]/)[0] ?? ''
  return declared.replaceAll('`', '') === (dirname(name) === '.' ? '' : dirname(name).replaceAll('/', '.'))
}
