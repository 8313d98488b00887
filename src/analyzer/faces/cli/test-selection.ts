import { GradleProjects } from './gradle-projects.ts'
import type { SelectedTests } from '../../query/impact/select-tests.ts'

/** Build tools for which tests can be selected. */
export const TEST_TOOLS = ['maven', 'gradle'] as const

/** Names that a shell and both tools leave as they are. */
const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$]*$/u

/** Arguments that make a build tool run only selected tests. */
export interface TestArguments {
  readonly text: string
  /** Why tests are left out, for each class that the build tool cannot run. */
  readonly problems: readonly string[]
}

/** Returns arguments that make Maven run only the selected tests, or none. */
export function mavenTests(selection: readonly SelectedTests[]): string {
  if (selection.length === 0) return '-DskipTests'
  const tests = selection.map(({ classFqn, methods }) =>
    canName(methods) ? `${classFqn}#${methods.join('+')}` : classFqn,
  )
  // A module without selected tests is not an error.
  return `-Dtest=${tests.join(',')} -Dsurefire.failIfNoSpecifiedTests=false`
}

/**
 * Returns arguments that make Gradle run only the selected tests, or none: each task that runs some of them with
 * its own filters, because a filter without matches fails the build. They exclude other tasks that the command
 * `gradle test` starts.
 *
 * @param root folder in which Gradle is started
 * @param classFolders all class folders of the project
 */
export function gradleTests(
  selection: readonly SelectedTests[],
  root: string,
  classFolders: readonly string[],
): TestArguments {
  const projects = new GradleProjects(root)
  const filters = new Map<string, Set<string>>()
  const problems: string[] = []
  for (const { classFqn, methods, classFolders: folders } of selection) {
    const found = folders.map((folder) => taskOf(projects, folder))
    const tasks = found.flatMap((each) => ('task' in each ? [each.task] : []))
    if (tasks.length === 0) {
      const [why = 'its classes no longer exist'] = found.flatMap((each) => ('why' in each ? [each.why] : []))
      problems.push(`the tests of ${classFqn} are left out: ${why}`)
    }
    const names = canName(methods) ? methods.map((method) => `${classFqn}.${method}`) : [classFqn]
    for (const task of tasks) filters.set(task, new Set([...(filters.get(task) ?? []), ...names]))
  }
  if (filters.size === 0) return { text: '-x test', problems }
  const others = classFolders.flatMap((folder) => {
    const found = taskOf(projects, folder)
    return 'task' in found && found.startedByTest !== undefined ? [found.startedByTest] : []
  })
  const words = [
    ...Array.from(filters, ([task, names]) =>
      [task, ...Array.from(names, (name) => `--tests ${name}`)].join(' '),
    ),
    ...[...new Set(others)].filter((task) => !filters.has(task)).map((task) => `-x ${task}`),
  ]
  return { text: words.join(' '), problems }
}

interface TestTask {
  /** Path of the task that runs the tests of a class folder. */
  readonly task: string
  /** Path of the project's task "test"; undefined if "gradle test" does not start it. */
  readonly startedByTest: string | undefined
}

/** Returns the task that runs the tests of a source set; none if the set has code for tests. */
const taskOfSet = (set: string): string | undefined =>
  set === 'main' || set.endsWith('ixtures') ? undefined : set

/** Returns the task that runs the tests of an Android variant; tests on devices are selected by other arguments. */
function taskOfVariant(variant: string): string | undefined {
  return variant.endsWith('UnitTest')
    ? `test${variant.slice(0, 1).toUpperCase()}${variant.slice(1)}`
    : undefined
}

/** Class folders by layout, as in project-layout.ts. */
const LAYOUTS = [
  { folder: /^(.+)\/build\/classes\/[^/]+\/([^/]+)$/, taskOf: taskOfSet },
  {
    folder: /^(.+)\/build\/intermediates\/(?:javac|built_in_kotlinc)\/([^/]+)(?:\/[^/]+)?\/classes$/,
    taskOf: taskOfVariant,
  },
  { folder: /^(.+)\/build\/tmp\/kotlin-classes\/([^/]+)$/, taskOf: taskOfVariant },
]
/** Words that a shell leaves as they are. */
const WORD = /^[\p{L}\p{N}_.:-]+$/u

/** Returns the task that runs the tests in a class folder, or why there is none. */
function taskOf(projects: GradleProjects, folder: string): TestTask | { readonly why: string } {
  const layout = LAYOUTS.find((each) => each.folder.test(folder))
  const [, module = folder, set = 'test'] = layout?.folder.exec(folder) ?? []
  const project = layout === undefined ? projects.around(folder) : projects.find(module)
  if (project === undefined) return { why: `${folder} is in no project of the Gradle build` }
  const name = layout === undefined ? 'test' : layout.taskOf(set)
  if (name === undefined) return { why: `no test task of Gradle is known for ${folder}` }
  const task = `${project.path}:${name}`
  if (!WORD.test(task)) return { why: `the task "${task}" cannot be an argument` }
  const isStarted = !project.isIncluded && (set === 'test' || set.endsWith('UnitTest'))
  return { task, startedByTest: isStarted && layout !== undefined ? `${project.path}:test` : undefined }
}

/** Whether the selection is of single methods, all with names that can be arguments. */
function canName(methods: SelectedTests['methods']): methods is readonly string[] {
  return methods !== null && methods.every((method) => PLAIN.test(method))
}
