/** Returns the remote command that attaches to a tmux session, creating it if missing, quoted for the remote shell. */
export function tmuxCommand(session: string): readonly string[] {
  const quoted = `'${session.replaceAll("'", String.raw`'\''`)}'`
  return [`tmux -u new-session -A -s ${quoted}`]
}
