#include "src/capi/target.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "src/base/hash.h"
#include "src/capi/boundary.h"
#include "src/target/known_options.h"
#include "src/templates/device.h"

namespace tilewright::capi {
namespace {

Status MakeTarget(const char* target_text, const char* device_text, tw_target** out) {
  if (out == nullptr) return InvalidArgument("the output pointer for the target is null");
  *out = nullptr;
  auto target = Target::Parse(target_text != nullptr ? target_text : "native");
  if (!target.ok()) return target.status();
  TW_RETURN_IF_ERROR(CheckRequestedTarget(*target));
  DeviceFingerprint device;
  if (device_text == nullptr) {
    TW_ASSIGN_OR_RETURN(device, DeviceFor(*target));
  } else {
    TW_ASSIGN_OR_RETURN(device, DeviceFingerprint::Parse(device_text));
    std::ranges::sort(device.isa);  // lists are compared element by element
  }
  *out = std::make_unique<tw_target>(TargetOf(*std::move(target), std::move(device))).release();
  return {};
}

}  // namespace

tw_target TargetOf(Target target, DeviceFingerprint device) {
  tw_target made;
  made.text = target.ToString();
  made.device_text = device.ToString();
  made.target = std::move(target);
  made.device = std::move(device);
  const std::string both = made.text + '\n' + made.device_text;
  made.hash[0] = Fnv1a64(both);
  made.hash[1] = Fnv1a64(both, Mix64(made.hash[0]));
  return made;
}

}  // namespace tilewright::capi

extern "C" {

tw_code tw_target_create(const char* target, const char* device, tw_target** out,
                         tw_error* error) noexcept {
  return tilewright::capi::Guarded(
      error, [&] { return tilewright::capi::MakeTarget(target, device, out); });
}

void tw_target_free(tw_target* target) noexcept { const std::unique_ptr<tw_target> gone(target); }

const char* tw_target_text(const tw_target* target) noexcept {
  return target != nullptr ? target->text.c_str() : "";
}

const char* tw_target_device(const tw_target* target) noexcept {
  return target != nullptr ? target->device_text.c_str() : "";
}

}  // extern "C"
