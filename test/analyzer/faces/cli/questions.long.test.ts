import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'

/** Each command with all of its options, and the question that it must come to. */
const QUERIES: readonly (readonly [command: string, path: string])[] = [
  [
    'classes list --package shop.* --name *e* --annotation a.B --extends c.D --implements e.F -i -L --page 1 --size 5',
    'classes?package=shop.*&name=*e*&annotation=a.B&extends=c.D&implements=e.F&interfaces=true&includeLibraries=true&page=1&size=5',
  ],
  ['classes list', 'classes'],
  ['diagnostics', 'project/diagnostics'],
  ['classes show shop.model.Order$Line', 'classes/shop.model.Order%24Line'],
  ['classes implementations shop.model.Priced -L', 'implementations/shop.model.Priced?includeLibraries=true'],
  ['classes hierarchy shop.model.Order', 'hierarchy/shop.model.Order'],
  ['classes dependencies shop.model.Order -L', 'dependencies/shop.model.Order?includeLibraries=true'],
  [
    'annotations usages shop.route.Route --scope method -L --page 1 --size 2',
    'annotations/usages/shop.route.Route?scope=method&includeLibraries=true&page=1&size=2',
  ],
  [
    'methods search -n p* -r int -a shop.route.Get -c Calls --package shop.service -L --page 0 --size 3',
    'methods?name=p*&returnType=int&annotation=shop.route.Get&inClass=Calls&inPackage=shop.service&includeLibraries=true&page=0&size=3',
  ],
  [
    'calls shop.service.Calls -m overloaded --descriptor (Lshop/model/Item;)I --in-methods-returning int --in-methods-annotated shop.route.Route --include-lambdas',
    'calls/shop.service.Calls?method=overloaded&descriptor=(Lshop/model/Item;)I&inMethodsReturning=int&inMethodsAnnotated=shop.route.Route&includeLambdas=true',
  ],
  [
    'callers shop.model.Priced#price --descriptor ()I --include-subtypes -L --page 0 --size 2',
    'callers/shop.model.Priced%23price?descriptor=()I&includeSubtypes=true&includeLibraries=true&page=0&size=2',
  ],
  [
    'xref shop.model.Item --kind PARAM --scope-implementing shop.model.Entity -L --page 0 --size 2',
    'xref/shop.model.Item?kind=PARAM&scopeImplementing=shop.model.Entity&includeLibraries=true&page=0&size=2',
  ],
  [
    'path shop.service.Calls#lambdas shop.model.Item#price --limit 2 --max-depth 9 -L',
    'path?from=shop.service.Calls%23lambdas&to=shop.model.Item%23price&limit=2&maxDepth=9&includeLibraries=true',
  ],
  ['path shop.model.Item shop.service.Calls', 'path?from=shop.model.Item&to=shop.service.Calls'],
  [
    'reach --from shop.model.Item main --to shop.service.Calls shop.web.Nothing --analysis cha -L',
    'reach?from=shop.model.Item,main&to=shop.service.Calls,shop.web.Nothing&analysis=cha&includeLibraries=true',
  ],
  ['dead --from test --analysis rta --page 0 --size 3', 'dead?from=test&analysis=rta&page=0&size=3'],
  ['deps', 'graph'],
  ['deps graph', 'graph'],
  ['deps foundation --min-dependents 6', 'graph/foundation?minDependents=6'],
  ['deps cycles --of package', 'graph/cycles?of=package'],
]

test('every command sends its options, and prints JSON or a table', async () => {
  const user = analyzerUser()
  const root = builtProject('shop')
  const { port } = await user.json<{ port: number }>('start', '-p', root)
  const headers = { authorization: `Bearer ${user.records()[0]?.token}` }
  for (const [command, path] of QUERIES) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, { headers })
    expect(response.status, path).toBe(200)
    expect(await user.json(...command.split(' '), '-p', root), command).toEqual(await response.json())
  }
  const tables = {
    'classes show shop.model.Order --table': 'shop.model.Entity',
    'classes stats --table': 'projectClassCount',
    'classes implementations shop.model.Priced --table': 'shop.model.Item',
    'classes hierarchy shop.model.Priced --table': '    shop.model.Item  PROJECT',
    'classes dependencies shop.model.Item --table': 'METHOD_RETURN_TYPE',
    'annotations usages shop.route.Route --table': 'name = "get"',
    'methods search --class Priced --table': 'isFree',
    'calls shop.service.Calls -m constants --table':
      '"text", -1, "1152921504606846976", 0.1, -2.5, "shop.model.Item"',
    'callers shop.model.Order#all --table': 'methodRef',
    'path shop.service.Calls#lambdas shop.model.Item#price --table': 'direct call, in a lambda',
    'path shop.model.Item shop.service.Calls --table': 'no path of at most 20 calls; searched',
    'xref shop.model.Item --table': 'CALL_RECEIVER 1',
    'deps foundation --table': 'shop.route.Checked',
    'deps cycles --table': '  shop.model.Payment$Cash',
  }
  for (const [command, said] of Object.entries(tables)) {
    const { status, stdout } = await user.analyzer(...command.split(' '), '-p', root)
    expect({ command, status, stdout }).toEqual({
      command,
      status: 0,
      stdout: expect.stringContaining(said) as string,
    })
  }
})

test('deps and deps graph write the requested format to a file or standard output', async () => {
  const user = analyzerUser()
  const root = builtProject('shop')
  await user.json('start', '-p', root)
  const dot = (await user.analyzer('deps', '-f', 'dot', '-p', root)).stdout
  expect(dot).toMatch(/^digraph dependencies \{\n {2}rankdir=LR;\n/)
  expect((await user.analyzer('deps', 'graph', '--format', 'dot', '-p', root)).stdout).toBe(dot)
  const file = join(root, 'graph.dot')
  for (const words of [['deps'], ['deps', 'graph']]) {
    const argv = [...words, '-p', root, '--format', 'dot', '-o', file]
    expect(await user.analyzer(...argv)).toMatchObject({ status: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toBe(dot)
  }
  expect((await user.analyzer('deps', '-o', join(root, 'no/such/folder'), '-p', root)).status).toBe(1)
})

test('--project is accepted before any command, and by commands that ignore it', async () => {
  const user = analyzerUser()
  const root = builtProject('shop')
  await user.json('start', '-p', root)
  expect(await user.json('-p', root, 'project')).toMatchObject({ path: root })
  expect(await user.json('list', '-p', root)).toMatchObject({ servers: [{ projectPath: root }] })
  expect((await user.analyzer('version', '--project', root)).status).toBe(0)
})

test('diagnostics lists what could not be read', async () => {
  const user = analyzerUser()
  const root = builtProject()
  writeFileSync(join(root, 'target/classes/Broken.class'), 'no class')
  await user.json('start', '-p', root, '--mode', 'jar')
  const path = `${join(root, 'target/classes')}!/Broken.class`
  const { diagnostics } = await user.json<{ diagnostics: readonly { path: string; message: string }[] }>(
    'diagnostics',
    '-p',
    root,
  )
  expect(diagnostics).toEqual([{ path, offset: 0, message: expect.any(String) as string }])
  expect((await user.analyzer('diagnostics', '-p', root, '--table')).stdout).toContain(
    `${path}  0       ${diagnostics[0]?.message}`,
  )
  expect((await user.analyzer('diagnostics', '-p', builtProject())).status).toBe(7)
})
