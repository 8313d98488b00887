#pragma once

#include <napi.h>

#include <memory>

#include "../classfile/class-reader.h"

namespace workspace::binding {

/** factsLayout(): string. The columns of the buffers below, in order: "strings.bytes:u8 strings.offsets:i32 …". */
Napi::Value factsLayout(const Napi::CallbackInfo& info);

/**
 * readClasses(files: Uint8Array[]): Promise<{buffer: ArrayBuffer, faults: {input, offset, message}[]}>. Works on a thread of
 * libuv; the bytes must stay as they are until it is done.
 */
Napi::Value readClasses(const Napi::CallbackInfo& info);

/** Keeps readers with their memory for the next slice: asking the system for it anew takes a sixth of the time. */
class ReaderLease {
 public:
  ReaderLease();
  ~ReaderLease();
  ReaderLease(const ReaderLease&) = delete;
  ReaderLease& operator=(const ReaderLease&) = delete;

  classfile::ClassReader& operator*() { return *reader_; }
  classfile::ClassReader* operator->() { return reader_.get(); }

 private:
  std::unique_ptr<classfile::ClassReader> reader_;
};

/** {buffer, faults} of a reader whose facts are finished. */
Napi::Object packedFacts(Napi::Env env, classfile::ClassReader& reader);

}  // namespace workspace::binding
