import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Evaluated once, because analyzer-server.ts changes the variable for servers of tests. */
const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'workspace/corpora/maven')

/**
 * Returns a jar of Maven Central, downloaded by Maven if missing: "group:artifact:version", with
 * ":jar:classifier" if it has one.
 */
export function mavenJar(coordinates: string): string {
  const [, artifact, version, , classifier] = coordinates.split(':')
  const file = join(folder, `${artifact}-${version}${classifier === undefined ? '' : `-${classifier}`}.jar`)
  if (existsSync(file)) return file
  mkdirSync(folder, { recursive: true })
  const argv = ['-q', '-B', 'dependency:copy', `-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`]
  execFileSync('mvn', argv, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return file
}
