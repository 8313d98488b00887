# Step: node_modules/.bin, so that `npx workspace` in a checkout runs the checkout's program. npm links only the bins
# of dependencies, and npx would then look for a package of that name in the registry.

# Sets `unlinked` to the built programs that npx does not find.
link_lacks() {
  local file
  unlinked=
  for file in dist/src/bin/*.js; do
    [ -f "$file" ] || continue
    [ -x "$file" ] && [ "node_modules/.bin/$(basename "$file" .js)" -ef "$file" ] || unlinked="$unlinked $file"
  done
  [ -z "$unlinked" ] || lack="npx does not find$(for file in $unlinked; do printf ' %s' "$(basename "$file" .js)"; done)"
}

link_make() {
  local file
  for file in $unlinked; do
    chmod +x "$file"
    ln -sfn "../../$file" "node_modules/.bin/$(basename "$file" .js)"
  done
}
