/** The remote command that opens a tmux session, making it if it is not there. A remote shell reads it, so it is quoted. */
export function tmuxCommand(session: string): readonly string[] {
  const quoted = `'${session.replaceAll("'", String.raw`'\''`)}'`
  return [`tmux -u new-session -A -s ${quoted}`]
}
