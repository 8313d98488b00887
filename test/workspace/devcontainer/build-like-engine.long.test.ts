import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { docker, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { fc } from '../../support/fast-check.ts'
import { rounds } from '../../support/rounds.ts'
import {
  engineBuild,
  folderToBuild,
  type Files,
  useBuilds,
} from '../../support/workspace/lifecycle/image-builds.ts'

const { create } = useBuilds()

/** Prints what an image has in /out, its variables and its user. */
const LIST = `
find /out -exec stat -c '%n %F %a %U:%G %N' {} + | sort
find /out -type f | sort | while read -r file; do echo "== $file"; cat "$file"; done
id -un
env | grep -E '^(PATH|X_[A-Z]+)=' | sort`

interface Case {
  readonly text: string
  readonly args?: Readonly<Record<string, string>>
  readonly target?: string
  readonly files?: Files
}

/** Builds a Dockerfile with both builders, and returns what each image has. */
async function both({ text, args, target, files = {} }: Case) {
  const context = Object.entries({ ...CONTEXT, ...files }).map(([path, content]) => [
    `.devcontainer/files/${path}`,
    content,
  ])
  const build = { dockerfile: 'Dockerfile', context: 'files', args, target }
  const folder = folderToBuild(text, Object.fromEntries(context), { build })
  symlinkSync('one.txt', join(folder, '.devcontainer/files/dir/link'))
  const options = Object.entries(args ?? {}).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`])
  if (target !== undefined) options.push('--target', target)
  const tag = `${uniqueName('engine-build')}:1`
  onTestFinished(() => run('docker', ['rmi', '-f', tag]).then(() => undefined))
  const place = [
    '-t',
    tag,
    '-f',
    join(folder, '.devcontainer/Dockerfile'),
    join(folder, '.devcontainer/files'),
  ]
  const { status, stderr } = await engineBuild([...options, ...place])
  if (status !== 0) throw new Error(stderr)
  const { image, warnings } = await create({ local_dir: folder })
  return { warnings, ours: await listed(image), theirs: await listed(tag) }
}

/** Lists what a container of an image has. */
function listed(image: string): Promise<string> {
  return docker('run', '--rm', '--entrypoint', '/bin/sh', image, '-c', LIST)
}

/** Has a directory with a program. */
const ARCHIVE = execFileSync('tar', ['-czf', '-', '-C', '/', 'etc/hostname'])
const FROM = `FROM ${TEST_IMAGE}\nUSER root\n`
const CONTEXT = {
  'one.txt': 'one',
  'two.txt': 'two',
  '.hidden': 'hidden',
  tool: '#!/bin/sh\necho tool',
  'dir/in.txt': 'in',
  'dir/deep/er.txt': 'er',
  'dir two/with space.txt': 'space',
}

const CASES: Readonly<Record<string, Case>> = {
  'files and directories': {
    text: `${FROM}COPY one.txt /out/\nCOPY one.txt /out/renamed\nCOPY dir /out/dir\nCOPY dir/ /out/dir2/\nCOPY ["dir two", "/out/dir two/"]`,
  },
  patterns: {
    text: `${FROM}COPY *.txt /out/\nCOPY t?ol dir/*.txt /out/b/\nCOPY dir/de[a-f]p /out/c`,
  },
  'the whole context': {
    text: `${FROM}COPY . /out/`,
  },
  'files over others': {
    text: `${FROM}RUN mkdir -p /out/dir && echo old > /out/dir/in.txt && echo kept > /out/dir/kept\nCOPY dir /out/dir\nADD one.txt /out/dir/in.txt`,
  },
  'a file into a directory that exists': {
    text: `${FROM}RUN mkdir -p /out/here\nCOPY one.txt /out/here`,
  },
  'relative targets': {
    text: `${FROM}WORKDIR /out/a\nCOPY one.txt .\nWORKDIR b\nCOPY two.txt ./c/\nCOPY dir ..`,
  },
  owners: {
    text: `${FROM}RUN useradd -u 1234 dev\nCOPY --chown=dev:users dir /out/\nCOPY --chown=7:8 one.txt /out/new/dir/one\nUSER dev`,
  },
  'a user that owns nothing that is copied': {
    text: `${FROM}RUN useradd dev\nUSER dev\nCOPY one.txt /out/\nWORKDIR /out/w`,
  },
  variables: {
    text: `ARG TAG=1\nFROM workspace-base:$TAG\nUSER root\nARG TAG\nARG NAME=x\nENV X_A="a b" X_B=$X_A X_C=\${NAME}y PATH=/kit:$PATH\nENV X_D $X_A $NAME d\nRUN mkdir /out && echo "$X_A-$X_B-$NAME-$TAG-$X_LATER" > /out/said\nENV X_LATER=1 X_E='$X_A' X_F="quote\\" \\$5"`,
    args: { NAME: 'given' },
  },
  'shells and lists': {
    text: `${FROM}RUN ["mkdir", "/out"]\nSHELL ["/bin/bash", "-euc"]\nRUN [[ 1 == 1 ]] && echo "$BASH" > /out/shell && \\\n  # a comment\n  id -u > /out/id`,
  },
  stages: {
    text: `${FROM.replace('\n', ' AS base\n')}RUN mkdir -p /out/made/deep && echo made > /out/made/deep/file\nENV X_A=1\nFROM base AS other\nRUN echo other > /out/other\nFROM ${TEST_IMAGE} AS dev\nUSER root\nCOPY --from=base /out/made /out/copied\nCOPY --from=0 /out/made/deep/file /out/\nCOPY --from=${TEST_IMAGE} /etc/debian_version /out/\nFROM base\nRUN rm -r /out`,
    target: 'dev',
  },
  'dot files and other patterns': {
    text: `${FROM}COPY * /out/\nCOPY [^a-s]*.txt /out/b/\nCOPY none* one.txt /out/c/`,
    files: { '.more': 'more' },
  },
  'links on the way, and programs that run': {
    text: `${FROM}RUN mkdir -p /out/real && ln -s real /out/link && cp /bin/ls /out/real/tool\nCOPY tool dir /out/link/\nCOPY tool /bin/tail\nRUN cp /bin/tail /out/copied`,
  },
  'an archive and its patterns': {
    text: `${FROM}ADD kit.tar.gz /out/kit/\nADD k*.gz one.txt /out/two/\nCOPY kit.tar.gz /out/as-it-is`,
    files: { 'kit.tar.gz': ARCHIVE },
  },
  'a .dockerignore': {
    text: `${FROM}COPY . /out/`,
    files: {
      '.dockerignore':
        '# comment\n.dockerignore\n*.txt\n!two.txt\n /dir/**/er.txt \n**/deep.log\nt?x\n./kept/../gone\nwhole\n!whole/but\n',
      'deep.log': '',
      'dir/a/deep.log': '',
      'dir/a/other': '',
      tax: '',
      gone: '',
      'whole/but': '',
      'whole/not': '',
    },
  },
  'a .dockerignore that leaves out itself and the Dockerfile': {
    text: `${FROM}COPY . /out/`,
    files: { '.dockerignore': '.dockerignore\nDockerfile\n**\n!dir\ndir/deep', Dockerfile: 'FROM none' },
  },
  'arguments that later lines need': {
    text: `${FROM}ARG A=1\nARG B=$A-b\nENV X_A=$A\nARG C\nARG D=d\nRUN mkdir /out && echo "$A $B $C $D" > /out/1\nENV A=env\nARG B=again\nARG C=c$A\nRUN echo "$A $B $C $D" > /out/2\nENV X_B=$A$B$C$D X_C=\${D:+set} X_D=\${E:-unset}\nRUN echo "$X_B $A $B $C $D" > /out/3`,
    args: { D: 'given "quotes" $A \\ and\nlines', UNUSED: '1' },
  },
  'arguments that are declared again': {
    text: `${FROM}ARG A=1\nARG B=$A\nRUN mkdir /out\nARG A\nARG B=$B-$A-2\nENV X_A="$A|$B"\nRUN echo "\${A-unset} $B" > /out/1\nARG A=3\nRUN echo "$A $B" > /out/2`,
  },
  'a directory that only root can enter': {
    text: `${FROM}RUN useradd dev && mkdir -p -m 700 /out/closed\nWORKDIR /out/closed\nUSER dev\nRUN pwd > /tmp/here; id -un > /tmp/who\nUSER root\nRUN cp /tmp/here /tmp/who /out/`,
  },
  'instructions about the start of containers': {
    text: `${FROM}EXPOSE 80\nVOLUME /data\nHEALTHCHECK --interval=1s CMD echo x >> /out/health\nSTOPSIGNAL 9\nCMD ["none"]\nENTRYPOINT none\nLABEL a=b\nRUN mkdir /out && sleep 3 && ls /out > /tmp/list && mv /tmp/list /out/`,
  },
  'arguments and the shell of an earlier stage': {
    text: `ARG A=early\n${FROM.replace('\n', ' AS one\n')}ARG A\nARG B=b\nSHELL ["/bin/bash", "-c"]\nRUN mkdir /out && echo "$A $B $BASH" > /out/1\nFROM one\nARG A=late\nRUN echo "$A $B $BASH" > /out/2`,
  },
  'owners without a group, and bits of programs': {
    text: `${FROM}RUN useradd -u 1234 dev && mkdir /out && cp /bin/ls /out/ls && chmod 4755 /out/ls\nCOPY --chown=dev one.txt /out/\nFROM ${TEST_IMAGE}\nCOPY --from=0 /out /out/`,
  },
  'other stages by patterns and variables': {
    text: `${FROM.replace('\n', ' AS base\n')}RUN mkdir -p /a/x /a/y /b && echo 1 > /a/x/1.txt && echo 2 > /a/y/2.txt && ln /a/x/1.txt /a/x/hard && ln -s 1.txt /a/x/soft && echo 3 > '/b/c d' && echo 4 > /b/.e && chown 7:8 /a/y/2.txt\n${FROM}ARG D=x\nENV F=2.txt\nCOPY --from=base /a/*/*.txt /a/x /out/1/\nCOPY --from=base /a/$D/* /a/y/\${F:-none} /out/2/\nCOPY --from=base --chown=5:6 ["/b/c d", "/out/3 4"]\nCOPY --from=base b/ /out/5\nCOPY --from=base /b/.e /a/x/soft /out/new/`,
  },
  'links of other stages': {
    text: `${FROM.replace('\n', ' AS base\n')}RUN mkdir -p /a/real && echo 1 > /a/real/file && ln -s real /a/link && ln -s /a/real/file /a/to\n${FROM}COPY --from=base /a/link/ /out/1/\nCOPY --from=base /a/to /out/2\nCOPY --from=base /a/l* /out/3/`,
  },
  'two escape characters at the end': {
    text: `# escape=\`\n${FROM}RUN mkdir /out && echo a\\ \`\n  > /out/1\nENV X_A=a\\ X_B=\`\`\nRUN echo "$X_A$X_B" > /out/2`,
  },
}

