import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startAnalyzer } from './analyzer-server.ts'
import { tempDir } from '../temp-dir.ts'

/** Java source that the formatter changes to `TIDY`. */
export const UNTIDY = 'class A { int x=1;\n  void m( ){ } }\n'
/** `UNTIDY`, formatted. */
export const TIDY = 'class A {\n\n  int x = 1;\n\n  void m() {}\n}\n'

/** A project with some files and a server, which exist for the duration of the test. */
export async function styleProject(
  files: Readonly<Record<string, string | Buffer>>,
  environment: Readonly<Record<string, string>> = {},
) {
  const root = join(tempDir(), 'shop')
  const write = (file: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), content)
  }
  write('pom.xml', '<project/>')
  for (const [file, content] of Object.entries(files)) write(file, content)
  const analyzer = await startAnalyzer(root, environment)
  onTestFinished(() => analyzer.stop())
  const ask = async (
    path: string,
    body: object,
    token = analyzer.token,
  ): Promise<{ status: number; body: any }> => {
    const response = await fetch(`${analyzer.url}/api/v1/linter${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
    })
    return { status: response.status, body: await response.json() }
  }
  const post = async (path: string, body: object): Promise<any> => {
    const answer = await ask(path, body)
    if (answer.status !== 200)
      throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  return { root, write, read: (file: string) => readFileSync(join(root, file), 'utf8'), ask, post }
}
