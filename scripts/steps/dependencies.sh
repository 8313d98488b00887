# Step: the dependencies in package-lock.json, built for the selected Node.js.

dependencies_lacks() {
  dependencies_state="$(hash_of package-lock.json native/compat) node-$node_version"
  if ! command -v npm >/dev/null; then lack="npm is missing"; return; fi
  { is_stamped node_modules/.setup-stamp "$dependencies_state" && [ -x node_modules/.bin/tsc ]; } || lack="npm dependencies are missing or out of date"
}

dependencies_make() {
  if ! command -v npm >/dev/null; then
    report "install npm (included in https://nodejs.org/en/download, or your system's package \"npm\"), then run this again"
    exit 1
  fi
  compiler_make
  report "installing npm dependencies (npm ci)"
  # A search path and a name: flags could not contain a folder with a space in its name.
  if ! JOBS=max CPLUS_INCLUDE_PATH="$PWD/native/compat${CPLUS_INCLUDE_PATH:+:$CPLUS_INCLUDE_PATH}" CXXFLAGS="${CXXFLAGS:-} -include object-wrap.h" quietly on_node npm ci --include=dev --no-audit --no-fund; then
    report "trying again without the dependencies' own native builds (JavaScript is used instead)"
    quietly on_node npm ci --include=dev --no-audit --no-fund --ignore-scripts || exit 1
  fi
  stamp node_modules/.setup-stamp "$dependencies_state"
}

has_compiler() {
  command -v make >/dev/null && command -v python3 >/dev/null &&
    { command -v c++ || command -v g++ || command -v clang++; } >/dev/null
}

# Needed by node-gyp. Without them the workspace and content servers use JavaScript fallbacks; the analyzer and the
# supervisor need the addon.
compiler_make() {
  has_compiler && return
  if can_install && apt_install g++ make python3; then return; fi
  report "no C++ compiler, make or python3: continuing without the native addon (to build it, install g++, make and python3)"
}
