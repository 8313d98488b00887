import type { EngineImage } from '../backend/image-builds.ts'
import type { Build } from '../devcontainer/build.ts'
import { neededStages, stageIndex, stageNamed } from '../dockerfile/needed-stages.ts'
import type { Stage } from '../dockerfile/read-dockerfile.ts'
import { parseImage } from '../image-reference.ts'
import { argumentLines, boundOf, type BuildContext, checkImage, keyOf, StageBuild } from './build-stage.ts'

/**
 * Builds the image of a Dockerfile. The engine's builder does what runs no program; each RUN is done in a container with the
 * network and the limits of workspaces, because programs of a repository run in no other. Returns the image's name.
 *
 * @throws Error with a sentence for what is wrong with the Dockerfile or its programs, and faults of the engine
 */
export async function buildImage(build: Build, context: BuildContext): Promise<string> {
  const { stages, escape, arguments: early } = build.dockerfile
  const given = new Map([...(await platformOf(context)), ...build.arguments])
  const before = early.flatMap((each) => argumentLines(each, escape))
  const longest = boundOf(before, Math.max(0, ...[...given.values()].map(({ length }) => length)))
  boundOf([{ text: stages.map(({ from }) => from).join(' '), line: stages.at(-1)?.line }], longest)
  const lines = { base: 'scratch', before: [], lines: before, escape, arguments: given }
  const froms = await fromsOf(stages, (words) => context.builds.evaluate(lines, words, context))
  const built = new Map<number, EngineImage>()
  const find = async (name: string, stage: number | undefined): Promise<EngineImage> =>
    built.get(stage ?? -1) ?? (await context.builds.pull(parseImage(name, context.imageAliases), context))
  let image: EngineImage | undefined
  for (const index of neededStages(build.dockerfile, build.target, froms)) {
    const [stage, from = ''] = [stages[index], froms[index]]
    if (stage === undefined) continue
    if (from === 'scratch') throw new Error(`line ${stage.line}: FROM scratch is not supported`)
    const base = await find(from, stageNamed(stages, from, index))
    const imageOf = (name: string) => find(name, stageIndex(stages, name, index))
    image = await new StageBuild(build, { base, before, given, longest, imageOf }, context).build(stage)
    built.set(index, image)
  }
  if (image === undefined) throw new Error('it has no stage')
  const key = keyOf([context.scope, image.id])
  const known = await context.builds.findKept(key)
  if (known !== undefined) return known
  await checkImage(image, context)
  return context.builds.keep(image, key)
}

/** Returns the images that stages begin with. */
async function fromsOf(
  stages: readonly Stage[],
  evaluate: (words: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const froms = stages.map(({ from }) => from)
  return froms.every((from) => /^[\w./:@-]+$/.test(from)) ? froms : evaluate(froms)
}

/** Returns the arguments that BuildKit sets. Source: https://docs.docker.com/build/building/variables/ */
async function platformOf({ builds, signal }: BuildContext): Promise<readonly (readonly [string, string])[]> {
  const architecture = await builds.architecture(signal)
  return ['TARGET', 'BUILD'].flatMap((machine) => [
    [`${machine}PLATFORM`, `linux/${architecture}`] as const,
    [`${machine}OS`, 'linux'] as const,
    [`${machine}ARCH`, architecture] as const,
    [`${machine}VARIANT`, ''] as const,
  ])
}
