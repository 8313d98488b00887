/**
 * The environment of system programs whose words are read: this process's own, untranslated, with the places on the path
 * where only root's has them.
 */
export function toolEnvironment(further: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH = '/usr/bin:/bin' } = process.env
  return { ...process.env, PATH: `${PATH}:/usr/sbin:/sbin`, LC_ALL: 'C', ...further }
}