describe('a Dockerfile is built as by the engine', () => {
  test.each(Object.entries(CASES))('%s', async (_what, each) => {
    const { warnings, ours, theirs } = await both(each)
    expect(warnings).toEqual([])
    expect(ours).toBe(theirs)
  })

  test('generated ones', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(instruction, { minLength: 4, maxLength: 10 }), async (instructions) => {
        const text = `ARG EARLY=0\n${FROM}RUN mkdir /out && useradd -u 1234 dev && chmod 777 /out\n${instructions.join('\n')}`
        const { warnings, ours, theirs } = await both({ text, args: { GIVEN: 'g i' } })
        expect(warnings).toEqual([])
        expect(ours).toBe(theirs)
      }),
      { numRuns: rounds(8, 60), endOnFailure: true },
    )
  })
})

const name = fc.constantFrom('X_A', 'X_B', 'X_C', 'EARLY', 'GIVEN')
const value = fc
  .array(
    fc.oneof(
      fc.constantFrom('a', 'b c', '/', '-', '\\$X_A', '"', "'"),
      name.map((each) => `$${each}`),
      fc.tuple(name, fc.constantFrom('', ':-d', ':+s', ':-$X_B')).map(([each, rest]) => `\${${each}${rest}}`),
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join('').replaceAll('"', '\\"'))
const path = fc.constantFrom('sub', './', '..', '/out/w', '/out/$X_C/x')
const instruction: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(name, value).map(([each, text]) => `ENV ${each}="${text}"`),
  fc.tuple(name, value).map(([each, text]) => `ARG ${each}="${text}"`),
  name.map((each) => `ARG ${each}`),
  name.map(
    (each) => `RUN echo "$X_A|$X_B|$X_C|$EARLY|$GIVEN|$(pwd)|$(id -u)|$0" >> /out/said_${each}_$(id -u)`,
  ),
  path.map((each) => `WORKDIR ${each}`),
  fc.constantFrom(
    'USER dev',
    'USER root',
    'USER 7:8',
    'SHELL ["/bin/bash", "-c"]',
    'SHELL ["/bin/sh", "-ec"]',
  ),
  fc
    .tuple(
      fc.constantFrom('', '--chown=dev ', '--chown=7:8 '),
      fc.constantFrom('one.txt', 'dir', '*.txt', '[d]ir'),
      fc.constantFrom('/out/c/', '/out/d$X_B/', './'),
    )
    .map(([owner, source, target]) => `COPY ${owner}${source} ${target}`),
)
