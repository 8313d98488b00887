#pragma once

#include <napi.h>

#include <memory>

#include "../log/store.h"

namespace workspace::binding {

/**
 * class LogStore, `workspace::log::Store` for JavaScript:
 *   new LogStore(onLines: () => void)
 *   addSource(maxLines, maxBytes): number      setBounds(source, maxLines, maxBytes)      removeSource(source)
 *   attach(source, stream, fd)                 push(source, stream, bytes: Uint8Array)    finish(source, stream)
 *   writeTo(source, path, maxBytes, keep, hasTimes)   path '' for no file
 *   counts(source): [first, end, heldBytes, fileLostBytes, openStreams]
 *   read(source, fromIndex, maxBytes): [parts: Float64Array of sequence, index, timeMs, lines, size, stream, isCut; bytes: Buffer]
 *   setListening(isOn)      close()
 */
class LogStore : public Napi::ObjectWrap<LogStore> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit LogStore(const Napi::CallbackInfo& info);
  ~LogStore() override;

 private:
  Napi::Value addSource(const Napi::CallbackInfo& info);
  Napi::Value counts(const Napi::CallbackInfo& info);
  Napi::Value nextSequence(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  void attach(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);
  void finish(const Napi::CallbackInfo& info);
  void push(const Napi::CallbackInfo& info);
  void removeSource(const Napi::CallbackInfo& info);
  void setBounds(const Napi::CallbackInfo& info);
  void setListening(const Napi::CallbackInfo& info);
  void writeTo(const Napi::CallbackInfo& info);

  log::Store& open(Napi::Env env) const;
  std::shared_ptr<log::Source> source(const Napi::CallbackInfo& info) const;

  // The store's thread calls it, so it outlives the store.
  struct Bell;
  std::shared_ptr<Bell> bell;
  std::unique_ptr<log::Store> store;
};

}  // namespace workspace::binding
