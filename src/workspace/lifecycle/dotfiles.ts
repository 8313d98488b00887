import type { Preparation } from '../devcontainer/dev-container.ts'
import { cloneCommand, gitEnvironment } from './clone.ts'
import type { Repo } from './repo.ts'

/**
 * The names under which dotfiles repositories keep what installs them, and the order, are those of the devcontainer
 * command line and of GitHub Codespaces; as there, files that begin with a dot are linked where none is found.
 */
const INSTALL = `
cd || exit
if [ -e dotfiles ]; then echo "dotfiles: there already, not cloned again"; else "$@" || exit; fi
# It was for the clone alone, and can hold a password.
unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_ALLOW_PROTOCOL GIT_TERMINAL_PROMPT GIT_SSH_COMMAND
cd dotfiles || exit
for script in install.sh install bootstrap.sh bootstrap script/bootstrap setup.sh setup script/setup; do
  [ -f "$script" ] || continue
  [ -x "$script" ] || chmod +x "$script"
  exec "./$script"
done
for file in .[!.]*; do
  case $file in .git|.gitignore|.gitmodules|.gitattributes|.github) continue ;; esac
  if [ -d "$HOME/$file" ] && [ ! -L "$HOME/$file" ]; then
    echo "dotfiles: $HOME/$file is a directory and stays"
  else
    ln -sfn "$PWD/$file" "$HOME/$file" || exit
  fi
done`

/** What sets up the home directory inside a workspace from a repository: cloned to `~/dotfiles`, and installed. */
export function dotfilesPreparation(repo: Repo): Preparation {
  const argv = ['/bin/sh', '-c', INSTALL, 'sh', ...cloneCommand(repo, 'dotfiles')]
  return { name: 'dotfiles', argv, environment: gitEnvironment(repo) }
}
