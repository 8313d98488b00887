# Step: dist, the JavaScript that the bins run.

build_lacks() {
  build_state="$(hash_of src workers guest native binding.gyp tsconfig.json tsconfig.build.json package-lock.json scripts/build scripts/guest.mjs) node-$node_version"
  is_stamped dist/.setup-stamp "$build_state" || lack="dist is absent or out of date"
}

build_make() {
  say "compiling TypeScript into dist"
  quietly on_node scripts/build || { say "the TypeScript does not compile"; exit 1; }
  stamp dist/.setup-stamp "$build_state"
}
