#include "read-envelopes.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "../vsock/envelope.h"
#include "../vsock/frame.h"

namespace workspace::binding {

namespace {

/** Cached for the next call. */
constexpr std::size_t maxKeptBytes = 64 * 1024;

/** Node-API's C functions: its C++ wrappers do twice as many lookups. */
class Row {
 public:
  Row(napi_env env, napi_value array) : env_(env), array_(array) {}

  void addText(std::string_view text, bool isAscii) {
    napi_value value;
    const auto create = isAscii ? napi_create_string_latin1 : napi_create_string_utf8;
    check(create(env_, text.data(), text.size(), &value));
    add(value);
  }

  void addNumber(double number) {
    napi_value value;
    check(napi_create_double(env_, number, &value));
    add(value);
  }

  void skip() { next_++; }

 private:
  void add(napi_value value) { check(napi_set_element(env_, array_, next_++, value)); }

  void check(napi_status status) {
    if (status != napi_ok) throw Napi::Error::New(env_);
  }

  napi_env env_;
  napi_value array_;
  std::uint32_t next_ = 2;
};

char kindOf(const vsock::Envelope& envelope) {
  if (envelope.inReplyTo.empty()) return envelope.type == "event" ? 'e' : 'q';
  return envelope.isFinal ? 'f' : 'r';
}

void writeHead(const vsock::Envelope& envelope, std::string& head) {
  head.assign(envelope.id);
  head += kindOf(envelope);
  head += static_cast<char>('0' + envelope.timestamp.size());
  head += envelope.timestamp;
  head += envelope.inReplyTo;
  head += envelope.nameSpace;
}

}  // namespace

Napi::Value readEnvelopes(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  napi_typedarray_type type;
  std::size_t size = 0;
  void* data = nullptr;
  if (info.Length() != 2 || !info[1].IsNumber() ||
      napi_get_typedarray_info(env, info[0], &type, &size, &data, nullptr, nullptr) != napi_ok || type != napi_uint8_array) {
    throw Napi::TypeError::New(env, "readEnvelopes expects bytes and a bound");
  }
  const std::span<const std::uint8_t> bytes(static_cast<const std::uint8_t*>(data), size);
  const std::uint32_t maxBytes = info[1].As<Napi::Number>().Uint32Value();
  // Cached between calls: a new one costs more than a short message.
  static thread_local vsock::Payload payload;
  static thread_local std::string head;
  Napi::Array result = Napi::Array::New(env);
  Row row(env, result);
  std::size_t at = 0;
  vsock::Frame frame = vsock::frameAt(bytes, maxBytes);
  for (; frame.state == vsock::FrameState::whole; frame = vsock::frameAt(bytes.subspan(at), maxBytes)) {
    const std::size_t begin = at + vsock::lengthBytes;
    vsock::Envelope envelope;
    if (vsock::readEnvelope(bytes.subspan(begin, frame.length), envelope, payload)) {
      writeHead(envelope, head);
      row.addText(head, true);
      row.addText(payload.json, payload.isAscii);
    } else {
      row.addNumber(static_cast<double>(begin));
      row.skip();
    }
    row.addNumber(frame.length);
    at = begin + frame.length;
  }
  if (payload.json.capacity() > maxKeptBytes) payload = {};
  if (at < size) result.Set(0U, Napi::Number::New(env, static_cast<double>(at)));
  if (frame.state == vsock::FrameState::wrong) result.Set(1U, Napi::Number::New(env, frame.length));
  return result;
}

}  // namespace workspace::binding
