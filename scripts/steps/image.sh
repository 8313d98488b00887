# Step: the image that a workspace gets when it names none.

image_lacks() {
  if [ -z "$engine" ]; then
    [ "$mode" = make ] || note="the base image is not looked for without an engine"
  elif [ "$has_image" = no ]; then
    lack="the base image $base_image is missing"
  fi
}

image_make() {
  on_node scripts/base-image "$base_image" </dev/null && has_image=yes && return
  say "$base_image could not be made; workspaces must name an image until it is"
  return 1
}
