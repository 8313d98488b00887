import { describe, expect, test } from 'vitest'
import { builderLine, copyLine, copyOf } from '../../../src/workspace/dockerfile/builder-line.ts'
import { readDockerignore } from '../../../src/workspace/dockerfile/ignored-files.ts'
import { neededStages } from '../../../src/workspace/dockerfile/needed-stages.ts'
import { type Instruction, readDockerfile } from '../../../src/workspace/dockerfile/read-dockerfile.ts'
import { runProgram } from '../../../src/workspace/dockerfile/run-program.ts'
import { splitWords } from '../../../src/workspace/dockerfile/split-words.ts'

/** The instructions after FROM. */
function instructionsOf(text: string, directive = ''): readonly Instruction[] {
  return readDockerfile(`${directive}FROM a\n${text}`).stages.at(-1)?.instructions ?? []
}

function only(text: string): Instruction {
  const [instruction, ...others] = instructionsOf(text)
  if (instruction === undefined || others.length > 0) throw new Error('not one instruction')
  return instruction
}

const lineOf = (text: string) => {
  const copy = copyOf(only(text), '\\')
  return copy === undefined ? builderLine(only(text), '\\') : copyLine(copy, copy.words)
}
const programOf = (text: string) => runProgram(only(text), ['sh', '-c'], '/dir')

describe('a program', () => {
  test.each([
    { text: 'RUN one \\\n  two', command: 'one   two' },
    { text: 'RUN one \\  \n# a comment\n\n  # another\ntwo', command: 'one two' },
    { text: 'RUN one \\\\', command: 'one \\\\' },
    { text: 'RUN one \\', command: 'one' },
    { text: 'run echo "# no comment"', command: 'echo "# no comment"' },
    { text: 'RUN <<EOF\none\n  two\nEOF', command: 'one\n  two\n' },
    { text: 'RUN <<-EOF\n\tone\n\tEOF', command: 'one\n' },
    { text: 'RUN cat <<A >x && cat <<"B" >y\n1\nA\n2\nB', command: 'cat <<A >x && cat <<"B" >y\n1\nA\n2\nB' },
    { text: 'RUN echo "<<EOF" $((1<<A))', command: 'echo "<<EOF" $((1<<A))' },
    { text: 'RUN cat 3<<EOF\na\nEOF', command: 'cat 3<<EOF\na\nEOF' },
    { text: 'RUN --mount=type=cache,target=/c --mount=type=secret,id=x one', command: 'one' },
    { text: 'RUN ["/bin/one", "two three"]', command: 'two three' },
    { text: "RUN ['one']", command: "['one']" },
  ])('$text', ({ text, command }) => {
    expect(programOf(text).argv.at(-1)).toBe(command)
  })

  test('has the shell before a text, and not before a list', () => {
    expect(programOf('RUN one two').argv).toEqual(['sh', '-c', 'one two'])
    expect(programOf('RUN ["one", "two"]').argv).toEqual(['one', 'two'])
  })

  test('has each of its mounts for caches', () => {
    const text =
      'RUN --mount=type=cache,target=/c,id=x,sharing=locked --mount=target=b/../d,type=tmpfs --mount=type=cache,dst=e,uid=1000,mode=0700 one'
    expect(programOf(text).mounts).toEqual([
      { path: '/c', owner: '0:0', mode: '0755' },
      { path: '/dir/d', owner: '0:0', mode: '0755' },
      { path: '/dir/e', owner: '1000:0', mode: '0700' },
    ])
  })

  test.each([
    'RUN --mount=type=bind,target=/x one',
    'RUN --mount=target=/x one',
    'RUN --mount=type=secret,id=x,required one',
    'RUN --mount=type=cache,target=$X one',
    'RUN --mount=type=cache,from=b,target=/x one',
    'RUN --mount=type=cache,target=/x,mode=u+x one',
    'RUN --network=host one',
    'RUN --security=insecure one',
    'RUN --Mount=x one',
    'RUN <<EOF\n#!/bin/sh\nEOF',
  ])('is not run: %s', (text) => {
    expect(() => programOf(text)).toThrow(/^line 2: RUN .* is not supported$/)
  })
})

