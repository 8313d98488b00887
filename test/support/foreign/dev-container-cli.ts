import {
  chmodSync,
  chownSync,
  type Dirent,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { docker } from '../engine/docker.ts'
import { tempDir } from '../temp-dir.ts'

/** The official CLI for dev containers, which scripts/foreign-clients installs. */
export const DEV_CONTAINER_CLI = join(
  packageRoot,
  '.node/peers/devcontainers/node_modules/@devcontainers/cli/devcontainer.js',
)

/** Observable properties of a container that was made from a devcontainer.json. */
export interface Observed {
  readonly succeeded: boolean
  readonly image: string
  /** Variables of the container, sorted. */
  readonly variables: readonly string[]
  /** Contents of the files that commands made in the workspace's folder. */
  readonly files: Readonly<Record<string, string>>
}

const IMAGE_USER = 1_000

/**
 * Creates a folder with a devcontainer.json that every user of a container can write. It does not belong to root,
 * whose folders workspaces enter as root.
 *
 * @param files more files, by their path below `.devcontainer`
 */
export function folderWith(text: string, files: Readonly<Record<string, string>> = {}): string {
  const folder = tempDir()
  chmodSync(folder, 0o777)
  if (process.getuid?.() === 0) chownSync(folder, IMAGE_USER, IMAGE_USER)
  writeFileSync(join(folder, '.devcontainer.json'), text)
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, '.devcontainer', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  return folder
}

/** Runs `devcontainer up` for a folder, observes the container, and removes it. */
export async function upWithOfficialCli(
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Observed> {
  if (!existsSync(DEV_CONTAINER_CLI)) throw new Error('@devcontainers/cli is missing: scripts/test-tools')
  const temporary = tempDir()
  seedControlManifest(temporary)
  // It would build an image for the tester's user ID.
  const argv = ['up', '--workspace-folder', folder, '--update-remote-user-uid-default', 'never']
  const { status } = await run(process.execPath, [DEV_CONTAINER_CLI, ...argv], {
    environment: { PATH: process.env['PATH'], HOME: temporary, TMPDIR: temporary, ...environment },
    timeoutMs: 120_000,
  })
  const id = await docker('ps', '-aq', '--filter', `label=devcontainer.local_folder=${folder}`)
  const { image, variables } = await containerOf(id)
  try {
    return { succeeded: status === 0, image, variables, files: filesOf(folder) }
  } finally {
    if (id !== '') await docker('rm', '-f', '-v', id)
    // It builds an image for features.
    if (image.startsWith('vsc-')) await docker('rmi', '-f', image)
  }
}

/** Observes a container, or the lack of one. */
export async function containerOf(id: string): Promise<Pick<Observed, 'image' | 'variables'>> {
  if (id === '') return { image: '', variables: [] }
  const { Image, Env } = JSON.parse(await docker('inspect', '--format', '{{json .Config}}', id))
  return { image: Image, variables: Env.toSorted() }
}

/** Reads the files that commands made. Directories are left out: the engine makes those of volumes. */
export function filesOf(folder: string): Readonly<Record<string, string>> {
  const files = madeIn(folder).filter((entry) => entry.isFile())
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]))
}

/** Removes what commands and the engine made. */
export function removeFiles(folder: string): void {
  for (const { name } of madeIn(folder)) rmSync(join(folder, name), { recursive: true })
}

function madeIn(folder: string): readonly Dirent[] {
  return readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.devcontainer'))
}

/** Answers the one request to the internet that the CLI makes, which it keeps for five minutes. */
function seedControlManifest(temporary: string): void {
  const cache = join(temporary, `devcontainercli-${userInfo().username}`)
  mkdirSync(cache)
  const manifest = join(cache, 'control-manifest.json')
  writeFileSync(manifest, '{"disallowedFeatures":[],"featureAdvisories":[]}')
  utimesSync(manifest, new Date(), new Date())
}
