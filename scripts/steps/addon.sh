# Step: the native addon. A failed build is remembered until one of its inputs changes.

addon_stamp=build/.setup-stamp

addon_lacks() {
  [ -f binding.gyp ] || return 0
  addon_state="$(hash_of native binding.gyp package-lock.json) abi-$node_abi $(uname -s)-$(uname -m) $(has_compiler && echo compiler || echo none)"
  if is_stamped "$addon_stamp" "failed $addon_state"; then
    note="the native addon failed to build: the analyzer and the supervisor cannot start, the other programs use slower JavaScript (npm run build:native shows why)"
  elif ! { is_stamped "$addon_stamp" "$addon_state" && [ -f build/Release/workspace_native.node ]; }; then
    lack="the native addon is missing or out of date"
  fi
}

addon_make() {
  local done_state
  compiler_make
  if has_compiler; then
    libdeflate_make
    report "building the native addon (npm run build:native)"
    addon_state="${addon_state% *} compiler"
    if quietly npm run --silent build:native; then done_state=$addon_state; else done_state="failed $addon_state"; fi
  else
    done_state="failed $addon_state"
  fi
  mkdir -p build
  stamp "$addon_stamp" "$done_state"
  [ "$done_state" = "$addon_state" ] || report "the native addon is not built: the analyzer and the supervisor cannot start, the other programs use slower JavaScript"
}

# Inflates jars twice as fast as zlib, which is used otherwise.
libdeflate_make() {
  [ "$(scripts/has-libdeflate)" = yes ] || ! can_install || apt_install libdeflate-dev || true
}