describe('the line for the builder', () => {
  test.each([
    { text: 'ENV A=b \\\n  C="d e"', line: 'ENV A=b   C="d e"' },
    { text: 'copy --chown=dev:$GROUP --link a\tb  c', line: 'COPY --chown=dev:$GROUP ["a","b","c"]' },
    { text: 'COPY --from=base \u00FC "b', line: 'COPY ["\u00FC","\\"b"]' },
    { text: 'WORKDIR \u00FC', line: 'WORKDIR \u00FC' },
    { text: 'COPY --chmod=755 a b', line: 'COPY ["a","b"]' },
    { text: 'ADD ["a b", "$C"]', line: 'ADD ["a b","$C"]' },
    { text: 'ADD a.tar.gz ${DIR}/', line: 'ADD ["a.tar.gz","${DIR}/"]' },
    { text: 'HEALTHCHECK --interval=5s CMD true', line: undefined },
    { text: 'EXPOSE 1-65535', line: undefined },
    { text: 'VOLUME /', line: undefined },
  ])('$text', ({ text, line }) => {
    expect(lineOf(text)).toBe(line)
  })

  test.each([
    { text: 'RUN one', why: 'RUN is not an instruction' },
    { text: 'FETCH one', why: 'FETCH is not an instruction' },
    { text: 'ONBUILD RUN one', why: 'ONBUILD is not supported' },
    { text: 'ADD http://127.0.0.1/ /x', why: 'ADD of http://127.0.0.1/ is not supported' },
    { text: 'ADD $U /x', why: 'ADD of $U is' },
    { text: 'ADD "http:"//a /x', why: 'ADD of "http:"//a is' },
    { text: 'ADD ht\\tp://a /x', why: 'ADD of ht\\tp://a is' },
    { text: 'ADD a b\\ttp://a /x', why: 'ADD of b\\ttp://a is' },
    { text: 'ADD ["\\u0068ttp\\u003a//a", "/x"]', why: 'ADD of http://a is' },
    { text: 'ADD ["a", "${U}", "/x"]', why: 'ADD of ${U} is' },
    { text: 'ADD ["http://a", "/x"]y', why: 'ADD of ["http://a", is' },
    { text: 'ADD ["http://a","/x"]y', why: 'ADD needs a source and a target' },
    { text: 'ADD \u0085["http://a","/x"]', why: 'ADD has no text, or a character' },
    { text: 'ADD --chown=\u00C5http://a /x', why: 'ADD --chown=\u00C5http://a is not supported' },
    {
      text: 'COPY --chown=\u00E0--from=ws-build:1 /s /x',
      why: 'COPY --chown=\u00E0--from=ws-build:1 is not',
    },
    { text: 'ADD git@host:repo /x', why: 'ADD of git@host:repo is' },
    { text: 'ADD github.com/a/b /x', why: 'ADD of github.com/a/b is' },
    { text: 'ADD --checksum=a b /x', why: 'ADD --checksum is not supported' },
    { text: 'ADD --from=a b /x', why: 'ADD --from is not supported' },
    { text: 'COPY --parents a /x', why: 'COPY --parents is not supported' },
    { text: 'COPY --From=a b /x', why: 'COPY --From=a b /x is not supported' },
    { text: 'COPY <<EOF /x', why: 'COPY of a here-document is not supported' },
    { text: 'COPY a', why: 'COPY needs a source and a target' },
    { text: 'COPY ["a", "\\u0000"]', why: 'COPY of a here-document' },
    { text: 'ENV --from=a b', why: 'ENV --from is not supported' },
    { text: 'ENV', why: 'ENV has no text' },
    ...['\0', '\rRUN one', '\u0085C=d', '\uFEFFC=d'].map((end) => ({
      text: `ENV A=b${end}`,
      why: 'ENV has no text, or a character',
    })),
  ])('is refused: $text', ({ text, why }) => {
    expect(() => lineOf(text)).toThrow(`line 2: ${why}`)
  })

  test('with a backtick as the escape character', () => {
    const [first, second] = instructionsOf('ENV DIR=c:\\dir\\\nENV A=b`\nc', '# syntax = x\n# Escape = `\n')
    expect([first, second].map((each) => each && builderLine(each, '`'))).toEqual([
      'ENV DIR=c:\\dir\\',
      'ENV A=bc',
    ])
  })

  test.each([
    'COPY --chmod=u+x a b',
    'COPY --chmod=$M a b',
    'COPY --from=a --chmod=755 a b',
    'ADD --chmod=8 a b',
  ])('has no permission bits that the builder does not know: %s', (text) => {
    expect(() => lineOf(text)).toThrow(/--chmod is supported with a number/)
  })
})

