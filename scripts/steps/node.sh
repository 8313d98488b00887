# Step: a Node.js that package.json's "engines" accepts.

node_wanted=$(sed -n 's/.*"node": *">=\([0-9.]*\)".*/\1/p' package.json)
# A full version, like all dependencies in the lock: a Node.js release can break the build (24.19's header did).
node_brought=24.21.0

# Sets node_version and node_abi of the Node.js that everything uses.
node_lacks() {
  local major minor want_major want_minor
  if ! read -r node_version node_abi < <(on_node node -p 'process.versions.node + " " + process.versions.modules' 2>/dev/null); then
    lack="Node.js is missing"
    return
  fi
  IFS=. read -r major minor _ <<<"$node_version"
  IFS=. read -r want_major want_minor _ <<<"$node_wanted"
  if [ "$major" -gt "$want_major" ] || { [ "$major" = "$want_major" ] && [ "$minor" -ge "${want_minor:-0}" ]; }; then return; fi
  lack="Node.js is $node_version, but >= $node_wanted is needed"
}

node_make() {
  local platform
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) platform=linux-x64 ;;
    Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
    Darwin-arm64) platform=darwin-arm64 ;;
    Darwin-x86_64) platform=darwin-x64 ;;
    *) platform= ;;
  esac
  if [ -z "$platform" ] || ! command -v npm >/dev/null; then
    report "install Node.js 24 with npm (https://nodejs.org/en/download, or your system's packages \"nodejs\" and \"npm\"), then run this again"
    exit 1
  fi
  report "downloading Node.js $node_brought into .node ($lack)"
  rm -rf .node/new
  mkdir -p .node/new
  quietly npm install --prefix .node/new --no-audit --no-fund --ignore-scripts "node@npm:node-$platform@$node_brought" || exit 1
  rm -rf .node/node_modules
  mv .node/new/node_modules .node/node_modules
  rm -rf .node/new
  lack=
  node_lacks
  [ -z "$lack" ] || { report "the Node.js in .node does not run here; install Node.js 24 (https://nodejs.org/en/download)"; exit 1; }
}
