#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * openPty(columns: number, rows: number): [socket, control, far]. A Unix socket that relays the terminal's
 * near end, the near end itself for `resizePty`, and the far end for programs; the caller must close all.
 * Throws like node:fs (`EMFILE` …).
 */
Napi::Value openPty(const Napi::CallbackInfo& info);

/** resizePty(control: number, columns: number, rows: number): void. */
Napi::Value resizePty(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
