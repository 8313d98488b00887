#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * listFiles(path: string, ending: string, skipped: string): [names: string, figures: Float64Array, problems: Error[]]. The names have a NUL
 * between them; of each file the figures are its size in bytes and, as node:fs computes it, its time of modification in milliseconds.
 */
Napi::Value listFiles(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
