import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A jar of Maven Central, brought there by Maven where it is missing: "group:artifact:version", with ":jar:classifier" where it has one. */
export function mavenJar(coordinates: string): string {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'workspace/corpora/maven')
  const [, artifact, version, , classifier] = coordinates.split(':')
  const file = join(folder, `${artifact}-${version}${classifier === undefined ? '' : `-${classifier}`}.jar`)
  if (existsSync(file)) return file
  mkdirSync(folder, { recursive: true })
  const argv = ['-q', '-B', 'dependency:copy', `-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`]
  execFileSync('mvn', argv, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return file
}
