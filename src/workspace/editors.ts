import { WORKSPACE_DIR } from './workspace.ts'

/** A workspace as editors reach it over SSH. */
export interface EditorTarget {
  /** Host name of its entry in the SSH configuration, or `USER@HOST:PORT`. */
  readonly alias: string
  readonly host: string
  readonly port: number
  readonly name: string
}

/** An editor that works over SSH. */
export interface Editor {
  readonly title: string
  /** Program and arguments; absent if only its URL can be opened. */
  readonly command?: (target: EditorTarget) => readonly [string, ...string[]]
  readonly url: (target: EditorTarget) => string
}

const vscodeLike = (title: string, program: string, scheme: string): Editor => ({
  title,
  command: ({ alias }) => [program, '--remote', `ssh-remote+${alias}`, WORKSPACE_DIR],
  url: ({ alias }) => `${scheme}://vscode-remote/ssh-remote+${alias}${WORKSPACE_DIR}`,
})

/** Supported editors by the name that users type. */
export const EDITORS = {
  vscode: vscodeLike('VS Code', 'code', 'vscode'),
  cursor: vscodeLike('Cursor', 'cursor', 'cursor'),
  jetbrains: {
    title: 'JetBrains Gateway',
    url: ({ host, port, name }) => {
      const fields = {
        host,
        port: String(port),
        user: name,
        type: 'ssh',
        deploy: 'true',
        projectPath: WORKSPACE_DIR,
      }
      return `jetbrains-gateway://connect#${new URLSearchParams(fields).toString()}`
    },
  },
  zed: {
    title: 'Zed',
    command: ({ alias }) => ['zed', `ssh://${alias}${WORKSPACE_DIR}`],
    url: ({ alias }) => `zed://ssh/${alias}${WORKSPACE_DIR}`,
  },
} as const satisfies Readonly<Record<string, Editor>>
