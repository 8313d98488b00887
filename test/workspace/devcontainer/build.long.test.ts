import { linkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { docker, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { serveRepository } from '../../support/services/git-daemon.ts'
import {
  BUILD,
  engineBuild,
  folderToBuild,
  folderWith,
  useBuilds,
} from '../../support/workspace/lifecycle/image-builds.ts'

const { server, create, inWorkspace } = useBuilds()

/** Serves a repository until the test ends. */
async function served(files: Readonly<Record<string, string>>): Promise<string> {
  const daemon = await serveRepository('repo', files)
  onTestFinished(() => daemon.stop())
  return `${daemon.url}repo`
}

const FROM = `FROM ${TEST_IMAGE}\nUSER root\n`
/** Something else each time. */
const RANDOM = 'RUN cat /proc/sys/kernel/random/uuid > /made'

test('a repository has its image, which is built again only when a file of it changes', async () => {
  const files = {
    '.devcontainer/devcontainer.json': JSON.stringify({
      ...BUILD,
      remoteEnv: { X_SEEN: '${containerEnv:X_OF_IMAGE}' },
      postCreateCommand: 'touch created',
    }),
    '.devcontainer/Dockerfile': `${FROM}RUN useradd -m dev\nENV X_OF_IMAGE=1\nCOPY one.txt /out/\n${RANDOM}\nUSER dev`,
    'one.txt': 'one',
  }
  const repo = await served(files)
  const [first, second] = [await create({ repo }), await create({ repo })]
  const show = 'cat /made; stat -c "%n %U" /workspace/* /workspace/.devcontainer; id -un; echo $X_SEEN'
  const said = await inWorkspace(first.name, show)
  expect(said.split('\n').slice(1)).toEqual([
    '/workspace/created dev',
    '/workspace/one.txt dev',
    '/workspace/.devcontainer dev',
    'dev',
    '1',
    '',
  ])
  expect([second.image, await inWorkspace(second.name, show)]).toEqual([first.image, said])
  const third = await create({ repo: await served({ ...files, 'one.txt': 'changed' }) })
  expect(third.image).not.toBe(first.image)
  expect(await inWorkspace(third.name, 'cat /out/one.txt')).toBe('changed')
})

test('a directory of the host does not determine the images of others', async () => {
  const files = {
    '.devcontainer/devcontainer.json': JSON.stringify(BUILD),
    '.devcontainer/Dockerfile': `${FROM}${RANDOM}`,
  }
  const folder = folderWith(files)
  const [first, again] = [await create({ local_dir: folder }), await create({ local_dir: folder })]
  const other = await create({ local_dir: folderWith(files) })
  const ofRepo = await create({ repo: await served(files) })
  expect(again.image).toBe(first.image)
  expect(new Set([first.image, other.image, ofRepo.image]).size).toBe(3)
})

test.each([
  {
    what: 'a program that fails',
    text: `${FROM}RUN echo one\nRUN echo broken >&2; exit 3\nRUN echo three`,
    why: 'line 4: RUN echo broken >&2; exit 3 failed with status 3;',
  },
  {
    what: 'a missing file',
    text: `${FROM}COPY none* /`,
    why: 'line 3: COPY failed: no source files were specified',
  },
  {
    what: 'a path that another image lacks',
    text: `${FROM}COPY --from=${TEST_IMAGE} /none /`,
    why: `line 3: /none of ${TEST_IMAGE} does not exist`,
  },
  { what: 'an image of nothing', text: 'FROM scratch', why: 'line 1: FROM scratch is not supported' },
  {
    what: 'a missing user',
    text: `FROM ${TEST_IMAGE}\nUSER nobody-knows`,
    why: 'a first program of the image failed with status 126;',
  },
  {
    what: 'an instruction that is not supported',
    text: `${FROM}ADD http://127.0.0.1:1/ /`,
    why: 'line 3: ADD of http://127.0.0.1:1/',
  },
  {
    what: 'an image without a shell',
    text: `FROM ${uniqueName('empty')}\nRUN true`,
    why: 'line 2: RUN true failed',
  },
  {
    what: 'text that is no Dockerfile',
    text: 'hello',
    why: '.devcontainer/Dockerfile is unusable, and no image is built: it has no FROM',
  },
])('$what is a warning, and the workspace has the default image', async ({ text, why }) => {
  const [, empty] = /^FROM (empty\S+)/.exec(text) ?? []
  if (empty !== undefined) {
    await run('sh', ['-c', `tar -cf - -T /dev/null | docker import - ${empty}`])
    onTestFinished(() => run('docker', ['rmi', '-f', empty]).then(() => undefined))
  }
  const folder = folderWith({
    '.devcontainer/devcontainer.json': JSON.stringify({ ...BUILD, postCreateCommand: 'echo made > made' }),
    '.devcontainer/Dockerfile': text,
  })
  const { name, image, warnings } = await create({ local_dir: folder })
  expect(warnings).toEqual([expect.stringContaining(why)])
  expect(image).toBe(TEST_IMAGE)
  expect(await inWorkspace(name, 'cat /workspace/made')).toBe('made\n')
  expect(await docker('ps', '-aq', '--filter', `name=${name}`)).toMatch(/^\w+$/)
})

test('a build is confined like a workspace, and its programs do not see the files', async () => {
  const show =
    'grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/pids.max'
  const folder = folderToBuild(
    `${FROM}RUN { ${show}; } > /shown; ls -A /workspace > /listed; ls -d /run/workspace-files > /files || :`,
  )
  const { name } = await create({ local_dir: folder })
  const [during, ...files] = await Promise.all(
    ['shown', 'listed', 'files'].map((file) => inWorkspace(name, `cat /${file}`)),
  )
  expect(during).toBe(await inWorkspace(name, show))
  expect(files).toEqual(['', ''])
})

test('an image does not keep variables of the creation', async () => {
  const folder = folderWith({
    '.devcontainer/devcontainer.json': JSON.stringify({
      ...BUILD,
      containerEnv: { X_A: '1' },
      remoteEnv: { X_B: '2' },
    }),
    '.devcontainer/Dockerfile': `${FROM}RUN env > /during`,
  })
  const { name, image } = await create({ local_dir: folder })
  expect(await inWorkspace(name, 'echo $X_A$X_B; grep X_ /during')).toBe('12\n')
  expect(await docker('image', 'inspect', '--format', '{{.Config.Env}}', image)).not.toContain('X_')
})

test('instructions that an image has for those built on it are refused', async () => {
  const base = `${uniqueName('onbuild')}:1`
  await engineBuild(['-t', base, '-'], `FROM ${TEST_IMAGE}\nONBUILD ADD http://127.0.0.1:1/ /\n`)
  onTestFinished(() => run('docker', ['rmi', '-f', base]).then(() => undefined))
  const folder = folderToBuild(`FROM ${base}\n`)
  const { warnings } = await create({ local_dir: folder })
  expect(warnings).toEqual([expect.stringContaining(`image ${base} has instructions by ONBUILD`)])
})

test('nobody else can use a built image, and an archive does not name it', async () => {
  const folder = folderToBuild(`${FROM}RUN true`)
  const { name, image } = await create({ local_dir: folder })
  expect(image).toMatch(/^ws-build:[0-9a-f]{40}$/)
  const { status, body } = await server().api('workspaces', 'POST', { name: uniqueName('other'), image })
  expect([status, body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  const id = await docker('image', 'inspect', '--format', '{{.Id}}', image)
  for (const each of [image, `docker.io/library/${image}`, id, id.slice(7), id.slice(7, 19)]) {
    const other = folderToBuild(`FROM ${each}\n`)
    const { warnings } = await create({ local_dir: other })
    expect(warnings).toEqual([expect.stringContaining(`image ${each} `)])
  }
  for (const each of [image, id, id.slice(7, 17)]) {
    const other = folderToBuild(`${FROM}COPY --chown=\u00E0--from=${each} /made /stolen`)
    const { name: thief, warnings } = await create({ local_dir: other })
    expect(warnings).toEqual([expect.stringContaining('line 3: COPY --chown=')])
    expect(await inWorkspace(thief, 'cat /stolen 2>/dev/null')).toBe('')
  }
  const archive = await fetch(`${server().url}/api/workspaces/${name}/export`)
  const tar = gunzipSync(Buffer.from(await archive.arrayBuffer()))
  expect(tar.includes('"image":""')).toBe(true)
})

test('unused stages are not built, and directories for caches are empty', async () => {
  const mounts =
    '--mount=type=cache,target=/c,uid=1000,mode=0700 --mount=type=tmpfs,target=t --mount=type=secret,id=x'
  const folder = folderToBuild(
    `${FROM}RUN exit 1\n${FROM}WORKDIR /w\nRUN ${mounts} stat -c '%n %u %a' /c /w/t > /made && touch /c/file t/file\nRUN ls -A /c t >> /made`,
  )
  const { name, warnings } = await create({ local_dir: folder })
  expect([warnings, await inWorkspace(name, 'cat /made')]).toEqual([
    [],
    '/c 1000 700\n/w/t 0 755\n/c:\n\nt:\n',
  ])
})

test('here-documents, permission bits and the platform are those of BuildKit', async () => {
  const folder = folderToBuild(
    `${FROM}ARG TARGETARCH\nARG TARGETPLATFORM=x\nRUN <<EOF\necho "$TARGETARCH $TARGETPLATFORM" > /made\ncat <<END >> /made\nin\nEND\nEOF\nCOPY --chmod=705 one /copied/\nCOPY --chmod=751 sub /copied/sub\nCOPY one /copied/two`,
    { one: 'one', 'sub/deep/three': 'three' },
  )
  const { name, warnings } = await create({ local_dir: folder })
  const architecture = await docker('version', '--format', '{{.Server.Arch}}')
  expect([
    warnings,
    await inWorkspace(name, 'cat /made; cd /copied; stat -c "%n %a" one sub/deep sub/deep/three two'),
  ]).toEqual([
    [],
    `${architecture} linux/${architecture}\nin\none 705\nsub/deep 751\nsub/deep/three 751\ntwo 640\n`,
  ])
})

test('variables that double with each line do not fill the memory of the engine', async () => {
  const lines = Array.from({ length: 60 }, (_, at) => `ENV X_${at + 1}=$X_${at}$X_${at}`)
  const folder = folderToBuild(`${FROM}ENV X_0=${'x'.repeat(1_000)}\n${lines.join('\n')}`)
  const { warnings } = await create({ local_dir: folder })
  expect(warnings).toEqual([expect.stringMatching(/line \d+: it is too long with its variables/)])
})

test.each([
  `ARG A=${'x'.repeat(1_000)}\nFROM ${'$A'.repeat(40)}\n`,
  `${FROM}ENV A=${'x'.repeat(1_000)}\nCOPY --from=${TEST_IMAGE} ${'$A'.repeat(40)} /x`,
])('words that are too long with their values are not given to the engine: %.20s', async (text) => {
  const { warnings } = await create({ local_dir: folderToBuild(text) })
  expect(warnings).toEqual([expect.stringMatching(/line \d: it is too long with its variables/)])
})

test('many references to short variables are not too many', async () => {
  const lines = Array.from({ length: 24 }, (_, at) => `ENV X_${at % 2}="$X_A/$X_A/$X_B/$X_B"`)
  const folder = folderToBuild(`${FROM}ENV X_A=a X_B=b\n${lines.join('\n')}`)
  const { name, warnings } = await create({ local_dir: folder })
  expect([warnings, await inWorkspace(name, 'echo $X_0$X_1')]).toEqual([[], 'a/a/b/ba/a/b/b\n'])
})

test.each([
  'ENV PATH=/none',
  'RUN rm /bin/sleep',
  'RUN rm /bin/sh',
  'RUN rm -rf /workspace; ln -s /proc /workspace',
  'RUN useradd dev\nUSER 99999999999',
])('an image that no workspace can have is a warning: %s', async (text) => {
  const { name, image, warnings } = await create({ local_dir: folderToBuild(`${FROM}${text}`) })
  expect(warnings).toEqual([expect.stringContaining('devcontainer.json: build: ')])
  expect([image, await inWorkspace(name, 'echo runs')]).toEqual([TEST_IMAGE, 'runs\n'])
})

test('an image without the directory of workspaces can be built on', async () => {
  const folder = folderToBuild(`${FROM}RUN rm -rf /workspace\nRUN id -u > /made`)
  const { name, warnings } = await create({ local_dir: folder })
  expect([warnings, await inWorkspace(name, 'cat /made')]).toEqual([[], '0\n'])
})

test('a warning does not have the values of variables', async () => {
  const build = { ...BUILD.build, args: { TOKEN: 's3cret' } }
  const folder = folderToBuild(`${FROM}ARG TOKEN\nCOPY $TOKEN /x`, {}, { build })
  const { warnings } = await create({ local_dir: folder })
  expect(warnings).toEqual([
    expect.stringContaining('line 4: COPY failed with the values of its variables; the workspace has'),
  ])
})

test('a left-out file that another name has as well is a warning', async () => {
  const folder = folderToBuild(`${FROM}COPY . /x`, { '.dockerignore': 'one\n.git*', one: '1' })
  linkSync(join(folder, 'one'), join(folder, 'two'))
  linkSync(join(folder, '.dockerignore'), join(folder, '.other'))
  const { warnings } = await create({ local_dir: folder })
  expect(warnings).toEqual([
    expect.stringContaining('two is a hard link to one, which .dockerignore leaves out'),
  ])
})

test('nothing is fetched from the host by ADD', async () => {
  const asked: string[] = []
  const host = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end('host')
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void host.close())
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/x`
  for (const line of [
    `ADD ["${url}","/dst"]x`,
    `ADD \u0085["${url}","/dst"]`,
    `ADD --chown=\u00C5${url} /dst`,
    `ENV U=${url}\nADD \u0085$U /dst`,
  ]) {
    const { name, warnings } = await create({ local_dir: folderToBuild(`${FROM}${line}`) })
    expect(warnings).toEqual([expect.stringMatching(/line \d: ADD/)])
    expect(await inWorkspace(name, 'cat /dst 2>/dev/null')).toBe('')
  }
  expect(asked).toEqual([])
})

test('the engine opens no device or pipe of an image', async () => {
  const special = `${FROM.replace('\n', ' AS a\n')}RUN mknod /device c 250 99; mkfifo /pipe; mkdir /d; ln -s /pipe /d/link; mkfifo /d/own; echo 1 > /d/file`
  for (const [copy, warning] of [
    ['COPY --from=a /device /x', 'COPY failed'],
    ['COPY --from=a /pipe /x', 'COPY failed'],
    ['COPY --from=a /d/link /x', 'COPY failed'],
    [
      'RUN rm /etc/passwd; mkfifo /etc/passwd\nCOPY --chown=dev one /x',
      '/etc/passwd of the image is not a file',
    ],
    [
      'RUN mv /etc/group /g; mkfifo /p; ln -s /p /etc/group\nCOPY --chown=0:dev one /x',
      '/etc/group of the image is',
    ],
  ] as const) {
    const { name, warnings } = await create({
      local_dir: folderToBuild(`${special}\n${FROM}${copy}`, { one: '1' }),
    })
    expect(warnings).toEqual([expect.stringContaining(warning)])
    expect(warnings.join('')).not.toMatch(/overlay2|merged/)
    expect(await inWorkspace(name, 'ls /x 2>/dev/null')).toBe('')
  }
  const folder = folderToBuild(`${special}\n${FROM}COPY --from=a /d /x`)
  const { name, warnings } = await create({ local_dir: folder })
  expect([warnings, await inWorkspace(name, 'ls /x')]).toEqual([[], 'file\nlink\n'])
})

test('a missing context is a warning', async () => {
  const build = { dockerfile: 'Dockerfile', context: 'none' }
  const { warnings } = await create({ local_dir: folderToBuild(`${FROM}COPY one /`, {}, { build }) })
  expect(warnings).toEqual([
    expect.stringContaining('the context .devcontainer/none does not exist, or cannot be read'),
  ])
})
