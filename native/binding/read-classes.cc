#include "read-classes.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace workspace::binding {

namespace {

constexpr std::size_t keptReaders = 4;
/** A reader that once held more is let go. */
constexpr std::size_t keptBytes = std::size_t{32} << 20;

std::mutex& keptMutex() {
  static std::mutex mutex;
  return mutex;
}

std::vector<std::unique_ptr<classfile::ClassReader>>& kept() {
  static std::vector<std::unique_ptr<classfile::ClassReader>> readers;
  return readers;
}

/** Keeps readers with their memory for the next slice: asking the system for it anew takes a sixth of the time. */
class ReaderLease {
 public:
  ReaderLease() {
    const std::lock_guard lock(keptMutex());
    if (kept().empty()) {
      reader_ = std::make_unique<classfile::ClassReader>();
    } else {
      reader_ = std::move(kept().back());
      kept().pop_back();
    }
  }

  ~ReaderLease() {
    if (reader_->facts().packedBytes() > keptBytes) return;
    reader_->clear();
    const std::lock_guard lock(keptMutex());
    if (kept().size() < keptReaders) kept().push_back(std::move(reader_));
  }

  ReaderLease(const ReaderLease&) = delete;
  ReaderLease& operator=(const ReaderLease&) = delete;

  classfile::ClassReader& operator*() { return *reader_; }
  classfile::ClassReader* operator->() { return reader_.get(); }

 private:
  std::unique_ptr<classfile::ClassReader> reader_;
};

Napi::Object packedFacts(Napi::Env env, classfile::ClassReader& reader) {
  classfile::Facts& facts = reader.facts();
  const std::size_t bytes = facts.packedBytes();
  if (bytes > std::numeric_limits<std::uint32_t>::max()) throw Napi::RangeError::New(env, "the facts of one slice pass 4 GiB");
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, bytes);
  facts.pack(static_cast<std::uint8_t*>(buffer.Data()));
  Napi::Array faults = Napi::Array::New(env, reader.faults().size());
  std::uint32_t at = 0;
  for (const classfile::ClassFault& fault : reader.faults()) {
    Napi::Object each = Napi::Object::New(env);
    each.Set("input", Napi::Number::New(env, fault.input));
    each.Set("offset", Napi::Number::New(env, static_cast<double>(fault.offset)));
    each.Set("message", Napi::String::New(env, fault.message));
    faults[at++] = each;
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("buffer", buffer);
  result.Set("faults", faults);
  return result;
}

/** Runs a job that fills a reader, on a thread of libuv. */
class ReadWorker : public Napi::AsyncWorker {
 public:
  /** @param kept held until the job is done, so that what it refers to is not collected */
  ReadWorker(Napi::Env env, std::function<void(classfile::ClassReader&)> job, const Napi::Object& kept)
      : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), job_(std::move(job)), kept_(Napi::Persistent(kept)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override {
    job_(*reader_);
    reader_->facts().finish();
  }

  void OnOK() override { deferred_.Resolve(packedFacts(Env(), *reader_)); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred_;
  std::function<void(classfile::ClassReader&)> job_;
  Napi::ObjectReference kept_;
  ReaderLease reader_;
};

}  // namespace

Napi::Promise startReading(Napi::Env env, std::function<void(classfile::ClassReader&)> job, const Napi::Object& kept) {
  auto* worker = new ReadWorker(env, std::move(job), kept);
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

Napi::Value factsLayout(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), classfile::factsLayout()); }

Napi::Value readClasses(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsArray()) throw Napi::TypeError::New(env, "readClasses expects an array of Uint8Array");
  const auto files = info[0].As<Napi::Array>();
  std::vector<std::span<const std::uint8_t>> bytes;
  for (std::uint32_t i = 0; i < files.Length(); i++) {
    const Napi::Value file = files[i];
    if (!file.IsTypedArray() || file.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
      throw Napi::TypeError::New(env, "readClasses expects an array of Uint8Array");
    }
    const auto each = file.As<Napi::Uint8Array>();
    bytes.emplace_back(each.Data(), each.ElementLength());
  }
  const auto job = [bytes = std::move(bytes)](classfile::ClassReader& reader) {
    for (std::size_t i = 0; i < bytes.size(); i++) reader.read(bytes[i], static_cast<std::int32_t>(i));
  };
  return startReading(env, job, files);
}

}  // namespace workspace::binding
