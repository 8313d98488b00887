#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * readEnvelopes(bytes: Uint8Array, maxBytes: number): unknown[]. Reads the frames that the bytes begin with. The result's first two are how many bytes
 * they take, undefined for all, and the length that the next one says where that is over the bound, else undefined. Then come three for each frame: a head, the payload as
 * JSON, and the frame's length. A head is the id, a letter for the type ("e" event, "q" request, "r" response, "f" the final one), a letter "0" + the length of the timestamp,
 * the timestamp, in_reply_to where there is one, and the namespace: one text, because making texts is what takes the time. A frame that is left to
 * another reader has the place of its bytes for a head, and no payload.
 */
Napi::Value readEnvelopes(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
