import { describe, expect, test } from 'vitest'
import { comparable, useBoth } from '../../support/foreign/compare-dev-containers.ts'

const { both, textWith } = useBoth()

type Files = Readonly<Record<string, readonly [content: object, files: Readonly<Record<string, string>>]>>

/** A feature that writes what it sees to a file of the image. */
const featureOf = (id: string, description: object, script = '') => ({
  [`${id}/devcontainer-feature.json`]: JSON.stringify({ id, version: '1.0.0', name: id, ...description }),
  [`${id}/install.sh`]: `#!/bin/sh
set -e
echo "${id} $(id -un) $VERSION $COLOR_OF_IT $_REMOTE_USER $_REMOTE_USER_HOME" >> /usr/local/installed
cat ./part 2>/dev/null >> /usr/local/installed || :
touch ./written
${script}
`,
})
const OPTIONS = {
  options: { version: { type: 'string', default: '1' }, 'color-of-it': { type: 'string', default: 'red' } },
}
const SHOW = { postCreateCommand: 'cat /usr/local/installed > installed; env > env' }

/** Files with features in folders, in which both agree. */
const FEATURES: Files = {
  'a feature with its defaults': [
    { features: { './.devcontainer/one': {} }, ...SHOW },
    { ...featureOf('one', OPTIONS), 'one/part': 'a part\n' },
  ],
  'options, and an order that is not that of the file': [
    {
      features: { './.devcontainer/two': { version: '2', 'color-of-it': true }, './.devcontainer/one': '7' },
      remoteUser: 'root',
      ...SHOW,
    },
    { ...featureOf('one', OPTIONS), ...featureOf('two', OPTIONS) },
  ],
  'variables, commands and files for the user': [
    {
      features: { './.devcontainer/one': {}, './.devcontainer/two': true },
      containerEnv: { OVER: 'file' },
      ...SHOW,
    },
    {
      ...featureOf('one', {
        containerEnv: { ADDED: 'x y', KIT: '/opt/$FROM_IMAGE:${NOPE:-none}', OVER: 'one' },
        onCreateCommand: 'echo one > one',
      }),
      ...featureOf(
        'two',
        { containerEnv: { KIT: '/two:${KIT}' } },
        'echo "export LATE=1" >> /etc/profile.d/two.sh',
      ),
    },
  ],
}

describe('the official CLI', () => {
  test.each(Object.entries(FEATURES).map(([what, each]) => [what, ...each] as const))(
    'agrees about %s',
    async (_what, content, files) => {
      const { theirs, ours, warnings } = await both(textWith(content), files)
      // The CLI builds an image, for which it sets variables as well.
      const { image: _, ...expected } = comparable(theirs, content)
      expect(comparable(ours, content)).toMatchObject(expected)
      expect(theirs.succeeded).toBe(true)
      expect(warnings).toEqual([])
    },
  )
})
