import { copyOf } from './builder-line.ts'
import type { Dockerfile, Stage } from './read-dockerfile.ts'

/** Returns the index of the last stage with a name among the first `count`; undefined if there is none. */
export function stageNamed(stages: readonly Stage[], name: string, count: number): number | undefined {
  const index = stages.slice(0, count).findLastIndex((stage) => stage.name === name.toLowerCase())
  return index === -1 ? undefined : index
}

/** Returns the index of a stage by its name or number among the first `count`; undefined if there is none. */
export function stageIndex(stages: readonly Stage[], name: string, count: number): number | undefined {
  const isNumber = /^\d+$/.test(name) && Number(name) < count
  return stageNamed(stages, name, count) ?? (isNumber ? Number(name) : undefined)
}

/**
 * Returns the indexes of the stages that one needs, itself last.
 *
 * @param target name or number; undefined for the last stage
 * @param froms the image or stage that each stage begins with
 * @throws Error with a sentence if there is no such stage
 */
export function neededStages(
  { stages, escape }: Dockerfile,
  target: string | undefined,
  froms: readonly string[],
): readonly number[] {
  const last = target === undefined ? stages.length - 1 : stageIndex(stages, target, stages.length)
  if (last === undefined) throw new Error(`it has no stage "${target?.slice(0, 80)}"`)
  const needed = new Set<number>()
  const add = (index: number): void => {
    const stage = stages[index]
    if (stage === undefined || needed.has(index)) return
    const sources = stage.instructions.flatMap((each) => {
      const { from } = copyOf(each, escape) ?? {}
      return from === undefined ? [] : stageIndex(stages, from, index)
    })
    for (const earlier of [stageNamed(stages, froms[index] ?? '', index), ...sources])
      if (earlier !== undefined) add(earlier)
    needed.add(index)
  }
  add(last)
  return [...needed]
}
