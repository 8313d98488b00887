/**
 * Environment of system programs whose output is parsed: this process's, untranslated, with the directories on the path
 * that only root's path has.
 */
export function toolEnvironment(further: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH = '/usr/bin:/bin' } = process.env
  return { ...process.env, PATH: `${PATH}:/usr/sbin:/sbin`, LC_ALL: 'C', ...further }
}
