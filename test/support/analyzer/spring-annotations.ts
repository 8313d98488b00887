import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { AnnotationUsage } from '../../../src/analyzer/query/annotations/annotation-usages.ts'
import type { AnnotationView, ValueView } from '../../../src/analyzer/query/annotations/annotation-value.ts'

const MODULES = ['model', 'core', 'web', 'app']

/**
 * Returns the annotations that Spring itself finds on classes of the built project of test/fixtures/maven:
 * one line for each element, sorted.
 */
export function mergedBySpring(
  root: string,
  scratch: string,
): (annotation: string, classes: readonly string[]) => readonly string[] {
  const file = join(scratch, 'class-path')
  const goal = [`-Dmdep.outputFile=${file}`, '-Dmdep.includeScope=test', '-Dmaven.test.skip=false']
  const argv = ['-B', '-ntp', '-q', ...goal, 'test-compile', 'dependency:build-classpath']
  execFileSync('mvn', argv, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const folders = MODULES.flatMap((module) =>
    ['classes', 'test-classes'].map((kind) => join(root, module, 'target', kind)),
  )
  const classPath = [...folders, readFileSync(file, 'utf8').trim()].join(delimiter)
  return (annotation, classes) =>
    execFileSync('java', ['-cp', classPath, 'shop.app.SpringSays', annotation, ...classes], {
      encoding: 'utf8',
    })
      .split('\n')
      .filter((line) => line !== '')
      .toSorted()
}

/** Returns our answer in the format of SpringSays. */
export function shownUsages(usages: readonly AnnotationUsage[]): readonly string[] {
  return usages.map((usage) => `${placeOf(usage)}\t${attributesOf(usage.annotation)}`).toSorted()
}

function placeOf({ target, classFqn, method, field, parameterIndex }: AnnotationUsage): string {
  return [target, classFqn, field, method, parameterIndex].filter((part) => part !== undefined).join(' ')
}

function attributesOf({ parameters }: AnnotationView): string {
  const names = Object.keys(parameters).toSorted()
  return `{${names.map((name) => `${name}=${textOf(parameters[name])}`).join(', ')}}`
}

function textOf(value: ValueView | undefined): string {
  if (value === undefined) return ''
  if (value.kind === 'ARRAY') return `[${value.items.map((item) => textOf(item)).join(', ')}]`
  return value.kind === 'ANNOTATION' ? attributesOf(value.annotation) : value.value
}
