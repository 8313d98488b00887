import { existsSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { checkSettings, configFault } from '../../lib/config/check.ts'
import { section, texts } from '../../lib/config/fields.ts'
import { parseYaml } from '../../lib/config/load.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { readUntrusted } from '../../lib/fs/read-untrusted.ts'

/** Name of the file with settings of a project, in its root. */
export const PROJECT_FILE = 'analyzer.yml'

const MAX_BYTES = 2 ** 16

/** The repository's authors write it, not the user: it has no settings that run or read anything else. */
const projectFileSchema = section({
  classes: texts('folders and archives with the classes of the project, below its root'),
})

/**
 * Returns the class folders that a project's file names, as written; none without a file.
 *
 * @throws CONFIG_UNREADABLE and CONFIG_INVALID; also for a path that leads out of the project (threat A9)
 */
export function classesInProjectFile(root: string): readonly string[] {
  const file = join(root, PROJECT_FILE)
  if (!existsSync(file)) return []
  const { classes } = checkSettings(projectFileSchema, parseYaml(read(file), file), file)
  const outside = classes.find((path) => isAbsolute(path) || normalize(path).split(/[/\\]/)[0] === '..')
  if (outside !== undefined)
    throw configFault(
      'CONFIG_INVALID',
      `${file}: "classes" has "${outside}", which is outside of the project; name it with "analyzer start --classes"`,
    )
  return classes
}

function read(file: string): string {
  try {
    return readUntrusted(file, MAX_BYTES)
  } catch (error) {
    throw configFault('CONFIG_UNREADABLE', `${file} cannot be read: ${messageOf(error)}`, error)
  }
}
