import { describe, expect, test } from 'vitest'
import { TEST_IMAGE } from '../../support/engine/docker.ts'
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

const SHOW_BUILT = { postCreateCommand: 'cat /made > made; ls /copied > copied; id -un > user; env > env' }
const DOCKERFILE_OF_FOLDER = `
ARG BASE=${TEST_IMAGE}
FROM $BASE AS first
USER root
ARG SAID=default
ENV GREETING="hello $SAID" PATH=/opt/made:$PATH
RUN userdel workspace && useradd -m -u 1000 dev && echo "$SAID $GREETING" > /made
COPY kit /copied/
USER dev
FROM first
USER root
RUN echo late > /made
`

/** Files with a Dockerfile in the folder, in which both agree. */
const BUILDS: Files = {
  'arguments, a target and a context': [
    {
      build: {
        dockerfile: '.devcontainer/sub/Dockerfile',
        context: '.devcontainer',
        args: { SAID: 'given ${containerWorkspaceFolderBasename}', UNUSED: 1 },
        target: 'first',
      },
      remoteEnv: { SEEN: '${containerEnv:GREETING}' },
      ...SHOW_BUILT,
    },
    { 'sub/Dockerfile': DOCKERFILE_OF_FOLDER, 'kit/tool': 'tool', 'kit/more/file': 'file' },
  ],
  'the older properties, and an image beside them': [
    {
      // The CLI gives its image this name.
      image: 'vsc-no-such-image:1',
      dockerFile: '.devcontainer/Dockerfile',
      context: '.devcontainer',
      containerEnv: { GREETING: 'mine' },
      remoteUser: 'root',
      ...SHOW_BUILT,
    },
    { Dockerfile: DOCKERFILE_OF_FOLDER.replace(/FROM first[^]*/, ''), 'kit/tool': 'tool' },
  ],
  'a feature on top': [
    {
      build: { dockerfile: '.devcontainer/Dockerfile', context: '.devcontainer', target: 'first' },
      features: { './.devcontainer/one': {} },
      postCreateCommand: 'cat /usr/local/installed /made > installed; env > env',
    },
    {
      Dockerfile: DOCKERFILE_OF_FOLDER,
      'kit/tool': 'tool',
      ...featureOf('one', { containerEnv: { KIT: '/one:${GREETING}' } }),
    },
  ],
}

describe('the official CLI', () => {
  test.each([
    ...Object.entries(FEATURES).map(([what, each]) => [`features: ${what}`, ...each] as const),
    ...Object.entries(BUILDS).map(([what, each]) => [`building with ${what}`, ...each] as const),
  ])('agrees about %s', async (_what, content, files) => {
    const { theirs, ours, warnings } = await both(textWith(content), files)
    // The CLI builds an image, for which it sets variables as well.
    const { image: _, ...expected } = comparable(theirs, content)
    expect(comparable(ours, content)).toMatchObject(expected)
    expect(theirs.succeeded).toBe(true)
    expect(warnings).toEqual([])
  })
})
