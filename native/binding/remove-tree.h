#pragma once

#include <napi.h>

namespace workspace::binding {

// All of these return {done, seen, cancel}, see startInBackground, and reject with a system error that includes the
// path.

/** moveToTrash(root: string, parent: string, name: string, trash: string): done is a promise of nothing. */
Napi::Value moveToTrash(const Napi::CallbackInfo& info);

/** restoreFromTrash(root: string, parent: string, trash: string, name: string): done is a promise of nothing. */
Napi::Value restoreFromTrash(const Napi::CallbackInfo& info);

/**
 * removeTrash(root: string, parent: string, trash: string): done resolves with the number of deleted entries, as
 * `seen()` counts.
 */
Napi::Value removeTrash(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
