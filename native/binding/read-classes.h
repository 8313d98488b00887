#pragma once

#include <napi.h>

#include <functional>

#include "../classfile/class-reader.h"

namespace workspace::binding {

/** factsLayout(): string. The columns of the buffers below, in order: "strings.bytes:u8 strings.offsets:i32 …". */
Napi::Value factsLayout(const Napi::CallbackInfo& info);

/** digestLayout(): string. As factsLayout, of digests. */
Napi::Value digestLayout(const Napi::CallbackInfo& info);

/**
 * readClasses(files: Uint8Array[]): Promise<{buffer: ArrayBuffer, diagnostics: {input, offset, message}[]}>. Works on a
 * libuv thread; the bytes must not change until it is done.
 */
Napi::Value readClasses(const Napi::CallbackInfo& info);

enum class Wanted { facts, factsAndDigest };

/**
 * Runs a job that fills a reader, on a libuv thread; `kept` is referenced until then. Resolves with {buffer,
 * diagnostics}, and {digest} if requested. Buffers end with a CRC-32 of what precedes it.
 */
Napi::Promise startReading(Napi::Env env, std::function<void(classfile::ClassReader&)> job, Wanted wanted, const Napi::Object& kept);

}  // namespace workspace::binding
