import { escapeMarkup } from '../../../../lib/markup/escape.ts'
import { commandOf, type Service } from './service.ts'

/** Returns the launchd label of a program. */
export function launchdLabel({ program }: Service): string {
  return `workspace-suite.${program}`
}

/** Returns a launchd property list. Source: launchd.plist(5). */
export function launchdPlist(service: Service, logFile: string): string {
  const { program, directory, path } = service
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  ${string(launchdLabel(service))}
  <key>ProgramArguments</key>
  <array>
    ${commandOf(service).map(string).join('\n    ')}
  </array>
  <key>WorkingDirectory</key>
  ${string(directory)}
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ${string(path)}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>${program === 'supervisor' ? 30 : 15}</integer>
  <!-- Virtual machines are child processes and must keep running while the server is updated. -->
  <key>AbandonProcessGroup</key>
  <${program === 'workspace'}/>
  <key>StandardOutPath</key>
  ${string(logFile)}
  <key>StandardErrorPath</key>
  ${string(logFile)}
</dict>
</plist>
`
}

function string(text: string): string {
  return `<string>${escapeMarkup(text)}</string>`
}
