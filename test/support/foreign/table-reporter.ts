import { basename } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

/**
 * Prints a table of clients and the cases that each passed. A client is a `describe` block, named with its version, or a file
 * without one.
 */
export default class TableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.flatMap((module) => {
      const { children } = module
      const own = [...children.tests()]
      const suites = [...children.suites()].map((suite) => rowOf(suite.name, [...suite.children.allTests()]))
      return own.length === 0
        ? suites
        : [rowOf(basename(module.moduleId, '.foreign.test.ts'), own), ...suites]
    })
    console.log(['', '| Client | Passed | Cases |', '| --- | --- | --- |', ...rows.toSorted(), ''].join('\n'))
  }
}

function rowOf(client: string, cases: readonly TestCase[]): string {
  const passed = cases.filter((each) => each.result().state === 'passed')
  const failed = cases
    .filter((each) => each.result().state === 'failed')
    .map(({ name }) => `**${name} failed**`)
  const named = [...failed, ...passed.map(({ name }) => name)]
  return `| ${client} | ${passed.length} of ${cases.length} | ${named.join(', ')} |`
}