test.each([
  { text: 'RUN one', why: 'it has no FROM' },
  { text: 'RUN one\nFROM a', why: 'line 1: RUN is before the first FROM' },
  { text: 'FROM a as', why: 'line 1: FROM is not "FROM IMAGE" or "FROM IMAGE AS NAME"' },
  { text: 'FROM --platform=linux/arm64 a', why: 'line 1: FROM --platform=linux/arm64 is not supported' },
  { text: 'FROM a\nRUN <<EOF\none', why: 'line 2: the here-document has no closing EOF' },
  { text: '# escape=x\nFROM a', why: 'its escape character is x, not' },
  { text: 'FROM a\nCOPY --from="b" c d', why: 'line 2: --from has a quote or an escape character' },
  { text: `FROM a\n${'ENV A=b\n'.repeat(501)}`, why: 'it has more than 500 instructions' },
  { text: 'FROM a\n'.repeat(65), why: 'it has more than 64 stages' },
  { text: `FROM a\nARG ${'A=b '.repeat(101)}`, why: 'it has more than 100 arguments' },
  { text: 'FROM $A\u0085b', why: 'line 1: FROM $A\u0085b is not supported' },
  { text: 'FROM a AS 1', why: 'line 1: FROM is not "FROM IMAGE"' },
  { text: `FROM a\nRUN ${'--a=b '.repeat(33)}c`, why: 'line 2: it has more than 32 options' },
])('a file is refused because $why', ({ text, why }) => {
  expect(() => readDockerfile(text)).toThrow(why)
})

test.each([
  { what: 'comments', text: `#${' '.repeat(250_000)}x\nFROM a` },
  { what: 'a directive', text: `# escape =${' '.repeat(250_000)}\\ \nFROM a` },
  { what: 'continued lines', text: `FROM a\nRUN ${'\\\n'.repeat(100_000)}` },
  { what: 'here-documents', text: `FROM a\nRUN ${'<<A '.repeat(50_000)}\n${'A\n'.repeat(50_000)}` },
  { what: 'quotes', text: `FROM a\nRUN <<A ${'"'.repeat(200_000)}\nA` },
])('$what of 250 KB are read in linear time', ({ text }) => {
  expect(readDockerfile(text).stages).toHaveLength(1)
})

test('only the stages that the target needs are built', () => {
  const text =
    'FROM x AS a\nFROM a AS b\nFROM y AS unused\nFROM z AS Last\nCOPY --from=B /1 /\nCOPY --from=0 /2 /\nCOPY --from=image /3 /'
  const dockerfile = readDockerfile(text)
  const needed = (target?: string) => neededStages(dockerfile, target, ['x', 'a', 'y', 'z'])
  expect(needed()).toEqual([0, 1, 3])
  expect(needed('LAST')).toEqual([0, 1, 3])
  expect(needed('b')).toEqual([0, 1])
  expect(needed('2')).toEqual([2])
  expect(() => needed('none')).toThrow('it has no stage "none"')
})

test('words are separated by space outside of quotes', () => {
  expect(splitWords('a  "b c"\\ d\t\'e f\'', '\\')).toEqual(['a', '"b c"\\ d', "'e f'"])
})

test.each([
  { pattern: '!a', why: undefined },
  { pattern: '[', why: undefined },
  { pattern: '[b-a]', why: 'the pattern [b-a] of .dockerignore is not valid' },
  { pattern: 'a\n'.repeat(501), why: '.dockerignore has more than 500 patterns' },
  { pattern: 'a'.repeat(8_193), why: 'or they are longer than 8 KiB' },
])('a .dockerignore with $pattern.length characters', ({ pattern, why }) => {
  const read = () => readDockerignore(pattern)('a')
  if (why === undefined) expect(read()).toBe(false)
  else expect(read).toThrow(why)
})

test('patterns that would take exponential time elsewhere do not', () => {
  expect(readDockerignore(`${'*a'.repeat(200)}b`)('a'.repeat(4_000))).toBe(false)
})
