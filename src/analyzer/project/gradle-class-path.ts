import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BuildToolClassPath, BuildToolRequest } from './build-tool-request.ts'
import { archivesOf, runBuildTool } from './run-build-tool.ts'

/**
 * Prints the dependencies and class folders of each project's source sets. Skips what a configuration cannot
 * resolve, so that a missing dependency does not hide others. Written in the Groovy of Gradle 4 to 9.
 */
const INIT_SCRIPT = `allprojects { project ->
  project.tasks.create('analyzerClassPath') {
    outputs.upToDateWhen { false }
    doLast {
      def sets = project.extensions.findByName('sourceSets')
      if (sets == null && project.hasProperty('sourceSets')) sets = project.sourceSets
      sets?.each { set ->
        set.output.classesDirs.files.each { println 'ANALYZER-CLASSES ' + it }
        [set.runtimeClasspathConfigurationName, set.compileClasspathConfigurationName].each { name ->
          def configuration = project.configurations.findByName(name)
          if (configuration == null) return
          def found = configuration.resolvedConfiguration.lenientConfiguration
          found.artifacts.each { artifact ->
            if (artifact.id.componentIdentifier.class.name.contains('ProjectComponent')) return
            println 'ANALYZER-JAR ' + artifact.file
          }
          configuration.incoming.dependencies.findAll { it.hasProperty('files') }.each { own -> own.files.each { println 'ANALYZER-JAR ' + it } }
          found.unresolvedModuleDependencies.each { println 'ANALYZER-MISSING ' + it.selector }
        }
      }
    }
  }
}
`

/**
 * The script queries projects during execution, which these settings forbid. A Gradle that does not know a
 * setting ignores it.
 */
const SETTINGS = ['configuration-cache=false', 'unsafe.configuration-cache=false', 'parallel=false'].map(
  (setting) => `-Dorg.gradle.${setting}`,
)

/** Asks Gradle for the class paths with an init script. Gradle's project cache goes to a temporary folder. */
export async function gradleClassPath(request: BuildToolRequest): Promise<BuildToolClassPath> {
  const own = await mkdtemp(join(tmpdir(), 'analyzer-gradle-'))
  try {
    const script = join(own, 'class-path.gradle')
    await writeFile(script, INIT_SCRIPT)
    const flags = ['--project-cache-dir', join(own, 'cache'), '--console=plain', '--no-daemon', '--continue']
    const { status, stdout, stderr, name } = await runBuildTool(
      request,
      { wrapper: 'gradlew', command: 'gradle' },
      ['-q', '-I', script, ...flags, ...SETTINGS, 'analyzerClassPath'],
    )
    if (status !== 0) throw new Error(`${name}: ${reasonOf(stderr) ?? `it exited with status ${status}`}`)
    const missing = new Set(linesWith(stdout, 'MISSING'))
    if (missing.size > 0) request.logger.warn({ missing: [...missing] }, 'Gradle could not resolve these')
    return {
      tool: 'gradle',
      libraries: archivesOf(linesWith(stdout, 'JAR')),
      classFolders: [...new Set(linesWith(stdout, 'CLASSES'))],
      isWhole: missing.size === 0,
    }
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

function linesWith(stdout: string, what: string): readonly string[] {
  const start = `ANALYZER-${what} `
  return stdout
    .split('\n')
    .flatMap((line) => (line.startsWith(start) ? [line.slice(start.length).trim()] : []))
}

/** Gradle prints the reason under its own heading. */
function reasonOf(stderr: string): string | undefined {
  const [, reason] = /^\* What went wrong:\n(.+(?:\n[> ].*)*)/m.exec(stderr) ?? []
  return reason?.replace(/\s*\n[> ]*/g, ' ').trim()
}
