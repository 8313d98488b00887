#include "read-classes.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../archive/inflate.h"
#include "../digest/digest.h"

namespace workspace::binding {

namespace {

constexpr std::size_t keptReaders = 4;
/** A reader that once held more is freed. */
constexpr std::size_t keptBytes = std::size_t{32} << 20;

std::mutex& keptMutex() {
  static std::mutex mutex;
  return mutex;
}

std::vector<std::unique_ptr<classfile::ClassReader>>& kept() {
  static std::vector<std::unique_ptr<classfile::ClassReader>> readers;
  return readers;
}

/** Caches readers with their memory for the next slice: allocating it again takes a sixth of the time. */
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
    if (classfile::packedBytes(reader_->facts()) > keptBytes) return;
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

/** Packed tables with their CRC-32; JavaScript takes ownership of the memory. */
class Packed {
 public:
  template <typename Tables>
  void fill(Tables& tables) {
    const std::size_t packed = classfile::packedBytes(tables);
    if (packed > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("the facts of a slice exceed 4 GiB");
    bytes_ = packed + sizeof(std::uint32_t);
    memory_.reset(new std::uint8_t[bytes_]);
    classfile::pack(tables, memory_.get());
    const std::uint32_t crc = archive::crc32Of({memory_.get(), packed});
    std::memcpy(memory_.get() + packed, &crc, sizeof crc);
  }

  bool isEmpty() const { return memory_ == nullptr; }

  Napi::ArrayBuffer handOver(Napi::Env env) {
    std::uint8_t* memory = memory_.release();
    return Napi::ArrayBuffer::New(env, memory, bytes_, [](Napi::Env, void* data) { delete[] static_cast<std::uint8_t*>(data); });
  }

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t bytes_ = 0;
};

Napi::Array faultsOf(Napi::Env env, const classfile::ClassReader& reader) {
  Napi::Array diagnostics = Napi::Array::New(env, reader.diagnostics().size());
  std::uint32_t at = 0;
  for (const classfile::ClassDiagnostic& fault : reader.diagnostics()) {
    Napi::Object each = Napi::Object::New(env);
    each.Set("input", Napi::Number::New(env, fault.input));
    each.Set("offset", Napi::Number::New(env, static_cast<double>(fault.offset)));
    each.Set("message", Napi::String::New(env, fault.message));
    diagnostics[at++] = each;
  }
  return diagnostics;
}

/** Runs a job that fills a reader, on a libuv thread. */
class ReadWorker : public Napi::AsyncWorker {
 public:
  /** @param kept referenced until the job is done, so that its data is not collected */
  ReadWorker(Napi::Env env, std::function<void(classfile::ClassReader&)> job, Wanted wanted, const Napi::Object& kept)
      : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), job_(std::move(job)), wanted_(wanted), kept_(Napi::Persistent(kept)) {}

  Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override {
    job_(*reader_);
    reader_->facts().finish();
    facts_.fill(reader_->facts());
    if (wanted_ != Wanted::factsAndDigest) return;
    digest::Digest digest = digest::buildDigest(reader_->facts());
    digest_.fill(digest);
  }

  void OnOK() override {
    const Napi::Env env = Env();
    Napi::Object result = Napi::Object::New(env);
    result.Set("buffer", facts_.handOver(env));
    if (!digest_.isEmpty()) result.Set("digest", digest_.handOver(env));
    result.Set("diagnostics", faultsOf(env, *reader_));
    deferred_.Resolve(result);
  }

  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred_;
  std::function<void(classfile::ClassReader&)> job_;
  Wanted wanted_;
  Napi::ObjectReference kept_;
  ReaderLease reader_;
  Packed facts_;
  Packed digest_;
};

}  // namespace

Napi::Promise startReading(Napi::Env env, std::function<void(classfile::ClassReader&)> job, Wanted wanted, const Napi::Object& kept) {
  auto* worker = new ReadWorker(env, std::move(job), wanted, kept);
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

Napi::Value factsLayout(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), classfile::factsLayout()); }

Napi::Value digestLayout(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), digest::digestLayout()); }

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
  return startReading(env, job, Wanted::facts, files);
}

}  // namespace workspace::binding
